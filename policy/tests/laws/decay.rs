//! Laws of usage: D1 to D5, and A3.

use policy::{Amount, Claim, MemberCharge, Usage, charge};
use proptest::prelude::*;

use crate::worlds::counterexample;

/// A usage, what is held since then, the half-life, and some times in order.
#[derive(Clone, Debug)]
struct Life {
    usage: Amount,
    held: Amount,
    half_life: i64,
    times: Vec<i64>,
}

fn life() -> impl Strategy<Value = Life> {
    let micros = || prop_oneof![Just(0), 0..1_000_000_000_i128, Just(10_i128.pow(19))];
    let times = prop::collection::vec(0..10_000_000_i64, 1..6);
    (micros(), micros(), prop_oneof![60..100_000_i64, Just(31_536_000)], times).prop_map(
        |(usage, held, half_life, mut times)| {
            times.sort_unstable();
            Life { usage, held, half_life, times }
        },
    )
}

/// A wrong or the right formula: usage, what is held, seconds, half-life.
type Formula = fn(Amount, Amount, i64, i64) -> Amount;

fn product(usage: Amount, held: Amount, seconds: i64, half_life: i64) -> Amount {
    Usage::stored(usage, 0, held).with_half_life(half_life).at(seconds)
}

/// The formula as it reads, in floating point.
fn plain(usage: Amount, held: Amount, seconds: i64, half_life: i64) -> Amount {
    let left = (-(seconds as f64) / half_life as f64).exp2();
    (usage as f64 * left + held as f64 * (1.0 - left)).round() as Amount
}

/// As exact as usages are compared: 2 micros, or 1e-9 of the value.
fn is_near(one: Amount, other: Amount, scale: Amount) -> bool {
    one.abs_diff(other) <= 2.max(scale.unsigned_abs() / 1_000_000_000)
}

fn one_step_is_many(life: &Life, formula: Formula) -> bool {
    let mut usage = life.usage;
    let mut before = 0;
    for time in &life.times {
        usage = formula(usage, life.held, time - before, life.half_life);
        before = *time;
    }
    // Each step rounds by half a micro.
    is_near(usage, formula(life.usage, life.held, before, life.half_life), 5 * life.usage.max(life.held))
}

fn lies_between(life: &Life, formula: Formula) -> bool {
    let (low, high) = (life.usage.min(life.held), life.usage.max(life.held));
    life.times.iter().all(|time| (low..=high).contains(&formula(life.usage, life.held, *time, life.half_life)))
}

fn sums_are_usages_of_sums(life: &Life, formula: Formula) -> bool {
    let part = life.usage / 3;
    life.times.iter().all(|time| {
        let parts =
            formula(part, 0, *time, life.half_life) + formula(life.usage - part, life.held, *time, life.half_life);
        is_near(parts, formula(life.usage, life.held, *time, life.half_life), life.usage.max(life.held))
    })
}

fn time_never_goes_back(life: &Life, formula: Formula) -> bool {
    life.times.iter().all(|time| formula(life.usage, life.held, -time, life.half_life) == life.usage)
}

type Law = fn(&Life, Formula) -> bool;

/// Each law with a formula that breaks it.
const LAWS: [(&str, Law, Formula); 4] = [
    ("D1", one_step_is_many, |usage, held, seconds, half_life| {
        let left = Amount::from((2 * half_life - seconds).max(0));
        (usage * left + held * (Amount::from(2 * half_life) - left)) / Amount::from(2 * half_life)
    }),
    ("D2", lies_between, |usage, held, seconds, half_life| product(usage, 0, seconds, half_life) + held),
    ("D3", sums_are_usages_of_sums, |usage, held, seconds, half_life| product(usage.isqrt(), held, seconds, half_life)),
    ("D4", time_never_goes_back, |usage, held, seconds, half_life| product(usage, held, seconds.abs(), half_life)),
];

proptest! {
    #[test]
    fn the_formula_holds(life in life()) {
        for time in &life.times {
            let (got, want) = (product(life.usage, life.held, *time, life.half_life), plain(life.usage, life.held, *time, life.half_life));
            prop_assert!(is_near(got, want, life.usage.max(life.held)), "{got} instead of {want} at {time}");
        }
    }

    #[test]
    fn the_laws_hold(life in life()) {
        for (name, law, _) in LAWS {
            prop_assert!(law(&life, product), "{}", name);
        }
    }

    #[test]
    fn storing_at_any_time_changes_nothing(history in history(), stored in 0..2_000_i64) {
        let whole = run(&history.claims, history.now, history.half_life);
        let before = run(&history.claims, stored.min(history.now), history.half_life);
        let read = Usage::stored(before.0, stored.min(history.now), before.1).with_half_life(history.half_life);
        let after = read.taken_over(&history.claims, history.now);
        prop_assert!(is_near(whole.0, after.at(history.now), 10 * whole.0), "{} and {}", whole.0, after.at(history.now));
        prop_assert_eq!(whole.1, after.held());
    }

    #[test]
    fn a_match_that_is_gone_costs_no_more_than_the_time_since_the_usage_was_stored(history in history()) {
        prop_assert!(errs_by_no_more(&history, |stored, known, now| stored.taken_over(known, now)));
    }
}

#[test]
fn each_law_finds_its_mistake() {
    for (name, law, mistake) in LAWS {
        assert!(counterexample(&life(), 1_000, |life| law(life, mistake)).is_some(), "{name}");
    }
    let twice = |stored: Usage, known: &[Claim], now: i64| {
        // What is known is charged beside all that was stored.
        let mut usage = stored.taken_over(known, now);
        usage.hold(now, usage.held() + stored.held());
        Usage::stored(usage.at(now) + stored.held(), now, usage.held())
    };
    assert!(counterexample(&history(), 1_000, |history| errs_by_no_more(history, twice)).is_some(), "A3");
}

/// Claims of one account from time 0 on.
#[derive(Clone, Debug)]
struct History {
    claims: Vec<Claim>,
    half_life: i64,
    now: i64,
}

fn history() -> impl Strategy<Value = History> {
    let member = (0..3_u8, 0..4_000_000_i128, prop::option::of(0..2_u8)).prop_map(|(offer, charge, share)| {
        MemberCharge { offer: format!("o{offer}"), charge, share: share.map(|key| format!("h{key}")) }
    });
    let claim = (0..2_000_i64, prop::option::of(0..1_000_i64), prop::collection::vec(member, 0..3))
        .prop_map(|(from, length, members)| Claim { from, to: length.map(|length| from + length), members });
    (prop::collection::vec(claim, 0..5), 60..4_000_i64, 1..3_000_i64).prop_map(|(claims, half_life, now)| History {
        claims,
        half_life,
        now,
    })
}

fn held_at(claims: &[Claim], time: i64) -> Amount {
    charge(claims.iter().filter(|claim| claim.from <= time && claim.to.is_none_or(|to| time < to)))
}

/// The usage from time 0 on, with every change as it happens, and what is held in the end.
fn run(claims: &[Claim], to: i64, half_life: i64) -> (Amount, Amount) {
    let mut usage = Usage::default().with_half_life(half_life);
    for time in 0..=to {
        let held = held_at(claims, time);
        if time == to || held != usage.held() {
            usage.hold(time, held);
        }
    }
    (usage.at(to), usage.held())
}

/// The first claim ends, and its Match is deleted, after the usage was stored in the middle, and before a new leader takes over.
fn errs_by_no_more(history: &History, take_over: fn(Usage, &[Claim], i64) -> Usage) -> bool {
    let stored_at = history.now / 2;
    let claims: Vec<Claim> = history.claims.iter().filter(|claim| claim.from <= stored_at).cloned().collect();
    let stored = run(&claims, stored_at, history.half_life);
    let whole = run(&claims, history.now, history.half_life);
    let read = Usage::stored(stored.0, stored_at, stored.1).with_half_life(history.half_life);
    let known = claims.get(1..).unwrap_or_default();
    let after = take_over(read, known, history.now);
    let gone: Amount = claims.iter().take(1).map(|claim| charge([claim])).sum();
    let most = gone - product(gone, 0, history.now - stored_at, history.half_life);
    after.at(history.now).abs_diff(whole.0) <= most.unsigned_abs() + 3
}

#[test]
fn a_seat_held_together_is_paid_once() {
    let seat = |price: Amount, share: Option<&str>| Claim {
        from: 0,
        to: None,
        members: vec![MemberCharge { offer: "lic".into(), charge: price, share: share.map(str::to_owned) }],
    };
    assert_eq!(charge(&[seat(5_000, Some("h1")), seat(7_000, Some("h1")), seat(2_000, Some("h2"))]), 9_000);
    assert_eq!(charge(&[seat(5_000, None), seat(7_000, None)]), 12_000);
    assert_eq!(charge(&[seat(0, None), seat(1_500, None), seat(1_000, None)]), 3_000);
}

/// D5: the same bytes on every platform.
#[test]
fn no_source_uses_floating_point() {
    fn check(folder: &std::path::Path, found: &mut usize) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                check(&entry, found);
            } else {
                let text = std::fs::read_to_string(&entry).unwrap();
                *found += 1;
                assert!(!uses_floating_point(&text), "{}", entry.display());
            }
        }
    }
    let mut found = 0;
    check(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), &mut found);
    assert!(found > 10, "{found} sources");
    assert!(uses_floating_point("let left = 0.5_f64.powf(lives);"));
}

fn uses_floating_point(source: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = source.split(|letter| !is_letter(letter)).filter(|word| !word.starts_with("0x"));
    let is_float =
        |word: &str| ["f32", "f64"].iter().any(|end| word.ends_with(end)) || ["powf", "powi", "exp2"].contains(&word);
    words.into_iter().any(is_float)
}

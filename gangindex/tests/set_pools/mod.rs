//! Pools of machines and of jobs with counted ports, from bytes.

use std::collections::BTreeSet;

use classad::{Dialect, parse_ad};
use matchmaker::{AdKey, Consent, Offer, PoolAd, Res, Role, Root, Snapshot, Usage};
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, RngSeed};

/// Each is no part of a later one.
pub(crate) const COUNTS: [&str; 8] = [
    "",
    "MinCount = 1; MaxCount = 3;",
    "MinCount = 2; MaxCount = 9;",
    "MinCount = 3; MaxCount = 9;",
    "Count = 2;",
    "Count = 1;",
    "Count = 3;",
    "Count = N;",
];

/// Decisions, one byte each; zero when they are used up.
struct Draw<'b>(std::slice::Iter<'b, u8>);

impl Draw<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.0.next().map_or(0, |byte| usize::from(*byte)) % limit
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

fn machine(draw: &mut Draw<'_>, number: usize) -> String {
    let wish = draw.pick(&["", "Constraint = requester.Nodes <= 2;", "Constraint = requester.Type == \"Job\";"]);
    let rank = draw.pick(&["", "", "Rank = requester.Nodes;", "Rank = -requester.Nodes;"]);
    let rack = draw.pick(&["\"r1\"", "\"r2\"", "\"R1\"", "undefined", "1", "1.0"]);
    let (speed, memory) = (draw.below(4), draw.pick(&["16", "32", "64", "eval(\"32\")"]));
    format!(
        "[Type = \"Machine\"; Name = \"m{number}\"; Memory = {memory}; Speed = {speed}; Rack = {rack}; Switch = {}; \
         Ports = {{[Label = requester; {wish} {rank}]}}]",
        draw.below(3)
    )
}

/// A port of a job with the label `own`; `earlier` is the label of the port before it, and whether that is counted.
fn port(draw: &mut Draw<'_>, own: &str, earlier: Option<(&str, bool)>) -> (String, bool) {
    let count = draw.pick(&COUNTS);
    let mut parts = format!("Label = {own}; {count} Nodes = {};", draw.below(4));
    let mut also = |what: String| parts.push_str(&what);
    also(match (draw.below(6), earlier) {
        (0, Some((label, false))) => format!("Constraint = {own}.Rack == {label}.Rack;"),
        (0, Some((label, true))) => format!("Constraint = member({own}.Switch, {label}.Switch);"),
        (1, Some((_, _))) => format!("Constraint = size(Members) >= 2 || {own}.Memory >= 32;"),
        (2, _) => format!("Constraint = {own}.Memory >= 32;"),
        (3, _) => format!("Constraint = {own}.Speed >= 1 && {own}.Memory >= 16;"),
        _ => String::new(),
    });
    also(match draw.below(5) {
        0 => String::new(),
        1 => format!("Rank = -{own}.Speed;"),
        2 => format!("Rank = {own}.Speed - 1;"),
        3 => format!("Rank = {own}.Memory;"),
        _ => format!("Rank = {own}.Speed;"),
    });
    also(match draw.below(8) {
        0 => "Same = {\"Rack\"};".to_owned(),
        1 => "Distinct = {\"Rack\"};".to_owned(),
        2 => "Same = {\"Memory\"}; Distinct = {\"Switch\"};".to_owned(),
        3 => "Distinct = {\"Switch\", \"Rack\"};".to_owned(),
        _ => String::new(),
    });
    also(match draw.below(8) {
        0 => format!("GroupConstraint = sum({own}.Memory) >= 80;"),
        1 => format!("GroupConstraint = allCompare(\"==\", {own}.Rack, {own}[0].Rack);"),
        2 => format!("GroupConstraint = max({own}.Speed) - min({own}.Speed) <= 1;"),
        _ => String::new(),
    });
    also(match draw.below(10) {
        0 => format!("GroupRank = -size({own});"),
        1 => format!("GroupRank = min({own}.Speed) * size({own});"),
        _ => String::new(),
    });
    (format!("[{parts}]"), !count.is_empty())
}

fn job(draw: &mut Draw<'_>) -> String {
    let (first, is_counted) = port(draw, "a", None);
    let mut ports = vec![first];
    if draw.below(2) == 1 {
        ports.push(port(draw, "b", Some(("a", is_counted))).0);
    }
    format!("[Type = \"Job\"; N = {}; Ports = {{{}}}]", draw.below(4), ports.join(", "))
}

fn pool_ad(number: usize, text: &str, offer: Option<Offer>) -> PoolAd {
    let kind = if offer.is_some() { "Machine" } else { "Job" };
    let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: format!("a{number}") };
    let mut ad = PoolAd::asking(key, &format!("uid-{number}"), &parse_ad(text, Dialect::Gangmatch).expect(text));
    ad.role = offer.map_or(Role::Asks, |offer| Role::Offers(Box::new(offer)));
    ad
}

/// Machines, some of them busy, and jobs, some of them excluding a machine; and the text of it all.
pub(crate) fn pool(bytes: &[u8], replaced: impl Fn(String) -> String) -> (Snapshot, String) {
    let mut draw = Draw(bytes.iter());
    let (machines, jobs) = (3 + draw.below(5), 1 + draw.below(3));
    let (mut ads, mut texts) = (Vec::new(), Vec::new());
    for number in 0..machines {
        let text = machine(&mut draw, number);
        let mut usage = Usage::default();
        if draw.below(5) == 1 {
            usage.external = Res::from([("slots".to_owned(), 1)]);
        }
        texts.push(format!("{text} {usage:?}"));
        let offer = Offer {
            capacity: Res::from([("slots".to_owned(), 1)]),
            default_request: Res::new(),
            usage,
            shared_by: None,
            consent: Consent::Everybody,
            disclosed: false,
            open: draw.below(9) != 1,
        };
        ads.push(pool_ad(number, &text, Some(offer)));
    }
    let mut last = job(&mut draw);
    for number in machines..machines + jobs {
        // Some jobs are like the one before but for their counts.
        last = match draw.below(3) {
            0 => last.replace("Count = 2", "Count = 3").replace("[Type = \"Job\"; N = ", "[Type = \"Job\"; N = 1 + "),
            _ => job(&mut draw),
        };
        let text = replaced(last.clone());
        ads.push(pool_ad(number, &text, None));
        texts.push(text);
    }
    let mut snapshot = Snapshot::new(ads);
    let asking: Vec<_> = snapshot.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
    for ad in asking {
        let excluded = (draw.below(4) == 1).then(|| format!("a{}", draw.below(machines)));
        let key = |name| AdKey { kind: "Machine".to_owned(), namespace: "n".to_owned(), name };
        let exclusions: BTreeSet<AdKey> = excluded.map(key).into_iter().collect();
        snapshot.roots.push(Root { ad, submitter: "ann".into(), priority: 0, since: 0, exclusions });
    }
    (snapshot, texts.join("\n"))
}

pub(crate) fn runs(cases: u32) -> Runs {
    Runs { cases, rng_seed: RngSeed::Fixed(20_040_628), failure_persistence: None, ..Runs::default() }
}

pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 60..160)
}

//! Law S against the engine: of a pool that has a gang for a job, no summary says that it cannot have one; and where the summary rules a
//! job out, the engine's reason is a lasting one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use classad::{BinaryOp, Expr, Kind, Name, conjuncts, is_reflective, parse_expr};
use gangindex::Indexed;
use matchmaker::{AdId, Config, Cycle, PoolAd, Ports, Role, Snapshot, Usage, WhyNot, plain};
use pool::{offer_facts, verdict};
use proptest::prelude::any;
use proptest::strategy::Strategy as _;
use proptest::test_runner::TestRunner;
use summary::{Limits, Pool, Summary, Texts, Values, Verdict};

use super::page;
use super::pools::{GENERATORS, pool_of};
use super::world::{World, runs, world};

const NOW: i64 = 7;

/// How many pools of each sort: what the variable says, or else this many.
fn rounds(usual: u32) -> u32 {
    std::env::var("SUMMARY_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

pub(super) fn summary_of(snapshot: &Snapshot, limits: &Limits) -> Summary {
    let mut pool = Pool::new();
    for (id, _) in snapshot.ads() {
        if let Some(facts) = offer_facts(snapshot, id) {
            pool.put(id, facts);
        }
    }
    pool.summary(limits)
}

/// The same pool with nothing taken.
fn emptied(snapshot: &Snapshot) -> Snapshot {
    let emptied = |ad: &PoolAd| {
        let mut ad = ad.clone();
        if let Role::Offers(offer) = &mut ad.role {
            offer.usage = Usage::default();
        }
        ad
    };
    let mut made = Snapshot::new(snapshot.ads().map(|(_, ad)| emptied(ad)).collect());
    made.roots = snapshot.roots.clone();
    made.roots.iter_mut().for_each(|root| root.exclusions = BTreeSet::new());
    made
}

pub(super) fn has_gang(snapshot: &Snapshot, root: AdId, config: &Config) -> bool {
    !plain::gangs(snapshot, root, 1, config, NOW).is_empty()
}

/// What the engine makes of one job alone: a gang, or the reason why there is none. The engine may have seen other jobs of the pool.
fn reason(engine: &mut Indexed, pool: &Snapshot, root: AdId, config: &Config) -> Option<Arc<WhyNot>> {
    let mut alone = pool.without_roots();
    alone.roots = pool.roots.iter().filter(|own| own.ad == root).cloned().collect();
    let Cycle { mut unmatched, .. } = engine.negotiate(&alone, config, NOW);
    unmatched.pop().map(|unmatched| unmatched.why)
}

fn word(reason: Option<&WhyNot>) -> &'static str {
    use matchmaker::Verdict;
    match reason.map(|why| &why.verdict) {
        None => "gang",
        Some(Verdict::Never { .. }) => "no ad could ever",
        Some(Verdict::NoCandidates { .. }) => "no candidates",
        Some(Verdict::RefusedByOffers { .. }) => "refused by offers",
        Some(Verdict::NoConsistentGang) => "no consistent gang",
        Some(Verdict::WaitingForCapacity | Verdict::BackingOff) => "busy",
        Some(_) => "other",
    }
}

/// By the engine's reason with everything free: how many jobs the summary ruled out, and how many not.
#[derive(Default)]
pub(super) struct Tally(BTreeMap<&'static str, [u64; 2]>);

impl Tally {
    fn count(&self, reasons: &[&str], told: bool) -> u64 {
        let counted = self.0.iter().filter(|(reason, _)| reasons.contains(reason));
        counted.map(|(_, [not, cannot])| if told { *cannot } else { *not }).sum()
    }

    /// A row of the table in `docs/summaries.md`.
    pub(super) fn row(&self, name: &str, rounds: &str) -> String {
        const NO_PARTNER: [&str; 2] = ["no ad could ever", "no candidates"];
        const OTHERS: [&str; 3] = ["refused by offers", "no consistent gang", "other"];
        let gangs = self.count(&["gang", "busy"], false);
        let cells = [(&NO_PARTNER[..], true), (&NO_PARTNER, false), (&OTHERS, true), (&OTHERS, false)];
        let cells = cells.map(|(reasons, told)| self.count(reasons, told).to_string());
        format!("| {name} | {rounds} | {gangs} | {} |", cells.join(" | "))
    }
}

/// The head of that table.
pub(super) const HEAD: &str = "\
| generator | pools | jobs with a gang | no partner: Cannot | no partner: not told | no gang: Cannot | no gang: not told |
|---|---|---|---|---|---|---|";

/// Looks at every job of a pool.
pub(super) fn check(world: &World, limits: &Limits, tally: &mut Tally) {
    let summary = summary_of(&world.snapshot, limits);
    let free = emptied(&world.snapshot);
    let [mut engine, mut when_free] = [Indexed::new(), Indexed::new()];
    for root in &world.snapshot.roots {
        let said = verdict(&world.snapshot.ad(root.ad).unwrap().ports, &summary);
        let now = reason(&mut engine, &world.snapshot, root.ad, &world.config);
        let ever = reason(&mut when_free, &free, root.ad, &world.config);
        let told = || {
            let summary = serde_json::to_string(&summary).unwrap();
            format!("{:?}: {said:?}, {now:?}, with all free {ever:?}\n{summary}\n{}", root.ad, world.text)
        };
        if has_gang(&world.snapshot, root.ad, &world.config) {
            assert_eq!(said, Verdict::Now, "there is a gang that is free; {}", told());
        }
        if let Verdict::Cannot { .. } = said {
            assert!(!has_gang(&free, root.ad, &world.config), "there is a gang; {}", told());
            assert!(!["gang", "busy"].contains(&word(now.as_deref())), "it may only be busy; {}", told());
            assert!(!["gang", "busy"].contains(&word(ever.as_deref())), "with all free it is busy; {}", told());
        } else if let Some(why) = ever.as_deref() {
            let ports = &world.snapshot.ad(root.ad).unwrap().ports;
            assert!(!is_read_and_never(why, ports), "no ad could ever meet it; {}", told());
            let known = known(why, &world.snapshot, ports, &summary);
            assert!(known.is_none(), "{known:?} is true of no offer, and the summary knows all its values; {}", told());
        }
        tally.0.entry(word(ever.as_deref())).or_default()[usize::from(matches!(said, Verdict::Cannot { .. }))] += 1;
    }
}

/// Whether the engine's reason is that no ad could ever meet the constraint of a port, by conjuncts that read no names but those that are
/// written in them.
fn is_read_and_never(why: &WhyNot, ports: &Ports) -> bool {
    let matchmaker::Verdict::Never { port, core } = &why.verdict else { return false };
    let parts = ports.list.get(*port).and_then(|port| port.constraint.as_ref()).map(conjuncts).unwrap_or_default();
    !core.iter().filter_map(|place| parts.get(*place)).any(is_reflective)
}

/// The conjunct that the engine blames, if all that it reads is in the summary to the last value: an attribute of the partner that is
/// compared with a number or a text.
fn known(why: &WhyNot, snapshot: &Snapshot, ports: &Ports, summary: &Summary) -> Option<String> {
    let matchmaker::Verdict::NoCandidates { port } = why.verdict else { return None };
    let counted = why.ports.get(port)?;
    let port = ports.list.get(port).filter(|_| !ports.implicit)?;
    // An attribute of the port that is called like the partner hides it.
    let label = Some(&port.label).filter(|label| port.attributes.place(label).is_none())?;
    let offers = snapshot.ads().filter(|(_, ad)| ad.offer().is_some() && ad.ports.problem.is_none()).count();
    let all = |part: &&matchmaker::ConjunctCount| usize::try_from(part.rejects).is_ok_and(|count| count >= offers);
    let mut texts = counted.conjuncts.iter().filter(all).map(|part| part.text.clone());
    texts.find(|text| is_known(text, label, summary)).filter(|_| counted.candidates > 0)
}

fn is_known(conjunct: &str, label: &Name, summary: &Summary) -> bool {
    let Ok(expr) = parse_expr(conjunct, classad::Dialect::Gangmatch) else { return false };
    let Kind::Binary { op, left, right } = expr.kind() else { return false };
    let plain = |literal: &Expr| {
        use classad::Value::{Integer, String};
        matches!(literal.as_literal(), Some(Integer(_) | String(_)))
    };
    let Kind::Select { base, name } = left.kind() else { return false };
    let is_exact = |values: &Values| {
        let numbers = values.numbers.as_ref().is_none_or(|numbers| numbers.values.is_some());
        let texts = matches!(values.texts, None | Some(Texts::Values(_)));
        !values.any && numbers && texts
    };
    let name = name.as_str().to_ascii_lowercase();
    let exact = summary.rest.is_none() && summary.kinds.values().all(|kind| is_exact(&kind.values(&name)));
    let ordered = matches!(
        op,
        BinaryOp::Equal | BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual
    );
    ordered && exact && plain(right) && base.as_attribute() == Some(label)
}

/// Small summaries and those of the usual size.
fn limits(seed: u32) -> Limits {
    if seed.is_multiple_of(3) { Limits { values: 1, bloom_bits: 64, ..Limits::default() } } else { Limits::default() }
}

/// Pools with gangs of gangs, shared seats, attributes of ports, and expressions that read other members: whatever bytes decide.
fn of_bytes(rounds: u32) -> Tally {
    let tally = std::cell::RefCell::new(Tally::default());
    let bytes = (proptest::collection::vec(any::<u8>(), 20..320), any::<u32>(), any::<bool>());
    let bytes = bytes.prop_map(|(bytes, cut, sets)| (bytes, limits(cut), sets));
    let law = |(bytes, limits, sets): (Vec<u8>, Limits, bool)| {
        check(&world(&bytes, 6, sets), &limits, &mut tally.borrow_mut());
        Ok(())
    };
    TestRunner::new(runs(rounds)).run(&bytes, law).unwrap();
    tally.into_inner()
}

/// Also compares with the table of how often `Cannot` could have been said and was not: the more in the last column, the weaker the
/// summaries.
#[test]
fn a_pool_that_has_a_gang_is_never_ruled_out() {
    let rounds = rounds(2_000);
    let tallies: Vec<(&str, Tally)> = std::thread::scope(|scope| {
        let bytes = ("random ads", scope.spawn(move || of_bytes(rounds)));
        let sorts = GENERATORS.map(|(name, sort)| {
            let all = move || {
                let mut tally = Tally::default();
                for seed in 0..rounds {
                    check(&pool_of(sort, u64::from(seed)), &limits(seed), &mut tally);
                }
                tally
            };
            (name, scope.spawn(all))
        });
        let all = std::iter::once(bytes).chain(sorts);
        all.map(|(name, made)| (name, made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))).collect()
    });
    let rows: Vec<String> = tallies.iter().map(|(name, tally)| tally.row(name, &rounds.to_string())).collect();
    page::compare("missed", &format!("{HEAD}\n{}", rows.join("\n")));
    for (name, tally) in &tallies {
        let counts = [(["gang"], false), (["no candidates"], true), (["no ad could ever"], true)];
        let counts = counts.map(|(reasons, told)| tally.count(&reasons, told));
        assert!(counts.iter().all(|count| *count > 0), "{name}: {counts:?} jobs of each sort: it proves nothing");
    }
}

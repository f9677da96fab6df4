//! Cycles whose jobs are placed together: the settings of the operator into those of the engine, and what people are told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use crds::ad::PolicyTerms;
use crds::conditions::reasons;
use gangindex::Engine;
use jiff::Timestamp;
use matchmaker::{Collective, Config as EngineConfig, Cycle, Gang, Snapshot, Weight, overdue, summary};
use tokio::time::Instant;

use crate::status::{Finding, WHY_MAX, cut};

/// How many times the steps of a cycle are spent on listing the gangs that the jobs of a window may have.
const LISTING: u64 = 4;

// How jobs are served. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlacingFlags {
    /// How jobs are served: each with its best gang of what is left (InTurn), or the jobs of a window together, as many
    /// as possible (Collective).
    #[arg(long, value_enum, value_name = "POLICY", ignore_case = true, default_value_t = Placing::InTurn)]
    placing: Placing,

    /// With Collective: how many jobs are placed together, the first ones in the order of their turns. The others follow
    /// in turn.
    #[arg(long, value_name = "JOBS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    placing_window: u32,

    /// With Collective: what is to be large: the number of gangs (One), or the sum of what their accounts are charged
    /// for them (Charge).
    #[arg(long, value_enum, value_name = "WEIGHT", ignore_case = true, default_value_t = WeightBy::One)]
    placing_weight: WeightBy,

    /// With Collective: a job that has waited for so many seconds, and has a gang in turn, has one. 0: every job.
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    placing_max_wait: u32,

    /// With Collective: what placing a window may cost, in steps of 64 gangs that are looked at.
    #[arg(long, value_name = "STEPS", default_value_t = 200_000)]
    placing_steps: u64,

    /// With Collective: when a new job comes, others are waited for so many seconds; then all of them are matched. What
    /// becomes free meanwhile goes to jobs that came before.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=300))]
    placing_gather: u32,
}

/// How jobs are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placing {
    /// One after the other.
    #[value(name = "InTurn")]
    InTurn,
    /// Together.
    #[value(name = "Collective")]
    Collective,
}

/// What is to be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightBy {
    /// The number of gangs.
    #[value(name = "One")]
    One,
    /// What is charged for them.
    #[value(name = "Charge")]
    Charge,
}

impl PlacingFlags {
    /// The settings for a cycle, if its jobs are placed together.
    pub(super) fn collective(&self, pool: &Snapshot, engine: &EngineConfig, now: Timestamp) -> Option<Collective> {
        let window = usize::try_from(self.placing_window).unwrap_or(usize::MAX);
        if self.placing == Placing::InTurn || window <= 1 {
            return None;
        }
        let weight = match self.placing_weight {
            WeightBy::One => Weight::One,
            WeightBy::Charge => {
                Weight::Charge(PolicyTerms::without_expressions(&crds::PoolPolicySpec::default()).weights)
            }
        };
        Some(Collective {
            window,
            steps: self.placing_steps,
            candidates_max: engine.cycle_steps_max.saturating_mul(LISTING),
            weight,
            pinned: overdue(pool, now.as_second(), self.max_wait()),
            ..Collective::default()
        })
    }

    /// For how many seconds new jobs are gathered.
    pub(super) fn gather(&self) -> u32 {
        if self.placing == Placing::Collective { self.placing_gather } else { 0 }
    }

    /// How long a job can be passed over, in seconds.
    pub(super) fn max_wait(&self) -> i64 {
        i64::from(self.placing_max_wait)
    }
}

/// What placing a window came to.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// How many jobs of the window have a gang in turn.
    pub(crate) in_turn: usize,
    /// How many have one together.
    pub(crate) gangs: usize,
    /// How many can have one at most.
    pub(crate) bound: usize,
    pub(crate) pinned: usize,
    pub(crate) steps: u64,
    pub(crate) took: Duration,
    /// The gangs in turn of jobs that have none.
    pub(crate) passed_over: Vec<Gang>,
}

/// One cycle, with jobs that are placed together if it says so.
pub(super) fn negotiate(
    engine: &mut Engine,
    pool: &Snapshot,
    settings: &EngineConfig,
    now: Timestamp,
    collective: Option<&Collective>,
) -> (Cycle, Option<Placed>) {
    let Some(collective) = collective else { return (engine.negotiate(pool, settings, now.as_second()), None) };
    let begun = Instant::now();
    let together = engine.negotiate_together(pool, settings, now.as_second(), collective);
    let placed = Placed {
        in_turn: together.in_turn.gangs,
        gangs: together.placed.gangs,
        bound: together.bound,
        pinned: together.pinned,
        steps: together.effort.steps,
        took: begun.elapsed(),
        passed_over: together.passed_over,
    };
    (together.cycle, Some(placed))
}

/// Tells the jobs that are passed over why, instead of why there is no gang for them now that others have theirs.
pub(super) fn tell_passed_over(
    findings: &mut BTreeMap<String, Arc<Finding>>,
    pool: &Snapshot,
    placed: &Placed,
    max_wait: i64,
) {
    for gang in &placed.passed_over {
        let Some(root) = pool.roots.iter().find(|root| Some(root.ad) == gang.root()) else { continue };
        let Some(finding) = pool.ad(root.ad).and_then(|ad| findings.get_mut(&ad.uid)) else { continue };
        let due = Timestamp::from_second(root.since.saturating_add(max_wait)).ok().filter(|_| root.since > 0);
        let due = due.map(|due| format!("; from {due} on it is not passed over")).unwrap_or_default();
        let Placed { in_turn, gangs, bound, .. } = placed;
        let why = format!(
            "a gang exists ({}), but other jobs are placed without it: {gangs} together, {in_turn} in turn, at most {bound}{due}",
            summary(pool, gang)
        );
        let counts = finding.counts.clone();
        *finding = Arc::new(Finding { reason: reasons::WAITING_FOR_TURN, why: cut(&why, WHY_MAX), counts });
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        placing: PlacingFlags,
    }

    fn collective(flags: &[&str], roots: usize) -> Option<Collective> {
        let all = ["controller"].iter().chain(flags);
        let flags = Flags::try_parse_from(all).unwrap().placing;
        let mut pool = Snapshot::default();
        let root = matchmaker::Root {
            ad: matchmaker::AdId::at(0),
            submitter: "n".into(),
            priority: 0,
            since: 100,
            exclusions: Default::default(),
        };
        pool.roots = vec![root; roots];
        flags.collective(&pool, &EngineConfig::product(), Timestamp::from_second(1000).unwrap())
    }

    #[test]
    fn who_is_passed_over_is_told_its_gang_what_is_gained_and_until_when() {
        let ad = |kind: &str, name: &str, text: &str| {
            let key = matchmaker::AdKey { kind: kind.into(), namespace: "ns".into(), name: name.into() };
            matchmaker::PoolAd::asking(key, name, &classad::parse_ad(text, classad::Dialect::Gangmatch).unwrap())
        };
        let mut pool = Snapshot::new(vec![ad("Job", "wide", "[]"), ad("Machine", "m", "[]")]);
        let (root, machine) = (matchmaker::AdId::at(0), matchmaker::AdId::at(1));
        let submitter = "ns".into();
        pool.roots =
            vec![matchmaker::Root { ad: root, submitter, priority: 0, since: 100, exclusions: Default::default() }];
        let member = |ad, edge| matchmaker::Member { ad, edge, ask: matchmaker::Ask::default() };
        let edge = matchmaker::Edge::new(0, 0, 0);
        let members = [member(root, None), member(machine, Some(edge))].into_iter().collect();
        let gang = Gang { members, score: matchmaker::Score::default() };
        let (took, passed_over) = (Duration::ZERO, vec![gang]);
        let placed = Placed { in_turn: 1, gangs: 2, bound: 3, pinned: 0, steps: 0, took, passed_over };
        let finding =
            Finding { reason: reasons::WAITING_FOR_CAPACITY, why: "taken".into(), counts: Default::default() };
        let mut findings = BTreeMap::from([("wide".to_owned(), Arc::new(finding))]);
        tell_passed_over(&mut findings, &pool, &placed, 1700);
        let told = &findings["wide"];
        assert_eq!(told.reason, "WaitingForTurn");
        assert_eq!(
            told.why,
            "a gang exists (other=ns/m), but other jobs are placed without it: 2 together, 1 in turn, at most 3; from \
             1970-01-01T00:30:00Z on it is not passed over"
        );
    }

    #[test]
    fn jobs_are_served_in_turn_unless_they_are_to_be_placed_together() {
        assert!(collective(&[], 9).is_none());
        assert!(collective(&["--placing=Collective", "--placing-window=1"], 9).is_none(), "a window of one is a turn");
        let all = collective(&["--placing=collective", "--placing-max-wait=901", "--placing-steps=7"], 9).unwrap();
        assert_eq!((all.window, all.steps, all.gangs_max, all.weight), (1000, 7, 1000, Weight::One));
        assert!(all.pinned.is_empty(), "it has waited for 900 s");
        let all =
            collective(&["--placing=Collective", "--placing-max-wait=900", "--placing-weight=Charge"], 2000).unwrap();
        assert_eq!((all.gangs_max, all.members_max, all.pinned.len()), (1000, 600_000, 1));
        assert!(matches!(all.weight, Weight::Charge(weights) if weights.contains_key("cpus")));
        assert!(Flags::try_parse_from(["controller", "--placing-window=0"]).is_err());
        let gather = |flags: &[&str]| {
            let flags = Flags::try_parse_from(["controller"].iter().chain(flags));
            flags.map(|flags| flags.placing.gather()).ok()
        };
        assert_eq!(gather(&["--placing=Collective", "--placing-gather=120"]), Some(120));
        assert_eq!(gather(&["--placing-gather=120"]), Some(0), "in turn there is nothing to gather for");
        assert_eq!(gather(&["--placing-gather=301"]), None);
    }
}

//! Laws of the order: O1 to O6.

use std::collections::{BTreeMap, BTreeSet};

use policy::{Pass, Quotas, Tree, serve};
use proptest::prelude::*;

use crate::oracle::order::{allows, fits};
use crate::oracle::{Forest, OrderMistake, Outcome, outcome};
use crate::worlds::{Cycle, counterexample, cycle};

fn product(cycle: &Cycle) -> Outcome {
    let tree = Tree::new(cycle.pool.accounts.clone());
    let served = serve(Quotas::new(&tree, &cycle.pool.total), &cycle.jobs, &cycle.takes);
    Outcome { served: served.served, unserved: served.unserved }
}

type Law = fn(&Cycle, &dyn Fn(&Cycle) -> Outcome) -> bool;

fn listing_does_not_matter(cycle: &Cycle, serve: &dyn Fn(&Cycle) -> Outcome) -> bool {
    let mut turned = cycle.clone();
    turned.jobs.reverse();
    turned.takes.reverse();
    turned.pool.accounts.reverse();
    let keys = |cycle: &Cycle| -> (Vec<(String, Pass)>, BTreeMap<String, policy::Unserved>) {
        let outcome = serve(cycle);
        let key = |job: usize| cycle.jobs[job].key.clone();
        let served = outcome.served.iter().map(|(job, pass)| (key(*job), *pass)).collect();
        (served, outcome.unserved.iter().map(|(job, why)| (key(*job), *why)).collect())
    };
    keys(cycle) == keys(&turned)
}

fn every_job_is_accounted_for(cycle: &Cycle, serve: &dyn Fn(&Cycle) -> Outcome) -> bool {
    let outcome = serve(cycle);
    let served: BTreeSet<usize> = outcome.served.iter().map(|(job, _)| *job).collect();
    served.len() == outcome.served.len()
        && (0..cycle.jobs.len()).all(|job| served.contains(&job) != outcome.unserved.contains_key(&job))
}

/// The holdings after each gang, from before the first one on.
fn replay(cycle: &Cycle, outcome: &Outcome) -> Vec<Forest> {
    let mut forests = vec![Forest::of(&cycle.pool.accounts)];
    for (job, _) in &outcome.served {
        let mut forest = forests[forests.len() - 1].clone();
        forest.hold(&cycle.jobs[*job].account, &cycle.takes[*job], 1);
        forests.push(forest);
    }
    forests
}

fn has_room(cycle: &Cycle, forest: &Forest, job: usize) -> bool {
    let takes = &cycle.takes[job];
    fits(forest, &cycle.pool.total, takes) && allows(forest, &cycle.pool.total, &cycle.jobs[job].account, takes)
}

fn a_job_that_is_served_has_room(cycle: &Cycle, serve: &dyn Fn(&Cycle) -> Outcome) -> bool {
    let outcome = serve(cycle);
    replay(cycle, &outcome).iter().zip(&outcome.served).all(|(before, (job, _))| has_room(cycle, before, *job))
}

fn a_job_that_waits_has_none(cycle: &Cycle, serve: &dyn Fn(&Cycle) -> Outcome) -> bool {
    let outcome = serve(cycle);
    let last = replay(cycle, &outcome).pop().unwrap();
    outcome.unserved.keys().all(|job| !has_room(cycle, &last, *job))
}

/// A job before another one of its account that takes the same is served if that is, and earlier.
fn no_job_passes_an_equal_one(cycle: &Cycle, serve: &dyn Fn(&Cycle) -> Outcome) -> bool {
    let outcome = serve(cycle);
    let turn = |job: usize| outcome.served.iter().position(|(served, _)| *served == job).unwrap_or(usize::MAX);
    let rank = |job: usize| (-cycle.jobs[job].priority, cycle.jobs[job].since, &cycle.jobs[job].key);
    let is_right = |one: usize, other: usize| {
        let alike = cycle.jobs[one].account == cycle.jobs[other].account && cycle.takes[one] == cycle.takes[other];
        !alike || rank(one) >= rank(other) || turn(one) <= turn(other)
    };
    (0..cycle.jobs.len()).all(|one| (0..cycle.jobs.len()).all(|other| is_right(one, other)))
}

fn is_that_of_the_definition(cycle: &Cycle, serve: &dyn Fn(&Cycle) -> Outcome) -> bool {
    serve(cycle) == outcome(cycle, None)
}

const LAWS: [(&str, Law, OrderMistake); 6] = [
    ("O1", listing_does_not_matter, OrderMistake::AsListed),
    ("O2", every_job_is_accounted_for, OrderMistake::SilentBehind),
    ("O3", a_job_that_is_served_has_room, OrderMistake::NoQuotas),
    ("O4", a_job_that_waits_has_none, OrderMistake::StopsAtFirst),
    ("O5", no_job_passes_an_equal_one, OrderMistake::YoungestFirst),
    ("O6", is_that_of_the_definition, OrderMistake::Forgets),
];

proptest! {
    #[test]
    fn the_laws_hold(cycle in cycle()) {
        for (name, law, _) in LAWS {
            prop_assert!(law(&cycle, &product), "{}: {:?} instead of {:?}", name, product(&cycle), outcome(&cycle, None));
        }
    }
}

#[test]
fn each_law_finds_its_mistake() {
    for (name, law, mistake) in LAWS {
        let holds = |cycle: &Cycle| law(cycle, &|cycle| outcome(cycle, Some(mistake)));
        assert!(counterexample(&cycle(), 2_000, holds).is_some(), "{name} does not find {mistake:?}");
    }
}

//! Decides which gang a root gets where quotas count: the best one that is within the quotas of its account.
//!
//! `cycle.rs` calls it with the best gang of all, which the finder has found; `account_queue.rs` says which quota stands against a gang. What it
//! finds is charged by `line.rs`.

use std::collections::BTreeSet;

use crate::account_queue::{AccountQueue, NumberedCharge};
use crate::budget::FUEL_OF_A_STEP;
use crate::finder::{Finder, Round, Turn};
use crate::gang::Gang;
use crate::model::{AdKey, Config, Root};
use crate::plain::{Filter, Found, best_of};
use crate::why_not::QuotaExceeded;

/// What is known of a root's gang and the quotas.
#[derive(Default)]
pub(crate) struct Within {
    /// The quota that stands against the best of all gangs, if one does.
    pub(crate) exceeded: Option<Box<QuotaExceeded>>,
    /// What the gang that was found costs and counts, if that was worked out.
    pub(crate) charge: NumberedCharge,
}

/// Finds the best gang within the quotas, with any finder, given the best one of all.
///
/// A quota can only be tested on a gang, and mostly the best gang of all is within the quotas. If it is not, the finder searches again without
/// the offers that take of a counter of which the account may have no more. If that gang is not within the quotas either, all gangs are tried.
pub(crate) fn best_within<'s, F: Finder>(
    finder: &mut F,
    run: &mut F::Run<'s>,
    (queue, turn): (&AccountQueue<'s>, &Turn<'s>),
    round: &mut Round<'s>,
    (found, within): (&mut Found, &mut Within),
) {
    if within.exceeded.is_some() {
        // It may have no gang at all.
        return;
    }
    within.exceeded = stands_against(found, (queue, turn), round, &mut within.charge);
    if within.exceeded.is_none() {
        return;
    }
    let snapshot = round.snapshot;
    let closed = queue.counted().filter(|ad| queue.is_closed(*ad)).filter_map(|ad| snapshot.ad(ad));
    let mut exclusions: BTreeSet<AdKey> = closed.map(|ad| ad.key.clone()).collect();
    if !exclusions.is_empty() {
        exclusions.extend(turn.root.exclusions.iter().cloned());
        let root = Root { exclusions: exclusions.clone(), ..turn.root.clone() };
        *found = finder.best(run, &Turn { excludes: true, root: &root, ..*turn }, round);
        if stands_against(found, (queue, turn), round, &mut within.charge).is_none() {
            return;
        }
    } else {
        exclusions.clone_from(&turn.root.exclusions);
    }
    let disagreed = found.disagreed;
    *found = Found { disagreed, ..all_within((queue, turn), &exclusions, round) };
    within.charge.forget();
}

/// The quota that stands against a gang that was found. Works out what the gang costs; the submitter and the namespaces of the offers pay for
/// that. Without a gang, nothing is worked out or paid.
fn stands_against(
    found: &Found,
    (queue, turn): (&AccountQueue<'_>, &Turn<'_>),
    round: &mut Round<'_>,
    charge: &mut NumberedCharge,
) -> Option<Box<QuotaExceeded>> {
    let gang = found.gang.as_ref()?;
    let (context, owners) = ((round.config, round.now), &mut round.owners);
    let own = queue.settled_charge_of((turn.root, gang), context, charge, owners);
    if own > 0 {
        round.shares.pay(turn.submitter, own / FUEL_OF_A_STEP);
    }
    queue.exceeded_by(charge)
}

/// The best gang of those that are within the quotas, one after the other, within the steps of the submitter.
fn all_within(
    (queue, turn): (&AccountQueue<'_>, &Turn<'_>),
    exclusions: &BTreeSet<AdKey>,
    round: &mut Round<'_>,
) -> Found {
    let steps_max = round.config.steps_max.min(round.shares.for_one(turn.submitter));
    if steps_max == 0 {
        return Found { gave_up: true, short: true, ..Found::default() };
    }
    let config = Config { steps_max, ..round.config.clone() };
    let now = round.now;
    let keeps = |gang: &Gang| {
        let mut charge = NumberedCharge::default();
        queue.numbered_charge_of(turn.root, gang, (&config, now), &mut charge);
        (queue.exceeded_by(&charge).is_none(), queue.take_used())
    };
    let filter = Filter { keeps: &keeps, owners: round.owners.clone() };
    let (found, steps, owners) = best_of((round.pool(), turn.ad), exclusions, &config, now, Some(filter));
    round.shares.pay(turn.submitter, steps);
    owners.into_iter().for_each(|paid| round.owners = paid);
    Found { short: found.gave_up && steps_max < round.config.steps_max, ..found }
}

//! The best gang of a root among those that are within the quotas of its account.

use std::collections::BTreeSet;

use crate::account_queue::AccountQueue;
use crate::finder::{Finder, Found, Round, Turn};
use crate::gang::Gang;
use crate::model::{AdKey, Config, Root};
use crate::plain::best_of;
use crate::why_not::QuotaExceeded;

/// Finds the best gang within the quotas, with any finder; and which quota stands against the best of all gangs, if one does.
///
/// A quota can only be tested on a gang. So the best gang of all is found first, which mostly is within the quotas. If not, offers of which
/// nothing is left for the account are left out. If the best gang of the others is not within the quotas either, all gangs are tried.
pub(crate) fn best_within<'s, F: Finder>(
    finder: &mut F,
    run: &mut F::Run<'s>,
    (queue, turn): (&AccountQueue<'s>, &Turn<'s>),
    round: &mut Round<'s>,
) -> (Found, Option<QuotaExceeded>) {
    if let Some(why) = queue.exceeded_by_any() {
        return (Found::default(), Some(why));
    }
    let (config, now) = (round.config, round.now);
    let exceeded = |root: &Root, gang: &Gang| queue.exceeded_by(&queue.charge_of(root, gang, config, now));
    let stands_against = |found: &Found| found.gang.as_ref().and_then(|gang| exceeded(turn.root, gang));
    let found = finder.best(run, turn, round);
    let Some(why) = stands_against(&found) else { return (found, None) };
    let snapshot = round.snapshot;
    let closed = queue.counted().filter(|ad| queue.is_closed(*ad)).filter_map(|ad| snapshot.ad(ad));
    let mut exclusions: BTreeSet<AdKey> = closed.map(|ad| ad.key.clone()).collect();
    let mut found = found;
    if !exclusions.is_empty() {
        exclusions.extend(turn.root.exclusions.iter().cloned());
        let root = Root { exclusions: exclusions.clone(), ..turn.root.clone() };
        found = finder.best(run, &Turn { excludes: true, root: &root, ..*turn }, round);
        if stands_against(&found).is_none() {
            return (found, Some(why));
        }
    } else {
        exclusions.clone_from(&turn.root.exclusions);
    }
    let disagreed = found.disagreed;
    let found = all_within(turn, &exclusions, round, &|gang| exceeded(turn.root, gang).is_none());
    (Found { disagreed, ..found }, Some(why))
}

/// The best gang of those that pass, one after the other, within the steps of the submitter.
fn all_within(
    turn: &Turn<'_>,
    exclusions: &BTreeSet<AdKey>,
    round: &mut Round<'_>,
    passes: &dyn Fn(&Gang) -> bool,
) -> Found {
    let steps_max = round.config.steps_max.min(round.accounts.for_one(turn.submitter));
    if steps_max == 0 {
        return Found { gave_up: true, short: true, ..Found::default() };
    }
    let config = Config { steps_max, ..round.config.clone() };
    let now = round.now;
    let (found, steps) = best_of(round.pool(), turn.ad, exclusions, &config, now, passes);
    round.accounts.pay(turn.submitter, steps);
    Found { short: found.gave_up && steps_max < round.config.steps_max, ..found }
}

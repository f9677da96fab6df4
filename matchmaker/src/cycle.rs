//! One negotiation cycle: decides for a whole [`Snapshot`] which roots get which gangs, in the five steps that are numbered below.
//!
//! Before it, the crate `pool` has made the snapshot. In the cycle, `line.rs` says whose turn it is, a [`Finder`] finds the best gang,
//! `within_quotas.rs` keeps it within the quotas, and `explanations.rs` says why the other roots have none. After it, the controller claims
//! the gangs.

use crate::charges::MemberCharges;
use crate::explanations::{Failed, explain};
use crate::finder::{Cycle, Finder, Round};
use crate::line::Line;
use crate::model::{Config, Snapshot};
use crate::plain::Found;
use crate::within_quotas::{Within, best_within};

/// Finds the best gang of every root, in order: first those of the submitter with the fewest gangs, then those with a higher priority,
/// then older ones, then those with the smaller key. What a gang takes is not available to later roots. With a policy, the
/// account with the smallest normalized usage is served first, and only gangs within its quotas are found.
///
/// The same snapshot, configuration and time give the same cycle with every finder. `now` is in seconds since 1970.
pub fn negotiate<F: Finder>(snapshot: &Snapshot, config: &Config, now: i64, finder: &mut F) -> Cycle {
    negotiate_first(snapshot, usize::MAX, config, now, finder)
}

/// The same, but only for so many roots: the first ones.
pub(crate) fn negotiate_first<F: Finder>(
    snapshot: &Snapshot,
    roots_max: usize,
    config: &Config,
    now: i64,
    finder: &mut F,
) -> Cycle {
    // 1. Order the submitters, and give each an equal share of the steps.
    let mut line = Line::of(snapshot);
    let mut round = Round::of(snapshot, config, now, line.names().iter());
    let mut run = finder.begin(&mut round);
    let (mut failed, mut within) = (Vec::new(), Within::default());
    round.cycle.gangs.reserve(snapshot.roots.len().min(roots_max));
    if matches!(line, Line::Accounts(_)) {
        round.cycle.charges.reserve(snapshot.roots.len().min(roots_max));
    }
    for last in [false, true] {
        if last {
            // Roots whose submitters had no steps left are searched again, with the steps that the others have not used.
            round.shares.share_rest(line.begin_postponed().into_iter());
            round.last = true;
        }
        // 2. Take the next root.
        while round.cycle.gangs.len() + failed.len() < roots_max {
            let Some(turn) = line.next() else { break };
            if config.stop.is_set() {
                round.cycle.skipped.push(turn.ad);
                line.not_found();
                continue;
            }
            // 3. Find its best gang.
            let before = round.shares.spent(turn.submitter);
            within.exceeded = line.forbids_every_gang();
            // A gang is large, and is moved once: to its place among the gangs of the cycle.
            let mut found =
                if within.exceeded.is_none() { finder.best(&mut run, &turn, &mut round) } else { Found::default() };
            if let Line::Accounts(queue) = &line {
                best_within(finder, &mut run, (queue, &turn), &mut round, (&mut found, &mut within));
            }
            if found.disagreed {
                round.cycle.disagreements.push(turn.ad);
            }
            if found.gang.is_none() {
                round.shares.waste(turn.submitter, round.shares.spent(turn.submitter) - before);
            }
            if config.stop.is_set() && found.gave_up && round.cycle.ended_at.is_none() {
                round.cycle.ended_at = Some(turn.ad);
            } else if found.short && !last {
                line.postpone(&turn);
                continue;
            }
            if found.short {
                round.shares.exceed(turn.submitter);
            }
            let Some(gang) = &found.gang else {
                failed.push(Failed::of(&turn, found.gave_up).by(within.exceeded.take()));
                line.not_found();
                continue;
            };
            // 4. Charge the submitter for the gang, and the offers for what the gang takes.
            if !line.serve(&turn, gang, &mut within.charge, (config, now)) {
                continue;
            }
            if within.charge.is_known() {
                round.cycle.charges.push((turn.ad, MemberCharges::from_slice(&within.charge.members)));
            }
            if found.gave_up {
                round.cycle.cut_short.push(turn.ad);
            }
            if let Some(gang) = found.gang {
                round.cycle.gangs.push(gang);
            }
            finder.took(&mut run, &mut round);
        }
    }
    round.end();
    finder.end(&mut run, &mut round);
    // 5. Explain the rest.
    if config.explains {
        explain(finder, &mut run, &mut round, &failed);
    }
    let costs = &mut round.cycle.costs;
    (costs.fruitless, costs.spent) = (round.shares.fruitless(), round.shares.spent_by_all());
    round.cycle
}

//! One negotiation cycle in five steps: order the submitters, next root, best gang, charge, explain the rest.

use crate::explanations::{Failed, explain};
use crate::finder::{Cycle, Finder, Found, Round};
use crate::model::{Config, Snapshot};
use crate::queue::Queue;

/// Finds the best gang of every root, in order: first those of the submitter with the fewest gangs, then those with a higher priority,
/// then older ones, then those with the smaller key. What a gang takes is not available to later roots.
///
/// The same snapshot, configuration and time give the same cycle with every finder. `now` is in seconds since 1970.
pub fn negotiate<F: Finder>(snapshot: &Snapshot, config: &Config, now: i64, finder: &mut F) -> Cycle {
    // 1. Order the submitters, and give each an equal share of the steps.
    let mut queue = Queue::of(snapshot);
    let mut round = Round::of(snapshot, config, now, queue.names());
    let mut run = finder.begin(&mut round);
    let mut failed = Vec::new();
    for last in [false, true] {
        if last {
            // Roots whose submitters had no steps left are searched again, with the steps that the others have not used.
            round.accounts.share_rest(queue.again().into_iter());
            round.last = true;
        }
        // 2. Take the next root.
        while let Some(turn) = queue.next() {
            if config.stop.is_set() {
                round.cycle.skipped.push(turn.ad);
                continue;
            }
            // 3. Find its best gang.
            let before = round.accounts.spent(turn.submitter);
            let found = finder.best(&mut run, &turn, &mut round);
            if found.disagreed {
                round.cycle.disagreements.push(turn.ad);
            }
            if found.gang.is_none() {
                round.accounts.waste(turn.submitter, round.accounts.spent(turn.submitter) - before);
            }
            if config.stop.is_set() && found.gave_up && round.cycle.ended_at.is_none() {
                round.cycle.ended_at = Some(turn.ad);
            } else if found.short && !last {
                queue.put_aside(&turn);
                continue;
            }
            if found.short {
                round.accounts.exceed(turn.submitter);
            }
            let Found { gang: Some(gang), gave_up, .. } = found else {
                failed.push(Failed::of(&turn, found.gave_up));
                continue;
            };
            if gave_up {
                round.cycle.cut_short.push(turn.ad);
            }
            // 4. Charge the submitter for one gang, and the offers for what the gang takes.
            queue.charge();
            round.cycle.gangs.push(gang);
            finder.took(&mut run, &mut round);
        }
    }
    round.end();
    finder.end(&mut run, &mut round);
    // 5. Explain the rest.
    if config.explains {
        explain(finder, &mut run, &mut round, &failed);
    }
    round.cycle.fruitless = round.accounts.fruitless();
    round.cycle
}

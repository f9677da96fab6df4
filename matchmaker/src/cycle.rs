//! One negotiation cycle, step by step: order the submitters, next root, best gang, charge, explain the rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::explanations::{Failed, explain};
use crate::finder::{Finder, Found, Round};
use crate::gang::Gang;
use crate::model::{AdId, Config, Snapshot};
use crate::queue::Queue;
use crate::why_not::Unmatched;

/// What one cycle came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// The gangs found, in the order in which their roots were served.
    pub gangs: Vec<Gang>,
    /// The other roots, and why they have none, as things are after the cycle; but for those below.
    pub unmatched: Vec<Unmatched>,
    /// Roots whose gang may not be the best one: the search ran out of steps before it had seen them all.
    pub cut_short: Vec<AdId>,
    /// Roots without a gang whose search was cut short.
    pub gave_up: Vec<AdId>,
    /// Submitters some of whose roots were not searched to the end: together they cost more than their share.
    pub over_budget: Vec<Arc<str>>,
    /// The steps that submitters have spent on roots without a gang: on searches, and on reasons that no index knows. Not those that have
    /// spent none.
    pub fruitless: Vec<(Arc<str>, u64)>,
    /// Namespaces whose offers were left out in the end, but for their own jobs: their expressions cost others too much.
    pub barred: BTreeSet<String>,
    /// Roots that were not looked at, since the cycle was ended from outside.
    pub skipped: Vec<AdId>,
    /// The root that was looked at when it was.
    pub ended_at: Option<AdId>,
    /// Roots without a gang for which nobody had the time to say why; later cycles do.
    pub unexplained: Vec<AdId>,
    /// Roots whose gang the evaluator did not find to be one: a defect of the index. They were served by the plain search.
    pub disagreements: Vec<AdId>,
}

/// Gives every root its best gang, in turn: the submitter that holds the fewest gangs first, then the root with the higher
/// priority, then the older one, then the smaller key. What a gang takes is gone for the roots after it.
///
/// The same snapshot, configuration and time give the same cycle, whichever finder is asked. `now` is in seconds since 1970.
pub fn negotiate<F: Finder>(snapshot: &Snapshot, config: &Config, now: i64, finder: &mut F) -> Cycle {
    // 1. Order the submitters, and give each an equal share of the steps.
    let mut queue = Queue::of(snapshot);
    let mut round = Round::of(snapshot, config, now, queue.names());
    let mut run = finder.begin(&mut round);
    let mut failed = Vec::new();
    for last in [false, true] {
        if last {
            // Roots whose submitters had no steps left come once more, with what the others have not spent.
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
            // 4. Charge: the submitter holds one gang more, and what the gang takes is gone.
            queue.charge();
            round.cycle.gangs.push(gang);
            finder.took(&mut run, &mut round);
        }
    }
    round.end();
    finder.end(&mut run, &mut round);
    // 5. Say of the rest why they have none.
    if config.explains {
        explain(finder, &mut run, &mut round, &failed);
    }
    round.cycle.fruitless = round.accounts.fruitless();
    round.cycle
}

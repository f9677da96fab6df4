//! Explains roots without a gang within the steps of a cycle: one submitter's explanations do not delay another's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::budget::{FUEL_OF_A_STEP, SIDE_SHARE, StepShares, frugal_part};
use crate::casts::as_u64;
use crate::finder::{Asked, Explained, Finder, Round, Turn};
use crate::model::{AdKey, Root, Snapshot};
use crate::why_not::{QuotaExceeded, Unmatched, Verdict, WhyNot};

/// A root without a gang.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    /// Its number.
    root: usize,
    /// The number of its submitter.
    submitter: usize,
    /// The search was cut short.
    gave_up: bool,
    /// The quota that does not let it have a gang. Few have one, and there may be very many roots.
    exceeded: Option<Box<QuotaExceeded>>,
}

impl Failed {
    /// The root of a turn that found no gang.
    pub(crate) fn of(turn: &Turn<'_>, gave_up: bool) -> Failed {
        Failed { root: turn.number, submitter: turn.submitter, gave_up, exceeded: None }
    }

    /// The same, because of a quota.
    pub(crate) fn by(self, exceeded: Option<Box<QuotaExceeded>>) -> Failed {
        Failed { exceeded, ..self }
    }

    fn root<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s Root> {
        snapshot.roots.get(self.root)
    }
}

/// What part of a cycle's steps may go into reasons that an index knows: where thousands of jobs wait, it is the turn of some of them
/// in each cycle.
const INDEXED_SHARE: u64 = 32;

/// What explanations have cost so far.
struct Costs {
    /// By the number of a submitter.
    spent: BTreeMap<usize, u64>,
    /// What each of them may cost at first.
    share: u64,
    /// What is left of all steps.
    left: u64,
    /// What a single evaluation may take: in the last round a submitter may exceed what is left by it, or would never be told that its
    /// expression is too expensive.
    one: u64,
}

impl Costs {
    /// A share of `steps` for each of so many submitters.
    fn of(steps: u64, submitters: usize, fuel_max: u64) -> Costs {
        let share = steps / as_u64(submitters).max(1);
        Costs { spent: BTreeMap::new(), share, left: steps, one: fuel_max / FUEL_OF_A_STEP + 2 }
    }

    fn limit(&self, submitter: usize, shares: &StepShares, last: bool) -> u64 {
        let spent = self.spent.get(&submitter).copied().unwrap_or(0);
        match shares.is_frugal(submitter) {
            true => frugal_part(self.share).saturating_sub(spent).min(self.left),
            false if last && self.left > 0 => self.left.max(self.one),
            false if last => 0,
            false => self.share.saturating_sub(spent).min(self.left),
        }
    }

    fn pay(&mut self, submitter: usize, steps: u64) {
        if steps > 0 {
            let spent = self.spent.entry(submitter).or_default();
            *spent = spent.saturating_add(steps);
            self.left = self.left.saturating_sub(steps);
        }
    }
}

/// Says why roots have no gang. Those for which there are not steps enough are explained in later cycles, in turn.
pub(crate) fn explain<F: Finder>(finder: &mut F, run: &mut F::Run<'_>, round: &mut Round<'_>, failed: &[Failed]) {
    let (snapshot, config) = (round.snapshot, round.config);
    let submitters: BTreeSet<usize> = failed.iter().map(|failed| failed.submitter).collect();
    let mut costs = Costs::of(config.cycle_steps_max / SIDE_SHARE, submitters.len(), config.limits.fuel);
    let mut indexed = Costs::of(config.cycle_steps_max / INDEXED_SHARE, submitters.len(), 0);
    let order = in_turn(finder.explained(), failed, snapshot);
    let by_quota =
        |failed: &Failed| Some(Arc::new(WhyNot::of(Verdict::QuotaExceeded(failed.exceeded.as_deref()?.clone()))));
    let mut whys: Vec<Option<Arc<WhyNot>>> = failed.iter().map(by_quota).collect();
    let mut latest: BTreeMap<usize, &AdKey> = BTreeMap::new();
    for last in [false, true] {
        let mut complete = true;
        for place in order.iter().copied() {
            let (Some(failed), Some(why)) = (failed.get(place), whys.get_mut(place)) else { continue };
            let Some(root) = failed.root(snapshot).filter(|_| why.is_none()) else { continue };
            let may = |costs: &Costs| costs.limit(failed.submitter, &round.shares, last);
            let waits = config.stop.is_set() || may(&indexed) == 0;
            let steps_max = if waits { 0 } else { may(&costs) };
            let has_all = steps_max >= costs.share.max(costs.one) && !round.shares.is_frugal(failed.submitter);
            // What is cut short is no explanation as long as a later cycle has more steps for it.
            let last = last && !round.shares.is_frugal(failed.submitter);
            let asked = Asked { root, number: failed.root, gave_up: failed.gave_up, steps_max, last };
            let answer = finder.why(run, &asked, round);
            costs.pay(failed.submitter, answer.steps);
            if answer.why.as_ref().is_some_and(|why| why.indexed) {
                indexed.pay(failed.submitter, answer.steps);
            } else {
                round.shares.waste(failed.submitter, answer.steps);
            }
            complete &= answer.why.is_some();
            // No later cycle would have more steps for it.
            *why = answer
                .why
                .or_else(|| (has_all && answer.steps >= steps_max).then(|| Arc::new(WhyNot::of(Verdict::GaveUp))));
            if let Some(ad) = snapshot.ad(root.ad).filter(|_| answer.steps > 0) {
                latest.insert(failed.submitter, &ad.key);
            }
        }
        if complete {
            break;
        }
    }
    finder.explained().clear();
    for (failed, why) in failed.iter().zip(whys) {
        let Some(root) = failed.root(snapshot) else { continue };
        match why {
            Some(why) => round.cycle.unmatched.push(Unmatched { root: root.ad, why }),
            None => {
                if let Some(key) = latest.get(&failed.submitter) {
                    finder.explained().insert(Arc::clone(&root.submitter), (*key).clone());
                }
                round.cycle.unexplained.push(root.ad);
            }
        }
        if failed.gave_up {
            round.cycle.gave_up.push(root.ad);
        }
    }
}

/// The order in which roots are explained. If steps did not suffice for all roots of a submitter in the cycle before, they begin after the one
/// that was explained last.
fn in_turn(explained: &Explained, failed: &[Failed], snapshot: &Snapshot) -> Vec<usize> {
    let mut order: Vec<usize> = (0..failed.len()).collect();
    if explained.is_empty() {
        return order;
    }
    order.sort_by_cached_key(|place| {
        let root = failed.get(*place).and_then(|failed| failed.root(snapshot))?;
        let (latest, ad) = (explained.get(&root.submitter)?, snapshot.ad(root.ad)?);
        Some((ad.key <= *latest, ad.key.clone()))
    });
    order
}

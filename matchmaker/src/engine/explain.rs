//! Roots without a gang into reasons, within the steps of a cycle: what one submitter's explanations cost delays no other's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Engine, Failed, Run, SIDE_SHARE, as_u64};
use crate::cycle::Cycle;
use crate::model::{AdKey, Config, Root, Snapshot};
use crate::table::as_usize;
use crate::why::{Asked, Unmatched, Whys};

/// What explanations have cost so far.
struct Costs {
    /// By the number of a submitter.
    spent: BTreeMap<u32, u64>,
    /// What each of them may cost at first.
    share: u64,
    /// What is left of all steps.
    left: u64,
}

impl Costs {
    fn limit(&self, submitter: u32, last: bool) -> u64 {
        let spent = self.spent.get(&submitter).copied().unwrap_or(0);
        if last { self.left } else { self.share.saturating_sub(spent).min(self.left) }
    }

    fn pay(&mut self, submitter: u32, steps: u64) {
        if steps > 0 {
            let spent = self.spent.entry(submitter).or_default();
            *spent = spent.saturating_add(steps);
            self.left = self.left.saturating_sub(steps);
        }
    }
}

impl Engine {
    /// Says why roots have no gang. Those for which there are not steps enough are explained in later cycles, in turn.
    pub(super) fn explain(&mut self, run: Run, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        let Run { mut cycle, failed, mut ledger, indexed } = run;
        let pool = ledger.after(&cycle.gangs);
        let mut whys = Whys::of(pool, config, now);
        let submitters: BTreeSet<u32> = failed.iter().map(|failed| failed.submitter).collect();
        let steps = config.cycle_steps_max / SIDE_SHARE;
        let mut costs = Costs { spent: BTreeMap::new(), share: steps / as_u64(submitters.len()).max(1), left: steps };
        let order = self.in_turn(&failed, snapshot);
        let mut told: Vec<Option<Unmatched>> = vec![None; failed.len()];
        let mut latest: BTreeMap<u32, &AdKey> = BTreeMap::new();
        for last in [false, true] {
            let mut complete = true;
            for place in order.iter().copied() {
                let (Some(failed), Some(told)) = (failed.get(place), told.get_mut(place)) else { continue };
                let Some(root) = root_of(failed, snapshot).filter(|root| !pool.consumed.contains(&root.ad)) else {
                    continue;
                };
                if told.is_some() {
                    continue;
                }
                let (key, reflective) =
                    indexed.as_ref().map_or((None, true), |indexed| indexed.shows(as_usize(failed.root)));
                let known = indexed.is_some().then(|| self.known());
                let steps_max = if config.stop.is_set() { 0 } else { costs.limit(failed.submitter, last) };
                let asked = Asked { root, key, reflective, gave_up: failed.gave_up, steps_max, last };
                let mut cost = 0;
                *told = whys.why(&asked, known, &mut cost);
                costs.pay(failed.submitter, cost);
                complete &= told.is_some();
                if let Some(ad) = snapshot.ad(root.ad).filter(|_| cost > 0) {
                    latest.insert(failed.submitter, &ad.key);
                }
            }
            if complete {
                break;
            }
        }
        self.explained.clear();
        for (failed, told) in failed.iter().zip(told) {
            let Some(root) = root_of(failed, snapshot).filter(|root| !pool.consumed.contains(&root.ad)) else {
                continue;
            };
            match told {
                Some(told) => cycle.unmatched.push(told),
                None => {
                    if let Some(key) = latest.get(&failed.submitter) {
                        self.explained.insert(Arc::clone(&root.submitter), (*key).clone());
                    }
                    cycle.unexplained.push(root.ad);
                }
            }
            if failed.gave_up {
                cycle.gave_up.push(root.ad);
            }
        }
        cycle
    }

    /// The order in which roots are explained: those of a submitter begin after the one that came last in the cycle before, if
    /// some did not come.
    fn in_turn(&self, failed: &[Failed], snapshot: &Snapshot) -> Vec<usize> {
        let mut order: Vec<usize> = (0..failed.len()).collect();
        if self.explained.is_empty() {
            return order;
        }
        order.sort_by_cached_key(|place| {
            let root = failed.get(*place).and_then(|failed| root_of(failed, snapshot))?;
            let (latest, ad) = (self.explained.get(&root.submitter)?, snapshot.ad(root.ad)?);
            Some((ad.key <= *latest, ad.key.clone()))
        });
        order
    }
}

fn root_of<'s>(failed: &Failed, snapshot: &'s Snapshot) -> Option<&'s Root> {
    snapshot.roots.get(as_usize(failed.root))
}

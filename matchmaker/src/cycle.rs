//! One negotiation cycle: order the roots, search a gang for each, count it as taken, explain the rest.

use std::collections::BTreeMap;

use crate::explain::{Unmatched, explain};
use crate::gang::Gang;
use crate::model::{AdId, Config, Root, Snapshot};
use crate::naive;
use crate::ports::Rules;

/// What one cycle came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// The gangs found, in the order in which their roots were served.
    pub gangs: Vec<Gang>,
    /// Every other root, and why.
    pub unmatched: Vec<Unmatched>,
    /// Roots whose gang may not be the best one: the search ran out of steps before it had seen them all.
    pub cut_short: Vec<AdId>,
}

/// Gives every root its best gang, in turn: the submitter that holds the fewest gangs first, then the root with the higher
/// priority, then the older one, then the smaller key. What a gang takes is gone for the roots after it.
///
/// The same snapshot, configuration and time give the same cycle. `now` is in seconds since 1970.
pub fn negotiate(snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
    let mut pool = snapshot.clone();
    let mut cycle = Cycle::default();
    let mut queue = Queue::of(snapshot);
    while let Some(root) = queue.next() {
        if pool.consumed.contains(&root.ad) {
            continue;
        }
        let found = naive::best(&pool, root.ad, &root.exclusions, config, now);
        match found.gang {
            Some(gang) => {
                if found.gave_up {
                    cycle.cut_short.push(root.ad);
                }
                for member in &gang.members {
                    if let Some(offer) = pool.offer_mut(member.ad) {
                        offer.usage.take(&member.ask);
                    }
                    if config.rules == Rules::Paper {
                        pool.consumed.insert(member.ad);
                    }
                }
                queue.charge(&root.submitter);
                cycle.gangs.push(gang);
            }
            None => cycle.unmatched.push(explain(&pool, root, found.gave_up, config, now)),
        }
    }
    cycle
}

/// The roots that wait, by submitter, and what each submitter holds.
struct Queue<'s> {
    waiting: BTreeMap<&'s str, Vec<&'s Root>>,
    held: BTreeMap<String, u64>,
}

impl<'s> Queue<'s> {
    fn of(snapshot: &'s Snapshot) -> Queue<'s> {
        let mut waiting: BTreeMap<&str, Vec<&Root>> = BTreeMap::new();
        for root in &snapshot.roots {
            waiting.entry(&root.submitter).or_default().push(root);
        }
        for roots in waiting.values_mut() {
            // the next one stands last
            roots.sort_by_key(|root| (root.priority, std::cmp::Reverse((root.since, root.ad))));
        }
        Queue { waiting, held: snapshot.held.clone() }
    }

    fn next(&mut self) -> Option<&'s Root> {
        let standing = |submitter: &str| self.held.get(submitter).copied().unwrap_or(0);
        let submitter = *self.waiting.keys().min_by_key(|submitter| (standing(submitter), **submitter))?;
        let roots = self.waiting.get_mut(submitter)?;
        let root = roots.pop();
        if roots.is_empty() {
            self.waiting.remove(submitter);
        }
        root
    }

    fn charge(&mut self, submitter: &str) {
        let held = self.held.entry(submitter.to_owned()).or_default();
        *held = held.saturating_add(1);
    }
}

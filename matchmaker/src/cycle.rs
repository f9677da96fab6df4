//! One negotiation cycle: order the roots, search a gang for each, count it as taken, explain the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Engine;
use crate::gang::Gang;
use crate::model::{AdId, Config, Root, Snapshot};
use crate::why::Unmatched;

/// What one cycle came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// The gangs found, in the order in which their roots were served.
    pub gangs: Vec<Gang>,
    /// Every other root, and why it has none, as things are after the cycle.
    pub unmatched: Vec<Unmatched>,
    /// Roots whose gang may not be the best one: the search ran out of steps before it had seen them all.
    pub cut_short: Vec<AdId>,
    /// Roots whose gang the evaluator did not find to be one: a defect of the index. They were served by the plain search.
    pub disagreements: Vec<AdId>,
}

/// Gives every root its best gang, in turn: the submitter that holds the fewest gangs first, then the root with the higher
/// priority, then the older one, then the smaller key. What a gang takes is gone for the roots after it.
///
/// The same snapshot, configuration and time give the same cycle. `now` is in seconds since 1970. Who negotiates again and
/// again keeps an [`Engine`], which gives the same cycles sooner.
pub fn negotiate(snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
    Engine::new().negotiate(snapshot, config, now)
}

/// The roots that wait, by submitter, and what each submitter holds.
pub(crate) struct Queue<'s> {
    /// The next one stands last.
    waiting: BTreeMap<&'s str, Vec<(usize, &'s Root)>>,
    /// The submitters that wait, who holds the fewest gangs first.
    order: BTreeSet<(u64, &'s str)>,
    held: &'s BTreeMap<String, u64>,
    taken: BTreeMap<&'s str, u64>,
}

impl<'s> Queue<'s> {
    pub(crate) fn of(snapshot: &'s Snapshot) -> Queue<'s> {
        let mut waiting: BTreeMap<&str, Vec<(usize, &Root)>> = BTreeMap::new();
        for (number, root) in snapshot.roots.iter().enumerate() {
            waiting.entry(&root.submitter).or_default().push((number, root));
        }
        for roots in waiting.values_mut() {
            roots.sort_by_key(|(_, root)| (root.priority, std::cmp::Reverse((root.since, root.ad))));
        }
        let mut queue = Queue { waiting, order: BTreeSet::new(), held: &snapshot.held, taken: BTreeMap::new() };
        queue.order = queue.waiting.keys().map(|submitter| (queue.standing(submitter), *submitter)).collect();
        queue
    }

    fn standing(&self, submitter: &str) -> u64 {
        let held = self.held.get(submitter).copied().unwrap_or(0);
        held.saturating_add(self.taken.get(submitter).copied().unwrap_or(0))
    }

    /// The root that is served next, with its number among the snapshot's roots.
    pub(crate) fn next(&mut self) -> Option<(usize, &'s Root)> {
        let first = *self.order.first()?;
        let roots = self.waiting.get_mut(first.1)?;
        let root = roots.pop();
        if roots.is_empty() {
            self.order.remove(&first);
        }
        root
    }

    /// Counts one more gang for a submitter.
    pub(crate) fn charge(&mut self, submitter: &'s str) {
        if self.order.len() < 2 {
            return;
        }
        let before = (self.standing(submitter), submitter);
        *self.taken.entry(submitter).or_default() += 1;
        if self.order.remove(&before) {
            self.order.insert((self.standing(submitter), submitter));
        }
    }
}

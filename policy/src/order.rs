//! The order in which the jobs of a negotiation cycle are served.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::amounts::{Amounts, CHARGE, normalized};
use crate::quota::Quotas;
use crate::tree::Node;

/// A job that waits for a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its name, unique.
    pub key: String,
    /// The account that its gang is charged to. Without such an account it is never served.
    pub account: String,
    /// Larger is sooner, within the account.
    pub priority: i64,
    /// Since when it waits; earlier is sooner.
    pub since: i64,
}

/// The passes of a cycle, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// Accounts that do not hold what is guaranteed to them get gangs that are guaranteed.
    Guarantee,
    /// All accounts get what their quotas allow.
    Fair,
}

/// The turn of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The place of the job in the list given.
    pub job: usize,
    /// The own roots of its account: where its gang will be.
    pub own_roots: Node,
    /// The pass.
    pub pass: Pass,
}

/// The queue of a cycle. In turn, from the pool down, it chooses the child with the smallest normalized usage, then the smaller name, below
/// which a job waits; in the account the highest priority, then the oldest, then the smaller key. What a gang takes counts at once, for its
/// account and all above it.
///
/// A caller asks for the [`next`](Order::next) turn, searches a gang within the quotas, and reports either [`found`](Order::found) or
/// [`not_found`](Order::not_found). A turn takes O(depth * log(accounts)).
///
/// ```
/// use policy::{Account, Amounts, Order, Quotas, Tree, Waiting, taken_by_gang};
/// let tree = Tree::new([Account { usage: 2_000_000, ..Account::named("a") }, Account::named("b")]);
/// let job = |account: &str, key: &str| Waiting { account: account.into(), key: key.into(), priority: 0, since: 0 };
/// let jobs = [job("a", "a1"), job("a", "a2"), job("b", "b1"), job("b", "b2"), job("b", "b3")];
/// let mut order = Order::new(Quotas::new(&tree, &Amounts::new()), &jobs);
/// let mut served = Vec::new();
/// while let Some(turn) = order.next() {
///     if order.found(turn, &taken_by_gang(1_000_000, Amounts::new())) {
///         served.push(jobs[turn.job].key.as_str());
///     }
/// }
/// assert_eq!(served, ["b1", "b2", "a1", "b3", "a2"]);
/// ```
#[derive(Clone, Debug)]
pub struct Order<'t> {
    quotas: Quotas<'t>,
    /// Jobs that were not served yet, by own roots.
    queues: BTreeMap<Node, VecDeque<usize>>,
    /// Own roots that have ended the pass of guarantees.
    through: BTreeSet<Node>,
    pass: Pass,
    /// By node: its children below which a job waits for this pass.
    ready: Vec<BTreeSet<Place>>,
    /// By node: where it is in the set of its parent.
    places: Vec<Option<Place>>,
}

/// A node among its siblings: the smaller the sooner. Nodes are in the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    normalized_usage: i128,
    node: Node,
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> std::cmp::Ordering {
        #[cfg(test)]
        tests::count_comparison();
        (self.normalized_usage, self.node).cmp(&(other.normalized_usage, other.node))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<'t> Order<'t> {
    /// The order of jobs, given what is held before the cycle.
    #[must_use]
    pub fn new(quotas: Quotas<'t>, jobs: &[Waiting]) -> Order<'t> {
        let tree = quotas.tree();
        let mut queues: BTreeMap<Node, Vec<usize>> = BTreeMap::new();
        for (index, job) in jobs.iter().enumerate() {
            if let Some(own_roots) = tree.own_roots(&job.account) {
                queues.entry(own_roots).or_default().push(index);
            }
        }
        let rank =
            |index: &usize| jobs.get(*index).map(|job| (std::cmp::Reverse(job.priority), job.since, job.key.as_str()));
        let in_order = |mut queue: Vec<usize>| {
            queue.sort_by_key(rank);
            VecDeque::from(queue)
        };
        let mut order = Order {
            queues: queues.into_iter().map(|(own_roots, queue)| (own_roots, in_order(queue))).collect(),
            through: BTreeSet::new(),
            pass: Pass::Guarantee,
            ready: vec![BTreeSet::new(); tree.len()],
            places: vec![None; tree.len()],
            quotas,
        };
        order.begin(Pass::Guarantee);
        order
    }

    /// The quotas, with what the gangs found so far take.
    #[must_use]
    pub fn quotas(&self) -> &Quotas<'t> {
        &self.quotas
    }

    /// The next turn: the same one until it is reported what came of it. None after the last pass.
    #[expect(clippy::should_implement_trait, reason = "an iterator would not be told what was found")]
    pub fn next(&mut self) -> Option<Turn> {
        loop {
            let Some(own_roots) = self.first() else {
                if self.pass == Pass::Fair {
                    return None;
                }
                self.begin(Pass::Fair);
                continue;
            };
            if self.pass == Pass::Guarantee && !self.quotas.has_open_guarantee(own_roots) {
                // Guarantees are only ever filled during a cycle.
                self.end_guarantee(own_roots);
                continue;
            }
            let job = self.queues.get(&own_roots).and_then(VecDeque::front).copied()?;
            return Some(Turn { job, own_roots, pass: self.pass });
        }
    }

    /// A gang was found in this turn, with capacity and within the quotas. Says whether it is served: in the pass of guarantees only one that is
    /// guaranteed is, and another one ends the pass for its account, but keeps its place for the next pass.
    pub fn found(&mut self, turn: Turn, takes: &Amounts) -> bool {
        let is_served = turn.pass == Pass::Fair || self.quotas.guarantees(turn.own_roots, takes);
        if is_served {
            self.quotas.take(turn.own_roots, takes);
            self.remove(turn);
        } else {
            self.end_guarantee(turn.own_roots);
        }
        is_served
    }

    /// No gang was found in this turn: the job has none in this cycle, and the next one of its account has its turn.
    pub fn not_found(&mut self, turn: Turn) {
        self.remove(turn);
    }

    fn remove(&mut self, turn: Turn) {
        let queue = self.queues.get_mut(&turn.own_roots);
        if let Some(queue) = queue.filter(|queue| queue.front() == Some(&turn.job)) {
            queue.pop_front();
        }
        self.update(turn.own_roots);
    }

    fn end_guarantee(&mut self, own_roots: Node) {
        self.through.insert(own_roots);
        self.update(own_roots);
    }

    /// The own roots that are first from the pool down.
    fn first(&self) -> Option<Node> {
        let first_of = |node: &Node| self.ready.get(node.place()).and_then(BTreeSet::first).map(|place| place.node);
        std::iter::successors(first_of(&Node::POOL), first_of).last()
    }

    fn begin(&mut self, pass: Pass) {
        self.pass = pass;
        for own_roots in self.queues.keys().copied().collect::<Vec<_>>() {
            if pass == Pass::Guarantee && !self.quotas.has_open_guarantee(own_roots) {
                self.through.insert(own_roots);
            }
            self.update(own_roots);
        }
    }

    /// Puts some own roots and all nodes above them where they now belong.
    fn update(&mut self, own_roots: Node) {
        let tree = self.quotas.tree();
        for (node, parent) in tree.path(own_roots).filter_map(|node| Some((node, tree.parent(node)?))) {
            let place = self.is_ready(node).then(|| Place { normalized_usage: self.normalized_usage(node), node });
            let (Some(former), Some(siblings)) =
                (self.places.get_mut(node.place()), self.ready.get_mut(parent.place()))
            else {
                continue;
            };
            if let Some(former) = std::mem::replace(former, place) {
                siblings.remove(&former);
            }
            siblings.extend(place);
        }
    }

    /// Whether a job waits for this pass at own roots, or below an account.
    fn is_ready(&self, node: Node) -> bool {
        let waits =
            |queue: &VecDeque<usize>| !queue.is_empty() && (self.pass == Pass::Fair || !self.through.contains(&node));
        self.queues.get(&node).is_some_and(waits) || self.ready.get(node.place()).is_some_and(|below| !below.is_empty())
    }

    /// (usage + held charge) / weight of a node with all below it, as an integer of the same order.
    fn normalized_usage(&self, node: Node) -> i128 {
        let tree = self.quotas.tree();
        normalized(tree.usage(node) + self.quotas.held(node, CHARGE), tree.weight(node))
    }
}

#[cfg(test)]
mod tests;

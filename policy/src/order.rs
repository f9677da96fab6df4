//! The order in which the jobs of a negotiation cycle are served.

mod queues;
mod tournaments;

use std::cmp::Reverse;
use std::num::NonZeroU32;

use crate::amounts::{Amount, Amounts, CHARGE, NumberedAmounts, normalized};
use crate::quota::Quotas;
use crate::tree::Node;

use self::queues::Queues;
use self::tournaments::Tournaments;

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
pub struct AccountTurn {
    /// The place of the job in the list given.
    pub job: usize,
    /// The leaf of its account, where its gang will be held.
    pub leaf: Node,
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
    /// By node: what orders it among its siblings.
    charged: Vec<Charged>,
    /// By leaf: the jobs that were not served yet.
    queues: Queues,
    /// By leaf: whether its account has ended the pass of guarantees.
    through: Vec<bool>,
    pass: Pass,
    /// By node: its children below which a job waits for this pass.
    ready: Tournaments,
}

impl<'t> Order<'t> {
    /// The order of jobs, given what is held before the cycle.
    #[must_use]
    pub fn new(quotas: Quotas<'t>, jobs: &[Waiting]) -> Order<'t> {
        let tree = quotas.tree();
        let of_tree = jobs.iter().enumerate().filter_map(|(index, job)| Some((tree.leaf(&job.account)?, index, job)));
        let mut waiting: Vec<(Node, usize, &Waiting)> = of_tree.collect();
        waiting.sort_by_key(|(leaf, _, job)| (*leaf, Reverse(job.priority), job.since, job.key.as_str()));
        Order::of(quotas, waiting.iter().map(|(leaf, index, _)| (*leaf, *index)))
    }

    /// The order of jobs by their numbers, each with the leaf of its account; those of one account are in order already.
    #[must_use]
    pub fn of(quotas: Quotas<'t>, jobs: impl Iterator<Item = (Node, usize)> + Clone) -> Order<'t> {
        let tree = quotas.tree();
        let charged = |node| Charged { micros: tree.usage(node) + quotas.held_charge(node), weight: tree.weight(node) };
        let mut order = Order {
            charged: (0..tree.len()).map(Node::at).map(charged).collect(),
            queues: Queues::default(),
            through: vec![false; tree.len()],
            pass: Pass::Guarantee,
            ready: Tournaments::of(tree),
            quotas,
        };
        order.restart(jobs);
        order
    }

    /// Begins again with other jobs, and with what gangs have taken so far.
    pub fn restart(&mut self, jobs: impl Iterator<Item = (Node, usize)> + Clone) {
        self.queues = Queues::of(self.quotas.tree().len(), jobs);
        self.begin(if self.quotas.has_guarantees() { Pass::Guarantee } else { Pass::Fair });
    }

    /// The quotas, with what the gangs found so far take.
    #[must_use]
    pub fn quotas(&self) -> &Quotas<'t> {
        &self.quotas
    }

    /// A gang at this leaf holds so much from now on; after that, the order has to begin again.
    pub fn take(&mut self, leaf: Node, takes: &Amounts) {
        self.quotas.take(leaf, takes);
        let charge = takes.get(CHARGE).copied().unwrap_or(0);
        for node in self.quotas.tree().path(leaf) {
            self.charged.get_mut(node.place()).into_iter().for_each(|charged| charged.micros += charge);
        }
    }

    /// The next turn: the same one until it is reported what came of it. None after the last pass.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator would not be told what was found")]
    pub fn next(&mut self) -> Option<AccountTurn> {
        loop {
            let Some(leaf) = self.first() else {
                if self.pass == Pass::Fair {
                    return None;
                }
                self.begin(Pass::Fair);
                continue;
            };
            if self.pass == Pass::Guarantee && !self.quotas.has_open_guarantee(leaf) {
                // Guarantees are only ever filled during a cycle.
                self.end_guarantee(leaf);
                continue;
            }
            let job = self.queues.first(leaf)?;
            return Some(AccountTurn { job, leaf, pass: self.pass });
        }
    }

    /// A gang was found in this turn, with capacity and within the quotas. Returns whether it is served: in the pass of guarantees, only a gang that
    /// is guaranteed is. Any other gang ends the pass for its account, and its job keeps its place for the next pass.
    pub fn found(&mut self, turn: AccountTurn, takes: &Amounts) -> bool {
        self.found_numbered(turn, &self.quotas.numbered(takes))
    }

    /// The same of amounts by the numbers of their counters.
    #[inline]
    pub fn found_numbered(&mut self, turn: AccountTurn, takes: &NumberedAmounts) -> bool {
        let path = self.quotas.tree().path(turn.leaf);
        let is_served = turn.pass == Pass::Fair || self.quotas.guarantees(path, takes);
        if is_served {
            self.quotas.change(path, takes.iter());
            if self.queues.remove(turn.leaf, turn.job) {
                self.update(path, 0, takes.charge());
            } else {
                self.leave_and_update(turn.leaf, path, takes.charge());
            }
        } else {
            self.end_guarantee(turn.leaf);
        }
        is_served
    }

    /// No gang was found in this turn: the job has none in this cycle, and the next one of its account has its turn.
    pub fn not_found(&mut self, turn: AccountTurn) {
        // No usage changes: only nodes below which no job waits any more leave their siblings.
        if !self.queues.remove(turn.leaf, turn.job) {
            self.leave(turn.leaf);
        }
    }

    #[inline(never)]
    fn end_guarantee(&mut self, leaf: Node) {
        self.through.get_mut(leaf.place()).into_iter().for_each(|through| *through = true);
        self.leave(leaf);
    }

    /// The leaf that is first from the pool down.
    #[inline]
    fn first(&self) -> Option<Node> {
        let first_of = |node: &Node| self.ready.first(*node);
        std::iter::successors(first_of(&Node::POOL), first_of).last()
    }

    /// Puts all nodes below which a job waits for a pass in order.
    fn begin(&mut self, pass: Pass) {
        self.pass = pass;
        if pass == Pass::Guarantee {
            for (place, through) in self.through.iter_mut().enumerate() {
                let node = Node::at(place);
                *through = self.queues.first(node).is_some() && !self.quotas.has_open_guarantee(node);
            }
        }
        let tree = self.quotas.tree();
        self.ready.clear();
        for node in tree.top_down().rev() {
            let Some(parent) = tree.parent(node) else { continue };
            if self.is_ready(node) {
                let usage = self.charged.get(node.place()).map_or(0, Charged::usage);
                self.ready.push(parent, node, usage);
            }
        }
        self.ready.play();
    }

    /// Charges the nodes of the path of a turn, and puts them where they now belong, but for those that have left.
    #[inline]
    fn update(&mut self, path: &[Node], mut left: usize, charge: Amount) {
        for pair in path.windows(2) {
            let &[node, parent] = pair else { return };
            let Some(charged) = self.charged.get_mut(node.place()) else { return };
            // Sums of amounts are far below the largest number, see `Amount`.
            charged.micros = charged.micros.wrapping_add(charge);
            if left > 0 {
                left -= 1;
            } else {
                self.ready.replace(parent, node, charged.usage());
            }
        }
    }

    /// The same where no job waits any more at the leaf of the turn.
    #[cold]
    fn leave_and_update(&mut self, leaf: Node, path: &[Node], charge: Amount) {
        let left = self.leave(leaf);
        self.update(path, left, charge);
    }

    /// Takes the nodes of a leaf's path away from their siblings below which no job waits any more. Returns how many these are, from the leaf on.
    fn leave(&mut self, leaf: Node) -> usize {
        let path = self.quotas.tree().path(leaf);
        let mut left = 0;
        for (node, parent) in path.iter().zip(path.iter().skip(1)) {
            if self.is_ready(*node) {
                break;
            }
            self.ready.remove(*parent, *node);
            left += 1;
        }
        left
    }

    /// Whether a job waits at or below a node for this pass; what is below it is in order.
    #[inline]
    fn is_ready(&self, node: Node) -> bool {
        self.ready.first(node).is_some() || self.waits(node)
    }

    /// Whether a job waits at a leaf for this pass.
    #[inline]
    fn waits(&self, node: Node) -> bool {
        let is_through = self.pass == Pass::Guarantee && self.through.get(node.place()).is_some_and(|through| *through);
        !is_through && self.queues.first(node).is_some()
    }
}

/// What orders a node among its siblings.
#[derive(Clone, Debug)]
struct Charged {
    /// The charge that was used and is held in all of its subtree, in micros.
    micros: Amount,
    weight: NonZeroU32,
}

impl Charged {
    #[inline]
    fn usage(&self) -> i128 {
        normalized(self.micros, self.weight)
    }
}

#[cfg(test)]
mod tests;

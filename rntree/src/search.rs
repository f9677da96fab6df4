//! The search for a node that can run a job: the paper's algorithm 1, and its extension to several candidates (section 4.4).

use std::collections::BTreeSet;

use crate::ring::Id;
use crate::spec::{Aggregate, Spec, Want};

/// What a search learns from the node that it visits. A node knows itself, its parent and its children, and no other node.
pub trait Visited {
    /// The node itself.
    fn id(&self) -> Id;
    /// What it has.
    fn spec(&self) -> &Spec;
    /// How many jobs it has that are not finished, the running one included.
    fn queue(&self) -> usize;
    /// Its parent, as far as it knows; none of the root.
    fn parent(&self) -> Option<Id>;
    /// Its children, as far as it knows, each with the aggregate it sent last; by ascending id.
    fn children(&self) -> impl Iterator<Item = (Id, &Aggregate)>;
}

/// A node that can run the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which node.
    pub node: Id,
    /// Its queue when it was visited.
    pub queue: usize,
}

/// Where a request goes next. To forward it is one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To a child.
    Down(Id),
    /// To the parent.
    Up(Id),
    /// Nowhere.
    Stop(Stop),
}

/// Why a search ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has as many candidates as it was to find.
    Enough,
    /// It is at the root, and no subtree is left that may hold one more candidate.
    Exhausted,
}

/// A request on its way through the tree. It carries all that the search knows, so nodes remember nothing about it.
#[derive(Clone, Debug)]
pub struct Search {
    want: Want,
    enough: usize,
    found: Vec<Candidate>,
    /// The nodes whose own spec was compared.
    checked: BTreeSet<Id>,
    /// The nodes that were left upwards: they and everything below them are done.
    done: BTreeSet<Id>,
    messages: usize,
    stopped: Option<Stop>,
}

impl Search {
    /// A request for a number of candidates: with 1 the basic search, with 2 the extended one of the paper's experiments. With 0 it has
    /// enough before it looks, and ends where it begins: it finds nothing and costs nothing.
    #[must_use]
    pub fn new(want: Want, enough: usize) -> Search {
        Search {
            want,
            enough,
            found: Vec::new(),
            checked: BTreeSet::new(),
            done: BTreeSet::new(),
            messages: 0,
            stopped: None,
        }
    }

    /// What a node does with the request. `choose` picks one of so many children that may hold a candidate.
    pub fn visit(&mut self, node: &impl Visited, choose: impl FnOnce(usize) -> usize) -> Step {
        if self.enough == 0 {
            return self.stop(Stop::Enough);
        }
        // Step 1: this node itself.
        if self.checked.insert(node.id()) && self.want.is_met_by(node.spec()) {
            self.found.push(Candidate { node: node.id(), queue: node.queue() });
            if self.found.len() >= self.enough {
                return self.stop(Stop::Enough);
            }
        }
        // Step 2: a child whose subtree may hold one.
        let is_open =
            |(child, aggregate): &(Id, &Aggregate)| !self.done.contains(child) && aggregate.may_meet(&self.want);
        let open = node.children().filter(is_open).count();
        if open > 0 {
            let chosen = node.children().filter(is_open).nth(choose(open));
            if let Some((child, _)) = chosen {
                self.messages += 1;
                return Step::Down(child);
            }
        }
        // Step 3: the parent, which learns that this subtree is done.
        self.done.insert(node.id());
        match node.parent() {
            Some(parent) => {
                self.messages += 1;
                Step::Up(parent)
            }
            None => self.stop(Stop::Exhausted),
        }
    }

    /// A child was gone when the request was sent to it: it counts as done, and the sender is to be visited again.
    pub fn skip(&mut self, child: Id) {
        self.done.insert(child);
    }

    /// The request was forwarded without having been looked at.
    pub(crate) fn count_message(&mut self) {
        self.messages += 1;
    }

    fn stop(&mut self, reason: Stop) -> Step {
        self.stopped = Some(reason);
        Step::Stop(reason)
    }

    /// The candidates, in the order in which they were found.
    #[must_use]
    pub fn found(&self) -> &[Candidate] {
        &self.found
    }

    /// How often the request was forwarded, up or down: the matchmaking cost of the paper.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// How many different nodes were visited.
    #[must_use]
    pub fn visited(&self) -> usize {
        self.checked.len()
    }

    /// Why it has ended; none if it has not, or was lost on its way.
    #[must_use]
    pub fn stopped(&self) -> Option<Stop> {
        self.stopped
    }

    /// The candidate with the shortest queue, of those that are `present`; of equals the one found first.
    #[must_use]
    pub fn best(&self, present: impl Fn(Id) -> bool) -> Option<Candidate> {
        self.found.iter().copied().filter(|candidate| present(candidate.node)).min_by_key(|candidate| candidate.queue)
    }
}

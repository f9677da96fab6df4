//! A network in which nodes come and go, and what each of them knows (the paper's sections 4.1 and 4.2).

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::fault::Fault;
use crate::ring::{Id, Ring};
use crate::spec::{Aggregate, Spec};

/// How often each node refreshes what it knows and sends what others wait for, in units of time: it looks up its parent, sends its
/// aggregate, and sends heartbeats for its jobs. (The paper says "periodically".)
pub const PERIOD: f64 = 1000.0;

/// A child that was silent for so long does not count any more.
const CHILD_SILENT: f64 = 2.0 * PERIOD;

/// All nodes that are present, each with its own knowledge of the tree. The ring below is exact at every moment: Chord stabilises it in
/// the same period, so that a node learns of a change when it looks, at its next [`Network::refresh`].
#[derive(Clone, Debug, Default)]
pub struct Network {
    ring: Ring,
    /// By id. What goes through all of them follows the ring, since this order means nothing.
    nodes: HashMap<Id, NetworkNode, FixedState>,
    /// How often a node has come or gone.
    changes: u64,
    fault: Option<Fault>,
}

/// One node and what it knows.
#[derive(Clone, Debug)]
pub struct NetworkNode {
    spec: Spec,
    parent: Option<Id>,
    /// The changes of the ring up to its last refresh: while there are no more, its parent is the same.
    changes: u64,
    /// By ascending id. They are few.
    children: Vec<Child>,
    /// What it and its children had at most when this was last worked out.
    aggregate: Aggregate,
    /// Its children, or what they have, have changed since.
    is_stale: bool,
}

/// A child, and its last message.
#[derive(Clone, Debug)]
struct Child {
    id: Id,
    aggregate: Aggregate,
    heard: f64,
}

/// What a refresh has done to the parent of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// The node is the root and has none.
    Root,
    /// It is the same, and was sent the aggregate.
    SameParent,
    /// It is another one, was looked up, and was sent the aggregate.
    NewParent,
}

impl Network {
    /// An empty network, with a mistake or without one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_fault(fault: Option<Fault>) -> Network {
        Network { fault, ..Network::default() }
    }

    /// The ring of the nodes that are present.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// A node that is present.
    #[must_use]
    pub fn node(&self, node: Id) -> Option<&NetworkNode> {
        self.nodes.get(&node)
    }

    /// All nodes that are present, by ascending id.
    pub fn nodes(&self) -> impl Iterator<Item = (Id, &NetworkNode)> {
        self.ring.ids().iter().filter_map(|id| Some((*id, self.nodes.get(id)?)))
    }

    /// A node joins. It has no parent before its first refresh.
    pub fn join(&mut self, node: Id, spec: Spec) {
        self.ring.insert(node);
        self.changes += 1;
        let aggregate = Aggregate::of(&spec);
        let children = Vec::new();
        self.nodes.insert(node, NetworkNode { spec, parent: None, changes: 0, children, aggregate, is_stale: true });
    }

    /// A node fails: no other node is told.
    pub fn fail(&mut self, node: Id) {
        self.remove(node);
    }

    /// A node leaves as planned: it tells its parent, which drops it, and its children, which look for another parent at once. How many
    /// of them looked one up.
    pub fn leave(&mut self, node: Id, now: f64) -> usize {
        let Some(gone) = self.remove(node) else { return 0 };
        if let Some(parent) = gone.parent.filter(|_| self.fault != Some(Fault::KeepsLeft)) {
            self.drop_child(parent, node);
        }
        let refreshed = gone.children.iter().map(|child| self.refresh(child.id, now));
        refreshed.filter(|refreshed| *refreshed == Some(Refreshed::NewParent)).count()
    }

    fn remove(&mut self, node: Id) -> Option<NetworkNode> {
        self.ring.remove(node);
        self.changes += 1;
        self.nodes.remove(&node)
    }

    /// A node has learned that a child of it has gone.
    pub fn drop_child(&mut self, node: Id, child: Id) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.keep_children(|one| one.id != child);
        }
    }

    /// What each node does once in a period: it drops children that are silent, computes its aggregate, looks up its parent, and sends the
    /// aggregate there. A new parent starts to count with the first message; the former one notices the silence. None of a node that
    /// is not present.
    pub fn refresh(&mut self, id: Id, now: f64) -> Option<Refreshed> {
        let node = self.nodes.get_mut(&id)?;
        let parent = if node.changes == self.changes { node.parent } else { self.ring.parent(id) };
        node.changes = self.changes;
        if self.fault != Some(Fault::KeepsSilent) {
            node.keep_children(|child| now - child.heard < CHILD_SILENT);
        }
        let is_news = node.renew();
        let before = std::mem::replace(&mut node.parent, parent);
        let Some(to) = parent else { return Some(Refreshed::Root) };
        let is_known = before == parent && !is_news;
        let parent_heard = |parent: &mut NetworkNode| is_known && parent.heard_the_same(id, now);
        if !self.nodes.get_mut(&to).is_some_and(parent_heard) {
            let aggregate = self.nodes.get(&id)?.aggregate.clone();
            if let Some(parent) = self.nodes.get_mut(&to) {
                parent.heard(Child { id, aggregate, heard: now });
            }
        }
        Some(if before == parent { Refreshed::SameParent } else { Refreshed::NewParent })
    }
}

impl NetworkNode {
    /// What the node has.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Its parent, as far as it knows; none of the root, and before the first refresh.
    #[must_use]
    pub fn parent(&self) -> Option<Id> {
        self.parent
    }

    /// Its children, as far as it knows, each with the aggregate it sent last; by ascending id.
    pub fn children(&self) -> impl Iterator<Item = (Id, &Aggregate)> {
        self.children.iter().map(|child| (child.id, &child.aggregate))
    }

    /// What it and its children have at most.
    #[must_use]
    pub fn aggregate(&self) -> Aggregate {
        let mut aggregate = Aggregate::of(&self.spec);
        for child in &self.children {
            aggregate.merge(&child.aggregate);
        }
        aggregate
    }

    /// Works the aggregate out again if it may have changed. Whether it was worked out.
    fn renew(&mut self) -> bool {
        let is_stale = std::mem::take(&mut self.is_stale);
        if is_stale {
            self.aggregate = self.aggregate();
        }
        is_stale
    }

    fn keep_children(&mut self, keep: impl FnMut(&Child) -> bool) {
        let before = self.children.len();
        self.children.retain(keep);
        self.is_stale |= self.children.len() < before;
    }

    /// A child sends the aggregate that it sent before. Whether the child was known.
    fn heard_the_same(&mut self, child: Id, now: f64) -> bool {
        let known = self.children.iter_mut().find(|known| known.id == child);
        known.is_some_and(|known| {
            known.heard = now;
            true
        })
    }

    /// A child sends its aggregate.
    fn heard(&mut self, child: Child) {
        self.is_stale = true;
        match self.children.binary_search_by_key(&child.id, |known| known.id) {
            Ok(place) => {
                if let Some(known) = self.children.get_mut(place) {
                    *known = child;
                }
            }
            Err(place) => self.children.insert(place, child),
        }
    }
}

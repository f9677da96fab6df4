//! The tree of a whole ring at once: parents, children, height.

use std::ops::Range;

use crate::ring::{Ring, parent_key};
use crate::spec::{Aggregate, Spec};

/// The tree over the nodes of a ring. Nodes are places in the ascending list of ids: the root is at place 0, every parent stands before
/// its children, and the children of a node stand beside each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The parent of each node; the root is its own here.
    parents: Vec<usize>,
    children: Vec<Range<usize>>,
}

impl Tree {
    /// One pass over ascending ids: the keys of the parents ascend with the ids, so the parent found last is where the next search goes
    /// on.
    #[must_use]
    pub fn new(ring: &Ring) -> Tree {
        let ids = ring.ids();
        let mut parents = vec![0; ids.len()];
        let mut children = vec![0..0; ids.len()];
        let mut parent = 0;
        let after_root = (1..).zip(ids).zip(parents.iter_mut().skip(1));
        for ((child, predecessor), entry) in after_root {
            let key = parent_key(*predecessor);
            while ids.get(parent).is_some_and(|id| *id < key) {
                parent += 1;
            }
            *entry = parent;
            if let Some(own) = children.get_mut(parent) {
                let first = if own.end == 0 { child } else { own.start };
                *own = first..child + 1;
            }
        }
        Tree { parents, children }
    }

    /// The parent of a node; none of the root.
    #[must_use]
    pub fn parent(&self, node: usize) -> Option<usize> {
        self.parents.get(node).copied().filter(|_| node > 0)
    }

    /// The children of a node.
    #[must_use]
    pub fn children(&self, node: usize) -> Range<usize> {
        self.children.get(node).cloned().unwrap_or_default()
    }

    /// The number of edges from the root to the node that is farthest from it.
    #[must_use]
    pub fn height(&self) -> usize {
        let mut depths: Vec<usize> = Vec::with_capacity(self.parents.len());
        for (node, parent) in self.parents.iter().enumerate() {
            let depth = if node == 0 { 0 } else { depths.get(*parent).map_or(0, |depth| depth + 1) };
            depths.push(depth);
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// The largest number of children of one node.
    #[must_use]
    pub fn most_children(&self) -> usize {
        self.children.iter().map(ExactSizeIterator::len).max().unwrap_or(0)
    }

    /// What each subtree has at most, from what each node has: one pass from the last node to the first.
    #[must_use]
    pub fn aggregates<'a>(&self, specs: impl IntoIterator<Item = &'a Spec>) -> Vec<Aggregate> {
        let mut aggregates: Vec<Aggregate> = specs.into_iter().map(Aggregate::of).collect();
        for (child, parent) in self.parents.iter().enumerate().skip(1).rev() {
            let Some((before, from_child)) = aggregates.split_at_mut_checked(child) else { continue };
            if let (Some(parent), Some(child)) = (before.get_mut(*parent), from_child.first()) {
                parent.merge(child);
            }
        }
        aggregates
    }
}

//! A network at rest: every node knows its true parent and the true aggregates of its children.

use std::collections::BTreeMap;

use crate::ring::{Id, Ring};
use crate::search::{Search, Step, Visited};
use crate::spec::{Aggregate, Spec, Want};
use crate::tree::Tree;

/// A network to which nothing happens.
#[derive(Clone, Debug)]
pub struct Settled {
    ring: Ring,
    tree: Tree,
    /// What each node has and how many jobs wait at it, in the order of the ring.
    nodes: Vec<(Spec, usize)>,
    aggregates: Vec<Aggregate>,
}

/// One node of it.
#[derive(Clone, Copy, Debug)]
pub struct SettledNode<'a> {
    network: &'a Settled,
    place: usize,
    id: Id,
    spec: &'a Spec,
    queue: usize,
}

/// A search from its owner to its end.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The nodes in the order in which they were visited, the owner first.
    pub path: Vec<Id>,
    /// What the search knows at its end.
    pub search: Search,
}

impl Settled {
    /// Of nodes in any order: the id, what it has, and the length of its queue. Of nodes with the same id the last one counts.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = (Id, Spec, usize)>) -> Settled {
        let by_id: BTreeMap<Id, (Spec, usize)> =
            nodes.into_iter().map(|(id, spec, queue)| (id, (spec, queue))).collect();
        let ring = Ring::new(by_id.keys().copied());
        let nodes: Vec<(Spec, usize)> = by_id.into_values().collect();
        let tree = Tree::new(&ring);
        let aggregates = tree.aggregates(nodes.iter().map(|(spec, _)| spec));
        Settled { ring, tree, nodes, aggregates }
    }

    /// The ring of its nodes.
    #[must_use]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The tree of its nodes.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What the subtree of each node has at most, by ascending id.
    #[must_use]
    pub fn aggregates(&self) -> &[Aggregate] {
        &self.aggregates
    }

    /// One node; none if no node has this id.
    #[must_use]
    pub fn node(&self, id: Id) -> Option<SettledNode<'_>> {
        let place = self.ring.ids().binary_search(&id).ok()?;
        let (spec, queue) = self.nodes.get(place)?;
        Some(SettledNode { network: self, place, id, spec, queue: *queue })
    }

    /// Searches from the owner of a job with this key for so many candidates. None only in an empty network.
    #[must_use]
    pub fn search(&self, key: Id, want: Want, enough: usize, mut choose: impl FnMut(usize) -> usize) -> Option<Walk> {
        let mut node = self.node(self.ring.successor(key)?)?;
        let mut walk = Walk { path: vec![node.id], search: Search::new(want, enough) };
        while let Step::Down(next) | Step::Up(next) = walk.search.visit(&node, &mut choose) {
            node = self.node(next)?;
            walk.path.push(next);
        }
        Some(walk)
    }
}

impl Visited for SettledNode<'_> {
    fn id(&self) -> Id {
        self.id
    }

    fn spec(&self) -> &Spec {
        self.spec
    }

    fn queue(&self) -> usize {
        self.queue
    }

    fn parent(&self) -> Option<Id> {
        self.network.ring.ids().get(self.network.tree.parent(self.place)?).copied()
    }

    fn children(&self) -> impl Iterator<Item = (Id, &Aggregate)> {
        let places = self.network.tree.children(self.place);
        let ids = self.network.ring.ids().get(places.clone()).unwrap_or_default();
        let aggregates = self.network.aggregates.get(places).unwrap_or_default();
        ids.iter().copied().zip(aggregates)
    }
}

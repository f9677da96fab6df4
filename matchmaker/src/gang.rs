//! A gang: which ads were bound together, through which ports, and what each gives.

use std::cmp::{Ordering, Reverse};

use smallvec::SmallVec;

use crate::capacity::Ask;
use crate::casts::{as_u32, as_usize};
use crate::model::{AdId, Snapshot};
use crate::score::Score;

/// A root with every port bound: members in pre-order, the root first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gang {
    /// The members; `members[0]` is the root.
    pub members: Members,
    /// How good it is.
    pub score: Score,
}

/// The members of a gang: most have three or fewer.
pub type Members = SmallVec<[Member; 3]>;

/// One member of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The ad.
    pub ad: AdId,
    /// How it is bound to its parent; the root has none.
    pub edge: Option<Edge>,
    /// What is taken of it; nothing of the root and of ads that offer nothing.
    pub ask: Ask,
}

/// An edge of the tree, seen from the child. Cycles make many of them: they are small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    parent: u32,
    port: u32,
    via: u32,
}

impl Edge {
    /// The edge from a port of a parent, a member by its place among them, to the child's port `via`.
    #[inline]
    pub fn new(parent: usize, port: usize, via: usize) -> Edge {
        Edge { parent: as_u32(parent), port: as_u32(port), via: as_u32(via) }
    }

    /// The parent's place among the members.
    #[inline]
    pub fn parent(self) -> usize {
        as_usize(self.parent)
    }

    /// The number of the parent's port.
    #[inline]
    pub fn port(self) -> usize {
        as_usize(self.port)
    }

    /// Whether another edge leads to the same port of the same parent.
    pub(crate) fn is_at_port_of(self, other: Edge) -> bool {
        (self.parent, self.port) == (other.parent, other.port)
    }

    /// The number of the child's own port that it is bound through.
    #[inline]
    pub fn child_port(self) -> usize {
        as_usize(self.via)
    }
}

/// What orders gangs of equal score, which are compared member by member in pre-order: where a member is bound (its parent and the parent's
/// port), its ad, and the port of the ad. Where it is bound differs only if one gang has fewer members in a set: that gang is the smaller.
pub type Place = (usize, Reverse<usize>, AdId, usize);

/// The [`Place`] of a member.
pub fn place(ad: AdId, edge: Option<Edge>) -> Place {
    edge.map_or((0, Reverse(0), ad, 0), |edge| (edge.parent(), Reverse(edge.port()), ad, edge.child_port()))
}

impl Gang {
    /// The root's ad.
    #[inline]
    pub fn root(&self) -> Option<AdId> {
        self.members.first().map(|member| member.ad)
    }

    /// What is taken of each ad.
    pub fn asks(&self) -> impl Iterator<Item = (AdId, &Ask)> {
        self.members.iter().map(|member| (member.ad, &member.ask))
    }

    /// The same gang of another root that is like its own.
    pub(crate) fn of_root(&self, root: AdId) -> Gang {
        let mut gang = self.clone();
        gang.members.first_mut().into_iter().for_each(|member| member.ad = root);
        gang
    }

    /// What orders gangs of equal score.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.members.iter().map(|member| place(member.ad, member.edge))
    }

    /// Whether this gang is to be preferred to `other`: a larger score, then smaller places.
    pub fn beats(&self, other: &Gang) -> bool {
        self.order(other).is_gt()
    }

    /// The order of gangs of one root: the greater is to be preferred.
    pub(crate) fn order(&self, other: &Gang) -> Ordering {
        self.score.cmp(&other.score).then_with(|| other.places().cmp(self.places()))
    }

    /// Whether an edge leads to a counted port.
    pub fn is_of_a_set(&self, snapshot: &Snapshot, edge: Edge) -> bool {
        let parent = self.members.get(edge.parent()).and_then(|parent| snapshot.ad(parent.ad));
        parent.and_then(|parent| parent.ports.list.get(edge.port())).is_some_and(|port| port.set.is_some())
    }

    /// The label under which a member is known to its parent; none for the root.
    pub fn label<'s>(&self, snapshot: &'s Snapshot, member: &Member) -> Option<&'s str> {
        let edge = member.edge?;
        let parent = snapshot.ad(self.members.get(edge.parent())?.ad)?;
        Some(parent.ports.list.get(edge.port())?.label.as_str())
    }
}

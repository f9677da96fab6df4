//! The sets of counted ports: one frame of the asker for each member, and what is said of a whole set.

use classad::FrameId;

use super::{Assembly, BoundMember, EdgeOutcome, EdgeRanks};
use crate::gang::Edge;
use crate::score::{FixedPoint, Score};
use crate::sets::{MemberAttribute, SetSizes, SetTerms, all_distinct, all_same, identity};

/// A set that is complete.
pub(super) struct BoundSet {
    /// The member that asks for it, and the number of its port.
    port: (usize, usize),
    /// The value of its `GroupRank`.
    rank: FixedPoint,
}

impl<'s> Assembly<'s> {
    /// Whether a port of a member is counted.
    pub fn is_counted(&self, member: usize, port: usize) -> bool {
        self.port(member, port).is_some_and(|port| port.set.is_some())
    }

    /// How many members the set at a counted port may have, as its earlier ports are bound; none if its count is no count.
    pub fn sizes(&mut self, member: usize, port: usize) -> Option<SetSizes> {
        let (set, frame) = self.terms(member, port)?;
        self.tell_members(member, port, frame);
        SetSizes::of(&self.value(&set.least, frame)?, &self.value(&set.most, frame)?)
    }

    /// Makes the members bound at a counted port its set: from here on the label is the list of them, in the order in which they are
    /// seated, which must be that of their keys.
    pub fn bind_set(&mut self, member: usize, port: usize) {
        let (views, Some(seat)) = (self.views(member, port), self.seats.get(member)) else { return };
        let (ad, frames) = (seat.ad, seat.frames.ports.clone());
        let Some((declared, frame)) = ad.ports.list.get(port).zip(frames.get(port)) else { return };
        self.tell_members(member, port, *frame);
        for frame in frames.iter().skip(port) {
            self.env.bind_each(*frame, &declared.label, views.clone());
        }
        self.sets.push(BoundSet { port: (member, port), rank: FixedPoint::default() });
    }

    /// Undoes the last [`Self::bind_set`].
    pub fn unbind_set(&mut self) {
        if let Some(BoundSet { port: (member, port), .. }) = self.sets.pop() {
            self.unbind(member, port);
        }
    }

    /// Whether the set that was bound last is one that its port accepts. Its rank counts from here on.
    pub fn check_set(&mut self) -> bool {
        let Some(BoundSet { port: (member, port), .. }) = self.sets.last() else { return false };
        let (member, port) = (*member, *port);
        let Some((set, frame)) = self.terms(member, port) else { return false };
        let holds = set.same.iter().all(|attribute| all_same(&self.identities(member, port, attribute)))
            && set.distinct.iter().all(|attribute| all_distinct(&self.identities(member, port, attribute)))
            && set.constraint.as_ref().is_none_or(|constraint| self.truth(constraint, frame));
        if !holds {
            return false;
        }
        let rank = self.number(set.rank.as_ref(), frame);
        self.sets.last_mut().into_iter().for_each(|bound| bound.rank = rank);
        true
    }

    /// The outcome of a connected edge of the root as far as it does not depend on the earlier ports of its two ends, which need not be
    /// bound: a side that may depend on them accepts. And whether the root's constraint was looked at.
    pub fn check_alone(&mut self, member: usize) -> (EdgeOutcome, bool) {
        let refuses = (EdgeOutcome::ParentRefuses, false);
        let Some((parent_port, child_port, edge)) = self.edge(member) else { return refuses };
        let (Some(seat), Some(root)) = (self.seats.get(member), self.seats.first()) else { return refuses };
        let (ports, own) = (&root.ad.ports, &seat.ad.ports);
        let (port, via) = (edge.port(), edge.child_port());
        let (Some(asked), Some(offered)) = (ports.list.get(port), own.list.get(via)) else { return refuses };
        let (Some(asking), Some(offering)) = (ports.early(port), own.early(via)) else { return refuses };
        let is_first = port == 0 && via == 0;
        let asks = is_first || (asking.own(offering) && offering.seen_from(asking));
        let offers = is_first || (offering.own(asking) && asking.seen_from(offering));
        if is_first || (asks && offers && via == 0 && ports.stands_alone(port)) {
            return (self.check(member), true);
        }
        if asks && !self.asks_for(edge, asked, parent_port) {
            return (EdgeOutcome::ParentRefuses, true);
        }
        if offers && !self.accepts(member, offered, child_port) {
            return (EdgeOutcome::ChildRefuses, asks);
        }
        (EdgeOutcome::Holds, asks)
    }

    /// What a member of the root's set adds to the score, once its edge was found to hold.
    pub fn score_of(&self, member: usize) -> Score {
        let Some(seat) = self.seats.get(member) else { return Score::default() };
        let EdgeRanks { parent, child } = self.edge_ranks(seat);
        Score { own: parent, partners: child, members: u32::from(seat.frames.asker.is_some()), ..Score::default() }
    }

    /// The identity of an attribute in one member, see [`identity`]; none as well if it takes too much to compute.
    pub fn identity_in(&self, member: usize, attribute: &MemberAttribute) -> Option<String> {
        self.identity_of(self.seats.get(member)?, attribute)
    }

    fn identity_of(&self, seat: &BoundMember<'_>, attribute: &MemberAttribute) -> Option<String> {
        let identity = identity(&self.value(&attribute.of_member, seat.frames.asker?)?)?;
        self.pay_identity(&identity);
        Some(identity)
    }

    fn identities(&self, member: usize, port: usize, attribute: &MemberAttribute) -> Vec<Option<String>> {
        self.children(member, port).map(|seat| self.identity_of(seat, attribute)).collect()
    }

    /// The terms of a counted port, and its frame.
    fn terms(&self, member: usize, port: usize) -> Option<(&'s SetTerms, FrameId)> {
        let seat = self.seats.get(member)?;
        Some((seat.ad.ports.list.get(port)?.set.as_deref()?, *seat.frames.ports.get(port)?))
    }

    /// The members bound at a port, in the order in which they are seated.
    fn children(&self, member: usize, port: usize) -> impl Iterator<Item = &BoundMember<'s>> {
        let here = move |edge: Edge| edge.parent() == member && edge.port() == port;
        self.seats.iter().filter(move |seat| seat.edge.is_some_and(here))
    }

    /// What they show.
    pub(super) fn views(&self, member: usize, port: usize) -> Vec<FrameId> {
        let view = |seat: &BoundMember<'_>| seat.frames.ports.get(seat.edge?.child_port()).copied();
        self.children(member, port).filter_map(view).collect()
    }

    /// A frame of a counted port for one of its members.
    pub(super) fn asker(&mut self, edge: Edge) -> Option<FrameId> {
        let parent = self.seats.get(edge.parent())?;
        let (port, body, seed) = (parent.ad.ports.list.get(edge.port())?, parent.frames.body, parent.frames.seed);
        port.set.as_ref()?;
        let frame = self.env.frame(&port.attributes, Some(body));
        self.env.seed(frame, seed);
        Some(frame)
    }

    /// Whether a member sees its parent through a frame of its own.
    pub(super) fn has_asker(&self, member: usize) -> bool {
        self.seats.get(member).is_some_and(|seat| seat.frames.asker.is_some())
    }

    /// Makes a member visible in the parent's frame for it, beside what earlier ports have bound.
    pub(super) fn bind_asker(&mut self, edge: Edge, asker: FrameId, view: FrameId) {
        let Some(parent) = self.seats.get(edge.parent()) else { return };
        let (ad, frame) = (parent.ad, parent.frames.ports.get(edge.port()).copied());
        let Some((port, frame)) = ad.ports.list.get(edge.port()).zip(frame) else { return };
        self.env.copy_labels(frame, asker);
        self.env.bind(asker, &port.label, view);
    }

    /// The ranks of a member's edge, without the parent's where a `GroupRank` replaces it.
    pub(super) fn edge_ranks(&self, seat: &BoundMember<'_>) -> EdgeRanks {
        let port = seat.edge.and_then(|edge| self.port(edge.parent(), edge.port()));
        let replaced = port.and_then(|port| port.set.as_ref()).is_some_and(|set| set.rank.is_some());
        if replaced { EdgeRanks { parent: FixedPoint::default(), ..seat.ranks } } else { seat.ranks }
    }

    /// Adds the ranks of sets and the number of their members to a score.
    pub(super) fn score_sets(&self, has_gang_rank: bool, score: &mut Score) {
        for BoundSet { port: (member, _), rank } in &self.sets {
            match member {
                0 if has_gang_rank => {}
                0 => score.own += *rank,
                _ => score.deeper += *rank,
            }
        }
        let members = self.seats.iter().filter(|seat| seat.frames.asker.is_some()).count();
        score.members = u32::try_from(members).unwrap_or(u32::MAX);
    }
}

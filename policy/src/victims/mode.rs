//! Whether a gang may be preempted, and why.

use std::cmp::Ordering;

use crate::amounts::{CHARGE, normalized};
use crate::quota::Quotas;
use crate::tree::{Node, Tree};
use crate::victims::selection::{Short, freed};
use crate::victims::{Candidate, ClaimedGang, Mode, Preemption, Preemptor, charge};

/// What decides about further victims of one candidate, given those chosen so far.
pub(super) struct Legality<'w> {
    view: &'w Preemption<'w>,
    preemptor: &'w Preemptor,
    candidate: &'w Candidate,
    /// Own roots of the preemptor.
    own_roots: Node,
    /// What is held without the gangs chosen.
    pub(super) left: Quotas<'w>,
    /// The gangs chosen, with their own roots and modes.
    chosen: Vec<(&'w ClaimedGang, Node, Mode)>,
}

impl<'w> Legality<'w> {
    /// With nothing chosen yet.
    pub(super) fn new(view: &'w Preemption<'w>, preemptor: &'w Preemptor, candidate: &'w Candidate, own_roots: Node) -> Self {
        Legality { view, preemptor, candidate, own_roots, left: view.quotas.clone(), chosen: Vec::new() }
    }

    fn tree(&self) -> &'w Tree {
        self.view.quotas.tree()
    }

    /// A gang is chosen.
    pub(super) fn choose(&mut self, gang: &'w ClaimedGang, mode: Mode) {
        if let Some(own_roots) = self.tree().own_roots(&gang.account) {
            self.left.give_back(own_roots, &gang.takes);
            self.chosen.push((gang, own_roots, mode));
        }
    }

    /// The first mode in which a gang may be preempted.
    pub(super) fn mode(&self, gang: &ClaimedGang, short: &Short<'_>) -> Option<Mode> {
        let ranks = self.compare_ranks(gang, short);
        let modes = [Mode::Rank, Mode::Reclaim, Mode::Share, Mode::Priority];
        modes.into_iter().filter(|mode| self.view.permitted.reasons.contains(mode)).find(|mode| match mode {
            Mode::Rank => ranks == Ordering::Greater,
            _ => ranks != Ordering::Less && gang.requirements && self.is_legal(gang, *mode),
        })
    }

    /// Whether a gang may be preempted in its mode, besides ranks and requirements, which choosing others does not change.
    pub(super) fn is_legal(&self, gang: &ClaimedGang, mode: Mode) -> bool {
        let Some(own_roots) = self.tree().own_roots(&gang.account) else { return false };
        match mode {
            Mode::None => false,
            Mode::Rank => true,
            Mode::Reclaim => !self.is_protected(gang, own_roots) && self.is_reclaimed(gang, own_roots),
            Mode::Share => !self.is_protected(gang, own_roots) && self.is_above_share(gang, own_roots),
            Mode::Priority => own_roots == self.own_roots && self.preemptor.priority > gang.priority,
        }
    }

    /// The rank of the preemptor, compared with that of a gang at the contested offers: those at which the gang holds something short. What
    /// is least in favour of the preemptor counts.
    fn compare_ranks(&self, gang: &ClaimedGang, short: &Short<'_>) -> Ordering {
        let is_contested =
            |offer: &str| freed(gang).any(|(of, resource, amount)| of == offer && amount > 0 && short.contains_key(&(of, resource)));
        let contested = gang.members.iter().filter(|member| is_contested(&member.offer));
        let compared = contested.flat_map(|held| {
            let wanted = self.candidate.members.iter().filter(|wanted| wanted.offer == held.offer);
            wanted.map(|wanted| wanted.rank.cmp(&held.rank))
        });
        compared.min().unwrap_or(Ordering::Less)
    }

    /// Whether a gang holds by a guarantee of its own: at an account at or above it, below the lowest common one, what it takes of is within a grant.
    fn is_protected(&self, gang: &ClaimedGang, own_roots: Node) -> bool {
        let Some((theirs, _)) = self.tree().branches(own_roots, self.own_roots) else { return false };
        self.side(own_roots, theirs).any(|node| self.left.is_within_guarantee(node, &gang.takes))
    }

    /// Whether the candidate is guaranteed on its side of the lowest common account, and the side of a gang has borrowed of what
    /// guarantees it, the gang too.
    fn is_reclaimed(&self, gang: &ClaimedGang, own_roots: Node) -> bool {
        let Some((ours, theirs)) = self.tree().branches(self.own_roots, own_roots) else { return false };
        let guaranteeing = self.side(self.own_roots, ours).flat_map(|node| self.left.guaranteeing(node, &self.candidate.takes));
        let mut taken = guaranteeing.filter(|counter| gang.takes.get(*counter).is_some_and(|amount| *amount > 0));
        taken.any(|counter| self.left.held(theirs, counter) > self.left.grant(theirs, counter))
    }

    /// Whether this gang and all chosen by share, each put back alone, would leave their branch above ours, with the candidate, by held charge over weight.
    fn is_above_share(&self, gang: &ClaimedGang, own_roots: Node) -> bool {
        let by_share = self.chosen.iter().filter(|(_, _, mode)| *mode == Mode::Share);
        let mut all = by_share.map(|(gang, own_roots, _)| (*gang, *own_roots)).chain([(gang, own_roots)]);
        all.all(|(victim, victims_roots)| {
            let Some((ours, theirs)) = self.tree().branches(self.own_roots, victims_roots) else { return false };
            let without_all = self.left.held(theirs, CHARGE)
                - if self.tree().path(own_roots).any(|node| node == theirs) { charge(&gang.takes) } else { 0 };
            let with_candidate = self.view.quotas.held(ours, CHARGE) + charge(&self.candidate.takes);
            let put_back = normalized(without_all + charge(&victim.takes), self.tree().weight(theirs));
            put_back > normalized(with_candidate, self.tree().weight(ours))
        })
    }

    /// The nodes from own roots up to a branch.
    fn side(&self, own_roots: Node, branch: Node) -> impl Iterator<Item = Node> {
        let above = self.tree().parent(branch);
        self.tree().path(own_roots).take_while(move |node| Some(*node) != above)
    }
}

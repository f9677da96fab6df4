//! Whether a gang may be preempted, and why.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::amounts::{Amount, Amounts, CHARGE, Counter, normalized};
use crate::quota::Quotas;
use crate::tree::{Node, Tree};

use super::model::{Candidate, ClaimedGang, Mode, Preemption, Preemptor, charge};
use super::short::Short;

/// A gang that may be preempted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim<'w> {
    pub(super) mode: Mode,
    /// Its place in the list of claimed gangs.
    pub(super) place: usize,
    pub(super) gang: &'w ClaimedGang,
    /// The leaf of its account.
    leaf: Node,
}

/// What decides about further victims of one candidate: those chosen so far, and what is held without them.
pub(super) struct Legality<'w> {
    view: &'w Preemption<'w>,
    preemptor: &'w Preemptor,
    candidate: &'w Candidate,
    /// The least rank that each offer of the candidate gives it.
    ranks: BTreeMap<&'w str, Amount>,
    /// The leaf of the preemptor's account.
    leaf: Node,
    chosen: Vec<Victim<'w>>,
    /// The least charge of those chosen by share, by their branch.
    by_share: BTreeMap<Node, Amount>,
    left: Quotas<'w>,
}

impl<'w> Legality<'w> {
    /// With nothing chosen yet.
    pub(super) fn new(
        view: &'w Preemption<'w>,
        preemptor: &'w Preemptor,
        candidate: &'w Candidate,
        leaf: Node,
    ) -> Legality<'w> {
        let mut ranks = BTreeMap::new();
        for member in &candidate.members {
            let least = ranks.entry(member.offer.as_str()).or_insert(member.rank);
            *least = member.rank.min(*least);
        }
        let (chosen, by_share) = (Vec::new(), BTreeMap::new());
        Legality { view, preemptor, candidate, ranks, leaf, chosen, by_share, left: view.quotas.clone() }
    }

    fn tree(&self) -> &'w Tree {
        self.view.quotas.tree()
    }

    /// The victims chosen, in that order.
    pub(super) fn chosen(&self) -> &[Victim<'w>] {
        &self.chosen
    }

    /// What is held without them.
    pub(super) fn left(&self) -> &Quotas<'w> {
        &self.left
    }

    /// Chooses a victim.
    pub(super) fn choose(&mut self, victim: Victim<'w>) {
        self.left.give_back(victim.leaf, &victim.gang.takes);
        if victim.mode == Mode::Share
            && let Some((_, theirs)) = self.branches(&victim)
        {
            let charge = charge(&victim.gang.takes);
            let least = self.by_share.entry(theirs).or_insert(charge);
            *least = charge.min(*least);
        }
        self.chosen.push(victim);
    }

    /// Takes a choice back, by its place among those chosen. Nothing is chosen after that.
    pub(super) fn spare(&mut self, index: usize) {
        let victim = self.chosen.remove(index);
        self.left.take(victim.leaf, &victim.gang.takes);
    }

    /// A claimed gang as a victim in the first mode in which it may be preempted, if there is one.
    pub(super) fn victim(&self, place: usize, gang: &'w ClaimedGang, short: &Short<'_>) -> Option<Victim<'w>> {
        let leaf = self.tree().leaf(&gang.account)?;
        let ranks = self.compare_ranks(gang, short);
        let modes = [Mode::Rank, Mode::Reclaim, Mode::Share, Mode::Priority];
        let permitted = modes.into_iter().filter(|mode| self.view.permitted.reasons.contains(mode));
        permitted.map(|mode| Victim { mode, place, gang, leaf }).find(|victim| match victim.mode {
            Mode::Rank => ranks == Ordering::Greater,
            _ => ranks != Ordering::Less && gang.requirements && self.is_legal(victim),
        })
    }

    /// Whether a victim may be preempted in its mode, given those chosen before it. Ranks and requirements do not depend on these.
    pub(super) fn is_legal(&self, victim: &Victim<'_>) -> bool {
        match victim.mode {
            Mode::None => false,
            Mode::Rank => true,
            Mode::Reclaim => !self.is_protected(victim) && self.has_borrowed(victim),
            Mode::Share => {
                let leaves_above = || !self.view.permitted.leaves_above || self.leaves_above(victim);
                !self.is_protected(victim) && self.stays_above(victim) && leaves_above()
            }
            Mode::Priority => victim.leaf == self.leaf && self.preemptor.priority > victim.gang.priority,
        }
    }

    /// Whether a gang may be preempted for some candidate that takes at least as much as this one, as far as ranks are not concerned.
    pub(super) fn is_possible(&self, place: usize, gang: &'w ClaimedGang) -> bool {
        let Some(leaf) = self.tree().leaf(&gang.account) else { return false };
        self.view.permitted.reasons.iter().any(|mode| {
            let victim = Victim { mode: *mode, place, gang, leaf };
            match mode {
                Mode::Rank => true,
                Mode::Reclaim => gang.requirements && !self.is_protected(&victim) && self.may_have_borrowed(&victim),
                _ => gang.requirements && self.is_legal(&victim),
            }
        })
    }

    /// Whether some candidate could be guaranteed by something of which the branch of a victim holds more than its grant.
    fn may_have_borrowed(&self, victim: &Victim<'_>) -> bool {
        let Some((ours, theirs)) = self.branches(victim) else { return false };
        victim.gang.takes.iter().filter(|(_, amount)| **amount > 0).any(|(counter, _)| {
            let one = Amounts::from([(Counter::clone(counter), 1)]);
            let mut side = self.side(self.leaf, ours);
            side.any(|node| !self.left.guaranteeing(node, &one).is_empty())
                && self.left.held(theirs, counter) > self.left.grant(theirs, counter)
        })
    }

    /// How the offers that a gang has and the candidate lacks rank the preemptor, compared with the gang: the least of it.
    fn compare_ranks(&self, gang: &ClaimedGang, short: &Short<'_>) -> Ordering {
        let contested = gang.members.iter().filter(|held| short.is_held_with(held));
        let compared =
            contested.filter_map(|held| self.ranks.get(held.offer.as_str()).map(|wanted| wanted.cmp(&held.rank)));
        compared.min().unwrap_or(Ordering::Less)
    }

    /// The two branches below the lowest account common to the preemptor and a victim: ours and theirs. None if both have the same account.
    fn branches(&self, victim: &Victim<'_>) -> Option<(Node, Node)> {
        self.tree().branches(self.leaf, victim.leaf)
    }

    /// The nodes from a leaf up to a branch.
    fn side(&self, leaf: Node, branch: Node) -> impl Iterator<Item = Node> {
        let common = self.tree().parent(branch);
        self.tree().path(leaf).iter().copied().take_while(move |node| Some(*node) != common)
    }

    /// Whether a victim holds by a guarantee on its own side: at an account at or above it, something that it takes is within the grant.
    fn is_protected(&self, victim: &Victim<'_>) -> bool {
        self.branches(victim).is_some_and(|(_, theirs)| {
            self.side(victim.leaf, theirs).any(|node| self.left.is_within_guarantee(node, &victim.gang.takes))
        })
    }

    /// Whether the candidate is guaranteed on our side, and a victim has some of what guarantees it, of which its branch holds more than its grant.
    fn has_borrowed(&self, victim: &Victim<'_>) -> bool {
        let Some((ours, theirs)) = self.branches(victim) else { return false };
        let ours = self.side(self.leaf, ours);
        let mut guaranteeing = ours.flat_map(|node| self.left.guaranteeing(node, &self.candidate.takes));
        guaranteeing.any(|counter| {
            let is_taken = victim.gang.takes.get(counter).is_some_and(|amount| *amount > 0);
            is_taken && self.left.held(theirs, counter) > self.left.grant(theirs, counter)
        })
    }

    /// Whether the branch of a victim holds at least as much for its weight without it, and without those chosen before it, as ours does with the
    /// candidate.
    fn leaves_above(&self, victim: &Victim<'_>) -> bool {
        let Some((ours, theirs)) = self.branches(victim) else { return false };
        let without_all = self.left.held(theirs, CHARGE) - charge(&victim.gang.takes);
        let with_candidate = self.view.quotas.held(ours, CHARGE) + charge(&self.candidate.takes);
        normalized(without_all, self.tree().weight(theirs)) >= normalized(with_candidate, self.tree().weight(ours))
    }

    /// Whether a victim, and each chosen by share before it, would leave its branch above ours if it alone were put back: by held charge over
    /// weight, with the candidate on our side. Nothing has changed for those of other branches; of its own, the cheapest one decides.
    fn stays_above(&self, victim: &Victim<'_>) -> bool {
        let Some((ours, theirs)) = self.branches(victim) else { return false };
        let own = charge(&victim.gang.takes);
        let put_back = self.by_share.get(&theirs).map_or(own, |least| own.min(*least));
        let with_it_alone = self.left.held(theirs, CHARGE) - own + put_back;
        let with_candidate = self.view.quotas.held(ours, CHARGE) + charge(&self.candidate.takes);
        normalized(with_it_alone, self.tree().weight(theirs)) > normalized(with_candidate, self.tree().weight(ours))
    }
}

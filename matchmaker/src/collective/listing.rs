//! Lists the gangs that the roots of a window may have.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placing::Window;

use super::alike::Gangs;
use super::bill::Bill;
use super::columns::{Columns, Dues, OfKind};
use super::{Collective, Spent};
use crate::charges::Prices;
use crate::cycle::Begun;
use crate::finder::{Finder, Round, Turn};
use crate::gang::Gang;
use crate::model::{AdId, AdKey, Config, Snapshot};
use crate::plain::{Listed, list};
use crate::ports::Ports;
use crate::sets::SET_MAX;

/// The roots of a window, and what is known of them before their gangs are listed.
#[derive(Clone, Copy)]
pub(super) struct WindowRoots<'l, 's> {
    pub(super) window: &'l [Turn<'s>],
    /// The gangs of those that have one in turn.
    pub(super) in_turn: &'l BTreeMap<AdId, &'l Gang>,
    /// Those with gangs that are guaranteed to their accounts.
    pub(super) guaranteed: &'l BTreeSet<AdId>,
    pub(super) collective: &'l Collective,
}

/// The gangs of a window.
pub(super) struct Listings {
    /// The roots whose gangs are listed, in numbers.
    pub(super) numbers: Window,
    /// Their gangs.
    pub(super) gangs: Gangs,
    /// What it took to list them.
    pub(super) effort: Spent,
}

impl<'s> WindowRoots<'_, 's> {
    /// Lists the gangs of all roots. The gangs of the cycle so far are those of others.
    pub(super) fn list<F: Finder>(&self, finder: &mut F, begun: &mut Begun<'s, F>, prices: &mut Prices) -> Listings {
        let Begun { round, run, .. } = begun;
        let (snapshot, pool) = (round.snapshot, round.pool().clone());
        // what is charged for them may tell them apart
        let alike = if snapshot.accounts.is_none() { finder.alike(run, self.window, round) } else { BTreeMap::new() };
        let mut columns = Columns::new((snapshot, pool), alike, self.collective.fair);
        let effort = self.list_into(&mut columns, finder, run, (round, prices));
        let (numbers, gangs) = columns.finish();
        Listings { numbers, gangs, effort }
    }

    /// Adds the gangs of all roots.
    fn list_into<F: Finder>(
        &self,
        columns: &mut Columns<'s>,
        finder: &mut F,
        run: &mut F::Run<'s>,
        (round, prices): (&mut Round<'s>, &mut Prices),
    ) -> Spent {
        let WindowRoots { window, in_turn, collective, .. } = *self;
        let (snapshot, mut effort) = (round.snapshot, Spent::default());
        let (accounts, mut members_left) = (accounts(snapshot), MembersLeft::of(window, collective));
        let mut kinds = Kinds::of(window, in_turn, |turn| {
            // what a gang takes of quotas depends on the account
            finder.kind(run, turn, round).filter(|_| snapshot.accounts.is_none())
        });
        // of a window of many roots, lists that are too short are made anew when all have one
        let wide = (window.len() > collective.gangs_max).then_some(window.len());
        for gangs_max in [collective.gangs_max].into_iter().chain(wide) {
            for (number, turn) in window.iter().enumerate() {
                let cap = members_left.of_one(turn, snapshot, gangs_max);
                if !kinds.wants(number, cap, columns) {
                    continue;
                }
                let (mut listed, by_index) = gangs_of(turn, cap, finder, run, round);
                members_left.pay(turn, &mut listed);
                effort.candidates = effort.candidates.saturating_add(listed.steps);
                let bill = Bill { turn, prices: &mut *prices, owners: &mut round.owners, shares: &mut round.shares };
                kinds.add((number, turn), (listed, by_index, cap), columns, bill);
            }
        }
        for (number, turn) in window.iter().enumerate() {
            let Some(of_kind) = kinds.gangs(number, columns) else { continue };
            effort.gangs = effort.gangs.saturating_add(u64::try_from(of_kind.listed).unwrap_or(u64::MAX));
            let submitter = accounts.get(&turn.ad).copied().unwrap_or(turn.submitter);
            let dues = Dues { submitter, pinned: self.is_pinned(turn), weight: &collective.weight };
            let bill = Bill { turn, prices: &mut *prices, owners: &mut round.owners, shares: &mut round.shares };
            columns.add((turn, dues), &of_kind, in_turn.get(&turn.ad).copied(), bill);
        }
        effort
    }

    /// How many roots are pinned.
    pub(super) fn pinned(&self) -> usize {
        self.window.iter().filter(|turn| self.is_pinned(turn)).count()
    }

    fn is_pinned(&self, turn: &Turn<'_>) -> bool {
        self.collective.pinned.contains(&turn.ad) || self.guaranteed.contains(&turn.ad)
    }
}

/// The gangs of the roots of a window, listed once for all roots of a kind.
struct Kinds<'g> {
    /// By root: its kind, if it has one.
    of: Vec<Option<usize>>,
    /// By root: its gang in turn.
    in_turn: Vec<Option<&'g Gang>>,
    /// By kind: the gangs in turn of its roots.
    of_kind: BTreeMap<usize, Vec<&'g Gang>>,
    /// By root: its own gangs, if they are not those of its kind.
    own: Vec<Option<Arc<OfKind>>>,
}

impl<'g> Kinds<'g> {
    fn of<'s>(
        window: &[Turn<'s>],
        in_turn: &BTreeMap<AdId, &'g Gang>,
        kind: impl FnMut(&Turn<'s>) -> Option<usize>,
    ) -> Kinds<'g> {
        let of: Vec<Option<usize>> = window.iter().map(kind).collect();
        let in_turn: Vec<Option<&Gang>> = window.iter().map(|turn| in_turn.get(&turn.ad).copied()).collect();
        let mut of_kind: BTreeMap<usize, Vec<&Gang>> = BTreeMap::new();
        for (kind, gang) in of.iter().zip(&in_turn).filter_map(|(kind, gang)| Some(((*kind)?, (*gang)?))) {
            of_kind.entry(kind).or_default().push(gang);
        }
        Kinds { own: vec![None; of.len()], of, in_turn, of_kind }
    }

    fn kind(&self, root: usize) -> Option<usize> {
        self.of.get(root).copied().flatten()
    }

    /// Whether the gangs of a root are to be listed, of which there may be so many.
    fn wants(&self, root: usize, cap: usize, columns: &Columns<'_>) -> bool {
        match (self.own.get(root), self.kind(root).and_then(|kind| columns.of_kind(kind))) {
            (Some(None), None) => true,
            (Some(None), Some(known)) => known.is_cut() && known.cap < cap,
            _ => false,
        }
    }

    /// Adds the gangs of a root, of which up to `cap` could be listed. Those of the index are those of all roots of its kind.
    fn add<'s>(
        &mut self,
        (root, turn): (usize, &Turn<'s>),
        (listed, by_index, cap): (Listed, bool, usize),
        columns: &mut Columns<'s>,
        mut bill: Bill<'_>,
    ) {
        let kind = self.kind(root).filter(|_| by_index);
        let of_kind = kind.and_then(|kind| self.of_kind.get(&kind)).into_iter().flatten();
        let own = self.in_turn.get(root).copied().flatten().filter(|_| kind.is_none());
        let made = columns.of_gangs(turn.ad, listed, (of_kind.copied().chain(own), cap), &mut bill);
        match kind {
            Some(kind) => columns.add_kind(kind, made),
            // there were no steps for a longer list
            None if self.kind(root).and_then(|kind| columns.of_kind(kind)).is_some() => {}
            None => self.own.get_mut(root).into_iter().for_each(|own| *own = Some(Arc::clone(&made))),
        }
    }

    /// The gangs of a root.
    fn gangs(&self, root: usize, columns: &Columns<'_>) -> Option<Arc<OfKind>> {
        self.own.get(root)?.clone().or_else(|| columns.of_kind(self.kind(root)?))
    }
}

/// So many gangs of a root are always listed; of a wide one not so many.
const LISTED_MIN: usize = 16;
/// How many members a gang that is not wide has.
const USUAL_MEMBERS: usize = 3;

/// How many members each submitter may still have listed. Gangs are kept until all are placed, and their members are what takes memory.
struct MembersLeft {
    left: BTreeMap<usize, Remainder>,
}

/// What one submitter has left.
struct Remainder {
    members: usize,
    /// How many members its widest gang so far has: partners may have partners of their own, which no ad of a job tells.
    widest: usize,
}

impl MembersLeft {
    fn of(window: &[Turn<'_>], collective: &Collective) -> MembersLeft {
        let submitters: BTreeSet<usize> = window.iter().map(|turn| turn.submitter).collect();
        let share = collective.members_max / submitters.len().max(1);
        MembersLeft {
            left: submitters
                .into_iter()
                .map(|submitter| (submitter, Remainder { members: share, widest: 1 }))
                .collect(),
        }
    }

    /// How many gangs of a root may be listed, of at most so many.
    fn of_one(&self, turn: &Turn<'_>, snapshot: &Snapshot, gangs_max: usize) -> usize {
        let (left, widest) = self.left.get(&turn.submitter).map_or((0, 1), |left| (left.members, left.widest));
        let width = snapshot.ad(turn.ad).map_or(1, |ad| width(&ad.ports)).max(widest);
        gangs_max.min(left / width).max((LISTED_MIN * USUAL_MEMBERS / width).clamp(2, LISTED_MIN))
    }

    /// Pays for the gangs of a root and for what they need; if there is not enough left for that, it is forgotten.
    fn pay(&mut self, turn: &Turn<'_>, listed: &mut Listed) {
        let Listed { gangs, needs, .. } = listed;
        let members = gangs.iter().map(|gang| gang.members.len()).sum();
        let Some(left) = self.left.get_mut(&turn.submitter) else { return };
        left.members = left.members.saturating_sub(members);
        let needed = needs.iter().map(Vec::len).sum();
        match left.members.checked_sub(needed) {
            Some(rest) => left.members = rest,
            None => needs.clear(),
        }
        left.widest = gangs.iter().map(|gang| gang.members.len()).fold(left.widest, usize::max);
    }
}

/// How many members a gang of an ad with these ports has at most, if its partners have no partners of their own.
fn width(ports: &Ports) -> usize {
    let partners =
        ports.list.iter().map(|port| port.set.as_ref().map_or(1, |set| set.most_written().unwrap_or(SET_MAX)));
    1 + partners.sum::<usize>()
}

/// The gangs that a root may have, as far as they can be listed for what its submitter may still spend, and whether the finder has listed them.
fn gangs_of<'s, F: Finder>(
    turn: &Turn<'s>,
    cap: usize,
    finder: &mut F,
    run: &mut F::Run<'s>,
    round: &mut Round<'s>,
) -> (Listed, bool) {
    let (snapshot, config) = (round.snapshot, round.config);
    let steps_max = config.steps_max.min(round.shares.for_one(turn.submitter));
    if steps_max == 0 || config.stop.is_set() {
        return (Listed { has_more: true, ..Listed::default() }, false);
    }
    if let Some(listed) = finder.list(run, turn, round, cap) {
        round.shares.pay(turn.submitter, listed.steps);
        return (listed, true);
    }
    let among = finder.candidates(run, turn, round);
    let mut exclusions = Cow::Borrowed(&turn.root.exclusions);
    let own = snapshot.ad(turn.ad).map(|ad| ad.key.namespace.as_str());
    if !snapshot.barred.is_empty() {
        let keys = snapshot.ads().map(|(_, ad)| &ad.key);
        let is_barred = |key: &&AdKey| own != Some(&key.namespace) && snapshot.barred.contains(&key.namespace);
        exclusions.to_mut().extend(keys.filter(is_barred).cloned());
    }
    let listing = crate::plain::Listing { exclusions: &exclusions, among: among.as_deref(), cap };
    let config = Config { steps_max, ..config.clone() };
    let listed = list(snapshot, turn.ad, &listing, &config, round.now);
    round.shares.pay(turn.submitter, listed.steps);
    (listed, false)
}

/// The number of the account of each root, if there are accounts.
fn accounts(snapshot: &Snapshot) -> BTreeMap<AdId, usize> {
    let Some(accounts) = &snapshot.accounts else { return BTreeMap::new() };
    let names: BTreeSet<&Arc<str>> = accounts.account_of.names().iter().collect();
    let numbers: BTreeMap<&Arc<str>, usize> = names.into_iter().zip(0..).collect();
    accounts.account_of.iter().filter_map(|(root, name)| Some((root, *numbers.get(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::Ask;
    use crate::model::Root;

    #[test]
    fn what_gangs_need_is_kept_only_as_far_as_the_submitter_has_members_left() {
        let root = Root { ad: AdId::at(0), submitter: "s".into(), priority: 0, since: 0, exclusions: BTreeSet::new() };
        let turn = Turn { number: 0, ad: root.ad, root: &root, submitter: 0, excludes: false };
        let mut members_left = MembersLeft { left: [(0, Remainder { members: 4, widest: 1 })].into() };
        let mut kept = |offers: usize| {
            let needs = vec![vec![(AdId::at(1), Ask::default()); offers]];
            let mut listed = Listed { needs, ..Listed::default() };
            members_left.pay(&turn, &mut listed);
            !listed.needs.is_empty()
        };
        assert_eq!([kept(3), kept(2), kept(1)], [true, false, true]);
    }
}

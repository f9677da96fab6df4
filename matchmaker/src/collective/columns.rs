//! The gangs of a window as numbers: which root may have which, and how much of what each takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placing::{Column, Root, Seat, Take, Window};
use smallvec::SmallVec;

use super::alike::{Alike, Gangs, Resource};
use super::bill::Bill;
use super::quotas::Caps;
use super::{Weight, weight};
use crate::capacity::{Ask, Res};
use crate::charges::Prices;
use crate::finder::{Needs, Turn};
use crate::gang::Gang;
use crate::model::{AdId, Offer, PoolAd, Snapshot};
use crate::plain::Listed;

/// A window in the making.
pub(crate) struct Columns<'s> {
    snapshot: &'s Snapshot,
    /// The same pool with what is taken by now.
    pool: Snapshot,
    window: Window,
    alike: Alike,
    /// The quotas of accounts, if there are any.
    caps: Option<Caps<'s>>,
    /// The gangs of each root, one for each of its columns.
    gangs: Vec<Arc<Vec<Gang>>>,
    roots: Vec<AdId>,
    /// By the number of a kind of roots: the gangs of one of them.
    kinds: BTreeMap<usize, Arc<OfKind>>,
    /// Each resource of an offer that is the first of those like it.
    resources: BTreeMap<(AdId, &'s str), Resource>,
    /// The number of each seat: of an offer and a share key.
    seats: BTreeMap<(AdId, String), usize>,
    /// By the place of an ad: what was taken of it last, as amounts of its resources. Without it, placing over
    /// `gang --n 1000 --density 1 --selectivity 8 --products 20` with 2000 steps takes 1,631 instead of 1,420 million instructions.
    taken: Vec<Option<(Res, OfferAmounts)>>,
}

/// Resources by number, and how much is taken of them.
type OfferAmounts = SmallVec<[(usize, u64); 2]>;

/// The gangs that one root of a kind may have.
pub(crate) struct OfKind {
    /// The best first; of several that take the same only the best.
    gangs: Arc<Vec<Gang>>,
    columns: Arc<Vec<Column>>,
    /// The numbers of the columns, in the order of what they take.
    numbers: Vec<usize>,
    has_more: bool,
    /// What every gang takes, also one that is not listed: a column of each list.
    needs: Vec<Arc<Vec<Column>>>,
    /// How many gangs could be listed.
    pub(crate) cap: usize,
    /// How many gangs were listed.
    pub(crate) listed: usize,
}

impl OfKind {
    /// Whether there are more, as far as is known.
    pub(crate) fn is_cut(&self) -> bool {
        self.has_more
    }

    /// The column that takes this.
    fn number(&self, takes: &[Take]) -> Option<usize> {
        let of = |number: &usize| self.columns.get(*number).map(|column| column.takes.as_slice());
        let at = self.numbers.binary_search_by(|number| of(number).cmp(&Some(takes))).ok()?;
        self.numbers.get(at).copied()
    }
}

/// The numbers of columns, in the order of what they take, and of those that take the same the first one first.
fn in_order(columns: &[Column]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..columns.len()).collect();
    numbers.sort_unstable_by(|one, other| {
        let takes = |number: &usize| columns.get(*number).map(|column| column.takes.as_slice());
        takes(one).cmp(&takes(other)).then(one.cmp(other))
    });
    numbers
}

/// What is due to a root of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dues<'d> {
    /// The number of its submitter, or of its account.
    pub(crate) submitter: usize,
    /// If it has a gang in turn, it has one here.
    pub(crate) pinned: bool,
    /// What its best gang counts.
    pub(crate) weight: &'d Weight,
}

impl<'s> Columns<'s> {
    /// No roots yet. `pool`: the same snapshot with what is taken by now. `fair`: no submitter gets less than in turn.
    pub(crate) fn new(
        (snapshot, pool): (&'s Snapshot, Snapshot),
        alike: BTreeMap<AdId, AdId>,
        fair: bool,
    ) -> Columns<'s> {
        Columns {
            snapshot,
            pool,
            alike: Alike::of(alike),
            window: Window { fair, ..Window::default() },
            caps: Caps::of(snapshot),
            gangs: Vec::new(),
            roots: Vec::new(),
            kinds: BTreeMap::new(),
            resources: BTreeMap::new(),
            seats: BTreeMap::new(),
            taken: Vec::new(),
        }
    }

    /// The gangs of this kind of roots, if they are known.
    pub(crate) fn of_kind(&self, kind: usize) -> Option<Arc<OfKind>> {
        self.kinds.get(&kind).cloned()
    }

    /// Roots of this kind have these gangs.
    pub(crate) fn add_kind(&mut self, kind: usize, gangs: Arc<OfKind>) {
        self.kinds.insert(kind, gangs);
    }

    /// The gangs of a root, of which up to `cap` could be listed, and those that roots of its kind have in turn. If the submitter cannot pay for
    /// finding out what all of them cost, some are left out.
    pub(crate) fn of_gangs<'g>(
        &mut self,
        root: AdId,
        listed: Listed,
        (in_turn, cap): (impl Iterator<Item = &'g Gang>, usize),
        bill: &mut Bill<'_>,
    ) -> Arc<OfKind> {
        let in_turn: Vec<Gang> = in_turn.map(|gang| gang.of_root(root)).collect();
        let listed_gangs = listed.gangs.len();
        Arc::new(OfKind { cap, listed: listed_gangs, ..self.columns(root, listed, &in_turn, bill) })
    }

    /// Gangs of a root as columns.
    fn columns(&mut self, root: AdId, listed: Listed, in_turn: &[Gang], bill: &mut Bill<'_>) -> OfKind {
        let Listed { gangs: mut all, mut has_more, needs, .. } = listed;
        all.extend_from_slice(in_turn);
        all.sort_by(|one, other| other.order(one));
        let (mut gangs, mut columns) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
        let mut is_paid = bill.settle(self.snapshot);
        for gang in all {
            // What the gangs in turn cost is known.
            if !is_paid && !in_turn.contains(&gang) {
                has_more = true;
                continue;
            }
            let score = [gang.score.own, gang.score.partners, gang.score.deeper].map(|level| level.bits());
            columns.push(Column { takes: self.takes(root, &gang, bill.prices), score });
            is_paid &= bill.settle(self.snapshot);
            gangs.push(gang);
        }
        let mut numbers = in_order(&columns);
        let worse: BTreeSet<usize> = numbers
            .windows(2)
            .filter_map(|pair| match *pair {
                [one, other] if columns.get(one)?.takes == columns.get(other)?.takes => Some(other),
                _ => None,
            })
            .collect();
        if !worse.is_empty() {
            let is_kept = |number: usize| !worse.contains(&number);
            columns =
                columns.into_iter().enumerate().filter(|(number, _)| is_kept(*number)).map(|(_, kept)| kept).collect();
            gangs =
                gangs.into_iter().enumerate().filter(|(number, _)| is_kept(*number)).map(|(_, kept)| kept).collect();
            numbers = in_order(&columns);
        }
        let needs = if has_more { self.needed(&needs) } else { Vec::new() };
        OfKind { gangs: Arc::new(gangs), columns: Arc::new(columns), numbers, has_more, needs, cap: 0, listed: 0 }
    }

    /// What gangs need, as columns. Offers of which several gangs may hold a seat together are left out, with all that may be taken instead.
    pub(crate) fn needed(&mut self, needs: &Needs) -> Vec<Arc<Vec<Column>>> {
        let mut of_offers = |offers: &Vec<(AdId, Ask)>| {
            let mut columns = Vec::with_capacity(offers.len());
            for (ad, ask) in offers {
                let offer = self.snapshot.ad(*ad).and_then(PoolAd::offer).filter(|_| ask.share.is_none())?;
                let amounts = self.amounts(*ad, offer, ask);
                if amounts.iter().all(|(resource, amount)| self.window.free.get(*resource) >= Some(amount)) {
                    let takes =
                        amounts.into_iter().map(|(resource, amount)| Take::Units { resource, amount }).collect();
                    columns.push(Column { takes, ..Column::default() });
                }
            }
            Some(Arc::new(columns))
        };
        needs.iter().filter_map(&mut of_offers).collect()
    }

    /// Adds a root with the gangs of its kind. `in_turn` is its gang in turn.
    pub(crate) fn add(
        &mut self,
        (turn, dues): (&Turn<'s>, Dues<'_>),
        of_kind: &OfKind,
        in_turn: Option<&Gang>,
        mut bill: Bill<'_>,
    ) {
        let takes = in_turn.map(|gang| self.takes(turn.ad, gang, bill.prices));
        let best = of_kind.gangs.first().map(|gang| gang.of_root(turn.ad));
        let weight = best.map_or(1, |gang| weight(dues.weight, (self.snapshot, &gang), bill.prices));
        bill.settle(self.snapshot);
        self.window.roots.push(Root {
            weight,
            submitter: dues.submitter,
            priority: turn.root.priority.into(),
            band: self.snapshot.bands.get(&turn.ad).copied().unwrap_or(0).into(),
            pinned: dues.pinned,
            has_more: of_kind.has_more,
            needs: of_kind.needs.clone(),
            columns: Arc::clone(&of_kind.columns),
            in_turn: takes.and_then(|takes| of_kind.number(&takes)),
        });
        self.gangs.push(Arc::clone(&of_kind.gangs));
        self.roots.push(turn.ad);
    }

    /// The window, and the gangs of its columns.
    pub(crate) fn finish(self) -> (Window, Gangs) {
        let Columns { window, alike, gangs, roots, resources, .. } = self;
        // the first resource of an offer, and how many columns have room there
        let mut places: BTreeMap<AdId, Resource> = BTreeMap::new();
        for ((offer, _), resource) in resources {
            let place = places.entry(offer).or_insert(resource);
            place.slots = place.slots.min(resource.slots);
            place.number = place.number.min(resource.number);
        }
        (window, Gangs { gangs, roots, alike, places })
    }

    /// What a gang takes of offers and of quotas, in order.
    fn takes(&mut self, root: AdId, gang: &Gang, prices: &mut Prices) -> Vec<Take> {
        let snapshot = self.snapshot;
        let mut takes = Vec::new();
        for member in &gang.members {
            let Some(offer) = snapshot.ad(member.ad).and_then(PoolAd::offer) else { continue };
            let amounts = self.amounts(member.ad, offer, &member.ask);
            match &member.ask.share {
                None => takes.extend(amounts.into_iter().map(|(resource, amount)| Take::Units { resource, amount })),
                // a seat that is held already takes nothing more
                Some(key) if self.pool.usage(member.ad, offer).shared.contains_key(key) => {}
                Some(key) => takes.push(Take::Seat(self.seat((member.ad, key.clone()), &amounts))),
            }
        }
        let of_quotas =
            self.caps.as_mut().map(|caps| caps.takes(root, gang, &mut self.window.free, prices)).unwrap_or_default();
        takes.extend(of_quotas.into_iter().map(|(resource, amount)| Take::Units { resource, amount }));
        takes.sort_unstable();
        takes
    }

    /// The resources that a request takes, and how much.
    fn amounts(&mut self, ad: AdId, offer: &'s Offer, ask: &Ask) -> OfferAmounts {
        if let Some(Some((allocation, amounts))) = self.taken.get(ad.place())
            && allocation.is(&ask.allocation)
        {
            return amounts.clone();
        }
        let mut amounts = OfferAmounts::new();
        for (name, all) in offer.capacity.iter() {
            let Some(amount) = ask.allocation.get(name) else { continue };
            let amount = u64::try_from(*amount).unwrap_or(u64::MAX);
            let (free, first) = (&mut self.window.free, self.alike.first(ad));
            let resource = *self.resources.entry((first, name)).or_insert_with(|| {
                let left = all.saturating_sub(self.pool.usage(ad, offer).used(name));
                let left = u64::try_from(left).unwrap_or(0);
                // all take the same amount of offers that are alike
                let slots = left.checked_div(amount).unwrap_or(0);
                free.push(match self.alike.members(first) {
                    [_, _, ..] => slots.saturating_mul(amount).saturating_mul(self.alike.members(first).len() as u64),
                    _ => left,
                });
                Resource { number: free.len() - 1, slots }
            });
            amounts.push((resource.number, amount));
        }
        if self.taken.len() <= ad.place() {
            self.taken.resize(ad.place() + 1, None);
        }
        self.taken
            .get_mut(ad.place())
            .into_iter()
            .for_each(|last| *last = Some((ask.allocation.clone(), amounts.clone())));
        amounts
    }

    /// The number of a seat. If gangs ask for different amounts of it, it takes the most of each.
    fn seat(&mut self, key: (AdId, String), amounts: &[(usize, u64)]) -> usize {
        let seats = &mut self.window.seats;
        let number = *self.seats.entry(key).or_insert_with(|| {
            seats.push(Seat::default());
            seats.len() - 1
        });
        let Some(seat) = seats.get_mut(number) else { return number };
        for (resource, amount) in amounts {
            match seat.takes.iter_mut().find(|(taken, _)| taken == resource) {
                Some((_, most)) => *most = (*most).max(*amount),
                None => seat.takes.push((*resource, *amount)),
            }
        }
        number
    }
}

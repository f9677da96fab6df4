//! What is free of each offer, in amounts that can be compared with what is asked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use classad::{Expr, Name};
use foldhash::fast::RandomState;
use matchmaker::{AdId, Ask, Consent, Offer, PoolAd, Res, Snapshot, default_amount};

use super::asks::{Asks, Resources};
use crate::table::{Bits, DiffRun, Numbered, SnapshotDiff, Table, as_u32, as_usize};

/// What one kind of offer has, and what is taken of it if nothing is said.
#[derive(Debug)]
struct OfferTerms {
    capacity: Res,
    default_request: Res,
    /// What was taken last, whose names are those of the capacity, and its amounts. Without it, a cycle after changes over
    /// `gang --n 4000 --density 1 --selectivity 8` without ranks takes 24.0 instead of 22.9 million instructions.
    taken_last: Option<(Res, Box<[i64]>)>,
}

/// What is counted of one offer.
#[derive(Clone, Copy, Debug)]
struct OfferState {
    /// The number of its terms.
    terms: u32,
    /// Where its amounts begin, and how many there are.
    first: u32,
    amounts: u32,
    /// Its seats may be shared.
    shared: bool,
    /// Something may be taken of it.
    open: bool,
    /// The number of its [`Consent`].
    consent: u32,
}

/// What a snapshot's offers have, before anything is taken in a cycle.
#[derive(Debug, Default)]
struct Stock {
    /// The ads that were counted.
    ads: Arc<Vec<Arc<PoolAd>>>,
    /// By place in the snapshot.
    offers: Vec<Option<OfferState>>,
    /// The free amounts of all offers, see [`OfferState::first`].
    free: Vec<i64>,
    /// Ads with no free amounts, or held whole, by place.
    full: Bits,
}

/// What each ask takes of an offer of each terms.
#[derive(Debug, Default)]
struct Takes {
    asks: Numbered<Asks>,
    /// By ask, then by terms: the amounts, once computed; `None` if such an offer can never meet the ask.
    amounts: Vec<Vec<Option<Option<Amounts>>>>,
}

/// What is free of each offer of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Availability {
    terms: Vec<OfferTerms>,
    /// By capacity and default request.
    ids: HashMap<(Res, Res), u32, RandomState>,
    /// The one met last: most offers are like the one before. Without it, a first cycle over `gang --n 4000 --density 1 --selectivity 8` without ranks takes
    /// 67.9 instead of 66.2 million instructions.
    last_terms: u32,
    stock: Stock,
    /// What is left of [`Stock::free`] and added to [`Stock::full`] in this cycle.
    free: Vec<i64>,
    full: Bits,
    consents: Numbered<Consent>,
    takes: Takes,
    /// The offers' `sharedBy` expressions, adjacent duplicates once.
    shared_by: Vec<Expr>,
    /// Some offer has, or had, one.
    some_shared: bool,
    /// The rows of open offers, once asked for.
    open_rows: OnceLock<Bits>,
}

/// What an ask takes of an offer: by name, and in the order of the offer's capacity.
#[derive(Debug)]
pub(crate) struct Amounts {
    /// The amounts by name.
    pub(crate) ask: Ask,
    amounts: Vec<i64>,
}

impl Availability {
    /// Counts what is free now. Nothing is kept if no ad is another or elsewhere.
    pub(crate) fn count(&mut self, snapshot: &Snapshot, kept: Option<&SnapshotDiff>) {
        if !Arc::ptr_eq(snapshot.list(), &self.stock.ads) {
            self.count_all(snapshot, kept.unwrap_or(&SnapshotDiff::default()));
        }
        self.restart();
    }

    /// Nothing is taken in the cycle.
    pub(crate) fn restart(&mut self) {
        self.free.clone_from(&self.stock.free);
        self.full.clone_from(&self.stock.full);
    }

    /// What is free before anything is taken in a cycle.
    fn count_all(&mut self, snapshot: &Snapshot, kept: &SnapshotDiff) {
        let stock = Stock { ads: Arc::clone(snapshot.list()), full: Bits::none(snapshot.len()), ..Stock::default() };
        let before = std::mem::replace(&mut self.stock, stock);
        self.stock.offers.reserve(snapshot.len());
        self.stock.free.reserve(before.free.len());
        self.open_rows = OnceLock::new();
        for run in kept.runs().filter(|run| run.whole && run.before().end <= before.offers.len()) {
            self.count_each(snapshot, run.now().start);
            self.take_over(&before, run);
        }
        self.count_each(snapshot, snapshot.len());
        self.shared_by.clear();
        // Seats are shared in few pools.
        if self.some_shared {
            let offers = self.stock.offers.iter().zip(snapshot.list().iter());
            let shared = offers.filter(|(own, _)| own.is_some_and(|own| own.shared)).map(|(_, ad)| ad);
            for expr in shared.filter_map(|ad| ad.offer()?.shared_by.as_ref()) {
                if self.shared_by.last() != Some(expr) {
                    self.shared_by.push(expr.clone());
                }
            }
        }
    }

    /// Counts offers one by one, up to a place.
    fn count_each(&mut self, snapshot: &Snapshot, end: usize) {
        for place in self.stock.offers.len()..end {
            let first = self.stock.free.len();
            let own = snapshot.ad(AdId::at(place)).and_then(PoolAd::offer).map(|offer| self.stocked(offer));
            self.stock.offers.push(own);
            self.some_shared |= own.is_some_and(|own| own.shared);
            // Every request takes some of each amount.
            let left = self.stock.free.get(first..).unwrap_or_default();
            if own.is_some_and(|own| !own.shared) && left.iter().any(|free| *free < 1) {
                self.stock.full.set(place, true);
            }
        }
    }

    /// Takes over what was counted of offers that are as they were.
    fn take_over(&mut self, before: &Stock, run: DiffRun) {
        let known = before.offers.get(run.before()).unwrap_or_default();
        let amounts = |own: &OfferState| as_usize(own.first)..as_usize(own.first) + as_usize(own.amounts);
        let from = known.iter().flatten().next().map_or(0, |own| amounts(own).start);
        let to = known.iter().rev().flatten().next().map_or(from, |own| amounts(own).end);
        let first = as_u32(self.stock.free.len());
        let moved = |own: OfferState| OfferState { first: own.first - as_u32(from) + first, ..own };
        self.stock.offers.extend(known.iter().map(|own| own.map(moved)));
        self.stock.free.extend_from_slice(before.free.get(from..to).unwrap_or_default());
        let (was, is) = (run.before(), run.now());
        before.full.each_among(was.clone(), |place| self.stock.full.set(place - was.start + is.start, true));
    }

    /// Counts one offer.
    fn stocked(&mut self, offer: &Offer) -> OfferState {
        let first = as_u32(self.stock.free.len());
        let free = offer.capacity.iter().map(|(name, all)| all.saturating_sub(offer.usage.used(name)));
        self.stock.free.extend(free);
        let amounts = as_u32(self.stock.free.len()) - first;
        let (terms, consent) = (self.terms_of(offer), self.consents.id(&offer.consent));
        OfferState { terms, first, amounts, shared: offer.shared_by.is_some(), open: offer.open, consent }
    }

    /// The offers' `sharedBy` expressions.
    pub(crate) fn shared_by(&self) -> &[Expr] {
        &self.shared_by
    }

    /// The rows of ads whose seats may be shared.
    pub(crate) fn shared(&self, table: &Table) -> Bits {
        if self.shared_by.is_empty() {
            return Bits::none(table.rows.len());
        }
        Bits::of(table.rows.len(), |row| {
            table.live.get(row) && self.stocked_row(row, table).is_some_and(|own| own.shared)
        })
    }

    /// The rows that a root of a namespace may be bound to now.
    pub(crate) fn admitted(&self, table: &Table, namespace: &str) -> Bits {
        let admits = self.admits(namespace);
        self.admitted_where(table, &admits)
    }

    /// By the number of a consent: whether it admits roots of a namespace.
    pub(crate) fn admits(&self, namespace: &str) -> Vec<bool> {
        self.consents.list().iter().map(|consent| consent.admits(namespace)).collect()
    }

    /// The rows that can be taken now and whose consent admits.
    pub(crate) fn admitted_where(&self, table: &Table, admits: &[bool]) -> Bits {
        let open = |row: usize| table.live.get(row) && self.stocked_row(row, table).is_some_and(|own| own.open);
        let mut rows = self.open_rows.get_or_init(|| Bits::of(table.rows.len(), open)).clone();
        if admits.contains(&false) {
            rows.keep(|row| self.consents_to(row, table, admits));
        }
        rows
    }

    /// The offer classes that have rows whose consent admits, in order.
    pub(crate) fn offer_classes_where(&self, table: &Table, admits: &[bool]) -> Vec<usize> {
        let used = table.offer_classes.used().map(|(id, _)| id);
        if !admits.contains(&false) {
            return used.collect();
        }
        let mut met = vec![false; table.offer_classes.list.len()];
        for row in table.live.iter().map(as_usize).filter(|row| self.consents_to(*row, table, admits)) {
            let offer_class = table.rows.get(row).and_then(|row| met.get_mut(row.offer_class()));
            offer_class.into_iter().for_each(|met| *met = true);
        }
        used.filter(|offer_class| met.get(*offer_class) == Some(&true)).collect()
    }

    fn stocked_row(&self, row: usize, table: &Table) -> Option<OfferState> {
        self.stock.offers.get(table.rows.get(row)?.place()).copied().flatten()
    }

    fn consents_to(&self, row: usize, table: &Table, admits: &[bool]) -> bool {
        self.stocked_row(row, table).is_some_and(|own| admits.get(as_usize(own.consent)) == Some(&true))
    }

    /// The rows of ads with no free amounts.
    pub(crate) fn full_rows(&self, table: &Table) -> Bits {
        let mut rows = Bits::none(table.rows.len());
        for place in self.full.iter().map(as_usize) {
            table.rows_of(place).for_each(|row| rows.set(row, true));
        }
        rows
    }

    /// Whether the ad at a place has no free amounts. Shared seats are never full.
    pub(crate) fn is_full(&self, place: usize) -> bool {
        self.full.get(place)
    }

    fn terms_of(&mut self, offer: &Offer) -> u32 {
        let last = self.terms.get(as_usize(self.last_terms));
        let is_last =
            |last: &OfferTerms| last.capacity.is(&offer.capacity) && last.default_request.is(&offer.default_request);
        if last.is_some_and(is_last) {
            return self.last_terms;
        }
        let (capacity, default_request) = (offer.capacity.clone(), offer.default_request.clone());
        let next = as_u32(self.terms.len());
        let id = *self.ids.entry((capacity.clone(), default_request.clone())).or_insert(next);
        if id == next {
            self.terms.push(OfferTerms { capacity, default_request, taken_last: None });
        }
        self.last_terms = id;
        id
    }

    /// The number of what the offer at a place has in all: equal numbers can meet the same requests.
    pub(crate) fn terms_at(&self, place: usize) -> Option<u32> {
        self.stock.offers.get(place).copied().flatten().map(|own| own.terms)
    }

    /// All resources that some offer has, in small letters, each with the attribute by which a root may ask for it.
    pub(crate) fn resources(&self) -> Resources {
        let names = self.terms.iter().flat_map(|terms| terms.capacity.keys().map(|name| name.to_ascii_lowercase()));
        let names: BTreeSet<String> = names.collect();
        names.into_iter().map(|name| (Name::new(format!("Request{name}")), name)).collect()
    }

    /// The number of what is asked.
    pub(crate) fn ask_id(&mut self, asks: &Asks) -> u32 {
        self.takes.asks.id(asks)
    }

    /// What an ask takes of the offer at a place, if the offer ever has it.
    pub(crate) fn take_of(&mut self, ask: u32, place: usize) -> Option<&Amounts> {
        let own = self.stock.offers.get(place).copied().flatten()?;
        self.takes.take(ask, own.terms, &self.terms)
    }

    /// Whether two asks take the same of the offer at a place.
    pub(crate) fn take_the_same(&mut self, one: u32, other: u32, place: usize) -> bool {
        if one == other {
            return true;
        }
        let ask = self.take_of(one, place).map(|take| take.ask.clone());
        ask.is_some_and(|ask| self.take_of(other, place).is_some_and(|take| take.ask == ask))
    }

    /// What the offer at a place has in all, by number, and what is free of each amount.
    pub(crate) fn free_of(&self, place: usize) -> Option<(u32, &[i64])> {
        let own = self.stock.offers.get(place).copied().flatten()?;
        let first = as_usize(own.first);
        Some((own.terms, self.free.get(first..first + as_usize(own.amounts))?))
    }

    /// Whether an ask fits into what is free.
    pub(crate) fn fits(&mut self, ask: u32, place: usize) -> bool {
        let Some(own) = self.stock.offers.get(place).copied().flatten() else { return false };
        let Some(take) = self.takes.take(ask, own.terms, &self.terms) else { return false };
        let first = as_usize(own.first);
        let free = self.free.get(first..first + take.amounts.len());
        free.is_some_and(|free| take.amounts.iter().zip(free).all(|(amount, free)| amount <= free))
    }

    /// Takes what an ask takes, and says whether the ad has no free amounts then. Does nothing if that must be worked out from all that is
    /// taken: of seats that are shared, and where amounts are not in the order of the capacity.
    pub(crate) fn charge(&mut self, id: AdId, ask: &Ask) -> Option<bool> {
        let Some(Some(own)) = self.stock.offers.get(id.place()) else { return Some(self.full.get(id.place())) };
        let terms = self.terms.get_mut(as_usize(own.terms))?;
        if own.shared || ask.share.is_some() {
            return None;
        }
        let amounts = terms.amounts(&ask.allocation)?;
        let mut full = false;
        for (free, amount) in self.free.get_mut(as_usize(own.first)..)?.iter_mut().zip(amounts) {
            *free = free.saturating_sub(*amount);
            full |= *free < 1;
        }
        if full {
            self.full.set(id.place(), true);
        }
        Some(full || self.full.get(id.place()))
    }

    /// Looks again at what is free of an offer of which something was taken.
    pub(crate) fn recount(&mut self, snapshot: &Snapshot, id: AdId) {
        let Some(own) = self.stock.offers.get(id.place()).copied().flatten() else { return };
        let Some(offer) = snapshot.ad(id).and_then(PoolAd::offer) else { return };
        let usage = snapshot.usage(id, offer);
        for ((name, all), free) in offer.capacity.iter().zip(self.free.iter_mut().skip(as_usize(own.first))) {
            *free = all.saturating_sub(usage.used(name));
            if *free < 1 && !own.shared {
                self.full.set(id.place(), true);
            }
        }
    }
}

impl Takes {
    fn take(&mut self, ask: u32, terms: u32, known: &[OfferTerms]) -> Option<&Amounts> {
        let (asks, terms_of) = (self.asks.get(ask)?, known.get(as_usize(terms))?);
        let (ask, terms) = (as_usize(ask), as_usize(terms));
        if self.amounts.len() <= ask {
            self.amounts.resize_with(ask + 1, Vec::new);
        }
        let by_terms = self.amounts.get_mut(ask)?;
        if by_terms.len() <= terms {
            by_terms.resize_with(terms + 1, || None);
        }
        by_terms.get_mut(terms)?.get_or_insert_with(|| takes(asks, terms_of)).as_ref()
    }
}

impl OfferTerms {
    /// The amounts of what is taken, if they are those of the capacity's names, one for each.
    fn amounts(&mut self, takes: &Res) -> Option<&[i64]> {
        if !self.taken_last.as_ref().is_some_and(|(last, _)| last.is(takes)) {
            if !self.capacity.keys().eq(takes.keys()) {
                return None;
            }
            self.taken_last = Some((takes.clone(), takes.values().copied().collect()));
        }
        self.taken_last.as_ref().map(|(_, amounts)| &**amounts)
    }
}

/// What an ask takes of an offer of these terms, if such an offer ever has it.
fn takes(asks: &Asks, terms: &OfferTerms) -> Option<Amounts> {
    let Asks::Amounts { requested, attributes } = asks else { return None };
    let mut named = BTreeMap::new();
    for (name, amount) in requested {
        // A name that the offer does not have.
        let own = terms.capacity.keys().find(|own| own.eq_ignore_ascii_case(name))?;
        named.insert(own.clone(), *amount);
    }
    let mut res = Res::new();
    for (name, all) in &terms.capacity {
        let attribute = attributes.iter().find(|(resource, _)| resource.eq_ignore_ascii_case(name));
        let amount = match (named.get(name), attribute) {
            (Some(amount), _) => *amount,
            (None, Some((_, amount))) => (*amount)?,
            (None, None) => default_amount(&terms.default_request, name, *all),
        };
        res.insert(name.clone(), amount);
    }
    let gives = !res.is_empty() && res.values().all(|amount| *amount >= 1);
    let there = terms.capacity.iter().zip(res.values()).all(|((_, all), amount)| amount <= all);
    let amounts = res.values().copied().collect();
    (gives && there).then_some(Amounts { ask: Ask { allocation: res, share: None }, amounts })
}

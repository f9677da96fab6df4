//! What is free of each offer, in amounts that can be compared with what is asked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use classad::{Expr, Name};
use foldhash::fast::RandomState;
use matchmaker::{AdId, Ask, Consent, Offer, PoolAd, Res, Snapshot};

use super::asks::{Asks, Resources};
use crate::table::{Bits, DiffRun, SnapshotDiff, Table, as_u32, as_usize};

/// What one kind of offer has, and what is taken of it if nothing is said.
#[derive(Debug)]
struct OfferTerms {
    capacity: Res,
    default_request: Res,
    /// What was taken last, whose names are those of the capacity.
    taken_last: Option<Res>,
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
    /// The number of whom it admits.
    consent: u32,
}

/// What was counted of another snapshot.
struct Before {
    offers: Vec<Option<OfferState>>,
    free: Vec<i64>,
    full: Bits,
}

/// What is free of each offer of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Availability {
    terms: Vec<OfferTerms>,
    /// By capacity and default request.
    ids: HashMap<(Res, Res), u32, RandomState>,
    /// The one met last: most offers are like the one before.
    last_terms: u32,
    /// By place in the snapshot.
    offers: Vec<Option<OfferState>>,
    free: Vec<i64>,
    /// Whom offers admit, and the number of each.
    consents: Vec<Consent>,
    consent_ids: HashMap<Consent, u32, RandomState>,
    /// The ads that were counted, and what was free of them before anything was taken.
    counted: Arc<Vec<Arc<PoolAd>>>,
    free_at_first: Vec<i64>,
    full_at_first: Bits,
    /// By ask, then by terms: what is taken, once it is worked out.
    takes: Vec<Vec<Option<Option<Amounts>>>>,
    asks: Vec<Asks>,
    ask_ids: HashMap<Asks, u32, RandomState>,
    /// Ads of which nothing is left for anybody, or that are held whole, by place.
    full: Bits,
    /// What owners say of who holds a seat together, each once if it stands together.
    shared_by: Vec<Expr>,
    /// Somebody says something of it, or did.
    some_shared: bool,
    /// The rows of which something may be taken, once somebody has asked.
    open_rows: OnceLock<Bits>,
}

/// What an ask takes of an offer: by name, and in the order of the offer's capacity.
#[derive(Debug)]
pub(crate) struct Amounts {
    pub(crate) ask: Ask,
    amounts: Vec<i64>,
}

impl Availability {
    /// Counts what is free now. Nothing is kept if no ad is another or elsewhere.
    pub(crate) fn count(&mut self, snapshot: &Snapshot, kept: Option<&SnapshotDiff>) {
        if !Arc::ptr_eq(snapshot.list(), &self.counted) {
            self.count_all(snapshot, kept.unwrap_or(&SnapshotDiff::default()));
            self.counted = Arc::clone(snapshot.list());
        }
        self.free.clone_from(&self.free_at_first);
        self.full.clone_from(&self.full_at_first);
    }

    /// What is free before anything is taken in a cycle.
    fn count_all(&mut self, snapshot: &Snapshot, kept: &SnapshotDiff) {
        let before = Before {
            offers: std::mem::take(&mut self.offers),
            free: std::mem::take(&mut self.free_at_first),
            full: std::mem::take(&mut self.full_at_first),
        };
        self.offers.reserve(snapshot.len());
        self.free_at_first.reserve(before.free.len());
        self.full_at_first = Bits::none(snapshot.len());
        self.open_rows = OnceLock::new();
        for run in kept.runs().filter(|run| run.whole && run.before().end <= before.offers.len()) {
            self.count_each(snapshot, run.now().start);
            self.take_over(&before, run);
        }
        self.count_each(snapshot, snapshot.len());
        self.shared_by.clear();
        // Seats are shared in few pools.
        if self.some_shared {
            let offers = self.offers.iter().zip(snapshot.list().iter());
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
        for place in self.offers.len()..end {
            let first = self.free_at_first.len();
            let own = snapshot.ad_at(place).and_then(PoolAd::offer).map(|offer| self.stocked(offer));
            self.offers.push(own);
            self.some_shared |= own.is_some_and(|own| own.shared);
            // Whoever asks takes something of everything.
            let left = self.free_at_first.get(first..).unwrap_or_default();
            if own.is_some_and(|own| !own.shared) && left.iter().any(|free| *free < 1) {
                self.full_at_first.set(place, true);
            }
        }
    }

    /// Takes over what was counted of offers that are as they were.
    fn take_over(&mut self, before: &Before, run: DiffRun) {
        let known = before.offers.get(run.before()).unwrap_or_default();
        let amounts = |own: &OfferState| as_usize(own.first)..as_usize(own.first) + as_usize(own.amounts);
        let from = known.iter().flatten().next().map_or(0, |own| amounts(own).start);
        let to = known.iter().rev().flatten().next().map_or(from, |own| amounts(own).end);
        let first = as_u32(self.free_at_first.len());
        let moved = |own: OfferState| OfferState { first: own.first - as_u32(from) + first, ..own };
        self.offers.extend(known.iter().map(|own| own.map(moved)));
        self.free_at_first.extend_from_slice(before.free.get(from..to).unwrap_or_default());
        let (was, is) = (run.before(), run.now());
        before.full.each_among(was.clone(), |place| self.full_at_first.set(place - was.start + is.start, true));
    }

    /// Counts one offer.
    fn stocked(&mut self, offer: &Offer) -> OfferState {
        let first = as_u32(self.free_at_first.len());
        let free = offer.capacity.iter().map(|(name, all)| all.saturating_sub(offer.usage.used(name)));
        self.free_at_first.extend(free);
        let amounts = as_u32(self.free_at_first.len()) - first;
        let (terms, consent) = (self.terms_of(offer), self.consent_of(offer));
        OfferState { terms, first, amounts, shared: offer.shared_by.is_some(), open: offer.open, consent }
    }

    /// What owners say of who holds a seat together.
    pub(crate) fn shared_by(&self) -> &[Expr] {
        &self.shared_by
    }

    fn consent_of(&mut self, offer: &Offer) -> u32 {
        if let Some(id) = self.consent_ids.get(&offer.consent) {
            return *id;
        }
        let id = as_u32(self.consents.len());
        self.consents.push(offer.consent.clone());
        self.consent_ids.insert(offer.consent.clone(), id);
        id
    }

    /// The rows of ads whose seats may be shared.
    pub(crate) fn shared(&self, table: &Table) -> Bits {
        if self.shared_by.is_empty() {
            return Bits::none(table.rows.len());
        }
        let stocked = |row: usize| self.offers.get(table.rows.get(row)?.place()).copied().flatten();
        Bits::of(table.rows.len(), |row| table.live.get(row) && stocked(row).is_some_and(|own| own.shared))
    }

    /// The rows that a root of a namespace may be bound to now.
    pub(crate) fn admitted(&self, table: &Table, namespace: &str) -> Bits {
        let admits = self.admits(namespace);
        self.admitted_where(table, &admits)
    }

    /// By the number of a consent: whether it admits roots of a namespace.
    pub(crate) fn admits(&self, namespace: &str) -> Vec<bool> {
        self.consents.iter().map(|consent| consent.admits(namespace)).collect()
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
        self.offers.get(table.rows.get(row)?.place()).copied().flatten()
    }

    fn consents_to(&self, row: usize, table: &Table, admits: &[bool]) -> bool {
        self.stocked_row(row, table).is_some_and(|own| admits.get(as_usize(own.consent)) == Some(&true))
    }

    /// The rows of ads of which nothing is left for anybody.
    pub(crate) fn full_rows(&self, table: &Table) -> Bits {
        let mut rows = Bits::none(table.rows.len());
        for place in self.full.iter().map(as_usize) {
            table.rows_of(place).for_each(|row| rows.set(row, true));
        }
        rows
    }

    /// Whether nothing is left of the ad at a place for anybody. Shared seats are never full.
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
        self.offers.get(place).copied().flatten().map(|own| own.terms)
    }

    /// All resources that some offer has, in small letters, each with the attribute by which a root may ask for it.
    pub(crate) fn resources(&self) -> Resources {
        let names = self.terms.iter().flat_map(|terms| terms.capacity.keys().map(|name| name.to_ascii_lowercase()));
        let names: BTreeSet<String> = names.collect();
        names.into_iter().map(|name| (Name::new(format!("Request{name}")), name)).collect()
    }

    /// The number of what is asked.
    pub(crate) fn ask_id(&mut self, asks: &Asks) -> u32 {
        if let Some(id) = self.ask_ids.get(asks) {
            return *id;
        }
        let id = as_u32(self.asks.len());
        self.asks.push(asks.clone());
        self.ask_ids.insert(asks.clone(), id);
        id
    }

    /// What an ask takes of the offer at a place, if the offer ever has it.
    pub(crate) fn take_of(&mut self, ask: u32, place: usize) -> Option<&Amounts> {
        let own = self.offers.get(place).copied().flatten()?;
        self.take(ask, own.terms)
    }

    fn take(&mut self, ask: u32, terms: u32) -> Option<&Amounts> {
        let (ask, terms) = (as_usize(ask), as_usize(terms));
        if self.takes.len() <= ask {
            self.takes.resize_with(ask + 1, Vec::new);
        }
        let by_terms = self.takes.get_mut(ask)?;
        if by_terms.len() <= terms {
            by_terms.resize_with(terms + 1, || None);
        }
        let (asks, terms_of) = (self.asks.get(ask)?, self.terms.get(terms)?);
        by_terms.get_mut(terms)?.get_or_insert_with(|| takes(asks, terms_of)).as_ref()
    }

    /// Whether an ask fits into what is free.
    pub(crate) fn fits(&mut self, ask: u32, place: usize) -> bool {
        let Some(OfferState { terms, first, .. }) = self.offers.get(place).copied().flatten() else { return false };
        let known = self.takes.get(as_usize(ask)).and_then(|by_terms| by_terms.get(as_usize(terms)));
        if !matches!(known, Some(Some(_))) {
            self.take(ask, terms);
        }
        let known = self.takes.get(as_usize(ask)).and_then(|by_terms| by_terms.get(as_usize(terms)));
        let Some(Some(Some(take))) = known else { return false };
        let Some(free) = self.free.get(as_usize(first)..as_usize(first) + take.amounts.len()) else { return false };
        take.amounts.iter().zip(free).all(|(amount, free)| amount <= free)
    }

    /// Takes what an ask takes; does nothing and says so if that must be worked out from all that is taken: of seats that are
    /// shared, and where amounts are not in the order of the capacity.
    pub(crate) fn charge(&mut self, id: AdId, ask: &Ask) -> bool {
        let Some(own) = self.offers.get(id.place()).copied().flatten() else { return true };
        let Some(terms) = self.terms.get_mut(as_usize(own.terms)) else { return true };
        if own.shared || ask.share.is_some() || !terms.names(&ask.allocation) {
            return false;
        }
        let mut full = false;
        for (free, amount) in self.free.iter_mut().skip(as_usize(own.first)).zip(ask.allocation.values()) {
            *free = free.saturating_sub(*amount);
            full |= *free < 1;
        }
        if full {
            self.full.set(id.place(), true);
        }
        true
    }

    /// Looks again at what is free of an offer of which something was taken.
    pub(crate) fn recount(&mut self, snapshot: &Snapshot, id: AdId) {
        let Some(own) = self.offers.get(id.place()).copied().flatten() else { return };
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

impl OfferTerms {
    /// Whether amounts are those of the capacity's names, one for each.
    fn names(&mut self, takes: &Res) -> bool {
        if self.taken_last.as_ref().is_some_and(|last| last.is(takes)) {
            return true;
        }
        let same = self.capacity.keys().eq(takes.keys());
        if same {
            self.taken_last = Some(takes.clone());
        }
        same
    }
}

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
            (None, None) => match (terms.default_request.get(name), name.as_str()) {
                (Some(default), _) => *default,
                (None, "seats" | "slots") => 1,
                (None, _) => *all,
            },
        };
        res.insert(name.clone(), amount);
    }
    let gives = !res.is_empty() && res.values().all(|amount| *amount >= 1);
    let there = terms.capacity.iter().zip(res.values()).all(|((_, all), amount)| amount <= all);
    let amounts = res.values().copied().collect();
    (gives && there).then_some(Amounts { ask: Ask { allocation: res, share: None }, amounts })
}

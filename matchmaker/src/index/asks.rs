//! Requests into amounts that can be compared with what is free.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Expr, Name};
use foldhash::fast::RandomState;

use super::memo::Trace;
use crate::capacity::{Ask, Misfit, Res};
use crate::model::{AdId, Offer, PoolAd, Snapshot};
use crate::ports::{Ports, Rules};
use crate::table::{Bits, Cell, Table, as_u32, as_usize};
use crate::term::{Flattener, Side, Term};

/// What a port asks of whoever is bound to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asks {
    /// Nothing is counted.
    Nothing,
    /// By resource name, in small letters.
    Amounts {
        /// The port's `Request`.
        requested: Vec<(String, i64)>,
        /// The attributes `RequestCpus` and its like, for each resource of the pool; none where it is no amount.
        attributes: Vec<(String, Option<i64>)>,
    },
    /// No offer can give it: an amount is no integer of at least 1.
    Impossible,
    /// It depends on the partner.
    Opaque,
}

/// What one kind of offer has, and what is taken of it if nothing is said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Terms {
    capacity: Res,
    default_request: Res,
}

/// Resources by the attribute that asks for them: `RequestCpus` for `cpus`.
pub(crate) type Resources = Vec<(Name, String)>;

/// What is free of each offer of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    terms: Vec<Terms>,
    ids: HashMap<Terms, u32, RandomState>,
    /// By place in the snapshot: its terms, and where its amounts begin.
    offers: Vec<Option<(u32, u32)>>,
    free: Vec<i64>,
    /// The ads that were counted, and what was free of them before anything was taken.
    counted: Arc<Vec<Arc<PoolAd>>>,
    free_at_first: Vec<i64>,
    full_at_first: Bits,
    /// By ask, then by terms: what is taken, once it is worked out.
    takes: Vec<Vec<Option<Option<Take>>>>,
    asks: Vec<Asks>,
    ask_ids: HashMap<Asks, u32, RandomState>,
    /// Ads of which nothing is left for anybody, or that are held whole, by place.
    full: Bits,
}

/// What an ask takes of an offer: by name, and in the order of the offer's capacity.
#[derive(Debug)]
pub(crate) struct Take {
    pub(crate) ask: Ask,
    amounts: Vec<i64>,
}

impl Stock {
    /// Counts what is free now.
    pub(crate) fn count(&mut self, snapshot: &Snapshot) {
        if !Arc::ptr_eq(&snapshot.ads, &self.counted) {
            self.count_all(snapshot);
            self.counted = Arc::clone(&snapshot.ads);
        }
        self.free.clone_from(&self.free_at_first);
        self.full.clone_from(&self.full_at_first);
        for id in &snapshot.consumed {
            self.full.set(id.place(), true);
        }
    }

    /// What is free before anything is taken in a cycle.
    fn count_all(&mut self, snapshot: &Snapshot) {
        self.offers.clear();
        self.free_at_first.clear();
        self.full_at_first = Bits::none(snapshot.len());
        let mut last: Option<(&Offer, u32)> = None;
        for (id, ad) in snapshot.ads() {
            let Some(offer) = ad.offer() else {
                self.offers.push(None);
                continue;
            };
            let like =
                |last: &Offer| last.capacity.is(&offer.capacity) && last.default_request.is(&offer.default_request);
            let terms = match last {
                Some((last, terms)) if like(last) => terms,
                _ => self.terms_of(offer),
            };
            last = Some((offer, terms));
            let first = self.free_at_first.len();
            self.offers.push(Some((terms, as_u32(first))));
            let free = offer.capacity.iter().map(|(name, all)| all.saturating_sub(offer.usage.used(name)));
            self.free_at_first.extend(free);
            // Whoever asks takes something of everything.
            if offer.shared_by.is_none() && self.free_at_first.iter().skip(first).any(|free| *free < 1) {
                self.full_at_first.set(id.place(), true);
            }
        }
    }

    /// Whether nothing is left of the ad at a place for anybody. Shared seats are never full.
    pub(crate) fn is_full(&self, place: usize) -> bool {
        self.full.get(place)
    }

    /// Holds an ad whole.
    pub(crate) fn consume(&mut self, place: usize) {
        self.full.set(place, true);
    }

    fn terms_of(&mut self, offer: &Offer) -> u32 {
        let terms = Terms { capacity: offer.capacity.clone(), default_request: offer.default_request.clone() };
        let next = as_u32(self.terms.len());
        let id = *self.ids.entry(terms.clone()).or_insert(next);
        if id == next {
            self.terms.push(terms);
        }
        id
    }

    /// The number of what the offer at a place has in all: equal numbers can meet the same requests.
    pub(crate) fn terms_at(&self, place: usize) -> Option<u32> {
        self.offers.get(place).copied().flatten().map(|(terms, _)| terms)
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
    pub(crate) fn take_of(&mut self, ask: u32, place: usize) -> Option<&Take> {
        let (terms, _) = self.offers.get(place).copied().flatten()?;
        self.take(ask, terms)
    }

    fn take(&mut self, ask: u32, terms: u32) -> Option<&Take> {
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
        let Some((terms, first)) = self.offers.get(place).copied().flatten() else { return false };
        let known = self.takes.get(as_usize(ask)).and_then(|by_terms| by_terms.get(as_usize(terms)));
        if !matches!(known, Some(Some(_))) {
            self.take(ask, terms);
        }
        let known = self.takes.get(as_usize(ask)).and_then(|by_terms| by_terms.get(as_usize(terms)));
        let Some(Some(Some(take))) = known else { return false };
        let Some(free) = self.free.get(as_usize(first)..as_usize(first) + take.amounts.len()) else { return false };
        take.amounts.iter().zip(free).all(|(amount, free)| amount <= free)
    }

    /// Looks again at what is free of an offer of which something was taken.
    pub(crate) fn recount(&mut self, snapshot: &Snapshot, id: AdId, ask: &Ask) {
        let Some((terms, first)) = self.offers.get(id.place()).copied().flatten() else { return };
        let Some(offer) = snapshot.ad(id).and_then(PoolAd::offer) else { return };
        if offer.shared_by.is_none() && self.subtract(terms, first, ask) {
            let left = self.free.get(as_usize(first)..as_usize(first) + offer.capacity.len()).unwrap_or_default();
            if left.iter().any(|free| *free < 1) {
                self.full.set(id.place(), true);
            }
            return;
        }
        let usage = snapshot.usage(id, offer);
        for ((name, all), free) in offer.capacity.iter().zip(self.free.iter_mut().skip(as_usize(first))) {
            *free = all.saturating_sub(usage.used(name));
            if *free < 1 && offer.shared_by.is_none() {
                self.full.set(id.place(), true);
            }
        }
    }
}

impl Stock {
    /// Takes amounts from what is free; does nothing and says so if they are not in the order of the capacity.
    fn subtract(&mut self, terms: u32, first: u32, ask: &Ask) -> bool {
        let Some(terms) = self.terms.get(as_usize(terms)) else { return false };
        if ask.share.is_some() || !terms.capacity.keys().eq(ask.takes.keys()) {
            return false;
        }
        for (free, amount) in self.free.iter_mut().skip(as_usize(first)).zip(ask.takes.values()) {
            *free = free.saturating_sub(*amount);
        }
        true
    }
}

fn takes(asks: &Asks, terms: &Terms) -> Option<Take> {
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
    (gives && there).then_some(Take { ask: Ask { takes: res, share: None }, amounts })
}

/// Why an offer can never meet what is asked.
pub(crate) fn misfit(asks: &Asks, offer: &Offer) -> Misfit {
    let Asks::Amounts { requested, attributes } = asks else { return Misfit::NoAmount };
    let named = |name: &str| requested.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let offered = |name: &str| offer.capacity.keys().any(|own| own.eq_ignore_ascii_case(name));
    let read = |name: &str| attributes.iter().any(|(own, amount)| own.eq_ignore_ascii_case(name) && amount.is_none());
    if requested.iter().any(|(name, _)| !offered(name)) {
        return Misfit::NotOffered;
    }
    match offer.capacity.keys().any(|name| !named(name) && read(name)) {
        true => Misfit::NoAmount,
        false => Misfit::TooMuch,
    }
}

/// What a port of a root asks.
pub(crate) fn asks(
    table: &mut Table,
    root: &Ports,
    port: usize,
    resources: &Resources,
    rules: Rules,
    trace: &mut Trace,
) -> Asks {
    if rules == Rules::Paper {
        return Asks::Nothing;
    }
    let mut flattener = Flattener::new(table, root, port, true);
    let asks = asks_of(&mut flattener, resources);
    trace.add(std::mem::take(&mut flattener.trace));
    asks
}

fn asks_of(flattener: &mut Flattener<'_>, resources: &Resources) -> Asks {
    let (root, port) = (flattener.root, flattener.port);
    let Some(own) = root.list.get(port) else { return Asks::Opaque };
    let requested = match &own.request {
        None => Ok(Vec::new()),
        Some(request) => requested(flattener, request),
    };
    let requested = match requested {
        Ok(requested) => requested,
        Err(asks) => return asks,
    };
    let mut attributes = Vec::new();
    for (name, resource) in resources {
        let Some((expr, side)) = flattener.requester(name) else { continue };
        match flattener.term(expr, side) {
            Some(Term::Known(cell)) => attributes.push((resource.clone(), amount(cell))),
            _ => return Asks::Opaque,
        }
    }
    Asks::Amounts { requested, attributes }
}

/// The amounts of a `Request`: of a nested ad whose attributes do not read each other.
fn requested(flattener: &mut Flattener<'_>, request: &Expr) -> Result<Vec<(String, i64)>, Asks> {
    let Some(ad) = request.as_ad() else {
        return match flattener.term(request, Side::Root) {
            Some(Term::Known(cell)) if cell != Cell::Open => Err(Asks::Impossible),
            _ => Err(Asks::Opaque),
        };
    };
    let own = |name: &Name| ad.place(name).is_some();
    let mut amounts = Vec::new();
    for (name, expr) in ad.iter() {
        if classad::references(expr).iter().flatten().any(own) {
            return Err(Asks::Opaque);
        }
        match flattener.term(expr, Side::Root) {
            Some(Term::Known(Cell::Open)) => return Err(Asks::Opaque),
            Some(Term::Known(cell)) => {
                amounts.push((name.as_str().to_ascii_lowercase(), amount(cell).ok_or(Asks::Impossible)?));
            }
            _ => return Err(Asks::Opaque),
        }
    }
    Ok(amounts)
}

fn amount(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Int(amount) if amount >= 1 => Some(amount),
        _ => None,
    }
}

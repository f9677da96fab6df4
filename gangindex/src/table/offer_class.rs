//! Rows that ask the same of their partners: one constraint, one rank, and the same names found in the same places.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Ad, Expr, Kind, Name};
use foldhash::fast::RandomState;
use matchmaker::{PoolAd, Ports};

use super::bits::Bits;
use super::reads::{ExprId, Exprs};

/// What rows of one offer class have in common.
#[derive(Debug)]
pub(crate) struct OfferClass {
    /// One of them, or one that was: its ports and the port it is bound through.
    pub(crate) example: (Arc<Ports>, usize),
    /// Its rows.
    pub(crate) rows: Bits,
    /// The namespace of the ad that was the first of them.
    pub(crate) owner: Arc<str>,
    /// The ad has other ports, to be bound when this one is.
    pub(crate) deep: bool,
    /// What it may read of its partner is not written in it, or is the whole partner.
    pub(crate) reflective: bool,
    /// It reads `Members`.
    pub(crate) members: bool,
    /// The names that it reads of its partner.
    pub(crate) reads: BTreeSet<Name>,
    count: usize,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ClassKey {
    label: Option<Name>,
    constraint: Option<ExprId>,
    rank: Option<ExprId>,
    /// No parent can bind the ad through this port.
    is_counted: bool,
    /// Where each bare name of the two stands.
    presence: Vec<(bool, bool)>,
    /// The ad's other expressions, because of what they read.
    others: Vec<ExprId>,
    /// Of an ad with several ports, all of them.
    ports: Vec<ExprId>,
    via: usize,
}

/// All offer classes of a pool.
#[derive(Debug, Default)]
pub(crate) struct OfferClasses {
    /// By number.
    pub(crate) list: Vec<OfferClass>,
    ids: HashMap<ClassKey, usize, RandomState>,
    /// The same by identity, see [`look`], with an ad that keeps the identities from being taken by others. Without it, a first cycle over
    /// `gang --n 4000 --density 1 --selectivity 8` takes 100 instead of 88 million instructions.
    looks: HashMap<Box<[usize]>, (Arc<Ports>, usize), RandomState>,
    look: Vec<usize>,
}

/// What an offer class takes beside its rows, about.
const TEMPLATE_BYTES: usize = 1024;

/// How many looks are remembered before all are forgotten.
const LOOKS_MAX: usize = 50_000;

impl OfferClasses {
    /// The offer class of a row, which joins it.
    pub(crate) fn of(&mut self, ad: &PoolAd, via: usize, row: usize, exprs: &mut Exprs) -> usize {
        let ports = &ad.ports;
        look(ports, via, &mut self.look);
        let id = match self.looks.get(self.look.as_slice()) {
            Some((_, id)) => *id,
            None => {
                let id = self.id(ad, via, exprs);
                if self.looks.len() >= LOOKS_MAX {
                    self.looks.clear();
                }
                self.looks.insert(self.look.as_slice().into(), (Arc::clone(ports), id));
                id
            }
        };
        if let Some(offer_class) = self.list.get_mut(id) {
            offer_class.rows.grow(row + 1);
            offer_class.rows.set(row, true);
            offer_class.count += 1;
        }
        id
    }

    fn id(&mut self, ad: &PoolAd, via: usize, exprs: &mut Exprs) -> usize {
        let key = key(&ad.ports, via, exprs);
        let next = self.list.len();
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        self.list.push(offer_class(ad, via, &key, exprs));
        self.ids.insert(key, next);
        next
    }

    /// Takes a row out of its offer class.
    pub(crate) fn leave(&mut self, id: usize, row: usize) {
        if let Some(offer_class) = self.list.get_mut(id) {
            offer_class.rows.set(row, false);
            offer_class.count = offer_class.count.saturating_sub(1);
        }
    }

    /// Makes room for more rows.
    pub(crate) fn grow(&mut self, rows: usize) {
        for offer_class in &mut self.list {
            offer_class.rows.grow(rows);
        }
    }

    /// What offer classes take in memory, about, those without rows, too.
    pub(crate) fn bytes(&self) -> usize {
        let rows = self.list.last().map_or(0, |offer_class| offer_class.rows.bytes());
        self.list.len() * (TEMPLATE_BYTES + rows)
    }

    /// The offer classes that have rows.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, &OfferClass)> {
        self.list.iter().enumerate().filter(|(_, offer_class)| offer_class.count > 0)
    }
}

/// Attributes of a port, or of an ad with an implicit one, that are looked at in their own way.
const TERMS: [&str; 6] = ["Ports", "Constraint", "Requirements", "Rank", "Label", "Request"];

/// What an ad looks like from the outside: its names, where it has expressions and which, and its terms. Ads read together
/// share these, so that those that look alike are alike in all that an offer class is made of.
fn look(ports: &Ports, via: usize, look: &mut Vec<usize>) {
    look.clear();
    look.extend([via, ports.body.shape_id(), usize::from(ports.implicit)]);
    if let Some(port) = ports.list.get(via).filter(|_| ports.implicit) {
        let terms = [&port.constraint, &port.rank, &port.request];
        look.extend(terms.map(|term| term.as_ref().map_or(0, Expr::id)));
    }
    for (place, (_, expr)) in ports.body.iter().enumerate() {
        if !matches!(expr.kind(), Kind::Literal(_)) {
            look.extend([place, expr.id()]);
        }
    }
}

fn key(ports: &Arc<Ports>, via: usize, exprs: &mut Exprs) -> ClassKey {
    let port = ports.list.get(via);
    let constraint = port.and_then(|port| port.constraint.as_ref()).map(|expr| exprs.id(expr));
    let rank = port.and_then(|port| port.rank.as_ref()).map(|expr| exprs.id(expr));
    let mut presence = Vec::new();
    for id in [constraint, rank].into_iter().flatten() {
        let reads = exprs.reads(id);
        let in_port = |name: &Name| !ports.implicit && port.is_some_and(|port| port.attributes.place(name).is_some());
        presence.extend(reads.bare.iter().map(|name| (in_port(name), ports.body.place(name).is_some())));
        presence.extend(reads.selected.iter().map(|(name, _)| (in_port(name), ports.body.place(name).is_some())));
    }
    let mut others = Vec::new();
    gather(&ports.body, exprs, &mut others);
    let deep = ports.list.len() > 1;
    if let Some(port) = port.filter(|_| !ports.implicit) {
        gather(&port.attributes, exprs, &mut others);
    }
    others.sort_unstable();
    others.dedup();
    let whole = |port: &matchmaker::Port| Expr::ad(port.attributes.clone());
    let all = if deep { ports.list.iter().map(|port| exprs.id(&whole(port))).collect() } else { Vec::new() };
    let label = port.filter(|_| !ports.implicit).map(|port| port.label.clone());
    let is_counted = port.is_some_and(|port| port.set.is_some());
    ClassKey { label, constraint, rank, is_counted, presence, others, ports: all, via }
}

/// The expressions of an ad that are no literals.
fn gather(ad: &Ad, exprs: &mut Exprs, found: &mut Vec<ExprId>) {
    for (name, expr) in ad.iter() {
        if !matches!(expr.kind(), Kind::Literal(_)) && !TERMS.iter().any(|term| name == term) {
            found.push(exprs.id(expr));
        }
    }
}

fn offer_class(ad: &PoolAd, via: usize, key: &ClassKey, exprs: &Exprs) -> OfferClass {
    let ports = &ad.ports;
    let deep = !key.ports.is_empty();
    let mut offer_class = OfferClass {
        example: (Arc::clone(ports), via),
        rows: Bits::default(),
        owner: Arc::from(ad.key.namespace.as_str()),
        deep,
        reflective: false,
        members: false,
        reads: BTreeSet::new(),
        count: 0,
    };
    let labels: Vec<&Name> = match (ports.implicit, deep) {
        (true, _) => Vec::new(),
        (false, true) => ports.list.iter().map(|port| &port.label).collect(),
        (false, false) => key.label.iter().collect(),
    };
    let partner = |name: &Name| match ports.implicit {
        true => name == "other" || name == "target",
        false => labels.contains(&name),
    };
    for id in key.constraint.iter().chain(&key.rank).chain(&key.others).chain(&key.ports) {
        let reads = exprs.reads(*id);
        offer_class.reflective |= reads.reflective;
        for name in &reads.bare {
            offer_class.members |= name == "members";
            // A partner taken as a whole may be looked at in any way.
            offer_class.reflective |= partner(name);
            if ports.implicit && ports.body.place(name).is_none() {
                offer_class.reads.insert(name.clone());
            }
        }
        for (base, name) in &reads.selected {
            offer_class.members |= name == "members";
            if partner(base) {
                offer_class.reads.insert(name.clone());
            }
            // `a.b` of an own ad or of nothing: what is not found in it is looked for around it.
            if ports.implicit && !partner(base) {
                offer_class.reads.extend([base.clone(), name.clone()]);
            }
        }
    }
    offer_class
}

//! What explanations of one cycle share: nothing changes any more while they are made.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use classad::Name;
use foldhash::fast::RandomState;
use matchmaker::{AdId, PoolAd, Snapshot};

use super::join_memo::JoinMemo;
use super::sorted::{SortedRows, WithNumber};
use crate::index::asks::Resources;
use crate::index::preds::Answer;
use crate::search::candidates::Known;
use crate::table::{Bits, as_usize};
use crate::term::CompiledExpr;

/// Offers whose constraint comes to the same for every root: offer classes that differ in nothing that it names.
#[derive(Debug)]
pub(crate) struct Alike {
    /// One of their offer classes.
    pub(crate) offer_class: usize,
    /// Their rows.
    pub(crate) rows: Bits,
    /// What they may read of a root is not written in them.
    pub(crate) reflective: bool,
}

/// Rows by what their ads are.
pub(crate) struct RowSets {
    /// Rows whose seats may be shared.
    pub(crate) shared: Bits,
    /// Rows whose ad has other ports.
    pub(crate) deep: Bits,
    /// Rows of ports that are not counted.
    pub(crate) entries: Bits,
    /// One row of each ad: that of the first port through which it can be bound.
    pub(crate) firsts: Bits,
    /// Those of ads whose port before it is counted: whether they are looked at depends on their other partners.
    pub(crate) late: Bits,
    /// Rows that could give something, whatever is asked.
    pub(crate) giving: Bits,
    /// Rows of offers whose values may be told to every root.
    disclosed: Bits,
}

/// The pool after a cycle.
pub(crate) struct Pool {
    /// Its ads, without roots.
    pub(crate) snapshot: Snapshot,
    /// All resources that some offer has.
    pub(crate) resources: Resources,
    /// Offers that ask the same of a root, those with the first ad first.
    pub(crate) alike: Vec<Alike>,
    pub(crate) rows: RowSets,
    /// Rows with equal capacity, and one of them.
    capacities: Vec<(usize, Bits)>,
    admitted: BTreeMap<String, Bits>,
    homes: BTreeMap<String, Bits>,
    pub(crate) answers: Answers,
    /// The joins computed so far.
    pub(crate) met: JoinMemo,
    fits: HashMap<u32, Bits, RandomState>,
    free: HashMap<u32, Bits, RandomState>,
}

/// Which rows conditions are true of. Kept is what the evaluator has answered row by row; comparisons with numbers are looked up in the
/// order of their column. Others are answered soon enough, or remembered with those of the search.
#[derive(Default)]
pub(crate) struct Answers {
    slow: HashMap<CompiledExpr, Answer, RandomState>,
    columns: HashMap<u32, Sorted, RandomState>,
}

/// What there is of the order of a column.
enum Sorted {
    /// So many comparisons were answered without it.
    Not(usize),
    /// It is there, if the column can be put in order.
    Done(Option<Rc<SortedRows>>),
}

/// How many answers are kept.
const ANSWERS_MAX: usize = 1024;
/// How many comparisons are answered without the order of their column, and how many columns are put in order.
const UNSORTED_MAX: usize = 4;
const SORTED_MAX: usize = 64;

impl Answers {
    /// The rows of which a condition is true.
    pub(crate) fn of(&mut self, term: &CompiledExpr, known: &mut Known<'_>) -> Answer {
        if let Some(answer) = self.slow.get(term) {
            return answer.clone();
        }
        if let Some((column, comparison)) = WithNumber::of(term)
            && let Some(sorted) = self.sorted(column, known)
        {
            return Answer { yes: sorted.holds(comparison), open: None };
        }
        let answer = known.preds.all(term.clone(), known.table);
        if term.is_slow() && self.slow.len() < ANSWERS_MAX {
            self.slow.insert(term.clone(), answer.clone());
        }
        answer
    }

    /// The rows of a column in the order of its numbers, if there are many comparisons with it, and if it has an order.
    fn sorted(&mut self, column: u32, known: &Known<'_>) -> Option<Rc<SortedRows>> {
        let count = self.columns.len();
        let own = self.columns.entry(column).or_insert(Sorted::Not(0));
        match own {
            Sorted::Done(sorted) => return sorted.clone(),
            Sorted::Not(times) if *times < UNSORTED_MAX || count > SORTED_MAX => {
                *times += 1;
                return None;
            }
            Sorted::Not(_) => {}
        }
        let sorted = known.table.columns.get(column).and_then(SortedRows::of).map(Rc::new);
        *own = Sorted::Done(sorted.clone());
        sorted
    }

    /// The same if it is there.
    pub(crate) fn known_order(&self, column: u32) -> Option<&SortedRows> {
        match self.columns.get(&column)? {
            Sorted::Done(sorted) => sorted.as_deref(),
            Sorted::Not(_) => None,
        }
    }
}

impl Pool {
    /// The pool of a snapshot.
    pub(crate) fn of(snapshot: &Snapshot, known: &mut Known<'_>) -> Pool {
        let table = &*known.table;
        let rows = table.rows.len();
        let place = |row: usize| table.rows.get(row).map_or(usize::MAX, |row| row.place());
        let offer = |row: usize| snapshot.ad(AdId::at(place(row))).and_then(PoolAd::offer);
        let live = |row: usize| table.live.get(row);
        let shared = known.availability.shared(table);
        let deep = Bits::of(rows, |row| live(row) && table.rows.get(row).is_some_and(|row| row.has_others()));
        let entry = |row: usize| snapshot.ad(AdId::at(place(row))).and_then(|ad| ad.ports.entries().next());
        let is_first = |row: usize| {
            table.rows.get(row).is_some_and(|own| entry(row).is_some_and(|entry| entry == own.child_port()))
        };
        let is_entry = |row: usize| {
            let port = snapshot.ad(AdId::at(place(row))).zip(table.rows.get(row));
            port.and_then(|(ad, row)| ad.ports.list.get(row.child_port())).is_some_and(|port| port.set.is_none())
        };
        let entries = Bits::of(rows, |row| live(row) && is_entry(row));
        let firsts = Bits::of(rows, |row| live(row) && is_first(row));
        let late = Bits::of(rows, |row| firsts.get(row) && entry(row) != Some(0));
        let gives = |row: usize| {
            let capacity = offer(row).map(|offer| &offer.capacity);
            capacity.is_some_and(|capacity| !capacity.is_empty() && capacity.values().all(|amount| *amount >= 1))
        };
        let giving = Bits::of(rows, |row| live(row) && gives(row));
        let disclosed = Bits::of(rows, |row| live(row) && offer(row).is_some_and(|offer| offer.disclosed));
        let mut capacities: BTreeMap<u32, (usize, Bits)> = BTreeMap::new();
        for row in table.live.iter() {
            let place = place(as_usize(row));
            let Some(terms) = known.availability.terms_at(place) else { continue };
            let equal = capacities.entry(terms).or_insert_with(|| (place, Bits::none(rows)));
            equal.1.set(as_usize(row), true);
        }
        let alike = alike(known);
        Pool {
            snapshot: snapshot.without_roots(),
            resources: known.availability.resources(),
            alike,
            rows: RowSets { shared, deep, entries, firsts, late, giving, disclosed },
            capacities: capacities.into_values().collect(),
            admitted: BTreeMap::new(),
            homes: BTreeMap::new(),
            answers: Answers::default(),
            met: JoinMemo::default(),
            fits: HashMap::default(),
            free: HashMap::default(),
        }
    }

    /// The rows that a root of this namespace may be bound to.
    pub(crate) fn admitted(&mut self, namespace: &str, known: &Known<'_>) -> Bits {
        let entries = &self.rows.entries;
        let rows = || {
            let mut rows = known.availability.admitted(known.table, namespace);
            rows.and(entries);
            rows
        };
        self.admitted.entry(namespace.to_owned()).or_insert_with(rows).clone()
    }

    /// The rows of ads of this namespace.
    pub(crate) fn home(&mut self, namespace: &str, known: &Known<'_>) -> Bits {
        let (table, snapshot) = (&*known.table, &self.snapshot);
        let place = |row: usize| table.rows.get(row).map_or(usize::MAX, |row| row.place());
        let is_home = |row: usize| snapshot.ad(AdId::at(place(row))).is_some_and(|ad| ad.key.namespace == namespace);
        let rows = || Bits::of(table.rows.len(), |row| table.live.get(row) && is_home(row));
        self.homes.entry(namespace.to_owned()).or_insert_with(rows).clone()
    }

    /// The rows of offers whose values may be told to a root of this namespace.
    pub(crate) fn disclosed(&mut self, namespace: &str, known: &Known<'_>) -> Bits {
        let mut rows = self.home(namespace, known);
        rows.or(&self.rows.disclosed);
        rows
    }

    /// The rows that have what is asked, when nothing is taken.
    pub(crate) fn fits_when_free(&mut self, ask: u32, known: &mut Known<'_>) -> Bits {
        if let Some(fits) = self.fits.get(&ask) {
            return fits.clone();
        }
        let mut fits = Bits::none(known.table.rows.len());
        for (place, rows) in &self.capacities {
            if known.availability.take_of(ask, *place).is_some() {
                fits.or(rows);
            }
        }
        // What every root asks differently is not kept for all of them.
        if self.fits.len() < KEPT_MAX {
            self.fits.insert(ask, fits.clone());
        }
        fits
    }

    /// The rows among these that have what is asked now.
    pub(crate) fn free_now(&mut self, ask: u32, rows: &Bits, known: &mut Known<'_>) -> Bits {
        let room = |row: u32, known: &mut Known<'_>| {
            let place = known.table.rows.get(as_usize(row)).map_or(usize::MAX, |row| row.place());
            known.availability.fits(ask, place)
        };
        if !rows.any() {
            return rows.clone();
        }
        if self.free.len() < KEPT_MAX && !self.free.contains_key(&ask) {
            let all = known.table.live.clone();
            let free = Bits::of(all.len(), |row| all.get(row) && room(crate::table::as_u32(row), known));
            self.free.insert(ask, free);
        }
        let mut free = rows.clone();
        match self.free.get(&ask) {
            Some(known) => free.and(known),
            None => {
                for row in rows.iter().filter(|row| !room(*row, known)) {
                    free.set(as_usize(row), false);
                }
            }
        }
        free
    }
}

/// For how many different requests the rows that can meet them are kept.
const KEPT_MAX: usize = 256;

fn alike(known: &mut Known<'_>) -> Vec<Alike> {
    let table = &mut *known.table;
    let mut places: HashMap<_, usize, RandomState> = HashMap::default();
    let mut found: Vec<(Option<u32>, Alike)> = Vec::new();
    let used: Vec<usize> = table.offer_classes.used().map(|(id, _)| id).collect();
    for offer_class in used {
        let Some(own) = table.offer_classes.list.get(offer_class) else { continue };
        let (ports, via) = &own.example;
        let Some(port) = ports.list.get(*via) else { continue };
        let constraint = port.constraint.as_ref().map(|expr| table.exprs.id(expr));
        let reads = constraint.map(|id| table.exprs.reads(id)).unwrap_or_default();
        let names = reads.bare.iter().chain(reads.selected.iter().map(|(base, _)| base));
        let stands = |name: &Name| (port.attributes.place(name).is_some(), ports.body.place(name).is_some());
        let presence: Vec<(bool, bool)> = names.map(stands).collect();
        let alone = own.deep.then_some(offer_class);
        let key = (alone, ports.implicit, port.label.clone(), constraint, presence, own.reflective);
        let next = found.len();
        let place = *places.entry(key).or_insert(next);
        match found.get_mut(place) {
            Some((_, alike)) => alike.rows.or(&own.rows),
            None => found.push((None, Alike { offer_class, rows: own.rows.clone(), reflective: own.reflective })),
        }
    }
    for (first, alike) in &mut found {
        *first = alike.rows.iter().map(|row| table.position(row)).min();
    }
    found.sort_by_key(|(first, alike)| (*first, alike.offer_class));
    found.into_iter().map(|(_, alike)| alike).collect()
}

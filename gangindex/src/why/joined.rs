//! Partners at two ports that must agree: which of each side agree with any of the other. Without this, the evaluator has to find these reasons: a cycle
//! with reasons over `gang --n 200 --density 1 --selectivity 8 --products 10` takes 4,953 instead of 14 million instructions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::equal_texts::{TextColumn, without_themselves};
use super::join_memo::{Agreement, JoinMemo};
use crate::search::candidates::Known;
use crate::search::hash_index::{HashKey, key};
use crate::table::{Bits, Cell, as_usize};
use crate::term::{CompiledExpr, RowContext, Var};

/// What a row has in some columns.
type Cells = SmallVec<[Cell; 2]>;

/// Rows of one side that have the same in the columns of the join.
struct Group {
    cells: Cells,
    rows: Vec<u32>,
    agrees: bool,
}

/// By text: whether it is shown; none if that cannot be said.
type Texts = Option<Rc<Vec<bool>>>;

/// Rows of port 0, and what is known of them: many are asked whether they agree with them.
pub(crate) struct Hubs<'b> {
    /// Rows at port 0.
    pub(crate) rows: &'b Bits,
    met: &'b JoinMemo,
    /// By column: the texts that they show, see [`TextColumn::texts_of`].
    texts: RefCell<Vec<(u32, Texts)>>,
}

impl<'b> Hubs<'b> {
    /// These rows, with the memo of the pool.
    pub(crate) fn of(rows: &'b Bits, met: &'b JoinMemo) -> Hubs<'b> {
        Hubs { rows, met, texts: RefCell::default() }
    }

    fn texts(&self, column: u32, shown: &TextColumn<'_>) -> Texts {
        if let Some((_, texts)) = self.texts.borrow().iter().find(|(own, _)| *own == column) {
            return texts.clone();
        }
        let texts = shown.texts_of(self.rows).map(Rc::new);
        self.texts.borrow_mut().push((column, texts.clone()));
        texts
    }
}

/// The rows that agree with some hub on `terms`, see [`agreed`].
pub(crate) fn agreed_rows(
    terms: &[CompiledExpr],
    hubs: &Hubs<'_>,
    rows: &Bits,
    port: usize,
    known: &mut Known<'_>,
) -> Option<Bits> {
    if let Some((hub, own)) = one_equality(terms, port).filter(|_| !hubs.rows.meets(rows)) {
        let [of_hubs, of_rows] = [hubs.met.shown.column(hub, known)?, hubs.met.shown.column(own, known)?];
        if let Some(theirs) = hubs.texts(hub, &of_hubs).filter(|_| of_rows.has_only_texts(rows)) {
            return Some(of_rows.rows_with(&theirs, rows));
        }
    }
    agreed(terms, hubs, rows, port, known).map(|agreed| agreed.rows)
}

/// The pairs of rows of which `terms` hold, which read port 0 and `port`; `None` if that takes the evaluator or too many
/// comparisons.
pub(crate) fn agreed(
    terms: &[CompiledExpr],
    hubs: &Hubs<'_>,
    rows: &Bits,
    port: usize,
    known: &mut Known<'_>,
) -> Option<Agreement> {
    if let Some(agreed) = one_equality(terms, port).and_then(|columns| agreed_by_text(columns, hubs, rows, known)) {
        return Some(agreed);
    }
    if let Some(agreed) = hubs.met.agreed(terms, hubs.rows, rows, port, known) {
        return Some(agreed);
    }
    let hubs = hubs.rows;
    let mut columns: [Vec<u32>; 2] = Default::default();
    let mut foreign = false;
    for term in terms {
        term.reads(&mut |var, column| {
            let side = if var == 0 { columns.first_mut() } else { columns.last_mut() };
            foreign |= var != 0 && usize::from(var) != port;
            if let Some(side) = side.filter(|side| !side.contains(&column)) {
                side.push(column);
            }
        });
    }
    if foreign || port == 0 {
        return None;
    }
    let [hub_columns, row_columns] = columns;
    // To put a row into its group takes about as long as a unit of fuel.
    known.table.words.meter.spend((hubs.count() + rows.count()) as u64);
    let mut hub_groups = groups(hubs, &hub_columns, known)?;
    let mut row_groups = groups(rows, &row_columns, known)?;
    let equal = equalities(terms, port, &hub_columns, &row_columns);
    let words = &known.table.words;
    let keys = |group: &Group, side: fn(&(usize, usize)) -> usize| -> Option<Vec<HashKey>> {
        equal.iter().map(|pair| key(*group.cells.get(side(pair))?, words)).collect()
    };
    let row_keys: Vec<Option<Vec<HashKey>>> = row_groups.iter().map(|group| keys(group, |pair| pair.1)).collect();
    let mut by_key: HashMap<Vec<HashKey>, Vec<usize>, RandomState> = HashMap::default();
    for (place, group) in hub_groups.iter().enumerate() {
        // What is undefined or an error is equal to nothing.
        if let Some(keys) = keys(group, |pair| pair.0) {
            by_key.entry(keys).or_default().push(place);
        }
    }
    let mut tests = TESTS_PER_ROW * (hub_groups.len() + row_groups.len()) + TESTS_FREE;
    let fuel_of_test: u64 = terms.iter().map(|term| term.fuel_of(1)).sum();
    let (mut good_hubs, mut good_rows) = (Bits::none(hubs.len()), Bits::none(rows.len()));
    for (group, keys) in row_groups.iter_mut().zip(row_keys) {
        let Some(rivals) = keys.and_then(|keys| by_key.get(&keys)) else { continue };
        // The only hub that agrees, if there is only one: it does not agree with itself.
        let (mut sole, mut more) = (None, false);
        for place in rivals {
            let Some(hub) = hub_groups.get_mut(*place).filter(|hub| !(hub.agrees && more)) else { continue };
            tests = tests.checked_sub(1)?;
            known.table.words.meter.spend(fuel_of_test);
            if !known.table.words.meter.has_fuel() {
                return None;
            }
            let (Some(one), Some(other)) = (hub.rows.first(), group.rows.first()) else { continue };
            if !agree(terms, *one, *other, port, known)? {
                continue;
            }
            group.agrees = true;
            hub.agrees |= hub.rows.iter().any(|hub| group.rows.iter().take(2).any(|row| row != hub));
            more |= sole.is_some() || hub.rows.len() > 1;
            sole = Some(*one);
        }
        for row in group.rows.iter().filter(|row| group.agrees && (more || sole != Some(**row))) {
            good_rows.set(as_usize(*row), true);
        }
    }
    for row in hub_groups.iter().filter(|hub| hub.agrees).flat_map(|hub| &hub.rows) {
        good_hubs.set(as_usize(*row), true);
    }
    Some(Agreement { hubs: good_hubs, rows: good_rows })
}

/// The columns of port 0 and of `port` that must be equal, if there is no other condition.
fn one_equality(terms: &[CompiledExpr], port: usize) -> Option<(u32, u32)> {
    match terms {
        [term] if port != 0 => term.equality(port),
        _ => None,
    }
}

/// How many rows, and how many texts, are looked at in the time of a unit of fuel, where texts are compared by their numbers.
const ROWS_OF_FUEL: usize = 16;
const TEXTS_OF_FUEL: usize = 64;

/// The pairs of rows that show the same text in two columns, that of port 0 and another one; none if some show other values.
fn agreed_by_text((hub, own): (u32, u32), hubs: &Hubs<'_>, rows: &Bits, known: &mut Known<'_>) -> Option<Agreement> {
    let looks = (hubs.rows.count() + rows.count()) / ROWS_OF_FUEL + known.table.words.texts() / TEXTS_OF_FUEL;
    known.table.words.meter.spend(looks as u64);
    let [of_hubs, of_rows] = [hubs.met.shown.column(hub, known)?, hubs.met.shown.column(own, known)?];
    let (theirs, ours) = hubs.texts(hub, &of_hubs).zip(of_rows.texts_of(rows))?;
    let (mut good_hubs, mut good_rows) = (of_hubs.rows_with(&ours, hubs.rows), of_rows.rows_with(&theirs, rows));
    without_themselves((&of_hubs, hubs.rows, &mut good_hubs), (&of_rows, rows, &mut good_rows));
    Some(Agreement { hubs: good_hubs, rows: good_rows })
}

/// How many comparisons there may be for each different row, and how many in any case.
const TESTS_PER_ROW: usize = 64;
const TESTS_FREE: usize = 100_000;

/// Rows by what they have in some columns; `None` if something of that is unknown.
fn groups(rows: &Bits, columns: &[u32], known: &Known<'_>) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Cells, usize, RandomState> = HashMap::default();
    for row in rows.iter() {
        let cells: Cells = columns.iter().map(|column| known.table.columns.cell(*column, as_usize(row))).collect();
        if cells.contains(&Cell::Unknown) {
            return None;
        }
        match places.get(&cells).and_then(|place| groups.get_mut(*place)) {
            Some(group) => group.rows.push(row),
            None => {
                places.insert(cells.clone(), groups.len());
                groups.push(Group { cells, rows: vec![row], agrees: false });
            }
        }
    }
    Some(groups)
}

/// Pairs of columns, by their places, that must be equal.
fn equalities(terms: &[CompiledExpr], port: usize, hubs: &[u32], rows: &[u32]) -> Vec<(usize, usize)> {
    let place = |columns: &[u32], column| columns.iter().position(|own| *own == column);
    let pairs = terms.iter().filter_map(|term| term.equality(port));
    pairs.filter_map(|(hub, row)| place(hubs, hub).zip(place(rows, row))).collect()
}

fn agree(terms: &[CompiledExpr], hub: u32, row: u32, port: usize, known: &mut Known<'_>) -> Option<bool> {
    let (columns, words, context) = known.table.row_context();
    let mut row_context = RowContext::new(columns, words, context);
    let of = |var: Var| as_usize(if usize::from(var) == port { row } else { hub });
    for term in terms {
        if !row_context.holds(term, &of)? {
            return Some(false);
        }
    }
    Some(true)
}

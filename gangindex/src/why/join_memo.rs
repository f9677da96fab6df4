//! For join conditions, the rows of port 0 that satisfy them, by value of the other partner: computed once for all reasons of
//! a cycle. Without this, a cycle with reasons over `modern --machines 10000 --jobs 20000 --clusters 1200` takes 3,811 instead of 2,567 million instructions.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use foldhash::fast::RandomState;

use super::equal_texts::ShownTexts;
use crate::search::candidates::Known;
use crate::table::{Bits, as_usize};
use crate::term::{CompiledExpr, RowContext, Var};

/// The rows of each side that agree with some row of the other, not counting themselves.
pub(crate) struct Agreement {
    /// The rows at port 0 that have a partner.
    pub(crate) hubs: Bits,
    /// The rows at the other port that have one.
    pub(crate) rows: Bits,
}

/// What is known of joins.
#[derive(Default)]
pub(crate) struct JoinMemo {
    /// By condition, each on one attribute of both sides, and by the code at the other port: the rows that agree at port 0.
    hubs: RefCell<HashMap<(CompiledExpr, u32), Rc<Bits>, RandomState>>,
    /// What rows show to joins by equal texts.
    pub(crate) shown: ShownTexts,
}

/// How many values there may be at the other port, and how many are remembered of all conditions.
const VALUES_MAX: usize = 64;
const MET_MAX: usize = 4096;

impl JoinMemo {
    /// The pairs of rows of which `terms` hold. `None` if it is more than one condition on one attribute each, if one ad is on both sides, if there are
    /// too many values, or if only the evaluator knows.
    pub(crate) fn agreed(
        &self,
        terms: &[CompiledExpr],
        hubs: &Bits,
        rows: &Bits,
        port: usize,
        known: &mut Known<'_>,
    ) -> Option<Agreement> {
        let [term] = terms else { return None };
        let (hub, own) = columns(term, port).filter(|_| !hubs.meets(rows))?;
        let column = known.table.columns.get(own)?;
        let mut examples = BTreeMap::new();
        for row in rows.iter() {
            examples.entry(*column.codes().get(as_usize(row))?).or_insert(row);
            if examples.len() > VALUES_MAX {
                return None;
            }
        }
        let (mut good, mut good_hubs) = (vec![false; column.cells().len()], Bits::none(hubs.len()));
        for (code, example) in examples {
            let mut both = hubs.clone();
            both.and(&*self.met(term, (hub, code), (example, port), known)?);
            if both.any() {
                good_hubs.or(&both);
                good.get_mut(as_usize(code)).into_iter().for_each(|good| *good = true);
            }
        }
        let mut good_rows = known.table.columns.get(own)?.rows_of(&good);
        good_rows.and(rows);
        Some(Agreement { hubs: good_hubs, rows: good_rows })
    }

    /// The rows that agree at port 0 with those that show a code at the other port, of which one is an example.
    fn met(
        &self,
        term: &CompiledExpr,
        (hub, code): (u32, u32),
        (example, port): (u32, usize),
        known: &mut Known<'_>,
    ) -> Option<Rc<Bits>> {
        let place = (term.clone(), code);
        if let Some(met) = self.hubs.borrow().get(&place) {
            return Some(Rc::clone(met));
        }
        let (columns, words, context) = known.table.row_context();
        let mut row_context = RowContext::new(columns, words, context);
        let column = columns.get(hub)?;
        let truth = |hub: Option<u32>| {
            let Some(hub) = hub else { return Some(false) };
            row_context.holds(term, &|var: Var| as_usize(if usize::from(var) == port { example } else { hub }))
        };
        let truths: Vec<bool> = column.examples().into_iter().map(truth).collect::<Option<_>>()?;
        let met = Rc::new(column.rows_of(&truths));
        let mut all = self.hubs.borrow_mut();
        if all.len() < MET_MAX {
            all.insert(place, Rc::clone(&met));
        }
        Some(met)
    }
}

/// The only column that a term reads of port 0, and the only one of `port`, if it reads nothing else.
fn columns(term: &CompiledExpr, port: usize) -> Option<(u32, u32)> {
    let (mut hub, mut own, mut more) = (None, None, port == 0);
    term.reads(&mut |var, column| {
        let side = if var == 0 { &mut hub } else { &mut own };
        more |= var != 0 && usize::from(var) != port || *side.get_or_insert(column) != column;
    });
    hub.zip(own).filter(|_| !more)
}

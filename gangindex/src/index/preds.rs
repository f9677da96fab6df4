//! Conditions on one partner, answered for all rows at once or, while rarely used, row by row.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use matchmaker::FUEL_OF_A_STEP;

use super::unmet;
use crate::table::{Bits, ROWS_OF_A_STEP, Table, as_usize};
use crate::term::{CompiledExpr, RowContext, Simple};

/// A condition that reads the attributes of one partner only. Equal numbers are equal conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PredId(u32);

/// All conditions that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Preds {
    list: Vec<Pred>,
    ids: HashMap<CompiledExpr, PredId, RandomState>,
    /// Answers that were given without fuel: not for long.
    doubtful: Vec<PredId>,
    /// How many rows were looked at one by one, for benchmarks.
    pub(crate) tests: u64,
}

#[derive(Debug)]
struct Pred {
    term: CompiledExpr,
    columns: Vec<u32>,
    uses: usize,
    /// Whether the answer depends on the time.
    timely: bool,
    answer: Option<Answer>,
    /// For what only the evaluator can work out: what it said of rows that were asked for, by their code in the only column,
    /// or by number.
    said: Option<Vec<Said>>,
    unmet: Unmet,
}

/// Whether a condition is true of no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unmet {
    /// It was not asked for.
    Unasked,
    /// It is true of none while its columns have so many values.
    With(usize),
    /// It may be true of some. Values that no row has any more count, so it stays like this.
    No,
}

/// What is known of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    Is(Option<bool>),
}

/// Of which rows a condition is true, and of which only the evaluator knows.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The rows of which it is true.
    pub(crate) yes: Bits,
    /// Rows that only the evaluator can judge.
    pub(crate) open: Option<Bits>,
}

/// What a condition takes in memory without its answer, about.
const PRED_BYTES: usize = 256;

/// Of how many values the evaluator is asked to find out whether a condition is true of none.
const VALUES_MAX: usize = 16;

/// From how many uses on a condition is answered for all rows at once.
const USES_MIN: usize = 4;

impl Preds {
    /// The number of a condition, which is used once more. Its port does not matter.
    pub(crate) fn id(&mut self, term: CompiledExpr, uses: usize) -> PredId {
        let term = at_port_zero(term);
        if let Some(id) = self.ids.get(&term) {
            if let Some(pred) = self.list.get_mut(as_usize(id.0)) {
                pred.uses += uses;
            }
            return *id;
        }
        let id = PredId(crate::table::as_u32(self.list.len()));
        let columns = term.columns();
        let said = term.is_slow().then(Vec::new);
        let timely = term.is_timely();
        let unmet = if timely { Unmet::No } else { Unmet::Unasked };
        self.list.push(Pred { term: term.clone(), columns, uses, timely, answer: None, said, unmet });
        self.ids.insert(term, id);
        id
    }

    /// A condition is used once more, by so many.
    pub(crate) fn used(&mut self, id: PredId, uses: usize) {
        if let Some(pred) = self.list.get_mut(as_usize(id.0)) {
            pred.uses += uses;
        }
    }

    /// How many conditions there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// What conditions and their answers take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let answer = |answer: &Answer| answer.yes.bytes() + answer.open.as_ref().map_or(0, Bits::bytes);
        let said = |said: &Vec<Said>| said.len() * size_of::<Said>();
        let each =
            |pred: &Pred| PRED_BYTES + pred.answer.as_ref().map_or(0, answer) + pred.said.as_ref().map_or(0, said);
        self.list.iter().map(each).sum()
    }

    /// What conditions take in memory beside what is known of rows, about.
    pub(crate) fn bytes_without_answers(&self) -> usize {
        PRED_BYTES * self.list.len()
    }

    /// Forgets what depends on the time.
    pub(crate) fn another_time(&mut self) {
        for pred in self.list.iter_mut().filter(|pred| pred.timely) {
            pred.answer = None;
            pred.said.iter_mut().for_each(Vec::clear);
        }
    }

    /// Forgets answers that were given without fuel.
    pub(crate) fn forget_doubtful(&mut self) {
        for id in std::mem::take(&mut self.doubtful) {
            self.list.get_mut(as_usize(id.0)).into_iter().for_each(|pred| pred.answer = None);
        }
    }

    /// Forgets all answers.
    pub(crate) fn forget_answers(&mut self) {
        for pred in &mut self.list {
            pred.answer = None;
            pred.said.iter_mut().for_each(Vec::clear);
        }
    }

    /// Looks again at rows that have changed.
    pub(crate) fn refresh(&mut self, changed: &[u32], table: &mut Table) {
        let rows = table.rows.len();
        let (columns, words, context) = table.row_context();
        let mut row_context = RowContext::new(columns, words, context);
        for pred in &mut self.list {
            // Codes mean the same for ever, rows do not.
            if pred.columns.len() != 1
                && let Some(said) = &mut pred.said
            {
                for number in changed {
                    said.get_mut(as_usize(*number)).into_iter().for_each(|said| *said = Said::Nothing);
                }
            }
            let Some(answer) = &mut pred.answer else { continue };
            answer.yes.grow(rows);
            if let Some(open) = &mut answer.open {
                open.grow(rows);
            }
            for number in changed {
                let row = as_usize(*number);
                let truth = row_context.holds(&pred.term, &|_| row);
                answer.yes.set(row, truth == Some(true));
                if truth.is_none() && answer.open.is_none() {
                    answer.open = Some(Bits::none(rows));
                }
                if let Some(open) = &mut answer.open {
                    open.set(row, truth.is_none());
                }
            }
        }
    }

    /// The answer for all rows, if the condition is used often enough to have one, and the index can give it.
    pub(crate) fn answer(&mut self, id: PredId, table: &mut Table) -> Option<&Answer> {
        let pred = self.list.get(as_usize(id.0))?;
        let worth =
            pred.answer.is_some() || pred.uses >= USES_MIN && pred.said.is_none() && table.words.meter.has_fuel();
        if worth { self.decided(id, table) } else { None }
    }

    /// The answer for all rows, if there is one.
    pub(crate) fn known(&self, id: PredId) -> Option<&Answer> {
        self.list.get(as_usize(id.0))?.answer.as_ref()
    }

    /// The answer for all rows, however seldom it is asked for.
    pub(crate) fn decided(&mut self, id: PredId, table: &mut Table) -> Option<&Answer> {
        let unmet = self.is_unmet(id, table);
        let pred = self.list.get_mut(as_usize(id.0))?;
        if pred.answer.is_none() {
            // So that a cycle cannot keep very many answers.
            table.words.meter.spend((1 + table.rows.len() / ROWS_OF_A_STEP) as u64 * FUEL_OF_A_STEP);
            let none = || Answer { yes: Bits::none(table.rows.len()), open: None };
            pred.answer = Some(if unmet { none() } else { answer(&pred.term, &pred.columns, table) });
            if table.words.meter.is_dry() {
                self.doubtful.push(id);
            }
        }
        pred.answer.as_ref()
    }

    /// Whether a condition is true of no row, as far as the columns tell without a look at the rows.
    pub(crate) fn is_unmet(&mut self, id: PredId, table: &mut Table) -> bool {
        let Some(pred) = self.list.get(as_usize(id.0)) else { return false };
        if pred.unmet == Unmet::No {
            return false;
        }
        let values =
            pred.columns.iter().filter_map(|column| table.columns.get(*column)).map(|column| column.cells().len());
        let now = Unmet::With(values.sum());
        if pred.unmet == now {
            return true;
        }
        let is_unmet = unmet::is_unmet(&pred.term, table) || self.is_met_by_no_value(id, table);
        if let Some(pred) = self.list.get_mut(as_usize(id.0)) {
            pred.unmet = if is_unmet { now } else { Unmet::No };
        }
        is_unmet
    }

    /// Whether a condition that the evaluator works out, of one attribute with few values, is true of none of them. What the evaluator says
    /// of a value is kept for the rows that have it.
    fn is_met_by_no_value(&mut self, id: PredId, table: &mut Table) -> bool {
        let pred = self.list.get(as_usize(id.0)).filter(|pred| pred.said.is_some());
        let Some([column]) = pred.map(|pred| pred.columns.as_slice()) else { return false };
        let column = table.columns.get(*column).filter(|column| column.cells().len() <= VALUES_MAX);
        let Some(examples) = column.map(|column| column.examples()) else { return false };
        // A row may have again what no row has now.
        let mut rows = examples.into_iter();
        let fails = |row: Option<u32>| row.is_some_and(|row| self.holds(id, as_usize(row), table) == Some(false));
        rows.all(fails) && table.words.meter.has_fuel()
    }

    /// The answer for all rows, from an earlier use if there is one. It is kept only if the condition is used often.
    pub(crate) fn all(&mut self, term: CompiledExpr, table: &mut Table) -> Answer {
        let term = at_port_zero(term);
        if let Some(answer) = self.ids.get(&term).copied().and_then(|id| self.answer(id, table)) {
            return answer.clone();
        }
        answer(&term, &term.columns(), table)
    }

    /// Whether the condition is true of a row; none if only the evaluator knows.
    pub(crate) fn holds(&mut self, id: PredId, row: usize, table: &mut Table) -> Option<bool> {
        let pred = self.list.get_mut(as_usize(id.0))?;
        if let Some(answer) = &pred.answer {
            return match &answer.open {
                Some(open) if open.get(row) => None,
                _ => Some(answer.yes.get(row)),
            };
        }
        let place = match pred.columns.as_slice() {
            [column] => as_usize(*table.columns.get(*column)?.codes().get(row)?),
            _ => row,
        };
        if let Some(Said::Is(known)) = pred.said.as_ref().and_then(|said| said.get(place)) {
            return *known;
        }
        self.tests += 1;
        let (columns, words, context) = table.row_context();
        let truth = RowContext::new(columns, words, context).holds(&pred.term, &|_| row);
        if let Some(said) = pred.said.as_mut().filter(|_| !table.words.meter.is_dry()) {
            if said.len() <= place {
                said.resize(place + 1, Said::Nothing);
            }
            said.get_mut(place).into_iter().for_each(|said| *said = Said::Is(truth));
        }
        truth
    }
}

/// Looks at all rows, and pays for it: a long condition takes as much longer as it has more nodes.
fn answer(term: &CompiledExpr, columns: &[u32], table: &mut Table) -> Answer {
    if let [column] = columns {
        return answer_by_value(term, *column, table);
    }
    let rows = table.rows.len();
    table.words.meter.spend(term.fuel_of(rows));
    let (columns, words, context) = table.row_context();
    let mut row_context = RowContext::new(columns, words, context);
    let (mut yes, mut open) = (Bits::none(rows), Bits::none(rows));
    for row in 0..rows {
        match row_context.holds(term, &|_| row) {
            Some(true) => yes.set(row, true),
            Some(false) => {}
            None => open.set(row, true),
        }
    }
    Answer { yes, open: Some(open).filter(Bits::any) }
}

/// The same where one attribute is read: of rows with equal values one is looked at.
fn answer_by_value(term: &CompiledExpr, column: u32, table: &mut Table) -> Answer {
    let rows = table.rows.len();
    table.columns.know_holders(column);
    let simple = Simple::of(term);
    if simple.is_none() {
        table.words.meter.spend(term.fuel_of(table.columns.get(column).map_or(0, |column| column.cells().len())));
    }
    let (columns, words, context) = table.row_context();
    let Some(column) = columns.get(column) else { return Answer { yes: Bits::none(rows), open: None } };
    // A value that no row has any more makes no difference.
    let of_cells = |simple: Simple| column.cells().iter().map(|cell| simple.holds(*cell, words)).collect();
    let truths: Vec<Option<bool>> = simple.and_then(of_cells).unwrap_or_else(|| {
        let mut row_context = RowContext::new(columns, words, context);
        let truth =
            |example: Option<u32>| example.map_or(Some(false), |row| row_context.holds(term, &|_| as_usize(row)));
        column.examples().into_iter().map(truth).collect()
    });
    let is: Vec<bool> = truths.iter().map(|truth| *truth == Some(true)).collect();
    let unknown: Vec<bool> = truths.iter().map(|truth| truth.is_none()).collect();
    let open = unknown.contains(&true).then(|| column.rows_of(&unknown)).filter(Bits::any);
    Answer { yes: column.rows_of(&is), open }
}

/// The same condition as if its partner were bound at port 0.
fn at_port_zero(mut term: CompiledExpr) -> CompiledExpr {
    term.at_port(0);
    term
}

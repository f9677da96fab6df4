//! Conditions that read several ports into sets of rows: for one port, given what the partners at the others show.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::index::plan::PortPlan;
use crate::index::preds::Answer;
use crate::table::{Bits, Cell, Table, as_usize};
use crate::term::{CompiledExpr, RowContext, Var};

/// The number of a condition; equal numbers are equal conditions.
pub(super) type JoinId = usize;

/// The joins of a port: its own, and those of its candidates by offer class.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) own: Vec<JoinId>,
    pub(super) theirs: Vec<(usize, Vec<JoinId>)>,
}

impl Links {
    /// Those that count where a row of an offer class is bound.
    pub(super) fn of(&self, offer_class: usize) -> impl Iterator<Item = &JoinId> {
        let theirs = self.theirs.iter().filter(move |(own, _)| *own == offer_class);
        self.own.iter().chain(theirs.flat_map(|(_, joins)| joins))
    }
}

/// A condition, and what it reads of whom.
#[derive(Debug)]
struct Join {
    term: CompiledExpr,
    vars: u64,
    reads: Vec<(Var, u32)>,
}

/// All joins that were met, and all answers to them.
#[derive(Debug, Default)]
pub(super) struct Joins {
    list: Vec<Join>,
    ids: HashMap<CompiledExpr, JoinId, RandomState>,
    /// By the join, the port that is asked for, and what the others show.
    answers: HashMap<(JoinId, usize, Vec<Cell>), Answer, RandomState>,
}

impl Joins {
    /// The joins of a plan, by number.
    pub(super) fn links(&mut self, plan: &PortPlan) -> Links {
        let own = plan.own.joins.iter().map(|join| self.id(join)).collect();
        let mut theirs = Vec::new();
        for each in plan.theirs.iter() {
            theirs.push((each.offer_class, each.demand.joins.iter().map(|join| self.id(join)).collect()));
        }
        Links { own, theirs }
    }

    fn id(&mut self, term: &CompiledExpr) -> JoinId {
        if let Some(id) = self.ids.get(term) {
            return *id;
        }
        let mut reads = Vec::new();
        term.reads(&mut |var, column| reads.push((var, column)));
        let id = self.list.len();
        self.list.push(Join { term: term.clone(), vars: term.vars(), reads });
        self.ids.insert(term.clone(), id);
        id
    }

    /// Whether a join reads no other ports than these.
    pub(super) fn within(&self, join: JoinId, ports: u64) -> bool {
        self.list.get(join).is_some_and(|join| join.vars & !ports == 0)
    }

    /// Whether a join reads the partner at a port.
    pub(super) fn reads(&self, join: JoinId, port: usize) -> bool {
        self.list.get(join).is_some_and(|join| join.vars >> (port & 63) & 1 == 1)
    }

    /// The rows that make a join true at a port, and those of which only the evaluator knows.
    pub(super) fn answer(
        &mut self,
        id: JoinId,
        port: usize,
        bound: &[Option<u32>],
        table: &mut Table,
    ) -> Option<&Answer> {
        let join = self.list.get(id)?;
        let at = |var: Var| bound.get(usize::from(var)).copied().flatten().map_or(usize::MAX, as_usize);
        let others = join.reads.iter().filter(|(var, _)| usize::from(*var) != port);
        let shown: Vec<Cell> = others.map(|(var, column)| table.columns.cell(*column, at(*var))).collect();
        let answer = self.answers.entry((id, port, shown));
        Some(answer.or_insert_with(|| {
            let (mut yes, mut open) = (Bits::none(table.rows.len()), Bits::none(table.rows.len()));
            let (columns, words, context) = table.row_context();
            let mut row_context = RowContext::new(columns, words, context);
            for row in table_rows(&yes) {
                let place = |var: Var| if usize::from(var) == port { row } else { at(var) };
                match row_context.holds(&join.term, &place) {
                    Some(truth) => yes.set(row, truth),
                    None => open.set(row, true),
                }
            }
            Answer { yes, open: Some(open).filter(Bits::any) }
        }))
    }
}

fn table_rows(like: &Bits) -> std::ops::Range<usize> {
    0..like.len()
}

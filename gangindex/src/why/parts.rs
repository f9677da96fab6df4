//! Splits a constraint into conjuncts, each compiled to be evaluated for all rows at once.

use classad::{Expr, conjuncts};
use matchmaker::Ports;

use crate::table::{Bits, Cell, Table};
use crate::term::{CompiledExpr, Compiler, Side, is_true};

/// What one conjunct becomes for a root at a port.
#[derive(Clone, Debug)]
pub(crate) enum RootPart {
    /// True of every row.
    Always,
    /// True of no row.
    Never,
    /// It depends on the partner at the port alone.
    Alone(CompiledExpr),
    /// It reads the partners of earlier ports, too.
    Join(CompiledExpr),
    /// Only the evaluator knows.
    Opaque,
}

/// A part with its answer for all rows.
#[derive(Debug)]
pub(crate) enum Answered {
    /// Not true of these rows; whether of those that are open, only the evaluator knows.
    Fails { rows: Bits, open: Option<Bits>, term: Option<CompiledExpr> },
    /// See [`RootPart::Join`].
    Join(CompiledExpr),
    /// See [`RootPart::Opaque`].
    Opaque,
}

/// The parts of a constraint.
pub(crate) struct Parts {
    /// By conjunct.
    pub(crate) list: Vec<RootPart>,
    /// There is no constraint, and that is no match.
    pub(crate) missing: bool,
}

/// The root, the port and the partner whose constraint is taken apart.
pub(crate) struct Asking<'a> {
    pub(crate) root: &'a Ports,
    pub(crate) port: usize,
    /// The partner and its port, if the constraint is the partner's.
    pub(crate) partner: Option<(&'a Ports, usize)>,
}

impl Asking<'_> {
    /// Takes the constraint apart.
    pub(crate) fn parts(&self, table: &mut Table) -> Parts {
        let (constraint, implicit, side) = match self.partner {
            None => (self.constraint_of(self.root, self.port), self.root.implicit, Side::Root),
            Some((ports, via)) => (self.constraint_of(ports, via), ports.implicit, Side::Partner),
        };
        let Some(constraint) = constraint else { return Parts { list: Vec::new(), missing: implicit } };
        let texts = conjuncts(constraint);
        // So long a chain may be deeper than an evaluation may go.
        let deep = texts.len() > table.context.limits.depth;
        let part = |text: &Expr| if deep { RootPart::Opaque } else { self.part(text, side, table) };
        Parts { list: texts.iter().map(part).collect(), missing: false }
    }

    fn constraint_of<'p>(&self, ports: &'p Ports, port: usize) -> Option<&'p Expr> {
        ports.list.get(port)?.constraint.as_ref()
    }

    fn part(&self, text: &Expr, side: Side, table: &mut Table) -> RootPart {
        let mut compiler = Compiler::new(table, self.root, self.port);
        compiler.partner = self.partner;
        match compiler.term(text, side) {
            None | Some(CompiledExpr::Known(Cell::Unknown)) => RootPart::Opaque,
            Some(CompiledExpr::Known(cell)) if is_true(cell, &table.words) => RootPart::Always,
            Some(CompiledExpr::Known(_)) => RootPart::Never,
            // What reads the time alone is true of all rows or of none.
            Some(term) if term.vars() & !(1u64 << (self.port & 63)) == 0 => RootPart::Alone(term),
            Some(term) => RootPart::Join(term),
        }
    }
}

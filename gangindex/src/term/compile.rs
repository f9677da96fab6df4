//! The compiler: expressions of a root and of its possible partners into terms, with names resolved as the language resolves them.
//!
//! A root's attributes are replaced by their values, or, if they read a label, by their expressions: an equality of the license with
//! an attribute of the job that is an attribute of the machine becomes an equality of the license with the machine. The evaluator
//! handles what is not resolved here.

use std::sync::Arc;

use classad::{BinaryOp, Expr, Kind, Name, is_pure};
use matchmaker::Ports;

use super::{CompiledExpr, PATTERNS_MAX, ReadSet, Residual, RowContext, Var, ops, part_name};
use crate::table::{Cell, PART_OF_DEPTH, Table, is_special, own_value};

/// The ad that contains an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The root's, in the port at hand.
    Root,
    /// The root's, in its own attributes.
    RootBody,
    /// The partner's, in the port it is bound through.
    Partner,
}

/// The meaning of a bare name.
enum Meaning<'a> {
    /// An expression of the root, and the part of the root that contains it.
    Own(&'a Expr, Side),
    /// The partner bound at a port.
    View(Var),
    /// The root, seen through the port at hand.
    Requester,
    /// An attribute of the partner at a port.
    Column(Var),
    /// It is not defined.
    Undefined,
    /// Only the evaluator can resolve it.
    Special,
}

/// The parts of an expression may nest to one in so many of the depth of an evaluation, references followed: with the values of
/// attributes, which may take a quarter of that depth, everything stays within it.
const NESTING_SHARE: usize = 8;
/// There may be one in so many as many parts as that depth.
const PARTS_SHARE: usize = 2;

/// How many bytes of an expression are printed in the time of a step.
const PRINTED_BYTES_OF_A_STEP: usize = 4;

/// Compiles expressions at one port of a root, for partners of one offer class.
pub(crate) struct Compiler<'a> {
    /// The table, to which columns are added.
    pub(crate) table: &'a mut Table,
    /// The root.
    pub(crate) root: &'a Ports,
    /// The number of its port.
    pub(crate) port: usize,
    /// A partner of the offer class, and its port; all of a class have the same names.
    pub(crate) partner: Option<(&'a Ports, usize)>,
    /// The attributes of the root that were read.
    pub(crate) trace: ReadSet,
    parts: usize,
    /// How many of them match a pattern.
    patterns: usize,
}

impl<'a> Compiler<'a> {
    /// A compiler for the root's own expressions.
    pub(crate) fn new(table: &'a mut Table, root: &'a Ports, port: usize) -> Compiler<'a> {
        Compiler { table, root, port, partner: None, trace: ReadSet::default(), parts: 0, patterns: 0 }
    }

    /// The term of an expression; `None` if only the evaluator can compute it.
    pub(crate) fn term(&mut self, expr: &Expr, side: Side) -> Option<CompiledExpr> {
        (self.parts, self.patterns) = (0, 0);
        self.flat(expr, side, 0)
    }

    fn flat(&mut self, expr: &Expr, side: Side, nesting: usize) -> Option<CompiledExpr> {
        self.parts += 1;
        let depth = self.table.context.limits.depth * PART_OF_DEPTH;
        if nesting > depth / NESTING_SHARE || self.parts > depth / PARTS_SHARE {
            return None;
        }
        let deeper = nesting + 1;
        let term = match expr.kind() {
            Kind::Literal(value) => CompiledExpr::Known(self.table.words.cell(value)),
            Kind::Parenthesized(inner) => return self.flat(inner, side, deeper),
            Kind::Attribute { absolute: true, .. } | Kind::Ad(_) => return None,
            Kind::Attribute { name, .. } => return self.name(name, side, deeper),
            Kind::Select { base, name } => return self.select(base, name, side, deeper),
            Kind::Unary { op, operand } => CompiledExpr::Unary(*op, Box::new(self.flat(operand, side, deeper)?)),
            Kind::Binary { op, left, right } => {
                // A chain of `&&` is as deep as it is long on its left; it is split before anything looks into it.
                let left_nesting = if *op == BinaryOp::And { nesting } else { deeper };
                let left = self.flat(left, side, left_nesting)?;
                CompiledExpr::Binary(*op, Box::new([left, self.flat(right, side, deeper)?]))
            }
            Kind::Conditional { condition, then, otherwise } => CompiledExpr::Choice(Box::new([
                self.flat(condition, side, deeper)?,
                self.flat(then, side, deeper)?,
                self.flat(otherwise, side, deeper)?,
            ])),
            Kind::Elvis { value, fallback } => {
                CompiledExpr::Elvis(Box::new([self.flat(value, side, deeper)?, self.flat(fallback, side, deeper)?]))
            }
            Kind::Call(call) if call.function == "time" && call.arguments.is_empty() => CompiledExpr::Now,
            Kind::Call(call) if !is_pure(call) => return None,
            Kind::Call(call) => {
                let function = call.function.clone();
                self.whole(&call.arguments, side, deeper, |parts| Expr::call(function, parts))?
            }
            Kind::List(items) => self.whole(items, side, deeper, Expr::list)?,
            Kind::Subscript { base, index } => {
                self.whole(&[base.clone(), index.clone()], side, deeper, |mut parts| {
                    let index = parts.pop();
                    let base = parts.pop();
                    Expr::subscript(
                        base.unwrap_or_else(|| Expr::list(Vec::new())),
                        index.unwrap_or_else(|| Expr::list(Vec::new())),
                    )
                })?
            }
        };
        Some(self.folded(term))
    }

    /// Constant folding: the value of a term whose parts are known.
    fn folded(&mut self, term: CompiledExpr) -> CompiledExpr {
        let known = |term: &CompiledExpr| matches!(term, CompiledExpr::Known(_));
        let foldable = match &term {
            CompiledExpr::Known(_) | CompiledExpr::Now | CompiledExpr::Column(..) => false,
            CompiledExpr::Unary(_, operand) => known(operand),
            CompiledExpr::Binary(op, sides) => {
                let [left, right] = &**sides;
                known(left)
                    && (known(right) || matches!(left, CompiledExpr::Known(cell) if ops::decided(*op, *cell).is_some()))
            }
            CompiledExpr::Choice(parts) => parts.iter().all(known),
            CompiledExpr::Elvis(sides) => sides.iter().all(known),
            CompiledExpr::Residual(whole) => whole.parts.iter().all(known),
        };
        if !foldable {
            return term;
        }
        let (columns, words, context) = self.table.row_context();
        let value = term.value(&mut RowContext::new(columns, words, context), &|_| usize::MAX);
        // What is not known in this way may be known in another: the term stays as it is.
        if value == Cell::Unknown { term } else { CompiledExpr::Known(value) }
    }

    fn whole(
        &mut self,
        parts: &[Expr],
        side: Side,
        nesting: usize,
        make: impl FnOnce(Vec<Expr>) -> Expr,
    ) -> Option<CompiledExpr> {
        let (mut exprs, mut names, mut terms) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            match self.flat(part, side, nesting)? {
                CompiledExpr::Known(cell) => exprs.push(Expr::literal(self.table.words.value(cell)?)),
                term => {
                    let name = part_name(terms.len());
                    exprs.push(Expr::attribute(name.clone()));
                    names.push(name);
                    terms.push(term);
                }
            }
        }
        let expr = make(exprs);
        let text = expr.to_string();
        let Some(work) = self.table.root_work.checked_sub(text.len() / PRINTED_BYTES_OF_A_STEP) else {
            self.trace.more = true;
            return None;
        };
        self.table.root_work = work;
        let text = self.table.words.text(&Arc::from(text));
        let residual = Residual::new(expr, names, terms, text);
        self.patterns += usize::from(residual.pattern);
        (self.patterns <= PATTERNS_MAX).then(|| CompiledExpr::Residual(Arc::new(residual)))
    }

    fn name(&mut self, name: &Name, side: Side, nesting: usize) -> Option<CompiledExpr> {
        match self.meaning(name, side) {
            Meaning::Own(expr, side) => self.own(expr, side, nesting),
            Meaning::Column(var) => self.column(var, name),
            Meaning::Undefined => Some(CompiledExpr::Known(Cell::Undefined)),
            Meaning::View(_) | Meaning::Requester | Meaning::Special => None,
        }
    }

    /// An attribute of the partner at a port.
    fn column(&mut self, var: Var, name: &Name) -> Option<CompiledExpr> {
        let column = self.table.column(name);
        // With more room it would be known.
        self.trace.more |= column.is_none();
        column.map(|column| CompiledExpr::Column(var, column))
    }

    /// `base.name`
    fn select(&mut self, base: &Expr, name: &Name, side: Side, nesting: usize) -> Option<CompiledExpr> {
        let base = base.as_attribute()?;
        if is_special(name) {
            return None;
        }
        match self.meaning(base, side) {
            Meaning::View(var) => self.column(var, name),
            Meaning::Requester => match self.requester(name) {
                Some((expr, side)) => self.own(expr, side, nesting),
                None => Some(CompiledExpr::Known(Cell::Undefined)),
            },
            Meaning::Undefined => Some(CompiledExpr::Known(Cell::Undefined)),
            Meaning::Special if base == "my" || base == "self" => self.my(name, side, nesting),
            _ => None,
        }
    }

    /// `my.name`
    fn my(&mut self, name: &Name, side: Side, nesting: usize) -> Option<CompiledExpr> {
        match side {
            Side::Partner => self.column(self.var()?, name),
            Side::Root | Side::RootBody => {
                let found = if side == Side::Root { self.requester(name) } else { self.body(name) };
                match found {
                    Some((expr, side)) => self.own(expr, side, nesting),
                    None => Some(CompiledExpr::Known(Cell::Undefined)),
                }
            }
        }
    }

    /// The root's own expression: its value, or a term if it depends on partners.
    fn own(&mut self, expr: &'a Expr, side: Side, nesting: usize) -> Option<CompiledExpr> {
        if let Kind::Literal(value) = expr.kind() {
            return Some(CompiledExpr::Known(self.table.words.cell(value)))
                .filter(|term| *term != CompiledExpr::Known(Cell::Unknown));
        }
        // An attribute of the port that passes on a value of another partner reads nothing of the ad around it.
        let told = matches!(expr.kind(), Kind::Select { base, .. } if base.as_attribute().is_some_and(|label| self.is_label(label)));
        self.trace.more |= !told;
        let (words, context, work) = self.table.words_context_and_work();
        match own_value((self.root, self.port), (expr, side == Side::Root), words, context, work) {
            Cell::Unknown => self.flat(expr, side, nesting),
            cell => Some(CompiledExpr::Known(cell)),
        }
    }

    fn var(&self) -> Option<Var> {
        Var::try_from(self.port).ok().filter(|var| *var < 64)
    }

    fn is_label(&self, name: &Name) -> bool {
        !self.root.implicit && self.root.list.iter().any(|port| port.label == *name)
    }

    /// An attribute of the root as a partner sees it through the port at hand.
    pub(crate) fn requester(&mut self, name: &Name) -> Option<(&'a Expr, Side)> {
        self.in_port(name).map(|expr| (expr, Side::Root)).or_else(|| self.body(name))
    }

    /// An attribute of the root's port at hand.
    fn in_port(&mut self, name: &Name) -> Option<&'a Expr> {
        let root = self.root;
        let port = root.list.get(self.port).filter(|_| !root.implicit)?;
        self.trace.read(Some(self.port), name);
        port.attributes.get_name(name)
    }

    fn body(&mut self, name: &Name) -> Option<(&'a Expr, Side)> {
        self.trace.read(None, name);
        let root = self.root;
        let side = if root.implicit { Side::Root } else { Side::RootBody };
        root.body.get_name(name).map(|expr| (expr, side))
    }

    fn meaning(&mut self, name: &Name, side: Side) -> Meaning<'a> {
        match side {
            Side::Root => self.meaning_in_root(name),
            Side::RootBody => match self.body(name) {
                Some((expr, side)) if !is_special(name) => Meaning::Own(expr, side),
                None if !is_special(name) => Meaning::Undefined,
                _ => Meaning::Special,
            },
            Side::Partner => self.meaning_in_partner(name),
        }
    }

    fn meaning_in_root(&mut self, name: &Name) -> Meaning<'a> {
        let root = self.root;
        if root.implicit {
            return match (self.body(name), other(name)) {
                _ if name == "members" => Meaning::Special,
                (Some((expr, side)), _) => Meaning::Own(expr, side),
                (None, true) => Meaning::View(0),
                (None, false) if is_special(name) => Meaning::Special,
                (None, false) => Meaning::Column(0),
            };
        }
        if name == "members" {
            return Meaning::Special;
        }
        if let Some(expr) = self.in_port(name) {
            return Meaning::Own(expr, Side::Root);
        }
        let seen = root.list.iter().enumerate().take(self.port + 1);
        if let Some((place, port)) = seen.rev().find(|(_, port)| port.label == *name) {
            // In later ports, the label of a counted one is a list.
            if place != self.port && port.set.is_some() {
                return Meaning::Special;
            }
            return Var::try_from(place).map_or(Meaning::Special, Meaning::View);
        }
        match self.body(name) {
            _ if is_special(name) && !other(name) => Meaning::Special,
            Some((expr, side)) => Meaning::Own(expr, side),
            None => Meaning::Undefined,
        }
    }

    fn meaning_in_partner(&mut self, name: &Name) -> Meaning<'a> {
        let (Some((ports, via)), Some(var)) = (self.partner, self.var()) else { return Meaning::Special };
        if name == "members" {
            return Meaning::Special;
        }
        let port = ports.list.get(via).filter(|_| !ports.implicit);
        if port.is_some_and(|port| port.attributes.place(name).is_some()) {
            return Meaning::Column(var);
        }
        if port.is_some_and(|port| port.label == *name) {
            return Meaning::Requester;
        }
        // Labels of other ports are bound or not, depending on the search; and so is what follows from them.
        if !ports.implicit && ports.list.iter().any(|port| port.label == *name) {
            return Meaning::Special;
        }
        let has = ports.body.place(name).is_some();
        match (has, ports.implicit) {
            _ if is_special(name) && !other(name) => Meaning::Special,
            (true, _) => Meaning::Column(var),
            (false, true) if other(name) => Meaning::Requester,
            (false, false) => Meaning::Undefined,
            (false, true) => match self.requester(name) {
                Some((expr, side)) => Meaning::Own(expr, side),
                None => Meaning::Undefined,
            },
        }
    }
}

/// The partner's names in an ad with an implicit port.
fn other(name: &Name) -> bool {
    name == "other" || name == "target"
}

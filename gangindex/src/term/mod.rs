//! Constraints and ranks in the form that indexes are made of: every name is resolved to the port whose partner has it.
//!
//! A term is an access path. It is never printed and never parsed; it must have the value of the expression that it was
//! made of, on every row, or be [`Cell::Unknown`], which leaves the row to the evaluator.

mod compile;
mod ops;
pub(crate) mod scope;

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use classad::{BinaryOp, Context, Env, Expr, Kind, Name, TextTest, UnaryOp, Value, eval_billed};
use smallvec::SmallVec;

use crate::table::{Cell, Columns, StringTable, Symbol};

pub(crate) use compile::{Compiler, Side};
pub(crate) use ops::{is_true, number};

/// The number of a port of the root: the partner bound there has the attribute.
pub(crate) type Var = u8;

/// An expression over the attributes of partners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CompiledExpr {
    /// A value, or what is known only to the evaluator.
    Known(Cell),
    /// The time of the cycle.
    Now,
    /// An attribute of the partner at a port; the number is that of the column.
    Column(Var, u32),
    /// An operator with one operand.
    Unary(UnaryOp, Box<CompiledExpr>),
    /// An operator with two operands.
    Binary(BinaryOp, Box<[CompiledExpr; 2]>),
    /// `a ? b : c`
    Choice(Box<[CompiledExpr; 3]>),
    /// `a ?: b`
    Elvis(Box<[CompiledExpr; 2]>),
    /// A function, a list or a subscript over simpler terms.
    Residual(Arc<Residual>),
}

/// An expression that the evaluator computes from the values of its parts.
#[derive(Debug)]
pub(crate) struct Residual {
    /// The expression, in which `_0`, `_1` and so on stand for the parts.
    expr: Expr,
    names: Vec<Name>,
    parts: Vec<CompiledExpr>,
    /// The text of the expression: what tells two of them apart.
    text: Symbol,
    /// It has two parts, of two partners: each is looked at again and again, beside many others.
    pair: bool,
    /// It matches a pattern, which takes more fuel than other parts to compile.
    pattern: bool,
    /// What it asks of a text, if that is all, once it was evaluated.
    test: OnceLock<Option<TextTest>>,
}

impl Residual {
    fn new(expr: Expr, names: Vec<Name>, parts: Vec<CompiledExpr>, text: Symbol) -> Residual {
        let pair = match parts.as_slice() {
            [one, other] => one.vars() != 0 && other.vars() != 0 && one.vars() != other.vars(),
            _ => false,
        };
        let pattern = matches!(expr.kind(), Kind::Call(call) if PATTERNS.iter().any(|name| call.function == *name));
        Residual { expr, names, parts, text, pair, pattern, test: OnceLock::new() }
    }

    fn with(&self, parts: Vec<CompiledExpr>) -> Residual {
        Residual::new(self.expr.clone(), self.names.clone(), parts, self.text)
    }

    /// The context in which it is evaluated: a part of the bounds, see [`partial`].
    fn context(&self, part: &Context) -> Context {
        let mut context = *part;
        if self.pattern {
            context.limits.fuel = context.limits.fuel.saturating_mul(PATTERN_SHARE);
        }
        context
    }

    /// What it comes to where its only part is a text, if that can be told without an evaluation.
    fn of_text(&self, text: Symbol, part: &Context, words: &mut StringTable) -> Option<Cell> {
        let fresh = self.test.get().is_none();
        let of =
            || TextTest::of(&self.expr, &self.context(part)).filter(|test| self.names.first() == Some(test.name()));
        let test = self.test.get_or_init(of).as_ref()?;
        let text = words.str(text);
        let holds = test.holds(text);
        let fuel = test.fuel_of(text) + if fresh { test.fuel() } else { 0 };
        words.meter.spend(fuel as u64);
        holds.map(Cell::Bool)
    }
}

impl PartialEq for Residual {
    fn eq(&self, other: &Residual) -> bool {
        self.text == other.text && self.parts == other.parts
    }
}

impl Eq for Residual {}

impl Hash for Residual {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
        self.parts.hash(state);
    }
}

/// An operator on one attribute and a value: what most conditions are.
#[derive(Clone, Copy)]
pub(crate) struct Simple {
    op: BinaryOp,
    value: Cell,
    /// The attribute stands on the right.
    mirrored: bool,
    /// Of numbers in order: whether it is true where the attribute is less, equal, and greater.
    ordered: Option<[bool; 3]>,
}

impl Simple {
    /// The same as the term, if it is that.
    pub(crate) fn of(term: &CompiledExpr) -> Option<Simple> {
        let CompiledExpr::Binary(op, sides) = term else { return None };
        match **sides {
            [CompiledExpr::Column(..), CompiledExpr::Known(value)] => Some(Simple::new(*op, value, false)),
            [CompiledExpr::Known(value), CompiledExpr::Column(..)] => Some(Simple::new(*op, value, true)),
            _ => None,
        }
    }

    fn new(op: BinaryOp, value: Cell, mirrored: bool) -> Simple {
        let ordered = match op {
            BinaryOp::Less => Some([!mirrored, false, mirrored]),
            BinaryOp::LessEqual => Some([!mirrored, true, mirrored]),
            BinaryOp::Greater => Some([mirrored, false, !mirrored]),
            BinaryOp::GreaterEqual => Some([mirrored, true, !mirrored]),
            BinaryOp::Equal => Some([false, true, false]),
            BinaryOp::NotEqual => Some([true, false, true]),
            _ => None,
        };
        Simple { op, value, mirrored, ordered }
    }

    /// Whether it is true where the attribute is this; none if only the evaluator knows. The outer none: it must be asked.
    pub(crate) fn holds(self, cell: Cell, words: &StringTable) -> Option<Option<bool>> {
        if let (Some([less, equal, greater]), Cell::Int(own), Cell::Int(value)) = (self.ordered, cell, self.value) {
            return Some(Some((own < value && less) | (own == value && equal) | (own > value && greater)));
        }
        let (left, right) = if self.mirrored { (self.value, cell) } else { (cell, self.value) };
        let cell = match ops::decided(self.op, left) {
            Some(cell) => cell,
            None => ops::binary(self.op, left, right, words)?,
        };
        Some((cell != Cell::Unknown).then(|| ops::is_true(cell, words)))
    }
}

/// What a term is evaluated against.
pub(crate) struct RowContext<'t> {
    pub(crate) columns: &'t Columns,
    pub(crate) words: &'t mut StringTable,
    /// With the bounds of a part of an evaluation, see [`partial`].
    pub(crate) context: &'t Context,
    /// Empty but while the evaluator is asked.
    env: Env<'t>,
}

impl<'t> RowContext<'t> {
    /// What is seen in these columns.
    pub(crate) fn new(columns: &'t Columns, words: &'t mut StringTable, context: &'t Context) -> RowContext<'t> {
        RowContext { columns, words, context, env: Env::new() }
    }
}

/// The bounds under which parts of expressions are computed: so small that all parts of a constraint together stay within
/// the bounds of one evaluation. What needs more is left to the evaluator.
pub(crate) fn partial(context: &Context) -> Context {
    let mut part = *context;
    part.limits.fuel /= 1000;
    part.limits.depth /= PART_OF_DEPTH;
    part
}

/// The functions that match a pattern.
const PATTERNS: [&str; 6] = ["regexp", "regexpMember", "regexps", "replace", "replaceAll", "stringList_regexpMember"];

/// How many times the fuel of other parts one that matches a pattern may take, and how many of these an expression may have.
const PATTERN_SHARE: u64 = 20;
pub(crate) const PATTERNS_MAX: usize = 16;

/// The depth of a part of an evaluation is one in so many of the depth of a whole one.
pub(crate) const PART_OF_DEPTH: usize = 4;

impl CompiledExpr {
    /// The term's value where `row` names the row bound at each port.
    pub(crate) fn value(&self, row_context: &mut RowContext<'_>, row: &dyn Fn(Var) -> usize) -> Cell {
        match self {
            CompiledExpr::Known(cell) => *cell,
            CompiledExpr::Now => Cell::Int(row_context.context.now),
            CompiledExpr::Column(var, column) => row_context.columns.cell(*column, row(*var)),
            CompiledExpr::Unary(op, operand) => {
                let operand = operand.value(row_context, row);
                ops::unary(*op, operand).unwrap_or_else(|| row_context.unary(*op, operand))
            }
            CompiledExpr::Binary(op, sides) => {
                let [left, right] = &**sides;
                let left = left.value(row_context, row);
                match ops::decided(*op, left) {
                    Some(cell) => cell,
                    None => {
                        let right = right.value(row_context, row);
                        ops::binary(*op, left, right, row_context.words)
                            .unwrap_or_else(|| row_context.binary(*op, left, right))
                    }
                }
            }
            CompiledExpr::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                match ops::truth(condition.value(row_context, row)) {
                    Ok(true) => then.value(row_context, row),
                    Ok(false) => otherwise.value(row_context, row),
                    Err(cell) => cell,
                }
            }
            CompiledExpr::Elvis(sides) => {
                let [value, fallback] = &**sides;
                match value.value(row_context, row) {
                    Cell::Undefined => fallback.value(row_context, row),
                    cell => cell,
                }
            }
            CompiledExpr::Residual(whole) => {
                let cells: SmallVec<[Cell; 4]> = whole.parts.iter().map(|part| part.value(row_context, row)).collect();
                let pair = match cells.as_slice() {
                    [one, other] if whole.pair => Some((whole.text, *one, *other)),
                    _ => None,
                };
                if let Some(said) = pair.and_then(|pair| row_context.words.said(&pair)) {
                    return said;
                }
                if let [Cell::Text(text)] = cells.as_slice()
                    && row_context.words.meter.has_fuel()
                    && let Some(cell) = whole.of_text(*text, row_context.context, row_context.words)
                {
                    return cell;
                }
                let context = whole.context(row_context.context);
                let cell = row_context.whole(&whole.expr, &whole.names, &cells, &context);
                if let Some(pair) = pair.filter(|_| !row_context.words.meter.is_dry()) {
                    row_context.words.say(pair, cell);
                }
                cell
            }
        }
    }

    /// Calls `see` with every port and column that the term reads.
    pub(crate) fn reads(&self, see: &mut dyn FnMut(Var, u32)) {
        match self {
            CompiledExpr::Known(_) | CompiledExpr::Now => {}
            CompiledExpr::Column(var, column) => see(*var, *column),
            CompiledExpr::Unary(_, operand) => operand.reads(see),
            CompiledExpr::Binary(_, sides) | CompiledExpr::Elvis(sides) => {
                sides.iter().for_each(|side| side.reads(see))
            }
            CompiledExpr::Choice(parts) => parts.iter().for_each(|part| part.reads(see)),
            CompiledExpr::Residual(whole) => whole.parts.iter().for_each(|part| part.reads(see)),
        }
    }

    /// Whether the value depends on the time.
    pub(crate) fn is_timely(&self) -> bool {
        match self {
            CompiledExpr::Now => true,
            CompiledExpr::Known(_) | CompiledExpr::Column(..) => false,
            CompiledExpr::Unary(_, operand) => operand.is_timely(),
            CompiledExpr::Binary(_, sides) | CompiledExpr::Elvis(sides) => sides.iter().any(CompiledExpr::is_timely),
            CompiledExpr::Choice(parts) => parts.iter().any(CompiledExpr::is_timely),
            CompiledExpr::Residual(whole) => whole.parts.iter().any(CompiledExpr::is_timely),
        }
    }

    /// Whether some part of it is for the evaluator.
    pub(crate) fn is_slow(&self) -> bool {
        match self {
            CompiledExpr::Now | CompiledExpr::Known(_) | CompiledExpr::Column(..) => false,
            CompiledExpr::Unary(_, operand) => operand.is_slow(),
            CompiledExpr::Binary(_, sides) | CompiledExpr::Elvis(sides) => sides.iter().any(CompiledExpr::is_slow),
            CompiledExpr::Choice(parts) => parts.iter().any(CompiledExpr::is_slow),
            CompiledExpr::Residual(_) => true,
        }
    }

    /// Changes the port of every attribute.
    pub(crate) fn rename(&mut self, by: &mut dyn FnMut(&mut Var)) {
        match self {
            CompiledExpr::Known(_) | CompiledExpr::Now => {}
            CompiledExpr::Column(var, _) => by(var),
            CompiledExpr::Unary(_, operand) => operand.rename(by),
            CompiledExpr::Binary(_, sides) | CompiledExpr::Elvis(sides) => {
                sides.iter_mut().for_each(|side| side.rename(by))
            }
            CompiledExpr::Choice(parts) => parts.iter_mut().for_each(|part| part.rename(by)),
            CompiledExpr::Residual(whole) => {
                let mut parts = whole.parts.clone();
                parts.iter_mut().for_each(|part| part.rename(by));
                *whole = Arc::new(whole.with(parts));
            }
        }
    }

    /// The ports that the term reads, as bits.
    pub(crate) fn vars(&self) -> u64 {
        let mut vars = 0;
        self.reads(&mut |var, _| vars |= 1u64 << (var & 63));
        vars
    }
}

impl RowContext<'_> {
    /// Whether a term is true; none if only the evaluator knows.
    pub(crate) fn holds(&mut self, term: &CompiledExpr, row: &dyn Fn(Var) -> usize) -> Option<bool> {
        match term.value(self, row) {
            Cell::Unknown => None,
            cell => Some(ops::is_true(cell, self.words)),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: Cell) -> Cell {
        let expr = Expr::unary(op, Expr::attribute(part_name(0)));
        self.whole(&expr, &[part_name(0)], &[operand], self.context)
    }

    fn binary(&mut self, op: BinaryOp, left: Cell, right: Cell) -> Cell {
        let expr = Expr::binary(op, Expr::attribute(part_name(0)), Expr::attribute(part_name(1)));
        self.whole(&expr, &[part_name(0), part_name(1)], &[left, right], self.context)
    }

    fn whole(&mut self, expr: &Expr, names: &[Name], cells: &[Cell], context: &Context) -> Cell {
        if cells.contains(&Cell::Unknown) || !self.words.meter.has_fuel() {
            return Cell::Unknown;
        }
        let mark = self.env.mark();
        let frame = self.env.frame(&self.columns.nothing, None);
        for (name, cell) in names.iter().zip(cells) {
            self.env.define(frame, name.clone(), self.words.value(*cell).unwrap_or(Value::Undefined));
        }
        let value = eval_billed(expr, &self.env, frame, context, &mut self.words.meter.bill);
        self.words.meter.settle();
        self.env.reset(mark);
        value.map_or(Cell::Unknown, |value| self.words.cell(&value))
    }
}

/// The name under which a part of a [`Residual`] is known.
fn part_name(number: usize) -> Name {
    Name::new(format!("_{number}"))
}

//! Compiled constraints and ranks: every name is resolved to a column of the partner at a port.
//!
//! A compiled expression is never printed and never parsed. On every row, its value must be that of the expression that it was
//! compiled from, or [`Cell::Unknown`], which leaves the row to the evaluator.

mod compile;
mod ops;
mod read_set;

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use classad::{BinaryOp, Context, Env, Expr, Kind, Name, TextTest, UnaryOp, Value, eval_billed};
use smallvec::SmallVec;

use crate::table::{Cell, Columns, StringTable, Symbol};

pub(crate) use compile::{Compiler, Side};
pub(crate) use ops::{is_true, number};
pub(crate) use read_set::{Attribute, ReadSet};

/// The number of a port of the root, and so of the partner that is bound there.
pub(crate) type Var = u8;

/// An expression over the attributes of partners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CompiledExpr {
    /// A value; or [`Cell::Unknown`] if only the evaluator can compute it.
    Known(Cell),
    /// The time of the cycle.
    Now,
    /// An attribute of the partner at a port, by the number of its column.
    Column(Var, u32),
    /// An operator with one operand.
    Unary(UnaryOp, Box<CompiledExpr>),
    /// An operator with two operands.
    Binary(BinaryOp, Box<[CompiledExpr; 2]>),
    /// `a ? b : c`
    Choice(Box<[CompiledExpr; 3]>),
    /// `a ?: b`
    Elvis(Box<[CompiledExpr; 2]>),
    /// A function, a list or a subscript of other terms, which the evaluator computes.
    Residual(Arc<Residual>),
}

/// An expression that the evaluator computes from the values of its parts.
#[derive(Debug)]
pub(crate) struct Residual {
    /// The expression, with `_0`, `_1` and so on in place of the parts.
    expr: Expr,
    names: Vec<Name>,
    parts: Vec<CompiledExpr>,
    /// The text of the expression, by which two of them are compared.
    text: Symbol,
    /// It has two parts, of two partners: the same pairs of values occur many times.
    pair: bool,
    /// It matches a pattern, and compiling that takes more fuel than other parts.
    pattern: bool,
    /// Its prepared predicate, if it is one on a text, after the first evaluation.
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

    /// The context in which it is evaluated, given that of other parts.
    fn context(&self, part: &Context) -> Context {
        let mut context = *part;
        if self.pattern {
            context.limits.fuel = context.limits.fuel.saturating_mul(PATTERN_SHARE);
        }
        context
    }

    /// Its value if its only part is this text, unless that needs an evaluation.
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

/// An operator between a column and a value.
pub(crate) struct WithKnown {
    op: BinaryOp,
    column: (Var, u32),
    value: Cell,
    /// The column is the right operand.
    mirrored: bool,
}

impl WithKnown {
    /// The column, the operator that compares the same with the column on the left, and the value.
    pub(crate) fn column_first(self) -> ((Var, u32), BinaryOp, Cell) {
        let op = if self.mirrored { self.op.mirrored() } else { self.op };
        (self.column, op, self.value)
    }
}

/// A comparison of one column with a value: most conditions are of this form.
#[derive(Clone, Copy)]
pub(crate) struct Simple {
    op: BinaryOp,
    value: Cell,
    /// The column is the right operand.
    mirrored: bool,
    /// For the comparison of integers: whether it is true if the column is less, equal, and greater.
    ordered: Option<[bool; 3]>,
}

impl Simple {
    /// The term as such a comparison, if it is one.
    pub(crate) fn of(term: &CompiledExpr) -> Option<Simple> {
        let WithKnown { op, value, mirrored, .. } = term.with_known()?;
        Some(Simple::new(op, value, mirrored))
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

    /// Whether it is true of a value of the column; the inner `None`: unknown; the outer `None`: the evaluator must compute it.
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

/// The context in which a term is evaluated.
pub(crate) struct RowContext<'t> {
    /// The columns of all ports.
    pub(crate) columns: &'t Columns,
    /// The strings that cells mean.
    pub(crate) words: &'t mut StringTable,
    /// Its limits are those of a part of an evaluation.
    pub(crate) context: &'t Context,
    /// Empty except during an evaluation.
    env: Env<'t>,
}

impl<'t> RowContext<'t> {
    /// A context with these columns.
    pub(crate) fn new(columns: &'t Columns, words: &'t mut StringTable, context: &'t Context) -> RowContext<'t> {
        RowContext { columns, words, context, env: Env::new() }
    }
}

/// The functions that match a pattern.
const PATTERNS: [&str; 6] = ["regexp", "regexpMember", "regexps", "replace", "replaceAll", "stringList_regexpMember"];

/// How many nodes are looked at in the time of a unit of fuel.
const NODES_OF_FUEL: usize = 4;

/// A part that matches a pattern may take so many times the fuel of other parts.
const PATTERN_SHARE: u64 = 20;
/// How many parts of an expression may match patterns.
pub(crate) const PATTERNS_MAX: usize = 16;

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

    /// The direct parts.
    fn parts(&self) -> &[CompiledExpr] {
        match self {
            CompiledExpr::Known(_) | CompiledExpr::Now | CompiledExpr::Column(..) => &[],
            CompiledExpr::Unary(_, operand) => std::slice::from_ref(&**operand),
            CompiledExpr::Binary(_, sides) | CompiledExpr::Elvis(sides) => &**sides,
            CompiledExpr::Choice(parts) => &**parts,
            CompiledExpr::Residual(whole) => &whole.parts,
        }
    }

    /// How many nodes it has.
    pub(crate) fn nodes(&self) -> usize {
        1 + self.parts().iter().map(CompiledExpr::nodes).sum::<usize>()
    }

    /// The fuel that it takes to look at so many rows, beside what the evaluator takes.
    pub(crate) fn fuel_of(&self, looks: usize) -> u64 {
        looks.saturating_mul(self.nodes()).div_ceil(NODES_OF_FUEL) as u64
    }

    /// Calls `see` with every port and column that the term reads.
    pub(crate) fn reads(&self, see: &mut dyn FnMut(Var, u32)) {
        if let CompiledExpr::Column(var, column) = self {
            see(*var, *column);
        }
        self.parts().iter().for_each(|part| part.reads(see));
    }

    /// The columns that the term reads, each once, of whatever port.
    pub(crate) fn columns(&self) -> Vec<u32> {
        let mut columns = Vec::new();
        self.reads(&mut |_, column| {
            if !columns.contains(&column) {
                columns.push(column);
            }
        });
        columns
    }

    /// The term as an operator between a column and a value, if it is one.
    pub(crate) fn with_known(&self) -> Option<WithKnown> {
        let CompiledExpr::Binary(op, sides) = self else { return None };
        let (column, value, mirrored) = match **sides {
            [CompiledExpr::Column(var, column), CompiledExpr::Known(value)] => ((var, column), value, false),
            [CompiledExpr::Known(value), CompiledExpr::Column(var, column)] => ((var, column), value, true),
            _ => return None,
        };
        Some(WithKnown { op: *op, column, value, mirrored })
    }

    /// The columns of port 0 and of another port that must be equal, if the term is such an equality.
    pub(crate) fn equality(&self, port: usize) -> Option<(u32, u32)> {
        let CompiledExpr::Binary(BinaryOp::Equal, sides) = self else { return None };
        match **sides {
            [CompiledExpr::Column(0, hub), CompiledExpr::Column(var, own)]
            | [CompiledExpr::Column(var, own), CompiledExpr::Column(0, hub)]
                if usize::from(var) == port =>
            {
                Some((hub, own))
            }
            _ => None,
        }
    }

    /// Whether the value depends on the time.
    pub(crate) fn is_timely(&self) -> bool {
        matches!(self, CompiledExpr::Now) || self.parts().iter().any(CompiledExpr::is_timely)
    }

    /// Whether the evaluator computes some part of it.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self, CompiledExpr::Residual(_)) || self.parts().iter().any(CompiledExpr::is_slow)
    }

    /// Changes the port of every column to `port`.
    pub(crate) fn at_port(&mut self, port: Var) {
        match self {
            CompiledExpr::Known(_) | CompiledExpr::Now => {}
            CompiledExpr::Column(var, _) => *var = port,
            CompiledExpr::Unary(_, operand) => operand.at_port(port),
            CompiledExpr::Binary(_, sides) | CompiledExpr::Elvis(sides) => {
                sides.iter_mut().for_each(|side| side.at_port(port))
            }
            CompiledExpr::Choice(parts) => parts.iter_mut().for_each(|part| part.at_port(port)),
            CompiledExpr::Residual(whole) => {
                let mut parts = whole.parts.clone();
                parts.iter_mut().for_each(|part| part.at_port(port));
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
    /// Whether a term is true; `None` if it is unknown.
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

/// The name of a part of a [`Residual`].
fn part_name(number: usize) -> Name {
    Name::new(format!("_{number}"))
}

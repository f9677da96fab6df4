//! An expression of a job into all values that it may have, whichever offers of a summary its partners are.
//!
//! Two uses of an attribute are independent of each other, and two attributes of one offer, too: what is ruled out is ruled out
//! for certain, and what is not may still be false of every offer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use classad::{BinaryOp, Call, Expr, Kind, Name};

use crate::closed::{Side, is_special};
use crate::operators::{WORKING, calculate, compare, identity, member, unary};
use crate::scope::{Meaning, Scope};
use crate::truth::{Outcomes, Truth};
use crate::values::Values;

/// How many parts of expressions are looked at for one conjunct, those of attributes that it reads included: beyond that it may have any
/// value.
const PARTS_MAX: u32 = 20_000;

/// How many parts an evaluation counts as: it may take a fraction of a millisecond.
const PARTS_OF_AN_EVALUATION: u32 = 40;

/// How deep parts may nest.
const DEPTH_MAX: u32 = 200;

/// Evaluates expressions in one scope.
pub(crate) struct Evaluator<'s, 'a> {
    scope: &'s Scope<'a>,
    parts: Cell<u32>,
    /// Attributes of the job that were looked at, by the identity of their expressions and whether they stand in the port.
    known: RefCell<BTreeMap<(usize, bool), Values>>,
    /// Those that are being looked at, outermost first.
    open: RefCell<Vec<(usize, bool)>>,
    /// Of these, the outermost one that was met again.
    met: Cell<Option<usize>>,
}

/// Whether a condition that stands in a port may be true: of some pair of values that it reads.
pub(crate) fn may_hold(condition: &Expr, scope: &Scope<'_>) -> bool {
    Outcomes::of_values(&values(condition, scope)).contains(Truth::True)
}

/// All values that an expression in a port may have.
pub(crate) fn values(expr: &Expr, scope: &Scope<'_>) -> Values {
    let evaluator = Evaluator {
        scope,
        parts: Cell::new(0),
        known: RefCell::default(),
        open: RefCell::default(),
        met: Cell::new(None),
    };
    evaluator.values(expr, &scope.side, 0)
}

impl<'a> Evaluator<'_, 'a> {
    fn values(&self, expr: &Expr, side: &Side<'a>, depth: u32) -> Values {
        self.parts.set(self.parts.get().saturating_add(1));
        if self.parts.get() > PARTS_MAX || depth > DEPTH_MAX {
            return Values::any();
        }
        let of = |part: &Expr| self.values(part, side, depth + 1);
        match expr.kind() {
            Kind::Literal(value) => Values::of(value, &WORKING),
            Kind::Parenthesized(inner) => of(inner),
            Kind::Attribute { name, absolute: false } => self.name(name, side, depth),
            Kind::Select { base, name } => self.select(base, name, side, depth),
            Kind::Unary { op, operand } => unary(*op, &of(operand)),
            Kind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), .. } => self.chain(*op, expr, side, depth),
            Kind::Binary { op, left, right } => binary(*op, &of(left), &of(right)),
            Kind::Conditional { condition, then, otherwise } => {
                let condition = Outcomes::of_values(&of(condition));
                let mut values = Values::from(
                    Outcomes::default()
                        .and_if(Truth::Undefined, condition.contains(Truth::Undefined))
                        .and_if(Truth::Error, condition.contains(Truth::Error)),
                );
                for (truth, branch) in [(Truth::True, then), (Truth::False, otherwise)] {
                    if condition.contains(truth) {
                        values = values.join(&of(branch), &WORKING);
                    }
                }
                values
            }
            Kind::Elvis { value, fallback } => elvis(of(value), || of(fallback)),
            Kind::Call(call) => self.call(call, expr, side, depth),
            Kind::List(_) | Kind::Subscript { .. } => self.own_value(expr, side).unwrap_or_else(Values::any),
            Kind::Attribute { absolute: true, .. } | Kind::Ad(_) => Values::any(),
        }
    }

    fn name(&self, name: &Name, side: &Side<'a>, depth: u32) -> Values {
        match self.scope.meaning(name, side) {
            Meaning::Own(expr, side) => self.own(expr, &side, depth),
            Meaning::Attribute(partner) => partner.attribute(name),
            Meaning::Undefined => Values::undefined(),
            Meaning::Partner(_) | Meaning::Myself | Meaning::Unknown => Values::any(),
        }
    }

    /// `base.name`
    fn select(&self, base: &Expr, name: &Name, side: &Side<'a>, depth: u32) -> Values {
        if let Some(base) = base.as_attribute() {
            match self.scope.meaning(base, side) {
                Meaning::Partner(partner) => return partner.attribute(name),
                Meaning::Myself if is_special(name) => return Values::any(),
                Meaning::Myself => {
                    let own = side.attribute(name);
                    return own.map_or_else(Values::undefined, |(expr, side)| self.own(expr, &side, depth));
                }
                _ => {}
            }
        }
        let base = self.values(base, side, depth + 1);
        if base.any {
            return base;
        }
        // Of what is neither an ad nor a list, nothing can be selected.
        let other = !base.bools.is_empty() || base.numbers.is_some() || base.texts.is_some();
        Values { undefined: base.undefined, error: base.error || other, ..Values::default() }
    }

    /// `a && b && c`, or the same with `||`: as deep as it is long on its left, and evaluated part by part.
    fn chain(&self, op: BinaryOp, expr: &Expr, side: &Side<'a>, depth: u32) -> Values {
        let absorbing = if op == BinaryOp::And { Truth::False } else { Truth::True };
        let (mut first, mut rest) = (expr, Vec::new());
        while let Kind::Binary { op: own, left, right } = first.kind()
            && *own == op
        {
            rest.push(right);
            first = left;
        }
        let outcomes = |part: &Expr| Outcomes::of_values(&self.values(part, side, depth + 1));
        let chained = |left: Outcomes, right: &Expr| left.combined(outcomes(right), absorbing);
        rest.into_iter().rev().fold(outcomes(first), chained).into()
    }

    /// An attribute of the job: its value if it depends on nothing else. The value of an attribute that reads itself depends on where
    /// evaluation enters the circle: it may be any.
    fn own(&self, expr: &Expr, side: &Side<'a>, depth: u32) -> Values {
        let place = (expr.id(), side.port.is_some());
        if let Some(values) = self.known.borrow().get(&place) {
            return values.clone();
        }
        let open = self.open.borrow().iter().position(|other| *other == place);
        if let Some(open) = open {
            self.met.set(Some(self.met.get().map_or(open, |met| met.min(open))));
            return Values::any();
        }
        let depth_of_open = self.open.borrow().len();
        self.open.borrow_mut().push(place);
        let mut values = self.own_value(expr, side).unwrap_or_else(|| self.values(expr, side, depth + 1));
        self.open.borrow_mut().pop();
        if self.met.get().is_some_and(|met| met <= depth_of_open) {
            values = Values::any();
            if self.met.get() == Some(depth_of_open) {
                self.met.set(None);
            }
        }
        self.known.borrow_mut().insert(place, values.clone());
        values
    }

    fn call(&self, call: &Call, expr: &Expr, side: &Side<'a>, depth: u32) -> Values {
        let of = |part: &Expr| self.values(part, side, depth + 1);
        let function = call.builtin().map(|builtin| builtin.name);
        match (function, &*call.arguments) {
            (Some("isUndefined"), [argument]) => {
                let argument = of(argument);
                let others = argument.may_be_error() || argument.may_be_proper();
                Outcomes::of(argument.may_be_undefined(), others).into()
            }
            (Some("isError"), [argument]) => {
                let argument = of(argument);
                let others = argument.may_be_undefined() || argument.may_be_proper();
                Outcomes::of(argument.may_be_error(), others).into()
            }
            (Some("member"), [wanted, list]) if list.as_list().is_some() => {
                let items: Vec<Values> = list.as_list().into_iter().flatten().map(of).collect();
                member(&of(wanted), &items)
            }
            _ => self.own_value(expr, side).unwrap_or_else(Values::any),
        }
    }

    /// The value of an expression that reads nothing but the job.
    fn own_value(&self, expr: &Expr, side: &Side<'_>) -> Option<Values> {
        if expr.as_literal().is_none() {
            self.parts.set(self.parts.get().saturating_add(PARTS_OF_AN_EVALUATION));
        }
        let value = if self.parts.get() > PARTS_MAX { None } else { side.value(expr) };
        value.map(|value| Values::of(&value, &WORKING))
    }
}

/// Any operator but `&&` and `||`.
fn binary(op: BinaryOp, left: &Values, right: &Values) -> Values {
    match op {
        BinaryOp::Is => identity(left, right).into(),
        BinaryOp::Isnt => identity(left, right).negated().into(),
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => compare(op, left, right),
        _ => calculate(op, left, right),
    }
}

/// `value ?: fallback`
fn elvis(value: Values, fallback: impl Fn() -> Values) -> Values {
    if value.any {
        return value;
    }
    if !value.undefined {
        return value;
    }
    Values { undefined: false, ..value }.join(&fallback(), &WORKING)
}

#[cfg(test)]
mod tests {
    use classad::{Ad, Dialect, parse_expr};

    use super::*;

    #[test]
    fn s1_a_condition_that_takes_thousands_of_evaluations_may_be_true() {
        let may = |calls: usize| {
            let parts: Vec<String> = (0..calls).map(|number| format!("size({{1, {number}}}) > 2")).collect();
            let (body, nothing) = (Ad::new(), Ad::new());
            let scope = Scope { side: Scope::side(&body, Some(&nothing), &[]), partners: &[], implicit: None };
            may_hold(&parse_expr(&parts.join(" || "), Dialect::Gangmatch).unwrap(), &scope)
        };
        assert_eq!([may(10), may(100), may(1000)], [false, false, true]);
    }
}

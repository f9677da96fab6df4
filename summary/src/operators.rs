//! Operators of the language over sets of values: every value that the operator may give for some pair.

use classad::{BinaryOp, UnaryOp};

use crate::limits::Limits;
use crate::numbers::Orders;
use crate::truth::{Outcomes, Truth};
use crate::values::Values;

/// In the course of an evaluation, lists may be longer than a summary publishes them: values of two kinds are joined.
pub(crate) const WORKING: Limits = Limits {
    values: 256,
    bloom_bits: 8192,
    attributes: usize::MAX,
    resources: usize::MAX,
    kinds: usize::MAX,
    bytes: usize::MAX,
};

/// `left op right` for any comparison: strict in ERROR, then in UNDEFINED.
pub(crate) fn compare(op: BinaryOp, left: &Values, right: &Values) -> Values {
    let mut outcomes = strict(left, right);
    let (numbers, other_numbers) = (left.as_numbers(&WORKING), right.as_numbers(&WORKING));
    if let (Some(one), Some(two)) = (&numbers, &other_numbers) {
        outcomes = add_order(outcomes, op, one.orders(two));
    }
    let (texts, other_texts) = (left.as_texts(), right.as_texts());
    if let (Some(one), Some(two)) = (texts, other_texts) {
        outcomes = add_order(outcomes, op, one.orders(two));
    }
    // A text compares with no number, and of lists, ads and times nothing is known.
    let mixed = texts.is_some() && other_numbers.is_some() || numbers.is_some() && other_texts.is_some();
    outcomes.and_if(Truth::Error, mixed).into()
}

/// What comes of operands that are ERROR or UNDEFINED.
fn strict(left: &Values, right: &Values) -> Outcomes {
    let undefined = left.may_be_undefined() && (right.may_be_undefined() || right.may_be_proper())
        || right.may_be_undefined() && left.may_be_proper();
    Outcomes::default()
        .and_if(Truth::Error, left.may_be_error() || right.may_be_error())
        .and_if(Truth::Undefined, undefined)
}

fn add_order(outcomes: Outcomes, op: BinaryOp, orders: Orders) -> Outcomes {
    let Orders { less, equal, greater } = orders;
    let (holds, fails) = match op {
        BinaryOp::Equal => (equal, less || greater),
        BinaryOp::NotEqual => (less || greater, equal),
        BinaryOp::Less => (less, equal || greater),
        BinaryOp::LessEqual => (less || equal, greater),
        BinaryOp::Greater => (greater, less || equal),
        _ => (greater || equal, less),
    };
    outcomes.and_if(Truth::True, holds).and_if(Truth::False, fails)
}

/// `left is right`: never UNDEFINED. What is equal may be the same or not, since neither the case of a text nor whether a number is an
/// integer is kept.
pub(crate) fn identity(left: &Values, right: &Values) -> Outcomes {
    if left.any || right.any {
        // Two lists, or two ads, cannot be told apart: ERROR.
        return Outcomes::of(true, true).and_if(Truth::Error, left.any && right.any);
    }
    let numbers = left.numbers.as_ref().zip(right.numbers.as_ref());
    let texts = left.texts.as_ref().zip(right.texts.as_ref());
    let same = left.undefined && right.undefined
        || left.error && right.error
        || !left.bools.is_disjoint(&right.bools)
        || numbers.is_some_and(|(one, two)| one.orders(two).equal)
        || texts.is_some_and(|(one, two)| one.orders(two).equal);
    Outcomes::of(same, !(left == right && is_one_value(left)))
}

/// Whether there is one value that these are, to its last detail.
fn is_one_value(values: &Values) -> bool {
    let certain = usize::from(values.undefined) + usize::from(values.error) + values.bools.len();
    certain == 1 && values.numbers.is_none() && values.texts.is_none()
}

/// `left op right` for arithmetic and for bits: strict in ERROR, then in UNDEFINED; a text makes it ERROR.
pub(crate) fn calculate(op: BinaryOp, left: &Values, right: &Values) -> Values {
    let (numbers, other_numbers) = (left.as_numbers(&WORKING), right.as_numbers(&WORKING));
    let text = left.as_texts().is_some() && right.may_be_proper() || right.as_texts().is_some() && left.may_be_proper();
    let values = Values::from(strict(left, right).and_if(Truth::Error, text));
    match numbers.zip(other_numbers) {
        Some((one, two)) => match one.calculate(op, &two) {
            Some(numbers) => Values { numbers: Some(numbers), ..values },
            None => Values::any(),
        },
        None => values,
    }
}

/// `op operand` for any operator with one operand.
pub(crate) fn unary(op: UnaryOp, operand: &Values) -> Values {
    if op == UnaryOp::Not {
        return Outcomes::of_values(operand).negated().into();
    }
    if operand.any {
        return Values::any();
    }
    let error = operand.error || !operand.bools.is_empty() || operand.texts.is_some();
    let rest = Values { undefined: operand.undefined, error, ..Values::default() };
    let Some(numbers) = &operand.numbers else { return rest };
    let numbers = match op {
        UnaryOp::Minus => numbers.negated(),
        UnaryOp::Plus => Some(numbers.clone()),
        _ => None,
    };
    numbers.map_or_else(Values::any, |numbers| Values { numbers: Some(numbers), ..rest })
}

/// `member(wanted, {items})`: whether some item `==` what is wanted; items that do not compare with it do not count.
pub(crate) fn member(wanted: &Values, items: &[Values]) -> Values {
    if wanted.any {
        return Values::any();
    }
    let proper = Values { undefined: false, error: false, ..wanted.clone() };
    let mut outcomes =
        Outcomes::default().and_if(Truth::Undefined, wanted.undefined).and_if(Truth::Error, wanted.error);
    if proper.may_be_proper() {
        let equal = |item: &Values| compare(BinaryOp::Equal, item, &proper);
        let comparisons: Vec<Values> = items.iter().map(equal).collect();
        let always = |truths: &Values| *truths == Values::from(Outcomes::of(true, false));
        outcomes = outcomes
            .and_if(Truth::True, comparisons.iter().any(|truths| truths.any || truths.bools.contains(&true)))
            .and_if(Truth::False, !comparisons.iter().any(always));
    }
    outcomes.into()
}

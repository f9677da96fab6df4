//! Functions that reduce a list of numbers: sum, average, minimum, maximum.

use crate::builtins::arguments::argument;
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::Lazy;
use crate::eval::ops;
use crate::expr::BinaryOp;
use crate::value::to_real;

/// The numbers of the list without UNDEFINED elements; or the value of the call if there is no such list.
fn numbers<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Bounded<Result<Vec<Lazy<'e>>, Lazy<'e>>> {
    let items = match argument(arguments, 0) {
        Lazy::Undefined => return Ok(Err(Lazy::Undefined)),
        Lazy::List(items) => evaluator.items(items)?,
        _ => return Ok(Err(Lazy::Error)),
    };
    evaluator.take(items.len().saturating_mul(size_of::<Lazy<'_>>()))?;
    let mut numbers = Vec::new();
    for item in &*items {
        match item {
            Lazy::Undefined => {}
            Lazy::Boolean(_) | Lazy::Integer(_) | Lazy::Real(_) => numbers.push(item.clone()),
            _ => return Ok(Err(Lazy::Error)),
        }
    }
    Ok(Ok(numbers))
}

/// `sum(list)`
pub(crate) fn sum<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(numbers(evaluator, arguments)?.map_or_else(|instead| instead, |numbers| total(&numbers)))
}

fn total<'e>(numbers: &[Lazy<'e>]) -> Lazy<'e> {
    let sum = numbers.iter().cloned().reduce(|sum, number| ops::binary(BinaryOp::Add, &sum, &number));
    sum.unwrap_or(Lazy::Integer(0))
}

/// `avg(list)`
pub(crate) fn avg<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let numbers = match numbers(evaluator, arguments)? {
        Err(instead) => return Ok(instead),
        Ok(numbers) => numbers,
    };
    if numbers.is_empty() {
        return Ok(Lazy::Integer(0));
    }
    let count = Lazy::Real(to_real(i64::try_from(numbers.len()).unwrap_or(i64::MAX)));
    Ok(ops::binary(BinaryOp::Divide, &total(&numbers), &count))
}

/// `min(list)`, `max(list)`: the first of the best numbers. Numbers that are compared become reals if one of them is a real, else
/// integers, booleans too.
pub(crate) fn extreme<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>], better: BinaryOp) -> Outcome<'e> {
    let numbers = match numbers(evaluator, arguments)? {
        Err(instead) => return Ok(instead),
        Ok(numbers) => numbers,
    };
    let best = numbers.into_iter().reduce(|best, number| {
        let (best, number) = same_type(best, number);
        if ops::binary(better, &number, &best).truth() == Some(true) { number } else { best }
    });
    Ok(best.unwrap_or(Lazy::Undefined))
}

fn same_type<'e>(left: Lazy<'e>, right: Lazy<'e>) -> (Lazy<'e>, Lazy<'e>) {
    let real = |value: &Lazy| value.number().map_or(Lazy::Error, Lazy::Real);
    let integer = |value: Lazy<'e>| match value {
        Lazy::Boolean(truth) => Lazy::Integer(i64::from(truth)),
        other => other,
    };
    if matches!(left, Lazy::Real(_)) || matches!(right, Lazy::Real(_)) {
        (real(&left), real(&right))
    } else {
        (integer(left), integer(right))
    }
}

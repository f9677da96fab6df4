//! Functions that search and measure lists.

use crate::builtins::arguments::argument;
use crate::eval::evaluator::{Evaluator, Outcome};
use crate::eval::lazy::Lazy;
use crate::eval::{logic, ops};
use crate::expr::BinaryOp;

/// `size(x)`
pub(crate) fn size<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::Undefined => Lazy::Undefined,
        Lazy::List(items) => Lazy::length(items.len()),
        Lazy::Ad(scope) => Lazy::length(evaluator.ad(*scope).map_or(0, crate::Ad::shown_len)),
        Lazy::String(text) => Lazy::length(text.len()),
        _ => Lazy::Error,
    })
}

/// `member(x, list)`: some element `== x`.
pub(crate) fn member<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (wanted, list) = (argument(arguments, 0), argument(arguments, 1));
    match (wanted, list) {
        (Lazy::Undefined, _) | (_, Lazy::Undefined) => Ok(Lazy::Undefined),
        (Lazy::Error | Lazy::List(_) | Lazy::Ad(_), _) => Ok(Lazy::Error),
        (_, Lazy::List(items)) => {
            let items = evaluator.items(items)?;
            for item in &*items {
                evaluator.compare_values(item, wanted)?;
                if ops::binary(BinaryOp::Equal, item, wanted).truth() == Some(true) {
                    return Ok(Lazy::Boolean(true));
                }
            }
            Ok(Lazy::Boolean(false))
        }
        _ => Ok(Lazy::Error),
    }
}

/// `identicalMember(x, list)`: some element `is x`.
pub(crate) fn identical_member<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (wanted, list) = (argument(arguments, 0), argument(arguments, 1));
    match (wanted, list) {
        (_, Lazy::Undefined) => Ok(Lazy::Undefined),
        (Lazy::List(_) | Lazy::Ad(_), _) => Ok(Lazy::Error),
        (_, Lazy::List(items)) => {
            let items = evaluator.items(items)?;
            for item in &*items {
                evaluator.compare_values(item, wanted)?;
                if logic::identical(item, wanted) == Some(true) {
                    return Ok(Lazy::Boolean(true));
                }
            }
            Ok(Lazy::Boolean(false))
        }
        _ => Ok(Lazy::Error),
    }
}

/// `anyCompare(op, list, x)`, `allCompare(op, list, x)`: compares one element after the other until a comparison is `deciding`; an
/// UNDEFINED comparison makes the result false.
pub(crate) fn compare_each<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>], deciding: bool) -> Outcome<'e> {
    let (op, list, wanted) = (argument(arguments, 0), argument(arguments, 1), argument(arguments, 2));
    let op = match op {
        Lazy::Undefined => return Ok(Lazy::Undefined),
        Lazy::String(text) => comparison(text),
        _ => None,
    };
    let Some(op) = op else { return Ok(Lazy::Error) };
    let items = match list {
        Lazy::Undefined => return Ok(Lazy::Undefined),
        Lazy::List(items) => evaluator.items(items)?,
        _ => return Ok(Lazy::Error),
    };
    for item in &*items {
        evaluator.compare_values(item, wanted)?;
        let result = match op {
            BinaryOp::Is => logic::identical(item, wanted).map_or(Lazy::Error, Lazy::Boolean),
            BinaryOp::Isnt => logic::identical(item, wanted).map_or(Lazy::Error, |same| Lazy::Boolean(!same)),
            op => ops::binary(op, item, wanted),
        };
        match result {
            Lazy::Boolean(truth) if truth == deciding => return Ok(Lazy::Boolean(deciding)),
            Lazy::Boolean(_) => {}
            Lazy::Undefined => return Ok(Lazy::Boolean(false)),
            _ => return Ok(Lazy::Error),
        }
    }
    Ok(Lazy::Boolean(!deciding))
}

fn comparison(symbol: &str) -> Option<BinaryOp> {
    const COMPARISONS: [BinaryOp; 8] = [
        BinaryOp::Less,
        BinaryOp::LessEqual,
        BinaryOp::NotEqual,
        BinaryOp::Equal,
        BinaryOp::Greater,
        BinaryOp::GreaterEqual,
        BinaryOp::Is,
        BinaryOp::Isnt,
    ];
    COMPARISONS.into_iter().find(|op| op.symbol() == symbol)
}

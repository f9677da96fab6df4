//! Strings that list items between delimiters, as HTCondor's older attributes do.

use crate::builtins::arguments::{argument, strict};
use crate::builtins::number::{prefix, whole};
use crate::eval::costs::READ;
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::Lazy;
use crate::value::to_real;

/// The delimiters of items unless a call names others.
pub(crate) const DELIMITERS: &str = " ,";
/// The default delimiters of the functions for membership.
const MEMBER_DELIMITERS: &str = ", \t\r\n";
/// The default delimiters of [`split`].
const SPLIT_DELIMITERS: &str = ", \t";

/// The items between delimiters, blanks around them and empty ones dropped.
pub(crate) fn items<'t>(text: &'t str, delimiters: &str) -> Vec<&'t str> {
    text.split(|character| delimiters.contains(character)).map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// The text between delimiters as it stands, empty items dropped.
fn pieces<'t>(text: &'t str, delimiters: &str) -> Vec<&'t str> {
    text.split(|character| delimiters.contains(character)).filter(|item| !item.is_empty()).collect()
}

/// Steps that it takes to find the items of a text.
pub(crate) fn steps(text: &str, delimiters: &str) -> usize {
    (text.len() / 4).saturating_mul(1 + delimiters.len() / 32)
}

/// Pays for the items of a text: each letter is looked for among the delimiters.
pub(crate) fn pay(evaluator: &mut Evaluator<'_>, text: &str, delimiters: &str) -> Bounded<()> {
    evaluator.spend(steps(text, delimiters))?;
    evaluator.take(text.len().saturating_mul(8))
}

/// Pays for the list and the delimiters among the arguments.
fn pay_for<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Bounded<()> {
    match (text(arguments, 0), delimiters(arguments, 1)) {
        (Some(list), Some(delimiters)) => pay(evaluator, list, delimiters),
        _ => Ok(()),
    }
}

/// The string at `index`; none if it is something else.
fn text<'a>(arguments: &'a [Lazy<'_>], index: usize) -> Option<&'a str> {
    match argument(arguments, index) {
        Lazy::String(text) => Some(text),
        _ => None,
    }
}

/// The delimiters at `index`, or the usual ones if there are so few arguments.
pub(crate) fn delimiters<'a>(arguments: &'a [Lazy<'_>], index: usize) -> Option<&'a str> {
    if arguments.len() <= index { Some(DELIMITERS) } else { text(arguments, index) }
}

/// `stringListSize(s)`
pub(crate) fn size<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    pay_for(evaluator, arguments)?;
    Ok(match (text(arguments, 0), delimiters(arguments, 1)) {
        (Some(list), Some(delimiters)) => Lazy::length(items(list, delimiters).len()),
        _ => Lazy::Error,
    })
}

/// The items as numbers, and whether all are written as integers.
fn numbers(arguments: &[Lazy]) -> Option<(Vec<f64>, bool)> {
    let items = items(text(arguments, 0)?, delimiters(arguments, 1)?);
    let digits = |item: &&str| item.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'));
    let integers = items.iter().all(digits);
    let numbers = items.into_iter().map(prefix).collect::<Option<Vec<_>>>()?;
    Some((numbers, integers))
}

/// An integer if all items were, else a real.
fn number<'e>(value: f64, integer: bool) -> Lazy<'e> {
    if integer { whole(value) } else { Lazy::Real(value) }
}

/// `stringListSum(s)`
pub(crate) fn sum<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    pay_for(evaluator, arguments)?;
    Ok(match numbers(arguments) {
        None => Lazy::Error,
        Some((numbers, integers)) => number(numbers.iter().sum::<f64>() + 0.0, integers && !numbers.is_empty()),
    })
}

/// `stringListAvg(s)`
pub(crate) fn avg<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    pay_for(evaluator, arguments)?;
    Ok(match numbers(arguments) {
        None => Lazy::Error,
        Some((numbers, _)) if numbers.is_empty() => Lazy::Real(0.0),
        // Of integers the mean is an integer too, as in the reference; its manual says otherwise, its tests do not.
        Some((numbers, integers)) => {
            let count = to_real(i64::try_from(numbers.len()).unwrap_or(i64::MAX));
            number(numbers.iter().sum::<f64>() / count, integers)
        }
    })
}

/// `stringListMin(s)`, `stringListMax(s)`
pub(crate) fn extreme<'e>(
    evaluator: &mut Evaluator<'e>,
    arguments: &[Lazy<'e>],
    better: fn(f64, f64) -> f64,
) -> Outcome<'e> {
    pay_for(evaluator, arguments)?;
    Ok(match numbers(arguments) {
        None => Lazy::Error,
        Some((numbers, integers)) => {
            numbers.into_iter().reduce(better).map_or(Lazy::Undefined, |best| number(best, integers))
        }
    })
}

/// `stringListMember(x, s)`, with or without regard to case.
pub(crate) fn member<'e>(
    evaluator: &mut Evaluator<'e>,
    arguments: &[Lazy<'e>],
    same: fn(&str, &str) -> bool,
) -> Outcome<'e> {
    match forgiving(arguments) {
        Ok((wanted, list, delimiters)) => {
            pay(evaluator, list, delimiters)?;
            Ok(Lazy::Boolean(items(list, delimiters).into_iter().any(|item| same(item, wanted))))
        }
        Err(instead) => Ok(instead),
    }
}

/// Two strings and the delimiters. One UNDEFINED string counts as empty, UNDEFINED delimiters as the usual ones.
fn forgiving<'a>(arguments: &'a [Lazy<'_>]) -> Result<(&'a str, &'a str, &'a str), Lazy<'static>> {
    let (first, second) = (argument(arguments, 0), argument(arguments, 1));
    if let (Lazy::Undefined, Lazy::Undefined) = (first, second) {
        return Err(Lazy::Undefined);
    }
    let delimiters = match arguments.get(2) {
        None | Some(Lazy::Undefined) => Some(MEMBER_DELIMITERS),
        Some(Lazy::String(delimiters)) => Some(&**delimiters),
        Some(_) => None,
    };
    match (text_or_empty(first), text_or_empty(second), delimiters) {
        (Some(first), Some(second), Some(delimiters)) => Ok((first, second, delimiters)),
        _ => Err(Lazy::Error),
    }
}

fn text_or_empty<'a>(value: &'a Lazy<'_>) -> Option<&'a str> {
    match value {
        Lazy::Undefined => Some(""),
        Lazy::String(text) => Some(text),
        _ => None,
    }
}

/// `stringListSubsetMatch(a, b)`, with or without regard to case. An empty text is a subset of every list; a text of delimiters alone
/// is a subset of none.
pub(crate) fn subset<'e>(
    evaluator: &mut Evaluator<'e>,
    arguments: &[Lazy<'e>],
    same: fn(&str, &str) -> bool,
) -> Outcome<'e> {
    match forgiving(arguments) {
        Ok((part, whole, delimiters)) => {
            pay(evaluator, part, delimiters)?;
            pay(evaluator, whole, delimiters)?;
            let length = whole.len();
            let (parts, whole) = (items(part, delimiters), items(whole, delimiters));
            evaluator.spend(parts.len().saturating_mul(whole.len() + length / READ))?;
            let within = |item: &&str| whole.iter().any(|other| same(other, item));
            Ok(Lazy::Boolean(if parts.is_empty() { part.is_empty() } else { parts.iter().all(within) }))
        }
        Err(instead) => Ok(instead),
    }
}

/// `stringListsIntersect(a, b)`
pub(crate) fn intersect<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    if let Some(value) = strict(arguments) {
        return Ok(value);
    }
    match (text(arguments, 0), text(arguments, 1), delimiters(arguments, 2)) {
        (Some(left), Some(right), Some(delimiters)) => {
            let delimiters = if delimiters.is_empty() { DELIMITERS } else { delimiters };
            pay(evaluator, left, delimiters)?;
            pay(evaluator, right, delimiters)?;
            let length = right.len();
            let (left, right) = (pieces(left, delimiters), pieces(right, delimiters));
            evaluator.spend(left.len().saturating_mul(right.len() + length / READ))?;
            Ok(Lazy::Boolean(left.iter().any(|item| right.contains(item))))
        }
        _ => Ok(Lazy::Error),
    }
}

/// `split(s [, delimiters])`: the text between delimiters as it stands. Empty items are dropped, but for those between two
/// equal delimiters that are not blank.
pub(crate) fn split<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let delimiters = if arguments.len() < 2 { Some(SPLIT_DELIMITERS) } else { text(arguments, 1) };
    let (Some(text), Some(delimiters)) = (text(arguments, 0), delimiters) else { return Ok(Lazy::Error) };
    pay(evaluator, text, delimiters)?;
    let is_blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let (mut items, mut start, mut last): (Vec<&str>, usize, Option<char>) = (Vec::new(), 0, None);
    for (end, delimiter) in text.match_indices(|c| delimiters.contains(c)) {
        let item = text.get(start..end).unwrap_or_default();
        let delimiter = delimiter.chars().next().filter(|c| !is_blank(*c));
        if !item.is_empty() || delimiter.is_some() && delimiter == last {
            items.push(item);
        }
        last = delimiter.or(last);
        start = end + text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
    items.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    evaluator.strings(items)
}

//! Strings that list items between delimiters, as HTCondor's older attributes do.

use crate::builtins::number::prefix;
use crate::builtins::{argument, strict};
use crate::eval::lazy::Lazy;
use crate::eval::machine::{Machine, Outcome};
use crate::text::number::to_real;

/// What separates items unless a call says otherwise.
pub(crate) const DELIMITERS: &str = " ,";

/// The items between delimiters, blanks around them and empty ones dropped.
pub(crate) fn items<'t>(text: &'t str, delimiters: &str) -> Vec<&'t str> {
    text.split(|character| delimiters.contains(character)).map(str::trim).filter(|item| !item.is_empty()).collect()
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

pub(crate) fn size<'e>(_: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match (text(arguments, 0), delimiters(arguments, 1)) {
        (Some(list), Some(delimiters)) => Lazy::length(items(list, delimiters).len()),
        _ => Lazy::Error,
    })
}

/// The items as numbers, and whether all are written as integers.
fn numbers(arguments: &[Lazy]) -> Option<(Vec<f64>, bool)> {
    let items = items(text(arguments, 0)?, delimiters(arguments, 1)?);
    let whole = |item: &&str| item.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'));
    let integers = items.iter().all(whole);
    let numbers = items.into_iter().map(prefix).collect::<Option<Vec<_>>>()?;
    Some((numbers, integers))
}

/// An integer if all items were, else a real.
fn number<'e>(value: f64, integer: bool) -> Lazy<'e> {
    if integer { crate::builtins::number::whole(value) } else { Lazy::Real(value) }
}

pub(crate) fn sum<'e>(_: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match numbers(arguments) {
        None => Lazy::Error,
        Some((numbers, integers)) => number(numbers.iter().sum::<f64>() + 0.0, integers && !numbers.is_empty()),
    })
}

pub(crate) fn avg<'e>(_: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
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

pub(crate) fn min<'e>(_: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(extreme(arguments, f64::min))
}

pub(crate) fn max<'e>(_: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(extreme(arguments, f64::max))
}

fn extreme<'e>(arguments: &[Lazy<'e>], better: fn(f64, f64) -> f64) -> Lazy<'e> {
    match numbers(arguments) {
        None => Lazy::Error,
        Some((numbers, integers)) => {
            numbers.into_iter().reduce(better).map_or(Lazy::Undefined, |best| number(best, integers))
        }
    }
}

pub(crate) fn member<'e>(_: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(has_member(arguments, str::eq))
}

pub(crate) fn member_any_case<'e>(_: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(has_member(arguments, str::eq_ignore_ascii_case))
}

fn has_member<'e>(arguments: &[Lazy<'e>], same: fn(&str, &str) -> bool) -> Lazy<'e> {
    match forgiving(arguments) {
        Ok((wanted, list, delimiters)) => {
            Lazy::Boolean(items(list, delimiters).into_iter().any(|item| same(item, wanted)))
        }
        Err(instead) => instead,
    }
}

/// Two strings and the delimiters. One UNDEFINED string counts as empty, UNDEFINED delimiters as the usual ones.
fn forgiving<'a>(arguments: &'a [Lazy<'_>]) -> Result<(&'a str, &'a str, &'a str), Lazy<'static>> {
    let (first, second) = (argument(arguments, 0), argument(arguments, 1));
    if let (Lazy::Undefined, Lazy::Undefined) = (first, second) {
        return Err(Lazy::Undefined);
    }
    let delimiters = match arguments.get(2) {
        None | Some(Lazy::Undefined) => Some(DELIMITERS),
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

pub(crate) fn subset<'e>(machine: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    is_subset(machine, arguments, str::eq)
}

pub(crate) fn subset_any_case<'e>(machine: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    is_subset(machine, arguments, str::eq_ignore_ascii_case)
}

/// An empty text is a subset of every list; a text of delimiters alone is none of any.
fn is_subset<'e>(machine: &mut Machine<'e>, arguments: &[Lazy<'e>], same: fn(&str, &str) -> bool) -> Outcome<'e> {
    match forgiving(arguments) {
        Ok((part, whole, delimiters)) => {
            let (parts, whole) = (items(part, delimiters), items(whole, delimiters));
            machine.spend(parts.len().saturating_mul(whole.len()))?;
            let within = |item: &&str| whole.iter().any(|other| same(other, item));
            Ok(Lazy::Boolean(if parts.is_empty() { part.is_empty() } else { parts.iter().all(within) }))
        }
        Err(instead) => Ok(instead),
    }
}

pub(crate) fn intersect<'e>(machine: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    if let Some(value) = strict(arguments) {
        return Ok(value);
    }
    match (text(arguments, 0), text(arguments, 1), delimiters(arguments, 2)) {
        (Some(left), Some(right), Some(delimiters)) => {
            let (left, right) = (items(left, delimiters), items(right, delimiters));
            machine.spend(left.len().saturating_mul(right.len()))?;
            Ok(Lazy::Boolean(left.iter().any(|item| right.contains(item))))
        }
        _ => Ok(Lazy::Error),
    }
}

/// `split(s [, delimiters])`: an empty item stands between two equal delimiters, except blanks.
pub(crate) fn split<'e>(machine: &mut Machine<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (Some(text), Some(delimiters)) = (text(arguments, 0), delimiters(arguments, 1)) else {
        return Ok(Lazy::Error);
    };
    machine.spend(text.len() / 8)?;
    let mut items: Vec<&str> = Vec::new();
    let mut rest = text.trim_start_matches(|c: char| delimiters.contains(c) || c.is_ascii_whitespace());
    while !rest.is_empty() {
        let end = rest.find(|c| delimiters.contains(c)).unwrap_or(rest.len());
        let (item, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        items.push(item.trim());
        rest = after;
        // One delimiter ends the item; a further one of the same kind makes an empty item, others are passed over.
        let Some(delimiter) = rest.chars().next() else { break };
        rest = rest.get(delimiter.len_utf8()..).unwrap_or_default();
        let mut empty = 0;
        loop {
            match rest.chars().next() {
                Some(c) if c == delimiter && !c.is_ascii_whitespace() => empty += 1,
                Some(c) if delimiters.contains(c) || c.is_ascii_whitespace() => {}
                _ => break,
            }
            let length = rest.chars().next().map_or(0, char::len_utf8);
            rest = rest.get(length..).unwrap_or_default();
        }
        if !rest.is_empty() {
            items.extend(std::iter::repeat_n("", empty));
        }
    }
    Ok(Lazy::strings(items))
}

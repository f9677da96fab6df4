//! Functions of strings: joining, cutting, comparing. Positions count bytes, letters are ASCII.

use std::cmp::Ordering;

use crate::builtins::arguments::argument;
use crate::eval::evaluator::{Evaluator, Outcome};
use crate::eval::lazy::{Elements, Lazy};

/// `strcat(x, ...)`: the first argument that is UNDEFINED or ERROR decides.
pub(crate) fn strcat<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let mut whole = String::new();
    for value in arguments {
        match evaluator.text(value)? {
            Ok(text) => whole.push_str(&text),
            Err(instead) => return Ok(instead),
        }
        evaluator.fits(whole.len())?;
    }
    evaluator.string(whole)
}

/// `join(sep, x, ...)`, `join(sep, list)`, `join(list)`: UNDEFINED items are left out.
pub(crate) fn join<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (separator, items) = match arguments {
        [Lazy::List(items)] => ("".into(), evaluator.items(items)?),
        [Lazy::Undefined] => return Ok(Lazy::Undefined),
        [separator, rest @ ..] => {
            let separator = match evaluator.text(separator)? {
                Ok(text) => text,
                Err(Lazy::Undefined) => "".into(),
                Err(error) => return Ok(error),
            };
            match rest {
                [Lazy::List(items)] => (separator, evaluator.items(items)?),
                [] => return evaluator.string(""),
                rest => (separator, Elements::Evaluated(rest.to_vec())),
            }
        }
        [] => return evaluator.string(""),
    };
    let mut whole = String::new();
    let mut defined = items.is_empty();
    for item in &*items {
        match evaluator.text(item)? {
            Ok(text) => {
                // The reference separates only from what is there: an empty first item leaves no trace.
                if !whole.is_empty() {
                    evaluator.charge(separator.len())?;
                    whole.push_str(&separator);
                }
                whole.push_str(&text);
                defined = true;
            }
            Err(Lazy::Undefined) => {}
            Err(error) => return Ok(error),
        }
        evaluator.fits(whole.len())?;
    }
    if defined { evaluator.string(whole) } else { Ok(Lazy::Undefined) }
}

/// `toUpper(s)`, `toLower(s)`
pub(crate) fn changed<'e>(
    evaluator: &mut Evaluator<'e>,
    arguments: &[Lazy<'e>],
    change: fn(&str) -> String,
) -> Outcome<'e> {
    match evaluator.text(argument(arguments, 0))? {
        Ok(text) => evaluator.string(change(&text)),
        Err(instead) => Ok(instead),
    }
}

/// `substr(s, offset [, length])`: negative offsets count from the end, negative lengths leave so much off the end.
pub(crate) fn substr<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    if arguments.iter().any(|argument| matches!(argument, Lazy::Undefined)) {
        return Ok(Lazy::Undefined);
    }
    let (Lazy::String(text), Lazy::Integer(offset)) = (argument(arguments, 0), argument(arguments, 1)) else {
        return Ok(Lazy::Error);
    };
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let start = if *offset < 0 { size.saturating_add(*offset) } else { *offset }.clamp(0, size);
    let end = match arguments.get(2) {
        None => size,
        Some(Lazy::Integer(length)) if *length < 0 => size.saturating_add(*length),
        Some(Lazy::Integer(length)) => start.saturating_add(*length),
        Some(_) => return Ok(Lazy::Error),
    }
    .clamp(start, size);
    let bytes = |at: i64| usize::try_from(at).unwrap_or(0);
    evaluator.charge(text.len())?;
    let part = text.as_bytes().get(bytes(start)..bytes(end)).unwrap_or_default();
    // A cut through a character leaves the replacement character: strings are always UTF-8.
    evaluator.string(String::from_utf8_lossy(part))
}

/// `strcmp(a, b)`, `stricmp(a, b)`: -1, 0 or 1.
pub(crate) fn compared<'e>(
    evaluator: &mut Evaluator<'e>,
    arguments: &[Lazy<'e>],
    compare: fn(&str, &str) -> Ordering,
) -> Outcome<'e> {
    let left = evaluator.text(argument(arguments, 0))?;
    let right = evaluator.text(argument(arguments, 1))?;
    Ok(match (left, right) {
        (Err(Lazy::Undefined), _) | (_, Err(Lazy::Undefined)) => Lazy::Undefined,
        (Err(error), _) | (_, Err(error)) => error,
        (Ok(left), Ok(right)) => {
            evaluator.compare(&left, &right)?;
            Lazy::Integer(match compare(&left, &right) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            })
        }
    })
}

/// `splitUserName("u@d")`: a name without `@` is a user.
pub(crate) fn split_user_name<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let Lazy::String(text) = argument(arguments, 0) else { return Ok(Lazy::Error) };
    let (user, domain) = text.split_once('@').unwrap_or((text, ""));
    evaluator.strings([user, domain])
}

/// `splitSlotName("slot1@host")`: a name without `@` is a host.
pub(crate) fn split_slot_name<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let Lazy::String(text) = argument(arguments, 0) else { return Ok(Lazy::Error) };
    let (slot, host) = text.split_once('@').unwrap_or(("", text));
    evaluator.strings([slot, host])
}

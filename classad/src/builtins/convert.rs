//! Values into values of another type: string, int, real, bool; and tests of type.

use std::sync::Arc;

use crate::builtins::argument;
use crate::builtins::number::{as_real, prefix, whole};
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::{Chars, Items, Lazy};
use crate::expr::{Expr, Kind};
use crate::value::Value;

/// What a node takes that is made to be printed: steps, and bytes.
const WRITTEN: usize = 4;
const WRITTEN_BYTES: usize = 96;

/// A value as text, or why there is none.
pub(crate) enum Text<'e> {
    Is(Chars<'e>),
    Undefined,
    Error,
}

impl<'e> Evaluator<'e> {
    /// The expression that a value is written as: lists and ads with their expressions, not their values. Lists that were made
    /// nest only so deep; what they share stands in the expression as often as it is printed.
    pub(crate) fn written(&mut self, value: &Lazy<'e>) -> Bounded<Expr> {
        self.spend(WRITTEN)?;
        self.take(WRITTEN_BYTES)?;
        Ok(match value {
            Lazy::List(Items::Written(items, _)) => Expr::new(Kind::List(Arc::clone(items)), crate::Span::default()),
            Lazy::List(Items::Computed(list)) => {
                let items: Bounded<Vec<Expr>> = list.items.iter().map(|item| self.written(item)).collect();
                Expr::list(items?)
            }
            Lazy::Ad(scope) => Expr::ad(self.ad(*scope).cloned().unwrap_or_default()),
            scalar => Expr::literal(scalar.to_scalar().unwrap_or(Value::Error)),
        })
    }

    /// The value as it is written.
    pub(crate) fn written_text(&mut self, value: &Lazy<'e>) -> Bounded<String> {
        let written = self.written(value)?;
        self.printed(&written)
    }

    /// The value as `string()` has it.
    pub(crate) fn text(&mut self, value: &Lazy<'e>) -> Bounded<Text<'e>> {
        let text = match value {
            Lazy::Undefined => return Ok(Text::Undefined),
            Lazy::Error => return Ok(Text::Error),
            Lazy::String(text) => text.clone(),
            Lazy::AbsTime { .. } | Lazy::RelTime(_) => {
                // The text inside `absTime("...")`.
                let written = self.written_text(value)?;
                written.split('"').nth(1).unwrap_or_default().into()
            }
            other => self.written_text(other)?.into(),
        };
        self.charge(text.len())?;
        Ok(Text::Is(text))
    }
}

pub(crate) fn string<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match evaluator.text(argument(arguments, 0))? {
        Text::Is(text) => Lazy::String(text),
        Text::Undefined => Lazy::Undefined,
        Text::Error => Lazy::Error,
    })
}

pub(crate) fn int<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(integer(argument(arguments, 0)))
}

/// The value as `int()` has it.
pub(crate) fn integer<'e>(value: &Lazy<'e>) -> Lazy<'e> {
    match value {
        Lazy::Undefined => Lazy::Undefined,
        Lazy::Integer(number) => Lazy::Integer(*number),
        Lazy::Boolean(truth) => Lazy::Integer(i64::from(*truth)),
        Lazy::AbsTime { seconds, .. } => Lazy::Integer(*seconds),
        Lazy::Real(number) | Lazy::RelTime(number) => whole(*number),
        // All digits of an integer count; through a real some would be lost.
        Lazy::String(text) => match text.trim().parse() {
            Ok(number) => Lazy::Integer(number),
            Err(_) => prefix(text).map_or(Lazy::Error, whole),
        },
        Lazy::Error | Lazy::List(_) | Lazy::Ad(_) => Lazy::Error,
    }
}

pub(crate) fn real<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::Undefined => Lazy::Undefined,
        other => as_real(other).map_or(Lazy::Error, Lazy::Real),
    })
}

pub(crate) fn boolean<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::Undefined => Lazy::Undefined,
        Lazy::String(text) if text.eq_ignore_ascii_case("true") => Lazy::Boolean(true),
        Lazy::String(text) if text.eq_ignore_ascii_case("false") => Lazy::Boolean(false),
        Lazy::String(_) => Lazy::Undefined,
        Lazy::RelTime(seconds) => Lazy::Boolean(*seconds != 0.0),
        other => other.truth().map_or(Lazy::Error, Lazy::Boolean),
    })
}

pub(crate) fn is_undefined<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::Undefined)))
}

pub(crate) fn is_error<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::Error)))
}

pub(crate) fn is_string<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::String(_))))
}

pub(crate) fn is_integer<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::Integer(_))))
}

pub(crate) fn is_real<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::Real(_))))
}

pub(crate) fn is_list<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::List(_))))
}

pub(crate) fn is_ad<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::Ad(_))))
}

pub(crate) fn is_boolean<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::Boolean(_))))
}

pub(crate) fn is_abs_time<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::AbsTime { .. })))
}

pub(crate) fn is_rel_time<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Boolean(matches!(argument(arguments, 0), Lazy::RelTime(_))))
}

//! Conversions between types: string, int, real, bool.

use std::sync::Arc;

use crate::builtins::arguments::argument;
use crate::builtins::number::{as_real, prefix, whole};
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::{Chars, Items, Lazy};
use crate::expr::{Expr, Kind};
use crate::value::Value;

/// Steps of a node that is made to be printed.
const WRITTEN: usize = 4;
/// Bytes of such a node.
const WRITTEN_BYTES: usize = 96;

/// A value as text; or UNDEFINED or ERROR if it is that.
pub(crate) type Text<'e> = Result<Chars<'e>, Lazy<'e>>;

impl<'e> Evaluator<'e> {
    /// The expression that a value is written as: lists and ads with their expressions, not their values. Computed lists have a
    /// limited nesting; what they share is contained in the expression as often as it is printed.
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
            Lazy::Undefined | Lazy::Error => return Ok(Err(value.clone())),
            Lazy::String(text) => text.clone(),
            Lazy::AbsTime { .. } | Lazy::RelTime(_) => {
                // The text inside `absTime("...")`.
                let written = self.written_text(value)?;
                written.split('"').nth(1).unwrap_or_default().into()
            }
            other => self.written_text(other)?.into(),
        };
        self.charge(text.len())?;
        Ok(Ok(text))
    }
}

/// `string(x)`
pub(crate) fn string<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(evaluator.text(argument(arguments, 0))?.map_or_else(|instead| instead, Lazy::String))
}

/// `int(x)`
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

/// `real(x)`
pub(crate) fn real<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::Undefined => Lazy::Undefined,
        other => as_real(other).map_or(Lazy::Error, Lazy::Real),
    })
}

/// `bool(x)`
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

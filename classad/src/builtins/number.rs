//! Functions of numbers: rounding, powers, steps, random numbers.

use crate::builtins::arguments::argument;
use crate::eval::evaluator::{Evaluator, Outcome};
use crate::eval::lazy::Lazy;
use crate::eval::scope::ScopeId;
use crate::expr::Call;
use crate::value::to_real;

/// The number at the start of a text as C reads it: blanks, sign, decimal or hexadecimal, `inf`, `nan`.
pub(crate) fn prefix(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let begins = |with: &str| rest.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    if begins("inf") {
        return Some(sign * f64::INFINITY);
    }
    if begins("nan") {
        return Some(f64::NAN);
    }
    if let Some(digits) = rest.get(2..).filter(|_| begins("0x"))
        && let Some(value) = hexadecimal(digits)
    {
        return Some(sign * value);
    }
    let length = decimal_length(rest)?;
    rest.get(..length)?.parse::<f64>().ok().map(|value| sign * value)
}

/// The whole hexadecimal digits at the start.
fn hexadecimal(digits: &str) -> Option<f64> {
    let digits = digits.bytes().map_while(|byte| char::from(byte).to_digit(16));
    digits.fold(None, |value, digit| Some(value.unwrap_or(0.0) * 16.0 + f64::from(digit)))
}

/// How many bytes at the start make up a decimal number; none if there is no digit.
fn decimal_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    let mut any = whole > 0;
    if bytes.get(length) == Some(&b'.') {
        let fraction = digits(length + 1);
        any |= fraction > 0;
        length += 1 + fraction;
    }
    if !any {
        return None;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + signed);
        if exponent > 0 {
            length += 1 + signed + exponent;
        }
    }
    Some(length)
}

/// A real without its fraction as an integer; ERROR if it does not fit.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
pub(crate) fn whole<'e>(number: f64) -> Lazy<'e> {
    let number = number.trunc();
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number) {
        Lazy::Integer(number as i64)
    } else {
        Lazy::Error
    }
}

/// The value as `real()` has it, times in whole seconds; none for UNDEFINED and for what is no number.
pub(crate) fn as_real(value: &Lazy) -> Option<f64> {
    match value {
        Lazy::AbsTime { seconds, .. } => Some(to_real(*seconds)),
        Lazy::RelTime(seconds) => Some(seconds.trunc()),
        Lazy::String(text) => prefix(text),
        other => other.number(),
    }
}

/// `floor(x)`, `ceiling(x)`, `round(x)`
pub(crate) fn rounded<'e>(arguments: &[Lazy<'e>], round: fn(f64) -> f64) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::Integer(number) => Lazy::Integer(*number),
        other => as_real(other).map_or(Lazy::Error, |number| whole(round(number))),
    })
}

/// `pow(base, exponent)`
pub(crate) fn pow<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (base, exponent) = (argument(arguments, 0), argument(arguments, 1));
    if let (Lazy::Integer(base), Lazy::Integer(exponent @ 0..)) = (base, exponent) {
        // The reference rounds in this way, which is off by one for negative results.
        return Ok(whole(to_real(*base).powf(to_real(*exponent)) + 0.5));
    }
    Ok(match (as_real(base), as_real(exponent)) {
        (Some(base), Some(exponent)) => Lazy::Real(base.powf(exponent)),
        _ => Lazy::Error,
    })
}

/// `quantize(a, b)`: the smallest multiple of b that is not below a; of a list, its first element not below a.
pub(crate) fn quantize<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (value, base) = (argument(arguments, 0), argument(arguments, 1));
    let Some(number) = as_real(value) else { return Ok(Lazy::Error) };
    let Lazy::List(items) = base else { return Ok(multiple(value, number, base)) };
    let mut last = Lazy::Real(0.0);
    for item in &*evaluator.items(items)? {
        evaluator.compare_values(item, item)?;
        match as_real(item) {
            None => return Ok(Lazy::Error),
            Some(step) if step >= number => return Ok(item.clone()),
            Some(_) => last = item.clone(),
        }
    }
    Ok(multiple(value, number, &last))
}

/// A real quantum that is no larger than this leaves the value as it is.
const QUANTUM_MIN: f64 = 1e-8;

fn multiple<'e>(value: &Lazy<'e>, number: f64, base: &Lazy<'e>) -> Lazy<'e> {
    if let (Lazy::Integer(value), Lazy::Integer(base)) = (value, base) {
        if *base == 0 {
            return Lazy::Integer(*value);
        }
        // The reference rounds up in this way, which for a negative base is not the next multiple.
        let raised = value.wrapping_add(base.wrapping_sub(1));
        return Lazy::Integer(raised.wrapping_div(*base).wrapping_mul(*base));
    }
    match as_real(base) {
        None => Lazy::Error,
        Some(base) if base.abs() <= QUANTUM_MIN => value.clone(),
        Some(base) => Lazy::Real((number / base).ceil() * base),
    }
}

/// `random([bound])`: drawn from the context's seed, the frame's seed and the place of the call, so that it can be replayed.
pub(crate) fn random<'e>(evaluator: &mut Evaluator<'e>, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
    let frame = evaluator.root_frame(scope);
    let place = u64::try_from(evaluator.place()).unwrap_or(u64::MAX);
    let frame_seed = frame.map_or(0, |frame| evaluator.env.frame_seed(frame));
    let draw = mix(mix(evaluator.context.seed ^ frame_seed) ^ place);
    // The upper 53 bits are as many as a real keeps.
    let fraction = to_real((draw >> 11).cast_signed()) / to_real(1 << 53);
    let bound = match call.arguments.first() {
        None => return Ok(Lazy::Real(fraction)),
        Some(bound) => evaluator.eval(bound, scope)?,
    };
    Ok(match bound {
        Lazy::Integer(bound) if bound > 0 => Lazy::Integer((draw % bound.cast_unsigned()).cast_signed()),
        Lazy::Real(bound) if bound > 0.0 => Lazy::Real(fraction * bound),
        _ => Lazy::Error,
    })
}

/// Spreads a number over all bits (splitmix64).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

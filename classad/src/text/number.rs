//! Parses integers and reals, with the suffixes of the dialect.

use crate::dialect::Dialect;
use crate::value::to_real;

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Integer(i64),
    Real(f64),
}

/// Why a number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `9223372036854775808`
    Range,
    /// `010`, `0x1F`
    LeadingZero,
    /// `1.`
    NoFraction,
    /// `1e`
    NoExponent,
    /// `28Mb`, `28M` where suffixes are unknown: the suffix begins at this byte
    Suffix(usize),
}

/// How long the number at the start of `rest` is (letters that stick to it counted), and what it is.
pub(crate) fn scan(rest: &str, dialect: Dialect) -> (usize, Result<Number, Fault>) {
    let bytes = rest.as_bytes();
    let digits =
        |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut fault = None;
    let mut real = false;
    if bytes.get(end) == Some(&b'.') {
        real = true;
        let fraction = digits(end + 1);
        end += 1 + fraction;
        if fraction == 0 {
            fault = Some(Fault::NoFraction);
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + signed);
        if exponent > 0 {
            end += 1 + signed + exponent;
            real = true;
        } else if signed > 0 {
            end += 2;
            fault = fault.or(Some(Fault::NoExponent));
        }
    }
    let letters = bytes
        .get(end..)
        .unwrap_or_default()
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
        .count();
    let text = rest.get(..end).unwrap_or_default();
    let suffix = rest.get(end..end + letters).unwrap_or_default();
    let is_zero_first = !real && bytes.get(sign) == Some(&b'0');
    let leading_zero = is_zero_first && (whole > 1 || suffix.starts_with(['x', 'X']));
    let number = match fault {
        Some(fault) => Err(fault),
        None if leading_zero => Err(Fault::LeadingZero),
        None if suffix.eq_ignore_ascii_case("e") => Err(Fault::NoExponent),
        None if real => text.parse().map(Number::Real).map_err(|_| Fault::Range),
        None => text.parse().map(Number::Integer).map_err(|_| Fault::Range),
    };
    (end + letters, number.and_then(|number| scaled(number, suffix, dialect).ok_or(Fault::Suffix(end)).flatten()))
}

/// The number with its suffix: `28M` is a real, as older libraries read it, `28Mi` stays an integer.
fn scaled(number: Number, suffix: &str, dialect: Dialect) -> Option<Result<Number, Fault>> {
    if suffix.is_empty() {
        return Some(Ok(number));
    }
    if dialect != Dialect::Gangmatch {
        return None;
    }
    let power = match suffix.as_bytes().first()? {
        b'k' if suffix.len() == 1 => 1,
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        _ => return None,
    };
    let binary = suffix.get(1..) == Some("i");
    if suffix.len() > 1 && !binary {
        return None;
    }
    let factor = 1_i64 << (10 * power);
    Some(match number {
        Number::Integer(value) if binary => value.checked_mul(factor).map(Number::Integer).ok_or(Fault::Range),
        Number::Integer(value) => Ok(Number::Real(to_real(value) * to_real(factor))),
        Number::Real(value) => Ok(Number::Real(value * to_real(factor))),
    })
}

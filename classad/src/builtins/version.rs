//! Compares version strings: digits by their value, everything else by its bytes.

use crate::builtins::arguments::argument;
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::{Chars, Lazy};

/// The natural order as a difference: `1.9` before `1.10`. Digits that begin with zero are a fraction: `1.01` before
/// `1.1`.
fn natural(left: &str, right: &str) -> i64 {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let same = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    // Where the digits that the difference may belong to begin.
    let common = left.get(..same).unwrap_or_default();
    let run = common.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    if whole_number(left, run) && whole_number(right, run) {
        let digits = |text: &[u8]| {
            let rest = text.get(same..).unwrap_or_default();
            i64::try_from(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()).unwrap_or(i64::MAX)
        };
        if digits(left) != digits(right) {
            return digits(left) - digits(right);
        }
    }
    // The end of a text counts as a byte before all others, except after zeros only: there digits come first.
    let zeros = run < same && common.get(run..).unwrap_or_default().iter().all(|byte| *byte == b'0');
    let (a, b) = (left.get(same).copied().unwrap_or(0), right.get(same).copied().unwrap_or(0));
    let rank = |byte: u8| i64::from(if zeros { byte.wrapping_sub(b'0') } else { byte });
    if zeros && !a.is_ascii_digit() && !b.is_ascii_digit() { i64::from(a) - i64::from(b) } else { rank(a) - rank(b) }
}

/// Whether digits without a leading zero begin at `at`.
fn whole_number(text: &[u8], at: usize) -> bool {
    match text.get(at) {
        Some(b'1'..=b'9') => true,
        Some(b'0') => !text.get(at + 1).is_some_and(u8::is_ascii_digit),
        _ => false,
    }
}

/// The arguments as text, or what the comparison is instead: UNDEFINED beats ERROR here.
fn texts<'e, const N: usize>(
    evaluator: &mut Evaluator<'e>,
    arguments: [&Lazy<'e>; N],
) -> Bounded<Result<[Chars<'e>; N], Lazy<'e>>> {
    let mut texts = [const { None }; N];
    let mut error = false;
    for (place, argument) in texts.iter_mut().zip(arguments) {
        match evaluator.text(argument)? {
            Ok(text) => *place = Some(text),
            Err(Lazy::Undefined) => return Ok(Err(Lazy::Undefined)),
            Err(_) => error = true,
        }
    }
    Ok(if error { Err(Lazy::Error) } else { Ok(texts.map(|text| text.unwrap_or_else(|| "".into()))) })
}

/// `versioncmp(a, b)`, `versionLT(a, b)` and its like: a function of the order of two versions.
pub(crate) fn ordered<'e>(
    evaluator: &mut Evaluator<'e>,
    arguments: &[Lazy<'e>],
    value: fn(i64) -> Lazy<'e>,
) -> Outcome<'e> {
    Ok(match texts(evaluator, [argument(arguments, 0), argument(arguments, 1)])? {
        Ok([left, right]) => value(natural(&left, &right)),
        Err(instead) => instead,
    })
}

/// `version_in_range(v, min, max)`: an undefined version is an error, undefined bounds are not.
pub(crate) fn in_range<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let version = match argument(arguments, 0) {
        Lazy::Undefined => &Lazy::Error,
        other => other,
    };
    Ok(match texts(evaluator, [version, argument(arguments, 1), argument(arguments, 2)])? {
        Ok([version, min, max]) => Lazy::Boolean(natural(&min, &version) <= 0 && natural(&version, &max) <= 0),
        Err(instead) => instead,
    })
}

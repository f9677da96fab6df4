//! Functions that make, split and format times. The only clock is the context.

use crate::ad::Ad;
use crate::builtins::arguments::argument;
use crate::builtins::convert::integer;
use crate::builtins::number::whole;
use crate::builtins::strftime;
use crate::calendar::{self, Civil};
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::Lazy;
use crate::expr::Expr;
use crate::name::Name;
use crate::text::time;
use crate::value::{Value, to_real};

/// `time()`
pub(crate) fn now<'e>(evaluator: &mut Evaluator<'e>, _: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::Integer(evaluator.context.now))
}

/// `currentTime()`
pub(crate) fn current_time<'e>(evaluator: &mut Evaluator<'e>, _: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::AbsTime { seconds: evaluator.context.now, offset: evaluator.context.local_offset })
}

/// `dayTime()`
pub(crate) fn day_time<'e>(evaluator: &mut Evaluator<'e>, _: &[Lazy<'e>]) -> Outcome<'e> {
    let local = evaluator.context.now.saturating_add(i64::from(evaluator.context.local_offset));
    Ok(Lazy::RelTime(to_real(local.rem_euclid(calendar::DAY))))
}

/// `timeZoneOffset()`
pub(crate) fn time_zone_offset<'e>(evaluator: &mut Evaluator<'e>, _: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(Lazy::RelTime(f64::from(evaluator.context.local_offset)))
}

/// `absTime([t [, offset]])`
pub(crate) fn abs_time<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let local = evaluator.context.local_offset;
    let (seconds, own_offset) = match arguments.first() {
        None => (evaluator.context.now, local),
        Some(Lazy::AbsTime { seconds, offset }) => (*seconds, *offset),
        Some(Lazy::String(text)) => match time::parse_absolute(text) {
            Some(time) => (time.seconds, time.offset),
            None => return Ok(Lazy::Error),
        },
        Some(number @ (Lazy::Integer(_) | Lazy::Real(_) | Lazy::RelTime(_))) => match integer(number) {
            Lazy::Integer(seconds) => (seconds, local),
            _ => return Ok(Lazy::Error),
        },
        Some(Lazy::Undefined) => return Ok(Lazy::Undefined),
        Some(_) => return Ok(Lazy::Error),
    };
    let offset = match arguments.get(1) {
        None => own_offset,
        Some(given @ (Lazy::Integer(_) | Lazy::Real(_) | Lazy::RelTime(_))) => match integer(given) {
            Lazy::Integer(offset) => match i32::try_from(offset) {
                Ok(offset) => offset,
                Err(_) => return Ok(Lazy::Error),
            },
            _ => return Ok(Lazy::Error),
        },
        Some(_) => return Ok(Lazy::Error),
    };
    Ok(Lazy::AbsTime { seconds, offset })
}

/// `relTime(x)`
pub(crate) fn rel_time<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::Undefined => Lazy::Undefined,
        Lazy::Integer(seconds) | Lazy::AbsTime { seconds, .. } => Lazy::RelTime(to_real(*seconds)),
        Lazy::Real(seconds) | Lazy::RelTime(seconds) => Lazy::RelTime(*seconds),
        Lazy::String(text) => time::parse_relative(text).map_or(Lazy::Error, Lazy::RelTime),
        _ => Lazy::Error,
    })
}

/// `relTime("1:00")` as HTCondor 25 has it: the text is a relative time, the value is a real.
pub(crate) fn rel_time_as_real<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::RelTime(seconds) => Lazy::Real(*seconds),
        _ => Lazy::Error,
    })
}

/// `getYear(t)` and similar functions: a field of an absolute time in the local zone, or of a relative time, which has days, hours,
/// minutes and seconds.
pub(crate) fn field<'e>(
    evaluator: &Evaluator<'e>,
    arguments: &[Lazy<'e>],
    of_date: fn(&Civil) -> Option<i64>,
    of_length: fn(&[f64; 4]) -> Option<f64>,
) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::AbsTime { seconds, .. } => {
            let local = seconds.saturating_add(i64::from(evaluator.context.local_offset));
            of_date(&Civil::new(local)).map_or(Lazy::Error, Lazy::Integer)
        }
        Lazy::RelTime(seconds) => {
            let [days, hours, minutes] = clock(seconds.trunc());
            of_length(&[days, hours, minutes, seconds.trunc() % 60.0]).map_or(Lazy::Error, whole)
        }
        _ => Lazy::Error,
    })
}

/// The days, hours and minutes of a whole number of seconds.
fn clock(seconds: f64) -> [f64; 3] {
    [(seconds / 86_400.0).trunc(), (seconds / 3600.0).trunc() % 24.0, (seconds / 60.0).trunc() % 60.0]
}

/// `splitTime(t)`: the fields of a time as an ad.
pub(crate) fn split_time<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let fields = match argument(arguments, 0) {
        Lazy::Undefined => return Ok(Lazy::Undefined),
        Lazy::RelTime(seconds) => length_fields(*seconds),
        Lazy::AbsTime { seconds, offset } => date_fields(*seconds, *offset),
        number @ (Lazy::Integer(_) | Lazy::Real(_)) => match integer(number) {
            Lazy::Integer(seconds) => date_fields(seconds, evaluator.context.local_offset),
            _ => return Ok(Lazy::Error),
        },
        _ => return Ok(Lazy::Error),
    };
    let ad: Ad = fields.into_iter().map(|(name, value)| (Name::new(name), Expr::literal(value))).collect();
    evaluator.keep_ad(ad).map(Lazy::Ad)
}

fn date_fields(seconds: i64, offset: i32) -> Vec<(&'static str, Value)> {
    let date = Civil::new(seconds.saturating_add(i64::from(offset)));
    vec![
        ("Type", Value::from("AbsoluteTime")),
        ("Year", Value::Integer(date.year)),
        ("Month", Value::Integer(date.month)),
        ("Day", Value::Integer(date.day)),
        ("Hours", Value::Integer(date.hour)),
        ("Minutes", Value::Integer(date.minute)),
        ("Seconds", Value::Integer(date.second)),
        ("Offset", Value::Integer(i64::from(offset))),
    ]
}

/// A negative length has its sign at the first field that is not zero.
fn length_fields(seconds: f64) -> Vec<(&'static str, Value)> {
    let length = seconds.abs();
    let mut negative = seconds < 0.0;
    let mut signed = |field: f64| {
        let sign = if negative && field != 0.0 { -1.0 } else { 1.0 };
        negative &= field == 0.0;
        field * sign
    };
    let [days, hours, minutes] = clock(length.trunc()).map(&mut signed);
    let rest = signed(length.trunc() % 60.0 + (length - length.trunc()));
    let integer = |field: f64| match whole(field) {
        Lazy::Integer(field) => Value::Integer(field),
        _ => Value::Error,
    };
    vec![
        ("Type", Value::from("RelativeTime")),
        ("Days", integer(days)),
        ("Hours", integer(hours)),
        ("Minutes", integer(minutes)),
        ("Seconds", Value::Real(rest)),
    ]
}

/// `formatTime([t [, format]])`
pub(crate) fn format_time<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let pattern = match arguments.get(1) {
        None => "%c".into(),
        Some(Lazy::String(pattern)) => pattern.clone(),
        Some(_) => return Ok(Lazy::Error),
    };
    let local = evaluator.context.local_offset;
    let (seconds, offset) = match arguments.first() {
        None => (evaluator.context.now, local),
        Some(Lazy::AbsTime { seconds, offset }) => (*seconds, *offset),
        Some(number @ (Lazy::Integer(_) | Lazy::Real(_))) => match integer(number) {
            Lazy::Integer(seconds) => (seconds, local),
            _ => return Ok(Lazy::Error),
        },
        Some(Lazy::Ad(scope)) => {
            let fields = Lazy::Ad(*scope);
            (seconds_of(evaluator, &fields)?, 0)
        }
        Some(_) => return Ok(Lazy::Error),
    };
    let civil = Civil::new(seconds.saturating_add(i64::from(offset)));
    // A conversion of two letters can stand for a whole date.
    const STEPS: usize = 8;
    const LETTERS: usize = 16;
    evaluator.spend(pattern.len().saturating_mul(STEPS))?;
    evaluator.take(pattern.len().saturating_mul(LETTERS))?;
    evaluator.string(strftime::format(&pattern, &civil, offset, seconds))
}

/// The second that the fields of an ad name; missing ones count from the beginning of what is named.
fn seconds_of<'e>(evaluator: &mut Evaluator<'e>, fields: &Lazy<'e>) -> Bounded<i64> {
    // Far beyond any calendar, and small enough to multiply.
    const FIELD_MAX: i64 = 1 << 31;
    let mut values = [1970, 1, 1, 0, 0, 0];
    let names = ["Year", "Month", "Day", "Hours", "Minutes", "Seconds"];
    for (value, name) in values.iter_mut().zip(names) {
        let name = evaluator.string(name)?;
        let field = evaluator.subscript(fields, &name)?;
        if let Lazy::Integer(given) = integer(&field) {
            *value = given.clamp(-FIELD_MAX, FIELD_MAX);
        }
    }
    let [year, month, day, hours, minutes, seconds] = values;
    Ok(calendar::days(year, month, day) * calendar::DAY + hours * 3600 + minutes * 60 + seconds)
}

/// `interval(seconds)`: `1+01:01:01`
pub(crate) fn interval<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let Lazy::Integer(seconds) = integer(argument(arguments, 0)) else { return Ok(Lazy::Error) };
    let sign = if seconds < 0 { "-" } else { "" };
    let length = seconds.unsigned_abs();
    let (days, hours, minutes, rest) = (length / 86_400, length / 3600 % 24, length / 60 % 60, length % 60);
    evaluator.string(if days > 0 {
        format!("{sign}{days}+{hours:02}:{minutes:02}:{rest:02}")
    } else if hours > 0 {
        format!("{sign}{hours}:{minutes:02}:{rest:02}")
    } else if minutes > 0 {
        format!("{sign}{minutes}:{rest:02}")
    } else {
        format!("{sign}{rest}")
    })
}

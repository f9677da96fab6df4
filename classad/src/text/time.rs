//! Times as they are written into seconds, and back.

use crate::calendar::{self, Civil};

/// An instant and the zone it was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absolute {
    pub(crate) seconds: i64,
    pub(crate) offset: i32,
}

/// `2004-01-31T12:34:56-06:00`; only the order of the digits matters, parts may be left off at the end, fields out of
/// range carry over. Without a zone the time is UTC, so that a text means the same everywhere.
pub(crate) fn parse_absolute(text: &str) -> Option<Absolute> {
    let (text, offset) = split_zone(text.trim_matches([' ', '\t', '\n', '\r']));
    let mut rest = text;
    let year = field(&mut rest, 4).filter(|(_, digits)| *digits == 4)?.0;
    let mut next = |absent: i64| field(&mut rest, 2).map_or(absent, |(value, _)| value);
    // A missing day is day 0, the last of the month before, as the reference has it.
    let (month, day, hour, minute, second) = (next(1), next(0), next(0), next(0), next(0));
    let after =
        rest.strip_prefix('.').map_or(rest, |fraction| fraction.trim_start_matches(|c: char| c.is_ascii_digit()));
    if !after.trim_matches([' ', 'T']).is_empty() {
        return None;
    }
    let days = calendar::days(year, month, day);
    let local = days * calendar::DAY + hour * 3600 + minute * 60 + second;
    Some(Absolute { seconds: local - i64::from(offset), offset })
}

/// The text before the zone, and the zone's seconds ahead of UTC.
fn split_zone(text: &str) -> (&str, i32) {
    if let Some(before) = text.strip_suffix(['Z', 'z']) {
        return (before, 0);
    }
    zone(text, 6).or_else(|| zone(text, 5)).unwrap_or((text, 0))
}

/// `+hh:mm` (length 6) or `+hhmm` (length 5) after a time of day.
fn zone(text: &str, length: usize) -> Option<(&str, i32)> {
    let at = text.len().checked_sub(length)?;
    let (before, zone) = (text.get(..at)?, text.get(at..)?);
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = (zone.get(1..3)?, zone.get(length - 2..)?);
    if length == 6 && zone.get(3..4)? != ":" || !before.contains(['T', 't', ' ', ':']) {
        return None;
    }
    let digits =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i32>().ok()).flatten();
    Some((before, sign * (digits(hours)? * 3600 + digits(minutes)? * 60)))
}

/// The next number of at most `digits_max` digits and how many it has, after anything that is no digit.
fn field(rest: &mut &str, digits_max: usize) -> Option<(i64, usize)> {
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    // A fraction of a second is no field of its own.
    if rest.starts_with('.') {
        return None;
    }
    let digits = rest.get(start..)?.bytes().take(digits_max).take_while(u8::is_ascii_digit).count();
    let value = rest.get(start..start + digits)?.parse().ok()?;
    *rest = rest.get(start + digits..)?;
    Some((value, digits))
}

/// `[-][[[days+]hh:]mm:]ss[.fff]`, or numbers with the letters d, h, m, s.
pub(crate) fn parse_relative(text: &str) -> Option<f64> {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let (sign, mut rest) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let mut seconds = 0.0;
    // Without letters the last field is seconds, the one before minutes, and so on.
    let mut clock: Vec<f64> = Vec::new();
    while !rest.is_empty() {
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let value: f64 = rest.get(..length)?.parse().ok()?;
        rest = rest.get(length..)?.trim_start_matches(' ');
        let mut after = rest.chars();
        match after.next() {
            Some('d' | 'D' | '+') => seconds += value * 86_400.0,
            Some('h' | 'H') => seconds += value * 3600.0,
            Some('m' | 'M') => seconds += value * 60.0,
            Some('s' | 'S') => seconds += value,
            Some(':') if clock.len() < 2 && after.as_str().starts_with(|c: char| c.is_ascii_digit()) => {
                clock.push(value)
            }
            None => clock.push(value),
            Some(_) => return None,
        }
        rest = after.as_str().trim_start_matches(' ');
    }
    let clock = clock.iter().fold(0.0, |sum, field| sum * 60.0 + field);
    Some(sign * (seconds + clock))
}

/// `2004-01-31T12:34:56-06:00`; UTC is `-00:00`.
pub(crate) fn absolute_text(seconds: i64, offset: i32) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = Civil::new(seconds.saturating_add(i64::from(offset)));
    let sign = if offset > 0 { '+' } else { '-' };
    let zone = offset.unsigned_abs() / 60;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{sign}{:02}:{:02}", zone / 60, zone % 60)
}

/// How many digits of the seconds are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    /// All that are needed to read the same time back.
    All,
    /// Six, as the reference prints.
    Six,
}

/// `1+02:03:04`, shorter where the leading fields are zero.
pub(crate) fn relative_text(seconds: f64, digits: Digits) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    let length = seconds.abs();
    let days = (length / 86_400.0).floor();
    let clock = length - days * 86_400.0;
    let (hours, minutes) = ((clock / 3600.0).floor(), (clock / 60.0).floor() % 60.0);
    let second = clock - (clock / 60.0).floor() * 60.0;
    let second = match digits {
        _ if second.fract() == 0.0 => format!("{second:02}"),
        Digits::All => format!("{second}"),
        Digits::Six => {
            let places = if second >= 10.0 { 4 } else { 5 };
            format!("{second:.places$}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if days > 0.0 {
        format!("{sign}{days}+{hours:02}:{minutes:02}:{second}")
    } else if hours > 0.0 {
        format!("{sign}{hours:02}:{minutes:02}:{second}")
    } else if minutes > 0.0 {
        format!("{sign}{minutes:02}:{second}")
    } else {
        format!("{sign}{second}")
    }
}

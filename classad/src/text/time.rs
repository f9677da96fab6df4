//! Parses and prints times.

use crate::calendar::{self, Civil};

/// An instant and the zone it was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absolute {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub(crate) seconds: i64,
    /// Seconds by which the zone is ahead of UTC.
    pub(crate) offset: i32,
}

/// `2004-01-31T12:34:56-06:00`: four digits of a year, then two each of month, day, hour, minute and second, with anything
/// between them and after them; parts may be left off at the end, fields out of range carry over. Without a zone at the end of
/// the text the time is UTC, so that a text means the same everywhere.
pub(crate) fn parse_absolute(text: &str) -> Option<Absolute> {
    let (text, offset) = split_zone(text);
    let mut rest = text.as_bytes();
    let year = field(&mut rest, 4)?;
    let mut next = |absent: i64| field(&mut rest, 2).unwrap_or(absent);
    // A missing day is day 0, the last of the month before, as the reference has it.
    let (month, day, hour, minute, second) = (next(1), next(0), next(0), next(0), next(0));
    if rest.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let local = calendar::days(year, month, day) * calendar::DAY + hour * 3600 + minute * 60 + second;
    // The reference takes the last second of 1969 for a failure of its library.
    (local != -1).then(|| Absolute { seconds: local - i64::from(offset), offset })
}

/// The text without its zone, and the zone's seconds ahead of UTC. Blanks may follow a `Z`, but no other zone.
fn split_zone(text: &str) -> (&str, i32) {
    let trimmed = text.trim_end_matches(BLANKS);
    match trimmed.strip_suffix(['Z', 'z']).filter(|before| !before.is_empty()) {
        Some(before) => (before, 0),
        None => zone(text, 5).or_else(|| zone(text, 6)).unwrap_or((text, 0)),
    }
}

/// Blanks of C.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\x0b', '\x0c'];

/// `+hhmm` (length 5) or `+hh:mm` (length 6) at the end of a longer text.
fn zone(text: &str, length: usize) -> Option<(&str, i32)> {
    let (before, zone) = text.split_at_checked(text.len().checked_sub(length)?)?;
    let (sign, zone) = match zone.split_at_checked(1)? {
        ("+", zone) => (1, zone),
        ("-", zone) => (-1, zone),
        _ => return None,
    };
    let (hours, minutes) = if length == 6 { zone.split_once(':')? } else { zone.split_at_checked(2)? };
    let digits = |text: &str| {
        let sound = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        sound.then(|| text.parse::<i32>().ok()).flatten()
    };
    let seconds = digits(hours)? * 3600 + digits(minutes)? * 60;
    (!before.is_empty()).then_some((before, sign * seconds))
}

/// The number in the next `width` bytes from a digit on; none if so many are not left. What is no digit ends it.
fn field(rest: &mut &[u8], width: usize) -> Option<i64> {
    let start = rest.iter().position(u8::is_ascii_digit)?;
    let (digits, after) = rest.get(start..)?.split_at_checked(width)?;
    *rest = after;
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// `[-][[[days+]hh:]mm:]ss[.fff]`, or numbers with the letters d, h, m, s in this order; each part may be left off, and blanks
/// may stand between them. Read from the end, as the reference does it: a number without letter is seconds.
pub(crate) fn parse_relative(text: &str) -> Option<f64> {
    let mut rest = text.trim_end_matches(BLANKS);
    let mut seconds = 0.0;
    if rest.ends_with(|c: char| matches!(c, 's' | 'S') || c.is_ascii_digit()) {
        rest = rest.strip_suffix(['s', 'S']).unwrap_or(rest).trim_end_matches(BLANKS);
        let mut number = last_digits(rest);
        if let Some(whole) = rest.get(..rest.len() - number).and_then(|before| before.strip_suffix('.')) {
            number += 1 + last_digits(whole);
        }
        let (before, number) = rest.split_at_checked(rest.len() - number)?;
        seconds = number.parse().unwrap_or(0.0);
        rest = before;
    }
    for (letters, unit) in [(['m', 'M', ':'], 60.0), (['h', 'H', ':'], 3600.0), (['d', 'D', '+'], 86_400.0)] {
        let Some(before) = rest.trim_end_matches(BLANKS).strip_suffix(letters) else { continue };
        let before = before.trim_end_matches(BLANKS);
        let (before, number) = before.split_at_checked(before.len() - last_digits(before))?;
        // A number that the reference cannot hold counts as none.
        seconds += number.parse::<i32>().map_or(0.0, f64::from) * unit;
        rest = before;
    }
    rest = rest.trim_end_matches(BLANKS);
    let (sign, rest) = rest.strip_suffix('-').map_or((1.0, rest), |rest| (-1.0, rest));
    rest.trim_end_matches(BLANKS).is_empty().then_some(sign * seconds)
}

/// How many bytes at the end are digits.
fn last_digits(text: &str) -> usize {
    text.bytes().rev().take_while(u8::is_ascii_digit).count()
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

//! Formats a date by a pattern like `%Y-%m-%d`, in the C locale.

use std::fmt::Write;

use crate::calendar::{self, Civil};

/// Replaces the conversions of `pattern`; those it does not know stay as they are.
pub(crate) fn format(pattern: &str, civil: &Civil, offset: i32, seconds: i64) -> String {
    let mut out = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        // The modifiers E and O change nothing in the C locale.
        let mut letter = characters.next();
        if matches!(letter, Some('E' | 'O')) {
            letter = characters.next();
        }
        match letter {
            None => out.push('%'),
            Some(letter) => {
                if let Some(pattern) = composed(letter) {
                    out.push_str(&format(pattern, civil, offset, seconds));
                } else if !convert(&mut out, letter, civil, offset, seconds) {
                    out.extend(['%', letter]);
                }
            }
        }
    }
    out
}

/// Conversions that stand for several others.
fn composed(letter: char) -> Option<&'static str> {
    Some(match letter {
        'c' => "%a %b %e %H:%M:%S %Y",
        'D' | 'x' => "%m/%d/%y",
        'F' => "%Y-%m-%d",
        'r' => "%I:%M:%S %p",
        'R' => "%H:%M",
        'T' | 'X' => "%H:%M:%S",
        'h' => "%b",
        _ => return None,
    })
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn name(names: &'static [&'static str], index: i64) -> &'static str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or("?")
}

/// Writes one conversion; false if there is none of this letter.
fn convert(out: &mut String, letter: char, civil: &Civil, offset: i32, seconds: i64) -> bool {
    let short = |name: &'static str| name.get(..3).unwrap_or(name);
    let hour12 = (civil.hour + 11) % 12 + 1;
    let (iso_year, iso_week) = iso_week(civil);
    // Writing to a string does not fail.
    let written = match letter {
        'a' => out.write_str(short(name(&DAYS, civil.day_of_week))),
        'A' => out.write_str(name(&DAYS, civil.day_of_week)),
        'b' => out.write_str(short(name(&MONTHS, civil.month - 1))),
        'B' => out.write_str(name(&MONTHS, civil.month - 1)),
        'C' => write!(out, "{:02}", civil.year.div_euclid(100)),
        'd' => write!(out, "{:02}", civil.day),
        'e' => write!(out, "{:2}", civil.day),
        'g' => write!(out, "{:02}", iso_year.rem_euclid(100)),
        'G' => write!(out, "{iso_year}"),
        'H' => write!(out, "{:02}", civil.hour),
        'I' => write!(out, "{hour12:02}"),
        'j' => write!(out, "{:03}", civil.day_of_year + 1),
        'k' => write!(out, "{:2}", civil.hour),
        'l' => write!(out, "{hour12:2}"),
        'm' => write!(out, "{:02}", civil.month),
        'M' => write!(out, "{:02}", civil.minute),
        'n' => out.write_str("\n"),
        'p' => out.write_str(if civil.hour < 12 { "AM" } else { "PM" }),
        'P' => out.write_str(if civil.hour < 12 { "am" } else { "pm" }),
        's' => write!(out, "{seconds}"),
        'S' => write!(out, "{:02}", civil.second),
        't' => out.write_str("\t"),
        'u' => write!(out, "{}", (civil.day_of_week + 6) % 7 + 1),
        'U' => write!(out, "{:02}", (civil.day_of_year + 7 - civil.day_of_week) / 7),
        'V' => write!(out, "{iso_week:02}"),
        'w' => write!(out, "{}", civil.day_of_week),
        'W' => write!(out, "{:02}", (civil.day_of_year + 7 - (civil.day_of_week + 6) % 7) / 7),
        'y' => write!(out, "{:02}", civil.year.rem_euclid(100)),
        'Y' => write!(out, "{}", civil.year),
        'z' => {
            let minutes = offset.unsigned_abs() / 60;
            write!(out, "{}{:02}{:02}", if offset < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
        }
        'Z' => out.write_str(if offset == 0 { "UTC" } else { "" }),
        '%' => out.write_str("%"),
        _ => return false,
    };
    written.is_ok()
}

/// The ISO 8601 year and week: weeks begin on Monday, the first has the year's first Thursday.
fn iso_week(civil: &Civil) -> (i64, i64) {
    let weekday = (civil.day_of_week + 6) % 7;
    let week = (civil.day_of_year - weekday + 10) / 7;
    let weeks_of = |year: i64| {
        let first = calendar::days(year, 1, 1);
        let leap = calendar::days(year + 1, 1, 1) - first == 366;
        // 1970 began on a Thursday.
        let weekday = (first + 4).rem_euclid(7);
        if weekday == 4 || leap && weekday == 3 { 53 } else { 52 }
    };
    if week < 1 {
        (civil.year - 1, weeks_of(civil.year - 1))
    } else if week > weeks_of(civil.year) {
        (civil.year + 1, 1)
    } else {
        (civil.year, week)
    }
}

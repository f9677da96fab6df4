//! Durations as they are written in a file, such as `90s`, and as they are printed.

use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Milliseconds(pub(super) u64);

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// A number and a unit into milliseconds; fractions of a millisecond are cut off.
pub(super) fn parse(text: &str) -> Option<Milliseconds> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = text.split_at_checked(end)?;
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit.trim_start())?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let mut milliseconds = whole.parse::<u64>().ok()?.checked_mul(*unit)?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let parts = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    milliseconds = milliseconds.checked_add(fraction.parse::<u64>().ok()?.checked_mul(*unit)? / parts)?;
    Some(Milliseconds(milliseconds))
}

impl<'de> Deserialize<'de> for Milliseconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Milliseconds, D::Error> {
        let text = String::deserialize(from)?;
        parse(&text)
            .ok_or_else(|| D::Error::custom(format!("found `{text}`, which is no duration; write 90s, 2h or 1d")))
    }
}

/// A duration in its largest unit up to hours that needs no fraction.
pub(super) fn short(milliseconds: u64) -> String {
    let unit = UNITS.iter().rev().skip(1).find(|(_, unit)| milliseconds.is_multiple_of(*unit));
    let (name, unit) = unit.copied().unwrap_or(("ms", 1));
    format!("{}{name}", milliseconds / unit)
}

/// A time of the simulation, as a clock that does not stop at 24 hours shows it.
pub(super) fn clock(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_exactly_and_cut_off() {
        for (text, milliseconds) in [
            ("90s", Some(90_000)),
            ("2h", Some(7_200_000)),
            ("1d", Some(86_400_000)),
            ("1.005s", Some(1005)),
            ("0.5m", Some(30_000)),
            ("1.9ms", Some(1)),
            ("15 ms", Some(15)),
            ("90", None),
            ("s", None),
            ("1.s", None),
            ("-1s", None),
            ("1w", None),
            ("1.2.3s", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(parse(text).map(|duration| duration.0), milliseconds, "{text}");
        }
    }

    #[test]
    fn durations_are_printed_as_they_would_be_written() {
        assert_eq!(
            ["1s", "2m", "24h", "90m", "1500ms"].map(|text| short(parse(text).unwrap().0)),
            ["1s", "2m", "24h", "90m", "1500ms"]
        );
        assert_eq!(clock(15_007_900), "04:10:07");
        assert_eq!(clock(90_000_000), "25:00:00");
    }
}

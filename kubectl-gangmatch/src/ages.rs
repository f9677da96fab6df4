//! Lengths of time into words, as kubectl writes ages.

use jiff::Timestamp;

/// The time between two instants, as `kubectl get` writes it: `45s`, `3m20s`, `5h`, `12d`.
pub(crate) fn age(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_second().saturating_sub(from.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let both = |large: i64, unit: char, small: i64, part: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{part}"),
    };
    match (seconds, minutes, hours, days) {
        (..120, ..) => format!("{seconds}s"),
        (_, ..10, ..) => both(minutes, 'm', seconds % 60, 's'),
        (_, ..180, ..) => format!("{minutes}m"),
        (_, _, ..8, _) => both(hours, 'h', minutes % 60, 'm'),
        (_, _, ..48, _) => format!("{hours}h"),
        (_, _, _, ..8) => both(days, 'd', hours % 24, 'h'),
        (_, _, _, ..730) => format!("{days}d"),
        _ => both(days / 365, 'y', days % 365, 'd'),
    }
}

/// An instant, to the second.
pub(crate) fn instant(time: Timestamp) -> String {
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_kubectl() {
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_460, "3h11m"),
            (100_000, "27h"),
            (180_000, "2d2h"),
            (700_000, "8d"),
            (70_000_000, "2y80d"),
        ] {
            let from = Timestamp::from_second(1_795_000_000).unwrap();
            assert_eq!(age(from, Timestamp::from_second(1_795_000_000 + seconds).unwrap()), text, "{seconds}");
        }
    }

    #[test]
    fn instants_have_no_fractions() {
        assert_eq!(instant("2026-11-21T14:00:00.25Z".parse().unwrap()), "2026-11-21T14:00:00Z");
    }
}

//! A time into how long ago it was, as Kubernetes prints it.

use jiff::Timestamp;

/// The time since then, with at most two units: `5s`, `3m20s`, `4d2h`.
pub(crate) fn since(then: &str, now: Timestamp) -> String {
    let Ok(then) = then.parse::<Timestamp>() else { return "<unknown>".to_owned() };
    duration(now.as_second() - then.as_second())
}

fn duration(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: char, small: i64, part: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{part}"),
    };
    match (seconds, minutes, hours, days) {
        (..120, ..) => format!("{seconds}s"),
        (_, ..10, ..) => two(minutes, 'm', seconds % 60, 's'),
        (_, ..180, ..) => format!("{minutes}m"),
        (_, _, ..8, _) => two(hours, 'h', minutes % 60, 'm'),
        (_, _, ..48, _) => format!("{hours}h"),
        (_, _, _, ..8) => two(days, 'd', hours % 24, 'h'),
        (_, _, _, ..730) => format!("{days}d"),
        (_, _, _, ..2920) => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_as_kubernetes_prints_them() {
        let ages =
            [0, 119, 120, 200, 600, 10_799, 10_800, 20_000, 28_800, 172_799, 172_800, 180_000, 691_200, 63_072_000];
        let printed =
            ["0s", "119s", "2m", "3m20s", "10m", "179m", "3h", "5h33m", "8h", "47h", "2d", "2d2h", "8d", "2y"];
        assert_eq!(ages.map(duration), printed);
        assert_eq!(since("no time", Timestamp::UNIX_EPOCH), "<unknown>");
    }
}

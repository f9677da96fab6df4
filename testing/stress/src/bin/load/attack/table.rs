//! What was measured of each attack into a verdict, and all of them into a table.

use std::time::Duration;

use crate::report::quantile;

/// p99 with the attack, at most, as a multiple of p99 without it.
const FACTOR_MAX: f64 = 1.2;
/// The longest latency that anybody may see.
pub(crate) const LATENCY_MAX: Duration = Duration::from_secs(2);
/// The most memory that the controller may use.
const BYTES_MAX: u64 = 512 * MIB;
const MIB: u64 = 1024 * 1024;

/// What the controller used while it was attacked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    /// Processor time by wall time.
    pub(crate) cores: f64,
    /// The largest resident set that was seen.
    pub(crate) bytes: u64,
}

/// One attack.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) row: &'static str,
    pub(crate) what: &'static str,
    /// From apply to Claimed; none: not within the limit.
    pub(crate) without: Vec<Option<Duration>>,
    pub(crate) with: Vec<Option<Duration>>,
    pub(crate) used: Used,
    /// What else there is to say of it.
    pub(crate) note: String,
}

/// The latency that this part of all does not exceed; none: it is beyond the limit.
fn latency(all: &[Option<Duration>], part: f64) -> Option<Duration> {
    let found = quantile(&all.iter().map(|one| one.unwrap_or(Duration::MAX)).collect::<Vec<_>>(), part);
    (found < Duration::MAX).then_some(found)
}

fn shown(latency: Option<Duration>) -> String {
    latency.map_or_else(|| "none".to_owned(), |found| format!("{:.2} s", found.as_secs_f64()))
}

impl Compared {
    /// What is not within the limits.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let longest = latency(&self.with, 1.0);
        if longest.is_none_or(|longest| longest > LATENCY_MAX) {
            faults.push(format!("longest {}", shown(longest)));
        }
        if let (Some(without), Some(with)) = (latency(&self.without, 0.99), latency(&self.with, 0.99))
            && with.as_secs_f64() > FACTOR_MAX * without.as_secs_f64()
        {
            faults.push(format!("p99 x{:.1}", with.as_secs_f64() / without.as_secs_f64()));
        }
        if self.used.bytes > BYTES_MAX {
            faults.push(format!("{} MiB", self.used.bytes / MIB));
        }
        faults
    }

    fn verdict(&self) -> String {
        let faults = self.faults();
        if faults.is_empty() { "pass".to_owned() } else { format!("FAIL: {}", faults.join(", ")) }
    }

    /// For those who wait for the table.
    pub(crate) fn sentence(&self) -> String {
        format!(
            "{}: p99 {} without, {} with; {}",
            self.row,
            shown(latency(&self.without, 0.99)),
            shown(latency(&self.with, 0.99)),
            self.verdict()
        )
    }
}

/// The table, as Markdown.
pub(crate) fn lines(all: &[Compared]) -> Vec<String> {
    let mut lines = vec![
        "| row | attack | p50, p99 without | p50, p99 with | longest | cores | RSS | verdict | |".to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    let both = |all: &[Option<Duration>]| format!("{}, {}", shown(latency(all, 0.5)), shown(latency(all, 0.99)));
    lines.extend(all.iter().map(|one| {
        format!(
            "| {} | {} | {} | {} | {} | {:.2} | {} MiB | {} | {} |",
            one.row,
            one.what,
            both(&one.without),
            both(&one.with),
            shown(latency(&one.with, 1.0)),
            one.used.cores,
            one.used.bytes / MIB,
            one.verdict(),
            one.note
        )
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(without: u64, with: Option<u64>, mib: u64) -> Compared {
        let all = |ms: Option<u64>| vec![ms.map(Duration::from_millis); 3];
        let used = Used { cores: 0.5, bytes: mib * MIB };
        Compared { row: "B4", what: "lists", without: all(Some(without)), with: all(with), used, note: String::new() }
    }

    #[test]
    fn each_limit_is_a_fault_of_its_own() {
        let faults = |without, with, mib| measured(without, with, mib).faults().join(", ");
        assert_eq!(faults(1000, Some(1200), 512), "");
        assert_eq!(faults(1000, Some(1300), 100), "p99 x1.3");
        assert_eq!(faults(1900, Some(2100), 100), "longest 2.10 s");
        assert_eq!(faults(1000, None, 100), "longest none");
        assert_eq!(faults(1000, Some(1000), 513), "513 MiB");
    }

    #[test]
    fn one_that_never_came_is_the_longest() {
        let all = [Some(Duration::from_millis(5)), None, Some(Duration::from_millis(7))];
        assert_eq!((latency(&all, 0.5), latency(&all, 1.0)), (Some(Duration::from_millis(7)), None));
    }

    #[test]
    fn a_table_has_a_row_for_each_attack() {
        let lines = lines(&[measured(100, Some(110), 40), measured(100, None, 40)]);
        assert_eq!(lines[2], "| B4 | lists | 0.10 s, 0.10 s | 0.11 s, 0.11 s | 0.11 s | 0.50 | 40 MiB | pass |  |");
        assert!(lines[3].contains("none") && lines[3].contains("FAIL: longest none"), "{}", lines[3]);
    }
}

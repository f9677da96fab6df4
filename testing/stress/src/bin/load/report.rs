//! What was measured into lines: beside each figure what is wanted of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::audit::Audited;

/// Everything that one run has measured.
pub(crate) struct Measured {
    pub(crate) jobs: usize,
    /// From the beginning to the last commit.
    pub(crate) took: Duration,
    /// The arrival sets the rate, and not the controller.
    pub(crate) paced: bool,
    pub(crate) cpu_ms: u64,
    /// The API server alone, before and after, in patches a second.
    pub(crate) raw: [f64; 2],
    pub(crate) audited: Audited,
    pub(crate) latencies: Vec<Duration>,
}

/// A count as a real.
fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

impl Measured {
    pub(crate) fn lines(&self) -> Vec<String> {
        let gangs = real(self.jobs) / self.took.as_secs_f64();
        let [before, after] = self.raw;
        let raw = f64::midpoint(before, after);
        let writes = real(self.audited.writes) / real(self.jobs);
        let cpu = f64::from(u32::try_from(self.cpu_ms).unwrap_or(u32::MAX)) / real(self.jobs);
        let conflicts = 100.0 * real(self.audited.conflicts) / real(self.audited.writes.max(1));
        let mut lines = vec![
            format!("{} gangs committed in {:.2} s: {gangs:.1} a second", self.jobs, self.took.as_secs_f64()),
            format!("the API server alone: {before:.0} guarded status patches a second before, {after:.0} after"),
            format!(
                "the controller's writes: {writes:.2} a gang; {conflicts:.2} % refused with 409 or 422 (wanted: below 0.5)"
            ),
        ];
        if !self.paced {
            let share = 100.0 * gangs * writes / raw;
            lines.push(format!("writes beside what the server takes alone: {share:.0} % (wanted: 60 or more)"));
        }
        lines.push(format!("the controller's processor time: {cpu:.2} ms a gang (wanted: 2.5 or less)"));
        let [half, most, longest] = [0.5, 0.99, 1.0].map(|part| quantile(&self.latencies, part).as_millis());
        let since = if self.paced { "from apply to commit" } else { "from the beginning to commit" };
        lines.push(format!("{since}: p50 {half} ms, p99 {most} ms, longest {longest} ms"));
        lines.push(format!("written: {}", kinds(&self.audited)));
        lines
    }
}

/// How many writes of each kind.
pub(crate) fn kinds(audited: &Audited) -> String {
    let kinds = audited.by_kind.iter().map(|(kind, times)| format!("{times} {kind}"));
    kinds.collect::<Vec<_>>().join(", ")
}

/// From apply to commit, of each job.
pub(crate) fn latencies(created: &BTreeMap<String, Instant>, at: &BTreeMap<String, Instant>) -> Vec<Duration> {
    created.iter().filter_map(|(job, created)| Some(at.get(job)?.saturating_duration_since(*created))).collect()
}

/// The duration that this part of all does not exceed.
pub(crate) fn quantile(all: &[Duration], part: f64) -> Duration {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    let rank = (real(sorted.len()) * part).ceil().max(1.0);
    let within = sorted.iter().zip(1_u32..).find(|(_, place)| f64::from(*place) >= rank);
    within.map_or_else(|| sorted.last().copied().unwrap_or_default(), |(found, _)| *found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let all: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        let at = |part| quantile(&all, part).as_millis();
        assert_eq!((at(0.5), at(0.99), at(1.0)), (50, 99, 100));
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }
}

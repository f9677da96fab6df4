//! How often it went wrong into how long to wait: longer each time, up to a limit, and not the same for all objects.

use crds::{Job, Retry};
use sha2::{Digest, Sha256};

/// Pauses that double from the first one up to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    first_ms: u64,
    most_ms: u64,
}

impl Backoff {
    /// What the controller asks of the API server for its own sake: from half a second up to a minute.
    pub(crate) const REQUESTS: Backoff = Backoff::new(500, 60_000);

    pub(crate) const fn new(first_ms: u64, most_ms: u64) -> Backoff {
        Backoff { first_ms, most_ms }
    }

    /// The pause after it has gone wrong `times` times before; up to a quarter of it is taken off by `jitter`, so that what failed
    /// together does not come back together.
    pub(crate) fn pause_ms(self, times: u32, jitter: u8) -> u64 {
        let pause = self.first_ms.saturating_mul(1 << times.min(20)).min(self.most_ms);
        pause.saturating_sub(pause / 4 * u64::from(jitter) / 255)
    }
}

/// How a job wants to be retried: from its `backoffSeconds` up to its `maxBackoffSeconds`.
pub(crate) fn retry_of(job: &Job) -> Backoff {
    let Retry { backoff_seconds, max_backoff_seconds, .. } = job.spec.retry.clone().unwrap_or_default();
    let milliseconds = |seconds: i32| u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
    Backoff::new(milliseconds(backoff_seconds), milliseconds(max_backoff_seconds))
}

/// The jitter of an object's attempt: no chance, the same wherever it is computed.
pub(crate) fn jitter(uid: &str, attempt: i32) -> u8 {
    Sha256::digest(format!("{uid}/{attempt}")).first().copied().unwrap_or(0)
}

/// A pause before something is tried again, longer each time that it goes wrong in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pause {
    times: u32,
    until_ms: u64,
}

impl Pause {
    /// It went wrong once more; how long the pause is, in milliseconds. `name` tells its jitter from that of others.
    pub(crate) fn lengthen(&mut self, backoff: Backoff, name: &str, now_ms: u64) -> u64 {
        let pause_ms = backoff.pause_ms(self.times, jitter(name, i32::try_from(self.times).unwrap_or(i32::MAX)));
        self.begin(pause_ms, now_ms)
    }

    /// It went wrong once more, and pauses for so long.
    pub(crate) fn begin(&mut self, pause_ms: u64, now_ms: u64) -> u64 {
        self.times = self.times.saturating_add(1);
        self.until_ms = now_ms.saturating_add(pause_ms);
        pause_ms
    }

    /// It lasts until then at least, and nothing went wrong.
    pub(crate) fn lasts_until(&mut self, until_ms: u64) {
        self.until_ms = self.until_ms.max(until_ms);
    }

    /// How often in a row it went wrong.
    pub(crate) fn times(&self) -> u32 {
        self.times
    }

    /// Until when it lasts.
    pub(crate) fn until_ms(&self) -> u64 {
        self.until_ms
    }

    /// When it ends; `None`: it does not last.
    pub(crate) fn ends_ms(&self, now_ms: u64) -> Option<u64> {
        Some(self.until_ms).filter(|until| *until > now_ms)
    }

    /// Whether it lasts.
    pub(crate) fn lasts(&self, now_ms: u64) -> bool {
        now_ms < self.until_ms
    }

    /// Whether it went wrong the last time.
    pub(crate) fn is_failing(&self) -> bool {
        self.times > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff::new(5_000, 12_000);

    #[test]
    fn pauses_double_up_to_the_limit() {
        assert_eq!([0, 1, 2, 3, 99].map(|times| BACKOFF.pause_ms(times, 0)), [5_000, 10_000, 12_000, 12_000, 12_000]);
        assert_eq!(Backoff::new(0, 300_000).pause_ms(5, 0), 0);
    }

    #[test]
    fn a_pause_grows_up_to_the_limit() {
        let (mut pause, mut now) = (Pause::default(), 0);
        assert!(!pause.lasts(0) && !pause.is_failing());
        let mut all = Vec::new();
        for _ in 0..4 {
            all.push(pause.lengthen(BACKOFF, "jobs in b", now));
            assert!(pause.lasts(pause.until_ms() - 1) && !pause.lasts(pause.until_ms()));
            now = pause.until_ms();
        }
        assert!((3_750..=5_000).contains(&all[0]) && (7_500..=10_000).contains(&all[1]), "{all:?}");
        assert!(all[2..].iter().all(|pause| (9_000..=12_000).contains(pause)), "{all:?}");
    }

    #[test]
    fn jitter_takes_off_a_quarter_at_most() {
        assert_eq!(BACKOFF.pause_ms(0, 255), 3_750);
    }

    #[test]
    fn jobs_that_fail_together_do_not_come_back_together() {
        let pauses: std::collections::BTreeSet<u64> =
            (0..100).map(|number| BACKOFF.pause_ms(0, jitter(&format!("uid-{number}"), 1))).collect();
        assert!(pauses.len() > 50, "{}", pauses.len());
        assert_eq!(jitter("uid", 1), jitter("uid", 1));
        assert_ne!(jitter("uid", 1), jitter("uid", 2));
    }
}

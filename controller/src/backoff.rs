//! How often it went wrong into how long to wait: longer each time, up to a limit, and not the same for everybody.

use crds::{Job, Retry};
use sha2::{Digest, Sha256};

/// How a job wants to be retried.
pub(crate) fn retry_of(job: &Job) -> Retry {
    job.spec.retry.clone().unwrap_or_default()
}

/// The pause after it has gone wrong `times` times before. It doubles each time, from `backoffSeconds` up to `maxBackoffSeconds`;
/// up to a quarter of it is taken off by `jitter`, so that jobs that failed together do not come back together.
pub(crate) fn pause_ms(retry: &Retry, times: u32, jitter: u8) -> u64 {
    let first = u64::try_from(retry.backoff_seconds).unwrap_or(0).saturating_mul(1000);
    let most = u64::try_from(retry.max_backoff_seconds).unwrap_or(0).saturating_mul(1000);
    let pause = first.saturating_mul(1 << times.min(20)).min(most);
    pause.saturating_sub(pause / 4 * u64::from(jitter) / 255)
}

/// The jitter of a job's attempt: no chance, the same for whoever computes it.
pub(crate) fn jitter(job_uid: &str, attempt: i32) -> u8 {
    Sha256::digest(format!("{job_uid}/{attempt}")).first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry() -> Retry {
        Retry { limit: None, backoff_seconds: 5, max_backoff_seconds: 12 }
    }

    #[test]
    fn pauses_double_up_to_the_limit() {
        assert_eq!([0, 1, 2, 3, 99].map(|times| pause_ms(&retry(), times, 0)), [5_000, 10_000, 12_000, 12_000, 12_000]);
        let never = Retry { limit: None, backoff_seconds: 0, max_backoff_seconds: 300 };
        assert_eq!(pause_ms(&never, 5, 0), 0);
    }

    #[test]
    fn jitter_takes_off_a_quarter_at_most() {
        assert_eq!(pause_ms(&retry(), 0, 255), 3_750);
    }

    #[test]
    fn jobs_that_fail_together_do_not_come_back_together() {
        let pauses: std::collections::BTreeSet<u64> =
            (0..100).map(|number| pause_ms(&retry(), 0, jitter(&format!("uid-{number}"), 1))).collect();
        assert!(pauses.len() > 50, "{}", pauses.len());
        assert_eq!(jitter("uid", 1), jitter("uid", 1));
        assert_ne!(jitter("uid", 1), jitter("uid", 2));
    }
}

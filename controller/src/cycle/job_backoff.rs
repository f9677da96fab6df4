//! Backoff of jobs: Matches that the API server would not take, over a quota or by a policy, and starts that took too long where no machine is to
//! blame, into pauses of their jobs: nothing is in the way of others meanwhile.

use std::collections::BTreeMap;

use crds::Unmatched;
use crds::conditions::reasons;

use crate::cycle::backoff::{Backoff, Pause, jitter};
use crate::status::{Finding, cut};

/// What is remembered, by the job's uid. Kept in memory only: losing it costs one attempt.
#[derive(Debug, Default)]
pub(crate) struct JobBackoff(BTreeMap<String, Paused>);

#[derive(Debug)]
struct Paused {
    pause: Pause,
    /// The generation of the job that it was about.
    generation: i64,
    why: String,
    cause: Cause,
}

/// The shortest pause.
const PAUSE_MIN_MS: u64 = 1_000;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The server would not take the Match.
    Unwritten,
    /// Its work did not start in time.
    Start,
    /// Searching a gang for it cost too much.
    Search,
    /// The same, and an expression of its own is the reason.
    Expression,
}

impl JobBackoff {
    /// Remembers why a job is not to be matched for a while. How long the job pauses, in milliseconds.
    pub(crate) fn remember(
        &mut self,
        job: (&str, i64),
        cause: Cause,
        why: &str,
        backoff: &Backoff,
        now_ms: u64,
    ) -> u64 {
        let (uid, generation) = job;
        let same = |known: &&Paused| known.generation == generation && known.cause == cause;
        let mut pause = self.0.get(uid).filter(same).map(|known| known.pause.clone()).unwrap_or_default();
        let jitter = jitter(uid, i32::try_from(pause.times()).unwrap_or(i32::MAX));
        let pause_ms = pause.begin(backoff.pause_ms(pause.times(), jitter).max(PAUSE_MIN_MS), now_ms);
        let held = Paused { pause, generation, why: why.to_owned(), cause };
        self.0.insert(uid.to_owned(), held);
        pause_ms
    }

    /// Says something else of a job's pause.
    pub(crate) fn reword(&mut self, job_uid: &str, why: String) {
        self.0.get_mut(job_uid).into_iter().for_each(|known| known.why.clone_from(&why));
    }

    /// It went well: a Match of this job was written, or its claim has ended otherwise than by a late start.
    pub(crate) fn forget(&mut self, job_uid: &str, cause: Cause) {
        if self.0.get(job_uid).is_some_and(|known| known.cause == cause) {
            self.0.remove(job_uid);
        }
    }

    /// The jobs that are not to be matched at `now_ms`, and what is said of them. A job that was changed is not kept waiting;
    /// `generation` tells what a job is now.
    pub(crate) fn held(&mut self, now_ms: u64, generation: impl Fn(&str) -> Option<i64>) -> BTreeMap<String, Finding> {
        self.0.retain(|uid, held| generation(uid) == Some(held.generation));
        let still = self.0.iter().filter(|(_, held)| held.pause.lasts(now_ms));
        still.map(|(uid, held)| (uid.clone(), finding(held.cause, &held.why))).collect()
    }

    /// When the next pause ends, if one is running.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.0.values().filter_map(|held| held.pause.ends_ms(now_ms)).min()
    }
}

fn finding(cause: Cause, why: &str) -> Finding {
    let reason = match cause {
        Cause::Unwritten | Cause::Start => reasons::BACKING_OFF,
        Cause::Search => reasons::SEARCH_BUDGET_EXHAUSTED,
        Cause::Expression => reasons::EXPRESSION_TOO_EXPENSIVE,
    };
    Finding { reason, why: cut(why, 256), counts: Unmatched::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::backoff::retry_of;

    fn retry() -> Backoff {
        retry_of(&crds::Job::new("j", crds::JobSpec::default()))
    }

    #[test]
    fn a_job_whose_match_is_not_taken_pauses_longer_each_time() {
        let (mut job_backoff, retry) = (JobBackoff::default(), retry());
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..4 {
            let pause = job_backoff.remember(("u", 1), Cause::Unwritten, "exceeded quota", &retry, now);
            assert!(job_backoff.held(now + pause - 1, |_| Some(1)).contains_key("u"));
            assert!(job_backoff.held(now + pause, |_| Some(1)).is_empty());
            assert_eq!(job_backoff.next_ms(now), Some(now + pause));
            now += pause;
            pauses.push(pause / 1000);
        }
        assert!(pauses.windows(2).all(|two| two[0] < two[1]) && pauses[3] >= 30, "{pauses:?}");
        job_backoff.forget("u", Cause::Start);
        assert!(job_backoff.remember(("u", 1), Cause::Unwritten, "", &retry, now) > 20_000, "that was something else");
        job_backoff.forget("u", Cause::Unwritten);
        assert!(
            job_backoff.remember(("u", 1), Cause::Unwritten, "", &retry, now) <= 5_000,
            "it begins again after one that was taken"
        );
    }

    #[test]
    fn a_costly_search_is_told_as_such() {
        let mut job_backoff = JobBackoff::default();
        job_backoff.remember(("u", 1), Cause::Search, "", &retry(), 0);
        job_backoff.reword("u", "too many steps".into());
        let told = job_backoff.held(1, |_| Some(1));
        assert_eq!((told["u"].reason, told["u"].why.as_str()), ("SearchBudgetExhausted", "too many steps"));
    }

    #[test]
    fn it_is_told_and_a_changed_job_is_tried_at_once() {
        let mut job_backoff = JobBackoff::default();
        job_backoff.remember(("u", 1), Cause::Unwritten, "exceeded quota", &retry(), 0);
        let told = job_backoff.held(1, |_| Some(1));
        assert_eq!(told["u"].reason, "BackingOff");
        assert_eq!(told["u"].why, "exceeded quota");
        assert!(job_backoff.held(1, |_| Some(2)).is_empty());
    }
}

//! Backoff of claims that cannot go on now: why, since when, and when each is looked at again.
//!
//! A claim that has come to nothing holds no task and no place. It is driven again when what the objects show of it has changed, or
//! when its backoff is over.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{Discriminant, discriminant};

use claiming::Action;
use crds::Refusal;

use crate::cycle::backoff::{Backoff, Pause, jitter};

/// How long after an attempt that waits for something else the next one is made at the earliest, however much has changed.
const WAITS: Backoff = Backoff::new(50, 1_000);
/// The same after one that failed.
const FAILED_MOST_MS: u64 = 5_000;
/// When what is waited for is looked at though no watch has shown anything.
const UNSEEN_MS: u64 = 15 * 60_000;

/// Why a claim came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setback {
    /// What could not be done.
    pub(crate) action: Action,
    /// Why, for the log.
    pub(crate) why: String,
    pub(crate) retry: Retry,
}

/// When a claim that came to nothing is driven again, if nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// After a pause, which is longer each time.
    BackOff,
    /// When what it waits for is seen.
    OnChange,
    /// When that is seen, or then, on the monotonic clock.
    By(u64),
    /// With its job, which pauses.
    OfJob,
}

/// A workload that has run for so long was started for good.
const LASTS_MS: u64 = 5 * 60_000;

/// One that is stalled.
#[derive(Debug)]
struct Stall {
    action: Discriminant<Action>,
    why: String,
    /// How often in a row it has come to nothing.
    times: u32,
    /// What the objects showed of the claim then.
    seen: u64,
    /// Not before that, whatever changes; and not before that, if nothing does.
    earliest_ms: u64,
    until_ms: u64,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    /// By the uids of their Matches.
    claims: BTreeMap<String, Stall>,
    /// The pauses of jobs whose Match could not be written, by uid.
    jobs: BTreeMap<String, Pause>,
    /// The pause before the workload of a claim is started again, and when it was started last.
    started: BTreeMap<String, (Pause, u64)>,
    /// Since when work is waited for that is to stop, by the uids of the Matches and of the workloads.
    stopping: BTreeMap<(String, String), u64>,
    /// What offers have refused in the course of a claim, by the uid of its Match: they are written into the job's status at its end, which may come much later.
    refusals: BTreeMap<String, Vec<Refusal>>,
}

impl Stalls {
    /// A claim has come to nothing; `seen` is what the objects showed of it. Whether the reason is another one than before.
    pub(crate) fn stalled(&mut self, uid: &str, setback: &Setback, seen: u64, now_ms: u64) -> bool {
        let action = discriminant(&setback.action);
        let before = self.claims.get(uid).filter(|known| known.action == action);
        let times = before.map_or(0, |known| known.times.saturating_add(1));
        let is_new = before.is_none_or(|known| known.why != setback.why);
        let jitter = jitter(uid, i32::try_from(times).unwrap_or(0));
        let (earliest, until_ms) = match setback.retry {
            Retry::OnChange => (WAITS.pause_ms(times, jitter), now_ms.saturating_add(UNSEEN_MS)),
            Retry::By(at_ms) => (WAITS.pause_ms(times, jitter), at_ms.max(now_ms)),
            Retry::BackOff | Retry::OfJob => {
                let pause = Backoff::REQUESTS.pause_ms(times, jitter);
                (pause.min(FAILED_MOST_MS), now_ms.saturating_add(pause))
            }
        };
        let earliest_ms = now_ms.saturating_add(earliest);
        let why = setback.why.clone();
        let until_ms = until_ms.max(earliest_ms);
        self.claims.insert(uid.to_owned(), Stall { action, why, times, seen, earliest_ms, until_ms });
        is_new
    }

    /// A claim has gone on.
    pub(crate) fn went_on(&mut self, uid: &str) {
        self.claims.remove(uid);
    }

    /// Until when a claim is not to be driven, of which the objects show this now; `None`: it may be driven.
    pub(crate) fn rests_until(&self, uid: &str, seen: u64, now_ms: u64) -> Option<u64> {
        let stall = self.claims.get(uid)?;
        let until_ms = if stall.seen == seen { stall.until_ms } else { stall.earliest_ms };
        Some(until_ms).filter(|until| *until > now_ms)
    }

    /// The workload of a claim was started. If that does not last, it is started again less and less often.
    pub(crate) fn started(&mut self, uid: &str, now_ms: u64) {
        let (pause, at_ms) = self.started.entry(uid.to_owned()).or_default();
        if now_ms >= at_ms.saturating_add(LASTS_MS) {
            *pause = Pause::default();
        }
        pause.lengthen(Backoff::REQUESTS, uid, now_ms);
        *at_ms = now_ms;
    }

    /// Until when the workload of a claim is not started again.
    pub(crate) fn starts_at(&self, uid: &str, now_ms: u64) -> Option<u64> {
        self.started.get(uid)?.0.ends_ms(now_ms)
    }

    /// The Match of a job could not be written, for an unknown reason.
    pub(crate) fn unwritten(&mut self, job_uid: &str, now_ms: u64) {
        self.jobs.entry(job_uid.to_owned()).or_default().lengthen(Backoff::REQUESTS, job_uid, now_ms);
    }

    /// The Match of a job was written.
    pub(crate) fn written(&mut self, job_uid: &str) {
        self.jobs.remove(job_uid);
    }

    /// The jobs that pause, by uid.
    pub(crate) fn paused(&self, now_ms: u64) -> BTreeSet<String> {
        self.jobs.iter().filter(|(_, pause)| pause.lasts(now_ms)).map(|(uid, _)| uid.clone()).collect()
    }

    /// When the next job's pause ends.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        self.jobs.values().filter_map(|pause| pause.ends_ms(now_ms)).min()
    }

    /// Since when it is waited that work stops for a claim; from now on, if it was not yet.
    pub(crate) fn stopping_since(&mut self, claim: &str, work: &str, now_ms: u64) -> u64 {
        *self.stopping.entry((claim.to_owned(), work.to_owned())).or_insert(now_ms)
    }

    /// The same, if it is waited for already.
    pub(crate) fn stopped_since(&self, claim: &str, work: &str) -> Option<u64> {
        self.stopping.get(&(claim.to_owned(), work.to_owned())).copied()
    }

    /// Keeps what offers have refused a claim until it has ended.
    pub(crate) fn keep_refusals(&mut self, uid: &str, refusals: Vec<Refusal>) {
        if !refusals.is_empty() {
            self.refusals.insert(uid.to_owned(), refusals);
        }
    }

    /// What offers have refused a claim so far.
    pub(crate) fn refusals(&self, uid: &str) -> Vec<Refusal> {
        self.refusals.get(uid).cloned().unwrap_or_default()
    }

    /// Forgets claims and jobs that are not there any more.
    pub(crate) fn retain(&mut self, is_claim: impl Fn(&str) -> bool, is_job: impl Fn(&str) -> bool) {
        self.claims.retain(|uid, _| is_claim(uid));
        self.started.retain(|uid, _| is_claim(uid));
        self.stopping.retain(|(uid, _), _| is_claim(uid));
        self.refusals.retain(|uid, _| is_claim(uid));
        self.jobs.retain(|uid, _| is_job(uid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(why: &str) -> Setback {
        Setback { action: Action::MakeWork, why: why.to_owned(), retry: Retry::BackOff }
    }

    #[test]
    fn pauses_grow_up_to_a_minute_and_begin_again_after_progress() {
        let (mut stalls, mut now_ms, mut pauses) = (Stalls::default(), 0, Vec::new());
        for _ in 0..12 {
            stalls.stalled("u", &failed("no such object"), 7, now_ms);
            let until = stalls.rests_until("u", 7, now_ms).unwrap();
            assert!(stalls.rests_until("u", 7, until).is_none());
            pauses.push(until - now_ms);
            now_ms = until;
        }
        assert!((375..=500).contains(&pauses[0]) && (45_000..=60_000).contains(&pauses[11]), "{pauses:?}");
        assert!(now_ms > 4 * 60_000, "{now_ms}");
        stalls.went_on("u");
        stalls.stalled("u", &failed("no such object"), 7, now_ms);
        assert!(stalls.rests_until("u", 7, now_ms).unwrap() <= now_ms + 500);
    }

    #[test]
    fn what_has_changed_is_looked_at_sooner_but_not_at_once() {
        let mut stalls = Stalls::default();
        for _ in 0..12 {
            stalls.stalled("u", &failed("x"), 7, 0);
        }
        assert!(stalls.rests_until("u", 8, 0).unwrap() <= FAILED_MOST_MS);
        assert!(stalls.rests_until("u", 8, FAILED_MOST_MS).is_none());
        assert!(stalls.rests_until("u", 7, FAILED_MOST_MS).is_some());
    }

    #[test]
    fn m18_a_reason_is_new_once() {
        let mut stalls = Stalls::default();
        let said: Vec<bool> = ["a", "a", "b", "b", "a"].map(|why| stalls.stalled("u", &failed(why), 0, 0)).into();
        assert_eq!(said, [true, false, true, false, true]);
        let of_another = Setback { action: Action::Free(3), ..failed("a") };
        assert!(stalls.stalled("u", &of_another, 0, 0));
        let of_the_same_kind = Setback { action: Action::Free(4), ..failed("a") };
        assert!(!stalls.stalled("u", &of_the_same_kind, 0, 0), "which of its offers is not another reason");
    }

    #[test]
    fn what_a_watch_will_show_is_not_polled() {
        let waits = |retry| Setback { retry, ..failed("its pods are ending") };
        let mut stalls = Stalls::default();
        stalls.stalled("u", &waits(Retry::OnChange), 7, 0);
        assert_eq!(stalls.rests_until("u", 7, 0), Some(UNSEEN_MS));
        assert!(stalls.rests_until("u", 8, 50).is_none(), "it has been seen");
        stalls.stalled("u", &waits(Retry::By(9_000)), 7, 0);
        assert_eq!((stalls.rests_until("u", 7, 0), stalls.rests_until("u", 7, 9_000)), (Some(9_000), None));
    }

    #[test]
    fn what_is_started_again_and_again_is_started_less_and_less_often() {
        let (mut stalls, mut now_ms) = (Stalls::default(), 0);
        for _ in 0..10 {
            stalls.started("u", now_ms);
            now_ms = stalls.starts_at("u", now_ms).unwrap();
        }
        assert!(now_ms > 2 * 60_000, "{now_ms}");
        stalls.started("u", now_ms + LASTS_MS + 60_000);
        assert!(stalls.starts_at("u", now_ms + LASTS_MS + 60_500).is_none());
    }

    #[test]
    fn a_job_whose_match_is_lost_pauses() {
        let mut stalls = Stalls::default();
        stalls.unwritten("j", 0);
        assert_eq!((stalls.paused(0).len(), stalls.paused(500).len()), (1, 0));
        stalls.written("j");
        assert!(stalls.paused(0).is_empty());
    }
}

//! New jobs that are gathered before they are placed together: a window opens when the first one comes, and all that come while it is open
//! are matched when it closes. Cycles for other reasons go on meanwhile, without them.

use std::collections::BTreeMap;

use crds::Unmatched;
use crds::conditions::reasons;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pool::{Changes, JobState, Objects, job_state};

use crate::status::Finding;

/// The window that is open, if one is. Kept in memory only: losing it costs nothing but a smaller window.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// How long a window is open; 0: jobs are not gathered.
    length_ms: u64,
    open: Option<OpenWindow>,
    /// When the last window closed: jobs that were there before are not gathered again.
    closed_at: Option<Timestamp>,
}

#[derive(Debug)]
struct OpenWindow {
    closes_ms: u64,
    closes_at: Timestamp,
    /// The uids of its jobs, each with what it is told.
    jobs: BTreeMap<String, Finding>,
}

impl Gathering {
    /// No window is open yet. Each will be for so many seconds.
    pub(crate) fn new(seconds: u32) -> Gathering {
        Gathering { length_ms: u64::from(seconds).saturating_mul(1000), ..Gathering::default() }
    }

    /// Closes the window if its time is over, and takes in jobs that have just come.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects, (now, now_ms): (Timestamp, u64)) {
        if self.length_ms == 0 {
            return;
        }
        if let Some(open) = self.open.take_if(|open| now_ms >= open.closes_ms) {
            self.closed_at = Some(open.closes_at);
        }
        for held in changes.jobs.iter().filter_map(|key| objects.jobs.get(key)) {
            let waits = job_state(held, objects) == JobState::Waits;
            let came = held.object.metadata.creation_timestamp.as_ref().map(|Time(came)| *came);
            if let (Some(uid), Some(came), true) = (&held.object.metadata.uid, came, waits) {
                self.take_in(uid, came, (now, now_ms));
            }
        }
    }

    fn take_in(&mut self, uid: &str, came: Timestamp, (now, now_ms): (Timestamp, u64)) {
        let age_ms = u64::try_from(now.as_millisecond().saturating_sub(came.as_millisecond())).unwrap_or(0);
        let is_new = age_ms < self.length_ms && self.closed_at.is_none_or(|closed| came > closed);
        if !is_new {
            return;
        }
        let length_ms = self.length_ms;
        let open = self.open.get_or_insert_with(|| {
            let length = jiff::SignedDuration::from_millis(i64::try_from(length_ms).unwrap_or(i64::MAX));
            let closes_at = now.checked_add(length).unwrap_or(now);
            OpenWindow { closes_ms: now_ms.saturating_add(length_ms), closes_at, jobs: BTreeMap::new() }
        });
        let at = open.closes_at.round(jiff::Unit::Second).unwrap_or(open.closes_at);
        open.jobs.entry(uid.to_owned()).or_insert_with(|| Finding {
            reason: reasons::WAITING_FOR_TURN,
            why: format!("new jobs are gathered and placed together: it is matched at {at}"),
            counts: Unmatched::default(),
        });
    }

    /// The jobs that are not to be matched yet, and what is said of them.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&String, &Finding)> {
        self.open.iter().flat_map(|open| &open.jobs)
    }

    /// When the window closes that is open.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.closes_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> (Timestamp, u64) {
        (Timestamp::from_second(second).unwrap(), u64::try_from(second * 1000).unwrap())
    }

    fn held(gathering: &Gathering) -> Vec<&str> {
        gathering.held().map(|(uid, _)| uid.as_str()).collect()
    }

    fn passes(gathering: &mut Gathering, second: i64) {
        gathering.note(&Changes::default(), &Objects::default(), at(second));
    }

    #[test]
    fn a_window_opens_with_the_first_job_and_closes_for_all_that_have_come_meanwhile() {
        let mut gathering = Gathering::new(120);
        gathering.take_in("first", at(1000).0, at(1000));
        assert_eq!(gathering.next_ms(), Some(1_120_000));
        gathering.take_in("second", at(1100).0, at(1101));
        // an update of a job is no other job
        gathering.take_in("first", at(1000).0, at(1102));
        passes(&mut gathering, 1119);
        assert_eq!(held(&gathering), ["first", "second"]);
        let (_, told) = gathering.held().next().unwrap();
        assert_eq!(told.reason, "WaitingForTurn");
        assert_eq!(told.why, "new jobs are gathered and placed together: it is matched at 1970-01-01T00:18:40Z");
        passes(&mut gathering, 1120);
        assert!(held(&gathering).is_empty() && gathering.next_ms().is_none());
        // those of the last window are not gathered again, whatever changes of them
        gathering.take_in("second", at(1100).0, at(1121));
        assert!(held(&gathering).is_empty());
        gathering.take_in("third", at(1121).0, at(1121));
        assert_eq!((held(&gathering), gathering.next_ms()), (vec!["third"], Some(1_241_000)));
    }

    #[test]
    fn jobs_that_have_waited_for_longer_are_not_gathered() {
        let mut gathering = Gathering::new(120);
        gathering.take_in("old", at(100).0, at(1000));
        assert!(held(&gathering).is_empty());
    }

    #[test]
    fn without_a_length_nothing_is_gathered() {
        let mut gathering = Gathering::new(0);
        gathering.take_in("first", at(1000).0, at(1000));
        passes(&mut gathering, 1000);
        assert!(held(&gathering).is_empty());
    }
}

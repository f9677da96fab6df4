//! Pauses of jobs, by uid. A job that is gone leaves its pause to one of the same account that is created later: who deletes a job and creates it
//! again waits as long as with the first one. Jobs that were there before wait no longer for that.

use std::collections::BTreeMap;

use kube::ResourceExt;
use matchmaker::NotPreempted;
use pool::{JobState, Objects, job_state};

use crate::cycle::backoff::{Backoff, Pause};

/// For how long the pause of a job that is gone is remembered after its end, in milliseconds: how often in a row it went wrong.
pub(super) const REMEMBERED_MS: u64 = 1_200_000;
/// Of how many such jobs of one account.
const LEFT_MAX: usize = 1000;

/// Pauses, each with what is said of it.
#[derive(Debug)]
pub(super) struct JobPauses<W> {
    of_jobs: BTreeMap<String, JobPause<W>>,
    /// Those of jobs that are gone, by account.
    left: BTreeMap<String, Vec<LeftPause<W>>>,
}

#[derive(Debug)]
struct JobPause<W> {
    pause: Pause,
    account: String,
    what: W,
}

#[derive(Debug)]
struct LeftPause<W> {
    pause: Pause,
    what: W,
    /// No job that was created before this time takes it over, in seconds, by the clock of the API server.
    since: i64,
}

impl<W> Default for JobPauses<W> {
    fn default() -> JobPauses<W> {
        JobPauses { of_jobs: BTreeMap::new(), left: BTreeMap::new() }
    }
}

impl<W: Clone> JobPauses<W> {
    /// It went wrong once more for a job of an account.
    pub(super) fn lengthen(&mut self, (uid, account): (&str, &str), what: W, backoff: Backoff, now_ms: u64) {
        let own = self.of_jobs.entry(uid.to_owned()).or_insert_with(|| JobPause {
            pause: Pause::default(),
            account: account.to_owned(),
            what: what.clone(),
        });
        own.what = what;
        own.pause.lengthen(backoff, uid, now_ms);
    }

    /// It went well.
    pub(super) fn forget(&mut self, uid: &str) {
        self.of_jobs.remove(uid);
    }

    /// The jobs that pause now, and what is said of that.
    pub(super) fn lasting(&self, now_ms: u64) -> impl Iterator<Item = (&String, &W)> {
        self.of_jobs.iter().filter(move |(_, own)| own.pause.lasts(now_ms)).map(|(uid, own)| (uid, &own.what))
    }

    /// All jobs that have paused, and what is said of that.
    pub(super) fn all(&self) -> impl Iterator<Item = (&String, &W)> {
        self.of_jobs.iter().map(|(uid, own)| (uid, &own.what))
    }

    /// The pause of a job.
    pub(super) fn of(&self, uid: &str) -> Option<&Pause> {
        self.of_jobs.get(uid).map(|own| &own.pause)
    }

    /// When pauses end.
    pub(super) fn ends(&self) -> impl Iterator<Item = u64> {
        self.of_jobs.values().map(|own| own.pause.until_ms())
    }

    /// Takes in which jobs are gone, and which have a claim: these begin again.
    pub(super) fn note(&mut self, objects: &Objects, now_ms: u64) {
        let held = |uid: &str| objects.jobs.by_uid(uid).map(|(_, held)| job_state(held, objects) == JobState::Held);
        self.of_jobs.retain(|uid, _| held(uid) != Some(true));
        let gone: Vec<(String, JobPause<W>)> = self.of_jobs.extract_if(.., |uid, _| held(uid).is_none()).collect();
        if !gone.is_empty() {
            let since = objects.jobs.iter().map(|(_, held)| created(&held.object)).max().unwrap_or(0);
            gone.into_iter().for_each(|(_, own)| self.leave(own, since));
        }
        self.left.retain(|_, left| {
            left.retain(|left| now_ms < left.pause.until_ms().saturating_add(REMEMBERED_MS));
            !left.is_empty()
        });
    }

    fn leave(&mut self, JobPause { pause, account, what }: JobPause<W>, since: i64) {
        let left = self.left.entry(account).or_default();
        left.push(LeftPause { pause, what, since });
        if left.len() > LEFT_MAX {
            let shortest = (0..left.len()).min_by_key(|place| left.get(*place).map(|left| left.pause.until_ms()));
            shortest.into_iter().for_each(|place| drop(left.swap_remove(place)));
        }
    }

    /// Whether no job that is gone has left a pause.
    pub(super) fn is_settled(&self) -> bool {
        self.left.values().all(Vec::is_empty)
    }

    /// A job waits: if it is new, it takes over the longest pause that a job of its account has left.
    pub(super) fn take_over(&mut self, (uid, account): (&str, &str), created: i64) {
        let Some(left) = self.left.get_mut(account).filter(|_| !self.of_jobs.contains_key(uid)) else { return };
        let may_be = left.iter().enumerate().filter(|(_, left)| left.since <= created);
        let longest = may_be.max_by_key(|(_, left)| left.pause.until_ms()).map(|(place, _)| place);
        if let Some(LeftPause { pause, what, .. }) = longest.map(|place| left.swap_remove(place)) {
            self.of_jobs.insert(uid.to_owned(), JobPause { pause, account: account.to_owned(), what });
        }
    }
}

/// Jobs that are passed over for a while.
#[derive(Debug, Default)]
pub(super) struct PausedJobs {
    /// Nothing is preempted for them: what was nominated for them last was not claimed.
    pub(super) unclaimed: JobPauses<()>,
    /// Nothing could be preempted for them when they were asked for, and why.
    pub(super) hopeless: JobPauses<NotPreempted>,
    /// Nothing could be reserved for them while more of them waited than had a turn.
    pub(super) unreservable: JobPauses<()>,
    /// Their nominations could not be written.
    pub(super) unwritten: JobPauses<()>,
}

impl PausedJobs {
    /// Takes in which jobs are gone, and which have a claim.
    pub(super) fn note(&mut self, objects: &Objects, now_ms: u64) {
        self.hopeless.note(objects, now_ms);
        let others = [&mut self.unclaimed, &mut self.unreservable, &mut self.unwritten];
        others.into_iter().for_each(|pauses| pauses.note(objects, now_ms));
    }

    /// Whether no job that is gone has left a pause.
    pub(super) fn is_settled(&self) -> bool {
        let others = [&self.unclaimed, &self.unreservable, &self.unwritten];
        self.hopeless.is_settled() && others.iter().all(|pauses| pauses.is_settled())
    }

    /// A job waits: if it is new, it takes over what jobs of its account have left.
    pub(super) fn take_over(&mut self, job: (&str, &str), created: i64) {
        self.hopeless.take_over(job, created);
        let others = [&mut self.unclaimed, &mut self.unreservable, &mut self.unwritten];
        others.into_iter().for_each(|pauses| pauses.take_over(job, created));
    }

    /// When pauses end.
    pub(super) fn ends(&self) -> impl Iterator<Item = u64> {
        let others = [&self.unclaimed, &self.unreservable, &self.unwritten];
        self.hopeless.ends().chain(others.into_iter().flat_map(JobPauses::ends))
    }
}

/// When a job was created, in seconds, by the clock of the API server.
pub(super) fn created(job: &crds::Job) -> i64 {
    job.creation_timestamp().map_or(0, |time| time.0.as_second())
}

#[cfg(test)]
mod tests {
    use crds::{Job, JobClaim, JobSpec, JobStatus};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    const BACKOFF: Backoff = Backoff::new(10_000, 300_000);

    fn put(objects: &mut Objects, name: &str, created: i64, claimed: bool) {
        let mut job = Job::new(name, JobSpec::default());
        (job.metadata.namespace, job.metadata.uid) = (Some("n".to_owned()), Some(name.to_owned()));
        job.metadata.creation_timestamp = Some(Time(jiff::Timestamp::from_second(created).unwrap()));
        let claim = claimed.then(|| JobClaim { match_name: "m".to_owned(), uid: "u".to_owned() });
        job.status = Some(JobStatus { claim, ..JobStatus::default() });
        objects.jobs.put(job);
    }

    fn delete(objects: &mut Objects, name: &str) {
        let job = objects.jobs.by_uid(name).map(|(_, held)| Job::clone(&held.object)).unwrap();
        objects.jobs.delete(&job);
    }

    #[test]
    fn r2_who_deletes_a_job_and_creates_it_again_waits_as_long_as_with_the_first_one() {
        let (mut objects, mut pauses, mut now_ms) = (Objects::default(), JobPauses::<()>::default(), 0);
        let mut lasts = Vec::new();
        for number in 0..5 {
            let name = format!("j{number}");
            put(&mut objects, &name, 100 + number, false);
            pauses.note(&objects, now_ms);
            pauses.take_over((&name, "a"), 100 + number);
            // It is looked at when it does not pause.
            now_ms = pauses.of(&name).map_or(now_ms, |pause| pause.until_ms().max(now_ms));
            pauses.lengthen((&name, "a"), (), BACKOFF, now_ms);
            lasts.push(pauses.of(&name).unwrap().until_ms() - now_ms);
            delete(&mut objects, &name);
            now_ms += 1000;
        }
        assert!(lasts.windows(2).all(|two| two[0] < two[1]) && lasts[4] > 100_000, "{lasts:?}");
    }

    #[test]
    fn r2_jobs_that_were_there_jobs_of_others_and_further_ones_do_not_wait_for_that() {
        let (mut objects, mut pauses) = (Objects::default(), JobPauses::<()>::default());
        put(&mut objects, "bad", 100, false);
        put(&mut objects, "good", 101, false);
        put(&mut objects, "newest", 110, false);
        pauses.lengthen(("bad", "a"), (), BACKOFF, 0);
        delete(&mut objects, "bad");
        pauses.note(&objects, 1000);
        pauses.take_over(("good", "a"), 101);
        pauses.take_over(("stranger", "b"), 120);
        assert!(pauses.of("good").is_none() && pauses.of("stranger").is_none());
        put(&mut objects, "again", 120, false);
        put(&mut objects, "further", 121, false);
        pauses.take_over(("again", "a"), 120);
        pauses.take_over(("further", "a"), 121);
        assert!(pauses.of("again").is_some_and(|pause| pause.lasts(1000)) && pauses.of("further").is_none());
        assert!(pauses.is_settled());
        // One that gets a gang begins again, and leaves nothing.
        put(&mut objects, "again", 120, true);
        pauses.note(&objects, 2000);
        delete(&mut objects, "again");
        pauses.note(&objects, 3000);
        assert!(pauses.of("again").is_none() && pauses.is_settled());
    }

    #[test]
    fn r2_what_is_left_is_forgotten_in_the_end_and_takes_little_room() {
        let (mut objects, mut pauses) = (Objects::default(), JobPauses::<()>::default());
        put(&mut objects, "j", 100, false);
        for number in 0..3 * LEFT_MAX {
            pauses.lengthen((&format!("gone-{number}"), "a"), (), BACKOFF, 0);
        }
        pauses.note(&objects, 0);
        assert_eq!(pauses.left.values().map(Vec::len).collect::<Vec<_>>(), [LEFT_MAX]);
        pauses.note(&objects, 10_000 + REMEMBERED_MS);
        assert!(pauses.is_settled());
    }
}

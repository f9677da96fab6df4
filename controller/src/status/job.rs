//! What happened to a Job into its next status.
//!
//! Each function takes the status as it is and returns the whole next one; the patch names only what differs.

use claiming::Reason;
use crds::conditions::{Holds, reasons, types};
use crds::{ClaimPolicy, Job, JobClaim, JobStatus, Match, Nomination, Refusal, conditions};
use jiff::Timestamp;
use kube::ResourceExt;
use pool::{Cached, JobState, WorkloadObject};

use crate::metrics::Metrics;
use crate::nominations::preempted_reason;
use crate::status::draft::Draft;
use crate::status::finding::{Finding, cut};
use crate::status::{waiting, work};

const REFUSALS_MAX: usize = 5;
/// Changed counts alone are reported this often at most.
const RECOUNT_SECONDS: i64 = 300;
/// Other words and other blame under the same reason are reported this often at most. What an expression says of chance may change
/// in every cycle.
const REWORD_SECONDS: i64 = 30;
/// And another reason.
const REASON_SECONDS: i64 = 2;

/// How a claim ended, for its job.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) reason: Reason,
    pub(crate) message: String,
    /// What offers refused, or did not do in time.
    pub(crate) refusals: Vec<Refusal>,
    /// It was aborted before the commit.
    pub(crate) aborted: bool,
    /// What worked for it.
    pub(crate) batch: Option<WorkloadObject>,
}

/// A Match holds the job.
pub(crate) fn job_reserving(held: &Cached<Job>, found: &Match, match_uid: &str, now: Timestamp) -> JobStatus {
    let mut draft = Draft::of(&held.object, now);
    draft.say_acceptance(&held.ad);
    draft.status.claim = Some(JobClaim { match_name: found.name_any(), uid: match_uid.to_owned() });
    // What was held for the job is held by this Match from now on, or is not needed.
    draft.status.nomination = None;
    draft.status.last_match = Some(found.name_any());
    draft.status.workload = None;
    draft.status.started_at = None;
    draft.status.attempts = Some(found.spec.attempt);
    draft.status.why = None;
    draft.status.unmatched = None;
    draft.say(types::MATCHED, Holds::True, reasons::GANG_FOUND, found.spec.summary.clone());
    match awaited(found) {
        voters if voters.is_empty() => draft.say(types::CLAIMED, Holds::False, reasons::RESERVING, ""),
        voters => draft.say(types::CLAIMED, Holds::False, reasons::AWAITING_VOTES, voters),
    }
    draft.done()
}

/// A gang is held for the job, and others are preempted for it.
pub(crate) fn job_nominated(held: &Cached<Job>, nomination: &Nomination, told: &Finding, now: Timestamp) -> JobStatus {
    let mut draft = Draft::of(&held.object, now);
    draft.say_acceptance(&held.ad);
    draft.status.nomination = Some(nomination.clone());
    draft.status.why = Some(told.why.clone());
    draft.status.unmatched = Some(told.counts.clone());
    draft.say(types::MATCHED, Holds::False, told.reason, told.why.clone());
    draft.done()
}

/// The members whose votes a gang needs, in words; empty if there are none.
fn awaited(found: &Match) -> String {
    let voters = found.spec.members.iter().filter(|member| member.claim_policy == Some(ClaimPolicy::Agent));
    let names: Vec<String> =
        voters.map(|member| format!("{} {}/{}", member.kind, member.namespace, member.name)).collect();
    if names.is_empty() { String::new() } else { cut(&format!("waiting for the votes of {}", names.join(", ")), 1024) }
}

/// All members are claimed.
pub(crate) fn job_claimed(held: &Cached<Job>, found: &Match, match_uid: &str, now: Timestamp) -> JobStatus {
    let job = held.object.as_ref();
    let mut draft = Draft::of(job, now);
    draft.say_acceptance(&held.ad);
    draft.status.claim = Some(JobClaim { match_name: found.name_any(), uid: match_uid.to_owned() });
    draft.status.last_match = Some(found.name_any());
    draft.status.attempts = Some(found.spec.attempt.max(draft.status.attempts.unwrap_or(0)));
    waiting::begin(job, &mut draft.status, now);
    waiting::end(&mut draft.status, now);
    if job.spec.workload.is_none() {
        draft.status.rejections = None;
    }
    draft.status.members = Some(found.spec.summary.clone());
    draft.status.why = None;
    draft.status.unmatched = None;
    draft.say(types::MATCHED, Holds::True, reasons::GANG_FOUND, found.spec.summary.clone());
    draft.say(types::CLAIMED, Holds::True, reasons::COMMITTED, format!("held by Match {}", found.name_any()));
    if draft.holds(types::PREEMPTED) {
        draft.say(types::PREEMPTED, Holds::False, reasons::CLAIMED_AGAIN, "");
    }
    match &job.spec.workload {
        None => draft.say(
            types::STARTED,
            Holds::True,
            reasons::NO_WORKLOAD,
            "the job has no workload: start your own program, and set spec.done when it has ended",
        ),
        Some(_) if draft.status.workload.is_some() => {}
        Some(_) => draft.say(types::STARTED, Holds::False, reasons::WORKLOAD_PENDING, "the workload is being started"),
    }
    draft.done()
}

/// Counts a job that was finished by the write that has left it so, since it could not be claimed.
pub(crate) fn count_gave_up(metrics: &Metrics, job: &Job) {
    let Some(status) = &job.status else { return };
    let finished = conditions::find(&status.conditions, types::FINISHED).filter(|found| found.status == "True");
    let given_up = [reasons::RETRY_LIMIT_REACHED, reasons::MATCH_TIMED_OUT];
    let reason = finished.and_then(|found| given_up.into_iter().find(|reason| found.reason == **reason));
    reason.into_iter().for_each(|reason| metrics.claims.gave_up(reason));
}

/// The claim is over, and nothing is held any more.
pub(crate) fn job_freed(job: &Job, ended: &Ended, now: Timestamp) -> JobStatus {
    let mut draft = Draft::of(job, now);
    draft.status.last_match =
        draft.status.claim.take().map(|claim| claim.match_name).or(draft.status.last_match.take());
    // A job that has finished says where it was.
    if !is_end(ended.reason) {
        draft.status.members = None;
    }
    let by_itself = matches!(ended.reason, Reason::Completed | Reason::WorkloadFailed);
    if let Some(batch) = ended.batch.as_ref().filter(|batch| batch.run.up) {
        draft.status.rejections = None;
        if by_itself {
            work::started(&mut draft, batch);
        }
    }
    let mut refusals = ended.refusals.clone();
    refusals.append(&mut draft.status.refusals);
    refusals.truncate(REFUSALS_MAX);
    draft.status.refusals = refusals;
    let reason = ended.reason.as_str();
    draft.say(types::CLAIMED, Holds::False, reason, ended.message.clone());
    if ended.reason == Reason::Preempted {
        let times = draft.status.preemptions.unwrap_or(0).saturating_add(1);
        draft.status.preemptions = Some(times);
        draft.say(types::PREEMPTED, Holds::True, preempted_reason(&ended.message).0, ended.message.clone());
    }
    let worked = by_itself && draft.status.workload.is_some();
    if !worked && conditions::find(&draft.status.conditions, types::STARTED).is_some() {
        let refused = ended.reason == Reason::WorkloadFailed && ended.batch.is_none();
        draft.say(types::STARTED, Holds::False, if refused { reasons::WORKLOAD_REFUSED } else { reason }, "");
        draft.status.workload = None;
        draft.status.started_at = None;
    }
    match ended.reason {
        Reason::Done if ended.aborted => {
            draft.finish(reasons::CANCELLED, "spec.done was set before the job was claimed");
        }
        Reason::Done if job.spec.workload.is_some() => {
            draft.finish(reasons::CANCELLED, "spec.done was set before the workload had ended");
        }
        end if is_end(end) => draft.finish(reason, ended.message.clone()),
        Reason::Suspended => {
            waiting::end(&mut draft.status, now);
            draft.say(types::MATCHED, Holds::False, reasons::SUSPENDED, "spec.suspend is true");
        }
        _ => {
            waiting::begin(job, &mut draft.status, now);
            draft.say(types::MATCHED, Holds::False, reasons::PENDING_EVALUATION, "to be matched again");
            if (ended.aborted && counts_as_attempt(ended.reason)) || ended.reason == Reason::StartTimedOut {
                count_aborted_attempt(&mut draft, ended);
            }
        }
    }
    draft.done()
}

/// Whether a claim that ends for this reason is the last one of its job.
fn is_end(reason: Reason) -> bool {
    matches!(reason, Reason::Done | Reason::ClaimExpired | Reason::Completed | Reason::WorkloadFailed)
}

/// Whether an aborted attempt counts. Every one does, but JobTaken, JobDeleted and MatchDeleted: there the job or its Match was taken back.
fn counts_as_attempt(reason: Reason) -> bool {
    !matches!(reason, Reason::JobTaken | Reason::JobDeleted | Reason::MatchDeleted)
}

/// One rejection more: perhaps the one too many.
fn count_aborted_attempt(draft: &mut Draft<'_>, ended: &Ended) {
    let times = draft.status.rejections.unwrap_or(0).saturating_add(1);
    draft.status.rejections = Some(times);
    let limit = draft.job.spec.retry.as_ref().and_then(|retry| retry.limit);
    if let Some(limit) = limit.filter(|limit| times > *limit) {
        let last = format!("{}: {}", ended.reason, ended.message);
        let message = cut(&format!("rejected {times} times, spec.retry.limit is {limit}; the last time {last}"), 1024);
        draft.status.why = Some(cut(&message, 256));
        draft.finish(reasons::RETRY_LIMIT_REACHED, message);
    }
}

/// A job that no Match holds: where it stands, and what the last cycle found about it.
pub(crate) fn job_waiting(held: &Cached<Job>, state: JobState, finding: Option<&Finding>, now: Timestamp) -> JobStatus {
    let job = held.object.as_ref();
    let mut draft = Draft::of(job, now);
    draft.say_acceptance(&held.ad);
    match state {
        JobState::NotAccepted => {
            let message = held.ad.as_ref().err().map(|problem| problem.message.clone()).unwrap_or_default();
            draft.status.why = Some(cut(&message, 256));
            draft.status.unmatched = None;
            draft.say(types::MATCHED, Holds::False, reasons::NOT_ACCEPTED, "the ad was not accepted");
        }
        JobState::Suspended => {
            waiting::end(&mut draft.status, now);
            draft.status.why = None;
            draft.status.unmatched = None;
            draft.say(types::MATCHED, Holds::False, reasons::SUSPENDED, "spec.suspend is true");
        }
        JobState::Waits => {
            waiting::begin(job, &mut draft.status, now);
            waits(&mut draft, finding);
            times_out(&mut draft);
        }
        JobState::Finished if job.spec.done && !draft.holds(types::FINISHED) => {
            draft.status.why = None;
            draft.status.unmatched = None;
            draft.say(types::MATCHED, Holds::False, reasons::CANCELLED, "cancelled before it was claimed");
            draft.finish(reasons::CANCELLED, "spec.done was set before the job was claimed");
        }
        JobState::Finished | JobState::Held => {}
    }
    draft.done()
}

/// It has waited as long as it wants to.
fn times_out(draft: &mut Draft<'_>) {
    if waiting::left(draft.job, &draft.status, draft.now).is_some_and(|left| left <= 0) {
        let limit = draft.job.spec.match_timeout_seconds.unwrap_or(0);
        let why = draft.status.why.as_ref().map(|why| format!("; at the end: {why}")).unwrap_or_default();
        draft.finish(reasons::MATCH_TIMED_OUT, format!("not claimed within spec.matchTimeoutSeconds ({limit} s){why}"));
    }
}

/// Reports what was found, if it is time to.
fn waits(draft: &mut Draft<'_>, finding: Option<&Finding>) {
    let Some(finding) = finding else { return };
    let now = draft.now.as_second();
    if retells_at(&draft.status, draft.job.metadata.generation, finding, now).is_none_or(|at| at > now) {
        return;
    }
    draft.status.why = Some(finding.why.clone());
    draft.status.unmatched = Some(finding.counts.clone());
    draft.say(types::MATCHED, Holds::False, finding.reason, finding.why.clone());
}

/// When what was found is reported in the status of a job that waits, in seconds since 1970; never, if it says so already.
///
/// A new reason is reported at once; other blame, a port at which offers refuse or are taken that were not before, a little
/// later; mere counts now and then. Thousands of waiting jobs must not write in every cycle, and what is written starts one.
pub(crate) fn retells_at(status: &JobStatus, generation: Option<i64>, finding: &Finding, now: i64) -> Option<i64> {
    let said = conditions::find(&status.conditions, types::MATCHED);
    if said.is_none_or(|said| said.observed_generation != generation) {
        return Some(now);
    }
    let told = status.unmatched.as_ref();
    let same_reason = said.is_some_and(|said| said.reason == finding.reason);
    // How many offers of a reservation are free is said in words only.
    let same_words = finding.reason != reasons::WAITING_FOR_RESERVED || status.why.as_ref() == Some(&finding.why);
    let pause = match (same_reason, same_words && told.is_some_and(|told| same_blame(told, &finding.counts))) {
        (true, true) => {
            let same_counts = |told: &crds::Unmatched| {
                let counts = &finding.counts;
                told.ports == counts.ports && told.conjuncts == counts.conjuncts && told.preemption == counts.preemption
            };
            if told.is_some_and(same_counts) {
                return None;
            }
            RECOUNT_SECONDS
        }
        (true, false) => REWORD_SECONDS,
        (false, _) => REASON_SECONDS,
    };
    let told_at = told.and_then(|told| told.at.as_ref()).map(|at| at.0.as_second());
    Some(told_at.map_or(now, |at| at.saturating_add(pause)))
}

/// Whether the same ones stand in the way, however many.
fn same_blame(one: &crds::Unmatched, other: &crds::Unmatched) -> bool {
    let blame = |port: &crds::UnmatchedPort| {
        [port.candidates, port.refused_by_job, port.refused_by_offer, port.busy].map(|count| count > 0)
    };
    let same = |(one, other): (&crds::UnmatchedPort, &crds::UnmatchedPort)| {
        one.label == other.label && blame(one) == blame(other)
    };
    one.preemption == other.preemption
        && one.ports.len() == other.ports.len()
        && one.ports.iter().zip(&other.ports).all(same)
}

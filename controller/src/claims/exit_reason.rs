//! A claim and the objects into the reason why the claim should be aborted or released, if there is one.

use claiming::{Decision, Reason};
use crds::{Job, StopPolicy};
use kube::ResourceExt;
use pool::{Objects, admits};

use crate::claims::view::View;
use crate::workloads::{asked_for, was_up, work_of};

/// The first reason to call the claim off or to end it, whose decision is this. `now` is in seconds since 1970.
pub(crate) fn exit_reason(view: &View, decision: Decision, objects: &Objects, now: i64) -> Option<Reason> {
    if !matches!(decision, Decision::Absent | Decision::Pending | Decision::Committed) {
        return None;
    }
    let job = objects.jobs.get(&view.root.key).map(|held| held.object.as_ref());
    let Some(job) = job.filter(|job| job.uid().unwrap_or_default() == view.root.uid) else {
        return Some(Reason::JobDeleted);
    };
    let committed = decision == Decision::Committed;
    by_job(job)
        .or_else(|| by_match(view))
        .or_else(|| by_offers(view, objects, committed))
        .or_else(|| by_time(view, job, now))
        .or_else(|| by_work(view, job, objects, now))
        .or_else(|| by_workload(view, decision, objects))
        .or_else(|| by_preemption(view, committed, objects))
}

/// What it holds is to be another job's.
fn by_preemption(view: &View, committed: bool, objects: &Objects) -> Option<Reason> {
    (committed && objects.preempted.contains_key(&view.uid)).then_some(Reason::Preempted)
}

fn by_job(job: &Job) -> Option<Reason> {
    if job.metadata.deletion_timestamp.is_some() {
        Some(Reason::JobDeleted)
    } else if job.spec.done {
        Some(Reason::Done)
    } else if job.spec.suspend {
        Some(Reason::Suspended)
    } else {
        None
    }
}

fn by_match(view: &View) -> Option<Reason> {
    let deleted = view.found.as_ref().is_some_and(|found| found.metadata.deletion_timestamp.is_some());
    deleted.then_some(Reason::MatchDeleted)
}

fn by_offers(view: &View, objects: &Objects, committed: bool) -> Option<Reason> {
    let gone = if committed { Reason::MemberLost } else { Reason::MemberGone };
    if view.has_unknown_kind() {
        return Some(gone);
    }
    for leg in &view.legs {
        let offer = objects.offer(leg.kind, &leg.key).filter(|offer| offer.uid() == leg.uid);
        match offer {
            None => return Some(gone),
            Some(offer) if committed && offer.fields.stop_policy == StopPolicy::HoldAndDrain => {
                return Some(Reason::Evicted);
            }
            // Its entry was lost, and cannot be written back with the vote that it had: the agent is lost to this claim.
            Some(offer) if committed && leg.agent && offer.entry(&view.uid).is_none() => {
                return Some(Reason::MemberLost);
            }
            // A seat that is not committed is freed at once, however long an agent may take to vote.
            Some(offer) if !committed && offer.fields.stop_policy != StopPolicy::None => {
                return Some(Reason::NotAllowed);
            }
            // Where the owner does not admit the namespace, nothing is reserved, even if the Match says so, and no entry is written back.
            Some(offer)
                if (!committed || offer.entry(&view.uid).is_none())
                    && !admits(offer, &view.root.key.namespace, objects) =>
            {
                return Some(Reason::NotAllowed);
            }
            Some(_) => {}
        }
    }
    None
}

/// What the job names in `workloadRef` cannot be started under any claim: then the job is to be finished, which is written when it is freed.
/// In a committed claim, the state of its work says so.
fn by_workload(view: &View, decision: Decision, objects: &Objects) -> Option<Reason> {
    let whose = view.whose(objects);
    let claim = whose.job?.status.as_ref()?.claim.as_ref()?;
    let found = asked_for(whose, objects).filter(|_| decision == Decision::Pending && claim.uid == view.uid)?;
    found.is_managed_elsewhere.then_some(Reason::WorkloadFailed)
}

/// When there will be a reason to end if nothing else happens, in seconds since 1970.
pub(crate) fn exits_at(view: &View, decision: Decision, objects: &Objects) -> Option<i64> {
    let held = objects.jobs.get(&view.root.key).filter(|_| decision == Decision::Committed)?;
    let job = held.object.as_ref();
    expires_at(view, job).into_iter().chain(gives_up_at(view, job, objects)).min()
}

fn by_time(view: &View, job: &Job, now: i64) -> Option<Reason> {
    expires_at(view, job).is_some_and(|at| now >= at).then_some(Reason::ClaimExpired)
}

fn expires_at(view: &View, job: &Job) -> Option<i64> {
    view.found.as_ref()?.expires_at(Some(job))
}

/// No pod has been ready or finished in time, counted from when the batch Job was started; of one that could not even be
/// made, from the commit.
fn by_work(view: &View, job: &Job, objects: &Objects, now: i64) -> Option<Reason> {
    gives_up_at(view, job, objects).is_some_and(|at| now >= at).then_some(Reason::StartTimedOut)
}

fn gives_up_at(view: &View, job: &Job, objects: &Objects) -> Option<i64> {
    let limit = i64::from(job.spec.workload.as_ref()?.start_timeout_seconds);
    let committed_at = view.found.as_ref()?.status.as_ref()?.committed_at.as_ref()?.0.as_second();
    let batch = work_of(view.whose(objects), objects);
    if was_up(job, &view.uid) || batch.is_some_and(|batch| batch.run.up || batch.ended.is_some()) {
        return None;
    }
    let since = batch.and_then(|batch| batch.run.started).map_or(committed_at, |started| started.max(committed_at));
    Some(since.saturating_add(limit))
}

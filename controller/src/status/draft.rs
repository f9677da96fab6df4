//! The next status of a Job, condition by condition; its phase follows from them.

use std::sync::Arc;

use crds::ad::NotAccepted;
use crds::conditions::{Holds, is_true, reasons, set, types};
use crds::{Job, JobPhase, JobStatus, conditions};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use pool::Prepared;

use crate::status::finding::cut;
use crate::status::waiting;

/// A status in the making.
pub(super) struct Draft<'j> {
    pub(super) job: &'j Job,
    pub(super) status: JobStatus,
    pub(super) now: Timestamp,
}

impl<'j> Draft<'j> {
    /// The status that a job has.
    pub(super) fn of(job: &'j Job, now: Timestamp) -> Draft<'j> {
        let mut status = job.status.clone().unwrap_or_default();
        status.observed_generation = job.metadata.generation;
        Draft { job, status, now }
    }

    /// One condition.
    pub(super) fn say(&mut self, type_: &'static str, holds: Holds, reason: &'static str, message: impl Into<String>) {
        let finding = conditions::Finding { type_, holds, reason, message: message.into() };
        set(&mut self.status.conditions, finding, self.job.metadata.generation, Time(self.now));
    }

    /// Whether a condition is true.
    pub(super) fn holds(&self, type_: &str) -> bool {
        is_true(&self.status.conditions, type_)
    }

    /// Whether the ad is accepted.
    pub(super) fn say_acceptance(&mut self, ad: &Result<Arc<Prepared>, NotAccepted>) {
        let (holds, reason, message) = acceptance(ad);
        self.say(types::ACCEPTED, holds, reason, message);
    }

    /// The job is over.
    pub(super) fn finish(&mut self, reason: &'static str, message: impl Into<String>) {
        waiting::end(&mut self.status, self.now);
        self.status.finished_at = Some(Time(self.now));
        self.say(types::FINISHED, Holds::True, reason, message);
    }

    /// The phase follows from the conditions. A job without a workload is `Claimed` and never `Running`: what runs under
    /// its claim is nothing that is known here.
    pub(super) fn done(mut self) -> JobStatus {
        let finished =
            conditions::find(&self.status.conditions, types::FINISHED).filter(|found| found.status == "True");
        let well = |found: &Condition| [reasons::DONE, reasons::COMPLETED].contains(&found.reason.as_str());
        let started = conditions::find(&self.status.conditions, types::STARTED);
        let running = started.is_some_and(|found| found.status == "True" && found.reason != reasons::NO_WORKLOAD);
        let phase = match finished {
            Some(found) if well(found) => JobPhase::Succeeded,
            Some(found) if found.reason == reasons::CANCELLED => JobPhase::Cancelled,
            Some(_) => JobPhase::Failed,
            None if self.job.spec.suspend => JobPhase::Suspended,
            None if self.holds(types::CLAIMED) && running => JobPhase::Running,
            None if self.holds(types::CLAIMED) => JobPhase::Claimed,
            None if self.status.claim.is_some() => JobPhase::Reserving,
            None => JobPhase::Pending,
        };
        self.status.phase = Some(phase);
        self.status
    }
}

/// The condition `Accepted` of an ad of any kind.
pub(super) fn acceptance(ad: &Result<Arc<Prepared>, NotAccepted>) -> (Holds, &'static str, String) {
    match ad {
        Ok(prepared) if prepared.warnings.is_empty() => (Holds::True, reasons::ACCEPTED, String::new()),
        Ok(prepared) => (Holds::True, reasons::ACCEPTED_WITH_WARNINGS, cut(&prepared.warnings.join("; "), 1024)),
        Err(problem) => (Holds::False, problem.reason, problem.message.clone()),
    }
}

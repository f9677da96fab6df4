//! Why nothing is claimed for a workload that carries the label, and what its author can do about it.

use crds::conditions::{self, types};
use crds::{Job, WorkKind};
use kube::ResourceExt;
use pool::{WorkloadObject, noun};

/// What keeps a labelled workload from its gang, unless its author does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// There is no Job of the name on the label.
    AdMissing {
        /// That name.
        ad: String,
    },
    /// There is no room for the Job on the label.
    AdTooLarge {
        /// Its name.
        ad: String,
    },
    /// It ran already when it was labelled, or was released since.
    NotHeld {
        /// The Job that asks for it all the same.
        asked_for_by: Option<String>,
    },
    /// Another controller manages it.
    ManagedElsewhere {
        /// Which, and what to do.
        why: String,
    },
    /// The owner of the Job is not known.
    OwnerUnknown {
        /// What has made it, if a controller has.
        made_by: Option<String>,
    },
    /// It is held, and the Job that asked for it is finished.
    Finished {
        /// That Job.
        job: String,
        /// Reason and message of its end.
        why: String,
    },
}

impl Problem {
    /// That of a held workload for which this Job asks.
    pub(crate) fn of_finished(job: &Job) -> Option<Problem> {
        let finished = conditions::find(&job.status.as_ref()?.conditions, types::FINISHED)?;
        let why = [finished.reason.as_str(), finished.message.as_str()].into_iter().filter(|text| !text.is_empty());
        let why = why.collect::<Vec<_>>().join(", ");
        (finished.status == "True").then(|| Problem::Finished { job: job.name_any(), why })
    }

    /// The reason of the Event that tells of it.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Problem::AdMissing { .. } => "AdMissing",
            Problem::AdTooLarge { .. } => "AdTooLarge",
            Problem::NotHeld { .. } => "NotHeld",
            Problem::ManagedElsewhere { .. } => "ManagedElsewhere",
            Problem::OwnerUnknown { .. } => "OwnerUnknown",
            Problem::Finished { .. } => "JobFinished",
        }
    }

    /// What its author has to know.
    pub(crate) fn note(&self, work: &WorkloadObject) -> String {
        let (noun, namespace) = (noun(work.kind), &work.key.namespace);
        match self {
            Problem::AdMissing { ad } => format!(
                "this {noun} is held, but job.gangmatch.dev `{ad}` does not exist in namespace {namespace}: create it, or name \
                 another one in the label gangmatch.dev/ad"
            ),
            Problem::AdTooLarge { ad } => format!(
                "this {noun} is held, but job.gangmatch.dev `{ad}` in namespace {namespace} is too large: its condition Accepted \
                 states what to do"
            ),
            Problem::NotHeld { asked_for_by: Some(job) } => format!(
                "this {noun} was resumed before its gang was claimed, and job.gangmatch.dev `{job}` is still waiting for a gang: \
                 delete that Job, or {}",
                hold(work.kind)
            ),
            Problem::NotHeld { asked_for_by: None } => format!(
                "this {noun} is not held, so nothing is claimed for it: {}, or remove the label gangmatch.dev/ad",
                hold(work.kind)
            ),
            Problem::ManagedElsewhere { why } => format!("nothing is claimed for this {noun}: {why}"),
            Problem::OwnerUnknown { made_by: Some(maker) } => format!(
                "nothing is claimed for this {noun}: it was created by {maker}, and the user who created that is not known. \
                 Create a job.gangmatch.dev with workloadRef for it instead of the label gangmatch.dev/ad, or put the label on a \
                 batch Job or a JobSet"
            ),
            Problem::OwnerUnknown { made_by: None } => format!(
                "nothing is claimed for this {noun}: the user who created it is not known. Write your user name into the annotation \
                 gangmatch.dev/created-by, or create it again"
            ),
            Problem::Finished { job, why } => format!(
                "this {noun} stays held: its job.gangmatch.dev `{job}` is finished ({why}). Delete that Job to wait for a gang again, \
                 or delete this {noun}"
            ),
        }
    }
}

/// How to have it held.
const fn hold(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Job | WorkKind::JobSet => "set spec.suspend to true",
        WorkKind::Pod => {
            "create it again with the label (a Pod can be held only from its creation on, by the scheduling gate gangmatch.dev/hold)"
        }
    }
}

/// Reason and note of an Event for a Job whose workload is not held, and cannot be let go under its claim.
pub(crate) fn not_held(kind: WorkKind, name: &str) -> (&'static str, String) {
    let what = match kind {
        WorkKind::Job | WorkKind::JobSet => "set its spec.suspend to true",
        WorkKind::Pod => "create it again with the scheduling gate gangmatch.dev/hold",
    };
    ("NotHeld", format!("the {} `{name}` is not held: {what}. {WAITS}", noun(kind)))
}

/// The same for one whose workload is not there.
pub(crate) fn not_there(kind: WorkKind, name: &str) -> (&'static str, String) {
    ("WorkloadMissing", format!("the {} `{name}` does not exist in this namespace: create it. {WAITS}", noun(kind)))
}

/// The same for a batch Job under the name of the one that is to be made, which no controller has made.
pub(crate) fn name_taken(name: &str) -> (&'static str, String) {
    let what = "was not created from the template of this job, but has the name that gangmatch needs: delete it";
    ("WorkloadNameTaken", format!("the batch Job `{name}` {what}. {WAITS}"))
}

/// For how long.
const WAITS: &str = "The claim waits for it, at most spec.workload.startTimeoutSeconds";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_told_what_to_do() {
        let said =
            |kind: WorkKind, problem: Problem| problem.note(&WorkloadObject { kind, ..WorkloadObject::default() });
        let asked_for_by = Some("mine-1".to_owned());
        let finished = Problem::Finished { job: "mine-1".to_owned(), why: "MatchTimedOut, too long".to_owned() };
        for (text, words) in [
            (said(WorkKind::Job, Problem::NotHeld { asked_for_by: None }), "this batch Job is not held"),
            (said(WorkKind::JobSet, Problem::NotHeld { asked_for_by: None }), "set spec.suspend to true"),
            (said(WorkKind::Pod, Problem::NotHeld { asked_for_by: None }), "create it again with the label"),
            (said(WorkKind::Pod, Problem::NotHeld { asked_for_by }), "delete that Job, or create it again"),
            (not_held(WorkKind::Job, "mine").1, "the batch Job `mine` is not held: set its spec.suspend to true"),
            (not_there(WorkKind::Pod, "mine").1, "the Pod `mine` does not exist in this namespace: create it"),
            (said(WorkKind::Pod, finished), "is finished (MatchTimedOut, too long). Delete that Job"),
        ] {
            assert!(text.contains(words), "{text}");
        }
    }
}

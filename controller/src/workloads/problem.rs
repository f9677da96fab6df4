//! Why nothing is claimed for a workload that carries the label, and what its author can do about it.

use crds::conditions::{self, types};
use crds::{Job, WorkKind};
use kube::ResourceExt;
use pool::{WorkObject, noun};

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
    /// It ran already when it was labelled, or somebody has let it go.
    NotHeld {
        /// The Job that asks for it all the same.
        asked_for_by: Option<String>,
    },
    /// Another controller manages it.
    ManagedElsewhere {
        /// Which, and what to do.
        why: String,
    },
    /// It is not known for whom a Job is to be made.
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
    pub(crate) fn note(&self, work: &WorkObject) -> String {
        let (noun, namespace) = (noun(work.kind), &work.key.namespace);
        match self {
            Problem::AdMissing { ad } => format!(
                "this {noun} is held, and no job.gangmatch.dev `{ad}` is in the namespace {namespace}: create it, or name another \
                 one in the label gangmatch.dev/ad"
            ),
            Problem::AdTooLarge { ad } => format!(
                "this {noun} is held, and job.gangmatch.dev `{ad}` in the namespace {namespace} is too large: its condition Accepted \
                 says what to do"
            ),
            Problem::NotHeld { asked_for_by: Some(job) } => format!(
                "somebody has let this {noun} go before its gang was claimed, and job.gangmatch.dev `{job}` still asks for one: \
                 delete that Job, or {}",
                hold(work.kind)
            ),
            Problem::NotHeld { asked_for_by: None } => format!(
                "this {noun} is not held, and nothing is claimed for it: to have that done, {}; else take the label \
                 gangmatch.dev/ad off",
                hold(work.kind)
            ),
            Problem::ManagedElsewhere { why } => format!("nothing is claimed for this {noun}: {why}"),
            Problem::OwnerUnknown { made_by: Some(maker) } => format!(
                "nothing is claimed for this {noun}: it was made by {maker}, and it is not known who has created that. Write a \
                 job.gangmatch.dev with workloadRef for it instead of the label gangmatch.dev/ad; or put the label on a batch Job or a \
                 JobSet"
            ),
            Problem::OwnerUnknown { made_by: None } => format!(
                "nothing is claimed for this {noun}: it is not known who has created it. Write your user name into the annotation \
                 gangmatch.dev/created-by, or create it anew"
            ),
            Problem::Finished { job, why } => format!(
                "this {noun} stays held: job.gangmatch.dev `{job}`, which asked for it, is finished ({why}). Delete that Job, and \
                 it is asked for once more; or delete this {noun}"
            ),
        }
    }
}

/// How to have it held.
const fn hold(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Job | WorkKind::JobSet => "set spec.suspend to true",
        WorkKind::Pod => {
            "create it anew with the label (a Pod can be held from its creation on only, by the scheduling gate gangmatch.dev/hold)"
        }
    }
}

/// Reason and note of an Event for a Job whose workload is not held, and cannot be let go under its claim.
pub(crate) fn not_held(kind: WorkKind, name: &str) -> (&'static str, String) {
    let what = match kind {
        WorkKind::Job | WorkKind::JobSet => "set its spec.suspend to true",
        WorkKind::Pod => "create it anew with the scheduling gate gangmatch.dev/hold",
    };
    ("NotHeld", format!("the {} `{name}` is not held: {what}. {WAITS}", noun(kind)))
}

/// The same for one whose workload is not there.
pub(crate) fn not_there(kind: WorkKind, name: &str) -> (&'static str, String) {
    ("WorkloadMissing", format!("there is no {} `{name}` in this namespace: create it. {WAITS}", noun(kind)))
}

/// The same for a batch Job under the name of the one that is to be made, which no controller has made.
pub(crate) fn name_taken(name: &str) -> (&'static str, String) {
    let what = "is not made from this job's template, and has the name that the one from the template gets: delete it";
    ("WorkloadNameTaken", format!("the batch Job `{name}` {what}. {WAITS}"))
}

/// For how long.
const WAITS: &str = "The claim waits for it, spec.workload.startTimeoutSeconds at most";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_told_what_to_do() {
        let said = |kind: WorkKind, problem: Problem| problem.note(&WorkObject { kind, ..WorkObject::default() });
        let asked_for_by = Some("mine-1".to_owned());
        let finished = Problem::Finished { job: "mine-1".to_owned(), why: "MatchTimedOut, too long".to_owned() };
        for (text, words) in [
            (said(WorkKind::Job, Problem::NotHeld { asked_for_by: None }), "this batch Job is not held"),
            (said(WorkKind::JobSet, Problem::NotHeld { asked_for_by: None }), "set spec.suspend to true"),
            (said(WorkKind::Pod, Problem::NotHeld { asked_for_by: None }), "create it anew with the label"),
            (said(WorkKind::Pod, Problem::NotHeld { asked_for_by }), "delete that Job, or create it anew"),
            (not_held(WorkKind::Job, "mine").1, "the batch Job `mine` is not held: set its spec.suspend to true"),
            (not_there(WorkKind::Pod, "mine").1, "there is no Pod `mine` in this namespace: create it"),
            (said(WorkKind::Pod, finished), "is finished (MatchTimedOut, too long). Delete that Job"),
        ] {
            assert!(text.contains(words), "{text}");
        }
    }
}

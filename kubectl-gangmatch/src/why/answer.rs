//! The answer of `why` about a job, as data. The words are in `text.rs`.

use std::sync::Arc;

use crds::Res;
use crds::ad::NotAccepted;
use crds::conditions::reasons;
use pool::Prepared;
use serde::Serialize;

/// Why a job waits, or where it runs.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobAnswer {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) status: StatusAnswer,
    /// The Match that holds it.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub(crate) match_name: Option<String>,
    /// The partners that it has, or would get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<String>,
    #[serde(flatten)]
    pub(crate) search: SearchAnswer,
    #[serde(flatten)]
    pub(crate) waiting: WaitingAnswer,
    /// A few offers that suffice for the reason: with these alone it is the same. Only in the data: no reader has to act on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<String>,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// The state of a job, and what is said of it: here, and by the controller in its conditions.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusAnswer {
    /// `Waits`, `NotAccepted`, `Suspended`, `Held` or `Finished`; `Matched` if it would get a gang now, `Unknown` if it may get one of what the reader may not list.
    pub(crate) state: &'static str,
    /// The reason of its condition, as listed in the documentation.
    pub(crate) reason: String,
    /// The same in a sentence.
    pub(crate) message: String,
    /// What the controller has written, if it says something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) controller: Option<Said>,
    /// How its last claim or attempt ended, if it has none now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_claim: Option<Said>,
    /// What else its conditions say: warnings, a preemption, a workload that did not start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<Said>,
    /// Since when it is in this state, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
}

impl StatusAnswer {
    /// A state with its reason and message, and nothing else.
    pub(crate) fn of(state: &'static str, reason: impl Into<String>, message: impl Into<String>) -> StatusAnswer {
        StatusAnswer { state, reason: reason.into(), message: message.into(), ..StatusAnswer::default() }
    }

    /// Says of a job that gets nothing that only some offers were looked at: the reader may not list these of other namespaces.
    pub(crate) fn is_of_some_offers(&mut self, unseen: &str) {
        if self.state == "Waits" {
            let message = &self.message;
            self.message =
                format!("you may not list {unseen} of other namespaces. Of those that you may list: {message}");
            self.state = "Unknown";
        }
    }
}

/// What was found in the pool for a job that waits: the offers at each port, and what in the job is worth a change.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchAnswer {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ports: Vec<PortAnswer>,
    /// Ports whose partners have to agree with each other, and how many do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conflicts: Vec<Conflict>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unknown: Vec<UnknownAnswer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) suggestions: Vec<SuggestionAnswer>,
}

/// What a job waits for that others hold, and which jobs are served before it.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitingAnswer {
    /// Offers that refused it, newest first, while it backs off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused_by: Vec<String>,
    /// The gang that it would get if nothing were taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) if_free: Option<IfFree>,
    /// What preemption would do for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preemption: Option<PreemptionAnswer>,
    /// For which jobs offers are held that it could have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reserved: Option<ReservedAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<Line>,
}

/// What a condition says.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Said {
    pub(crate) reason: String,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Said {
    /// A reason and its message, without a hint.
    pub(crate) fn of(reason: &str, message: impl Into<String>) -> Said {
        Said { reason: reason.to_owned(), message: message.into(), hint: None }
    }
}

/// Why an ad is not accepted, or what of it is ignored.
pub(crate) fn of_ad(ad: &Result<Arc<Prepared>, NotAccepted>) -> Option<Said> {
    match ad {
        Ok(prepared) if prepared.warnings.is_empty() => None,
        Ok(prepared) => Some(Said::of(reasons::ACCEPTED_WITH_WARNINGS, prepared.warnings.join("; "))),
        Err(problem) => Some(Said::of(problem.reason, problem.message.clone())),
    }
}

/// One port of the job. Every offer is counted once, under the first of these that is true of it.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PortAnswer {
    pub(crate) label: String,
    /// `machine`, `license` or `offer`: the kind that the constraint asks for.
    pub(crate) noun: &'static str,
    /// How many offers of that kind there are.
    pub(crate) offers: usize,
    /// How many of them accept claims of the job's namespace now: the controller counts only these.
    pub(crate) open: usize,
    #[serde(flatten)]
    pub(crate) refused: PortRefusals,
    /// Offers that never have what is requested.
    pub(crate) too_small: usize,
    /// The same by what they lack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) too_small_because: Vec<TooSmall>,
    #[serde(flatten)]
    pub(crate) matching: MatchingOffers,
    /// Offers among the taken, the closed and the free ones that also look at the partners at other ports, by the part that does.
    pub(crate) looks_at_other_ports: Vec<Refusals>,
    /// So does the constraint of the job.
    pub(crate) depends_on_other_ports: bool,
    /// Not all offers were looked at, because the constraint is too expensive.
    pub(crate) cut: bool,
}

/// The offers that do not match a port of the job: one of the two constraints is not true, or they do not admit its namespace.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PortRefusals {
    /// How many do not satisfy the constraint of the job.
    pub(crate) refused_by_job: usize,
    pub(crate) conjuncts: Vec<ConjunctAnswer>,
    /// Offers that admit no jobs of this namespace.
    pub(crate) not_admitted: Vec<NotAdmitted>,
    /// Offers that refuse the job, by what refuses it.
    pub(crate) refused_by_offer: Vec<Refusals>,
}

/// The offers that match a port of the job, by whether they can be claimed now.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MatchingOffers {
    /// Offers that accept no claims now.
    pub(crate) closed: usize,
    /// The first of them.
    pub(crate) closed_offers: Vec<ClosedOffer>,
    /// Offers of which others hold what is requested.
    pub(crate) taken: usize,
    /// The first of them.
    pub(crate) taken_offers: Vec<TakenOffer>,
    /// Offers that would do, and have what is requested.
    pub(crate) free: usize,
}

/// One part of the constraint of the job.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConjunctAnswer {
    pub(crate) text: String,
    /// Where it is written: file and line, or the field.
    pub(crate) place: String,
    /// Of how many offers of the port it is not true.
    pub(crate) rejects: usize,
    /// It reads other partners: it is not counted here.
    pub(crate) reads_other_ports: bool,
}

/// Offers that never have what is requested, for the same reason.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TooSmall {
    pub(crate) offers: usize,
    /// What they lack, as a sentence of which their number is the subject.
    pub(crate) message: String,
}

/// Offers of one namespace that admit no jobs of the job's namespace, for the same reason.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotAdmitted {
    pub(crate) offers: usize,
    pub(crate) namespace: String,
    pub(crate) because: String,
}

/// Offers of one owner that refuse the job with the same part of their constraint; without more than a count if no more is known.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Refusals {
    pub(crate) offers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// The part of their constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conjunct: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) example: Option<String>,
    /// What the part reads of the job and of the example, without the values of the example.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) facts: Vec<String>,
}

/// An offer that accepts no claims now, with the reason and message of its condition.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClosedOffer {
    pub(crate) offer: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// An offer of which others hold something: how much of it is used, and by which jobs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TakenOffer {
    pub(crate) offer: String,
    pub(crate) used: String,
    /// What is used of it outside the cluster.
    #[serde(skip_serializing_if = "Res::is_empty")]
    pub(crate) external: Res,
    pub(crate) holders: Vec<Holder>,
    /// How many more claims there are of jobs that the reader may see.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) more: usize,
    /// How many other claims there are, of jobs that the reader may not see.
    pub(crate) others: usize,
    /// How many jobs that wait have a nomination that holds some of it.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) nominated_jobs: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A job that holds something of an offer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder {
    pub(crate) job: String,
    /// The user who created the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    pub(crate) amounts: String,
    /// Jobs with the same share key hold it together.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) shared: bool,
    /// Since when, RFC 3339. Absent for a job that gets it in the next cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<String>,
    /// Until when at most, if the job has a deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
}

/// Ports whose partners do not agree with each other.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Conflict {
    /// Their labels.
    pub(crate) ports: Vec<String>,
    /// How many offers would do at each, apart from that.
    pub(crate) fit: Vec<u64>,
    /// The parts of constraints that look at several of them.
    pub(crate) conjuncts: Vec<String>,
}

/// A name in the constraint of a port that means nothing there, and which name may be meant.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnknownAnswer {
    pub(crate) port: String,
    pub(crate) written: String,
    pub(crate) place: String,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meant: Option<String>,
    pub(crate) offers: u64,
}

/// One or two changes that were tried, and give a gang.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SuggestionAnswer {
    pub(crate) message: String,
    pub(crate) changes: Vec<ChangeAnswer>,
    /// How many offers would match at the port of the first change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offers: Option<u64>,
    /// The gang that was found.
    pub(crate) members: String,
    /// It is free now; if not, others hold some of it.
    pub(crate) now: bool,
}

/// One change of the job: what is written now, where, and what to write instead.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeAnswer {
    pub(crate) port: String,
    pub(crate) place: String,
    pub(crate) from: String,
    /// What to write instead; absent: leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
}

/// The gang that a job would get if what others hold were free.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IfFree {
    pub(crate) members: String,
    /// Only what the job waits for counts as free; if not, everything does.
    pub(crate) only_needed: bool,
    /// The quota that does not let the job have this gang.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quota: Option<String>,
    pub(crate) taken: Vec<TakenOffer>,
}

/// What preemption would do for a job that waits, or what stands against it.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreemptionAnswer {
    /// The reason: `Rank`, `Reclaim`, `Share` or `Priority`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) mode: &'static str,
    /// How many gangs would end.
    pub(crate) gangs: usize,
    /// The jobs of the same namespace among them.
    pub(crate) own: Vec<String>,
    /// How many others there are.
    pub(crate) others: usize,
    /// What stands against it, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<&'static str>,
    /// From when on it does not, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The same in a sentence.
    pub(crate) message: String,
}

/// For which jobs offers are held that a job could have.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReservedAnswer {
    /// The jobs of the same namespace among them.
    pub(crate) own: Vec<String>,
    /// How many others there are.
    pub(crate) others: usize,
    /// When all of these offers are free at the latest, RFC 3339; absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
    /// The same in a sentence.
    pub(crate) message: String,
}

/// The job's place among all jobs that wait.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    /// From 1.
    pub(crate) place: usize,
    pub(crate) of: usize,
    /// Jobs of the same namespace that are served before it.
    pub(crate) ahead_own: usize,
    /// Jobs of other namespaces that are.
    pub(crate) ahead_others: usize,
    /// How many of all these would get a gang now.
    pub(crate) ahead_matched: usize,
    /// How many gangs its namespace holds.
    pub(crate) held: u64,
    pub(crate) priority: i32,
}

//! What people are told of preemption. A tenant learns of another one only that there is one: the job that takes the place is named to jobs of its
//! own namespace, and accounts of others are not.

use std::borrow::Cow;
use std::sync::Arc;

use crds::conditions::reasons;
use crds::{Match, Nomination, PreemptionReason, Unmatched, UnmatchedPreemption};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use matchmaker::{NotPreempted, Proposal};
use pool::{ObjectKey, reason_of, why_held_for_others};

use crate::status::{Finding, cut};

/// How a message to a victim begins, by the reason, and the reason of its condition.
const WORDS: [(PreemptionReason, &str, &str, &str); 4] = [
    (
        PreemptionReason::Rank,
        reasons::PREEMPTED_BY_RANK,
        "by rank",
        "the offers that another job needs rank that job higher",
    ),
    (
        PreemptionReason::Reclaim,
        reasons::PREEMPTED_BY_RECLAIM,
        "by reclaim",
        "another account takes back what is guaranteed to it",
    ),
    (PreemptionReason::Share, reasons::PREEMPTED_BY_SHARE, "by share", "another account holds less for its weight"),
    (
        PreemptionReason::Priority,
        reasons::PREEMPTED_BY_PRIORITY,
        "by priority",
        "a job of the same account has the higher priority",
    ),
];

/// The counts of a job's reason, if one is known.
pub(super) fn counts_of(finding: Option<&Finding>) -> Unmatched {
    finding.map_or_else(Unmatched::default, |finding| finding.counts.clone())
}

/// What the job of a victim is told.
pub(super) fn message(nominee: &ObjectKey, nomination: &Nomination, victim: Option<&Arc<Match>>) -> String {
    let found = WORDS.iter().find(|(reason, ..)| Some(*reason) == nomination.mode);
    let said = found.map(|(_, _, how, why)| format!("{how}: {why}")).unwrap_or_default();
    let namespace = victim.and_then(|found| found.metadata.namespace.as_deref());
    if namespace == Some(nominee.namespace.as_str()) { format!("{said}; for Job {nominee}") } else { said }
}

/// The reason of the condition `Preempted` for what a victim was told, and the mode.
pub(crate) fn preempted_reason(message: &str) -> (&'static str, &'static str) {
    let found = WORDS.iter().find(|(_, _, how, _)| message.starts_with(how));
    found.map_or((reasons::PREEMPTED, ""), |(mode, reason, ..)| (*reason, mode.as_str()))
}

/// What a job with a nomination is told.
pub(super) fn waits_for(victims: usize, counts: Unmatched) -> Finding {
    let why = match victims {
        1 => "1 gang is being stopped for it".to_owned(),
        number => format!("{number} gangs are being stopped for it"),
    };
    Finding { reason: reasons::WAITING_FOR_PREEMPTED, why, counts }
}

/// What a job is told for which a gang is reserved, of which so many of all offers are free.
pub(super) fn waits_for_reserved(since: Timestamp, (free, all): (usize, usize), counts: Unmatched) -> Finding {
    let offers = if all == 1 { "1 offer is".to_owned() } else { format!("{all} offers are") };
    let why = format!("held for it since {since}: {free} of {offers} free");
    Finding { reason: reasons::WAITING_FOR_RESERVED, why, counts }
}

/// What a job is told that would have a gang if nothing were held for so many others.
pub(super) fn held_for_others(finding: &Finding, reservations: usize) -> Finding {
    let why = cut(&why_held_for_others(&finding.why, reservations), 256);
    Finding { reason: reasons::HELD_FOR_OTHERS, why, ..finding.clone() }
}

/// Whether gangs may be preempted for a job of which this was found.
pub(super) fn may_be_preempted_for(finding: &Finding) -> bool {
    let is_short = [reasons::WAITING_FOR_CAPACITY, reasons::QUOTA_EXCEEDED].contains(&finding.reason);
    is_short && finding.counts.preemption.is_none()
}

/// What preemption would do, or why nothing is done, beside what was found.
pub(super) fn with_preemption(finding: &Finding, found: &Result<Proposal, NotPreempted>) -> Finding {
    let mut finding = finding.clone();
    let (said, data) = match found {
        Ok(proposal) => {
            let mode = reason_of(proposal.mode);
            let how = WORDS.iter().find(|(own, ..)| Some(*own) == mode).map_or("", |(_, _, how, _)| how);
            let gangs = if proposal.victims.len() == 1 { "gang" } else { "gangs" };
            let said = format!("preemption {how} would stop {} {gangs} for it", proposal.victims.len());
            let victims = i64::try_from(proposal.victims.len()).unwrap_or(i64::MAX);
            (said, UnmatchedPreemption { mode, victims, ..UnmatchedPreemption::default() })
        }
        Err(why) => {
            let (word, said) = refusal(*why);
            let from = match why {
                NotPreempted::TooYoung(from) => Timestamp::from_second(*from).ok().map(Time),
                _ => None,
            };
            let refused = Some(word.to_owned());
            (said.into_owned(), UnmatchedPreemption { refused, from, ..UnmatchedPreemption::default() })
        }
    };
    // A quota that is exceeded is no matter of gangs that could be ended: what was found says it already.
    let no_gangs = |why: &policy::NoVictims| !matches!(why, policy::NoVictims::TooManyVictims);
    let is_said =
        finding.reason == reasons::QUOTA_EXCEEDED && matches!(found, Err(NotPreempted::Refused(why)) if no_gangs(why));
    if !is_said {
        finding.why = cut(&format!("{}; {said}", finding.why), 256);
    }
    finding.counts.preemption = Some(data);
    finding
}

/// What a job is told for whose account nothing is preempted until then.
pub(super) fn withdrawn(finding: &Finding, until: Timestamp) -> Finding {
    let why = "a job of it was withdrawn after gangs had been stopped for it";
    let said = format!("nothing is preempted for its account before {until:.0}: {why}");
    let mut finding = finding.clone();
    finding.why = cut(&format!("{}; {said}", finding.why), 256);
    let refused = Some("Withdrawn".to_owned());
    finding.counts.preemption =
        Some(UnmatchedPreemption { refused, from: Some(Time(until)), ..UnmatchedPreemption::default() });
    finding
}

/// Why nothing is preempted, as a word and as a sentence.
fn refusal(why: NotPreempted) -> (&'static str, Cow<'static, str>) {
    let (word, said) = match why {
        NotPreempted::Refused(policy::NoVictims::NoCandidate | policy::NoVictims::NotEnoughVictims) => {
            ("NotEnoughVictims", "the gangs that may be preempted for it do not make enough room")
        }
        NotPreempted::Refused(policy::NoVictims::TooManyVictims) => {
            ("TooManyVictims", "more gangs would have to be preempted for it than maxVictims of the PoolPolicy permits")
        }
        NotPreempted::Refused(policy::NoVictims::QuotaExceeded) => {
            ("QuotaExceeded", "its quota does not permit it, whatever is preempted")
        }
        NotPreempted::TooYoung(from) => {
            let until = Timestamp::from_second(from).map(|from| format!(" before {from}")).unwrap_or_default();
            return (
                "TooYoung",
                format!("no gang is preempted for it{until}: those that could be run undisturbed until then").into(),
            );
        }
        NotPreempted::Ending => ("Ending", "gangs that are ending make room for it"),
        NotPreempted::BudgetSpent => {
            ("BudgetSpent", "evictionsPerHour of the PoolPolicy permits no more preemptions for its account now")
        }
        NotPreempted::CutShort => {
            ("CutShort", "the search for gangs to preempt exceeds the share of its namespace; it is tried again later")
        }
    };
    (word, said.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_read_back_from_what_was_told() {
        for (mode, reason, how, why) in WORDS {
            assert_eq!(preempted_reason(&format!("{how}: {why}; for Job a/b")), (reason, mode.as_str()));
        }
        assert_eq!(preempted_reason("something else"), ("Preempted", ""));
    }

    #[test]
    fn of_a_quota_that_is_exceeded_nothing_is_said_of_gangs_that_could_be_preempted() {
        let finding =
            |reason| Finding { reason, why: "chips holds 2 of at most 2".to_owned(), counts: Unmatched::default() };
        let told = |reason, refusal| with_preemption(&finding(reason), &Err(NotPreempted::Refused(refusal)));
        for refusal in
            [policy::NoVictims::NoCandidate, policy::NoVictims::NotEnoughVictims, policy::NoVictims::QuotaExceeded]
        {
            let of_quota = told(reasons::QUOTA_EXCEEDED, refusal);
            assert_eq!(of_quota.why, "chips holds 2 of at most 2");
            assert!(of_quota.counts.preemption.is_some(), "the data keep it");
            let of_capacity = told(reasons::WAITING_FOR_CAPACITY, refusal);
            assert!(of_capacity.why.starts_with("chips holds 2 of at most 2; "), "{}", of_capacity.why);
        }
    }
}

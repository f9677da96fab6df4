//! The conditions of an ad as they were and as they are into what an Event says of the change.

use crds::conditions::{find, reasons, types};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use kube::runtime::events::EventType;

/// What an Event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventText {
    pub(crate) tone: EventType,
    pub(crate) reason: String,
    pub(crate) note: String,
}

/// Why a job that is not matched says so without there being any news: its owner's doing, or told by another condition.
const QUIET: [&str; 4] = [reasons::NOT_ACCEPTED, reasons::SUSPENDED, reasons::PENDING_EVALUATION, reasons::CANCELLED];

/// A refusal of the ad and the end of a wait are warnings; a new reason to wait is not.
pub(crate) fn news(before: &[Condition], after: &[Condition]) -> Option<EventText> {
    let now = |type_: &str, status: &str| find(after, type_).filter(|found| found.status == status);
    let is_new = |found: &&Condition| {
        find(before, &found.type_).is_none_or(|then| then.status != found.status || then.reason != found.reason)
    };
    let say = |tone, found: &Condition| EventText { tone, reason: found.reason.clone(), note: found.message.clone() };
    let refused = now(types::ACCEPTED, "False").filter(is_new);
    let over = now(types::FINISHED, "True").filter(|found| found.reason == reasons::MATCH_TIMED_OUT).filter(is_new);
    let waits = now(types::MATCHED, "False").filter(|found| !QUIET.contains(&found.reason.as_str())).filter(is_new);
    let warning = refused.or(over).map(|found| say(EventType::Warning, found));
    warning.or_else(|| waits.map(|found| say(EventType::Normal, found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::conditions::{Finding, Holds, set};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    fn status(said: &[(&'static str, Holds, &'static str, &str)]) -> Vec<Condition> {
        let mut status = Vec::new();
        for (type_, holds, reason, message) in said {
            let finding = Finding { type_, holds: *holds, reason, message: (*message).to_owned() };
            set(&mut status, finding, Some(1), Time(jiff::Timestamp::UNIX_EPOCH));
        }
        status
    }

    fn told(before: &[Condition], after: &[Condition]) -> Option<(EventType, String, String)> {
        news(before, after).map(|EventText { tone, reason, note }| (tone, reason, note))
    }

    fn warning(reason: &str, note: &str) -> Option<(EventType, String, String)> {
        Some((EventType::Warning, reason.to_owned(), note.to_owned()))
    }

    #[test]
    fn m6_an_ad_that_is_refused_is_a_warning_once() {
        let refused = status(&[
            (types::ACCEPTED, Holds::False, reasons::PARSE_ERROR, "spec.constraint: line 1"),
            (types::MATCHED, Holds::False, reasons::NOT_ACCEPTED, "the ad was not accepted"),
        ]);
        let fine = status(&[(types::ACCEPTED, Holds::True, reasons::ACCEPTED, "")]);
        assert_eq!(told(&fine, &refused), warning("ParseError", "spec.constraint: line 1"));
        assert_eq!(news(&[], &refused).unwrap().tone, EventType::Warning);
        assert_eq!(told(&refused, &refused), None);
        assert_eq!(told(&refused, &fine), None);
    }

    #[test]
    fn m6_a_job_that_waits_says_each_new_reason_and_no_other_words() {
        let waits = |reason, message: &str| status(&[(types::MATCHED, Holds::False, reason, message)]);
        let none = waits(reasons::NO_CANDIDATES, "none of 3 ads");
        let said = told(&waits(reasons::PENDING_EVALUATION, "to be matched again"), &none);
        assert_eq!(said, Some((EventType::Normal, "NoCandidates".to_owned(), "none of 3 ads".to_owned())));
        assert_eq!(told(&none, &waits(reasons::NO_CANDIDATES, "none of 4 ads")), None);
        assert!(told(&none, &waits(reasons::WAITING_FOR_CAPACITY, "taken")).is_some());
        for quiet in QUIET {
            assert_eq!(told(&none, &waits(quiet, "")), None);
        }
    }

    #[test]
    fn m6_a_wait_that_was_too_long_is_a_warning() {
        let waits = status(&[(types::MATCHED, Holds::False, reasons::NO_CANDIDATES, "none of 3 ads")]);
        let mut over = waits.clone();
        let finding = Finding {
            type_: types::FINISHED,
            holds: Holds::True,
            reason: reasons::MATCH_TIMED_OUT,
            message: "not claimed within 5 s".to_owned(),
        };
        set(&mut over, finding, Some(1), Time(jiff::Timestamp::UNIX_EPOCH));
        assert_eq!(told(&waits, &over), warning("MatchTimedOut", "not claimed within 5 s"));
        assert_eq!(told(&over, &over), None);
    }
}

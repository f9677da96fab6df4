//! The outcome of a request to the API server: the one place where a status of the server is read.

use std::time::Duration;

use crds::rules::message;
use kube::Error;
use kube::core::Status;
use kube::core::response::StatusCause;

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Answer<K> {
    /// Done; the object as it is now.
    Done(K),
    /// The server said no for good: a rule, or a `test` of the patch.
    Denied(Denial),
    /// There is no such object.
    Missing,
    /// There is an object of that name already.
    Exists,
    /// It is not known whether it was done.
    Unknown(Unknown),
}

/// A no of the server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Denial {
    /// The rules that said no; none if it was a `test` operation or a missing path.
    pub(crate) breaches: Vec<Breach>,
    /// The whole message, for people.
    pub(crate) message: String,
}

/// A rule that said no.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) rule: Rule,
    /// What the server says of it, for people.
    pub(crate) message: String,
}

/// The rules of the kinds, as far as the controller tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The offer has no room for the claim, or its ledger for one more entry.
    Capacity,
    /// An entry whose work goes on was to be removed.
    Active,
    /// The job is held by another Match.
    Held,
    /// The job has finished.
    Finished,
    /// A replica has led since, under a higher epoch.
    Epoch,
    /// Any other one.
    Other,
}

/// Why it is not known what came of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unknown {
    /// It was not sent.
    #[error("this process does not lead")]
    NotLeading,
    /// No answer came within this time.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The object has changed in between: the write is to be made anew.
    #[error("{0}")]
    Conflict(String),
    /// The server has too much to do.
    #[error("{0}")]
    Busy(String),
    /// A quota, a policy, a webhook or a missing right is against it now, and may not be so a moment later.
    #[error("{0}")]
    Rejected(String),
    /// The object would become larger than what the server stores: it was not done, nor will it be while so much is in the object.
    #[error("{0}")]
    TooLarge(String),
    /// No connection, an internal error, or an answer that cannot be read.
    #[error("{0}")]
    Other(String),
}

impl<K> Answer<K> {
    /// What a result of the client means.
    pub(crate) fn of(result: Result<K, Error>) -> Answer<K> {
        result.map_or_else(|error| Answer::failed(error, false), Answer::Done)
    }

    /// The same of the creation of an object. Nothing was tested before, so whatever forbids it, a quota or a policy, has denied it.
    pub(crate) fn of_create(result: Result<K, Error>) -> Answer<K> {
        result.map_or_else(|error| Answer::failed(error, true), Answer::Done)
    }

    fn failed(error: Error, is_create: bool) -> Answer<K> {
        match error {
            Error::Api(status) => Answer::of_status(*status, is_create),
            Error::Service(error) => Answer::Unknown(match error.downcast::<Unknown>() {
                Ok(unknown) => *unknown,
                Err(error) => Unknown::Other(error.to_string()),
            }),
            error => Answer::Unknown(Unknown::Other(error.to_string())),
        }
    }

    /// What a status of the server means.
    pub(crate) fn of_status(status: Status, is_create: bool) -> Answer<K> {
        let text = |status: &Status| format!("{} {}: {}", status.code, status.reason, status.message);
        match (status.code, status.reason.as_str()) {
            (404, _) => Answer::Missing,
            (409, "AlreadyExists") => Answer::Exists,
            (409, _) => Answer::Unknown(Unknown::Conflict(text(&status))),
            (429 | 503, _) => Answer::Unknown(Unknown::Busy(text(&status))),
            (422, _) => Answer::Denied(Denial::of(status)),
            (400 | 403 | 413, _) if is_create => Answer::Denied(Denial::of(status)),
            (400..=499, _) => Answer::Unknown(Unknown::Rejected(text(&status))),
            // etcd's own words: the server passes them on without a code of their own
            (500, _) if status.message.contains("request is too large") => {
                Answer::Unknown(Unknown::TooLarge(text(&status)))
            }
            _ => Answer::Unknown(Unknown::Other(text(&status))),
        }
    }

    /// Whether the server will refuse the same request again.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Answer::Denied(_) | Answer::Unknown(Unknown::TooLarge(_)))
    }

    /// The same answer about what is made of the object.
    pub(crate) fn map<T>(self, make: impl FnOnce(K) -> T) -> Answer<T> {
        self.and_then(|object| Answer::Done(make(object)))
    }

    /// Looks at the object, if there is one.
    pub(crate) fn inspect(self, look: impl FnOnce(&K)) -> Answer<K> {
        if let Answer::Done(object) = &self {
            look(object);
        }
        self
    }

    /// What is made of the object, or the same answer.
    pub(crate) fn and_then<T>(self, make: impl FnOnce(K) -> Answer<T>) -> Answer<T> {
        match self {
            Answer::Done(object) => make(object),
            Answer::Denied(denial) => Answer::Denied(denial),
            Answer::Missing => Answer::Missing,
            Answer::Exists => Answer::Exists,
            Answer::Unknown(unknown) => Answer::Unknown(unknown),
        }
    }

    /// The outcome in a word, as a label of a metric.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Answer::Done(_) => "done",
            Answer::Denied(denial) if denial.breaks(Rule::Epoch) => "fenced",
            Answer::Denied(denial) if denial.is_by_test() => "conflict",
            Answer::Denied(_) => "denied",
            Answer::Missing => "missing",
            Answer::Exists => "exists",
            Answer::Unknown(Unknown::NotLeading) => "fenced",
            Answer::Unknown(Unknown::Conflict(_)) => "conflict",
            Answer::Unknown(Unknown::Busy(_)) => "busy",
            Answer::Unknown(Unknown::TooLarge(_)) => "denied",
            Answer::Unknown(Unknown::Timeout(_) | Unknown::Rejected(_) | Unknown::Other(_)) => "unknown",
        }
    }
}

impl Denial {
    fn of(status: Status) -> Denial {
        let causes = status.details.map(|details| details.causes).unwrap_or_default();
        let breaches = causes.into_iter().map(|cause| Breach { rule: Rule::of(&cause), message: cause.message });
        Denial { breaches: breaches.collect(), message: status.message }
    }

    /// Whether this rule said no.
    pub(crate) fn breaks(&self, rule: Rule) -> bool {
        self.breaches.iter().any(|breach| breach.rule == rule)
    }

    /// Whether no rule did, but a `test` of the patch: the object is not what it was.
    pub(crate) fn is_by_test(&self) -> bool {
        self.breaches.is_empty()
    }
}

impl Rule {
    /// The rules of a kind have nothing but their messages to tell them apart, those of a schema have a reason.
    fn of(cause: &StatusCause) -> Rule {
        const RULES: [(&str, Rule); 8] = [
            (message::OVER_CAPACITY, Rule::Capacity),
            (message::CLAIM_NOT_OFFERED, Rule::Capacity),
            (message::SEAT_NOT_OFFERED, Rule::Capacity),
            (message::NEEDS_ITS_SEAT, Rule::Capacity),
            (message::ACTIVE, Rule::Active),
            (message::HELD, Rule::Held),
            (message::FINISHED, Rule::Finished),
            (message::EPOCH, Rule::Epoch),
        ];
        if cause.reason == "FieldValueTooMany" {
            return Rule::Capacity;
        }
        let known = RULES.into_iter().find(|(message, _)| cause.message.contains(message));
        known.map_or(Rule::Other, |(_, rule)| rule)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(code: u16, reason: &str, causes: serde_json::Value) -> Answer<()> {
        let status = json!({"code": code, "reason": reason, "message": "m", "details": {"causes": causes}});
        Answer::of_status(serde_json::from_value(status).unwrap(), false)
    }

    fn denial(causes: serde_json::Value) -> Denial {
        match answer(422, "Invalid", causes) {
            Answer::Denied(denial) => denial,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rules_are_told_apart() {
        let over = denial(
            json!([{"reason": "FieldValueInvalid", "message": format!("Invalid value: {}", message::OVER_CAPACITY)}]),
        );
        assert!(over.breaks(Rule::Capacity) && !over.breaks(Rule::Held) && !over.is_by_test());
        let many = json!([{"reason": "FieldValueTooMany", "message": "Too many: 257: must have at most 256 items"}]);
        assert!(denial(many).breaks(Rule::Capacity));
        assert!(denial(json!([{"message": message::HELD}])).breaks(Rule::Held));
        assert!(denial(json!([{"message": "spec is immutable"}])).breaks(Rule::Other));
        assert!(denial(json!([])).is_by_test());
    }

    #[test]
    fn codes_say_what_is_known() {
        for (code, reason, label) in [
            (404, "NotFound", "missing"),
            (409, "AlreadyExists", "exists"),
            (409, "Conflict", "conflict"),
            (422, "Invalid", "conflict"),
            (429, "TooManyRequests", "busy"),
            (503, "ServiceUnavailable", "busy"),
            (403, "Forbidden", "unknown"),
            (500, "InternalError", "unknown"),
        ] {
            assert_eq!(answer(code, reason, json!([])).label(), label, "{code} {reason}");
        }
        let large = json!({"code": 500, "message": "etcdserver: request is too large"});
        let large = Answer::<()>::of_status(serde_json::from_value(large).unwrap(), false);
        assert!(large.is_refused() && large.label() == "denied");
        let forbidden = answer(403, "Forbidden", json!([]));
        assert!(matches!(forbidden, Answer::Unknown(Unknown::Rejected(why)) if why == "403 Forbidden: m"));
        let quota = serde_json::from_value(json!({"code": 403, "message": "exceeded quota"})).unwrap();
        assert!(
            matches!(Answer::<()>::of_create(Err(Error::Api(quota))), Answer::Denied(no) if no.message == "exceeded quota")
        );
    }

    #[test]
    fn what_a_layer_says_is_read_by_its_type() {
        let refused = Answer::<()>::of(Err(Error::Service(Box::new(Unknown::NotLeading))));
        assert!(matches!(refused, Answer::Unknown(Unknown::NotLeading)));
    }
}

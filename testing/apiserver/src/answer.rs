//! What is answered: a status code and a body, in Kubernetes' own words.

use serde_json::{Value, json};

use crate::apply::Conflict;
use crate::kinds::Kind;
use crate::schema::Cause;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub code: u16,
    /// The body.
    pub body: Value,
    /// After how many seconds it is worth trying again.
    pub retry_after: Option<u32>,
    /// What was done, and is probably not what was meant: a header `Warning` for each.
    pub warnings: Vec<String>,
}

impl Answer {
    /// Done, with what there is now.
    #[must_use]
    pub fn done(code: u16, body: Value) -> Answer {
        Answer { code, body, retry_after: None, warnings: Vec::new() }
    }

    /// The same answer, with warnings for the client.
    #[must_use]
    pub(crate) fn warning(self, warnings: Vec<String>) -> Answer {
        Answer { warnings, ..self }
    }

    /// A no. `details` is what is said of the object.
    #[must_use]
    pub fn failure(code: u16, reason: &str, message: &str, details: Value) -> Answer {
        let mut body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code});
        if let (Some(body), false) = (body.as_object_mut(), details.is_null()) {
            body.insert("details".to_owned(), details);
        }
        Answer { code, body, retry_after: None, warnings: Vec::new() }
    }

    /// The server is too busy.
    #[must_use]
    pub fn too_busy(seconds: u32) -> Answer {
        let message = "the server has received too many requests and has asked us to try again later";
        let answer = Answer::failure(429, "TooManyRequests", message, json!({"retryAfterSeconds": seconds}));
        Answer { retry_after: Some(seconds), ..answer }
    }

    /// Something went wrong that is not the request's fault.
    #[must_use]
    pub fn error(code: u16) -> Answer {
        let reason = match code {
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "InternalError",
        };
        Answer::failure(code, reason, "an error on the server has prevented the request from succeeding", Value::Null)
    }

    pub(crate) fn bad_request(message: &str) -> Answer {
        Answer::failure(400, "BadRequest", message, Value::Null)
    }

    pub(crate) fn unknown_path() -> Answer {
        let message = "the server could not find the requested resource";
        Answer::failure(404, "NotFound", message, json!({}))
    }

    /// Objects of this kind can only be read.
    pub(crate) fn read_only(kind: &Kind) -> Answer {
        let message = format!("{} can only be read from this embedded API server", kind.resource());
        Answer::failure(405, "MethodNotAllowed", &message, json!({"kind": kind.plural}))
    }

    /// A body that cannot be read.
    pub(crate) fn unknown_format(accepted: &[&str]) -> Answer {
        let accepted = accepted.join(", ");
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        Answer::failure(415, "UnsupportedMediaType", &message, Value::Null)
    }

    /// Server-side apply by no one.
    pub(crate) fn no_manager() -> Answer {
        let why = "Required value: is required for apply patch";
        let message = format!("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: {why}");
        let causes = json!([{"reason": "FieldValueRequired", "message": why, "field": "fieldManager"}]);
        let details = json!({"group": "meta.k8s.io", "kind": "PatchOptions", "causes": causes});
        Answer::failure(422, "Invalid", &message, details)
    }

    /// No one has authenticated.
    #[must_use]
    pub fn unauthorized() -> Answer {
        Answer::failure(401, "Unauthorized", "Unauthorized", Value::Null)
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Answer {
        let message = format!("{} \"{name}\" not found", kind.resource());
        Answer::failure(404, "NotFound", &message, about(kind, name))
    }

    pub(crate) fn no_namespace(namespace: &str) -> Answer {
        let message = format!("namespaces \"{namespace}\" not found");
        Answer::failure(404, "NotFound", &message, json!({"name": namespace, "kind": "namespaces"}))
    }

    pub(crate) fn exists(kind: &Kind, name: &str) -> Answer {
        let message = format!("{} \"{name}\" already exists", kind.resource());
        Answer::failure(409, "AlreadyExists", &message, about(kind, name))
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Answer {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource());
        Answer::failure(409, "Conflict", &message, about(kind, name))
    }

    /// Fields that other managers have applied.
    pub(crate) fn conflicts(all: &[Conflict]) -> Answer {
        let count = if all.len() == 1 { "1 conflict".to_owned() } else { format!("{} conflicts", all.len()) };
        let by = |conflict: &Conflict| format!("conflict with \"{}\"", conflict.manager);
        let said: Vec<String> = all.iter().map(|conflict| format!("{}: {}", by(conflict), conflict.field)).collect();
        let causes: Vec<Value> = all
            .iter()
            .map(|one| json!({"reason": "FieldManagerConflict", "message": by(one), "field": one.field}))
            .collect();
        let message = format!("Apply failed with {count}: {}", said.join("\n"));
        Answer::failure(409, "Conflict", &message, json!({"causes": causes}))
    }

    /// A precondition that is not met. (Here the server says the kind where it says the resource elsewhere.)
    pub(crate) fn unmet(kind: &Kind, name: &str, why: &str) -> Answer {
        let mut answer = Answer::conflict(kind, name, why);
        if let Some(said) = answer.body.pointer_mut("/details/kind") {
            *said = json!(kind.name);
        }
        answer
    }

    /// The same answer, with the resource where the kind was.
    pub(crate) fn of_resource(mut self, kind: &Kind) -> Answer {
        if let Some(said) = self.body.pointer_mut("/details/kind") {
            *said = json!(kind.plural);
        }
        self
    }

    /// A patch that cannot be read: nothing is said of the object.
    pub(crate) fn unreadable_patch(cause: &Cause) -> Answer {
        let causes = json!([{"reason": cause.reason, "message": cause.message, "field": cause.field}]);
        let message = format!(" \"\" is invalid: {}: {}", cause.field, cause.message);
        Answer::failure(422, "Invalid", &message, json!({"causes": causes}))
    }

    /// A patch that does not apply: of this the server says nothing but that.
    pub(crate) fn unpatched() -> Answer {
        let message = "the server rejected our request due to an error in our request";
        Answer::failure(422, "Invalid", message, json!({}))
    }

    /// An object that is not as it has to be.
    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Answer {
        let said: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let said = if said.len() == 1 { said.concat() } else { format!("[{}]", said.join(", ")) };
        let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
        let message = format!("{}{group} \"{name}\" is invalid: {said}", kind.name);
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        let mut details = json!({"name": name, "group": kind.group, "kind": kind.name, "causes": causes});
        if let (Some(details), true) = (details.as_object_mut(), kind.group.is_empty()) {
            details.remove("group");
        }
        Answer::failure(422, "Invalid", &message, details)
    }

    pub(crate) fn expired(revision: i64, compacted: i64) -> Answer {
        let message = format!("too old resource version: {revision} ({compacted})");
        Answer::failure(410, "Expired", &message, Value::Null)
    }
}

/// Name, group and resource, as far as there are any.
pub(crate) fn about(kind: &Kind, name: &str) -> Value {
    let mut details = json!({"name": name, "kind": kind.plural});
    if let (Some(details), false) = (details.as_object_mut(), kind.group.is_empty()) {
        details.insert("group".to_owned(), json!(kind.group));
    }
    details
}

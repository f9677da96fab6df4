//! What Kubernetes' own controller of batch Jobs says when one is suspended or resumed. It makes no pods here.

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Verb;
use crate::controllers::request;
use crate::kinds::Kind;
use crate::object::time;
use crate::serve::Server;
use crate::store::StoredKey;

impl Server {
    /// Brings the statuses of batch Jobs up to date. Those that are up to date are not written.
    pub fn tell_batch_jobs(&self) {
        let Some(kind) = self.kinds.find("batch", "v1", "jobs") else { return };
        let now = self.now();
        let due: Vec<(StoredKey, Value)> = self.look(|store| {
            let all = store.list(&kind.storage(), "").into_iter();
            all.filter_map(|(key, job)| Some((key.clone(), next_status(job, now)?))).collect()
        });
        for (key, status) in due {
            // What is refused is tried again after the next change.
            let _: Answer = self.write_status(kind, key, &status);
        }
    }

    fn write_status(&self, kind: &Kind, key: StoredKey, status: &Value) -> Answer {
        let mut call = request(Verb::Patch, kind, key);
        call.subresource = "status".to_owned();
        call.content_type = "application/merge-patch+json".to_owned();
        call.body = Bytes::from(json!({"status": status}).to_string());
        self.answer(&call)
    }
}

/// What is to change of the status of a batch Job: it says whether it is suspended, and one that is not says since when.
fn next_status(job: &Value, now: Timestamp) -> Option<Value> {
    let mut conditions = job.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let status_of = |type_: &str| -> Option<String> {
        let found = conditions.iter().find(|condition| condition["type"] == type_)?;
        found["status"].as_str().map(str::to_owned)
    };
    let is_managed_elsewhere = job.pointer("/spec/managedBy").is_some_and(|by| by != "kubernetes.io/job-controller");
    let is_over = ["Complete", "Failed"].iter().any(|end| status_of(end).as_deref() == Some("True"));
    if is_over || is_managed_elsewhere {
        return None;
    }
    let is_suspended = job.pointer("/spec/suspend") == Some(&Value::Bool(true));
    let said = status_of("Suspended");
    let begins = !is_suspended && (said.as_deref() == Some("True") || job.pointer("/status/startTime").is_none());
    // one that was never suspended has no such condition
    let is_said = match is_suspended {
        true => said.as_deref() == Some("True"),
        false => said.as_deref() != Some("True"),
    };
    if is_said && !begins {
        return None;
    }
    if !is_said {
        let (status, reason, message) = match is_suspended {
            true => ("True", "JobSuspended", "Job suspended"),
            false => ("False", "JobResumed", "Job resumed"),
        };
        conditions.retain(|condition| condition["type"] != "Suspended");
        conditions.push(json!({"type": "Suspended", "status": status, "reason": reason, "message": message,
            "lastProbeTime": time(now), "lastTransitionTime": time(now)}));
    }
    let mut next = json!({"ready": 0, "terminating": 0, "uncountedTerminatedPods": {}});
    if let Some(fields) = next.as_object_mut() {
        if !conditions.is_empty() {
            fields.insert("conditions".to_owned(), Value::Array(conditions));
        }
        if begins {
            fields.insert("startTime".to_owned(), time(now));
        }
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch Job after its status was brought up to date, which takes one change.
    fn told(mut job: Value) -> Value {
        if let Some(next) = next_status(&job, Timestamp::UNIX_EPOCH) {
            crate::patch::merge_patch(&mut job, &json!({"status": next}));
        }
        assert_eq!(next_status(&job, Timestamp::UNIX_EPOCH), None, "{job}");
        job
    }

    fn suspended(job: &Value) -> Option<&str> {
        job["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == "Suspended")?["status"].as_str()
    }

    #[test]
    fn a_batch_job_says_whether_it_is_suspended_until_it_has_ended() {
        let mut job = told(json!({"spec": {"suspend": true}}));
        assert_eq!((suspended(&job), &job["status"]["startTime"]), (Some("True"), &Value::Null));
        job["spec"]["suspend"] = json!(false);
        let mut job = told(job);
        assert_eq!((suspended(&job), &job["status"]["startTime"]), (Some("False"), &json!("1970-01-01T00:00:00Z")));
        job["spec"]["suspend"] = json!(true);
        let mut job = told(job);
        assert_eq!(suspended(&job), Some("True"));
        job["status"]["conditions"] = json!([{"type": "Complete", "status": "True"}]);
        assert_eq!(told(job.clone()), job);
    }

    #[test]
    fn one_that_was_never_suspended_only_says_when_it_began_and_one_of_another_controller_nothing() {
        let job = told(json!({"spec": {}}));
        assert_eq!((suspended(&job), &job["status"]["startTime"]), (None, &json!("1970-01-01T00:00:00Z")));
        let other = json!({"spec": {"suspend": true, "managedBy": "example.org/controller"}});
        assert_eq!(told(other.clone()), other);
    }
}

//! Turns a namespace with ads of ours into what a user sees of it, and into whether anything is still under way there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testbed::{Requests, ServerRefusal};

use crate::paths::GROUP;
use crate::stage::{condition, name, text};

/// The kinds of ads, with their names in paths; the order in which they are created.
pub(crate) const KINDS: [(&str, &str); 3] = [("Machine", "machines"), ("License", "licenses"), ("Job", "jobs")];

/// An ad: its kind and its name.
pub(crate) type Id = (&'static str, String);

/// A namespace with ads.
pub(crate) struct World<'r> {
    pub(crate) requests: &'r Requests,
    pub(crate) namespace: String,
}

/// All objects of ours in a namespace, as they were read one kind after the other.
pub(crate) struct State {
    pub(crate) ads: BTreeMap<Id, Value>,
    pub(crate) matches: Vec<Value>,
}

impl<'r> World<'r> {
    /// A new namespace of this name.
    pub(crate) fn new(requests: &'r Requests, namespace: String) -> World<'r> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        requests.create("/api/v1/namespaces", &object).unwrap();
        World { requests, namespace }
    }

    fn path(&self, plural: &str) -> String {
        format!("{GROUP}/namespaces/{}/{plural}", self.namespace)
    }

    fn path_of(&self, (kind, name): &Id) -> String {
        format!("{}/{name}", self.path(KINDS.iter().find(|known| known.0 == *kind).unwrap().1))
    }

    /// Creates an ad of this spec; its owner is the user of the requests.
    pub(crate) fn create(&self, id: &Id, spec: &Value) -> Result<(), String> {
        let (kind, name) = id;
        let mut spec = spec.clone();
        spec.as_object_mut().unwrap().remove("owner");
        let metadata = json!({"name": name});
        let object = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec});
        let plural = KINDS.iter().find(|known| known.0 == *kind).unwrap().1;
        let path = format!("{}?fieldValidation=Strict", self.path(plural));
        self.requests.create(&path, &object).map(drop).map_err(|refusal| format!("{object}: {refusal:?}"))
    }

    pub(crate) fn get(&self, id: &Id) -> Value {
        self.requests.get(&self.path_of(id)).unwrap()
    }

    /// Sets fields of a spec, or removes them; all or none.
    pub(crate) fn set(&self, id: &Id, fields: &[(String, Option<Value>)]) -> Result<Value, ServerRefusal> {
        let operation = |(field, value): &(String, Option<Value>)| match value {
            Some(value) => json!({"op": "add", "path": format!("/spec/{field}"), "value": value}),
            None => json!({"op": "remove", "path": format!("/spec/{field}")}),
        };
        let operations: Value = fields.iter().map(operation).collect();
        self.requests.patch(&format!("{}?fieldValidation=Strict", self.path_of(id)), &operations)
    }

    pub(crate) fn delete(&self, id: &Id) {
        self.requests.delete(&self.path_of(id)).unwrap();
    }

    /// Deletes the Matches of a job, whatever their state.
    pub(crate) fn delete_matches(&self, job: &str) {
        for found in self.requests.list(&self.path("matches")).unwrap() {
            if found["spec"]["members"][0]["name"] == job {
                self.requests.delete(&format!("{}/{}", self.path("matches"), name(&found))).unwrap();
            }
        }
    }

    pub(crate) fn delete_everything(&self) {
        KINDS.iter().rev().for_each(|(_, plural)| self.requests.delete(&self.path(plural)).unwrap());
    }

    pub(crate) fn read(&self) -> State {
        let mut ads = BTreeMap::new();
        for (kind, plural) in KINDS {
            let all = self.requests.list(&self.path(plural)).unwrap();
            ads.extend(all.into_iter().map(|object| ((kind, name(&object)), object)));
        }
        State { ads, matches: self.requests.list(&self.path("matches")).unwrap() }
    }
}

fn entries(offer: &Value) -> impl Iterator<Item = (&String, &Value)> {
    offer["status"]["claims"].as_object().into_iter().flatten()
}

/// What claims and shared seats hold of a resource.
fn held(offer: &Value, resource: &str) -> i64 {
    let own = entries(offer).filter(|(_, entry)| entry.get("share").is_none()).map(|(_, entry)| &entry["allocation"]);
    let shared = offer["status"]["shared"].as_object().into_iter().flatten().map(|(_, seat)| seat);
    own.chain(shared).map(|amounts| amounts[resource].as_i64().unwrap_or(0)).sum()
}

impl State {
    pub(crate) fn is_claimed(&self, job: &str) -> bool {
        self.ads.get(&("Job", job.to_owned())).is_some_and(|job| job["status"]["claim"].is_object())
    }

    pub(crate) fn phase(&self, job: &str) -> String {
        self.ads.get(&("Job", job.to_owned())).map(|job| text(job, "/status/phase")).unwrap_or_default()
    }

    /// What keeps the namespace from being at rest, or is broken in it; nothing if all is well. An offer in `lowered` may have more
    /// claims than capacity.
    pub(crate) fn unrest(&self, lowered: &BTreeSet<Id>) -> Vec<String> {
        let mut all = Vec::new();
        for (id, object) in &self.ads {
            let about = |what: &str| format!("{} {}: {what}", id.0, id.1);
            if object["metadata"].get("deletionTimestamp").is_some() || object["metadata"].get("finalizers").is_some() {
                all.push(about("being deleted, or with a finalizer"));
            }
            if object["status"]["observedGeneration"] != object["metadata"]["generation"] {
                all.push(about("its status is of another generation"));
            }
            if id.0 == "Job" {
                all.extend(self.unrest_of_job(object).into_iter().map(about));
            } else {
                all.extend(self.unrest_of_offer(object, lowered.contains(id)).iter().map(|what| about(what)));
            }
        }
        for found in &self.matches {
            if !["Committed", "Aborted", "Released"].contains(&text(found, "/status/decision").as_str()) {
                all.push(format!("Match {}: not decided", name(found)));
            }
        }
        all
    }

    fn unrest_of_job(&self, job: &Value) -> Option<&'static str> {
        let matched = job["status"]["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "Matched");
        let is_current = matched.is_some_and(|one| {
            one["observedGeneration"] == job["metadata"]["generation"]
                && one["reason"] != "PendingEvaluation"
                && one["reason"] != "BackingOff"
        });
        let uid = text(job, "/status/claim/uid");
        let holder = self.matches.iter().find(|found| text(found, "/metadata/uid") == uid);
        match text(job, "/status/phase").as_str() {
            "Reserving" => Some("being claimed"),
            "Claimed" if holder.is_none_or(|found| text(found, "/status/decision") != "Committed") => {
                Some("claimed, and its Match is not committed")
            }
            "Pending" if !is_current => Some("not evaluated yet"),
            "Claimed" => None,
            _ if !uid.is_empty() => Some("its claim has not ended yet"),
            _ => None,
        }
    }

    fn unrest_of_offer(&self, offer: &Value, is_lowered: bool) -> Vec<String> {
        let mut all = Vec::new();
        for (uid, entry) in entries(offer) {
            let holder = self.matches.iter().find(|found| text(found, "/metadata/uid") == *uid);
            if holder.is_none_or(|found| text(found, "/status/decision") != "Committed") {
                all.push(format!("an entry of {} without a committed Match", entry["match"]));
            }
        }
        let capacity = offer["spec"]["capacity"].as_object().unwrap();
        let mut names: BTreeSet<&String> = capacity.keys().collect();
        names.extend(entries(offer).flat_map(|(_, entry)| entry["allocation"].as_object().unwrap().keys()));
        for resource in names {
            let (held, most) = (held(offer, resource), capacity.get(resource).and_then(Value::as_i64).unwrap_or(0));
            if held > most && !is_lowered {
                all.push(format!("{held} of {most} {resource} are held"));
            }
        }
        let exceeds = capacity.iter().any(|(resource, most)| held(offer, resource) > most.as_i64().unwrap());
        if (condition(offer, "Overcommitted").0 == "True") != exceeds {
            all.push("Overcommitted is wrong".to_owned());
        }
        all
    }

    /// What a user sees, without what depends on names of namespaces, on times, and on what happened earlier.
    pub(crate) fn view(&self, namespace: &str) -> BTreeMap<String, Value> {
        let see = |(id, object): (&Id, &Value)| {
            let seen = if id.0 == "Job" { see_job(object) } else { see_offer(object) };
            let seen = seen.to_string().replace(&format!("{namespace}/"), "");
            (format!("{} {}", id.0, id.1), serde_json::from_str(&seen).unwrap())
        };
        self.ads.iter().map(see).collect()
    }
}

/// That a claim ended, and why, is what happened earlier; so is whether a gang was found for a job that has finished. Whether a job that
/// is done counts as succeeded or as cancelled, and where it ran, depends on whether it held a claim when it was done: it is shown as done.
fn see_job(job: &Value) -> Value {
    let (status, reason, _) = condition(job, "Finished");
    let (finished, done) = (status == "True", status == "True" && matches!(reason.as_str(), "Done" | "Cancelled"));
    let is_of_now = |one: &&Value| match one["type"].as_str() {
        Some("Matched") => !finished,
        Some("Claimed" | "Started") => one["status"] == "True",
        Some("Finished") => !done,
        _ => true,
    };
    let phase = if done { json!("done") } else { job["status"]["phase"].clone() };
    let members = if done { Value::Null } else { job["status"]["members"].clone() };
    json!({"phase": phase, "is claimed": job["status"]["claim"].is_object(), "members": members,
        "conditions": conditions(job, is_of_now)})
}

fn see_offer(offer: &Value) -> Value {
    let resources = offer["spec"]["capacity"].as_object().unwrap();
    let free = |(name, most): (&String, &Value)| (name.clone(), json!(most.as_i64().unwrap() - held(offer, name)));
    let free: serde_json::Map<String, Value> = resources.iter().map(free).collect();
    json!({"state": offer["status"]["state"], "used": offer["status"]["used"], "free": free,
        "entries": entries(offer).count(), "shared": offer["status"].get("shared").cloned().unwrap_or(json!({})),
        "conditions": conditions(offer, |_| true)})
}

fn conditions(object: &Value, is_shown: impl Fn(&&Value) -> bool) -> BTreeMap<String, String> {
    let all = object["status"]["conditions"].as_array().into_iter().flatten().filter(is_shown);
    all.map(|one| {
        // The message of Accepted says what is wrong with the spec, and follows from it alone.
        let message = if one["type"] == "Accepted" { text(one, "/message") } else { String::new() };
        (text(one, "/type"), format!("{} {} {message}", text(one, "/status"), text(one, "/reason")))
    })
    .collect()
}

//! An answer into what of it has to be the same everywhere: uids, revisions and times into words.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::script::{Compared, Step};

/// What one server has called things so far.
#[derive(Default)]
pub(crate) struct Plain {
    /// The uids in the order in which they were seen.
    uids: Vec<String>,
    /// The newest resourceVersion of each object that was seen.
    versions: BTreeMap<String, String>,
    /// The uid of each object, by plural and name.
    named: BTreeMap<String, String>,
    /// The token of the last page of a list.
    token: String,
}

impl Plain {
    /// A request with `{uid:NAME}`, `{version:NAME}` and `{token}` filled in.
    pub(crate) fn filled(&self, text: &str) -> String {
        let mut filled = text.replace("{token}", &escaped(&self.token));
        for (name, uid) in &self.named {
            filled = filled.replace(&format!("{{uid:{name}}}"), uid);
        }
        for (name, version) in &self.versions {
            filled = filled.replace(&format!("{{version:{name}}}"), version);
        }
        assert!(!filled.contains("{uid:") && !filled.contains("{version:"), "nobody has seen that yet: {filled}");
        filled
    }

    /// What counts of an answer.
    pub(crate) fn of(&mut self, step: &Step, answer: &Value) -> Value {
        match answer {
            Value::Array(events) => events.iter().map(|event| self.event(event)).collect(),
            answer if answer.get("kind") == Some(&json!("Status")) => self.status(answer),
            answer if answer.get("items").is_some() => self.list(answer),
            answer => {
                let object = self.object(answer);
                match step.compared {
                    Compared::Whole => object,
                    Compared::Metadata => {
                        json!({"metadata": object["metadata"]["generation"], "version": object["version"]})
                    }
                }
            }
        }
    }

    fn event(&mut self, event: &Value) -> Value {
        let kind = event["type"].as_str().unwrap();
        if kind == "ERROR" {
            return json!([kind, event["object"]["code"], event["object"]["reason"]]);
        }
        json!([kind, event["object"]["kind"], event["object"]["metadata"]["name"]])
    }

    fn list(&mut self, list: &Value) -> Value {
        self.token = list["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        let names: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|one| &one["metadata"]["name"]).collect();
        json!({"kind": list["kind"], "names": names, "goes on": !self.token.is_empty(),
            "remaining": list["metadata"]["remainingItemCount"]})
    }

    /// Of a Status: code, reason, what it is about, and each cause with the end of its message, where our rules speak.
    fn status(&mut self, status: &Value) -> Value {
        let mut details = status["details"].clone();
        if let Some(uid) = details.get("uid").and_then(Value::as_str).map(str::to_owned) {
            details["uid"] = json!(self.uid(&uid));
        }
        let causes = details["causes"].as_array().cloned().unwrap_or_default();
        let said = |cause: &Value| {
            let message = cause["message"].as_str().unwrap_or_default();
            // What the schema says of a value is in other words for a status that is validated by itself.
            let words = message.rsplit(" in body ").next().and_then(|rest| rest.rsplit(": ").next());
            json!([cause["reason"], cause["field"], words])
        };
        if let Some(details) = details.as_object_mut() {
            details.remove("causes");
        }
        let mut causes: Vec<Value> = causes.iter().map(said).collect();
        causes.sort_by_key(Value::to_string);
        json!({"status": status["status"], "reason": status["reason"], "code": status["code"],
            "details": details, "causes": causes})
    }

    fn object(&mut self, object: &Value) -> Value {
        let mut plain = object.clone();
        let metadata = object["metadata"].as_object().unwrap();
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let place = format!("{}/{}", object["kind"].as_str().unwrap(), text("name"));
        let (uid, version) = (text("uid"), text("resourceVersion"));
        let last = self.versions.insert(place.clone(), version.clone());
        self.named.insert(place, uid.clone());
        let moved = match last {
            None => "first",
            Some(last) if last == version => "same",
            Some(last) if last.parse::<u64>().unwrap() < version.parse().unwrap() => "newer",
            Some(_) => "older",
        };
        let metadata = plain["metadata"].as_object_mut().unwrap();
        for name in ["managedFields", "resourceVersion", "selfLink"] {
            metadata.remove(name);
        }
        for name in ["creationTimestamp", "deletionTimestamp"] {
            if metadata.contains_key(name) {
                metadata.insert(name.to_owned(), json!("a time"));
            }
        }
        metadata.insert("uid".to_owned(), json!(self.uid(&uid)));
        plain["version"] = json!(moved);
        sorted(&self.with_words(&plain))
    }

    fn uid(&mut self, uid: &str) -> String {
        let known = self.uids.iter().position(|known| known == uid);
        let number = known.unwrap_or_else(|| {
            self.uids.push(uid.to_owned());
            self.uids.len() - 1
        });
        format!("uid {number}")
    }

    /// Uids stand in specs and statuses, too.
    fn with_words(&self, value: &Value) -> Value {
        let mut text = value.to_string();
        for (number, uid) in self.uids.iter().enumerate() {
            text = text.replace(uid, &format!("uid {number}"));
        }
        serde_json::from_str(&text).unwrap()
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> = fields.iter().map(|(name, value)| (name, sorted(value))).collect();
            Value::Object(fields.into_iter().map(|(name, value)| (name.clone(), value)).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn escaped(token: &str) -> String {
    token
        .bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

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
        match (step.compared, answer) {
            (Compared::Table, Value::Array(events)) => events.iter().map(|event| table(&event["object"])).collect(),
            (Compared::Table, answer) if answer["kind"] == "Table" => table(answer),
            (Compared::Resources, answer) => resources(answer),
            (Compared::Documents, answer) => documents(answer),
            (Compared::Review, answer) => json!([answer["kind"], answer["status"]["allowed"]]),
            (_, answer) => self.of_objects(step, answer),
        }
    }

    fn of_objects(&mut self, step: &Step, answer: &Value) -> Value {
        match answer {
            Value::Array(events) => events.iter().map(|event| self.event(event)).collect(),
            answer if answer.get("kind") == Some(&json!("Status")) => self.status(answer),
            answer if answer.get("items").is_some() => self.list(answer),
            answer => {
                let object = self.object(answer);
                match step.compared {
                    Compared::Metadata => {
                        json!({"metadata": object["metadata"]["generation"], "version": object["version"]})
                    }
                    _ => object,
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

/// The header, and the cells of each row; whatever is a time is left out.
fn table(table: &Value) -> Value {
    let columns = table["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let header: Vec<Value> =
        columns.iter().map(|one| json!([one["name"], one["type"], one["format"], one["priority"]])).collect();
    let is_age = |cell: &Value| {
        cell.as_str().is_some_and(|cell| {
            cell.ends_with('s') && cell.len() <= 4 && cell.starts_with(|first: char| first.is_ascii_digit())
        })
    };
    let rows: Vec<Value> = table["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| {
            let cells: Vec<Value> = row["cells"]
                .as_array()
                .unwrap()
                .iter()
                .map(|cell| if is_age(cell) { json!("an age") } else { without_uid(cell) })
                .collect();
            json!([cells, row["object"]["kind"], row["object"]["metadata"]["name"]])
        })
        .collect();
    json!({"header": header, "rows": rows})
}

fn without_uid(cell: &Value) -> Value {
    let text = cell.as_str().and_then(|text| text.split_once("-uid="));
    text.map_or_else(|| cell.clone(), |(before, _)| json!(before))
}

/// What is served here, of what the real one serves: by names, in the same form for both ways of discovery.
fn resources(answer: &Value) -> Value {
    const SERVED: [&str; 14] = [
        "jobs",
        "machines",
        "licenses",
        "matches",
        "namespaces",
        "nodes",
        "pods",
        "leases",
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "subjectaccessreviews",
        "selfsubjectreviews",
        "events",
        "machineclasses",
    ];
    const GROUPS: [&str; 6] =
        ["", "batch", "coordination.k8s.io", "gangmatch.dev", "authorization.k8s.io", "authentication.k8s.io"];
    let mut plain = Vec::new();
    let versions = answer["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|group| GROUPS.contains(&group["metadata"]["name"].as_str().unwrap_or("")));
    let all = versions
        .flat_map(|group| group["versions"].as_array().unwrap())
        .filter(|one| one["version"] != "v1alpha2" && one["version"] != "v1beta1");
    let aggregated = all.flat_map(|version| version["resources"].as_array().unwrap());
    for one in answer["resources"].as_array().into_iter().flatten().chain(aggregated) {
        let name = one["name"].as_str().or(one["resource"].as_str()).unwrap_or_default();
        // Events can only be read here.
        if !SERVED.contains(&name.split('/').next().unwrap())
            || name.starts_with("events")
            || name.contains("/") && !name.ends_with("/status")
            || name == "namespaces/status"
        {
            continue;
        }
        let mut verbs: Vec<&str> = one["verbs"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        verbs.retain(|verb| *verb != "deletecollection");
        verbs.sort_unstable();
        let status = one["subresources"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| one["subresource"] == "status" && name != "namespaces");
        plain.push(json!([
            name,
            one["singularName"],
            one["singularResource"],
            one["namespaced"],
            one["scope"],
            one["kind"],
            one["responseKind"]["kind"],
            one["shortNames"],
            one["categories"],
            verbs,
            status.count()
        ]));
    }
    plain.sort_by_key(Value::to_string);
    json!(plain)
}

/// Of the list of documents whether it has ours; of a document what kubectl reads.
fn documents(answer: &Value) -> Value {
    let group = "apis/gangmatch.dev/v1alpha1";
    if let Some(place) = answer["paths"].get(group) {
        return json!(place["serverRelativeURL"].as_str().and_then(|url| url.split('?').next()));
    }
    let operations: BTreeMap<&String, Value> = answer["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(path, _)| path.contains("/namespaces/{namespace}/") && !path.ends_with("/status"))
        .map(|(path, item)| {
            let of = |method: &str| &item[method]["x-kubernetes-group-version-kind"];
            let validates = item["patch"]["parameters"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["name"] == "fieldValidation"));
            (path, json!([of("get"), of("post"), of("patch"), of("delete"), validates]))
        })
        .collect();
    json!([
        operations,
        sorted(&answer["components"]["schemas"]["dev.gangmatch.v1alpha1.Job"]),
        sorted(&answer["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"])
    ])
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

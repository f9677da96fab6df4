//! Create, replace, patch, delete: what is stored, and a request, into what is stored next.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube_cel::Validator;
use serde_json::{Value, json};

use crate::admission::{creator, hold, own};
use crate::answer::{Answer, about};
use crate::apply::{Manager, apply};
use crate::call::{Call, Verb};
use crate::kinds::Kind;
use crate::object::{body, generation, is_ending, is_held, keep_meta, meta, set_meta, time};
use crate::patch::{json_patch, merge_patch};
use crate::schema::{Cause, Schema};
use crate::store::{Store, StoredKey};
use crate::strategic::strategic_patch;

/// What the server alone writes.
const SYSTEM: [&str; 6] =
    ["uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"];
const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// The content types of patches; the last one is that of server-side apply.
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// One who writes: the store, and what is needed to know whether something may be written.
pub(crate) struct Writer<'w> {
    pub(crate) store: &'w mut Store,
    pub(crate) validator: &'w Validator,
    pub(crate) now: Timestamp,
}

impl Writer<'_> {
    pub(crate) fn write(&mut self, kind: &Kind, key: StoredKey, call: &Call) -> Answer {
        if call.verb == Verb::Create {
            return self.create(kind, key, call);
        }
        let is_apply = call.verb == Verb::Patch && call.content_type == APPLY;
        let Some(before) = self.store.get(&key).cloned() else {
            let none = json!({"metadata": {"name": key.name}});
            return match is_apply.then(|| self.applied(kind, &none, call)) {
                Some(Ok(object)) => self.create(kind, key, &Call { body: object.to_string().into(), ..call.clone() }),
                Some(Err(answer)) => answer,
                None => Answer::not_found(kind, &key.name),
            };
        };
        match call.verb {
            Verb::Replace => match call.json() {
                Some(object) if kind.needs_version && meta(&object, "resourceVersion").is_empty() => {
                    let wrong = cause("metadata.resourceVersion", "0: must be specified for an update");
                    Answer::invalid(kind, &key.name, &[wrong]).of_resource(kind)
                }
                Some(object) => self.replace(kind, key, &before, object, call),
                None => Answer::bad_request("the body is no JSON"),
            },
            Verb::Patch if is_apply => match self.applied(kind, &before, call) {
                Ok(object) => self.replace(kind, key, &before, object, call),
                Err(answer) => answer,
            },
            Verb::Patch => match patched(&before, kind.schema.is_some(), call) {
                Ok(object) => self.replace(kind, key, &before, object, call),
                Err(answer) => answer,
            },
            _ => self.delete(kind, &key, &before, call),
        }
    }

    /// What server-side apply makes of an object.
    fn applied(&self, kind: &Kind, before: &Value, call: &Call) -> Result<Value, Answer> {
        let wanted = call
            .json()
            .filter(Value::is_object)
            .ok_or_else(|| Answer::bad_request("what is applied has to be JSON here, which is what kubectl sends"))?;
        let name = call.asks("fieldManager");
        if name.is_empty() {
            return Err(Answer::no_manager());
        }
        let schema = kind.schema.as_ref().map(Schema::text);
        let manager = Manager { name, forces: call.asks("force") == "true", time: time(self.now), schema };
        apply(before, &wanted, &manager).map_err(|conflicts| Answer::conflicts(&conflicts))
    }

    fn create(&mut self, kind: &Kind, mut key: StoredKey, call: &Call) -> Answer {
        let Some(mut object) = call.json() else { return Answer::unknown_format(&["application/json"]) };
        let namespace =
            StoredKey { resource: "namespaces".to_owned(), namespace: String::new(), name: key.namespace.clone() };
        if kind.namespaced && self.store.get(&namespace).is_none() {
            return Answer::no_namespace(&key.namespace);
        }
        key.name = meta(&object, "name").to_owned();
        let uid = self.store.new_uid();
        if key.name.is_empty() {
            key.name = format!("{}{}", meta(&object, "generateName"), uid.get(..8).unwrap_or(""));
        }
        let unknown = kind.schema.as_ref().map(|schema| schema.complete(&mut object)).unwrap_or_default();
        if is_strict(call) && !unknown.is_empty() {
            return strict(kind, &unknown, Verb::Create);
        }
        if let Some(fields) = object.as_object_mut().filter(|_| kind.has_status && kind.plural != "nodes") {
            fields.shift_remove("status");
        }
        keep_meta(&mut object, &Value::Null, &SYSTEM);
        if call.content_type != APPLY {
            keep_meta(&mut object, &Value::Null, &["managedFields"]);
        }
        set_meta(&mut object, "name", json!(key.name));
        if kind.namespaced {
            set_meta(&mut object, "namespace", json!(key.namespace));
        }
        set_meta(&mut object, "uid", json!(uid));
        set_meta(&mut object, "creationTimestamp", time(self.now));
        if kind.has_generation {
            set_meta(&mut object, "generation", json!(1));
        }
        named(kind, &mut object);
        let creator = creator(&object, &call.user);
        own(kind, &mut object, &creator);
        hold(kind, &mut object, &call.user);
        if let Some(refused) = self.completed(kind, &key.name, &mut object, None) {
            return refused;
        }
        if self.store.get(&key).is_some() {
            return Answer::exists(kind, &key.name);
        }
        Answer::done(201, Value::clone(&self.store.put(key, object))).warning(warnings(call, &unknown))
    }

    /// Stores what a PUT or a patch makes of an object: its status, or all but that.
    fn replace(&mut self, kind: &Kind, key: StoredKey, before: &Arc<Value>, mut object: Value, call: &Call) -> Answer {
        let (version, uid) = (meta(&object, "resourceVersion"), meta(&object, "uid"));
        if !version.is_empty() && version != meta(before, "resourceVersion") {
            return Answer::conflict(kind, &key.name, MODIFIED);
        }
        if !uid.is_empty() && uid != meta(before, "uid") {
            // It is said once for every object, and once more for those of a CRD.
            let wrong = cause("metadata.uid", &format!("\"{uid}\": field is immutable"));
            let count = if kind.schema.is_some() { 2 } else { 1 };
            return Answer::invalid(kind, &key.name, &vec![wrong; count]);
        }
        let unknown = kind.schema.as_ref().map(|schema| schema.complete(&mut object)).unwrap_or_default();
        if is_strict(call) && !unknown.is_empty() {
            return strict(kind, &unknown, call.verb);
        }
        let mut next = match call.subresource.as_str() {
            "status" => with_status(before, object.get("status").cloned()),
            _ if kind.has_status => with_status(&object, before.get("status").cloned()),
            _ => object,
        };
        keep_meta(&mut next, before, &SYSTEM);
        if kind.has_generation && body(&next, kind.has_status) != body(before, kind.has_status) {
            set_meta(&mut next, "generation", json!(generation(before) + 1));
        }
        named(kind, &mut next);
        if !call.user.is_empty() {
            own(kind, &mut next, before.pointer("/spec/owner").and_then(Value::as_str).unwrap_or_default());
        }
        if let Some(refused) = self.completed(kind, &key.name, &mut next, Some(before)) {
            return refused;
        }
        if next == **before {
            return Answer::done(200, next).warning(warnings(call, &unknown));
        }
        if is_ending(&next) && !is_held(&next) {
            self.store.remove(&key);
            return Answer::done(200, next).warning(warnings(call, &unknown));
        }
        Answer::done(200, Value::clone(&self.store.put(key, next))).warning(warnings(call, &unknown))
    }

    /// Fills in what is missing; why it may not be stored.
    fn completed(&self, kind: &Kind, name: &str, object: &mut Value, before: Option<&Arc<Value>>) -> Option<Answer> {
        let schema = kind.schema.as_ref()?;
        schema.complete(object);
        let causes = schema.check(self.validator, object, before.map(AsRef::as_ref));
        (!causes.is_empty()).then(|| Answer::invalid(kind, name, &causes))
    }

    fn delete(&mut self, kind: &Kind, key: &StoredKey, before: &Arc<Value>, call: &Call) -> Answer {
        let options = call.json().unwrap_or_default();
        let policy = options.pointer("/propagationPolicy").and_then(Value::as_str).unwrap_or("Background");
        if policy != "Background" {
            return Answer::bad_request("of the ways to delete only Background is served here");
        }
        for (wanted, name, called) in [("uid", "uid", "UID"), ("resourceVersion", "resourceVersion", "ResourceVersion")]
        {
            let wanted = options.pointer("/preconditions").and_then(|all| all.get(wanted)).and_then(Value::as_str);
            if let Some(wanted) = wanted.filter(|wanted| *wanted != meta(before, name)) {
                let why = precondition(called, wanted, meta(before, name));
                return Answer::unmet(kind, &key.name, &why);
            }
        }
        if let Some(seconds) = grace(kind, before, &options) {
            let mut ending = Value::clone(before);
            let given = before.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
            // a pod that is being deleted may be given less time, counted from when it was deleted first, and only if that is asked for
            let is_asked = options.get("gracePeriodSeconds").is_some_and(Value::is_number);
            if given.is_none_or(|given| is_asked && seconds < given) {
                let deleted: Option<Timestamp> = meta(before, "deletionTimestamp").parse().ok();
                let from = deleted.zip(given).map_or(self.now, |(end, given)| end - SignedDuration::from_secs(given));
                set_meta(&mut ending, "deletionTimestamp", time(from + SignedDuration::from_secs(seconds)));
                set_meta(&mut ending, "deletionGracePeriodSeconds", json!(seconds));
                return Answer::done(200, Value::clone(&self.store.put(key.clone(), ending)));
            }
            return Answer::done(200, ending);
        }
        if is_held(before) {
            let mut ending = Value::clone(before);
            if !is_ending(before) {
                set_meta(&mut ending, "deletionTimestamp", time(self.now));
                set_meta(&mut ending, "deletionGracePeriodSeconds", json!(0));
                if kind.has_generation {
                    set_meta(&mut ending, "generation", json!(generation(before) + 1));
                }
                return Answer::done(200, Value::clone(&self.store.put(key.clone(), ending)));
            }
            return Answer::done(200, ending);
        }
        self.store.remove(key);
        let mut details = about(kind, &key.name);
        if let Some(details) = details.as_object_mut() {
            details.insert("uid".to_owned(), json!(meta(before, "uid")));
        }
        let done =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
        Answer::done(200, done)
    }
}

/// How long a pod on a node has to end that says so itself; `None` if it goes at once.
fn grace(kind: &Kind, pod: &Value, options: &Value) -> Option<i64> {
    pod.pointer("/spec/nodeName").and_then(Value::as_str).filter(|node| !node.is_empty())?;
    let own = pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64)?;
    let asked = options.get("gracePeriodSeconds").and_then(Value::as_i64);
    let phase = pod.pointer("/status/phase").and_then(Value::as_str).unwrap_or("");
    let runs = kind.plural == "pods" && kind.group.is_empty() && !["Succeeded", "Failed"].contains(&phase);
    Some(asked.unwrap_or(own)).filter(|seconds| runs && *seconds > 0)
}

fn patched(before: &Value, is_ours: bool, call: &Call) -> Result<Value, Answer> {
    let patch = call.json().ok_or_else(|| Answer::bad_request("error decoding patch: it is no JSON"))?;
    match call.content_type.as_str() {
        JSON_PATCH => {
            let operations =
                patch.as_array().ok_or_else(|| Answer::bad_request("error decoding patch: it is no list"))?;
            json_patch(before, operations).map_err(|_| Answer::unpatched())
        }
        MERGE_PATCH => {
            let mut object = before.clone();
            merge_patch(&mut object, &patch);
            Ok(object)
        }
        STRATEGIC_PATCH if !is_ours => {
            let mut object = before.clone();
            strategic_patch(&mut object, &patch);
            Ok(object)
        }
        _ => {
            let patches = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY];
            let accepted = patches.into_iter().filter(|form| !is_ours || *form != STRATEGIC_PATCH);
            Err(Answer::unknown_format(&accepted.collect::<Vec<_>>()))
        }
    }
}

fn is_strict(call: &Call) -> bool {
    call.asks("fieldValidation") == "Strict"
}

fn unknown_fields(unknown: &[String]) -> Vec<String> {
    unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect()
}

/// What is warned of when fields that the schema does not know were cut off. To warn is the default.
fn warnings(call: &Call, unknown: &[String]) -> Vec<String> {
    if call.asks("fieldValidation") == "Ignore" { Vec::new() } else { unknown_fields(unknown) }
}

/// What is said of fields that the schema does not know.
fn strict(kind: &Kind, unknown: &[String], verb: Verb) -> Answer {
    let message = format!("strict decoding error: {}", unknown_fields(unknown).join(", "));
    match verb {
        Verb::Patch => Answer::unreadable_patch(&cause("patch", &message)),
        _ => {
            let Kind { name, version, .. } = kind;
            Answer::bad_request(&format!("{name} in version \"{version}\" cannot be handled as a {name}: {message}"))
        }
    }
}

fn cause(field: &str, message: &str) -> Cause {
    let (reason, message) = ("FieldValueInvalid".to_owned(), format!("Invalid value: {message}"));
    Cause { field: field.to_owned(), reason, message }
}

fn precondition(what: &str, wanted: &str, found: &str) -> String {
    format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}")
}

fn with_status(object: &Value, status: Option<Value>) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        match status {
            Some(status) => drop(fields.insert("status".to_owned(), status)),
            None => drop(fields.shift_remove("status")),
        }
    }
    object
}

/// Every object says what it is.
fn named(kind: &Kind, object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), json!(kind.api_version()));
        fields.insert("kind".to_owned(), json!(kind.name));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Method;

    use super::*;
    use crate::{Kinds, Server};

    /// The code and the headers `Warning` of an answer.
    fn told(server: &Server, method: &Method, path: &str, body: &Value) -> (u16, Vec<String>) {
        let call = Call::of(method, &path.parse().unwrap(), MERGE_PATCH, body.to_string().into()).unwrap();
        let response = server.answer(&call).response();
        let all = response.headers().get_all(http::header::WARNING);
        (response.status().as_u16(), all.iter().map(|one| one.to_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn unknown_fields_are_warned_of_unless_they_are_refused_or_ignored() {
        let server = Server::new(Arc::new(Kinds::new()), Timestamp::UNIX_EPOCH);
        told(&server, &Method::POST, "/api/v1/namespaces", &json!({"metadata": {"name": "n"}}));
        let jobs = "/apis/gangmatch.dev/v1alpha1/namespaces/n/jobs";
        let job = |name: &str| json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": {"constrant": "true"}});
        let create = |name: &str, how: &str| told(&server, &Method::POST, &format!("{jobs}{how}"), &job(name));
        let warned = || vec!["299 - \"unknown field \\\"spec.constrant\\\"\"".to_owned()];
        assert_eq!(create("a", ""), (201, warned()), "to warn is the default");
        assert_eq!(create("b", "?fieldValidation=Warn"), (201, warned()));
        assert_eq!(create("c", "?fieldValidation=Ignore"), (201, Vec::new()));
        assert_eq!(create("d", "?fieldValidation=Strict"), (400, Vec::new()));
        let patch = json!({"spec": {"constrant": "true", "priority": 1}});
        assert_eq!(told(&server, &Method::PATCH, &format!("{jobs}/a"), &patch), (200, warned()));
        assert_eq!(
            told(&server, &Method::PATCH, &format!("{jobs}/a"), &json!({"spec": {"priority": 2}})),
            (200, Vec::new())
        );
    }
}

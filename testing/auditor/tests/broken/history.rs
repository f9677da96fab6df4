//! A history in which nothing is broken, and the words to break it.

use std::collections::BTreeSet;

use auditor::{Audit, Change, Invariant, Key, Object, ObjectKind};
use serde_json::{Value, json};

/// The steps of a gang from its birth to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum At {
    Advertised,
    Recorded,
    RootReserved,
    MachineReserved,
    LicenseReserved,
    Committed,
    Released,
    MachineFreed,
    LicenseFreed,
    RootFreed,
}

pub(crate) const MATCH: &str = "uid-of-match";

pub(crate) fn job() -> Key {
    Key::new(ObjectKind::Job, "default", "j")
}

pub(crate) fn machine() -> Key {
    Key::new(ObjectKind::Machine, "default", "m")
}

pub(crate) fn license() -> Key {
    Key::new(ObjectKind::License, "default", "l")
}

pub(crate) fn found() -> Key {
    Key::new(ObjectKind::Match, "default", "j-1")
}

pub(crate) fn batch() -> Key {
    Key::new(ObjectKind::Batch, "default", "j-1")
}

pub(crate) fn pod() -> Key {
    Key::new(ObjectKind::Pod, "default", "j-1-0")
}

/// Revisions, one after the other.
#[derive(Clone, Default)]
pub(crate) struct History(pub(crate) Vec<(Key, Option<Value>)>);

/// The whole life of one gang, up to and with a step.
pub(crate) fn until(last: At) -> History {
    let mut history = History::default();
    let object = |kind: &str, name: &str, uid: &str, spec: Value| {
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "spec": spec,
            "metadata": {"namespace": "default", "name": name, "uid": uid, "generation": 1}})
    };
    let ports = json!([{"label": "cpu", "constraint": "cpu.Type == \"Machine\""},
        {"label": "license", "constraint": "license.Type == \"License\""}]);
    let takes = |what: &str| json!({"constraint": "other.Type == \"Job\"", "capacity": {what: 1}});
    let mut steps: Vec<(At, Key, Value)> = vec![
        (At::Advertised, machine(), object("Machine", "m", "uid-of-m", takes("slots"))),
        (At::Advertised, license(), object("License", "l", "uid-of-l", takes("seats"))),
        (At::Advertised, job(), object("Job", "j", "uid-of-j", json!({"ports": ports}))),
        (At::Recorded, found(), object("Match", "j-1", MATCH, recorded())),
    ];
    let claim = json!({"match": "j-1", "uid": MATCH});
    let entry = |what: &str| json!({MATCH: {"match": "default/j-1", "allocation": {what: 1}, "vote": "Accepted"}});
    let mut write = |at: At, key: Key, path: &str, value: Value| {
        let mut next = steps.iter().rev().find(|(_, known, _)| *known == key).unwrap().2.clone();
        next["status"][path] = value;
        steps.push((at, key, next));
    };
    write(At::RootReserved, job(), "claim", claim);
    write(At::MachineReserved, machine(), "claims", entry("slots"));
    write(At::LicenseReserved, license(), "claims", entry("seats"));
    write(At::Committed, found(), "decision", json!("Committed"));
    write(At::Released, found(), "decision", json!("Released"));
    write(At::MachineFreed, machine(), "claims", json!({}));
    write(At::LicenseFreed, license(), "claims", json!({}));
    write(At::RootFreed, job(), "claim", Value::Null);
    history.0.extend(steps.into_iter().filter(|(at, _, _)| *at <= last).map(|(_, key, value)| (key, Some(value))));
    history
}

fn recorded() -> Value {
    let offer = |id: i32, kind: &str, name: &str, port: &str, what: &str| {
        json!({"id": id, "kind": kind, "namespace": "default", "name": name, "uid": format!("uid-of-{name}"), "generation": 1,
            "parent": 0, "parentPort": port, "port": "other", "allocation": {what: 1}, "claimPolicy": "Auto"})
    };
    json!({"attempt": 1, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1}, "epoch": 7,
        "reserveTimeoutSeconds": 30, "summary": "cpu=default/m license=default/l", "rank": "0",
        "members": [
            {"id": 0, "kind": "Job", "namespace": "default", "name": "j", "uid": "uid-of-j", "generation": 1},
            offer(1, "Machine", "m", "cpu", "slots"), offer(2, "License", "l", "license", "seats")]})
}

impl History {
    /// What a key was last.
    pub(crate) fn last(&self, key: &Key) -> Value {
        self.0.iter().rev().find(|(known, _)| known == key).and_then(|(_, value)| value.clone()).unwrap()
    }

    /// Writes an object once more, changed.
    pub(crate) fn then(mut self, key: Key, change: impl FnOnce(&mut Value)) -> History {
        let mut next = self.last(&key);
        change(&mut next);
        self.0.push((key, Some(next)));
        self
    }

    /// A batch Job that works for the Match, or its pod.
    pub(crate) fn then_works(mut self, key: Key, spec: Value, status: Value) -> History {
        let labels = json!({"gangmatch.dev/match-uid": MATCH});
        let mut metadata = json!({"namespace": key.namespace, "name": key.name, "uid": format!("uid-of-{}", key.name), "labels": labels});
        if key.kind == ObjectKind::Pod {
            metadata["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j-1", "uid": "uid-of-j-1", "controller": true}]);
        }
        self.0.push((key, Some(json!({"metadata": metadata, "spec": spec, "status": status}))));
        self
    }

    pub(crate) fn then_deleted(mut self, key: Key) -> History {
        self.0.push((key, None));
        self
    }

    /// The same without any write of this kind that this step made.
    pub(crate) fn without(mut self, place: usize) -> History {
        self.0.remove(place);
        self
    }

    pub(crate) fn audit(&self) -> Audit {
        let changes = self.0.iter().enumerate().map(|(number, (key, value))| {
            let revision = i64::try_from(number).unwrap() + 1;
            match value {
                None => Change::delete(revision, key.clone()),
                Some(value) => {
                    let object = Object::read(key.kind, value.to_string().as_bytes(), revision).unwrap();
                    Change::put(revision, key.clone(), object)
                }
            }
        });
        changes.collect()
    }

    /// What is broken in it.
    pub(crate) fn broken(&self) -> BTreeSet<Invariant> {
        self.audit().violations().iter().map(|violation| violation.invariant).collect()
    }

    /// What is broken in it if nothing is under way any more.
    pub(crate) fn broken_at_rest(&self) -> BTreeSet<Invariant> {
        let audit = self.audit();
        auditor::at_rest(audit.world(), audit.revision(), 0).iter().map(|violation| violation.invariant).collect()
    }
}

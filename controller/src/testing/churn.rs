//! A small world in which anything may happen next, for tests of what looks only at what has changed.

use std::collections::BTreeMap;

use crds::{LABEL_MATCH_UID, OfferKind};
use pool::{AgentLiveness, Marks, ObjectKey, Objects, RunState, WorkloadObject};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::testing::chance::Chance;

/// The world, and the chance that moves it.
pub(crate) struct Churn {
    pub(crate) objects: Objects,
    chance: Chance,
    version: u64,
}

const JOBS: u64 = 3;
const MATCHES: u64 = 4;

impl Churn {
    pub(crate) fn new(seed: u64) -> Churn {
        Churn { objects: Objects::default(), chance: Chance::new(seed), version: 0 }
    }

    /// One of so many.
    pub(crate) fn one_of(&mut self, many: u64) -> u64 {
        self.chance.one_of(many)
    }

    fn pick(&mut self, among: &[Value]) -> Value {
        let place = self.one_of(among.len() as u64);
        among[usize::try_from(place).unwrap()].clone()
    }

    /// Something happens to one object.
    pub(crate) fn turn(&mut self) {
        match self.one_of(14) {
            0..3 => self.put_job(),
            3..6 => self.put_offer(),
            6..10 => self.put_match(),
            10 => self.take_away(),
            11 => self.work(),
            12 => self.live(),
            _ => {
                let labels = BTreeMap::from([("gangmatch.dev/offers".to_owned(), "cluster".to_owned())]);
                match self.one_of(2) {
                    0 => drop(self.objects.namespaces.apply("ns", labels)),
                    _ => self.objects.namespaces.remove("ns"),
                }
            }
        }
    }

    fn object<K: DeserializeOwned>(&mut self, kind: &str, name: &str, spec: &Value, status: &Value) -> K {
        self.version += 1;
        // now and then it was made again under its name
        let uid = if self.one_of(8) == 0 { format!("v-{name}") } else { format!("u-{name}") };
        let mut metadata = json!({"name": name, "namespace": "ns", "uid": uid, "generation": self.one_of(2) + 1,
            "resourceVersion": self.version.to_string(), "creationTimestamp": "2026-11-21T14:00:00Z"});
        if self.one_of(12) == 0 {
            metadata["deletionTimestamp"] = json!("2026-11-21T14:00:00Z");
        }
        let value = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec,
            "status": status});
        serde_json::from_value(value).unwrap()
    }

    fn match_uid(&mut self) -> String {
        format!("u-m{}", self.one_of(MATCHES))
    }

    fn put_job(&mut self) {
        let name = format!("j{}", self.one_of(JOBS));
        let spec = self.pick(&[
            json!({}),
            json!({"matchHistoryLimit": 0}),
            json!({"suspend": true}),
            json!({"done": true}),
            json!({"activeDeadlineSeconds": 5, "matchHistoryLimit": 1}),
            json!({"matchTimeoutSeconds": 7}),
            json!({"workload": {"workloadRef": {"name": "b"}, "startTimeoutSeconds": 4}}),
            json!({"constraint": "other.Memory >="}),
            json!({"constraint": "other.Memory > 5"}),
            json!({"constraint": "time() > 0 && other.Memory > 5"}),
        ]);
        let mut spec = spec;
        spec.as_object_mut().unwrap().entry("attributes").or_insert(json!({"a": 1}));
        spec.as_object_mut().unwrap().entry("constraint").or_insert(json!("true"));
        let claim = json!({"match": "m", "uid": self.match_uid()});
        let told = json!([{"type": "Claimed", "status": "True", "reason": "Committed", "message": "",
            "lastTransitionTime": "2026-11-21T14:00:00Z"}]);
        let status = self.pick(&[json!({}), json!({"claim": claim}), json!({"claim": claim, "conditions": told})]);
        let job = self.object("Job", &name, &spec, &status);
        self.objects.jobs.put(job);
    }

    fn put_offer(&mut self) {
        let spec = self.pick(&[
            json!({}),
            json!({"stopPolicy": "Hold"}),
            json!({"stopPolicy": "HoldAndDrain"}),
            json!({"allowedNamespaces": {"from": "All"}}),
            json!({"attributes": {"Memory": 9}}),
            json!({"constraint": "other.a == 2"}),
            json!({"claimPolicy": "Agent", "agent": {"username": "a", "leaseDurationSeconds": 20}}),
            json!({"classad": "[ a = "}),
        ]);
        let mut claims = serde_json::Map::new();
        for _ in 0..self.one_of(3) {
            let uid = self.match_uid();
            let entry = json!({"match": format!("ns/{}", uid.replace("u-", "")), "allocation": {"slots": 1}, "epoch": self.one_of(5)});
            let vote = self.pick(&[json!("Accepted"), json!("Pending"), json!("Rejected")]);
            let mut entry = entry;
            entry["vote"] = vote;
            claims.insert(uid, entry);
        }
        let status = json!({"claims": claims, "epoch": self.one_of(5)});
        if self.one_of(2) == 0 {
            let machine = self.object("Machine", "a", &spec, &status);
            self.objects.machines.put(machine);
        } else {
            let license = self.object("License", "a", &spec, &status);
            self.objects.licenses.put(license);
        }
    }

    fn put_match(&mut self) {
        let (number, root) = (self.one_of(MATCHES), self.one_of(JOBS));
        let agent = self.pick(&[json!("Agent"), json!("Auto")]);
        let offer = |id: u64, kind: &str| {
            json!({"id": id, "kind": kind, "namespace": "ns", "name": "a", "uid": "u-a", "generation": 1, "parent": 0,
                "parentPort": "p", "port": "other", "allocation": {"slots": 1}, "claimPolicy": agent})
        };
        let job = json!({"id": 0, "kind": "Job", "namespace": "ns", "name": format!("j{root}"), "uid": format!("u-j{root}"),
            "generation": 1});
        let spec = json!({"attempt": number + 1, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1}, "epoch": 0,
            "reserveTimeoutSeconds": 30, "summary": "", "rank": "0",
            "members": [job, offer(1, "Machine"), offer(2, "License")]});
        let status = self.pick(&[
            json!({"decision": "Pending"}),
            json!({"decision": "Committed", "committedAt": "2026-11-21T14:00:00Z"}),
            json!({"decision": "Aborted", "reason": "StaleAd"}),
            json!({"decision": "Released", "reason": "Done"}),
        ]);
        let found = self.object("Match", &format!("m{number}"), &spec, &status);
        self.objects.matches.put(found);
    }

    fn take_away(&mut self) {
        let (job, found) = (format!("j{}", self.one_of(JOBS)), format!("m{}", self.one_of(MATCHES)));
        match self.one_of(4) {
            0 => self.objects.jobs.remove(&ObjectKey::new("ns", &job)),
            1 => self.objects.machines.remove(&ObjectKey::new("ns", "a")),
            2 => self.objects.licenses.remove(&ObjectKey::new("ns", "a")),
            _ => self.objects.matches.remove(&ObjectKey::new("ns", &found)),
        }
    }

    fn work(&mut self) {
        let uid = self.match_uid();
        let name = if self.one_of(3) == 0 { "b".to_owned() } else { uid.replace("u-", "") };
        match self.one_of(5) {
            0 => self.objects.workloads.remove(crds::WorkKind::Job, &ObjectKey::new("ns", &name)),
            1 => {
                let phase = self.pick(&[json!("Running"), json!("Succeeded")]);
                let pod = json!({"metadata": {"name": "p", "namespace": "ns", "labels": {LABEL_MATCH_UID: uid}},
                    "status": {"phase": phase}});
                self.objects.workloads.put_pod(&serde_json::from_value(pod).unwrap());
            }
            _ => {
                self.version += 1;
                let batch = WorkloadObject {
                    key: ObjectKey::new("ns", &name),
                    uid: format!("u-{name}"),
                    version: self.version.to_string(),
                    ended: [None, Some(true), Some(false)][usize::try_from(self.one_of(3)).unwrap()],
                    marks: Marks {
                        match_uid: Some(uid).filter(|_| self.one_of(4) > 0),
                        made: self.one_of(2) == 0,
                        ..Marks::default()
                    },
                    run: RunState { suspended: self.one_of(2) == 0, up: self.one_of(2) == 0, ..RunState::default() },
                    ..WorkloadObject::default()
                };
                self.objects.workloads.put(batch);
            }
        }
    }

    fn live(&mut self) {
        let mut lives = BTreeMap::new();
        for kind in OfferKind::ALL {
            let life = [AgentLiveness::Unknown, AgentLiveness::Renewed, AgentLiveness::Expired]
                [usize::try_from(self.one_of(3)).unwrap()];
            lives.insert((kind, ObjectKey::new("ns", "a")), life);
        }
        self.objects.apply_agents(lives);
    }
}

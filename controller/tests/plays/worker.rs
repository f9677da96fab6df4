//! An agent that really works: it votes as its chance has it, starts and ends work, renews its Lease, and stops by itself when it must. What it
//! does is compared with what the ledger says of it.

use http::Method;
use sampling::Random;
use serde_json::{Value, json};

use crate::actors::renew;
use crate::stage::{Stage, at};

/// How often an agent renews its Lease; how long it works without having done so.
const RENEW_MS: i64 = 5_000;
const ALONE_MS: i64 = 15_000;

/// The agent of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    machine: String,
    chance: Random,
    seed: u64,
    /// For which claim, on which object of its machine's name, it works.
    works: Option<(String, String)>,
    /// It is not there before this.
    dead_until_ms: i64,
    ends_ms: i64,
    renewed_ms: Option<i64>,
    looks_ms: i64,
}

impl Worker {
    pub(crate) fn new(machine: &str, seed: u64) -> Worker {
        let (machine, chance) = (machine.to_owned(), Random::stream(seed, machine));
        Worker { machine, chance, seed, works: None, dead_until_ms: 0, ends_ms: 0, renewed_ms: None, looks_ms: 0 }
    }

    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    /// It dies, and its work with it; at this time it begins again.
    pub(crate) fn die(&mut self, until_ms: i64) {
        (self.works, self.dead_until_ms) = (None, until_ms);
    }

    /// The next thing that it does.
    pub(crate) fn act(&mut self, stage: &mut Stage) {
        let now_ms = stage.now_ms;
        if now_ms < self.dead_until_ms || now_ms < self.looks_ms {
            return;
        }
        self.looks_ms = now_ms + self.chance.between(20, 1_000);
        if self.renewed_ms.is_some_and(|renewed| now_ms - renewed > ALONE_MS) {
            self.works = None;
        }
        if self.renewed_ms.is_none_or(|renewed| now_ms - renewed >= RENEW_MS) {
            self.renewed_ms = Some(now_ms);
            renew(stage, "machines", &self.machine);
        }
        let offer = stage.get("machines", &self.machine).unwrap_or_default();
        if self.works.as_ref().is_some_and(|(_, object)| offer["metadata"]["uid"] != object.as_str()) {
            self.works = None;
        }
        let entries = offer["status"]["claims"].as_object().cloned().unwrap_or_default();
        for (uid, entry) in &entries {
            let Some(patch) = self.serve(uid, entry, now_ms) else { continue };
            let answer = stage.ask(&Method::PATCH, &format!("{}/status", at("machines", &self.machine)), &patch);
            let starts = patch[1]["value"] == "Active" && answer.code < 300;
            if starts {
                self.works = Some((uid.clone(), offer["metadata"]["uid"].as_str().unwrap().to_owned()));
                self.ends_ms = now_ms + self.chance.between(1_000, 12_000);
            }
            return;
        }
        // What it works for has been taken out of the ledger, and it has noticed.
        if self
            .works
            .as_ref()
            .is_some_and(|(claim, _)| entries.get(claim).is_none_or(|entry| entry["activity"] == "Lost"))
        {
            self.works = None;
        }
    }

    fn serve(&mut self, uid: &str, entry: &Value, now_ms: i64) -> Option<Value> {
        let path = format!("/status/claims/{uid}");
        let works = self.works.as_ref().is_some_and(|(claim, _)| claim == uid);
        match entry["activity"].as_str() {
            _ if entry["vote"] == "Pending" && entry["askWhen"] == "Now" && self.works.is_none() => {
                self.vote(&path, uid)
            }
            Some("Idle") | None if entry["committed"] == true && entry["release"] != true && self.works.is_none() => {
                Some(json!([
                    {"op": "test", "path": format!("{path}/committed"), "value": true},
                    {"op": "add", "path": format!("{path}/activity"), "value": "Active"}]))
            }
            Some("Active") if !works || entry["release"] == true || now_ms >= self.ends_ms => {
                self.works = self.works.take().filter(|_| !works);
                Some(json!([
                    {"op": "test", "path": format!("{path}/activity"), "value": "Active"},
                    {"op": "replace", "path": format!("{path}/activity"), "value": "Ended"}]))
            }
            _ => None,
        }
    }

    /// Yes, mostly; some claims it refuses, and some it never answers.
    fn vote(&self, path: &str, uid: &str) -> Option<Value> {
        let says = match Random::stream(self.seed, uid).below(100) {
            0..=82 => "Accepted",
            83..=94 => "Rejected",
            _ => return None,
        };
        let mut patch = vec![
            json!({"op": "test", "path": format!("{path}/vote"), "value": "Pending"}),
            json!({"op": "add", "path": format!("{path}/ballot"), "value": format!("ballot-{}", uid.get(..8).unwrap())}),
            json!({"op": "replace", "path": format!("{path}/vote"), "value": says}),
        ];
        patch.extend(
            (says == "Rejected").then(|| json!({"op": "add", "path": format!("{path}/retry"), "value": "Retry"})),
        );
        Some(Value::Array(patch))
    }

    /// What is wrong with the ledger: its seat was given away while it works there, or it was taken for silent.
    pub(crate) fn wronged(&self, stage: &Stage) -> Option<String> {
        let (claim, object) = self.works.as_ref()?;
        let offer = stage.get("machines", &self.machine).filter(|offer| offer["metadata"]["uid"] == object.as_str())?;
        let entry = &offer["status"]["claims"][claim];
        let what = match entry["activity"].as_str() {
            Some("Lost") => "counts as lost",
            None if entry.is_null() => "has lost its seat",
            _ => return None,
        };
        Some(format!("AtWork: the agent of {} works for {claim}, and {what}", self.machine))
    }
}

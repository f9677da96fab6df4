//! The pages of a large pool: 1,000 machines, 60 licenses and 5,000 jobs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use pool::Objects;
use serde_json::{Value, json};

use super::history::{History, SAMPLES_MAX};
use super::html;
use super::picture::Picture;
use super::server::render;
use super::sight::{Allowed, Kind, Sight};
use super::view::Query;
use super::viewers::Viewer;

const MACHINES: usize = 1_000;
const LICENSES: usize = 60;
const JOBS: usize = 5_000;
const NOW: i64 = 1_795_269_600;

fn time(ago: usize) -> String {
    let ago = i64::try_from(ago).unwrap();
    Timestamp::from_second(NOW - ago).unwrap().to_string()
}

fn object<K: serde::de::DeserializeOwned>(kind: &str, namespace: &str, name: &str, spec: &Value, status: &Value) -> K {
    let metadata = json!({"name": name, "namespace": namespace, "uid": format!("u-{name}"), "generation": 1,
        "creationTimestamp": time(name.len() * 977 + 40_000)});
    let value = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec, "status": status});
    serde_json::from_value(value).unwrap()
}

fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": time(4_000)})
}

fn machine_name(number: usize) -> String {
    format!("node-{number:04}")
}

fn entry(number: usize, allocation: &Value) -> Value {
    json!({"match": format!("grid/sim-{number:05}-8f2d"), "allocation": allocation, "vote": "Accepted", "activity": "Active"})
}

/// Jobs of which every third holds a gang; the others wait for different reasons.
fn fill(objects: &mut Objects) {
    for number in 0..MACHINES {
        let claims = if number % 3 == 0 {
            json!({format!("m{number}"): entry(number * 3, &json!({"cpus": 12, "memory": 49152}))})
        } else {
            json!({})
        };
        let (state, reason) = match number {
            number if number % 97 == 0 => ("Unavailable", "NodeNotReady"),
            number if number % 89 == 0 => ("Draining", "Draining"),
            number if number % 3 == 0 => ("Claimed", "Claimed"),
            _ => ("Available", "Available"),
        };
        let status = json!({"state": state, "claims": claims, "conditions": [condition("Ready", "True", reason, "")]});
        let spec = json!({"owner": "system:serviceaccount:grid:lab", "capacity": {"cpus": 16, "memory": 65536}, "nodeName": machine_name(number),
            "constraint": "other.Type == \"Job\" && (other.Owner == \"raman\" || hour() >= 18 || hour() < 8) && other.Memory <= 49152",
            "rank": "member(other.Owner, {\"raman\", \"livny\"}) ? 10 : 0", "allowedNamespaces": {"from": "All"}});
        objects.machines.put(object("Machine", "grid", &machine_name(number), &spec, &status));
    }
    for number in 0..LICENSES {
        let name = format!("{}-{number:02}", ["vcs", "spectre", "calibre", "matlab", "ansys"][number % 5]);
        let claims: serde_json::Map<String, Value> = (0..(number * 7) % 23)
            .map(|claim| (format!("l{number}-{claim}"), entry(claim * 3, &json!({"seats": 1}))))
            .collect();
        let state = if claims.is_empty() { "Available" } else { "Claimed" };
        let status = json!({"state": state, "claims": claims, "externalUsage": {"seats": number % 4}, "conditions": [condition("Ready", "True", state, "")]});
        let spec = json!({"owner": "cad-team", "capacity": {"seats": 25}, "allowedNamespaces": {"from": "All"},
            "constraint": "other.Type == \"Job\" && other.Project != \"\"", "sharedBy": "requester.Members[0].NodeName"});
        objects.licenses.put(object("License", "eda", &name, &spec, &status));
    }
    for number in 0..JOBS {
        let name = format!("sim-{number:05}");
        let owner = ["raman", "livny", "alice"][number % 3];
        let spec = json!({"owner": owner, "priority": number % 4, "constraint": "other.Type == \"Machine\""});
        let status = if number % 3 == 0 { holds(number) } else { waits(number) };
        objects.jobs.put(object("Job", ["grid", "eda", "chips"][number % 3], &name, &spec, &status));
        if number % 3 == 0 {
            objects.matches.put(object(
                "Match",
                "grid",
                &format!("{name}-8f2d"),
                &found(number),
                &json!({"decision": "Committed", "reason": "AllReserved"}),
            ));
        }
    }
}

fn holds(number: usize) -> Value {
    let members = format!("cpu=grid/{} license=eda/vcs-00 monitor=eda/spectre-01", machine_name(number / 3));
    json!({"phase": if number.is_multiple_of(2) { "Running" } else { "Claimed" }, "members": members,
        "claim": {"match": format!("sim-{number:05}-8f2d"), "uid": format!("u-sim-{number:05}-8f2d")},
        "conditions": [condition("Accepted", "True", "Accepted", ""), condition("Matched", "True", "GangFound", &members),
            condition("Claimed", "True", "Committed", &format!("held by Match sim-{number:05}-8f2d"))]})
}

fn waits(number: usize) -> Value {
    let (reason, why) = match number % 7 {
        0 | 1 => (
            "NoCandidates",
            "port `cpu`: none of 1000 ads satisfies the job's constraint: `cpu.Memory >= 48000` rejects 588, `cpu.Arch == \"arm64\"` rejects 1000",
        ),
        2..5 => ("WaitingForCapacity", "port `license`: 12 ads that would match are taken"),
        5 => (
            "RefusedByOffers",
            "port `cpu`: of 1000 ads, 360 refused by the job's constraint, 640 refused by their owner's constraint",
        ),
        _ => {
            ("NoConsistentGang", "each of the ports cpu, license has candidates, but no combination of them is a gang")
        }
    };
    let ports = json!([{"label": "cpu", "candidates": 1000, "refusedByJob": 588, "refusedByOffer": 12, "busy": 334},
        {"label": "license", "candidates": 60, "refusedByJob": 48, "refusedByOffer": 0, "busy": 12}]);
    let conjuncts = json!([{"port": "cpu", "text": "cpu.Memory >= 48000", "rejects": 588}, {"port": "license", "text": "license.App == \"vcs\"", "rejects": 48}]);
    json!({"phase": "Pending", "why": why, "waitingSince": time(number * 3 + 30),
        "unmatched": {"at": time(5), "ports": ports, "conjuncts": conjuncts, "hint": "412 ads fit with 32768 as the number in `cpu.Memory >= 48000`; without it, 1000 ads fit"},
        "conditions": [condition("Accepted", "True", "Accepted", ""), condition("Matched", "False", reason, why)]})
}

fn found(number: usize) -> Value {
    let member = |id: i32, kind: &str, namespace: &str, name: &str, place: Value| {
        let mut member = json!({"id": id, "kind": kind, "namespace": namespace, "name": name, "uid": format!("u-{name}"), "generation": 1});
        member.as_object_mut().unwrap().extend(place.as_object().cloned().unwrap());
        member
    };
    let below = |parent: i32, port: &str, allocation: Value| json!({"parent": parent, "parentPort": port, "port": "other", "allocation": allocation});
    let members = json!([
        member(0, "Job", "grid", &format!("sim-{number:05}"), json!({})),
        member(1, "Machine", "grid", &machine_name(number / 3), below(0, "cpu", json!({"cpus": 12, "memory": 49152}))),
        member(2, "License", "eda", "vcs-00", below(0, "license", json!({"seats": 1}))),
        member(3, "License", "eda", "spectre-01", below(2, "monitor", json!({"seats": 1}))),
        member(4, "License", "eda", "calibre-02", below(2, "checker", json!({"seats": 2}))),
    ]);
    json!({"attempt": 1, "cycle": {"id": "c1842", "time": time(60), "seed": 7}, "epoch": 1, "reserveTimeoutSeconds": 30,
        "summary": "", "rank": "23.893", "members": members})
}

/// Seats that come and go.
fn history(objects: &Objects) -> History {
    let mut history = History::default();
    for minute in 0..SAMPLES_MAX {
        let licenses: Vec<crds::License> = objects
            .licenses
            .iter()
            .enumerate()
            .map(|(number, (_, held))| {
                let mut license = crds::License::clone(&held.object);
                let status = license.status.get_or_insert_default();
                let wave = (minute + number * 17) % 120;
                let rest = 25 - status.claims.len().min(25);
                let level = if wave < 60 { wave } else { 120 - wave } * rest / 80;
                if minute + 1 < SAMPLES_MAX {
                    status.external_usage.insert("seats".to_owned(), i64::try_from(level).unwrap());
                }
                license
            })
            .collect();
        history.sample(licenses.iter());
    }
    history
}

/// The pages: a name, the path, the query.
const PAGES: [(&str, &str, &str); 9] = [
    ("overview", "/", ""),
    ("jobs", "/jobs", "page=2"),
    ("licenses", "/licenses", ""),
    ("machines", "/machines", "page=10"),
    ("waiting", "/job", "namespace=eda&name=sim-00001"),
    ("claimed", "/job", "namespace=grid&name=sim-00003"),
    ("license", "/offer", "kind=license&namespace=eda&name=spectre-01"),
    ("machine", "/offer", "kind=machine&namespace=grid&name=node-0003"),
    ("match", "/match", "namespace=grid&name=sim-00003-8f2d"),
];

fn picture() -> (Picture, Duration) {
    let mut objects = Objects::default();
    fill(&mut objects);
    let history = Arc::new(history(&objects));
    let begun = Instant::now();
    (Picture::of(&objects, history, Timestamp::from_second(NOW).unwrap()), begun.elapsed())
}

/// A page, for a viewer who may list everything.
fn page_of(picture: &Picture, path: &str, query: &str) -> String {
    let allowed = Kind::ALL.into_iter().map(|kind| (kind, Allowed::Everywhere)).collect();
    let sight = Sight { allowed, is_partial: false };
    let mut viewer = Viewer::default();
    "system:serviceaccount:grid:viewer".clone_into(&mut viewer.name);
    render(picture, &sight, path, &Query::parse(query), &viewer, true).unwrap().into_string()
}

/// All pages, by name.
pub(super) fn pages() -> Vec<(&'static str, String)> {
    let (picture, _) = picture();
    let pages = PAGES.iter().map(|(name, path, query)| (*name, page_of(&picture, path, query)));
    pages.chain([("sign-in", html::sign_in(None).into_string())]).collect()
}

#[test]
fn pages_of_a_large_pool_are_short_and_made_in_a_moment() {
    let (picture, copied) = picture();
    assert_eq!((picture.jobs.len(), picture.machines.len()), (JOBS, MACHINES));
    assert!(copied < Duration::from_millis(500), "the cache is locked for {copied:?}");
    for (name, path, query) in PAGES {
        let begun = Instant::now();
        let page = page_of(&picture, path, query);
        let took = begun.elapsed();
        assert!(page.len() < 400_000 && page.matches("<tr>").count() <= 200, "{name}: {} bytes", page.len());
        assert!(took < Duration::from_secs(3), "{name} took {took:?}, unoptimized");
    }
}

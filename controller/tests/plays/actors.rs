//! Everybody else in a cluster: agents that vote and work, the controller of batch Jobs, the garbage collector. They look at what
//! is stored and do the next thing; they remember nothing that a restart would take from them.

use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::process::beginning;
use crate::stage::{HERE, Stage, at, call};

/// An agent of an offer.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    /// `machines` or `licenses`.
    pub(crate) plural: &'static str,
    /// Its vote.
    pub(crate) says: Says,
    /// When it renewed its Lease last.
    pub(crate) renewed_ms: Option<i64>,
}

/// What an agent says to whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Yes,
    /// It votes yes, works, and does not stop when it is told to.
    YesForEver,
    /// Not now.
    No,
    /// It votes yes, and is never heard of again.
    YesAndDies,
    /// Nothing: it is not there.
    Nothing,
}

/// How often an agent renews its Lease.
const RENEW_MS: i64 = 5_000;
/// How long work takes.
const WORK_SECONDS: i64 = 3;

/// Everybody does what there is to do; those of workloads only if there is news of them.
pub(crate) fn react(stage: &mut Stage, is_news: bool) {
    for name in stage.agents.keys().cloned().collect::<Vec<_>>() {
        agent(stage, &name);
    }
    if !is_news {
        return;
    }
    kubelets(stage);
    for batch in stage.list("/apis/batch/v1/jobs") {
        batch_job(stage, &batch);
    }
    collect_garbage(stage);
}

fn agent(stage: &mut Stage, name: &str) {
    let Some(mut agent) = stage.agents.get(name).cloned() else { return };
    if agent.says == Says::Nothing {
        return;
    }
    if agent.renewed_ms.is_none_or(|renewed| stage.now_ms - renewed >= RENEW_MS) {
        agent.renewed_ms = Some(stage.now_ms);
        stage.agents.insert(name.to_owned(), agent.clone());
        renew(stage, agent.plural, name);
    }
    let Some(offer) = stage.get(agent.plural, name) else { return };
    for (uid, entry) in offer["status"]["claims"].as_object().into_iter().flatten() {
        let path = format!("/status/claims/{uid}");
        let patch = match (entry["vote"].as_str(), entry["activity"].as_str()) {
            (Some("Pending"), _) if entry["askWhen"] == "Now" => vote(&agent, &path, uid),
            (_, Some("Idle")) if entry["committed"] == true && entry["release"] != true => json!([
                {"op": "test", "path": format!("{path}/committed"), "value": true},
                {"op": "add", "path": format!("{path}/activity"), "value": "Active"}]),
            (_, Some("Active")) if entry["release"] == true && agent.says != Says::YesForEver => json!([
                {"op": "test", "path": format!("{path}/activity"), "value": "Active"},
                {"op": "replace", "path": format!("{path}/activity"), "value": "Ended"}]),
            _ => continue,
        };
        let _ = stage.ask(&Method::PATCH, &format!("{}/status", at(agent.plural, name)), &patch);
        if agent.says == Says::YesAndDies {
            stage.agents.insert(name.to_owned(), Agent { says: Says::Nothing, ..agent });
            return;
        }
    }
}

fn vote(agent: &Agent, path: &str, uid: &str) -> Value {
    let says = if agent.says == Says::No { "Rejected" } else { "Accepted" };
    let mut patch = vec![
        json!({"op": "test", "path": format!("{path}/vote"), "value": "Pending"}),
        json!({"op": "add", "path": format!("{path}/ballot"), "value": format!("ballot-{}", uid.get(..8).unwrap())}),
        json!({"op": "replace", "path": format!("{path}/vote"), "value": says}),
    ];
    if agent.says == Says::No {
        patch.push(json!({"op": "add", "path": format!("{path}/retry"), "value": "Retry"}));
    }
    Value::Array(patch)
}

/// Renews the Lease of the agent of this offer.
pub(crate) fn renew(stage: &mut Stage, plural: &str, name: &str) {
    let lease = format!("gangmatch-{}-{name}", plural.trim_end_matches('s'));
    let all = format!("/apis/coordination.k8s.io/v1/namespaces/{HERE}/leases");
    let spec = json!({"holderIdentity": name, "leaseTransitions": stage.now_ms});
    let patched = stage.ask(&Method::PATCH, &format!("{all}/{lease}"), &json!({"spec": spec}));
    if patched.code == 404 {
        let object =
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": lease}, "spec": spec});
        stage.post(&all, &object);
    }
}

/// What the batch Job controller does, and a kubelet.
fn batch_job(stage: &mut Stage, batch: &Value) {
    let name = batch["metadata"]["name"].as_str().unwrap().to_owned();
    let conditions = batch["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let holds = |type_: &str| conditions.iter().any(|one| one["type"] == type_ && one["status"] == "True");
    if holds("Complete") || holds("Failed") {
        return;
    }
    let pods = format!("/api/v1/namespaces/{HERE}/pods");
    let pod = stage
        .list(&pods)
        .into_iter()
        .find(|pod| pod["metadata"]["ownerReferences"][0]["uid"] == batch["metadata"]["uid"]);
    let seconds = stage.now_ms / 1000;
    let status = match (batch["spec"]["suspend"] == true, pod) {
        (false, Some(pod)) if !pod["metadata"]["deletionTimestamp"].is_null() => return,
        (true, Some(pod)) if pod["metadata"]["deletionTimestamp"].is_null() => {
            let _ = stage.ask(&Method::DELETE, &format!("{pods}/{name}-pod"), &Value::Null);
            return;
        }
        (true, _) if holds("Suspended") => return,
        (true, _) => {
            json!({"active": 0, "ready": 0, "startTime": null, "conditions": [condition("Suspended", "True")]})
        }
        (false, None) => {
            let labels = &batch["spec"]["template"]["metadata"]["labels"];
            let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": batch["metadata"]["uid"],
                "controller": true});
            let is_held = stage.silent_kubelets || stage.pods_end_seconds > 0;
            let finalizers: &[&str] = if is_held { &["play.dev/kubelet"] } else { &[] };
            let spec = &batch["spec"]["template"]["spec"];
            let spec = spec
                .get("terminationGracePeriodSeconds")
                .map(|own| json!({"terminationGracePeriodSeconds": own, "nodeName": "node"}));
            let metadata = json!({"name": format!("{name}-pod"), "labels": labels, "ownerReferences": [owner],
                "finalizers": finalizers, "annotations": {"begun": seconds.to_string()}});
            let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
            if let Some(spec) = spec {
                pod["spec"] = spec;
            }
            let _ = stage.ask(&Method::POST, &pods, &pod);
            json!({"active": 1, "ready": 1, "startTime": "2026-11-21T14:00:00Z", "conditions": []})
        }
        (false, Some(pod)) => {
            let begun: i64 = pod["metadata"]["annotations"]["begun"].as_str().unwrap().parse().unwrap();
            if !stage.work_ends || seconds - begun < WORK_SECONDS {
                return;
            }
            let over = json!({"status": {"phase": "Succeeded"}});
            let _ = stage.ask(&Method::PATCH, &format!("{pods}/{name}-pod/status"), &over);
            json!({"active": 0, "ready": 0, "succeeded": 1, "conditions": [condition("Complete", "True")]})
        }
    };
    let path = format!("/apis/batch/v1/namespaces/{HERE}/jobs/{name}/status");
    let _ = stage.ask(&Method::PATCH, &path, &json!({"status": status}));
}

/// Lets pods end that were deleted long enough ago.
fn kubelets(stage: &mut Stage) {
    if stage.silent_kubelets || stage.pods_end_seconds == 0 {
        return;
    }
    let pods = format!("/api/v1/namespaces/{HERE}/pods");
    let by = beginning() + SignedDuration::from_millis(stage.now_ms - 1000 * stage.pods_end_seconds);
    let is_due = |pod: &Value| {
        pod["metadata"]["deletionTimestamp"].as_str().is_some_and(|deleted| deleted.parse::<Timestamp>().unwrap() <= by)
    };
    for pod in stage.list(&pods).into_iter().filter(is_due) {
        let path = format!("{pods}/{}", pod["metadata"]["name"].as_str().unwrap());
        let _ = stage.ask(&Method::PATCH, &path, &json!({"metadata": {"finalizers": null}}));
    }
}

fn condition(type_: &str, status: &str) -> Value {
    json!({"type": type_, "status": status, "lastTransitionTime": "2026-11-21T14:00:00Z"})
}

/// What has an owner goes when that has gone.
fn collect_garbage(stage: &mut Stage) {
    let batches = format!("/apis/batch/v1/namespaces/{HERE}/jobs");
    let pods = format!("/api/v1/namespaces/{HERE}/pods");
    let of = |stage: &Stage, path: &str| -> Vec<(String, Value)> {
        stage.list(path).into_iter().map(|object| (path.to_owned(), object)).collect()
    };
    let mut all = of(stage, &at("jobs", ""));
    all.extend([at("matches", ""), batches, pods].iter().flat_map(|path| of(stage, path)));
    let uids: Vec<Value> = all.iter().map(|(_, object)| object["metadata"]["uid"].clone()).collect();
    for (path, object) in &all {
        let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        if !owners.is_empty() && !owners.iter().any(|owner| uids.contains(&owner["uid"])) {
            let uid = json!({"preconditions": {"uid": object["metadata"]["uid"]}});
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
            let _ = stage.server.answer(&call(&Method::DELETE, &path, &uid));
        }
    }
}

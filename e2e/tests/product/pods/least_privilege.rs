//! Turns the audit log of a control plane on which everything was done into two findings: the controller was never refused, and it has
//! used every right that the chart gives it.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::Value;
use testbed::until;

use super::{held, nodes, work};
use crate::accounts;
use crate::stage::{Stage, job, license, machine, text};

const CONTROLLER: &str = "system:serviceaccount:gangmatch-system:gangmatch";
/// Rights that the policies ask for, of requests that need them besides others. No request is made with them alone.
const ASKED_FOR: [(&str, &str); 10] = [
    ("update", "gangmatch.dev/jobs/claims"),
    ("update", "gangmatch.dev/machines/claims"),
    ("update", "gangmatch.dev/licenses/claims"),
    ("update", "gangmatch.dev/matches/claims"),
    ("update", "gangmatch.dev/machineclasses/claims"),
    ("update", "gangmatch.dev/accounts/claims"),
    ("update", "gangmatch.dev/poolpolicies/claims"),
    ("impersonate", "gangmatch.dev/machines/owner"),
    ("impersonate", "gangmatch.dev/jobs/owner"),
    ("advertise", "/nodes"),
];

/// Rights that are used only after a conflict, a lost answer or a late watch, which cannot be brought about here; the tests with faults
/// on the way to an API server do it; or against who resumes a JobSet again and again (`attack_workloads`).
const AFTER_TROUBLE: [(&str, &str); 4] = [
    ("get", "gangmatch.dev/jobs"),
    ("get", "gangmatch.dev/licenses"),
    ("patch", "batch/jobs/status"),
    ("delete", "jobset.x-k8s.io/jobsets"),
];

/// A verb, and a resource as `GROUP/RESOURCE` or `GROUP/RESOURCE/SUBRESOURCE`.
type Right = (String, String);

/// The rights in the chart's roles for the controller.
fn granted(stage: &Stage) -> BTreeSet<Right> {
    let read = |arguments: &[&str]| -> Value {
        let all = [arguments, &["-o", "json"]].concat();
        serde_json::from_str(&stage.cluster.kubectl_text(&all, None).unwrap()).unwrap()
    };
    let roles =
        [read(&["get", "clusterrole", "gangmatch"]), read(&["-n", "gangmatch-system", "get", "role", "gangmatch"])];
    let list = |rule: &Value, name: &str| -> Vec<String> {
        let all = rule.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for rule in roles.iter().flat_map(|role| role.get("rules").and_then(Value::as_array).into_iter().flatten()) {
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                all.extend(list(rule, "verbs").into_iter().map(|verb| (verb, format!("{group}/{resource}"))));
            }
        }
    }
    all
}

/// The rights that the controller has used so far, and its requests that RBAC refused.
fn used(stage: &Stage) -> (BTreeSet<Right>, BTreeSet<Right>) {
    let log = fs::read_to_string(stage.cluster.control_plane().unwrap().audit_log()).unwrap();
    let (mut used, mut refused) = (BTreeSet::new(), BTreeSet::new());
    // the last line may still be incomplete
    for event in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if text(&event, "/user/username") != CONTROLLER {
            continue;
        }
        let [group, resource, subresource] =
            ["apiGroup", "resource", "subresource"].map(|name| text(&event, &format!("/objectRef/{name}")));
        let what = if subresource.is_empty() {
            format!("{group}/{resource}")
        } else {
            format!("{group}/{resource}/{subresource}")
        };
        let right = (text(&event, "/verb"), what);
        match text(&event, "/annotations/authorization.k8s.io~1decision").as_str() {
            "allow" => used.insert(right),
            _ => refused.insert(right),
        };
    }
    (used, refused)
}

fn an_ended_match_beyond_the_history_limit_is_deleted(stage: &'static Stage) {
    let here = stage.namespace("no-history");
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
    here.merge("gmj/j", r#"{"spec": {"matchHistoryLimit": 0, "suspend": true}}"#);
    here.until("no Match to be left", || here.list("gmatch").is_empty().then_some(()));
}

fn a_job_whose_time_to_live_is_over_is_deleted(stage: &'static Stage) {
    let here = stage.namespace("short-lived");
    here.apply(&job("j", "sim"));
    here.merge("gmj/j", r#"{"spec": {"ttlSecondsAfterFinished": 0, "done": true}}"#);
    here.until("no Job to be left", || here.list("gmj").is_empty().then_some(()));
}

#[test]
fn the_controller_is_never_refused_and_uses_every_right_that_the_chart_gives_it() {
    let stage = Stage::with_pods();
    if stage.cluster.control_plane().is_none() {
        eprintln!("SKIPPED: the audit log of this cluster is not ours to read");
        return;
    }
    let granted: BTreeSet<Right> = granted(stage)
        .into_iter()
        .filter(|(verb, what)| {
            let right = (verb.as_str(), what.as_str());
            !ASKED_FOR.contains(&right) && !AFTER_TROUBLE.contains(&right)
        })
        .collect();
    assert!(granted.len() > 30, "{granted:?}");
    // Other tests may have done all this before; if not, they do it now.
    held::a_labelled_pod_is_deleted_when_its_claim_ends_before_it();
    held::a_labelled_job_set_runs_on_the_claimed_nodes_and_kinds_that_come_later_are_found();
    work::a_batch_job_that_is_there_is_suspended_at_the_release_and_started_elsewhere();
    work::a_template_runs_on_the_claimed_node_with_the_gang_in_its_environment_and_its_end_ends_the_claim();
    nodes::nodes_become_machines_by_themselves_and_go_with_their_nodes();
    an_ended_match_beyond_the_history_limit_is_deleted(stage);
    a_job_whose_time_to_live_is_over_is_deleted(stage);
    accounts::a_gang_is_charged(stage);
    // an audit log is written a moment after the answer
    let all_used = || Ok(granted.is_subset(&used(stage).0).then_some(()));
    until("all rights to be used", Duration::from_secs(30), all_used).ok();
    let (used, refused) = used(stage);
    assert_eq!(refused, BTreeSet::new(), "the chart gives too little");
    let unused: BTreeSet<&Right> = granted.difference(&used).collect();
    assert!(unused.is_empty(), "the chart gives what is never used: {unused:?}");
}

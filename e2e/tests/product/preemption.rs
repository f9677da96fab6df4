//! Preemption on a real API server: seats that were lent are taken back, whole gangs end, and what they held goes to the job that it is held for.

use serde_json::{Value, json};
use testbed::control_plane::processes::Signal;
use testbed::product;

use crate::stage::{Namespace, Stage, condition, license, machine, name, text};

/// An object that is not in a namespace.
pub(crate) fn apply(stage: &Stage, kind: &str, name: &str, spec: &Value) {
    let object =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    stage.cluster.kubectl_text(&["apply", "-f", "-"], Some(&object.to_string())).unwrap();
}

pub(crate) fn policy(stage: &Stage, mode: &str, reasons: &Value) {
    apply(
        stage,
        "PoolPolicy",
        "pool",
        &json!({"preemption": {"mode": mode, "reasons": reasons, "minRuntimeSeconds": 10, "evictionsPerHour": 3600}}),
    );
}

/// A job that needs a machine and a seat.
fn job(name: &str) -> String {
    crate::stage::job(name, "sim")
}

/// A full pool: four machines and four seats, all of which the tenant `cfd` holds, though two are guaranteed to `chips`.
fn full(stage: &'static Stage) -> [Namespace; 3] {
    let [pool, chips, cfd] = ["pool", "chips", "cfd"].map(|name| stage.namespace(name));
    stage.cluster.kubectl_text(&["label", "namespace", &pool.name, "gangmatch.dev/offers=cluster"], None).unwrap();
    let quotas = json!([{"counter": "gangs", "min": 2}]);
    apply(stage, "Account", "chips", &json!({"submitter": {"namespace": chips.name}, "quotas": quotas}));
    apply(stage, "Account", "cfd", &json!({"submitter": {"namespace": cfd.name}}));
    let machines: String = (0..4).map(|number| machine(&format!("m{number}"))).collect();
    pool.apply(&[machines, license("l", "sim", 4, 1)].concat());
    let open = r#"{"spec": {"allowedNamespaces": {"from": "All"}}}"#;
    (0..4).for_each(|number| pool.merge(&format!("gmm/m{number}"), open));
    pool.merge("gml/l", open);
    cfd.apply(&(0..6).map(|number| job(&format!("j{number}"))).collect::<String>());
    cfd.until("the pool to be full", || (claimed(&cfd).len() == 4).then_some(()));
    [pool, chips, cfd]
}

/// The jobs of a tenant that are claimed.
pub(crate) fn claimed(here: &Namespace) -> Vec<String> {
    here.with_reason("gmj", "Claimed", "Committed")
}

fn nominated(here: &Namespace, job: &str) -> bool {
    here.get(&format!("gmj/{job}")).pointer("/status/nomination").is_some()
}

fn preempted(here: &Namespace) -> Vec<Value> {
    let all = here.list("gmj").into_iter();
    all.filter(|job| job.pointer("/status/preemptions").and_then(Value::as_i64).unwrap_or(0) > 0).collect()
}

/// How often gangs of a tenant were preempted.
fn preemptions(here: &Namespace) -> i64 {
    let times = |job: &Value| job.pointer("/status/preemptions").and_then(Value::as_i64).unwrap_or(0);
    here.list("gmj").iter().map(times).sum()
}

#[test]
fn what_is_guaranteed_is_taken_back_and_goes_to_nobody_else() {
    let stage = Stage::own();
    policy(stage, "DryRun", &json!(["Reclaim"]));
    let [pool, chips, cfd] = full(stage);
    chips.apply(&job("want"));
    let told = chips.until("the job to be told what would be done", || {
        let job = chips.get("gmj/want");
        (text(&job, "/status/unmatched/preemption/mode") == "Reclaim").then_some(job)
    });
    assert_eq!(condition(&told, "Matched").1, "WaitingForCapacity");
    assert!(text(&told, "/status/why").ends_with("; preemption by reclaim would stop 1 gang for it"), "{told}");
    let events = chips.until("an Event", || {
        let events = chips.kubectl(&["get", "events", "-o", "json"], None);
        events.contains("WouldPreempt").then_some(events)
    });
    assert!(!events.contains("Nominated") && !nominated(&chips, "want") && claimed(&cfd).len() == 4, "a dry run");

    policy(stage, "On", &json!(["Reclaim"]));
    chips.wait("gmj/want", "Claimed");
    let out = cfd.until("one gang to be out", || Some(preempted(&cfd)).filter(|all| all.len() == 1)).remove(0);
    let message = cfd.shows(&format!("gmj/{}", name(&out)), "Preempted", "PreemptedByReclaim");
    assert_eq!(message, "by reclaim: another account takes back what is guaranteed to it");
    assert_eq!(condition(&out, "Claimed").1, "Preempted");
    assert!(!out.to_string().contains("chips"), "a tenant learns nothing of the other one: {out}");
    let released = cfd.list("gmatch").into_iter().find(|found| text(found, "/status/reason") == "Preempted").unwrap();
    assert_eq!(text(&released, "/status/decision"), "Released");
    assert_eq!((claimed(&chips).len(), claimed(&cfd).len(), pool.entries("gml/l")), (1, 3, 4));
    assert!(!nominated(&chips, "want"), "the claim has taken it out");

    // Two are guaranteed, the third is not.
    chips.apply(&[job("second"), job("third")].concat());
    chips.wait("gmj/second", "Claimed");
    let third = chips.until("the third to be told why not", || {
        let job = chips.get("gmj/third");
        (text(&job, "/status/unmatched/preemption/refused") == "NotEnoughVictims").then_some(job)
    });
    assert!(third.pointer("/status/nomination").is_none());
    assert_eq!((claimed(&chips).len(), claimed(&cfd).len(), preempted(&cfd).len()), (2, 2, 2));

    // Who was preempted is claimed again when there is room.
    chips.merge("gmj/want", r#"{"spec": {"done": true}}"#);
    chips.delete("gmj/third");
    cfd.until("another gang", || (claimed(&cfd).len() == 3).then_some(()));
}

/// True of every status of a Match that is not released.
pub(crate) const NOT_RELEASED: &str = "object.?status.decision.orValue('') != 'Released'";

/// Forbids a write, so that the controller stands before it.
pub(crate) fn forbid(stage: &Stage, resources: &[&str], expression: &str) {
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "stand-still"}, "spec": {"failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{"apiGroups": ["gangmatch.dev"], "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"], "resources": resources}]},
        "validations": [{"expression": expression, "message": "stand still"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "stand-still"}, "spec": {"policyName": "stand-still", "validationActions": ["Deny"]}});
    for object in [policy, binding] {
        stage.cluster.kubectl_text(&["apply", "-f", "-"], Some(&object.to_string())).unwrap();
    }
}

pub(crate) fn permit(stage: &Stage) {
    for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
        stage.cluster.kubectl_text(&["delete", kind, "stand-still"], None).unwrap();
    }
}

#[test]
fn a_controller_that_is_killed_after_any_write_is_followed_by_one_that_goes_on() {
    let stage = Stage::own();
    policy(stage, "On", &json!(["Reclaim"]));
    let [pool, chips, cfd] = full(stage);
    stage.controller.end(Signal::Terminate).unwrap();
    let kubeconfig = product::controller_kubeconfig(stage.cluster).unwrap();
    let start = || product::start_controller(stage.cluster, &kubeconfig, &[]).unwrap();
    // Every write of the controller that could come next is refused: what it has come to is what the write before has left.
    let freed = "size(object.?status.claims.orValue({})) >= size(oldObject.?status.claims.orValue({}))";
    let claim = "object.spec.members[0].name == ''";
    let stands: [(&str, &[&str], &str); 3] = [
        ("N1", &["matches/status"], NOT_RELEASED),
        ("N2", &["licenses/status", "machines/status"], freed),
        ("N3", &["matches"], claim),
    ];
    for (round, (write, resources, expression)) in stands.into_iter().enumerate() {
        let want = format!("want{round}");
        let before = preemptions(&cfd);
        forbid(stage, resources, expression);
        let controller = start();
        chips.apply(&job(&want));
        chips.until("the nomination", || nominated(&chips, &want).then_some(()));
        let is_out = |found: &Value| text(found, "/status/reason") == "Preempted";
        match write {
            "N2" => {
                cfd.until("the release", || cfd.list("gmatch").iter().any(is_out).then_some(()));
            }
            "N3" => {
                cfd.until("the seats", || (preemptions(&cfd) > before).then_some(()));
                assert!(claimed(&cfd).len() == 3 && pool.entries("gml/l") == 3, "nobody else has what is held");
            }
            _ => assert_eq!(claimed(&cfd).len(), 4, "nothing is released before the nomination is stored"),
        }
        controller.end(Signal::Kill).unwrap();
        permit(stage);
        let next = start();
        chips.wait(&format!("gmj/{want}"), "Claimed");
        assert!(!nominated(&chips, &want), "N4: the claim has taken it out");
        assert_eq!((claimed(&chips).len(), claimed(&cfd).len(), pool.entries("gml/l")), (1, 3, 4), "{write}");
        // And back: the other tenant has its seats again.
        chips.merge(&format!("gmj/{want}"), r#"{"spec": {"done": true}}"#);
        cfd.until("the pool to be full again", || (claimed(&cfd).len() == 4).then_some(()));
        next.end(Signal::Kill).unwrap();
    }

    // N5: what is held for a job that does not wait any more is free again.
    forbid(stage, &["matches/status"], NOT_RELEASED);
    let controller = start();
    chips.apply(&job("gone"));
    chips.until("the nomination", || nominated(&chips, "gone").then_some(()));
    controller.end(Signal::Kill).unwrap();
    chips.merge("gmj/gone", r#"{"spec": {"suspend": true}}"#);
    permit(stage);
    let last = start();
    chips.until("the nomination to end", || (!nominated(&chips, "gone")).then_some(()));
    assert_eq!(claimed(&cfd).len(), 4, "nobody is released for it");
    last.end(Signal::Terminate).unwrap();
}

//! Each reason for which a gang is preempted, and what the job is told that it makes room for.

use serde_json::{Value, json};

use crate::preemption::{NOT_RELEASED, forbid, permit, policy};
use crate::stage::Stage;

fn object(kind: &str, name: &str, spec: &Value) -> String {
    let object =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    format!("{object}\n---\n")
}

/// A machine for the jobs of its group, open to all namespaces.
fn machine(group: &str, rank: &str) -> String {
    let spec = json!({"attributes": {"Group": group}, "constraint": "other.Type == \"Job\"", "rank": rank,
        "allowedNamespaces": {"from": "All"}});
    object("Machine", group, &spec)
}

/// A job that needs the machine of a group.
fn job(name: &str, group: &str, more: &Value) -> String {
    let mut spec = json!({"constraint": format!("other.Type == \"Machine\" && other.Group == \"{group}\"")});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object("Job", name, &spec)
}

#[test]
fn reasons_to_preempt() {
    let stage = Stage::own();
    policy(stage, "On", &json!(["Rank", "Share", "Priority"]));
    let [pool, chips, cfd] = ["pool", "chips", "cfd"].map(|name| stage.namespace(name));
    stage.cluster.kubectl_text(&["label", "namespace", &pool.name, "gangmatch.dev/offers=cluster"], None).unwrap();
    pool.apply(&[machine("ranking", "other.Important"), machine("plain", "0"), machine("lent", "0")].concat());
    let important = |number: u32| json!({"attributes": {"Important": number}});
    chips.apply(
        &[
            job("unimportant", "ranking", &important(1)),
            job("low", "plain", &json!({})),
            job("borrowing", "lent", &json!({})),
        ]
        .concat(),
    );
    for one in ["unimportant", "low", "borrowing"] {
        chips.shows(&format!("gmj/{one}"), "Claimed", "Committed");
    }
    // They may be preempted after ten seconds. Till then, this has taken effect: a nomination stands, and no gang ends for it.
    forbid(stage, &["matches/status"], NOT_RELEASED);
    chips.apply(&[job("important", "ranking", &important(9)), job("high", "plain", &json!({"priority": 10}))].concat());
    cfd.apply(&job("entitled", "lent", &json!({})));
    chips.shows("gmj/high", "Matched", "WaitingForPreempted");
    permit(stage);
    let cases = [
        ("unimportant", "PreemptedByRank", &chips, "important"),
        ("low", "PreemptedByPriority", &chips, "high"),
        ("borrowing", "PreemptedByShare", &cfd, "entitled"),
    ];
    for (victim, reason, here, other) in cases {
        chips.shows(&format!("gmj/{victim}"), "Preempted", reason);
        chips.shows(&format!("gmj/{victim}"), "Claimed", "Preempted");
        here.shows(&format!("gmj/{other}"), "Claimed", "Committed");
    }
    for (victim, _, here, other) in cases {
        here.merge(&format!("gmj/{other}"), r#"{"spec": {"done": true}}"#);
        chips.shows(&format!("gmj/{victim}"), "Preempted", "ClaimedAgain");
    }
}

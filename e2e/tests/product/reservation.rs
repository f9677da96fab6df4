//! Reservation on a real API server: a gang of half the pool waits under a stream of small jobs. It is held for the gang whatever becomes free of
//! it, a job that ends in time uses it meanwhile, and then the gang is claimed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::preemption::{apply, claimed};
use crate::stage::{Stage, machine, text};

/// A job that needs so many machines.
fn job(name: &str, machines: usize, more: &Value) -> String {
    let port =
        |number: usize| json!({"label": format!("m{number}"), "constraint": format!("m{number}.Type == \"Machine\"")});
    let mut spec = json!({"ports": (0..machines).map(port).collect::<Vec<_>>(), "reserveTimeoutSeconds": 5});
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
    format!("---\n{job}\n")
}

#[test]
fn half_of_the_pool_is_claimed_under_a_stream_of_small_jobs() {
    let stage = Stage::own();
    apply(stage, "PoolPolicy", "pool", &json!({"reservation": {"afterSeconds": 1800, "forSeconds": 600}}));
    let [pool, chips, cfd] = ["pool", "chips", "cfd"].map(|name| stage.namespace(name));
    stage.cluster.kubectl_text(&["label", "namespace", &pool.name, "gangmatch.dev/offers=cluster"], None).unwrap();
    pool.apply(&(0..4).map(|number| machine(&format!("m{number}"))).collect::<String>());
    let open = r#"{"spec": {"allowedNamespaces": {"from": "All"}}}"#;
    (0..4).for_each(|number| pool.merge(&format!("gmm/m{number}"), open));
    let ends = |seconds: i64| json!({"activeDeadlineSeconds": seconds});
    cfd.apply(
        &[job("soon", 1, &ends(400)), job("later", 1, &ends(500)), job("a", 1, &json!({})), job("b", 1, &json!({}))]
            .concat(),
    );
    cfd.until("the pool to be full", || (claimed(&cfd).len() == 4).then_some(()));
    // Whatever becomes free, one of these would take it.
    cfd.apply(&(0..4).map(|number| job(&format!("next{number}"), 1, &json!({}))).collect::<String>());
    chips.apply(&job("big", 2, &json!({})));
    chips.wait_reason("gmj/big", "Matched", "WaitingForCapacity");
    assert!(chips.get("gmj/big").pointer("/status/nomination").is_none(), "it has not waited for long enough");
    let waited = r#"{"status": {"waitedSeconds": 1800}}"#;
    chips.kubectl(&["patch", "gmj/big", "--subresource=status", "--type=merge", "-p", waited], None);
    let told = chips.shows("gmj/big", "Matched", "WaitingForReserved");
    assert!(told.starts_with("held for it since ") && told.ends_with(": 0 of 2 offers are free"), "{told}");
    let big = chips.get("gmj/big");
    assert_eq!(text(&big, "/status/nomination/kind"), "Reservation");
    let members = |from: &Value, place: &str| -> BTreeSet<String> {
        let all = from.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default();
        all.iter().skip(1).map(|member| text(member, "/name").to_owned()).collect()
    };
    let held = members(&big, "/status/nomination/gang");
    let of = |name: &str| {
        let found = cfd.list("gmatch").into_iter().find(|found| text(found, "/spec/members/0/name") == name).unwrap();
        members(&found, "/spec/members")
    };
    assert_eq!(held, of("soon").union(&of("later")).cloned().collect(), "what is free soonest is held");

    let done = r#"{"spec": {"done": true}}"#;
    cfd.merge("gmj/soon", done);
    cfd.wait("gmj/soon", "Finished");
    cfd.apply(&job("brief", 1, &ends(2)));
    let brief = cfd.until("a job that ends in time to be claimed", || {
        let mut all = cfd.list("gmatch").into_iter();
        all.find(|found| text(found, "/spec/members/0/name") == "brief" && text(found, "/status/decision") != "Pending")
    });
    assert_eq!(brief.pointer("/spec/activeDeadlineSeconds"), Some(&json!(2)), "{brief}");
    assert_eq!(members(&brief, "/spec/members"), of("soon"));
    let told = cfd.until("others to be told", || cfd.with_reason("gmj", "Matched", "HeldForOthers").pop());
    cfd.shows(&format!("gmj/{told}"), "Matched", "HeldForOthers");
    cfd.wait_reason("gmj/brief", "Finished", "ClaimExpired");
    cfd.merge("gmj/later", done);
    chips.wait("gmj/big", "Claimed");
    let all = chips.list("gmatch");
    assert_eq!(members(&all[0], "/spec/members"), held);
    assert!(chips.get("gmj/big").pointer("/status/nomination").is_none(), "the claim has taken it out");
    let next: Vec<String> = claimed(&cfd).into_iter().filter(|name| name.starts_with("next")).collect();
    assert!(next.is_empty(), "what is held for one job was given to another: {next:?}");
    chips.merge("gmj/big", done);
    cfd.until("the others to be claimed", || (claimed(&cfd).len() == 4).then_some(()));
}

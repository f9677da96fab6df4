//! The product on the oldest release of Kubernetes that it supports: the API server's own rules are fewer there, and the chart installs
//! others in their place.
//!
//! The release is built from Go modules, which takes minutes, so these tests run where it is built already (CI's workflow builds it), or
//! with OLDEST_KUBERNETES=1. Elsewhere they say that nothing was tested.
#![cfg(test)]

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use testbed::control_plane::binaries::Binaries;
use testbed::{ControlPlane, Options, Release, product, repository, until};

const LIMIT: Duration = Duration::from_secs(60);

/// The control plane with the chart; none if the release is not there and was not asked for.
fn installed(options: Options) -> Option<ControlPlane> {
    if std::env::var_os("OLDEST_KUBERNETES").is_none() && !Binaries::has_oldest().unwrap() {
        // Not by `eprintln`, which the test harness holds back.
        let what =
            "SKIPPED, NOTHING WAS TESTED: the oldest release of Kubernetes is not built; OLDEST_KUBERNETES=1 builds it";
        writeln!(std::io::stderr(), "{what}").ok();
        return None;
    }
    let plane = ControlPlane::start(&Options { release: Release::Oldest, ..options }).unwrap();
    let version = plane.kubectl_json(&["version"]).unwrap();
    assert_eq!(version["serverVersion"]["minor"], "33", "{version}");
    product::install_chart(&plane, &[]).unwrap();
    Some(plane)
}

fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn job(owner: &str) -> String {
    format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: Job, metadata: {{name: j}}, spec: {{{owner}constraint: other.App == \"a\"}}}}"
    )
}

#[test]
fn a_gang_is_claimed_and_released() {
    let Some(plane) = installed(Options { kwok: true, ..Options::default() }) else { return };
    let rights = product::controller_kubeconfig(&plane).unwrap();
    let _controller = product::start_controller(&plane, &rights, &[]).unwrap();
    product::create_fake_node(&plane, "foo").unwrap();
    let me = plane.kubectl_text(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], None).unwrap();
    let example = repository::root().join("examples/quickstart").display().to_string();
    let client = ["create", "--dry-run=client", "-o", "json", "-f", &example];
    let printed = plane.kubectl_text(&client, None).unwrap();
    let ads = serde_json::Deserializer::from_str(&printed).into_iter::<Value>();
    let mut ads: Vec<Value> = ads.collect::<Result<_, _>>().unwrap();
    assert_eq!(ads.len(), 3, "{printed}");
    // The machine of the example reads `Owner`, which an author has to write here.
    ads.iter_mut().for_each(|ad| ad["spec"]["owner"] = me.clone().into());
    for ad in &ads {
        plane.apply(&ad.to_string()).unwrap();
    }
    plane.apply(&job("")).unwrap();
    plane.kubectl_text(&["wait", "gmj/sim", "--for=condition=Claimed", "--timeout=60s"], None).unwrap();
    let message = until("the job without an owner to be told so", LIMIT, || {
        let found = plane.kubectl_json(&["get", "gmj", "j"])?;
        let conditions = found.pointer("/status/conditions").map(list).unwrap_or_default();
        let accepted = conditions.into_iter().find(|one| one["type"] == "Accepted");
        Ok(accepted.filter(|one| one["reason"] == "AcceptedWithWarnings").map(|one| text(&one, "/message")))
    });
    assert!(message.as_ref().unwrap().contains("spec.owner"), "{message:?}");
    plane.kubectl_text(&["patch", "gmj", "sim", "--type=merge", "-p", r#"{"spec": {"done": true}}"#], None).unwrap();
    plane.kubectl_text(&["wait", "gmj/sim", "--for=condition=Finished", "--timeout=60s"], None).unwrap();
    until("free seats", LIMIT, || {
        let license = plane.kubectl_json(&["get", "gml", "sim-app"])?;
        Ok(license.pointer("/status/claims").is_none_or(|claims| claims == &serde_json::json!({})).then_some(()))
    })
    .unwrap();
}

#[test]
fn an_author_writes_no_owner_but_their_own_name() {
    let Some(plane) = installed(Options::default()) else { return };
    let alice = plane.user("alice", &[]).unwrap();
    let bind = ["create", "rolebinding", "alice", "--clusterrole=edit", "--user=alice"];
    plane.kubectl_text(&bind, None).unwrap();
    let create = |kubeconfig: &Path, manifest: &str| {
        let file = kubeconfig.display().to_string();
        let output = plane
            .kubectl(&["create", "--kubeconfig", &file, "--dry-run=server", "-o", "json", "-f", "-"], Some(manifest))
            .unwrap();
        if output.status.success() {
            Ok(text(&serde_json::from_slice(&output.stdout).unwrap(), "/spec/owner"))
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    };
    // The policies need some seconds until they are in force.
    let refused = until("the policy on owners", LIMIT, || Ok(create(&alice, &job("owner: bob, ")).err())).unwrap();
    assert!(refused.contains("spec.owner must be your user name, or absent"), "{refused}");
    assert_eq!(create(&alice, &job("owner: alice, ")).unwrap(), "alice");
    assert_eq!(create(&alice, &job("")).unwrap(), "");
    let status =
        ["patch", "gmj", "j", "--subresource=status", "--type=merge", "-p", r#"{"status": {"phase": "Claimed"}}"#];
    plane.kubectl_text(&["create", "-f", "-"], Some(&job(""))).unwrap();
    let file = alice.display().to_string();
    let output = plane.kubectl(&[&status[..], &["--kubeconfig", &file]].concat(), None).unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("forbidden"), "a status is not a user's");
}

//! Turns the plain manifest into checks: it is what the chart renders now, and an API server accepts it.
#![cfg(test)]

use std::process::Command;
use std::time::Duration;

use testbed::{ControlPlane, Options, repository, until};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn the_plain_manifest_is_what_the_chart_renders() {
    let xtask = repository::program("xtask").unwrap();
    let output = Command::new(xtask).args(["manifests", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_plain_manifest_installs_everything_at_once_and_again_without_a_change() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    let folder = repository::root().join("deploy").display().to_string();
    // An object of a kind that the same manifest defines would need a second attempt; there is none.
    plane.kubectl_text(&["apply", "-k", &folder], None).unwrap();
    plane
        .kubectl_text(&["wait", "crd/jobs.gangmatch.dev", "--for=condition=Established", "--timeout=60s"], None)
        .unwrap();
    let machine =
        r#"{"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "m"}, "spec": {}}"#;
    let owner = until("the policy that records owners", LIMIT, || {
        let create = ["create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.owner}"];
        let answer = plane.kubectl(&create, Some(machine))?;
        let owner = String::from_utf8_lossy(&answer.stdout).into_owned();
        Ok((answer.status.success() && !owner.is_empty()).then_some(owner))
    });
    assert_eq!(
        owner.unwrap(),
        plane.kubectl_text(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], None).unwrap()
    );
    let generations = || {
        let each = r#"jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation}{"\n"}{end}"#;
        plane.kubectl_text(&["get", "-k", &folder, "-o", each], None).unwrap()
    };
    let before = generations();
    assert!(before.contains("CustomResourceDefinition jobs.gangmatch.dev 1\n"), "{before}");
    plane.kubectl_text(&["apply", "-k", &folder], None).unwrap();
    assert_eq!(generations(), before);
}

//! Checks the plugin where it reads a cluster. It does so with kubectl, so that the current context and the rights of its user apply.
#![cfg(test)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use testbed::{ControlPlane, Options, product, repository};

/// `kubectl gangmatch` with this kubeconfig, the way kubectl finds its plugins.
fn gangmatch(plane: &ControlPlane, kubeconfig: &Path, arguments: &[&str]) -> Output {
    let plugin = repository::program("kubectl-gangmatch").unwrap();
    let path = plane.path_with(&[plugin.parent().unwrap()]).unwrap();
    let mut command = Command::new(&plane.tools().kubectl);
    command.arg("gangmatch").args(arguments).env("PATH", path).env("KUBECONFIG", kubeconfig);
    command.current_dir(repository::root()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_summary_of_the_cluster_is_that_of_its_manifests() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let example = repository::root().join("examples/floating").display().to_string();
    plane.kubectl_text(&["apply", "-f", &example], None).unwrap();
    let me = plane.kubectl_text(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], None).unwrap();
    let summary = |arguments: &[&str]| -> Value {
        let output = gangmatch(&plane, plane.kubeconfig(), &[&["summary", "-o", "json"], arguments].concat());
        assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let of_cluster = summary(&[]);
    assert_eq!(of_cluster, summary(&["-f", "examples/floating", "--as", &me]));
    assert_eq!(of_cluster["classes"]["license"]["free"]["seats"]["sum"], 1, "{of_cluster}");

    let user_without_roles = plane.user("carol", &[]).unwrap();
    let output = gangmatch(&plane, &user_without_roles, &["summary"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("cannot list resource \"machines\""), "{}", said(&output));
}

//! Turns the rules of the kinds into a verdict: the black-box cases, run against a real API server with the chart on it.
#![cfg(test)]

use std::process::Command;

use testbed::{ControlPlane, Options, product, repository};

/// The cases and their runner stand beside the checkout, where there are any.
#[test]
fn the_kinds_keep_the_rules_of_the_api_cases() {
    let folder = repository::root().join("../shared/conformance/api");
    if !folder.join("api_cases.py").exists() {
        eprintln!("SKIPPED: no API cases at {}", folder.display());
        return;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no python3 to run the API cases with");
        return;
    }
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let output = Command::new("python3")
        .arg(folder.join("api_cases.py"))
        .arg("--kubeconfig")
        .arg(plane.kubeconfig())
        .args(["--require-stamping", "--failures", "20"])
        .arg(folder.join("visible-renamed.jsonl"))
        // the runner reads the kubeconfig with kubectl
        .env("PATH", plane.path_with(&[]).unwrap())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let last = printed.lines().last().unwrap_or_default();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(last.ends_with(" 0 failed") && !last.starts_with("0 passed"), "{last}");
    println!("API cases: {last}");
}

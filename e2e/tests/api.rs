//! Turns the rules of the kinds into a verdict: the black-box cases, run against a real API server with the chart on it.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::control_plane::binaries::Binaries;
use testbed::{ControlPlane, Options, Release, product, repository};

/// Where the cases and their runner are, if there are any.
fn cases() -> Option<PathBuf> {
    let folder = repository::root().join("../shared/conformance/api");
    if !folder.join("api_cases.py").exists() {
        eprintln!("SKIPPED: no API cases at {}", folder.display());
        return None;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: no python3 to run the API cases with");
        return None;
    }
    Some(folder)
}

/// Cases that state a former limit: a gang had at most 16 members, with ids from 0 to 15. Counted ports bind up to 63 offers, so that a Match has
/// up to 64 members, and what these cases want refused is what a gang of 17 members is. That 65 members are refused is tested in
/// `e2e/tests/product/sets.rs`.
const OUTDATED: [&str; 2] = ["match-seventeen", "match-id-16"];

/// Runs all cases that are meant for such an API server; answers the runner's last line.
fn run(folder: &Path, plane: &ControlPlane, flags: &[&str]) -> String {
    let all = std::fs::read_to_string(folder.join("visible-renamed.jsonl")).unwrap();
    let is_outdated = |line: &&str| OUTDATED.iter().any(|name| line.starts_with(&format!("{{\"id\":\"{name}\"")));
    let kept: Vec<&str> = all.lines().filter(|line| !is_outdated(line)).collect();
    let cases = plane.kubeconfig().with_file_name("api-cases.jsonl");
    std::fs::write(&cases, kept.join("\n")).unwrap();
    let output = Command::new("python3")
        .arg(folder.join("api_cases.py"))
        .arg("--kubeconfig")
        .arg(plane.kubeconfig())
        .args(["--failures", "20"])
        .args(flags)
        .arg(&cases)
        // the runner reads the kubeconfig with kubectl
        .env("PATH", plane.path_with(&[]).unwrap())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let last = printed.lines().last().unwrap_or_default();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(last.ends_with(" 0 failed") && !last.starts_with("0 passed"), "{last}");
    println!("API cases: {last}");
    printed.into_owned()
}

#[test]
fn the_kinds_keep_the_rules_of_the_api_cases() {
    let Some(folder) = cases() else { return };
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    run(&folder, &plane, &["--require-stamping"]);
}

#[test]
fn the_kinds_keep_the_rules_on_the_oldest_release_where_it_is_built() {
    let Some(folder) = cases() else { return };
    if !Binaries::has_oldest().unwrap() {
        eprintln!("SKIPPED: the oldest release of Kubernetes is not built");
        return;
    }
    let plane = ControlPlane::start(&Options { release: Release::Oldest, ..Options::default() }).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let printed = run(&folder, &plane, &[]);
    assert!(printed.contains("owner not stamped"), "{printed}");
}

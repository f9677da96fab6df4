//! Turns each switch of the chart into a check: what it changes in what Helm renders, and that an API server accepts that.
//!
//! A case is a file `cases/NAME.yaml` with values; `cases/NAME.txt` has the lines that they add and take away, document by
//! document. `UPDATE_CHART_CASES=1 cargo test --test chart` writes the second from the first.
#![cfg(test)]

mod rendered;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use testbed::{ControlPlane, Options, repository};

use crate::rendered::{changes, helm, rendered, yaml};

struct Case {
    name: String,
    values: PathBuf,
}

fn cases() -> Vec<Case> {
    let folder = repository::root().join("e2e/tests/chart/cases");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_values = files.filter(|path| path.extension().is_some_and(|found| found == "yaml"));
    let case = |values: PathBuf| Case { name: values.file_stem().unwrap().to_string_lossy().into_owned(), values };
    let mut cases: Vec<Case> = of_values.map(case).collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(cases.len() > 15, "only {} cases", cases.len());
    cases
}

fn with_values(case: &Case) -> String {
    rendered(&["--values", &case.values.display().to_string()]).unwrap_or_else(|why| panic!("{}: {why}", case.name))
}

#[test]
fn each_switch_changes_what_is_written_beside_it() {
    let plain = rendered(&[]).unwrap();
    let mut wrong = Vec::new();
    for case in cases() {
        let now = changes(&plain, &with_values(&case));
        assert!(!now.is_empty(), "{} changes nothing", case.name);
        let file = case.values.with_extension("txt");
        if std::env::var_os("UPDATE_CHART_CASES").is_some() {
            std::fs::write(&file, &now).unwrap();
        }
        if std::fs::read_to_string(&file).unwrap_or_default() != now {
            wrong.push(format!("{}:\n{now}", case.name));
        }
    }
    assert!(wrong.is_empty(), "not what the files say; UPDATE_CHART_CASES=1 writes them:\n{}", wrong.join("\n"));
}

/// The paths of all values that are no maps, `a.b.c`; an empty map is a value.
fn leaves(values: &Value, path: &str, found: &mut BTreeSet<String>) {
    match values.as_object() {
        Some(map) if !map.is_empty() => {
            for (name, value) in map {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(value, &path, found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn every_value_has_a_case() {
    let read = |file: &PathBuf| -> Value { rendered::yaml(&std::fs::read_to_string(file).unwrap()) };
    let (mut all, mut tried) = (BTreeSet::new(), BTreeSet::new());
    leaves(&read(&repository::root().join("charts/gangmatch/values.yaml")), "", &mut all);
    cases().iter().for_each(|case| leaves(&read(&case.values), "", &mut tried));
    let is_tried = |value: &&String| {
        tried.iter().any(|path| {
            path == *value || path.starts_with(&format!("{value}.")) || value.starts_with(&format!("{path}."))
        })
    };
    let untried: Vec<&String> = all.iter().filter(|value| !is_tried(value)).collect();
    assert!(untried.is_empty(), "no case sets {untried:?}");
}

/// The kinds of Prometheus' operator, which the chart knows and Kubernetes does not.
const MONITORING: &str = include_str!("monitoring.yaml");

#[test]
fn an_api_server_accepts_everything_that_is_rendered() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    plane.kubectl_text(&["apply", "-f", "-"], Some(MONITORING)).unwrap();
    for namespace in ["gangmatch-system", "eda", "cfd"] {
        plane.kubectl_text(&["create", "namespace", namespace], None).unwrap();
    }
    plane.kubectl_text(&["apply", "--server-side", "-f", "-"], Some(&rendered(&[]).unwrap())).unwrap();
    plane.kubectl_text(&["wait", "crd", "--all", "--for=condition=Established", "--timeout=60s"], None).unwrap();
    let dry = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    for case in cases() {
        let answer = plane.kubectl(&dry, Some(&with_values(&case))).unwrap();
        assert!(answer.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&answer.stderr));
    }
}

#[test]
fn values_that_the_schema_does_not_know_are_refused() {
    let objects = r#"extraObjects=[{"kind":"ConfigMap"}]"#;
    for value in [
        "serviceMonitor.enable=true",
        "serviceMonitor.interval=often",
        "image.digest=sha256:1",
        "replica=2",
        "page.on=true",
        "prometheusRule.runbookUrl=",
    ] {
        let message = rendered(&["--set", value]).unwrap_err();
        assert!(message.contains("values don't meet the specifications of the schema"), "{value}: {message}");
    }
    assert!(rendered(&["--set-json", objects]).unwrap_err().contains("apiVersion"));
    let competing = rendered(&["--set", "leaderElection.enabled=false"]).unwrap_err();
    assert!(competing.contains("without leaderElection.enabled there may be one controller only"), "{competing}");
}

#[test]
fn agents_may_share_an_account_and_are_listed_once_each() {
    let agents = |entries: &str| rendered(&["--set-json", &format!("agents=[{entries}]")]);
    let of = |kind: &str| format!(r#"{{"kind":"{kind}","namespace":"2024","name":"1e3","serviceAccount":"7"}}"#);
    let both = agents(&format!("{},{}", of("Machine"), of("License"))).unwrap();
    let accounts: Vec<Value> = both
        .split("\n---\n")
        .map(yaml)
        .filter(|object| object["kind"] == "ServiceAccount" && object["metadata"]["namespace"] == "2024")
        .collect();
    assert_eq!(accounts.len(), 1, "{both}");
    assert_eq!(accounts[0]["metadata"]["name"], "7");
    let twice = agents(&format!("{0},{0}", of("Machine"))).unwrap_err();
    assert!(twice.contains("agents has two entries for Machine 2024/1e3"), "{twice}");
}

#[test]
fn helm_finds_nothing_to_object_to() {
    let chart = repository::root().join("charts/gangmatch").display().to_string();
    let said = helm(&["lint", "--strict", &chart]).unwrap();
    assert!(said.contains("0 chart(s) failed"), "{said}");
}

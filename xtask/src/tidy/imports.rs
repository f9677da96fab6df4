//! Turns what cargo knows of the crates into findings: which of them imports what it must not, or does not use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::Source;

/// Which crates of this repository each crate may import, tests included. No crate imports a program.
const IMPORTS: [(&str, &[&str]); 27] = [
    ("classad", &[]),
    ("chart", &[]),
    ("claiming", &[]),
    ("metrics-table", &[]),
    ("policy", &[]),
    ("sampling", &[]),
    ("summary", &["classad", "sampling"]),
    ("rntree", &["sampling"]),
    ("gridcam", &["sampling"]),
    ("placing", &["sampling"]),
    ("matchmaker", &["classad", "placing", "policy"]),
    ("gangindex", &["classad", "matchmaker", "policy"]),
    ("analysis", &["classad", "gangindex", "matchmaker", "policy"]),
    ("baselines", &["classad", "gangindex", "matchmaker", "policy"]),
    ("crds", &["classad"]),
    ("pool", &["analysis", "classad", "gangindex", "matchmaker", "crds", "policy", "sampling", "summary"]),
    (
        "controller",
        &[
            "apiserver",
            "auditor",
            "classad",
            "claiming",
            "gangindex",
            "matchmaker",
            "crds",
            "metrics-table",
            "policy",
            "pool",
            "sampling",
        ],
    ),
    ("agent", &["classad", "matchmaker", "crds", "pool"]),
    (
        "kubectl-gangmatch",
        &["analysis", "chart", "classad", "gangindex", "gridcam", "matchmaker", "crds", "policy", "pool", "summary"],
    ),
    ("simulator", &["classad", "claiming", "gangindex", "matchmaker", "policy"]),
    ("e2e", &["crds", "sampling", "testbed"]),
    ("testbed", &[]),
    ("apiserver", &["crds", "testbed"]),
    ("auditor", &["crds", "gangindex", "matchmaker", "pool"]),
    ("stress", &["auditor", "crds", "sampling", "testbed"]),
    ("conformance", &["baselines", "classad", "gridcam", "matchmaker", "policy", "rntree", "summary"]),
    ("xtask", &["chart", "crds", "metrics-table", "rntree", "sampling", "testbed"]),
];

/// What stands in for something real, and is for tests only.
const STAND_INS: [&str; 3] = ["apiserver", "baselines", "conformance"];

/// What the pure crates may not reach, however indirectly: runtimes, clients, randomness, logs.
const IMPURE: [&str; 15] = [
    "tokio",
    "async-std",
    "smol",
    "mio",
    "futures",
    "hyper",
    "reqwest",
    "kube",
    "kube-core",
    "kube-client",
    "k8s-openapi",
    "rand",
    "getrandom",
    "chrono",
    "tracing",
];
/// What the crates that know Kubernetes' objects may not reach: they describe them and do not fetch them.
const CLIENTS: [&str; 3] = ["tokio", "hyper", "kube-client"];

/// The crates with such limits.
pub(crate) const LIMITED: [(&str, &[&str]); 16] = [
    ("chart", &IMPURE),
    ("classad", &IMPURE),
    ("claiming", &IMPURE),
    ("metrics-table", &IMPURE),
    ("policy", &IMPURE),
    ("summary", &IMPURE),
    ("sampling", &IMPURE),
    ("gridcam", &IMPURE),
    ("placing", &IMPURE),
    ("rntree", &IMPURE),
    ("matchmaker", &IMPURE),
    ("gangindex", &IMPURE),
    ("analysis", &IMPURE),
    ("crds", &CLIENTS),
    ("pool", &CLIENTS),
    ("auditor", &CLIENTS),
];

/// The names of all packages that end up in a crate, by crate.
pub(crate) type Reached = BTreeMap<String, BTreeSet<String>>;

/// All findings about `cargo metadata --no-deps --format-version 1`, and about what [`LIMITED`] crates reach.
pub(crate) fn findings(metadata: &Value, reached: &Reached) -> Vec<String> {
    let imports = own_imports(metadata);
    let mut findings = Vec::new();
    for (member, used) in &imports {
        let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| name == member) else {
            findings
                .push(format!("crate {member}: the table of imports in xtask/src/tidy/imports.rs does not know it"));
            continue;
        };
        let ours = used.iter().filter(|name| imports.contains_key(*name));
        findings.extend(
            ours.filter(|name| !allowed.contains(&name.as_str()))
                .map(|name| format!("crate {member}: may not import {name}")),
        );
    }
    for (member, allowed) in IMPORTS {
        let Some(used) = imports.get(member) else {
            findings.push(format!("crate {member}: is in the table of imports, and not in the workspace"));
            continue;
        };
        let unused = allowed.iter().filter(|name| !used.contains(**name));
        findings.extend(unused.map(|name| format!("crate {member}: may import {name}, and does not")));
    }
    findings.extend(shipped_stand_ins(metadata));
    for (member, banned) in LIMITED {
        let all = reached.get(member).into_iter().flatten();
        findings.extend(
            all.filter(|name| banned.contains(&name.as_str()))
                .map(|name| format!("crate {member}: may not reach {name}")),
        );
    }
    findings
}

/// Dependencies that no source of their crate names.
pub(crate) fn unnamed(metadata: &Value, root: &Path, sources: &[Source]) -> Vec<String> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let mut findings = Vec::new();
    for package in packages {
        let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
        let folder = Path::new(text("manifest_path")).parent().and_then(|folder| folder.strip_prefix(root).ok());
        let Some(folder) = folder else { continue };
        let own =
            sources.iter().filter(|source| source.path.ends_with(".rs") && Path::new(&source.path).starts_with(folder));
        let is_of_a_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let words: BTreeSet<&str> = own.flat_map(|source| source.text.split(|letter| !is_of_a_word(letter))).collect();
        let dependencies = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        let names: BTreeSet<&str> = dependencies.filter_map(|one| one.get("name")?.as_str()).collect();
        let unnamed = names.into_iter().filter(|name| !words.contains(name.replace('-', "_").as_str()));
        findings.extend(unnamed.map(|name| format!("crate {}: depends on {name}, and does not use it", text("name"))));
    }
    findings
}

/// Crates without a paragraph of their own in this text.
pub(crate) fn undescribed(metadata: &Value, text: &str) -> Vec<String> {
    let is_described = |name: &str| {
        let mut lines = text.lines().skip_while(|line| line.strip_prefix("### ") != Some(name)).skip(1);
        lines.next().is_some_and(|line| !line.trim().is_empty() && !line.starts_with('#'))
    };
    let members = own_imports(metadata).into_keys().filter(|name| !is_described(name));
    members.map(|name| format!("crate {name}: docs/architecture.md has no paragraph about it")).collect()
}

/// Crates that have a stand-in as more than a dependency of its tests.
fn shipped_stand_ins(metadata: &Value) -> Vec<String> {
    let packages = metadata.get("packages").and_then(Value::as_array).into_iter().flatten();
    let mut findings = Vec::new();
    for package in packages {
        let member = package.get("name").and_then(Value::as_str).unwrap_or_default();
        // What is never shipped itself may have one.
        if STAND_INS.contains(&member) {
            continue;
        }
        let dependencies = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
        let for_more = dependencies.filter(|one| one.get("kind").and_then(Value::as_str) != Some("dev"));
        let names = for_more.filter_map(|one| one.get("name").and_then(Value::as_str));
        let shipped = names.filter(|name| STAND_INS.contains(name));
        findings.extend(shipped.map(|name| format!("crate {member}: may import {name} for its tests only")));
    }
    findings
}

/// What each member of the workspace names in its `Cargo.toml`, for whatever purpose. A package `a-tests` is the tests of `a`.
fn own_imports(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in list(metadata, "packages") {
        let Some(own) = name(&package) else { continue };
        let own = own.strip_suffix("-tests").unwrap_or(&own).to_owned();
        let others: Vec<String> = list(&package, "dependencies").iter().filter_map(name).collect();
        let others = others.into_iter().filter(|other| *other != own);
        all.entry(own.clone()).or_default().extend(others);
    }
    all
}

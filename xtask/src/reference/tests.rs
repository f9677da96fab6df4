//! Turns small samples, and the code of this repository, into the pages of the reference.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use testbed::repository;

use super::{api, reasons};

fn read(path: &str) -> String {
    fs::read_to_string(repository::root().join(path)).unwrap()
}

#[test]
fn constants_are_read_with_their_comments_and_groups() {
    let source = "pub mod types {\n    /// No.\n    pub const X: &str = \"X\";\n}\npub mod reasons {\n    // Of one.\n\n    /// First\n    /// line.\n    \
                  pub const A_B: &str = \"AB\";\n    // Of two.\n    /// Two.\n    pub const C: &str = \"C\";\n}\nfn other() {}\n";
    let named = |group: &str, name: &str, about: &str| reasons::Named {
        group: group.to_owned(),
        name: name.to_owned(),
        about: about.to_owned(),
    };
    let expected = [named("Of one", "AB", "First line."), named("Of two", "C", "Two.")];
    assert_eq!(reasons::constants(source, "reasons").unwrap(), expected);
    let error = reasons::constants(&source.replace("    /// Two.\n", ""), "reasons").unwrap_err().to_string();
    assert!(error.contains("`C` has no comment"), "{error}");
    assert!(reasons::constants(source, "colours").is_err());
}

#[test]
fn every_field_of_every_kind_is_on_the_page() {
    let definitions: Vec<Value> = crds::definitions().iter().map(|definition| json!(definition)).collect();
    let page = api::page(&definitions).unwrap();
    for field in [
        "| `spec.ports[].constraint` |",
        "| `spec.workload.startTimeoutSeconds` | integer | `300` |",
        "| `status.claims.<key>.vote` |",
        "| `spec.stopPolicy` | `None`, `Hold`, `HoldAndDrain` | `\"None\"` |",
        "## MachineClass",
    ] {
        assert!(page.contains(field), "{field} is not on the page");
    }
    let fields = json!(definitions).to_string().matches("\"description\"").count();
    assert!(page.lines().filter(|line| line.starts_with("| `")).count() * 3 > fields, "{fields} descriptions");
}

/// The headings of the third level that are one word of code.
fn entries(page: &str) -> BTreeSet<&str> {
    page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect()
}

#[test]
fn every_reason_has_its_entry_in_troubleshooting_and_every_entry_is_a_reason() {
    let page = read("docs/troubleshooting.md");
    let reasons = reasons::constants(&read(reasons::SOURCE), "reasons").unwrap();
    let reasons: BTreeSet<&str> = reasons.iter().map(|reason| reason.name.as_str()).collect();
    assert!(reasons.len() > 50, "only {} reasons", reasons.len());
    assert_eq!(entries(&page), reasons);
}

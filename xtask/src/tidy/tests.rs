//! Turns small bad samples into the findings they deserve, and this repository into none.

use serde_json::{Value, json};

use super::imports::Reached;
use super::{Source, findings, imports, links, sources};

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

fn about_file(path: &str, text: &str) -> Vec<String> {
    sources::findings(&source(path, text))
}

#[test]
fn this_repository_is_tidy() {
    let found = findings(&testbed::repository::root()).unwrap();
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_crate_imports_only_what_the_table_allows() {
    let package = |name: &str, imports: &[&str]| {
        let imports: Vec<_> = imports.iter().map(|import| json!({"name": import, "kind": "dev"})).collect();
        json!({"name": name, "dependencies": imports})
    };
    let packages =
        [package("classad", &["regex"]), package("claiming", &["classad", "regex"]), package("newcomer", &[])];
    let reached = Reached::from([("classad".to_owned(), ["regex", "tokio"].map(String::from).into())]);
    let found = imports::findings(&json!({"packages": packages}), &reached);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "crate claiming: may not import classad");
    assert!(found[1].starts_with("crate newcomer: the table of imports"));
    assert_eq!(found[2], "crate classad: may not reach tokio");
}

#[test]
fn what_stands_in_for_something_real_is_for_tests_only() {
    let controller = |kind: Value| json!({"name": "controller", "dependencies": [{"name": "apiserver", "kind": kind}]});
    let found = |kind: Value| imports::findings(&json!({"packages": [controller(kind)]}), &Reached::new());
    assert!(found(json!("dev")).is_empty());
    assert_eq!(found(Value::Null), ["crate controller: may import apiserver for its tests only"]);
}

#[test]
fn a_file_has_a_first_line_a_size_and_a_name() {
    assert!(about_file("a/src/b.rs", "//! Turns a into b.\n").is_empty());
    assert_eq!(about_file("a/src/b.rs", "use c;\n").len(), 1);
    assert_eq!(about_file("a/src/util.rs", "//! Turns a into b.\n").len(), 1);
    let long = format!("//! Turns a into b.\n{}", "\n".repeat(600));
    assert_eq!(about_file("a/src/b.rs", &long).len(), 1);
    assert!(about_file("a/tests/b.rs", &long).is_empty());
    assert_eq!(about_file("a/src/lib.rs", "//! something\n").len(), 1);
}

#[test]
fn words_are_whole_words() {
    let word = concat!("adv", "ert");
    assert_eq!(about_file("a.md", &format!("An {word}s page.")).len(), 1);
    assert!(about_file("a.md", &format!("An {word}ised page.")).is_empty());
    assert_eq!(about_file("a/tests/b.rs", concat!("//! Turns a into b.\n#[", "ignore]\n")).len(), 1);
}

#[test]
fn a_link_leads_to_a_file() {
    let exists = |path: &str| path == "docs/a.md" || path == "README.md" || path == "docs";
    let found = |text: &str| links::findings(&source("docs/b.md", text), exists).len();
    assert_eq!(found("[a](a.md) [r](../README.md#top) [d](/docs/) [w](https://example.org/x) [h](#here)"), 0);
    assert_eq!(found("[a](c.md) [r](../../README.md)"), 2);
    assert_eq!(found("`[a](c.md)`\n```\n[a](c.md)\n```"), 0);
}

//! Turns small bad samples into the findings they deserve, and this repository into none.

use serde_json::{Value, json};

use super::imports::Reached;
use super::{Source, book, exceptions, findings, imports, links, names, sources, words};

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

fn about_file(path: &str, text: &str) -> Vec<String> {
    sources::findings(&source(path, text))
}

/// What the table says of crates that are not in a sample.
fn is_of_the_table(finding: &str) -> bool {
    finding.ends_with("and not in the workspace") || finding.ends_with("and does not")
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
    let found: Vec<_> = found.into_iter().filter(|finding| !is_of_the_table(finding)).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], "crate claiming: may not import classad");
    assert!(found[1].starts_with("crate newcomer: the table of imports"));
    assert_eq!(found[2], "crate classad: may not reach tokio");
}

#[test]
fn what_stands_in_for_something_real_is_for_tests_only() {
    let controller = |kind: Value| json!({"name": "controller", "dependencies": [{"name": "apiserver", "kind": kind}]});
    let found = |kind: Value| {
        let mut found = imports::findings(&json!({"packages": [controller(kind)]}), &Reached::new());
        found.retain(|finding| !is_of_the_table(finding));
        found
    };
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
fn a_test_runs() {
    assert_eq!(about_file("a/tests/b.rs", concat!("//! Turns a into b.\n#[", "ignore]\n")).len(), 1);
}

#[test]
fn a_link_leads_to_a_file() {
    let exists = |path: &str| path == "docs/a.md" || path == "README.md" || path == "docs";
    let pages = [("README.md", "# Top\n## The `gmj`: why?\n## Top\n"), ("docs/b.md", "```sh\n# code\n```\n# Here\n")];
    let headings = links::headings(&pages.map(|(path, text)| source(path, text)));
    let found = |text: &str| links::findings(&source("docs/b.md", text), exists, &headings).len();
    assert_eq!(found("[a](a.md) [r](../README.md#top) [d](/docs/) [w](https://example.org/x) [h](#here)"), 0);
    assert_eq!(found("[r](../README.md#the-gmj-why) [second](../README.md#top-1)"), 0);
    assert_eq!(found("[a](c.md) [r](../../README.md)"), 2);
    assert_eq!(found("[r](../README.md#why) [h](#there) [code](#code)"), 3);
    assert_eq!(found("`[a](c.md)`\n```\n[a](c.md)\n```"), 0);
}

#[test]
fn the_book_lists_every_page_once() {
    let pages = |summary: &str| {
        let pages = [
            ("docs/SUMMARY.md", summary),
            ("README.md", ""),
            ("docs/a.md", ""),
            ("docs/b/c.md", ""),
            ("crate/README.md", ""),
        ];
        book::findings(&pages.map(|(path, text)| source(path, text)))
    };
    assert_eq!(pages("[r](../README.md)\n- [a](a.md)\n  - [c](b/c.md)\n"), Vec::<String>::new());
    let found = pages("[r](../README.md)\n- [a](a.md)\n- [again](a.md#part)\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("docs/a.md") && found[0].contains("2 times"), "{found:?}");
    assert!(found[1].contains("docs/b/c.md") && found[1].contains("is not listed"), "{found:?}");
}

#[test]
fn an_edge_that_nobody_needs_and_a_crate_that_is_gone_are_findings() {
    let metadata = json!({"packages": [{"name": "crds", "dependencies": []}]});
    let found = imports::findings(&metadata, &Reached::new());
    assert!(found.contains(&"crate crds: may import classad, and does not".to_owned()), "{found:?}");
    assert!(found.contains(&"crate xtask: is in the table of imports, and not in the workspace".to_owned()));
}

#[test]
fn a_dependency_that_no_source_names_is_a_finding() {
    let dependencies = json!([{"name": "serde-json", "kind": null}, {"name": "kube", "kind": "dev"}]);
    let metadata =
        json!({"packages": [{"name": "a", "manifest_path": "/r/x/a/Cargo.toml", "dependencies": dependencies}]});
    let sources =
        [source("x/a/src/b.rs", "use serde_json::Value;\n// kubectl\n"), source("x/ab/src/c.rs", "use kube::Api;\n")];
    let found = imports::unnamed(&metadata, std::path::Path::new("/r"), &sources);
    assert_eq!(found, ["crate a: depends on kube, and does not use it"]);
}

#[test]
fn a_crate_has_a_paragraph() {
    let metadata = json!({"packages": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    let found = imports::undescribed(&metadata, "### a\nWhat it is.\n\n### b\n\n### cc\nWhat it is.\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("crate b:") && found[1].starts_with("crate c:"));
}

#[test]
fn a_type_name_is_defined_once_in_a_crate() {
    let text = "pub struct Seen<T>;\nfn f() {\n    struct Local;\n}\npub(crate) enum Once {}\n";
    let all = ["a/src/b.rs", "a/src/c.rs", "a/src/b/tests.rs", "a/src/bin/d/main.rs", "e/src/b.rs"];
    let twice = names::found(&all.map(|path| source(path, text)));
    let said: Vec<_> =
        twice.iter().map(|(thing, files)| (thing.place.as_str(), thing.what.as_str(), files.len())).collect();
    assert_eq!(said, [("a", "Once", 2), ("a", "Seen", 2)]);
}

#[test]
fn a_type_name_is_defined_once_in_the_crates_that_serve_the_tests() {
    let all = ["testing/a/src/b.rs", "testing/c/src/bin/d/main.rs", "testing/c/tests/e.rs", "f/src/b.rs"];
    let twice = names::found(&all.map(|path| source(path, "pub struct Seen;\n")));
    let said: Vec<_> = twice.iter().map(|(thing, files)| (thing.place.as_str(), files.clone())).collect();
    assert_eq!(said, [("testing", vec![all[0].to_owned(), all[1].to_owned()])]);
}

fn said(text: &str) -> Vec<String> {
    words::found(&source("a.md", text)).into_iter().flat_map(|(thing, lines)| vec![thing.what; lines.len()]).collect()
}

#[test]
fn words_are_found_in_prose_and_in_names() {
    let (word, again) = (concat!("adv", "ert"), concat!("second ", "look"));
    assert_eq!(said(&format!("An {word}s page.")), [word]);
    assert!(said(&format!("An {word}ised page.")).is_empty());
    assert_eq!(said(&format!("{} {}", again.replace(' ', "_"), again.replace(" l", "L"))), [again, again]);
    let noun = concat!("stand", "ing");
    assert_eq!(said(&format!("Its {noun}. A {noun} claim, {noun} still.")), [noun]);
}

#[test]
fn the_list_of_exceptions_can_only_shrink() {
    let found = |text: &str| words::found(&source("a.md", text));
    let word = concat!("adv", "ert");
    let (one, two) = (found(word), found(&format!("{word} {word}")));
    let list = exceptions::written(&one);
    assert!(exceptions::findings(&one, &list).is_empty());
    assert_eq!(exceptions::findings(&two, &list).len(), 1, "one more");
    assert_eq!(exceptions::findings(&found(""), &list).len(), 1, "one less");
    assert_eq!(exceptions::shrunk(&found(""), &list), Ok(String::new()));
    assert!(exceptions::shrunk(&two, &list).is_err());
    let moved = words::found(&source("b.md", word));
    assert_eq!(exceptions::shrunk(&moved, &list), Ok(exceptions::written(&moved)));
}

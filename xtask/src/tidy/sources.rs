//! Turns one source file into findings: its size, its first line, unfinished code.

use super::Source;

/// A file is a few pages; what is longer has two reasons to change. Tests may be longer.
const LINES_MAX: usize = 600;
/// File names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "helpers", "common", "misc", "manager"];
/// Split, so that this file is not its own finding.
const BANNED_CODE: [(&str, &str); 3] = [
    (concat!("#[", "ignore"), "a test runs or does not exist"),
    (concat!("todo", "!("), "unfinished"),
    (concat!("unimplemented", "!("), "unfinished"),
];
/// A folder beside the repository: tests and benchmarks may look whether it is there, the product does not know it.
const OUTSIDE: &str = concat!("../", "shared");

/// All findings about one file.
pub(crate) fn findings(source: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |what: String| findings.push(format!("{}: {what}", source.path));
    if source.path.ends_with(".rs") {
        rust(source, &mut find);
    }
    for (number, line) in source.text.lines().enumerate() {
        for (code, why) in BANNED_CODE {
            if line.contains(code) {
                find(format!("line {}: `{code}`: {why}", number + 1));
            }
        }
        if line.contains(OUTSIDE) && !source.is_test() && !is_benchmark(&source.path) {
            find(format!("line {}: `{OUTSIDE}`: the product does not look outside of its repository", number + 1));
        }
    }
    findings
}

fn rust(source: &Source, find: &mut impl FnMut(String)) {
    let lines = source.text.lines().count();
    if lines > LINES_MAX && !source.is_test() {
        find(format!("{lines} lines; {LINES_MAX} at most"));
    }
    let first = source.text.lines().next().unwrap_or_default();
    if !first.starts_with("//! ") {
        find("does not begin with `//! ` and what it turns into what".to_owned());
    }
    let named = |part: &&str| EMPTY_NAMES.contains(&part.trim_end_matches(".rs"));
    if let Some(name) = source.path.split('/').find(named) {
        find(format!("`{name}` says nothing; name what it knows"));
    }
    if source.path.ends_with("src/lib.rs") || source.path.ends_with("src/main.rs") {
        let doc = source.text.lines().map_while(|line| line.strip_prefix("//! ")).collect::<Vec<_>>().join(" ");
        let begins = doc.chars().next().is_some_and(char::is_uppercase);
        if !begins || !(doc.contains(". ") || doc.contains(": ") || doc.ends_with('.')) {
            find("the crate's doc does not begin with a sentence".to_owned());
        }
    }
}

fn is_benchmark(path: &str) -> bool {
    path.contains("/examples/") || path.starts_with("xtask/src/bench/")
}

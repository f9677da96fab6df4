//! Turns the packages, targets and features of the workspace into those that are compiled twice.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What `cargo tree` is asked to print of each package; [`compiled_twice`] reads it.
pub(crate) const FORMAT: &str = "{p}|{f}";

/// Packages that the programs of the workspace need with other features than its tests do: both are printed by `cargo tree --prefix none`
/// in [`FORMAT`]. Such a package, and all that depend on it, would be compiled once for the programs and once for the tests.
pub(crate) fn compiled_twice(programs: &str, tests: &str) -> Vec<String> {
    let (programs, tests) = (packages(programs), packages(tests));
    let missing = programs.difference(&tests);
    let found = missing.map(|(package, features)| {
        let wanted: Vec<&str> = tests.iter().filter(|(name, _)| name == package).map(|(_, features)| *features).collect();
        format!(
            "{package}: its features are `{features}` in programs and `{}` in tests, so it is compiled twice; name the missing ones in \
             a dependency that is not for development",
            wanted.join("` or `")
        )
    });
    found.collect()
}

/// Test programs that two packages have, in `cargo metadata`: that of a package `a-tests` is found by `a` as well.
pub(crate) fn in_two_packages(metadata: &Value) -> Vec<String> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in list(metadata, "packages") {
        for target in list(&package, "targets") {
            owners.entry(text(&target, "src_path")).or_default().push(text(&package, "name"));
        }
    }
    let shared = owners.into_iter().filter(|(_, packages)| packages.len() > 1);
    let finding = |(path, packages): (String, Vec<String>)| {
        format!("{path}: is compiled and run in {}; write `autotests = false` in one of them", packages.join(" and "))
    };
    shared.map(finding).collect()
}

/// The lines of `cargo tree`: a package, and its features.
fn packages(tree: &str) -> BTreeSet<(&str, &str)> {
    tree.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|')).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compiled_twice, in_two_packages};

    #[test]
    fn a_test_program_of_two_packages_is_found() {
        let package = |name: &str, paths: &[&str]| {
            let targets: Vec<_> = paths.iter().map(|path| json!({"src_path": path})).collect();
            json!({"name": name, "targets": targets})
        };
        let metadata = json!({"packages": [package("a", &["a/src/lib.rs", "a/tests/b.rs"]), package("a-tests", &["a/tests/b.rs"])]});
        let found = in_two_packages(&metadata);
        assert!(
            matches!(found.as_slice(), [one] if one.starts_with("a/tests/b.rs: is compiled and run in a and a-tests")),
            "{found:?}"
        );
    }

    #[test]
    fn a_package_with_other_features_in_tests_is_found_and_one_that_only_tests_need_is_not() {
        let programs = "a v1|x\na v1|x (*)\nb v1|";
        assert_eq!(compiled_twice(programs, "a v1|x\nb v1|\nc v1|y"), Vec::<String>::new());
        let found = compiled_twice(programs, "a v1|x,y\nb v1|");
        assert!(
            matches!(found.as_slice(), [one] if one.starts_with("a v1: its features are `x` in programs and `x,y` in tests")),
            "{found:?}"
        );
    }
}

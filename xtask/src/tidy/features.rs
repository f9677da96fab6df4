//! Turns the packages and features of two builds into those that are compiled twice.

use std::collections::BTreeSet;

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

/// The lines of `cargo tree`: a package, and its features.
fn packages(tree: &str) -> BTreeSet<(&str, &str)> {
    tree.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|')).collect()
}

#[cfg(test)]
mod tests {
    use super::compiled_twice;

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

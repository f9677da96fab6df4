//! Turns what cargo knows of the shipped programs into NOTICE: the crates that they contain, with their licences.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use testbed::repository;

use crate::cargo;

/// Where the text belongs, from the repository's root.
pub(crate) const PATH: &str = "NOTICE";

/// The crates whose programs are shipped.
const SHIPPED: [&str; 3] = ["controller", "agent", "kubectl-gangmatch"];
/// What they are shipped for. All of them are asked for on every machine, so that the text is the same everywhere.
pub(crate) const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

const HEADER: &str = "\
gangmatch
Copyright the gangmatch authors

gangmatch is licensed under the Apache License, Version 2.0; see LICENSE.

The programs gangmatch-controller, gangmatch-agent and kubectl-gangmatch contain the crates below, from crates.io. The last
column is the licence that each crate declares, as an SPDX expression. The texts of these licences are part of every release
(THIRD-PARTY-LICENSES).

The programs also contain the standard library of Rust (MIT OR Apache-2.0). Programs that are linked statically, as those of
the releases are, contain the GNU C Library (LGPL-2.1-or-later), unmodified. To link them with another version of it, build
them from the sources of the release.

This file is written by `cargo xtask generate`; do not edit it.
";

/// One crate of another project in a shipped program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) license: String,
}

/// The text of NOTICE.
///
/// # Errors
/// When cargo fails, or a crate declares no licence.
pub(crate) fn text() -> Result<String> {
    Ok(format!("{HEADER}\n{}", table(&components()?)))
}

/// All crates of other projects that are linked into a shipped program on any target, by name and version. Macros and build
/// scripts run at compile time and are not part of a program.
///
/// # Errors
/// When cargo fails, or a crate declares no licence.
pub(crate) fn components() -> Result<BTreeSet<Component>> {
    let mut all = BTreeSet::new();
    for package in SHIPPED {
        let mut arguments = vec!["tree", "--locked", "--package", package, "--edges", "normal,no-proc-macro"];
        arguments.extend(["--prefix", "none", "--format", "{p}|{l}"]);
        arguments.extend(TARGETS.iter().flat_map(|target| ["--target", *target]));
        let tree = cargo::text(&repository::root(), &arguments)?;
        for line in tree.lines().filter(|line| !line.is_empty()) {
            all.extend(component(line)?);
        }
    }
    Ok(all)
}

/// A line of `cargo tree`: `NAME vVERSION|LICENCE`, with ` (PATH)` after the version of a crate of this repository, which has no
/// row, and ` (*)` at the end of a line that was printed before.
fn component(line: &str) -> Result<Option<Component>> {
    let line = line.strip_suffix(" (*)").unwrap_or(line);
    let (package, license) = line.rsplit_once('|').with_context(|| format!("cargo tree prints `{line}`"))?;
    if package.contains('(') {
        return Ok(None);
    }
    let (name, version) = package.split_once(" v").with_context(|| format!("cargo tree prints `{line}`"))?;
    if license.is_empty() {
        bail!("crate {name} {version} declares no licence: find out its licence, or do without the crate");
    }
    // The slash is how licences were written before SPDX expressions.
    let license = license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ");
    Ok(Some(Component { name: name.to_owned(), version: version.to_owned(), license }))
}

fn table(components: &BTreeSet<Component>) -> String {
    let width = |text: fn(&Component) -> &str| components.iter().map(|one| text(one).len()).max().unwrap_or(0);
    let (names, versions) = (width(|one| &one.name), width(|one| &one.version));
    components
        .iter()
        .map(|Component { name, version, license }| format!("{name:names$}  {version:versions$}  {license}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Component, component, table};

    fn of(name: &str, version: &str, license: &str) -> Component {
        Component { name: name.to_owned(), version: version.to_owned(), license: license.to_owned() }
    }

    #[test]
    fn a_line_is_a_component_and_our_own_crates_are_none() {
        let read = |line: &str| component(line).unwrap();
        assert_eq!(read("axum v0.8.9|MIT"), Some(of("axum", "0.8.9", "MIT")));
        assert_eq!(read("axum v0.8.9|MIT (*)"), Some(of("axum", "0.8.9", "MIT")));
        assert_eq!(read("a v1.0.0|MIT/Apache-2.0"), Some(of("a", "1.0.0", "MIT OR Apache-2.0")));
        assert_eq!(read("a v1.0.0|Apache-2.0 / MIT"), Some(of("a", "1.0.0", "Apache-2.0 OR MIT")));
        assert_eq!(read("classad v0.1.0 (/src/gangmatch/classad)|Apache-2.0"), None);
    }

    #[test]
    fn a_crate_without_a_licence_is_an_error() {
        assert!(component("a v1.0.0|").unwrap_err().to_string().contains("crate a 1.0.0 declares no licence"));
        assert!(component("nothing").is_err());
    }

    #[test]
    fn the_table_is_aligned_and_sorted() {
        let all = BTreeSet::from([of("tower", "0.5.3", "MIT"), of("axum", "10.8.9", "MIT")]);
        assert_eq!(table(&all), "axum   10.8.9  MIT\ntower  0.5.3   MIT\n");
    }
}

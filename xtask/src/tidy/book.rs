//! Turns the table of contents of the book into findings: pages that it does not list, or lists twice.

use super::{Source, links};

/// The table of contents.
pub(crate) const CONTENTS: &str = "docs/SUMMARY.md";
/// Pages of the book outside of `docs`.
pub(crate) const OUTER_PAGES: [&str; 6] =
    ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md", "charts/gangmatch/README.md"];

/// Whether a file is a page of the book.
pub(crate) fn is_page(path: &str) -> bool {
    let example = path.starts_with("examples/") && path.ends_with("/README.md");
    path != CONTENTS && (OUTER_PAGES.contains(&path) || example || (path.starts_with("docs/") && path.ends_with(".md")))
}

/// Every page that is not listed exactly once.
pub(crate) fn findings(sources: &[Source]) -> Vec<String> {
    let Some(contents) = sources.iter().find(|source| source.path == CONTENTS) else {
        return vec![format!("{CONTENTS}: does not exist")];
    };
    let listed = links::pages(contents);
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| is_page(&source.path)) {
        match listed.iter().filter(|path| **path == source.path).count() {
            0 => findings.push(format!("{CONTENTS}: `{}` is not listed", source.path)),
            1 => {}
            times => findings.push(format!("{CONTENTS}: `{}` is listed {times} times", source.path)),
        }
    }
    findings
}

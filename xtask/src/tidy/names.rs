//! Turns the sources into the names of types that one crate defines more than once, or two crates that serve the tests.

use std::collections::BTreeMap;

use super::Source;
use super::exceptions::{Found, Rule, Thing};

const KEYWORDS: [&str; 5] = ["struct ", "enum ", "trait ", "union ", "type "];
/// The crates in this folder count as one: a test uses several of them side by side. Crates that are shipped may share a name, such as
/// `Job` or `Config`: of such crates, one is used through the other.
const TESTING: &str = "testing";

/// Every such name, with the files that define it. What a test or a function defines for itself does not count.
pub(crate) fn found(sources: &[Source]) -> Found {
    let mut defined: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.path.ends_with(".rs") && !source.is_test()) {
        let Some(of) = crate_of(&source.path) else { continue };
        for name in source.text.lines().filter_map(type_name) {
            defined.entry((of, name)).or_default().push(source.path.clone());
        }
    }
    let twice = defined.into_iter().filter(|(_, files)| files.len() > 1);
    let thing = |of: &str, name: &str| Thing { rule: Rule::Type, place: of.to_owned(), what: name.to_owned() };
    twice.map(|((of, name), files)| (thing(of, name), files)).collect()
}

/// The folder of the crate that a file belongs to: a program in `src/bin` is one of its own, and [`TESTING`] is one for all in it.
fn crate_of(path: &str) -> Option<&str> {
    let (package, inside) = path.split_once("/src/")?;
    if package.split('/').next() == Some(TESTING) {
        return Some(TESTING);
    }
    let Some(program) = inside.strip_prefix("bin/") else { return Some(package) };
    let name = program.split(['/', '.']).next()?;
    path.get(..package.len() + "/src/bin/".len() + name.len())
}

/// The name of the type that a line begins to define, at the outermost level.
fn type_name(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.trim_start_matches(|letter| letter != ' ').strip_prefix(' ')?,
        None => line,
    };
    let rest = KEYWORDS.iter().find_map(|keyword| line.strip_prefix(keyword))?;
    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().filter(|name| !name.is_empty())
}

//! The chart and values into what Helm renders, and two renderings into the lines in which they differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;
use testbed::control_plane::binaries::Binaries;
use testbed::repository;

/// What helm prints, or its message.
pub(crate) fn helm(arguments: &[&str]) -> Result<String, String> {
    let helm = Binaries::ready().unwrap().path("helm");
    let output = Command::new(helm).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// What `helm template` prints for the chart with these arguments, or its message.
pub(crate) fn rendered(arguments: &[&str]) -> Result<String, String> {
    let chart = repository::root().join("charts/gangmatch").display().to_string();
    helm(&[&["template", "gangmatch", &chart, "--namespace", "gangmatch-system"], arguments].concat())
}

/// YAML as the value that it is.
pub(crate) fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// The documents of a rendering by kind and name.
fn documents(text: &str) -> BTreeMap<String, Vec<&str>> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for document in text.split("\n---\n") {
        let lines: Vec<&str> = document.lines().filter(|line| !line.starts_with('#') && *line != "---").collect();
        let field = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim();
        if !field("kind:").is_empty() {
            found.insert(format!("{} {}", field("kind:"), field("  name:")), lines);
        }
    }
    found
}

/// The lines of `a` that `b` has not, each as often as it has more of them.
fn more<'t>(a: &[&'t str], b: &[&str]) -> Vec<&'t str> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    b.iter().for_each(|&line| *left.entry(line).or_default() += 1);
    let is_more = |line: &&&str| match left.get_mut(**line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    a.iter().filter(is_more).copied().collect()
}

/// How long a document is at most that is shown whole when it comes or goes.
const WHOLE_MAX: usize = 60;

/// What changes from one rendering to another, document by document: `-` and `+` before lines, or the document's length.
pub(crate) fn changes(before: &str, after: &str) -> String {
    let (before, after) = (documents(before), documents(after));
    let mut text = String::new();
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (none, of) = (Vec::new(), |map: &BTreeMap<String, Vec<&str>>| map.get(name).is_some());
        let (old, new) = (before.get(name).unwrap_or(&none), after.get(name).unwrap_or(&none));
        let (gone, come) = (more(old, new), more(new, old));
        if gone.is_empty() && come.is_empty() {
            continue;
        }
        let what = match (of(&before), of(&after)) {
            (true, false) => " is gone",
            (false, true) => " is new",
            _ => "",
        };
        writeln!(text, "{name}{what}").unwrap();
        if what.is_empty() || gone.len() + come.len() <= WHOLE_MAX && what == " is new" {
            gone.iter().for_each(|line| writeln!(text, "-{line}").unwrap());
            come.iter().for_each(|line| writeln!(text, "+{line}").unwrap());
        }
    }
    text
}

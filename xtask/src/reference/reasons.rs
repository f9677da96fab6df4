//! Turns the constants of condition types and reasons into a page with tables of them.

use anyhow::{Result, bail};

use super::{HEADER, cell, code};

/// Where the constants are, from the repository's root.
pub(super) const SOURCE: &str = "crds/src/conditions.rs";
const INTRODUCTION: &str = "\
# Conditions and reasons

`kubectl get gmj NAME -o yaml` shows the conditions of an object in `status.conditions`. Each has a type, a status (True, False or Unknown), a reason (one word) and a message. Programs can
rely on types and reasons; messages may change. [Troubleshooting](../troubleshooting.md) says what to do about each reason.

## Types of conditions

| type | of | states |
|---|---|---|
";

/// One constant with its comment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The comment `// ...` that begins the group of the constant.
    pub(super) group: String,
    /// The value. Example: NoCandidates
    pub(super) name: String,
    /// The doc comment.
    pub(super) about: String,
}

/// The page.
///
/// # Errors
/// When the file does not have the two modules, or a constant without a comment.
pub(super) fn page(source: &str) -> Result<String> {
    let mut text = format!("{HEADER}{INTRODUCTION}");
    for Named { name, about, .. } in constants(source, "types")? {
        let (of, states) = about.split_once(": ").unwrap_or(("", &about));
        text.push_str(&format!("| {} | {} | {} |\n", code(&name), cell(of), cell(states)));
    }
    let mut group = String::new();
    for reason in constants(source, "reasons")? {
        if reason.group != group {
            group.clone_from(&reason.group);
            text.push_str(&format!("\n## {group}\n\n| reason | meaning |\n|---|---|\n"));
        }
        let anchor = reason.name.to_lowercase();
        text.push_str(&format!("| [`{}`](../troubleshooting.md#{anchor}) | {} |\n", reason.name, cell(&reason.about)));
    }
    Ok(text)
}

/// The constants of a module of the file, in its order.
///
/// # Errors
/// When there are none, or one has no comment.
pub(super) fn constants(source: &str, module: &str) -> Result<Vec<Named>> {
    let begin = format!("pub mod {module} {{");
    let lines = source.lines().skip_while(|line| *line != begin).skip(1).take_while(|line| *line != "}");
    let (mut found, mut group, mut about) = (Vec::new(), String::new(), String::new());
    for line in lines.map(str::trim) {
        if let Some(comment) = line.strip_prefix("/// ") {
            let gap = if about.is_empty() { "" } else { " " };
            about = format!("{about}{gap}{comment}");
        } else if let Some(comment) = line.strip_prefix("// ") {
            comment.trim_end_matches('.').clone_into(&mut group);
        } else if let Some((_, value)) = line.split_once(": &str = ") {
            let name = value.trim_matches(['"', ';']).to_owned();
            if about.is_empty() {
                bail!("{SOURCE}: `{name}` has no comment; write `/// ` and what it means above it");
            }
            found.push(Named { group: group.clone(), name, about: std::mem::take(&mut about) });
        }
    }
    if found.is_empty() {
        bail!("{SOURCE}: no constants in `pub mod {module}`");
    }
    Ok(found)
}

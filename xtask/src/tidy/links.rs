//! Turns one markdown file into findings: its links to files that do not exist.

use super::Source;

/// All links of a file that lead nowhere; `exists` answers for paths from the repository's root.
pub(crate) fn findings(source: &Source, exists: impl Fn(&str) -> bool) -> Vec<String> {
    if !source.path.ends_with(".md") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut fenced = false;
    for (number, line) in source.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for target in targets(line) {
            if leads_outside(target) {
                continue;
            }
            let file = target.split(['#', ' ']).next().unwrap_or_default();
            match resolve(&source.path, file) {
                Some(path) if exists(&path) => {}
                _ => {
                    findings.push(format!("{}: line {}: the link to `{target}` leads nowhere", source.path, number + 1))
                }
            }
        }
    }
    findings
}

/// What stands between `](` and `)`, outside of inline code.
fn targets(line: &str) -> Vec<&str> {
    let plain = line.split('`').step_by(2);
    plain
        .flat_map(|part| part.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .collect()
}

fn leads_outside(target: &str) -> bool {
    target.starts_with('#') || target.contains("://") || target.starts_with("mailto:")
}

/// A path from the root, or none if the link leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    if !target.starts_with('/') {
        parts.extend(from.split('/'));
        parts.pop();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

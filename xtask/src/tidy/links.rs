//! Turns one markdown file into findings: its links to files and headings that do not exist.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;

/// The anchors of the headings of each markdown file, by its path.
pub(crate) type Headings = BTreeMap<String, BTreeSet<String>>;

/// The headings of all markdown files.
pub(crate) fn headings(sources: &[Source]) -> Headings {
    let pages = sources.iter().filter(|source| source.path.ends_with(".md"));
    pages.map(|source| (source.path.clone(), anchors(&source.text))).collect()
}

/// All links of a file that lead nowhere; `exists` answers for paths from the repository's root.
pub(crate) fn findings(source: &Source, exists: impl Fn(&str) -> bool, headings: &Headings) -> Vec<String> {
    if !source.path.ends_with(".md") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in prose(&source.text) {
        let mut find = |what: String| findings.push(format!("{}: line {}: {what}", source.path, number + 1));
        for target in targets(line).into_iter().filter(|target| !leads_outside(target)) {
            let target = target.split(' ').next().unwrap_or_default();
            let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
            let path = if file.is_empty() { Some(source.path.clone()) } else { resolve(&source.path, file) };
            let Some(path) = path.filter(|path| file.is_empty() || exists(path)) else {
                find(format!("the link to `{target}` leads nowhere"));
                continue;
            };
            let known = headings.get(&path);
            if let Some(anchor) = anchor.filter(|anchor| known.is_some_and(|known| !known.contains(*anchor))) {
                find(format!("`{path}` has no heading `#{anchor}`"));
            }
        }
    }
    findings
}

/// The paths of all markdown files that a file links to, from the repository's root, in its order.
pub(crate) fn pages(source: &Source) -> Vec<String> {
    let targets = prose(&source.text).flat_map(|(_, line)| targets(line)).filter(|target| !leads_outside(target));
    let files = targets.map(|target| target.split(['#', ' ']).next().unwrap_or_default());
    files.filter(|file| file.ends_with(".md")).filter_map(|file| resolve(&source.path, file)).collect()
}

/// The lines outside of fenced blocks, with their numbers from 0.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// What a link to each heading is called: as GitHub and mdBook name it.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let (true, Some(title)) = (line.starts_with('#'), title.strip_prefix(' ')) else { continue };
        let kept = title.trim().chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let anchor: String =
            kept.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let again = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(again).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
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
    target.contains("://") || target.starts_with("mailto:")
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

//! The path of a field into the line it is written on. Good enough to point at; it never fails a manifest.

/// The line, from 0, of the field `path` (`spec.ports[0].constraint`) in the text of one YAML document; `line` is a line
/// inside the field's own text, from 1. The innermost field around it if it is not written; `None` if nothing of it is.
pub(crate) fn field(text: &str, path: &str, line: usize) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let mut at: Option<Spot> = None;
    for step in steps(path) {
        let next = match &step {
            Step::Key(key) => child(&lines, at, key),
            Step::Item(number) => at.and_then(|at| item(&lines, at, *number)),
        };
        match next {
            Some(next) => at = Some(next),
            None => return at.map(|at| at.line),
        }
    }
    let at = at?.line;
    let literal = lines.get(at).is_some_and(|line| line.trim_end().trim_end_matches(['-', '+']).ends_with('|'));
    Some(if literal { at + line } else { at })
}

/// Where a value begins: its line, and the column of its key or dash.
#[derive(Clone, Copy)]
struct Spot {
    line: usize,
    column: usize,
    /// The value is an item of a list: its first key stands on the line of the dash.
    item: bool,
}

enum Step {
    Key(String),
    Item(usize),
}

fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, rest) = part.split_once('[').unwrap_or((part, ""));
        if !key.is_empty() {
            steps.push(Step::Key(key.to_owned()));
        }
        for inner in rest.split('[') {
            let inner = inner.trim_end_matches(']');
            match inner.parse() {
                Ok(number) => steps.push(Step::Item(number)),
                Err(_) if inner.is_empty() => {}
                Err(_) => steps.push(Step::Key(inner.trim_matches('"').to_owned())),
            }
        }
    }
    steps
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn blank(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

/// Whether a text begins with this key.
fn begins_with(text: &str, key: &str) -> bool {
    let bare = text.strip_prefix(['"', '\'']).unwrap_or(text);
    let rest = bare.strip_prefix(key).unwrap_or("");
    rest.strip_prefix(['"', '\'']).unwrap_or(rest).trim_start().starts_with(':')
}

fn child(lines: &[&str], parent: Option<Spot>, key: &str) -> Option<Spot> {
    if let Some(parent) = parent {
        let own = lines.get(parent.line)?.trim_start();
        let own = own.strip_prefix("- ").filter(|_| parent.item).unwrap_or(own);
        // `ports: [{label: cpu}]` and `- label: cpu` have it on their own line.
        let inside = own.split_inclusive(['{', ',', ' ']);
        let mut rest = own;
        for word in inside {
            if begins_with(rest, key) && (parent.item || rest.len() < own.len()) {
                return Some(Spot { line: parent.line, column: parent.column + 2, item: false });
            }
            rest = rest.get(word.len()..)?;
        }
    }
    let first = parent.map_or(0, |parent| parent.line + 1);
    let inner = |line: &&str| parent.is_none_or(|parent| blank(line) || indent(line) > parent.column);
    let below = lines.iter().copied().skip(first).take_while(inner);
    let column = below.clone().find(|line| !blank(line)).map(indent)?;
    let found = below.enumerate().find(|(_, line)| indent(line) == column && begins_with(line.trim_start(), key));
    found.map(|(place, _)| Spot { line: first + place, column, item: false })
}

fn item(lines: &[&str], parent: Spot, number: usize) -> Option<Spot> {
    let first = parent.line + 1;
    let inner = |line: &&str| blank(line) || indent(line) >= parent.column;
    let below = lines.iter().copied().skip(first).take_while(inner).enumerate();
    let dash = |line: &str| line.trim_start().starts_with("- ") || line.trim() == "-";
    let column = below.clone().find(|(_, line)| !blank(line)).map(|(_, line)| indent(line))?;
    let mut items = below.filter(|(_, line)| dash(line) && indent(line) == column);
    match items.nth(number) {
        Some((place, _)) => Some(Spot { line: first + place, column, item: true }),
        None => Some(parent),
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    const TEXT: &str = "kind: Job
metadata: {name: a, labels: {x: y}}
spec:
  attributes:
    rank: 1
  ports:
  # the machine
  - label: cpu
    constraint: true
    rank: 2
  - rank: 3
    label: license
  rank: 4
  classad: |
    [
      A = 1;
";

    #[test]
    fn fields_are_found_where_they_stand() {
        for (path, line) in [
            ("kind", 0),
            ("metadata.labels.x", 1),
            ("spec", 2),
            ("spec.attributes.rank", 4),
            ("spec.ports[0]", 7),
            ("spec.ports[0].label", 7),
            ("spec.ports[0].rank", 9),
            ("spec.ports[1].rank", 10),
            ("spec.ports[1].label", 11),
            ("spec.rank", 12),
            ("spec.ports[1].constraint", 10),
        ] {
            assert_eq!(field(TEXT, path, 1), Some(line), "{path}");
        }
        assert_eq!(field(TEXT, "spec.classad", 2), Some(15));
        assert_eq!(field(TEXT, "nosuch.field", 1), None);
    }
}

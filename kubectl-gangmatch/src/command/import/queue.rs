//! The `queue` statement of a submit file into the values of its variables, job by job.

use std::collections::BTreeMap;

/// Values of variables, by name in lower case.
pub(super) type Variables = BTreeMap<String, String>;

/// The most jobs that a submit file can queue: far more than a namespace holds.
pub(super) const JOBS_MAX: usize = 100_000;

/// What a line queues, if it is a queue statement: what follows the word.
pub(crate) fn queued(line: &str) -> Option<&str> {
    let mut words = line.trim().splitn(2, char::is_whitespace);
    words.next().filter(|word| word.eq_ignore_ascii_case("queue"))?;
    Some(words.next().unwrap_or("").trim())
}

/// The variables of each job that a statement queues. `statement` is what follows the word `queue`, with the lines of a list in
/// parentheses.
///
/// # Errors
/// If it is no statement of the forms that are supported: the message says which ones are.
pub(super) fn variables(statement: &str) -> Result<Vec<Variables>, String> {
    let wrong = |why: &str| format!("found `queue {}`; {why}", statement.lines().next().unwrap_or("").trim());
    let (head, list) = match statement.split_once('(') {
        None => (statement, None),
        Some((head, rest)) => {
            (head, Some(rest.trim_end().strip_suffix(')').ok_or_else(|| wrong("close the list with `)`"))?))
        }
    };
    let mut words: Vec<&str> = head.split([' ', '\t', ',', '\n']).filter(|word| !word.is_empty()).collect();
    let each = match words.first().and_then(|word| word.parse::<u32>().ok()) {
        Some(count) => {
            words.remove(0);
            count
        }
        None => 1,
    };
    let is_too_many = |items: usize| usize::try_from(each).is_ok_and(|each| items.saturating_mul(each) > JOBS_MAX);
    let too_many = || wrong(&format!("these are more than {JOBS_MAX} jobs: divide them among several files"));
    let form =
        words.iter().position(|word| ["in", "from", "matching"].iter().any(|form| word.eq_ignore_ascii_case(form)));
    let Some(form) = form else {
        return match (words.is_empty(), list) {
            (true, None) if is_too_many(1) => Err(too_many()),
            (true, None) => Ok(repeated(&[Variables::new()], each)),
            _ => Err(wrong("write `queue`, `queue N`, `queue NAME in (...)` or `queue NAMES from (...)`")),
        };
    };
    let names: Vec<String> = words.iter().take(form).map(|name| name.to_ascii_lowercase()).collect();
    let names = if names.is_empty() { vec!["item".to_owned()] } else { names };
    let is = |name: &str| words.get(form).is_some_and(|word| word.eq_ignore_ascii_case(name));
    let Some(list) = list.filter(|_| !is("matching") && words.len() == form + 1) else {
        return Err(wrong("files are not read; write the list in parentheses: `queue NAME in (a, b)`"));
    };
    let blank = |c: char| c == ',' || c.is_whitespace();
    let items: Vec<Variables> = if is("in") {
        let items = list.split(blank).filter(|item| !item.is_empty());
        items.map(|item| names.iter().take(1).map(|name| (name.clone(), item.to_owned())).collect()).collect()
    } else {
        let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| names.iter().cloned().zip(fields(line, names.len())).collect()).collect()
    };
    if is_too_many(items.len()) { Err(too_many()) } else { Ok(repeated(&items, each)) }
}

/// So many fields of a line; the last one is the rest of it.
fn fields(line: &str, count: usize) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), line);
    while all.len() + 1 < count {
        let Some((field, after)) = rest.split_once([',', ' ', '\t']) else { break };
        all.push(field.trim().to_owned());
        rest = after.trim_start_matches([',', ' ', '\t']);
    }
    all.push(rest.trim().to_owned());
    all
}

fn repeated(items: &[Variables], each: u32) -> Vec<Variables> {
    let of_item = |(row, item): (usize, &Variables)| {
        (0..each)
            .map(|step| {
                let numbers = [("step", step.to_string()), ("row", row.to_string()), ("itemindex", row.to_string())];
                let mut all: Variables = numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect();
                all.extend(item.clone());
                all
            })
            .collect::<Vec<_>>()
    };
    items.iter().enumerate().flat_map(of_item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m17_every_supported_form_is_expanded_and_others_are_refused() {
        let of = |statement: &str| {
            variables(statement).map(|all| {
                let text = |one: &Variables| {
                    let shown = one.iter().filter(|(name, _)| !["row", "itemindex"].contains(&name.as_str()));
                    shown.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
                };
                all.iter().map(text).collect::<Vec<_>>()
            })
        };
        assert_eq!(of("").unwrap(), ["step=0"]);
        assert_eq!(of("2").unwrap(), ["step=0", "step=1"]);
        assert_eq!(of("x in (1, 2 3)").unwrap(), ["step=0 x=1", "step=0 x=2", "step=0 x=3"]);
        assert_eq!(of("2 Seed in (7)").unwrap(), ["seed=7 step=0", "seed=7 step=1"]);
        assert_eq!(
            of("a, b from (\n 1, two words\n # no\n 3 4\n)").unwrap(),
            ["a=1 b=two words step=0", "a=3 b=4 step=0"]
        );
        for (wrong, why) in [
            ("x from list.txt", "files are not read"),
            ("x matching (*.dat)", "files are not read"),
            ("x in (1 2", "close the list"),
            ("many", "write `queue`, `queue N`"),
            ("4000000000", "more than 100000 jobs"),
            ("60000 x in (1, 2)", "more than 100000 jobs"),
        ] {
            let said = of(wrong).unwrap_err();
            assert!(said.starts_with("found `queue ") && said.contains(why), "{said}");
        }
    }
}

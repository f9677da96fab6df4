//! Turns what rules with exceptions find, and the list of exceptions, into findings. The list can only shrink.

use std::collections::BTreeMap;
use std::fmt;

/// Where the list is.
pub(crate) const LIST: &str = "xtask/src/tidy/exceptions.txt";

/// A rule with exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// A crate defines a type name once.
    Type,
    /// A word with a standard replacement is not said.
    Word,
}

/// Something that a rule finds in a place: the name of a type in a crate, a word in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thing {
    pub(crate) rule: Rule,
    pub(crate) place: String,
    pub(crate) what: String,
}

/// What the rules find, with where in its place each occurrence is.
pub(crate) type Found = BTreeMap<Thing, Vec<String>>;

/// What is found more often than it is excepted, and what is excepted more often than it is found.
pub(crate) fn findings(found: &Found, list: &str) -> Vec<String> {
    let listed = read(list);
    let count = |thing: &Thing| found.get(thing).map_or(0, Vec::len);
    let unlisted = found.iter().filter(|(thing, places)| places.len() > listed.get(thing).copied().unwrap_or(0));
    let stale = listed.iter().filter(|(thing, excepted)| count(thing) < **excepted);
    let unlisted = unlisted.map(|(thing, places)| {
        let excepted = listed.get(thing).copied().unwrap_or(0);
        format!("{}: {} `{}`, excepted {excepted} times: {}", thing.place, thing.rule, thing.what, places.join(", "))
    });
    let stale = stale.map(|(thing, excepted)| {
        let Thing { rule, place, what } = thing;
        format!("{LIST}: {rule} `{what}` is excepted {excepted} times in {place}, and found {} times: `cargo xtask tidy --shrink`", count(thing))
    });
    unlisted.chain(stale).collect()
}

/// The list as it would be now; or findings, if it would be longer: of a word, or of names of types, no more may be found in all places
/// together than were listed. So what has moved to another file stays listed.
pub(crate) fn shrunk(found: &Found, list: &str) -> Result<String, Vec<String>> {
    let listed = read(list);
    let now = sums(found.iter().map(|(thing, places)| (thing, places.len())));
    let before = sums(listed.iter().map(|(thing, excepted)| (thing, *excepted)));
    if now.iter().any(|(group, count)| *count > before.get(group).copied().unwrap_or(0)) {
        return Err(findings(found, list));
    }
    Ok(written(found))
}

/// A list that excepts all of this.
pub(crate) fn written(found: &Found) -> String {
    let line = |(thing, places): (&Thing, &Vec<String>)| {
        let Thing { rule, place, what } = thing;
        format!("{} {rule} {place} {what}\n", places.len())
    };
    found.iter().map(line).collect()
}

/// How much there is of what is counted together: each word, and all names of types.
fn sums<'a>(things: impl Iterator<Item = (&'a Thing, usize)>) -> BTreeMap<(Rule, &'a str), usize> {
    let mut sums = BTreeMap::new();
    for (thing, count) in things {
        let what = if thing.rule == Rule::Word { thing.what.as_str() } else { "" };
        *sums.entry((thing.rule, what)).or_insert(0) += count;
    }
    sums
}

/// Lines of count, rule, place and thing.
fn read(list: &str) -> BTreeMap<Thing, usize> {
    let entry = |line: &str| {
        let mut parts = line.splitn(4, ' ');
        let count = parts.next()?.parse().ok()?;
        let said = parts.next()?;
        let rule = [Rule::Type, Rule::Word].into_iter().find(|rule| rule.to_string() == said)?;
        let (place, what) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some((Thing { rule, place, what }, count))
    };
    list.lines().filter_map(entry).collect()
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Type => "type",
            Rule::Word => "word",
        })
    }
}

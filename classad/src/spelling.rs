//! Spelling suggestions: the known name that was probably meant by an unknown one.

use crate::name::Name;

/// The known name that is most like `name`, if one is nearly the same: letters swapped, missing, doubled or mistaken.
#[must_use]
pub fn similar<'k>(name: &str, known: impl IntoIterator<Item = &'k Name>) -> Option<&'k Name> {
    closest(name, known.into_iter().map(|name| (name.as_str(), name)))
}

/// The item with the text that is most like `name`; of several the smallest.
pub(crate) fn closest<'k, T: Ord>(name: &str, known: impl Iterator<Item = (&'k str, T)>) -> Option<T> {
    const DISTANCE_MAX: usize = 2;
    const LENGTH_MIN: usize = 3;
    const LENGTH_MAX: usize = 64;
    if !(LENGTH_MIN..=LENGTH_MAX).contains(&name.len()) {
        return None;
    }
    let wanted = name.to_ascii_lowercase();
    let scored = known.filter_map(|(text, item)| {
        if text.len().abs_diff(wanted.len()) > DISTANCE_MAX || text.eq_ignore_ascii_case(&wanted) {
            return None;
        }
        let text = text.to_ascii_lowercase();
        let distance = if swapped(&wanted, &text) { 1 } else { distance(&wanted, &text) };
        // Short names have many neighbours by chance.
        let allowed = if text.len().min(wanted.len()) >= 6 { DISTANCE_MAX } else { 1 };
        (distance <= allowed && text.len() >= LENGTH_MIN).then_some((distance, item))
    });
    scored.min().map(|(_, item)| item)
}

/// Whether the words differ by two neighbouring letters that have changed places.
fn swapped(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let Some(at) = left.iter().zip(right).position(|(a, b)| a != b) else { return false };
    let exchanged = left.get(at) == right.get(at + 1) && left.get(at + 1) == right.get(at);
    left.len() == right.len() && exchanged && left.get(at + 2..) == right.get(at + 2..)
}

/// The Levenshtein distance: how many letters must be changed, added or removed to turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, a) in left.bytes().enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        let mut next = vec![before];
        for (b, above) in right.bytes().zip(row.iter().skip(1)) {
            before = (above + 1).min(before + 1).min(diagonal + usize::from(a != b));
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

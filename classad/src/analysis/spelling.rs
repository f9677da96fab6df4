//! Spelling suggestions: the known name that was probably meant by an unknown one.

use crate::builtins::distance;
use crate::name::Name;

/// The known name that is most like `name`, if one is nearly the same: letters swapped, missing, doubled or mistaken.
#[must_use]
pub fn similar<'k>(name: &str, known: impl IntoIterator<Item = &'k Name>) -> Option<&'k Name> {
    const DISTANCE_MAX: usize = 2;
    const LENGTH_MAX: usize = 64;
    if name.len() > LENGTH_MAX {
        return None;
    }
    let wanted = name.to_ascii_lowercase();
    let scored = known.into_iter().filter_map(|candidate| {
        let text = candidate.as_str();
        if text.len().abs_diff(wanted.len()) > DISTANCE_MAX || text.eq_ignore_ascii_case(&wanted) {
            return None;
        }
        let text = text.to_ascii_lowercase();
        let distance = if swapped(&wanted, &text) { 1 } else { distance(&wanted, &text) };
        // Short names have many neighbours by chance.
        let allowed = if text.len().min(wanted.len()) >= 6 { DISTANCE_MAX } else { 1 };
        (distance <= allowed && text.len() >= 3 && wanted.len() >= 3).then_some((distance, candidate))
    });
    scored.min().map(|(_, candidate)| candidate)
}

/// Whether two neighbouring letters have changed places.
fn swapped(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let Some(at) = left.iter().zip(right).position(|(a, b)| a != b) else { return false };
    let exchanged = left.get(at) == right.get(at + 1) && left.get(at + 1) == right.get(at);
    left.len() == right.len() && exchanged && left.get(at + 2..) == right.get(at + 2..)
}

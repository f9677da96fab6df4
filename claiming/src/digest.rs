//! Identity of a text that a claim compares and never shows: a ballot, the version of an object.

use std::fmt;

/// A text as a number: equal texts have equal numbers, and no text is 0.
///
/// Two texts with one number would have to be chosen for it. Ballots and versions are chosen by the agent and by the API server that
/// the comparison protects.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u64);

impl Digest {
    /// The digest of a text in parts; FNV-1a, with an end after each part.
    pub fn of(parts: &[&str]) -> Digest {
        if parts.iter().all(|part| part.is_empty()) {
            return Digest::default();
        }
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
        Digest(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "#{:x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart_and_no_text_is_nothing() {
        assert_eq!(Digest::of(&["a", "b"]), Digest::of(&["a", "b"]));
        assert_ne!(Digest::of(&["a", "b"]), Digest::of(&["ab", ""]));
        assert_ne!(Digest::of(&["a", ""]), Digest::of(&["", "a"]));
        assert_eq!(Digest::of(&["", ""]), Digest::default());
        assert_eq!(format!("{:?}", Digest(10)), "#a");
    }
}

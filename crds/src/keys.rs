//! Turns values and objects into the deterministic names under which they are stored.

use sha2::{Digest, Sha256};

/// Longest share key that is used as it is, in bytes.
const SHARE_KEY_LENGTH_MAX: usize = 63;
/// How much of a root's name is part of its Matches' names, in characters.
const ROOT_NAME_LENGTH_MAX: usize = 54;

/// The key of `status.shared` for a value of `sharedBy`: the value itself if it is 1 to 63 of `A-Z a-z 0-9 . -`, else the first 32
/// hex digits of its SHA-256.
///
/// ```
/// assert_eq!(crds::share_key("node-17"), "node-17");
/// assert_eq!(crds::share_key("two words"), "a03f1d611645eb53ad16c1af546ca079");
/// ```
#[must_use]
pub fn share_key(value_text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    let fits = !value_text.is_empty() && value_text.len() <= SHARE_KEY_LENGTH_MAX;
    if fits && value_text.bytes().all(plain) { value_text.to_owned() } else { hex_digest(value_text, 32) }
}

/// The name of a root's Match: at most 54 characters of the root's name with dots as dashes, a dash, and 8 hex digits of the SHA-256
/// of `<root uid>/<attempt>`. The same root and attempt always give the same name, so a repeated POST is a 409.
///
/// ```
/// let name = crds::match_name("sim.v2", "0d9e3c52-7a1b-4f6f-8a11-2f7b0c9d8e7f", 1);
/// assert!(name.starts_with("sim-v2-") && name.len() == 15);
/// ```
#[must_use]
pub fn match_name(root_name: &str, root_uid: &str, attempt: i32) -> String {
    let stem: String = root_name.chars().take(ROOT_NAME_LENGTH_MAX).map(|c| if c == '.' { '-' } else { c }).collect();
    format!("{stem}-{}", hex_digest(&format!("{root_uid}/{attempt}"), 8))
}

/// The first `digits` hex digits of the text's SHA-256.
fn hex_digest(text: &str, digits: usize) -> String {
    let hex: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    hex.chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::{match_name, share_key};

    #[test]
    fn plain_values_are_their_own_share_key() {
        for value in ["a", "node-17.grid.example", "A.b-9", &"x".repeat(63)] {
            assert_eq!(share_key(value), value);
        }
    }

    #[test]
    fn other_values_are_hashed() {
        // printf '' | sha256sum; printf 'a b' | sha256sum; 32 digits each.
        assert_eq!(share_key(""), "e3b0c44298fc1c149afbf4c8996fb924");
        assert_eq!(share_key("a b"), "c8687a08aa5d6ed2044328fa6a697ab8");
        for value in ["a/b", "a_b", "é", &"x".repeat(64)] {
            let key = share_key(value);
            assert_eq!(key.len(), 32, "{value}");
            assert!(key.bytes().all(|b| b.is_ascii_hexdigit()), "{value}");
        }
    }

    #[test]
    fn match_names_are_deterministic_and_differ_by_uid_and_attempt() {
        // printf 'uid-1/1' | sha256sum, 8 digits.
        assert_eq!(match_name("sim", "uid-1", 1), "sim-49a88c84");
        assert_ne!(match_name("sim", "uid-1", 1), match_name("sim", "uid-1", 2));
        assert_ne!(match_name("sim", "uid-1", 1), match_name("sim", "uid-2", 1));
    }

    #[test]
    fn long_names_fit_a_label_and_dots_become_dashes() {
        let name = match_name(&"a.b".repeat(40), "u", 1);
        assert_eq!(name.len(), 63);
        assert!(!name.contains('.'));
        assert!(match_name(&"x".repeat(253), "u", i32::MAX).len() <= 63);
    }
}

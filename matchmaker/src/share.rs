//! Converts the value of a License's `sharedBy` into the key under which its seat is kept.

use classad::Value;
use sha2::{Digest, Sha256};

/// The value of `sharedBy` is ERROR, or too large: it names no seat, so there is no match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of sharedBy is an error or too large, and names no seat")]
pub struct NoSeat;

/// The most bytes of a text, and the most parts of a list or an ad, that tell claims and members of sets apart: what is printed and hashed for each
/// candidate takes little time whatever ads say.
pub(crate) const TEXT_MAX: usize = 4096;
const PARTS_MAX: usize = 256;

/// The key of a shared seat: the value's text where that can be a map key as it is (`[A-Za-z0-9.-]`, 1 to 63 characters) and does not
/// look like a digest, else the first 32 hex digits of its SHA-256: no text can be written that has the key of another one. A string
/// stands for its characters, every other value for its canonical text. Undefined is `None`: a seat of its own.
///
/// # Errors
/// [`NoSeat`] if the value is ERROR, a text of more than 4096 bytes, or a list or ad with more than 256 parts or so much text.
pub fn share_key(value: &Value) -> Result<Option<String>, NoSeat> {
    if !is_small(value) {
        return Err(NoSeat);
    }
    let text = match value {
        Value::Undefined => return Ok(None),
        Value::Error => return Err(NoSeat),
        Value::String(text) => text.to_string(),
        other => other.canonical(),
    };
    let plain = (1..=63).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-');
    let like_a_digest = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if plain && !like_a_digest {
        return Ok(Some(text));
    }
    Ok(Some(digest(&text)))
}

/// Whether a value has no more parts and no longer texts than it may; looks at no more of them.
fn is_small(value: &Value) -> bool {
    let (mut pending, mut parts, mut bytes) = (vec![value], 0, 0);
    while let Some(value) = pending.pop() {
        let (more, text) = match value {
            Value::String(text) => (0, text.len()),
            Value::List(list) => (list.len(), 0),
            Value::Ad(ad) => (ad.len(), ad.iter().take(PARTS_MAX).map(|(name, _)| name.as_str().len()).sum()),
            _ => (0, 0),
        };
        (parts, bytes) = (parts + more, bytes + text);
        if parts > PARTS_MAX || bytes > TEXT_MAX {
            return false;
        }
        match value {
            Value::List(list) => pending.extend(list.iter()),
            Value::Ad(ad) => pending.extend(ad.iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    true
}

/// The first 32 hex digits of a text's SHA-256.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_its_own_key() {
        assert_eq!(share_key(&Value::String("foo.cs.wisc.edu".into())), Ok(Some("foo.cs.wisc.edu".into())));
        assert_eq!(share_key(&Value::Integer(7)), Ok(Some("7".into())));
    }

    #[test]
    fn other_text_is_hashed_to_a_legal_key() {
        for text in ["", "a b", "user@host", &"x".repeat(64)] {
            let key = share_key(&Value::String(text.into())).unwrap().unwrap();
            assert_eq!(key.len(), 32, "{text:?}");
            assert!(key.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }

    #[test]
    fn the_key_of_another_text_is_no_key_of_its_own() {
        let key = |text: &str| share_key(&Value::String(text.into())).unwrap().unwrap();
        let hashed = key("user@host");
        assert_ne!(key(&hashed), hashed);
        assert_eq!(key(&hashed.to_uppercase()), hashed.to_uppercase(), "digests are lower-case");
    }

    #[test]
    fn q6_what_is_large_names_no_seat_and_is_not_printed_or_hashed() {
        let text = |length: usize| Value::string("x".repeat(length));
        let list = |length: usize, of: Value| Value::List(vec![of; length].into());
        for (value, is_key) in [
            (text(TEXT_MAX), true),
            (text(TEXT_MAX + 1), false),
            (list(PARTS_MAX, Value::Integer(1)), true),
            (list(PARTS_MAX + 1, Value::Integer(1)), false),
            (list(2, list(200, Value::Integer(1))), false),
            (list(3, text(2000)), false),
            (Value::Ad(vec![(classad::Name::new("a"), text(TEXT_MAX))].into()), false),
        ] {
            assert_eq!(share_key(&value).is_ok(), is_key, "{:.80}", value.canonical());
        }
    }

    #[test]
    fn undefined_sits_alone_and_error_not_at_all() {
        assert_eq!(share_key(&Value::Undefined), Ok(None));
        assert_eq!(share_key(&Value::Error), Err(NoSeat));
    }
}

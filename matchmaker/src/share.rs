//! Converts the value of a License's `sharedBy` into the key under which its seat is kept.

use classad::Value;
use sha2::{Digest, Sha256};

/// The value of `sharedBy` is ERROR: it names no seat, so there is no match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value of sharedBy is an error and names no seat")]
pub struct NoSeat;

/// The key of a shared seat: the value's text where that can be a map key as it is (`[A-Za-z0-9.-]`, 1 to 63 characters) and does not
/// look like a digest, else the first 32 hex digits of its SHA-256: no text can be written that has the key of another one. A string
/// stands for its characters, every other value for its canonical text. Undefined is `None`: a seat of its own.
///
/// # Errors
/// [`NoSeat`] if the value is ERROR.
pub fn share_key(value: &Value) -> Result<Option<String>, NoSeat> {
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
    fn undefined_sits_alone_and_error_not_at_all() {
        assert_eq!(share_key(&Value::Undefined), Ok(None));
        assert_eq!(share_key(&Value::Error), Err(NoSeat));
    }
}

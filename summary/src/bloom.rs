//! Texts into a Bloom filter (Bloom, CACM 13(7), 1970): a set that may say yes by mistake, and never no.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// A set of texts in small letters. The positions of a text are the four big-endian 32-bit words at the start of its SHA-256, modulo
/// the number of bits; position `p` is the mask `0x80 >> (p % 8)` of byte `p / 8`. Written as lower-case hexadecimal digits.
///
/// ```
/// let mut filter = summary::Bloom::new(64);
/// filter.insert("fab1-host");
/// assert!(filter.contains("fab1-host") && !filter.contains("fab2-host"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bloom {
    /// How many positions there are, at least one.
    bits: usize,
    /// The last byte may have more bits than positions.
    bytes: Vec<u8>,
}

/// How many bits a text sets, at most.
const HASHES: usize = 4;

impl Bloom {
    /// A filter of so many bits, at least one; no text is in it.
    #[must_use]
    pub fn new(bits: usize) -> Bloom {
        let bits = bits.max(1);
        Bloom { bits, bytes: vec![0; bits.div_ceil(8)] }
    }

    /// How many bits it has.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Adds a text in small letters.
    pub fn insert(&mut self, text: &str) {
        for (byte, mask) in self.positions(text) {
            if let Some(byte) = self.bytes.get_mut(byte) {
                *byte |= mask;
            }
        }
    }

    /// Whether a text in small letters may have been added.
    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        self.positions(text).into_iter().all(|(byte, mask)| self.bytes.get(byte).is_some_and(|byte| byte & mask != 0))
    }

    /// Whether some text may have been added to both. Filters of different sizes cannot be compared: it may.
    #[must_use]
    pub fn meets(&self, other: &Bloom) -> bool {
        self.bits != other.bits || self.bytes.iter().zip(&other.bytes).any(|(one, two)| one & two != 0)
    }

    /// The filter of all texts in either; none if the sizes differ.
    #[must_use]
    pub fn union(&self, other: &Bloom) -> Option<Bloom> {
        let both = || self.bytes.iter().zip(&other.bytes).map(|(one, two)| one | two).collect();
        (self.bits == other.bits).then(|| Bloom { bits: self.bits, bytes: both() })
    }

    /// Whether more than half of the bits are set, so that it says yes to more than every sixteenth text that was not added.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.set_bits() * 2 > self.bits
    }

    /// How many bits are set.
    #[must_use]
    pub fn set_bits(&self) -> usize {
        self.bytes.iter().map(|byte| usize::try_from(byte.count_ones()).unwrap_or(0)).sum()
    }

    /// The byte and the mask of each bit of a text.
    fn positions(&self, text: &str) -> [(usize, u8); HASHES] {
        let digest = Sha256::digest(text.as_bytes());
        let mut words = digest.chunks_exact(4);
        std::array::from_fn(|_| {
            let word = words.next().into_iter().flatten().fold(0, |word: usize, byte| word << 8 | usize::from(*byte));
            let position = word % self.bits;
            (position / 8, 0x80 >> (position % 8))
        })
    }
}

impl Serialize for Bloom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits: String = self.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&digits)
    }
}

/// Of the digits alone: as many bits as there are.
impl<'de> Deserialize<'de> for Bloom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bloom, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |digit: char| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let digits: Option<Vec<u8>> = text.chars().map(digit).collect();
        let pair = |pair: &[u8]| pair.iter().fold(0_u8, |byte, digit| byte << 4 | digit);
        match digits {
            Some(digits) if !digits.is_empty() && digits.len() % 2 == 0 => {
                let bytes: Vec<u8> = digits.chunks_exact(2).map(pair).collect();
                Ok(Bloom { bits: bytes.len() * 8, bytes })
            }
            _ => Err(de::Error::custom("a Bloom filter is an even number of hexadecimal digits, at least two")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard's example: SHA-256("abc") begins with ba7816bf 8f01cfea 414140de 5dae2223, which is 63, 42, 30 and 35 modulo 64.
    #[test]
    fn bits_are_numbered_from_the_left_of_each_byte() {
        let mut filter = Bloom::new(64);
        filter.insert("abc");
        assert_eq!(serde_json::to_value(&filter).unwrap(), "0000000210200001");
        assert_eq!(serde_json::from_value::<Bloom>("0000000210200001".into()).unwrap(), filter);
    }

    /// With 60 bits, the positions of the same text are 39, 30, 26 and 51; the last four bits of the last byte are never set.
    #[test]
    fn positions_are_modulo_the_bits_and_not_modulo_whole_bytes() {
        let mut filter = Bloom::new(60);
        filter.insert("abc");
        assert_eq!(serde_json::to_value(&filter).unwrap(), "0000002201001000");
        assert!(filter.contains("abc") && filter.meets(&filter));
        assert!(filter.union(&Bloom::new(64)).is_none(), "filters of different sizes have no union");
    }

    #[test]
    fn a_filter_with_half_of_its_bits_set_is_not_full_and_with_one_more_it_is() {
        let read = |digits: &str| serde_json::from_value::<Bloom>(digits.into()).unwrap();
        assert!(!read("f0f0").is_full(), "8 of 16");
        assert!(read("f1f0").is_full(), "9 of 16");
    }

    #[test]
    fn what_was_added_is_found_and_little_else() {
        let mut filter = Bloom::new(8192);
        (0..500).for_each(|number| filter.insert(&format!("host-{number}")));
        assert!((0..500).all(|number| filter.contains(&format!("host-{number}"))) && !filter.is_full());
        let mistakes = (500..10_500).filter(|number| filter.contains(&format!("host-{number}"))).count();
        assert!(mistakes < 100, "{mistakes} of 10,000");
    }

    #[test]
    fn texts_that_are_no_filter_are_refused() {
        for text in ["", "0", "0g", "012"] {
            assert!(serde_json::from_value::<Bloom>(text.into()).is_err(), "{text}");
        }
    }
}

//! Scanner for the text of a usual ad: names, plain literals, and the ends of other expressions.

use crate::text::number;

/// A place in the text of an ad.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'t> {
    text: &'t str,
    at: usize,
}

/// Whether an expression may end at the byte, or the byte changes how the end is found.
fn matters(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b';' | b'/')
}

impl<'t> Scan<'t> {
    /// The start of a text.
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether nothing follows.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Moves past this byte, if it is the next one.
    pub(crate) fn accept(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// Moves past white space.
    pub(crate) fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// An identifier.
    pub(crate) fn word(&mut self) -> Option<&'t str> {
        if self.peek()?.is_ascii_digit() {
            return None;
        }
        let length = self.rest().iter().take_while(|byte| is_word(**byte)).count();
        let word = self.text.get(self.at..self.at + length).filter(|word| !word.is_empty());
        self.at += length;
        word
    }

    /// This identifier, if it is the one that stands here.
    pub(crate) fn accept_word(&mut self, word: &str) -> Option<()> {
        let after = self.rest().strip_prefix(word.as_bytes())?;
        (!after.first().is_some_and(|byte| is_word(*byte))).then(|| self.at += word.len())
    }

    /// These bytes, if they stand here.
    pub(crate) fn accept_bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.rest().starts_with(bytes).then(|| self.at += bytes.len())
    }

    /// The bytes between another place and this one.
    pub(crate) fn since(&self, start: Self) -> &'t [u8] {
        self.text.as_bytes().get(start.at..self.at).unwrap_or_default()
    }

    /// Moves to the end of an attribute if only blanks precede it.
    pub(crate) fn ends(&mut self) -> Option<()> {
        self.end_at(self.at)
    }

    fn end_at(&mut self, at: usize) -> Option<()> {
        let mut ahead = Self { text: self.text, at };
        ahead.blanks();
        matches!(ahead.peek(), Some(b';' | b']')).then(|| self.at = ahead.at)
    }

    /// The inside of a string without escapes that is the whole expression.
    pub(crate) fn plain_string(&mut self) -> Option<&'t str> {
        let start = self.at + 1;
        let end = start + string_end(self.text.as_bytes().get(start..)?)?;
        if self.text.as_bytes().get(end) != Some(&b'"') {
            return None;
        }
        self.end_at(end + 1)?;
        self.text.get(start..end)
    }

    /// An integer or a real of digits only that is the whole expression, and its length.
    pub(crate) fn plain_number(&mut self) -> Option<(number::Number, usize)> {
        // So many digits always fit.
        const DIGITS_MAX: usize = 18;
        let rest = self.rest();
        let (value, digits) = digits(rest);
        if rest.get(digits) == Some(&b'.') {
            let fraction = self::digits(rest.get(digits + 1..)?).1;
            let end = self.at + digits + 1 + fraction;
            let text = self.text.get(self.at..end).filter(|_| fraction > 0)?;
            self.end_at(end)?;
            return text.parse().ok().map(|real| (number::Number::Real(real), text.len()));
        }
        if digits > DIGITS_MAX || digits > 1 && rest.first() == Some(&b'0') {
            return None;
        }
        self.end_at(self.at + digits)?;
        Some((number::Number::Integer(value), digits))
    }

    /// The text up to the semicolon or the bracket that ends it, without blanks around it.
    pub(crate) fn expression(&mut self) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut open = 0_usize;
        loop {
            self.at += self.rest().iter().position(|byte| matters(*byte))?;
            match self.peek()? {
                b'"' => self.string()?,
                b'(' | b'[' | b'{' => open += 1,
                b';' | b']' if open == 0 => break,
                b')' | b']' | b'}' => open = open.checked_sub(1)?,
                // A quoted name, or maybe a comment.
                b'\'' => return None,
                b'/' if matches!(bytes.get(self.at + 1), Some(b'/' | b'*')) => return None,
                _ => {}
            }
            self.at += 1;
        }
        let text = self.text.get(start..self.at)?.trim_end_matches([' ', '\t', '\n', '\r']);
        // `=` and this must not have been `==`, `=?=` or `=!=`.
        if text.is_empty() || text.starts_with(['=', '?', '!']) { None } else { Some(text) }
    }

    /// The text up to the end or to a `&&` outside brackets, without blanks around it, and the place of its end.
    pub(crate) fn condition(&mut self) -> Option<(&'t str, usize)> {
        self.blanks();
        let start = self.at;
        let mut open = 0_usize;
        let joins = |byte: &u8| matches!(byte, b'"' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'&');
        loop {
            self.at += self.rest().iter().position(joins).unwrap_or(self.rest().len());
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'(' | b'[' | b'{') => open += 1,
                Some(b')' | b']' | b'}') => open = open.checked_sub(1)?,
                Some(b'&') if open == 0 && self.rest().starts_with(b"&&") => break,
                Some(_) => {}
                None => break,
            }
            self.at += 1;
        }
        let text = self.text.get(start..self.at)?.trim_end_matches([' ', '\t', '\n', '\r']);
        Some((text, start + text.len()))
    }

    /// Moves on to the quote that ends a string.
    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += string_end(self.rest())?;
            match self.peek()? {
                b'"' => return Some(()),
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The number that the digits at the start make, if they are few, and how many they are.
fn digits(text: &[u8]) -> (i64, usize) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold((0_i64, 0), |(value, count), digit| {
        (value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), count + 1)
    })
}

/// The place of the first quote, backslash or NUL in the text: eight bytes at a time, because most text is in strings.
fn string_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let bytes = u64::from_le_bytes(*word);
        let found = zero_byte(bytes) | zero_byte(bytes ^ every(b'"')) | zero_byte(bytes ^ every(b'\\'));
        if found != 0 {
            return Some(at + first_byte(found));
        }
        at += size_of::<u64>();
    }
    let matters = |byte: &u8| matches!(byte, b'"' | b'\\' | 0);
    text.get(at..)?.iter().position(matters).map(|place| at + place)
}

/// A word of this byte only.
const fn every(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Not 0 if and only if one of the eight bytes is 0; the lowest bit that is set stands in the first such byte.
fn zero_byte(bytes: u64) -> u64 {
    bytes.wrapping_sub(every(1)) & !bytes & every(0x80)
}

/// The number of the byte in which the lowest bit of a word stands that is set.
fn first_byte(bits: u64) -> usize {
    usize::try_from(bits.trailing_zeros() / u8::BITS).unwrap_or(0)
}

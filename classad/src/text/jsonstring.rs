//! Strings of JSON, decoded, with the place in the source of each byte.

use crate::diagnostic::Span;
use crate::text::mistake;
use crate::text::report::{Report, Reported};

/// A decoded string.
pub(crate) struct Decoded {
    /// The characters.
    pub(crate) text: String,
    /// The place in the source after its closing quote.
    pub(crate) end: usize,
    // INVARIANT: one place for each byte of the text, and one for its end.
    places: Vec<usize>,
}

impl Decoded {
    /// The span in the source of a span of the text.
    pub(crate) fn place(&self, span: Span) -> Span {
        let at = |index: usize| self.places.get(index).copied().unwrap_or(self.end);
        Span::new(at(span.start), at(span.end))
    }
}

/// The string that begins with the quote at `start`.
pub(crate) fn decode<'t>(report: &mut Report<'t>, start: usize) -> Result<Decoded, Reported> {
    let source: &'t str = report.source();
    let mut decoded = Decoded { text: String::new(), end: start + 1, places: Vec::new() };
    loop {
        let at = decoded.end;
        let mut rest = source.get(at..).unwrap_or_default().chars();
        let character = match rest.next() {
            None => return Err(mistake::open_quote(report, Span::new(start, start + 1), b'"')),
            Some('"') => {
                decoded.places.push(at);
                decoded.end += 1;
                return Ok(decoded);
            }
            Some('\\') => escape(report, at, &mut decoded.end)?,
            Some('\0') => return Err(mistake::nul(report, Span::new(at, at + 1), mistake::Nul::Byte)),
            Some(character) if character < ' ' => {
                let hint = Some(format!("write `\\u{:04x}`", u32::from(character)));
                let message = "a string of JSON cannot hold a line break or another control character".to_owned();
                return Err(report.error("json", Span::new(at, at + 1), message, hint));
            }
            Some(character) => {
                decoded.end += character.len_utf8();
                character
            }
        };
        decoded.places.extend(std::iter::repeat_n(at, character.len_utf8()));
        decoded.text.push(character);
    }
}

/// The character that the escape at `start` stands for.
fn escape(report: &mut Report<'_>, start: usize, end: &mut usize) -> Result<char, Reported> {
    let rest = report.source().get(start..).unwrap_or_default();
    let letter = rest.chars().nth(1);
    *end = start + 1 + letter.map_or(0, char::len_utf8);
    let character = match letter {
        Some(same @ ('"' | '\\' | '/')) => Some(same),
        Some('b') => Some('\x08'),
        Some('f') => Some('\x0c'),
        Some('n') => Some('\n'),
        Some('r') => Some('\r'),
        Some('t') => Some('\t'),
        Some('u') => {
            let first = unit(rest, 2);
            let second = unit(rest, 8).filter(|_| rest.get(6..8) == Some("\\u"));
            match (first, second) {
                (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
                    *end = start + 12;
                    char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                }
                (Some(code), _) => {
                    *end = start + 6;
                    char::from_u32(code)
                }
                (None, _) => None,
            }
        }
        _ => None,
    };
    let span = Span::new(start, *end);
    match character {
        Some('\0') => Err(mistake::nul(report, span, mistake::Nul::Escape)),
        Some(character) => Ok(character),
        None => {
            let text = report.source().get(start..*end).unwrap_or_default();
            let message = format!("`{}` is not a valid escape sequence", printable(text));
            let hint = Some("JSON has the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u0041".to_owned());
            Err(report.error("json", span, message, hint))
        }
    }
}

/// The text for a message: what does not show is written as an escape.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { one.escape_default().to_string() } else { one.to_string() }).collect()
}

/// Four hexadecimal digits.
fn unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) { u32::from_str_radix(digits, 16).ok() } else { None }
}

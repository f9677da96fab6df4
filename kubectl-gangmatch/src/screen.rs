//! Turns texts of others into texts that only show: what moves a cursor, hides or turns text is written as an escape.

use std::borrow::Cow;
use std::io::{Result, Write};

use crds::ad::shows_as_written;

/// The text with escapes for everything that a terminal would obey; lines and tabs stay.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for character in text.chars() {
        if is_shown(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
    }
    Cow::Owned(out)
}

/// Whether a character only shows, or ends a line or a column.
fn is_shown(character: char) -> bool {
    matches!(character, '\n' | '\t') || shows_as_written(character)
}

/// A writer that shows texts so.
pub(crate) struct Screen<W>(pub(crate) W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write_all(shown(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_as_an_escape() {
        assert_eq!(shown("a\u{1b}[31m\u{7}\r\u{202e}\u{9b}b"), "a\\u{1b}[31m\\u{7}\\r\\u{202e}\\u{9b}b");
        assert_eq!(shown("two\tcolumns\nand é"), "two\tcolumns\nand é");
    }

    #[test]
    fn a_screen_shows_what_is_written_to_it() {
        let mut screen = Screen(Vec::new());
        writeln!(screen, "\u{1b}[2J and é").unwrap();
        assert_eq!(String::from_utf8(screen.0).unwrap(), "\\u{1b}[2J and é\n");
    }
}

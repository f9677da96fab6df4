//! Turns any text into one line that is safe to show and short enough to store.

use classad::is_identifier;

use super::MESSAGE_LENGTH_MAX;

/// One line of at most [`MESSAGE_LENGTH_MAX`] bytes: control characters escaped, the rest cut off.
#[must_use]
pub fn line(text: &str) -> String {
    clip(text, MESSAGE_LENGTH_MAX)
}

/// A text of a user inside a message, in backticks, at most 80 bytes of it.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", clip(text, 80))
}

fn clip(text: &str, length_max: usize) -> String {
    const MORE: &str = "...";
    let mut out = String::new();
    // How much of the output may stay if more does not fit.
    let mut keep = 0;
    for character in text.chars() {
        if shows_as_written(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
        if out.len() > length_max {
            out.truncate(keep);
            out.push_str(MORE);
            return out;
        }
        if out.len() + MORE.len() <= length_max {
            keep = out.len();
        }
    }
    out
}

/// Whether a character only shows: it does not move a terminal's cursor, end a line, hide, or turn the direction of text.
pub fn shows_as_written(character: char) -> bool {
    !character.is_control() && !is_ignorable(character)
}

/// Whether Unicode calls a character ignorable by default (which includes the marks that turn the direction of text), or a separator of
/// lines.
fn is_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The path of a key below a field: `spec.attributes.Memory`, `spec.attributes["two words"]`.
pub(crate) fn path(field: &str, key: &str) -> String {
    if is_identifier(key) { format!("{field}.{key}") } else { format!("{field}[{key:?}]") }
}

#[cfg(test)]
mod tests {
    use super::{line, path, quote, shows_as_written};

    #[test]
    fn lines_have_no_controls_and_an_end() {
        assert_eq!(line("a\nb\u{1b}[31m\u{202e}c é"), "a\\nb\\u{1b}[31m\\u{202e}c é");
        for hidden in ['\u{61c}', '\u{2060}', '\u{ad}', '\u{3164}', '\u{fe0f}', '\u{e0041}'] {
            assert!(!shows_as_written(hidden), "{hidden:?}");
        }
        let long = line(&"é".repeat(2000));
        assert!(long.len() <= 1024 && long.ends_with("é..."), "{}", long.len());
        assert_eq!(line(&"x".repeat(1024)).len(), 1024);
        assert!(quote(&"x".repeat(100)).len() <= 82);
    }

    #[test]
    fn paths_name_any_key() {
        assert_eq!(path("spec.attributes", "Memory"), "spec.attributes.Memory");
        assert_eq!(path("spec.attributes", "two words"), "spec.attributes[\"two words\"]");
        assert_eq!(path("a", ""), "a[\"\"]");
    }
}

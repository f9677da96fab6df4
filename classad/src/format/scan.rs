//! The tokens of a text that is valid, each with the comments before and after it.

use crate::text::lexer;

/// A token with the comments around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// As it is written; empty for the end of the text.
    pub(super) text: String,
    /// Comments on lines of their own before it, and comments before the first word.
    pub(super) before: Vec<Comment>,
    /// Comments after it on its line.
    pub(super) after: Vec<Comment>,
    /// Whether an empty line stands before it, or before its first comment.
    pub(super) gap: bool,
    /// Whether white space stands before it.
    pub(super) spaced: bool,
}

/// A comment as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    /// Its text, delimiters included.
    pub(super) text: String,
    /// Whether an empty line stands before it.
    pub(super) gap: bool,
}

/// Symbols of more than one character, longer ones first.
const SYMBOLS: [&str; 13] = [">>>", "=?=", "=!=", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "?:", "//"];

/// The words of a text, the last one empty: it holds the comments at the end.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut next = Word::default();
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let blank = rest.get(..rest.len() - trimmed.len()).unwrap_or_default();
        let lines = blank.matches('\n').count();
        rest = trimmed;
        if let Some(length) = comment(rest) {
            let (comment, tail) = split(rest, length);
            let comment = Comment { text: comment.trim_end().replace('\r', ""), gap: lines > 1 };
            rest = tail;
            // What stands on a word's line belongs to it, unless a comment before it has gone to a line of its own.
            match words.last_mut() {
                Some(last) if lines == 0 && next.before.is_empty() && !ended(last) => last.after.push(comment),
                _ => next.before.push(comment),
            }
            continue;
        }
        next.gap = next.before.first().map_or(lines > 1, |first| first.gap);
        let (word, tail) = split(rest, word(rest));
        next.spaced = !blank.is_empty();
        next.text = tidy(word);
        rest = tail;
        let end = next.text.is_empty();
        words.push(std::mem::take(&mut next));
        if end {
            return words;
        }
    }
}

/// Whether the line ended with the last comment after a word.
fn ended(word: &Word) -> bool {
    word.after.last().is_some_and(|comment| comment.text.starts_with("//"))
}

fn split(text: &str, length: usize) -> (&str, &str) {
    text.split_at_checked(length).unwrap_or((text, ""))
}

/// `? :` is one word.
fn tidy(word: &str) -> String {
    if word.starts_with('?') && word.ends_with(':') { "?:".to_owned() } else { word.to_owned() }
}

/// The length of the comment that the text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        Some(text.find('\n').unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        Some(text.get(2..)?.find("*/")? + 4)
    } else {
        None
    }
}

/// The length of the word that the text begins with.
fn word(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let letter = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let after = text.get(first.len_utf8()..).unwrap_or_default();
    if first == '"' || first == '\'' {
        return quoted(text, first);
    }
    if first.is_ascii_digit() || first == '.' && after.starts_with(|next: char| next.is_ascii_digit()) {
        return number(text);
    }
    if letter(first) {
        return text.find(|character| !letter(character)).unwrap_or(text.len());
    }
    let symbol = || SYMBOLS.iter().find(|symbol| text.starts_with(*symbol)).map(|symbol| symbol.len());
    lexer::elvis(text).or_else(symbol).unwrap_or(first.len_utf8())
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number(text: &str) -> usize {
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let exponent = matches!(before, 'e' | 'E') && matches!(character, '+' | '-');
        if !(character.is_ascii_alphanumeric() || character == '.' || character == '_' || exponent) {
            return at;
        }
        before = character;
    }
    text.len()
}

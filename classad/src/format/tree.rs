//! Builds documents from tokens: the grammar once more, for layout only. The text has been parsed, so nothing here is refused.

use crate::expr::BinaryOp;
use crate::format::layout::Doc;
use crate::format::scan::{Comment, Word};
use crate::text::lexer;

/// The document of a whole text.
pub(super) fn document(words: &[Word]) -> Vec<Doc> {
    let words = normalized(words);
    let mut builder = Builder { words: &words, at: 0 };
    let mut parts = Vec::new();
    let whole_ad = builder.is("[") && builder.closes_at_end();
    if whole_ad {
        parts = builder.ad();
    } else {
        parts.push(Doc::Group(builder.expr(true)));
    }
    // Whatever is left, such as the comments at the end.
    while builder.at < words.len() {
        builder.word(&mut parts);
    }
    parts
}

/// Exactly one `;` after each attribute, with the comments of the line after it.
fn normalized(words: &[Word]) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    let mut brackets: Vec<bool> = Vec::new();
    let mut moved: Vec<Comment> = Vec::new();
    for word in words {
        let mut word = word.clone();
        let in_ad = brackets.last() == Some(&true);
        match word.text.as_str() {
            "[" => brackets.push(!out.last().is_some_and(ends_operand)),
            "(" | "{" => brackets.push(false),
            ")" | "}" => {
                brackets.pop();
            }
            "]" => {
                brackets.pop();
                if in_ad && out.last().is_some_and(|last| last.text != ";" && last.text != "[") {
                    end_attribute(&mut out, Word { text: ";".to_owned(), ..Word::default() }, &mut moved);
                }
            }
            ";" if in_ad => {
                if out.last().is_some_and(|last| last.text == ";" || last.text == "[") {
                    moved.append(&mut word.before);
                    moved.append(&mut word.after);
                } else {
                    end_attribute(&mut out, word, &mut moved);
                }
                continue;
            }
            _ => {}
        }
        if !moved.is_empty() {
            moved.append(&mut word.before);
            word.before = std::mem::take(&mut moved);
            word.gap = false;
        }
        out.push(word);
    }
    out
}

/// Adds the `;` with the comments of the line; those that cannot stay on it go to the next word.
fn end_attribute(out: &mut Vec<Word>, mut semicolon: Word, moved: &mut Vec<Comment>) {
    let mut after = out.last_mut().map(|last| std::mem::take(&mut last.after)).unwrap_or_default();
    moved.append(&mut semicolon.before);
    after.append(&mut semicolon.after);
    let line = after.iter().position(|comment| comment.text.starts_with("//")).map_or(after.len(), |last| last + 1);
    let mut rest = after.split_off(line);
    rest.append(moved);
    *moved = rest;
    semicolon.after = after;
    out.push(semicolon);
}

/// Whether an operand can end with the word, so that a bracket after it is a subscript.
fn ends_operand(word: &Word) -> bool {
    let text = word.text.as_str();
    if lexer::operator(text).is_some() {
        return false;
    }
    matches!(text, ")" | "]" | "}")
        || text.starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '_' | '"' | '\''))
        || text.len() > 1 && text.starts_with('.')
}

fn precedence(word: &str) -> Option<u8> {
    lexer::operator(word).map(BinaryOp::precedence)
}

struct Builder<'w> {
    words: &'w [Word],
    at: usize,
}

impl Builder<'_> {
    fn text(&self) -> &str {
        self.words.get(self.at).map_or("", |word| &word.text)
    }

    fn is(&self, text: &str) -> bool {
        self.text() == text
    }

    fn gap(&self) -> bool {
        self.words.get(self.at).is_some_and(|word| word.gap)
    }

    /// Whether the bracket here is closed by the last word of the text.
    fn closes_at_end(&self) -> bool {
        let mut open = 0_usize;
        let close = self.words.iter().position(|word| {
            match word.text.as_str() {
                "[" | "(" | "{" => open += 1,
                "]" | ")" | "}" => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0
        });
        close.is_some_and(|close| close + 2 == self.words.len())
    }

    /// Takes the next word with its comments.
    fn word(&mut self, into: &mut Vec<Doc>) {
        let Some(word) = self.words.get(self.at) else { return };
        self.at += 1;
        into.extend(word.before.iter().map(|comment| Doc::Alone(comment.text.clone())));
        if !word.text.is_empty() {
            into.push(Doc::text(&word.text));
        }
        into.extend(word.after.iter().map(|comment| Doc::After(comment.text.clone())));
    }

    /// An expression; `nested` if its further lines are moved to the right.
    fn expr(&mut self, nested: bool) -> Vec<Doc> {
        let mut parts = vec![Doc::Group(self.binary(0, nested))];
        while self.is("?") {
            for sign in ["?", ":"] {
                let mut part = vec![Doc::Line { gap: false }];
                if !self.is(sign) {
                    return parts;
                }
                self.word(&mut part);
                part.push(Doc::Space);
                part.push(Doc::Group(if sign == "?" { self.expr(true) } else { self.binary(0, true) }));
                parts.push(Doc::Nest(part));
            }
        }
        parts
    }

    /// Operands joined by operators that bind tighter than `floor`.
    fn binary(&mut self, floor: u8, nested: bool) -> Vec<Doc> {
        let mut parts = self.unary();
        while let Some(level) = precedence(self.text()).filter(|level| *level > floor) {
            // What is joined so far is the left operand; operands of the same level stand in one column.
            if parts.len() > 1 {
                parts = vec![Doc::Group(parts)];
            }
            while precedence(self.text()) == Some(level) {
                let mut part = vec![Doc::Line { gap: false }];
                self.word(&mut part);
                part.push(Doc::Space);
                part.push(Doc::Group(self.binary(level, true)));
                if nested {
                    parts.push(Doc::Nest(part));
                } else {
                    parts.append(&mut part);
                }
            }
        }
        parts
    }

    fn unary(&mut self) -> Vec<Doc> {
        let mut parts = Vec::new();
        while matches!(self.text(), "-" | "+" | "!" | "~") {
            self.word(&mut parts);
            // `- 5` is an operator and its operand, `-5` a number.
            if self.words.get(self.at).is_some_and(|next| next.spaced && number(&next.text)) {
                parts.push(Doc::Space);
            }
        }
        self.postfix(&mut parts);
        parts
    }

    fn postfix(&mut self, parts: &mut Vec<Doc>) {
        self.primary(parts);
        loop {
            match self.text() {
                "." => {
                    // `1 .x` is a selection, `1.x` is none.
                    if self.at.checked_sub(1).and_then(|at| self.words.get(at)).is_some_and(|word| number(&word.text)) {
                        parts.push(Doc::Space);
                    }
                    self.word(parts);
                    self.word(parts);
                }
                "[" => self.bracketed(parts, "]", &Doc::Break),
                "?:" => {
                    parts.push(Doc::Space);
                    self.word(parts);
                    parts.push(Doc::Space);
                    return self.postfix(parts);
                }
                _ => return,
            }
        }
    }

    fn primary(&mut self, parts: &mut Vec<Doc>) {
        match self.text() {
            "[" => {
                let ad = self.ad();
                parts.push(Doc::Group(ad));
            }
            "{" => self.bracketed(parts, "}", &Doc::Line { gap: false }),
            "(" => {
                let mut group = Vec::new();
                self.word(&mut group);
                let mut inside = vec![Doc::Break];
                inside.extend(self.expr(false));
                group.extend([Doc::Nest(inside), Doc::Break]);
                self.word(&mut group);
                parts.push(Doc::Group(group));
            }
            "." => {
                self.word(parts);
                self.word(parts);
            }
            first => {
                let quote = first.chars().next().filter(|quote| matches!(quote, '"' | '\''));
                self.word(parts);
                // Strings next to each other are one.
                while quote.is_some_and(|quote| self.text().starts_with(quote)) {
                    parts.push(Doc::Line { gap: false });
                    self.word(parts);
                }
                if self.is("(") {
                    self.bracketed(parts, ")", &Doc::Break);
                }
            }
        }
    }

    /// Expressions in brackets, with `edge` inside them.
    fn bracketed(&mut self, parts: &mut Vec<Doc>, close: &str, edge: &Doc) {
        let mut group = Vec::new();
        self.word(&mut group);
        let mut inside = vec![edge.clone()];
        let mut items = 0;
        while !self.is(close) && !self.text().is_empty() {
            inside.push(Doc::Group(self.expr(true)));
            items += 1;
            if matches!(self.text(), "," | ";") {
                self.word(&mut inside);
                inside.push(Doc::Line { gap: false });
            }
        }
        if items > 0 {
            group.extend([Doc::Nest(inside), edge.clone()]);
        }
        self.word(&mut group);
        parts.push(Doc::Group(group));
    }

    /// An ad: one attribute a line where it is broken.
    fn ad(&mut self) -> Vec<Doc> {
        let mut parts = Vec::new();
        self.word(&mut parts);
        let mut inside = Vec::new();
        while !self.is("]") && !self.text().is_empty() {
            inside.push(Doc::Line { gap: !inside.is_empty() && self.gap() });
            self.word(&mut inside);
            inside.push(Doc::Space);
            self.word(&mut inside);
            inside.push(Doc::Space);
            inside.push(Doc::Group(self.expr(true)));
            let plain = self.words.get(self.at).is_some_and(|word| word.before.is_empty() && word.after.is_empty());
            let last = self.words.get(self.at + 1).is_some_and(|next| next.text == "]");
            if last && plain {
                self.at += 1;
                inside.push(Doc::IfBroken(";"));
            } else {
                self.word(&mut inside);
            }
        }
        if !inside.is_empty() {
            parts.extend([Doc::Nest(inside), Doc::Line { gap: false }]);
        }
        self.word(&mut parts);
        parts
    }
}

fn number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        || word.strip_prefix('.').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

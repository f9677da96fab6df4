//! The lexer: splits text into tokens. Errors are collected; none stops it.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::expr::BinaryOp;
use crate::text::mistake;
use crate::text::number;
use crate::text::report::Report;
use crate::text::token::{Token, TokenKind};

/// How a backslash in a string is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// `\n`, `\101` and so on.
    All,
    /// Only `\"`, as in HTCondor's long form; other backslashes stand for themselves.
    QuoteOnly,
}

/// The tokens of a part of the text of the report; the last is [`TokenKind::End`].
pub(crate) fn tokens(within: Span, dialect: Dialect, escapes: Escapes, report: &mut Report<'_>) -> Vec<Token> {
    let source = report.source();
    let text = source.get(..within.end).unwrap_or(source);
    let mut lexer = Lexer::new(text, dialect, escapes, report);
    lexer.at = within.start;
    while lexer.token() {}
    lexer.tokens
}

/// Whether there is a comment between the tokens.
pub(crate) fn has_comments(text: &str, escapes: Escapes) -> bool {
    let mut report = Report::new(text, Dialect::Htcondor);
    let mut lexer = Lexer::new(text, Dialect::Htcondor, escapes, &mut report);
    while lexer.token() {}
    lexer.comments > 0
}

struct Lexer<'t, 'r> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
    escapes: Escapes,
    report: &'r mut Report<'t>,
    tokens: Vec<Token>,
    comments: usize,
}

impl<'t, 'r> Lexer<'t, 'r> {
    fn new(text: &'t str, dialect: Dialect, escapes: Escapes, report: &'r mut Report<'t>) -> Self {
        Self { text, at: 0, dialect, escapes, report, tokens: Vec::new(), comments: 0 }
    }

    /// Adds the next token; false after the end.
    fn token(&mut self) -> bool {
        if let Err(start) = self.skip_blanks() {
            mistake::open_comment(self.report, Span::new(start, start + 2));
            self.at = self.text.len();
            self.push(start, TokenKind::Bad);
        }
        let start = self.at;
        let Some(first) = self.peek(0) else {
            self.push(start, TokenKind::End);
            return false;
        };
        let kind = match first {
            b'"' | b'\'' => self.quoted(first),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.word(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number(),
            b'-' if self.minus_belongs_to_literal() => self.number(),
            _ => self.symbol(),
        };
        self.push(start, kind);
        true
    }

    fn push(&mut self, start: usize, kind: TokenKind) {
        self.tokens.push(Token { kind, span: Span::new(start, self.at) });
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek(0).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)) {
            self.at += 1;
        }
    }

    /// Skips white space and comments; the error is the start of a comment that does not end.
    fn skip_blanks(&mut self) -> Result<(), usize> {
        loop {
            self.skip_spaces();
            let rest = self.text.get(self.at..).unwrap_or_default();
            if rest.starts_with("//") {
                self.comments += 1;
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.comments += 1;
                let inside = rest.get(2..).unwrap_or_default();
                self.at += inside.find("*/").ok_or(self.at)? + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        while self.peek(0).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        TokenKind::reserved(word).unwrap_or_else(|| TokenKind::Name(word.into()))
    }

    /// Whether the minus sign here is the sign of a number rather than an operator.
    fn minus_belongs_to_literal(&self) -> bool {
        let digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
        let number = digit(self.peek(1)) || self.peek(1) == Some(b'.') && digit(self.peek(2));
        number && !self.tokens.last().is_some_and(|token| token.kind.ends_operand())
    }

    fn number(&mut self) -> TokenKind {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (length, number) = number::scan(rest, self.dialect);
        let span = Span::new(self.at, self.at + length);
        self.at = span.end;
        match number {
            Ok(number::Number::Integer(value)) => TokenKind::Integer(value),
            Ok(number::Number::Real(value)) => TokenKind::Real(value),
            Err(fault) => {
                mistake::number(self.report, span, rest.get(..length).unwrap_or_default(), self.dialect, fault);
                TokenKind::Bad
            }
        }
    }

    /// A string or a quoted name with the pieces that follow it; they make one token.
    fn quoted(&mut self, quote: u8) -> TokenKind {
        let start = self.at;
        let mut bytes = Vec::new();
        let mut sound = true;
        loop {
            sound &= self.piece(quote, &mut bytes);
            let end = self.at;
            self.skip_spaces();
            if self.peek(0) != Some(quote) {
                self.at = end;
                break;
            }
        }
        let span = Span::new(start, self.at);
        if !sound {
            return TokenKind::Bad;
        }
        let Ok(text) = String::from_utf8(bytes) else {
            mistake::not_unicode(self.report, span);
            return TokenKind::Bad;
        };
        match quote {
            b'"' => TokenKind::String(text.into()),
            _ => self.quoted_name(span, text.into()),
        }
    }

    fn quoted_name(&mut self, span: Span, text: Arc<str>) -> TokenKind {
        if text.is_empty() && self.dialect == Dialect::Gangmatch {
            mistake::empty_name(self.report, span);
            return TokenKind::Bad;
        }
        if self.dialect == Dialect::Gangmatch && mistake::quoted_time(self.report, span, &text) {
            return TokenKind::Bad;
        }
        TokenKind::QuotedName(text)
    }

    /// One quoted piece; false if it is invalid.
    fn piece(&mut self, quote: u8, bytes: &mut Vec<u8>) -> bool {
        let start = self.at;
        self.at += 1;
        let mut sound = true;
        loop {
            match self.peek(0) {
                None => {
                    mistake::open_quote(self.report, Span::new(start, start + 1), quote);
                    return false;
                }
                Some(byte) if byte == quote => {
                    self.at += 1;
                    return sound;
                }
                Some(b'\\') if self.escapes == Escapes::All => {
                    let escape = self.at;
                    match self.escape() {
                        Some(0) => {
                            mistake::nul(self.report, Span::new(escape, self.at), mistake::Nul::Escape);
                            sound = false;
                        }
                        Some(byte) => bytes.push(byte),
                        None => {}
                    }
                }
                Some(b'\\') if self.peek(1) == Some(b'"') && !self.at_line_end(2) => {
                    bytes.push(b'"');
                    self.at += 2;
                }
                // It could not be printed so that it parses to the same.
                Some(0) => {
                    self.at += 1;
                    mistake::nul(self.report, Span::new(self.at - 1, self.at), mistake::Nul::Byte);
                    sound = false;
                }
                Some(byte) => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// Whether only blanks follow: then `\"` in the long form is a backslash and the closing quote.
    fn at_line_end(&self, ahead: usize) -> bool {
        let rest = self.text.get(self.at + ahead..).unwrap_or_default();
        rest.trim_start_matches([' ', '\t', '\r']).bytes().next().is_none_or(|byte| byte == b'\n')
    }

    /// The byte an escape stands for; none at the end of the text.
    fn escape(&mut self) -> Option<u8> {
        self.at += 1;
        let letter = self.peek(0)?;
        self.at += 1;
        Some(match letter {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'0'..=b'7' => self.octal(letter - b'0'),
            other => other,
        })
    }

    /// Up to three octal digits, the third only while the value fits a byte.
    fn octal(&mut self, first: u8) -> u8 {
        let mut value = first;
        for _ in 0..2 {
            match self.peek(0) {
                Some(digit @ b'0'..=b'7') if value < 0o40 => {
                    value = value * 8 + (digit - b'0');
                    self.at += 1;
                }
                _ => break,
            }
        }
        value
    }

    fn symbol(&mut self) -> TokenKind {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if let Some(length) = elvis(rest) {
            self.at += length;
            return TokenKind::Elvis;
        }
        if let Some((symbol, kind)) = SYMBOLS
            .iter()
            .find(|(symbol, _)| symbol.as_bytes().first() == rest.as_bytes().first() && rest.starts_with(symbol))
        {
            self.at += symbol.len();
            return kind.clone();
        }
        let length = rest.chars().next().map_or(1, char::len_utf8);
        let start = self.at;
        self.at += length;
        let character = rest.get(..length).unwrap_or_default();
        mistake::character(self.report, Span::new(start, self.at), character);
        TokenKind::Bad
    }
}

/// The length of `?:`, blanks inside counted.
pub(crate) fn elvis(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('?')?;
    let colon = after.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    colon.starts_with(':').then(|| rest.len() - colon.len() + 1)
}

/// Longer symbols first.
const SYMBOLS: [(&str, TokenKind); 35] = [
    ("=?=", TokenKind::Operator(BinaryOp::Is)),
    ("=!=", TokenKind::Operator(BinaryOp::Isnt)),
    (">>>", TokenKind::Operator(BinaryOp::ShiftRightUnsigned)),
    ("==", TokenKind::Operator(BinaryOp::Equal)),
    ("!=", TokenKind::Operator(BinaryOp::NotEqual)),
    ("<=", TokenKind::Operator(BinaryOp::LessEqual)),
    (">=", TokenKind::Operator(BinaryOp::GreaterEqual)),
    ("<<", TokenKind::Operator(BinaryOp::ShiftLeft)),
    (">>", TokenKind::Operator(BinaryOp::ShiftRight)),
    ("&&", TokenKind::Operator(BinaryOp::And)),
    ("||", TokenKind::Operator(BinaryOp::Or)),
    ("<", TokenKind::Operator(BinaryOp::Less)),
    (">", TokenKind::Operator(BinaryOp::Greater)),
    ("&", TokenKind::Operator(BinaryOp::BitAnd)),
    ("|", TokenKind::Operator(BinaryOp::BitOr)),
    ("^", TokenKind::Operator(BinaryOp::BitXor)),
    ("+", TokenKind::Operator(BinaryOp::Add)),
    ("-", TokenKind::Operator(BinaryOp::Subtract)),
    ("*", TokenKind::Operator(BinaryOp::Multiply)),
    ("/", TokenKind::Operator(BinaryOp::Divide)),
    ("%", TokenKind::Operator(BinaryOp::Remainder)),
    ("!", TokenKind::Not),
    ("~", TokenKind::Tilde),
    ("=", TokenKind::Assign),
    ("?", TokenKind::Question),
    (":", TokenKind::Colon),
    (".", TokenKind::Dot),
    (",", TokenKind::Comma),
    (";", TokenKind::Semicolon),
    ("(", TokenKind::OpenParen),
    (")", TokenKind::CloseParen),
    ("[", TokenKind::OpenBracket),
    ("]", TokenKind::CloseBracket),
    ("{", TokenKind::OpenBrace),
    ("}", TokenKind::CloseBrace),
];

/// The binary operator with this text, if there is one.
pub(crate) fn operator(text: &str) -> Option<BinaryOp> {
    let symbol = || SYMBOLS.iter().find(|(symbol, _)| *symbol == text).map(|(_, kind)| kind.clone());
    match TokenKind::reserved(text).or_else(symbol)? {
        TokenKind::Operator(op) => Some(op),
        _ => None,
    }
}

/// The first characters of the tokens of a text, up to the first that is not an opening bracket.
pub(crate) fn first_characters(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let (character, after) = first(rest?)?;
        rest = matches!(character, '[' | '{').then_some(after);
        Some(character)
    })
}

/// The first character after white space and comments.
pub(crate) fn first_character(text: &str) -> Option<char> {
    first(text).map(|(character, _)| character)
}

fn first(text: &str) -> Option<(char, &str)> {
    let mut report = Report::new(text, Dialect::Htcondor);
    let mut lexer = Lexer::new(text, Dialect::Htcondor, Escapes::All, &mut report);
    lexer.skip_blanks().ok()?;
    let rest = text.get(lexer.at..)?;
    let character = rest.chars().next()?;
    Some((character, rest.get(character.len_utf8()..)?))
}

//! A place in the tokens of a text, and what was found wrong before it.

use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::text::report::Report;
use crate::text::token::{Token, TokenKind};

/// The tokens of one text, read one after the other.
pub(crate) struct Cursor<'p, 't> {
    tokens: &'p [Token],
    /// The place of the next token.
    at: usize,
    /// The dialect of the text.
    pub(crate) dialect: Dialect,
    /// Errors and warnings.
    pub(crate) report: &'p mut Report<'t>,
}

static END: Token = Token { kind: TokenKind::End, span: Span { start: 0, end: 0 } };

impl<'p, 't> Cursor<'p, 't> {
    /// The beginning of tokens that end with [`TokenKind::End`].
    pub(crate) fn new(tokens: &'p [Token], dialect: Dialect, report: &'p mut Report<'t>) -> Self {
        Self { tokens, at: 0, dialect, report }
    }

    /// The next token.
    pub(crate) fn peek(&self) -> &'p Token {
        self.look(0)
    }

    /// The token `ahead` of the next one; [`TokenKind::End`] past the end.
    pub(crate) fn look(&self, ahead: usize) -> &'p Token {
        self.tokens.get(self.at + ahead).or(self.tokens.last()).unwrap_or(&END)
    }

    /// The token before the next one.
    pub(crate) fn previous(&self) -> Option<&'p Token> {
        self.at.checked_sub(1).and_then(|before| self.tokens.get(before))
    }

    /// Goes past the next token.
    pub(crate) fn advance(&mut self) -> &'p Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    /// Goes past the next token, if it is of this kind.
    pub(crate) fn accept(&mut self, kind: &TokenKind) -> Option<Span> {
        (self.peek().kind == *kind).then(|| self.advance().span)
    }

    /// Continues after an error: at the next semicolon or at the closing bracket of the ad opened at `open`. False at the end.
    pub(crate) fn recover(&mut self, open: Span) -> bool {
        let mut opened = 0_usize;
        let start = self.tokens.partition_point(|token| token.span.start <= open.start);
        for (index, token) in self.tokens.iter().enumerate().skip(start) {
            let past = index >= self.at;
            match token.kind {
                TokenKind::OpenParen | TokenKind::OpenBracket | TokenKind::OpenBrace => opened += 1,
                TokenKind::CloseBracket if past && opened == 0 => {
                    self.at = index;
                    return true;
                }
                TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace => {
                    opened = opened.saturating_sub(1);
                }
                TokenKind::Semicolon if past && opened == 0 => {
                    self.at = index;
                    return true;
                }
                _ => {}
            }
        }
        false
    }
}

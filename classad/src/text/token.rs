//! The tokens of the language: the output of the lexer, the input of the parser.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::expr::BinaryOp;

/// A token with its place in the source.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// What it is.
    pub(crate) kind: TokenKind,
    /// Where it stands.
    pub(crate) span: Span,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// `Memory`
    Name(Arc<str>),
    /// `'odd name'`
    QuotedName(Arc<str>),
    /// `true`, `undefined` and so on, in any case
    Keyword(Keyword),
    /// `7`, `-7`
    Integer(i64),
    /// `1.5`
    Real(f64),
    /// `"text"`
    String(Arc<str>),
    /// An operator with two operands; `+` and `-` may turn out to have one
    Operator(BinaryOp),
    /// `!`
    Not,
    /// `~`
    Tilde,
    /// `=`
    Assign,
    /// `?`
    Question,
    /// `:`
    Colon,
    /// `?:`
    Elvis,
    /// `.`
    Dot,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// Something that the lexer has reported
    Bad,
    /// The end of the text
    End,
}

/// A reserved word that stands for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    True,
    False,
    Undefined,
    Error,
}

impl TokenKind {
    /// The reserved word `text`, in any case.
    pub(crate) fn reserved(text: &str) -> Option<Self> {
        const WORDS: [(&str, TokenKind); 6] = [
            ("true", TokenKind::Keyword(Keyword::True)),
            ("false", TokenKind::Keyword(Keyword::False)),
            ("undefined", TokenKind::Keyword(Keyword::Undefined)),
            ("error", TokenKind::Keyword(Keyword::Error)),
            ("is", TokenKind::Operator(BinaryOp::Is)),
            ("isnt", TokenKind::Operator(BinaryOp::Isnt)),
        ];
        WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, kind)| kind.clone())
    }

    /// Whether the token is a word or a literal.
    fn is_word(&self) -> bool {
        matches!(
            self,
            Self::Name(_) | Self::QuotedName(_) | Self::Keyword(_) | Self::Integer(_) | Self::Real(_) | Self::String(_)
        )
    }

    /// Whether an operand can end here, so that a following minus sign subtracts.
    pub(crate) fn ends_operand(&self) -> bool {
        self.is_word() || matches!(self, Self::CloseParen | Self::CloseBracket | Self::CloseBrace)
    }

    /// Whether an operand can begin here that can stand next to another by mistake.
    pub(crate) fn starts_operand(&self) -> bool {
        self.is_word() || matches!(self, Self::OpenParen | Self::OpenBrace)
    }
}

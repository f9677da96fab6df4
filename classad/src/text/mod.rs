//! Parses and prints trees, in every form that an ad is written in.

pub(crate) mod cursor;
pub(crate) mod json;
mod jsonstring;
pub(crate) mod lexer;
pub(crate) mod longform;
pub(crate) mod mistake;
pub(crate) mod number;
pub(crate) mod parser;
pub(crate) mod print;
pub(crate) mod report;
pub(crate) mod syntax;
pub(crate) mod time;
pub(crate) mod token;
pub(crate) mod write;

use crate::ad::Ad;
use crate::diagnostic::{Diagnostics, Span};
use crate::dialect::Dialect;
use crate::expr::Expr;
use lexer::Escapes;
use parser::{Interner, Parsed, Parser};
use report::Report;

pub use report::Reading;

/// How an ad is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[ Cpus = 4; Memory = 2048 ]`
    Brackets,
    /// `Cpus = 4`, one attribute a line: what `condor_q -long` prints.
    Long,
    /// `{"Cpus": 4, "Memory": 2048}`
    Json,
    /// Decided by the first character: `[` brackets, `{` JSON, anything else the long form.
    Any,
}

/// Reads the whole text as one expression.
///
/// # Errors
/// If the text is not exactly one expression.
pub fn parse_expr(text: &str, dialect: Dialect) -> Result<Expr, Diagnostics> {
    read_expr(text, dialect).into_result()
}

/// Reads the whole text as one ad in brackets.
///
/// # Errors
/// If the text is not exactly one ad.
pub fn parse_ad(text: &str, dialect: Dialect) -> Result<Ad, Diagnostics> {
    read_ad(text, dialect, Form::Brackets).into_result()
}

/// Parses a whole text; names and ads are made by the interner, if there is one.
pub(crate) fn tree<T>(
    text: &str,
    dialect: Dialect,
    interner: Option<&mut (dyn Interner + 'static)>,
    parse: impl FnOnce(Parser<'_, '_>) -> Parsed<T>,
) -> Reading<T> {
    let mut report = Report::new(text, dialect);
    let tokens = lexer::tokens(Span::new(0, text.len()), dialect, Escapes::All, &mut report);
    let read = parse(Parser::new(&tokens, dialect, &mut report).interned(interner));
    report.finish(read)
}

/// Reads HTCondor's long form: one `Name = expression` a line.
///
/// # Errors
/// If a line is not an attribute.
pub fn parse_long(text: &str, dialect: Dialect) -> Result<Ad, Diagnostics> {
    read_ad(text, dialect, Form::Long).into_result()
}

/// Reads HTCondor's JSON form.
///
/// # Errors
/// If the text is not one JSON object, or an expression in it is invalid.
pub fn parse_json(text: &str, dialect: Dialect) -> Result<Ad, Diagnostics> {
    read_ad(text, dialect, Form::Json).into_result()
}

/// Reads the whole text as one expression and keeps the warnings.
#[must_use]
pub fn read_expr(text: &str, dialect: Dialect) -> Reading<Expr> {
    tree(text, dialect, None, |parser| parser.whole_expr())
}

/// Reads an ad and keeps the warnings: an attribute given twice is no error, but rarely intended.
#[must_use]
pub fn read_ad(text: &str, dialect: Dialect, form: Form) -> Reading<Ad> {
    let mut report = Report::new(text, dialect);
    let ad = match form.resolve(text) {
        Form::Long => longform::ad(dialect, &mut report),
        Form::Json => json::ad(dialect, &mut report),
        Form::Brackets | Form::Any => return tree(text, dialect, None, |parser| parser.whole_ad()),
    };
    report.finish(ad)
}

/// Reads all ads of a text, in their order, in whatever form they are; see [`Form::of`]. In brackets and in JSON they may
/// stand one after the other or in a list, in the long form an empty line ends an ad.
#[must_use]
pub fn read_ads(text: &str, dialect: Dialect) -> Reading<Vec<Ad>> {
    let mut report = Report::new(text, dialect);
    let ads = match Form::of(text) {
        Form::Long => longform::ads(dialect, &mut report),
        Form::Json => json::ads(dialect, &mut report),
        Form::Brackets | Form::Any => return tree(text, dialect, None, |parser| parser.whole_ads()),
    };
    report.finish(ads)
}

impl Form {
    /// The form of a text with any number of ads, decided by its first tokens: `[ Name` and `{ [` are brackets, `{ "` and
    /// `[ {` JSON, anything else is the long form.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut characters = lexer::first_characters(text);
        match (characters.next(), characters.next()) {
            (Some('['), Some('{')) => Self::Json,
            (Some('['), _) | (Some('{'), Some('[')) => Self::Brackets,
            (Some('{'), _) => Self::Json,
            _ => Self::Long,
        }
    }

    /// The form meant by [`Form::Any`] for this text.
    fn resolve(self, text: &str) -> Self {
        match (self, lexer::first_character(text)) {
            (Self::Any, Some('[')) => Self::Brackets,
            (Self::Any, Some('{')) => Self::Json,
            (Self::Any, _) => Self::Long,
            (form, _) => form,
        }
    }
}

//! Text into trees and trees into text, in every form an ad is written in.

pub(crate) mod json;
mod jsonstring;
pub(crate) mod lexer;
pub(crate) mod literals;
pub(crate) mod longform;
pub(crate) mod mistake;
pub(crate) mod number;
pub(crate) mod parser;
pub(crate) mod paths;
pub(crate) mod print;
pub(crate) mod reader;
pub(crate) mod report;
pub(crate) mod scan;
pub(crate) mod sharing;
pub(crate) mod syntax;
pub(crate) mod texts;
pub(crate) mod time;
pub(crate) mod token;
pub(crate) mod write;

use crate::ad::Ad;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::dialect::Dialect;
use crate::expr::Expr;
use lexer::Escapes;
use parser::Parser;
use report::Report;
use sharing::Sharing;

/// How an ad is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[ Cpus = 4; Memory = 2048 ]`
    Brackets,
    /// `Cpus = 4`, one attribute a line: what `condor_q -long` prints.
    Long,
    /// `{"Cpus": 4, "Memory": 2048}`
    Json,
    /// Told by the first character: `[` brackets, `{` JSON, anything else the long form.
    Any,
}

/// What reading a text gave: the tree unless there are errors, and every remark, warnings too.
#[derive(Clone, Debug)]
pub struct Reading<T> {
    /// The tree, if no remark is an error.
    pub read: Option<T>,
    /// All remarks in source order, warnings such as "attribute `a` is given twice" among them.
    pub diagnostics: Vec<Diagnostic>,
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

/// The same for one of many ads, with names and shapes that others have too.
pub(crate) fn parse_ad_sharing(text: &str, dialect: Dialect, sharing: &mut Sharing) -> Result<Ad, Diagnostics> {
    let mut report = Report::new(text).in_dialect(dialect);
    let tokens = lexer::tokens(Span::new(0, text.len()), dialect, Escapes::All, &mut report);
    let ad = Parser::new(&tokens, dialect, &mut report).sharing(sharing).whole_ad();
    report.finish(ad).into_result()
}

/// An expression with such names and shapes; none if the text is not exactly one.
pub(crate) fn parse_expr_sharing(text: &str, dialect: Dialect, sharing: &mut Sharing) -> Option<Expr> {
    let mut report = Report::new(text).in_dialect(dialect);
    let tokens = lexer::tokens(Span::new(0, text.len()), dialect, Escapes::All, &mut report);
    let expr = Parser::new(&tokens, dialect, &mut report).sharing(sharing).whole_expr();
    report.finish(expr).read
}

/// Reads HTCondor's long form: one `Name = expression` a line.
///
/// # Errors
/// If a line is no attribute.
pub fn parse_long(text: &str, dialect: Dialect) -> Result<Ad, Diagnostics> {
    read_ad(text, dialect, Form::Long).into_result()
}

/// Reads HTCondor's JSON form.
///
/// # Errors
/// If the text is not one JSON object, or an expression in it is none.
pub fn parse_json(text: &str, dialect: Dialect) -> Result<Ad, Diagnostics> {
    read_ad(text, dialect, Form::Json).into_result()
}

/// Reads an ad in any form.
///
/// # Errors
/// If the text is no ad in the form its first character announces.
pub fn parse_any(text: &str, dialect: Dialect) -> Result<Ad, Diagnostics> {
    read_ad(text, dialect, Form::Any).into_result()
}

/// Reads the whole text as one expression and keeps the warnings.
#[must_use]
pub fn read_expr(text: &str, dialect: Dialect) -> Reading<Expr> {
    let mut report = Report::new(text).in_dialect(dialect);
    let tokens = lexer::tokens(Span::new(0, text.len()), dialect, Escapes::All, &mut report);
    let expr = Parser::new(&tokens, dialect, &mut report).whole_expr();
    report.finish(expr)
}

/// Reads an ad and keeps the warnings: an attribute given twice is no error, but rarely intended.
#[must_use]
pub fn read_ad(text: &str, dialect: Dialect, form: Form) -> Reading<Ad> {
    let mut report = Report::new(text).in_dialect(dialect);
    let ad = match form.resolve(text) {
        Form::Long => longform::ad(dialect, &mut report),
        Form::Json => json::ad(dialect, &mut report),
        Form::Brackets | Form::Any => {
            let tokens = lexer::tokens(Span::new(0, text.len()), dialect, Escapes::All, &mut report);
            Parser::new(&tokens, dialect, &mut report).whole_ad()
        }
    };
    report.finish(ad)
}

/// Reads all ads of a text, in their order, in whatever form they are; see [`Form::of`]. In brackets and in JSON they may
/// stand one after the other or in a list, in the long form an empty line ends an ad.
#[must_use]
pub fn read_ads(text: &str, dialect: Dialect) -> Reading<Vec<Ad>> {
    let mut report = Report::new(text).in_dialect(dialect);
    let ads = match Form::of(text) {
        Form::Long => longform::ads(dialect, &mut report),
        Form::Json => json::ads(dialect, &mut report),
        Form::Brackets | Form::Any => {
            let tokens = lexer::tokens(Span::new(0, text.len()), dialect, Escapes::All, &mut report);
            Parser::new(&tokens, dialect, &mut report).whole_ads()
        }
    };
    report.finish(ads)
}

impl Form {
    /// The form of a text with any number of ads, told by what it begins with: `[ Name` and `{ [` are brackets, `{ "` and
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

impl<T> Reading<T> {
    /// The tree without the warnings, or why there is none.
    ///
    /// # Errors
    /// If a remark is an error.
    pub fn into_result(self) -> Result<T, Diagnostics> {
        self.read.ok_or(Diagnostics::new(self.diagnostics))
    }
}

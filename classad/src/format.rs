//! The formatter: every token and every comment is kept, and lines are broken where they are too long.
//!
//! The layout depends on the tokens and on whether a comment has a line of its own, never on the line breaks of the text; so
//! formatting twice changes nothing.

mod layout;
mod scan;
mod tree;

use crate::diagnostic::Diagnostics;
use crate::dialect::Dialect;
use crate::text::lexer::Escapes;
use crate::text::write::json_text;
use crate::text::{Form, lexer, parse_expr, read_ad, read_ads};

/// Formats the text of an ad in any form, or of an expression; the result ends with a newline.
///
/// An ad in brackets has one attribute a line, long expressions are broken before their loosest operators. The long form
/// keeps its lines, JSON is indented.
///
/// ```
/// use classad::{Dialect, format};
///
/// let text = "[Type=\"Job\";// a job\nRequirements=other.Memory>=28M&&(other.Arch==\"INTEL\"||TRUE);]";
/// assert_eq!(
///     format(text, Dialect::Gangmatch)?,
///     "[\n    Type = \"Job\"; // a job\n    \
///      Requirements = other.Memory >= 28M && (other.Arch == \"INTEL\" || TRUE);\n]\n"
/// );
/// # Ok::<(), classad::Diagnostics>(())
/// ```
///
/// # Errors
/// If the text cannot be read.
pub fn format(text: &str, dialect: Dialect) -> Result<String, Diagnostics> {
    match lexer::first_character(text) {
        Some('[') => match read_ad(text, dialect, Form::Brackets).into_result() {
            Ok(_) => Ok(laid_out(text)),
            // `[a = 1].a` is an expression that begins with an ad.
            Err(wrong) => match (parse_expr(text, dialect), Form::of(text)) {
                (Ok(_), _) => Ok(laid_out(text)),
                (Err(_), Form::Json) => json(text, dialect),
                (Err(_), _) => Err(wrong),
            },
        },
        Some('{') => match parse_expr(text, dialect) {
            Ok(_) => Ok(laid_out(text)),
            Err(_) => json(text, dialect),
        },
        _ => match parse_expr(text, dialect) {
            Ok(_) => Ok(laid_out(text)),
            Err(wrong) => match read_ads(text, dialect).into_result() {
                Ok(_) => Ok(long(text)),
                // A text with one line is an expression with a mistake rather than an ad.
                Err(lines) => Err(if text.trim().contains('\n') { lines } else { wrong }),
            },
        },
    }
}

/// Whether there is a comment in a text with ads, in whatever form they are.
#[must_use]
pub fn has_comments(text: &str) -> bool {
    match Form::of(text) {
        Form::Json => false,
        Form::Long => {
            text.lines().any(|line| line.trim_start().starts_with('#') || lexer::has_comments(line, Escapes::QuoteOnly))
        }
        Form::Brackets | Form::Any => lexer::has_comments(text, Escapes::All),
    }
}

fn laid_out(text: &str) -> String {
    layout::print(&tree::document(&scan::words(text)))
}

/// JSON with its fields in their order, one a line.
fn json(text: &str, dialect: Dialect) -> Result<String, Diagnostics> {
    let ads = read_ads(text, dialect).into_result()?;
    let as_written: Result<serde_json::Value, _> = serde_json::from_str(text);
    Ok(match as_written {
        Ok(value) => format!("{value:#}\n"),
        // Several objects, one after the other, or deeper inside each other than the library reads.
        Err(_) => json_text(&ads),
    })
}

/// One attribute a line stays one attribute a line.
fn long(text: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() {
            blank = !out.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push('\n');
        }
        match line.split_once('=') {
            // A quoted name may contain anything.
            Some((name, value)) if !line.starts_with(['#', '\'']) && !line.starts_with("//") => {
                out.push_str(&format!("{} = {}", name.trim_end(), value.trim_start()));
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

//! HTCondor's long form, one `Name = expression` a line, into an ad.

use crate::ad::Ad;
use crate::diagnostic::Span;
use crate::name::Name;
use crate::text::lexer::{self, Escapes};
use crate::text::parser::{Attribute, Parser};
use crate::text::report::{Report, Reported};
use crate::text::token::TokenKind;
use crate::text::{Dialect, syntax};

/// How many lines may be wrong before reading stops.
const MISTAKES_MAX: usize = 20;

/// The whole text as one ad; empty lines and lines that begin with `#` are passed over.
pub(crate) fn ad(dialect: Dialect, report: &mut Report<'_>) -> Result<Ad, Reported> {
    let source = report.source();
    let mut attributes = Vec::new();
    let mut mistakes = 0;
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let within = Span::new(start, start + line.len());
        start = within.end;
        let blank = line.trim_start();
        if blank.is_empty() || blank.starts_with('#') || blank.starts_with("//") {
            continue;
        }
        match attribute(within, dialect, report) {
            Ok(attribute) => attributes.extend(attribute),
            Err(Reported) => mistakes += 1,
        }
        if mistakes > MISTAKES_MAX {
            break;
        }
    }
    syntax::duplicates(report, &attributes);
    let attributes = attributes.into_iter().map(|(name, _, expr)| (name, expr));
    if mistakes > 0 { Err(Reported) } else { Ok(attributes.collect()) }
}

/// The attribute in a line, if there is one.
fn attribute(within: Span, dialect: Dialect, report: &mut Report<'_>) -> Result<Option<Attribute>, Reported> {
    let tokens = lexer::tokens(within, dialect, Escapes::QuoteOnly, report);
    // A line with nothing but a comment.
    let [first, second, ..] = tokens.as_slice() else { return Ok(None) };
    let name = match (&first.kind, &second.kind) {
        (TokenKind::Name(name) | TokenKind::QuotedName(name), TokenKind::Assign) => Name::new(name.clone()),
        (TokenKind::Bad, _) | (_, TokenKind::Bad) => return Err(Reported),
        _ => {
            return Err(report.error(
                "no-attribute",
                first.span,
                "this line is no attribute".into(),
                Some("write `Name = value`, or put the ad in brackets: `[ Name = value ]`".into()),
            ));
        }
    };
    let rest = tokens.get(2..).unwrap_or_default();
    let expr = Parser::new(rest, dialect, report).whole_expr()?;
    Ok(Some((name, first.span, expr)))
}

//! Reads HTCondor's long form, one `Name = expression` a line: an empty line ends an ad.

use crate::ad::Ad;
use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::expr::BinaryOp;
use crate::name::Name;
use crate::text::lexer::{self, Escapes};
use crate::text::parser::Parser;
use crate::text::report::{Report, Reported};
use crate::text::syntax::{self, Attribute};
use crate::text::token::TokenKind;

/// How many lines may be wrong before parsing stops.
const MISTAKES_MAX: usize = 20;

/// The whole text as one ad.
pub(crate) fn ad(dialect: Dialect, report: &mut Report<'_>) -> Result<Ad, Reported> {
    let mut ads = read(dialect, report)?.into_iter();
    let (first, second) = (ads.next(), ads.next());
    if let Some((_, span)) = second {
        return Err(report.error(
            "second-ad",
            span,
            "a second ad begins here, since an empty line ends an ad".into(),
            Some("remove the empty line, or keep one of the ads".into()),
        ));
    }
    Ok(first.map(|(ad, _)| ad).unwrap_or_default())
}

/// The whole text as ads.
pub(crate) fn ads(dialect: Dialect, report: &mut Report<'_>) -> Result<Vec<Ad>, Reported> {
    Ok(read(dialect, report)?.into_iter().map(|(ad, _)| ad).collect())
}

/// All ads, each with the span of its first name. Lines with only a comment are skipped.
fn read(dialect: Dialect, report: &mut Report<'_>) -> Result<Vec<(Ad, Span)>, Reported> {
    let source = report.source();
    let mut ads: Vec<(Vec<Attribute>, Span)> = Vec::new();
    let (mut mistakes, mut start, mut ended) = (0, 0, true);
    for line in source.split_inclusive('\n') {
        let within = Span::new(start, start + line.trim_end().len());
        start += line.len();
        let text = line.trim_start();
        if text.is_empty() {
            ended = true;
        }
        if text.is_empty() || text.starts_with('#') || text.starts_with("//") {
            continue;
        }
        match attribute(within, dialect, report) {
            Ok(None) => {}
            Ok(Some((name, span, expr))) => {
                if std::mem::take(&mut ended) {
                    ads.push((Vec::new(), span));
                }
                if let Some((attributes, _)) = ads.last_mut() {
                    attributes.push((name, span, expr));
                }
            }
            Err(Reported) => {
                mistakes += 1;
                if mistakes > MISTAKES_MAX {
                    break;
                }
            }
        }
    }
    let ad = |(attributes, span): (Vec<Attribute>, Span)| (syntax::ad(report, attributes), span);
    let ads = ads.into_iter().map(ad).collect();
    if mistakes > 0 { Err(Reported) } else { Ok(ads) }
}

/// The attribute of a line; `None` if it contains only a comment.
fn attribute(
    within: Span,
    dialect: Dialect,
    report: &mut Report<'_>,
) -> Result<Option<(Name, Span, crate::Expr)>, Reported> {
    let tokens = lexer::tokens(within, dialect, Escapes::QuoteOnly, report);
    let [first, second, ..] = tokens.as_slice() else { return Ok(None) };
    let name = match (&first.kind, &second.kind) {
        (TokenKind::Name(name) | TokenKind::QuotedName(name), TokenKind::Assign) => Name::new(name.clone()),
        (TokenKind::Bad, _) | (_, TokenKind::Bad) => return Err(Reported),
        _ => {
            return Err(report.error(
                "no-attribute",
                first.span,
                "this line is not an attribute".into(),
                Some(instead(&first.kind, &second.kind).into()),
            ));
        }
    };
    let rest = tokens.get(2..).unwrap_or_default();
    let expr = Parser::new(rest, dialect, report).whole_expr()?;
    Ok(Some((name, first.span, expr)))
}

/// What to write instead of a line that begins with these words.
fn instead(first: &TokenKind, second: &TokenKind) -> &'static str {
    match (first, second) {
        (TokenKind::Name(_), TokenKind::Colon) => {
            "it looks like YAML; pass only the ad of a manifest, or write `Name = value`"
        }
        (TokenKind::Operator(BinaryOp::Less), _) => {
            "the XML form is not supported; pass the output of `condor_status -long`"
        }
        _ => "write `Name = value`, or put the ad in brackets: `[ Name = value ]`",
    }
}

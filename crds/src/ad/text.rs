//! Turns text of a manifest, one expression or a whole ad, into trees.

use classad::{Diagnostic, Dialect, Expr, Form, Reading, Severity, read_ad, read_expr};

use super::draft::Draft;
use super::{NotAccepted, message};
use crate::ExprText;
use crate::conditions::reasons;

/// The expression at `place`; its warnings go to `warnings`.
///
/// # Errors
/// If it is none.
pub(crate) fn expression(place: &str, text: &ExprText, warnings: &mut Vec<String>) -> Result<Expr, NotAccepted> {
    let source = text.text();
    if source.trim().is_empty() {
        let what = format!(
            "{place}: line 1, column 1: found nothing; write an expression such as `true`, or remove the field"
        );
        return Err(NotAccepted::new(reasons::PARSE_ERROR, &what));
    }
    read(place, read_expr(&source, Dialect::Gangmatch), warnings)
}

/// The ad in `spec.classad`, in whichever form it is written. `Constraint` is the papers' name for `Requirements`.
///
/// # Errors
/// If it is none.
pub(crate) fn ad(source: &str) -> Result<Draft, NotAccepted> {
    const PLACE: &str = "spec.classad";
    let mut warnings = Vec::new();
    let mut ad = read(PLACE, read_ad(source, Dialect::Gangmatch, Form::Any), &mut warnings)?;
    if ad.get("Ports").is_none() && ad.get("Constraint").is_some() {
        if ad.get("Requirements").is_some() {
            warnings.push(format!(
                "{PLACE}: Constraint is ignored, because Requirements is also defined; remove one of them"
            ));
        } else if let Some(expr) = ad.remove("Constraint") {
            ad.insert("Requirements".into(), expr);
        }
    }
    Ok(Draft::of_text(ad, warnings))
}

/// The language's word for a pattern that it refuses, or reads otherwise than PCRE: the tree is fine, the ad is not.
const UNSUPPORTED_REGEX: &str = "unsupported-regex";

fn read<T>(place: &str, reading: Reading<T>, warnings: &mut Vec<String>) -> Result<T, NotAccepted> {
    let sentence = |diagnostic: &Diagnostic| format!("{place}: {diagnostic}");
    if let Some(found) = reading.diagnostics.iter().find(|found| found.code == UNSUPPORTED_REGEX) {
        return Err(NotAccepted::new(reasons::UNSUPPORTED_REGEX, &sentence(found)));
    }
    match reading.read {
        Some(tree) => {
            warnings.extend(reading.diagnostics.iter().map(sentence));
            Ok(tree)
        }
        None => {
            let errors: Vec<_> = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).collect();
            let first = errors.first().map_or_else(|| format!("{place}: not readable"), |found| sentence(found));
            // The end is what is cut off when it is long, so the count goes last.
            let more = match errors.len() {
                0 | 1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            Err(NotAccepted::new(reasons::PARSE_ERROR, &(message::line(&first) + &more)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{UNSUPPORTED_REGEX, read};
    use classad::{Diagnostic, Position, Reading, Severity, Span};

    #[test]
    fn a_refused_pattern_refuses_the_ad_with_a_reason_of_its_own() {
        let found = Diagnostic {
            severity: Severity::Warning,
            code: UNSUPPORTED_REGEX,
            span: Span::new(7, 12),
            position: Position { line: 1, column: 8 },
            message: "look-ahead is not supported".into(),
            hint: None,
            related: None,
        };
        let problem =
            read("spec.constraint", Reading { read: Some(()), diagnostics: vec![found] }, &mut Vec::new()).unwrap_err();
        assert_eq!(problem.reason, "UnsupportedRegex");
        assert_eq!(problem.message, "spec.constraint: line 1, column 8: look-ahead is not supported");
    }
}

//! Expressions in which a bare name may be the partner's into expressions that say whose it is.

use classad::{Expr, Kind, Span};

/// The text of an expression, with the partner's names written `partner.Name`. A bare name is the partner's if `is_own` says that it
/// is not the ad's own; `TARGET.` and `OTHER.` are the partner, `MY.` and `SELF.` the ad itself.
pub(super) fn scoped(source: &str, expr: &Expr, partner: &str, is_own: impl Fn(&str) -> bool) -> String {
    let mut edits: Vec<(Span, String)> = Vec::new();
    collect(expr, partner, &is_own, &mut edits);
    edits.sort_by_key(|(span, _)| span.start);
    let whole = expr.span();
    let (mut text, mut at) = (String::new(), whole.start);
    let slice = |from: usize, to: usize| source.get(from..to).unwrap_or("");
    for (span, replacement) in edits {
        text.push_str(slice(at, span.start));
        text.push_str(&replacement);
        at = span.end;
    }
    text.push_str(slice(at, whole.end));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn collect(expr: &Expr, partner: &str, is_own: &dyn Fn(&str) -> bool, edits: &mut Vec<(Span, String)>) {
    match expr.kind() {
        Kind::Attribute { name, absolute: false } if !is_own(name.as_str()) && !is_scope(name.as_str()) => {
            edits.push((expr.span(), format!("{partner}.{name}")));
        }
        Kind::Select { base, name } => match base.as_attribute().map(|scope| scope.as_str().to_ascii_lowercase()) {
            Some(scope) if ["target", "other"].contains(&scope.as_str()) => {
                edits.push((expr.span(), format!("{partner}.{name}")));
            }
            Some(scope) if ["my", "self"].contains(&scope.as_str()) => edits.push((expr.span(), name.to_string())),
            _ => collect(base, partner, is_own, edits),
        },
        _ => expr.children().into_iter().for_each(|child| collect(child, partner, is_own, edits)),
    }
}

fn is_scope(name: &str) -> bool {
    ["my", "self", "target", "other"].iter().any(|scope| scope.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use classad::{Dialect, read_expr};

    #[test]
    fn every_name_says_whose_it_is() {
        let source =
            "(OpSys == \"LINUX\") && TARGET.Memory >= MY.ImageSize/1024 && Cpus >= RequestCpus\n   && size(Groups) > 0";
        let expr = read_expr(source, Dialect::Gangmatch).read.unwrap();
        let own = |name: &str| ["ImageSize", "RequestCpus"].contains(&name);
        assert_eq!(
            scoped(source, &expr, "machine", own),
            "(machine.OpSys == \"LINUX\") && machine.Memory >= ImageSize/1024 && machine.Cpus >= RequestCpus \
             && size(machine.Groups) > 0"
        );
    }
}

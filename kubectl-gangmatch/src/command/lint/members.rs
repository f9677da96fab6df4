//! Expressions into warnings of attributes that no member of a gang has, as `Host` in `requester.Members[0].Host`.

use classad::{Diagnostic, Expr, Kind, Name, Severity, similar};

/// What an ad knows of the other members of its gang.
const KNOWN: [&str; 5] = ["Type", "Namespace", "Name", "NodeName", "Uid"];

/// The warnings, in the order of the text.
pub(super) fn unknown(expr: &Expr, text: &str) -> Vec<Diagnostic> {
    let (mut pending, mut found) = (vec![expr], Vec::new());
    while let Some(expr) = pending.pop() {
        if let Kind::Select { base, name } = expr.kind()
            && is_member(base)
            && !KNOWN.iter().any(|own| name.as_str().eq_ignore_ascii_case(own))
        {
            found.push(remark(expr, name, text));
        }
        pending.extend(expr.children());
    }
    found.sort_by_key(|one| one.span.start);
    found
}

fn remark(expr: &Expr, name: &Name, text: &str) -> Diagnostic {
    let known = KNOWN.map(Name::from);
    let hint = match similar(name.as_str(), &known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write one of {}", KNOWN.join(", ")),
    };
    Diagnostic {
        severity: Severity::Warning,
        code: "unknown-member-attribute",
        span: expr.span(),
        position: expr.span().position(text),
        message: format!("a member has no attribute `{name}`, so this is undefined"),
        hint: Some(hint),
        related: None,
    }
}

/// Whether an expression is an element of `Members`, or all of them.
fn is_member(expr: &Expr) -> bool {
    match expr.unparenthesized().kind() {
        Kind::Subscript { base, .. } => is_members(base),
        _ => is_members(expr),
    }
}

fn is_members(expr: &Expr) -> bool {
    match expr.unparenthesized().kind() {
        Kind::Attribute { name, .. } | Kind::Select { name, .. } => *name == "Members",
        _ => false,
    }
}

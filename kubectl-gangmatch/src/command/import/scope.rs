//! Expressions in which a bare name may be the partner's into expressions that say whose it is.

use std::collections::BTreeMap;

use classad::{Expr, Kind, Span};

/// An expression with the partner's names written `partner.Name`, and what it reads.
#[derive(Debug, Default)]
pub(super) struct Scoped {
    pub(super) text: String,
    /// The names of the ad itself, as they are written.
    pub(super) own: Vec<String>,
    /// The names of the partner, as they are written.
    pub(super) partner: Vec<String>,
}

impl Scoped {
    /// Whether it reads this attribute of the partner.
    pub(super) fn reads_of_partner(&self, name: &str) -> bool {
        self.partner.iter().any(|read| read.eq_ignore_ascii_case(name))
    }
}

/// An expression with the partner's names written `partner.Name`. A bare name is the partner's if `is_own` says that it is not the ad's
/// own; `TARGET.` and `OTHER.` are the partner, `MY.` and `SELF.` the ad itself. `MY.` stays before a name that the ad does not
/// have: without it, the name could be the partner's.
pub(super) fn scoped(source: &str, expr: &Expr, partner: &str, is_own: impl Fn(&str) -> bool) -> Scoped {
    let mut edits = Edits { partner, is_own: &is_own, texts: BTreeMap::new(), found: Scoped::default() };
    edits.collect(expr);
    let Edits { texts, mut found, .. } = edits;
    let whole = expr.span();
    let (mut text, mut at) = (String::new(), whole.start);
    let slice = |from: usize, to: usize| source.get(from..to).unwrap_or("");
    for (start, (span, replacement)) in texts {
        text.push_str(slice(at, start));
        text.push_str(&replacement);
        at = span.end;
    }
    text.push_str(slice(at, whole.end));
    found.text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    found
}

/// What is written in place of names, by where it begins.
struct Edits<'a> {
    partner: &'a str,
    is_own: &'a dyn Fn(&str) -> bool,
    texts: BTreeMap<usize, (Span, String)>,
    found: Scoped,
}

impl Edits<'_> {
    fn collect(&mut self, expr: &Expr) {
        match expr.kind() {
            Kind::Attribute { name, absolute: false } if !is_scope(name.as_str()) => match (self.is_own)(name.as_str())
            {
                true => self.found.own.push(name.to_string()),
                false => self.of_partner(expr.span(), name.as_str()),
            },
            Kind::Select { base, name } => match base.as_attribute().map(|scope| scope.as_str().to_ascii_lowercase()) {
                Some(scope) if ["target", "other"].contains(&scope.as_str()) => {
                    self.of_partner(expr.span(), name.as_str());
                }
                Some(scope) if ["my", "self"].contains(&scope.as_str()) => {
                    self.found.own.push(name.to_string());
                    if (self.is_own)(name.as_str()) {
                        self.write(expr.span(), name.to_string());
                    }
                }
                _ => self.collect(base),
            },
            _ => expr.children().into_iter().for_each(|child| self.collect(child)),
        }
    }

    fn of_partner(&mut self, span: Span, name: &str) {
        self.found.partner.push(name.to_owned());
        self.write(span, format!("{}.{name}", self.partner));
    }

    fn write(&mut self, span: Span, text: String) {
        self.texts.insert(span.start, (span, text));
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
        let source = "(OpSys == \"LINUX\") && TARGET.Memory >= MY.ImageSize/1024 && Cpus >= RequestCpus\n   && size(Groups) > MY.Few";
        let expr = read_expr(source, Dialect::Gangmatch).read.unwrap();
        let own = |name: &str| ["ImageSize", "RequestCpus"].contains(&name);
        let scoped = scoped(source, &expr, "machine", own);
        assert_eq!(
            scoped.text,
            "(machine.OpSys == \"LINUX\") && machine.Memory >= ImageSize/1024 && machine.Cpus >= RequestCpus \
             && size(machine.Groups) > MY.Few"
        );
        let (mut own, mut partner) = (scoped.own, scoped.partner);
        own.sort();
        partner.sort();
        assert_eq!(
            (own.join(" "), partner.join(" ")),
            ("Few ImageSize RequestCpus".into(), "Cpus Groups Memory OpSys".into())
        );
    }
}

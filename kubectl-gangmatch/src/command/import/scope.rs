//! Expressions in which a bare name may be the partner's into expressions that say whose it is.

use std::collections::BTreeMap;

use classad::{Call, Expr, Kind, Span};

/// An expression with the partner's names written `partner.Name`, and what it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// Expressions by the names of their attributes, in lower case.
pub(super) type Inlined = BTreeMap<String, Scoped>;

/// How names in an expression are read: which are those of its own ad, and which those of the partner.
#[derive(Clone, Copy)]
pub(super) struct ScopeRules<'a> {
    /// How the partner is written.
    pub(super) partner: &'a str,
    /// Whether a bare name is the ad's own.
    pub(super) is_own: &'a dyn Fn(&str) -> bool,
    /// Attributes of the ad in whose place their expressions are written.
    pub(super) inlined: &'a Inlined,
}

/// An expression with the partner's names written `partner.Name`. A bare name is the partner's if it is not the ad's own; `TARGET.` and
/// `OTHER.` are the partner, `MY.` and `SELF.` the ad itself. `MY.` stays before a name that the ad does not have: without it, the name
/// could be the partner's.
pub(super) fn scoped(source: &str, expr: &Expr, rules: ScopeRules<'_>) -> Scoped {
    let mut edits = Edits { rules, texts: BTreeMap::new(), found: Scoped::default() };
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
    found.text = single_spaced(&text);
    found
}

/// A text with one blank wherever there are several, or other white space, but between quotes.
fn single_spaced(text: &str) -> String {
    let (mut written, mut quote, mut is_escaped) = (String::with_capacity(text.len()), None, false);
    for letter in text.trim().chars() {
        if quote.is_none() && letter.is_whitespace() {
            if !written.ends_with(' ') {
                written.push(' ');
            }
            continue;
        }
        written.push(letter);
        match (quote, letter) {
            (Some(_), '\\') if !is_escaped => {
                is_escaped = true;
                continue;
            }
            (Some(open), letter) if open == letter && !is_escaped => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            _ => {}
        }
        is_escaped = false;
    }
    written
}

/// What is written in place of names, by where it begins.
struct Edits<'a> {
    rules: ScopeRules<'a>,
    texts: BTreeMap<usize, (Span, String)>,
    found: Scoped,
}

impl Edits<'_> {
    fn collect(&mut self, expr: &Expr) {
        match expr.kind() {
            Kind::Attribute { name, absolute: false } if scope(expr).is_none() => {
                match (self.rules.is_own)(name.as_str()) {
                    true => self.of_ad(expr.span(), name.as_str()),
                    false => self.of_partner(expr.span(), name.as_str()),
                }
            }
            Kind::Select { base, name } => match scope(base) {
                Some(ScopeWord::Partner) => self.of_partner(expr.span(), name.as_str()),
                Some(ScopeWord::Ad) => {
                    if (self.rules.is_own)(name.as_str()) {
                        self.write(expr.span(), name.to_string());
                    }
                    self.of_ad(expr.span(), name.as_str());
                }
                None => self.collect(base),
            },
            Kind::Call(call) if is_of_each(call) => self.collect_of_each(call),
            _ => expr.children().into_iter().for_each(|child| self.collect(child)),
        }
    }

    /// The arguments of a function that evaluates the first one in each ad of a list. An attribute there stands for its expression.
    fn collect_of_each(&mut self, call: &Call) {
        let Some((each, lists)) = call.arguments.split_first() else { return };
        let before = self.found.partner.len();
        lists.iter().for_each(|list| self.collect(list));
        let is_of_partner = self.found.partner.len() > before;
        let each = each.unparenthesized();
        match each.kind() {
            Kind::Attribute { name, .. } => _ = self.note_if_own(name.as_str()),
            Kind::Select { base, name } => match scope(base) {
                Some(ScopeWord::Ad) if self.note_if_own(name.as_str()) => self.write(each.span(), name.to_string()),
                Some(ScopeWord::Ad) => {}
                Some(ScopeWord::Partner) => self.collect(each),
                None => self.collect_in_each(each, is_of_partner),
            },
            _ => self.collect_in_each(each, is_of_partner),
        }
    }

    /// An expression that is evaluated in each ad of a list, so that a bare name is one of that ad. In an ad of the partner, `MY` is the
    /// partner and `TARGET` this ad, as in HTCondor.
    fn collect_in_each(&mut self, expr: &Expr, is_of_partner: bool) {
        match expr.kind() {
            Kind::Attribute { name, absolute: false } if scope(expr).is_none() => {
                self.note_if_own(name.as_str());
            }
            Kind::Select { base, .. } if scope(base).is_some() => {
                if !is_of_partner {
                    self.collect(expr);
                }
            }
            _ => expr.children().into_iter().for_each(|child| self.collect_in_each(child, is_of_partner)),
        }
    }

    fn of_ad(&mut self, span: Span, name: &str) {
        self.found.own.push(name.to_owned());
        if let Some(inlined) = self.rules.inlined.get(&name.to_ascii_lowercase()) {
            self.found.own.extend(inlined.own.iter().cloned());
            self.found.partner.extend(inlined.partner.iter().cloned());
            self.write(span, format!("({})", inlined.text));
        }
    }

    fn of_partner(&mut self, span: Span, name: &str) {
        self.found.partner.push(name.to_owned());
        self.write(span, format!("{}.{name}", self.rules.partner));
    }

    /// Notes a name that is the ad's own; false for another one.
    fn note_if_own(&mut self, name: &str) -> bool {
        let is_own = (self.rules.is_own)(name);
        self.found.own.extend(is_own.then(|| name.to_owned()));
        is_own
    }

    fn write(&mut self, span: Span, text: String) {
        self.texts.insert(span.start, (span, text));
    }
}

/// Whether a function evaluates its first argument in each ad of the second.
fn is_of_each(call: &Call) -> bool {
    ["countMatches", "evalInEachContext"].iter().any(|name| name.eq_ignore_ascii_case(call.function.as_str()))
}

/// Whose attributes a scope before a dot selects.
enum ScopeWord {
    Ad,
    Partner,
}

/// The scope that a bare name stands for.
fn scope(base: &Expr) -> Option<ScopeWord> {
    match base.as_attribute()?.as_str().to_ascii_lowercase().as_str() {
        "my" | "self" => Some(ScopeWord::Ad),
        "target" | "other" => Some(ScopeWord::Partner),
        _ => None,
    }
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
        let rules = ScopeRules { partner: "machine", is_own: &own, inlined: &Inlined::new() };
        let scoped = scoped(source, &expr, rules);
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

    #[test]
    fn bare_names_in_what_is_evaluated_in_each_ad_of_a_list_are_of_that_ad() {
        let of = |source: &str| {
            let expr = read_expr(source, Dialect::Gangmatch).read.unwrap();
            let own = |name: &str| ["Least", "RequireGPUs", "Own"].contains(&name);
            scoped(source, &expr, ScopeRules { partner: "machine", is_own: &own, inlined: &Inlined::new() }).text
        };
        for (source, text) in [
            ("countMatches(Memory >= 1000, GPUs) >= Least", "countMatches(Memory >= 1000, machine.GPUs) >= Least"),
            ("COUNTMATCHES(MY.RequireGPUs, TARGET.GPUs)", "COUNTMATCHES(RequireGPUs, machine.GPUs)"),
            ("evalInEachContext((Memory), GPUs)", "evalInEachContext((Memory), machine.GPUs)"),
            ("countMatches(TARGET.Wanted, MY.Own)", "countMatches(machine.Wanted, Own)"),
            // In ads of the machine, MY is the machine, and TARGET the job.
            ("countMatches(A >= Least, GPUs)", "countMatches(A >= Least, machine.GPUs)"),
            ("countMatches(A >= TARGET.Least + MY.B, GPUs)", "countMatches(A >= TARGET.Least + MY.B, machine.GPUs)"),
            (
                "countMatches(A >= Least && MY.Least > TARGET.B, Own)",
                "countMatches(A >= Least && Least > machine.B, Own)",
            ),
            ("countMatches(Props.A > 1, GPUs)", "countMatches(Props.A > 1, machine.GPUs)"),
        ] {
            assert_eq!(of(source), text, "{source}");
        }
    }
}

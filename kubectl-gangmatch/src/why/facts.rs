//! What a part of an owner's constraint reads: values of the job, definitions of the owner, and names that are defined nowhere. The values in the
//! owner's ad are left out.

use classad::{Expr, Name, Value, is_scope_word, references};
use matchmaker::{EXCERPT_MAX, PoolAd, Port, own_context, own_value};

use super::case::Case;

/// How many facts are told, and how long a value may be, in bytes.
const FACTS_MAX: usize = 8;
const VALUE_MAX: usize = 80;
/// What the evaluation of an attribute of the job may cost.
const FUEL: u64 = 20_000;

/// Attributes that an ad may lack without being wrong, and names that are not those of attributes.
const SYSTEM: [&str; 7] = ["Members", "NodeName", "Labels", "Owner", "Free", "requester", "CurrentTime"];

/// Both sides of a refusal.
pub(crate) struct Sides<'a> {
    pub(crate) case: &'a Case<'a>,
    /// The offer, its port, and its name.
    pub(crate) offer: (&'a PoolAd, &'a Port, &'a str),
    /// The job, and its port.
    pub(crate) job: (&'a PoolAd, &'a Port),
}

impl Sides<'_> {
    /// What a reader has to know about a part of the offer's constraint.
    pub(crate) fn facts(&self, part: &Expr) -> Vec<String> {
        let mut found = Vec::new();
        self.read(part, true, &mut found);
        found.truncate(FACTS_MAX);
        found
    }

    fn read(&self, part: &Expr, expands: bool, found: &mut Vec<String>) {
        for path in references(part) {
            if path.iter().any(Name::is_hidden) {
                continue;
            }
            match path.as_slice() {
                [first, name, ..] if self.is_job(first) => note(found, self.of_job(name)),
                [first, name, ..] if is(first, "my") || is(first, "self") => self.own(name, expands, found),
                [name] if !is_scope_word(name.as_str()) => self.own(name, expands, found),
                _ => {}
            }
        }
    }

    /// Whether a name in the offer's constraint is the job.
    fn is_job(&self, name: &Name) -> bool {
        let (ad, port, _) = self.offer;
        port.label == *name || (ad.ports.implicit && (is(name, "other") || is(name, "target")))
    }

    fn of_job(&self, name: &Name) -> Option<String> {
        let (ad, port) = self.job;
        match port.attributes.get(name.as_str()).or_else(|| ad.ports.body.get(name.as_str())) {
            Some(expr) => Some(format!("`{name}` of the job is {}", self.value(expr))),
            None if is_system(name) => None,
            None => Some(format!("`{name}` of the job is undefined")),
        }
    }

    /// The value of an expression of the job; the expression, if it takes a partner to evaluate it.
    fn value(&self, expr: &Expr) -> String {
        let context = own_context(FUEL, &self.case.config, self.case.now.as_second());
        match own_value(self.job.0, expr, None, &context).0 {
            Some(value) if !matches!(value, Value::Undefined | Value::Error) => Expr::literal(value).excerpt(VALUE_MAX),
            _ => format!("`{}`", expr.excerpt(VALUE_MAX)),
        }
    }

    fn own(&self, name: &Name, expands: bool, found: &mut Vec<String>) {
        let (ad, port, offer) = self.offer;
        let own = port.attributes.get(name.as_str()).or_else(|| ad.ports.body.get(name.as_str()));
        match own {
            Some(expr) if expr.as_literal().is_some() => {}
            Some(expr) if expands => {
                note(found, Some(format!("`{name}` of {offer} is `{}`", expr.excerpt(EXCERPT_MAX))));
                self.read(expr, false, found);
            }
            Some(_) => {}
            None if is_system(name) => {}
            None if ad.ports.implicit && self.job.0.ports.body.get(name.as_str()).is_some() => {
                note(found, self.of_job(name));
            }
            None => note(found, Some(format!("`{name}` of {offer} is undefined"))),
        }
    }
}

fn note(found: &mut Vec<String>, fact: Option<String>) {
    found.extend(fact.filter(|fact| !found.contains(fact)));
}

fn is(name: &Name, word: &str) -> bool {
    name.as_str().eq_ignore_ascii_case(word)
}

fn is_system(name: &Name) -> bool {
    SYSTEM.iter().any(|word| is(name, word))
}

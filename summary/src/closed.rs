//! Whether an expression of an ad has one value that every partner sees, and which.

use std::collections::BTreeSet;

use classad::{Ad, Context, Env, Expr, Kind, Limits, Name, Value, eval, is_pure};

/// Names that mean something else than an attribute wherever they are not one; `Members` is defined for each match.
const SPECIAL: [&str; 9] = ["self", "my", "parent", "toplevel", "root", "currenttime", "other", "target", "members"];

/// How deep references are followed from one attribute into the next.
const NESTING_MAX: usize = 24;

/// How many parts of expressions are looked at for one attribute, those that it refers to included.
const PARTS_MAX: usize = 2_000;

/// What one evaluation may use: little, since what takes more is any value.
const FUEL: u64 = 20_000;

/// Whether a name means something else than an attribute, wherever it is used.
pub(crate) fn is_special(name: &Name) -> bool {
    SPECIAL.iter().any(|special| name == special)
}

/// Which expressions count as closed, besides literals, operators and the ad's own attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closedness {
    /// Functions and lists, too.
    pub(crate) functions: bool,
    /// A name that the ad lacks may mean the partner; else it is UNDEFINED.
    pub(crate) falls_through: bool,
}

/// An ad, seen through one of its ports.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    /// The ad's own attributes.
    pub(crate) body: &'a Ad,
    /// The attributes of the port; none for an implicit port, and for an expression of the body.
    pub(crate) port: Option<&'a Ad>,
    /// The labels of the ad's ports, which its ports see; of a job, of those that are bound.
    pub(crate) labels: &'a [Name],
    /// What counts as closed.
    pub(crate) closedness: Closedness,
}

impl<'a> Side<'a> {
    /// What a bare name means here: an expression, and where that stands.
    pub(crate) fn attribute(&self, name: &Name) -> Option<(&'a Expr, Side<'a>)> {
        let own = |ad: &'a Ad| ad.at(ad.place(name)?);
        if let Some(expr) = self.port.and_then(own) {
            return Some((expr, *self));
        }
        own(self.body).map(|expr| (expr, Side { port: None, ..*self }))
    }

    /// Whether a bare name is the label of a partner, or would be if it were bound.
    pub(crate) fn is_label(&self, name: &Name) -> bool {
        let shadowed = self.port.is_some_and(|port| port.place(name).is_some());
        self.port.is_some() && !shadowed && self.labels.contains(name)
    }

    /// Whether an expression is `my` or `self`.
    fn is_myself(&self, expr: &Expr) -> bool {
        let myself = |name: &&Name| **name == "my" || **name == "self";
        expr.as_attribute().filter(myself).is_some_and(|name| self.attribute(name).is_none() && !self.is_label(name))
    }

    /// Whether an expression is a name that stands for nothing, neither here nor at a partner.
    fn is_undefined(&self, expr: &Expr) -> bool {
        let unknown = |name: &Name| !is_special(name) && !self.is_label(name) && self.attribute(name).is_none();
        !self.closedness.falls_through && expr.as_attribute().is_some_and(unknown)
    }

    /// The value of an expression, if it is closed and does not take too long.
    pub(crate) fn value(&self, expr: &Expr) -> Option<Value> {
        if let Kind::Literal(value) = expr.kind() {
            return Some(value.clone());
        }
        let mut closure = Closure { known: BTreeSet::new(), parts: PARTS_MAX };
        closure.check(expr, self, 0)?;
        let mut env = Env::new();
        let mut frame = env.frame(self.body, None);
        if let Some(port) = self.port {
            frame = env.frame(port, Some(frame));
        }
        let limits = Limits { fuel: FUEL, ..Limits::default() };
        eval(expr, &env, frame, &Context { limits, ..Context::default() }).ok()
    }
}

/// The expressions that are reachable from one by names. What is not closed gives none.
struct Closure {
    /// Attributes that were followed, by the identity of their expressions and whether they stand in the port: each is followed once.
    known: BTreeSet<(usize, bool)>,
    /// How many more parts may be looked at.
    parts: usize,
}

impl Closure {
    fn check(&mut self, expr: &Expr, side: &Side<'_>, nesting: usize) -> Option<()> {
        // A circle of names ends here, too: its value depends on where evaluation enters it.
        if nesting > NESTING_MAX {
            return None;
        }
        let Closedness { functions, falls_through } = side.closedness;
        let mut pending = vec![expr];
        while let Some(expr) = pending.pop() {
            self.parts = self.parts.checked_sub(1)?;
            match expr.kind() {
                Kind::Literal(_) => {}
                Kind::Attribute { name, absolute: false } if !is_special(name) && !side.is_label(name) => {
                    match side.attribute(name) {
                        Some((expr, side)) => self.follow(expr, &side, nesting)?,
                        None if falls_through => return None,
                        None => {}
                    }
                }
                Kind::Select { base, name } if functions && side.is_myself(base) && !is_special(name) => {
                    if let Some((expr, side)) = side.attribute(name) {
                        self.follow(expr, &side, nesting)?;
                    }
                }
                Kind::Select { base, .. } if functions && side.is_undefined(base) => {}
                Kind::Attribute { .. } | Kind::Select { .. } | Kind::Ad(_) => return None,
                Kind::Subscript { index, .. } if !functions || index.as_literal().is_none() => return None,
                Kind::Call(call) if !functions || !is_pure(call) => return None,
                Kind::List(_) if !functions => return None,
                Kind::Call(call) if call.arguments.len() > self.parts => return None,
                Kind::List(items) if items.len() > self.parts => return None,
                _ => pending.extend(expr.children()),
            }
        }
        Some(())
    }

    fn follow(&mut self, expr: &Expr, side: &Side<'_>, nesting: usize) -> Option<()> {
        let place = (expr.id(), side.port.is_some());
        if self.known.contains(&place) {
            return Some(());
        }
        self.check(expr, side, nesting + 1)?;
        self.known.insert(place);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use classad::{Dialect, parse_ad};

    use super::*;

    fn value(ad: &str, name: &str, closedness: Closedness) -> Option<Value> {
        let body = parse_ad(ad, Dialect::Gangmatch).unwrap();
        let side = Side { body: &body, port: None, labels: &[], closedness };
        side.value(body.get(name).unwrap())
    }

    const OFFER: Closedness = Closedness { functions: false, falls_through: true };
    const JOB: Closedness = Closedness { functions: true, falls_through: false };

    #[test]
    fn what_operators_make_of_own_attributes_is_closed() {
        let ad = "[ A = 2; B = A * 3; C = B > 5 ? \"x\" : D; D = E; F = -A; G = A + error; H = undefined ?: B ]";
        let of = |name| value(ad, name, OFFER);
        assert_eq!(of("B"), Some(Value::Integer(6)));
        assert_eq!(of("F"), Some(Value::Integer(-2)));
        assert_eq!(of("G"), Some(Value::Error));
        assert_eq!(of("H"), Some(Value::Integer(6)));
        assert_eq!((of("C"), of("D")), (None, None), "the partner may have E");
    }

    #[test]
    fn what_reads_the_partner_the_clock_or_itself_is_open() {
        for open in
            ["other.X", "time()", "CurrentTime", "my.B", "{1}", "[X = 1]", "strcat(\"a\")", "Members", "A", ".B"]
        {
            assert_eq!(value(&format!("[ A = {open}; B = 1 ]"), "A", OFFER), None, "{open}");
        }
        assert_eq!(value("[ A = strcat(\"a\", B) ]", "A", JOB), Some(Value::Undefined));
        assert_eq!(value("[ A = my.B + self.C; B = 1; C = 2 ]", "A", JOB), Some(Value::Integer(3)));
        assert_eq!(value("[ A = my.B; B = time() ]", "A", JOB), None);
        assert_eq!(value("[ A = Lost.B is undefined ]", "A", JOB), Some(Value::Boolean(true)));
        assert_eq!(value("[ A = Lost.B is undefined ]", "A", OFFER), None);
    }

    #[test]
    fn what_is_too_long_is_open() {
        let level = |level: usize| format!("s{level} = s{0} + s{0}; ", level - 1);
        let ad = format!("[ s0 = 1; {} ]", (1..=40).map(level).collect::<String>());
        assert_eq!(value(&ad, "s5", OFFER), Some(Value::Integer(32)));
        assert_eq!(value(&ad, "s40", OFFER), None);
    }
}

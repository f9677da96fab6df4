//! Warnings about a tree: conditions that cannot hold, names that look misspelt, patterns that mean something else.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::ad::Ad;
use crate::analysis::never::{Never, contradictions, never_true};
use crate::analysis::{conjuncts, constant, depth};
use crate::builtins::regex_check::{self, Refusal};
use crate::diagnostic::{Diagnostic, Position, Related, Severity, Span};
use crate::eval::limits::Limits;
use crate::expr::paths::{path_span, written_path};
use crate::expr::{BinaryOp, Expr, Kind};
use crate::name::{Name, SCOPE_WORDS};
use crate::spelling::similar;
use crate::value::Value;

/// How many remarks are made at most.
const REMARKS_MAX: usize = 100;

/// How many are found before no more are looked for.
const FOUND_MAX: usize = 1_000;

/// How many names are compared with each other.
const COMPARISONS_MAX: usize = 1_000_000;

/// How much of an expression is shown, in bytes.
const EXCERPT_MAX: usize = 256;

/// Attributes that are conditions.
const CONDITIONS: [&str; 5] = ["Requirements", "Constraint", "Start", "Require", "RequireGPUs"];

/// Names that mean something everywhere.
fn meant() -> impl Iterator<Item = &'static str> {
    SCOPE_WORDS.into_iter().chain(["CurrentTime"])
}

/// What the author of a condition should know. `source` is the text it was read from, `known` the names that make sense in
/// it: names nearly like one of them are remarked on.
#[must_use]
pub fn lint(expr: &Expr, source: &str, known: &[Name]) -> Vec<Diagnostic> {
    let mut linter = Linter::new(source, known);
    linter.condition(expr);
    linter.finish()
}

/// What the author of an ad should know. The ad's own names count as known. Its attributes `Requirements` and
/// `Constraint` are conditions, those of its ports too.
#[must_use]
pub fn lint_ad(ad: &Ad, source: &str, known: &[Name]) -> Vec<Diagnostic> {
    let mut linter = Linter::new(source, known);
    linter.learn(ad);
    for (name, expr) in ad.iter() {
        match CONDITIONS.iter().any(|condition| name == condition) {
            true => linter.condition(expr),
            false => linter.parts(expr),
        }
    }
    linter.finish()
}

struct Linter<'s> {
    source: &'s str,
    known: HashSet<Name, RandomState>,
    found: Vec<Diagnostic>,
    /// Names that were looked up, and what was meant.
    similar: HashMap<Name, Option<Name>, RandomState>,
    /// How many names may still be compared with each other.
    comparisons: usize,
    /// Steps that may still be taken to compile patterns.
    patterns: usize,
}

impl<'s> Linter<'s> {
    fn new(source: &'s str, known: &[Name]) -> Self {
        Self {
            source,
            known: known.iter().cloned().collect(),
            found: Vec::new(),
            similar: HashMap::default(),
            comparisons: COMPARISONS_MAX,
            patterns: regex_check::work_for(source.len()),
        }
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|one| (one.span, one.code));
        self.found.dedup();
        self.found.truncate(REMARKS_MAX);
        for remark in &mut self.found {
            remark.position = remark.span.position(self.source);
        }
        self.found
    }

    /// The names of an ad and of the ads in it.
    fn learn(&mut self, ad: &Ad) {
        let mut pending: Vec<&Expr> = Vec::new();
        for (name, expr) in ad.iter() {
            self.known.insert(name.clone());
            pending.push(expr);
        }
        while let Some(expr) = pending.pop() {
            if let Kind::Ad(inner) = expr.kind() {
                for (name, value) in inner.iter() {
                    self.known.insert(name.clone());
                    // `Label = cpu` names a port: the identifier is a name from here on.
                    if *name == "Label" {
                        let text = value.as_literal().and_then(Value::as_str).map(Name::from);
                        self.known.extend(value.as_attribute().cloned().or(text));
                    }
                }
            }
            pending.extend(expr.children());
        }
    }

    fn add(&mut self, code: &'static str, span: Span, message: String, hint: &str) {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        if self.found.len() >= FOUND_MAX {
            return;
        }
        // Where that is is found out for those that are told.
        let (severity, position) = (Severity::Warning, Position { line: 1, column: 1 });
        self.found.push(Diagnostic { severity, code, span, position, message, hint, related: None });
    }

    /// The text of an expression as it was written, or what of it is short enough to be read.
    fn text(&self, expr: &Expr) -> String {
        let span = expr.span();
        let short = |text: &&str| !text.is_empty() && text.len() <= EXCERPT_MAX && !text.contains('\n');
        let written = self.source.get(span.start..span.end).filter(short);
        written.map_or_else(|| expr.excerpt(EXCERPT_MAX), str::to_owned)
    }

    /// An expression that must be true for a match.
    fn condition(&mut self, expr: &Expr) {
        let depth_max = Limits::default().depth;
        if depth(expr) > depth_max {
            let message = format!("condition nests more than {depth_max} operators, so it runs out and never matches");
            self.add(
                "too-deep",
                expr.span(),
                message,
                "group the parts with parentheses, or move some to an attribute",
            );
        }
        let before = self.found.len();
        match never_true(expr) {
            Some(Never::Constant { condition, value }) => {
                let (text, span) = (self.text(&condition), condition.span());
                let message = if condition == *expr {
                    format!("condition is always {value}: nothing matches")
                } else {
                    format!("`{text}` is always {value}, so the condition is never true")
                };
                self.add("never-true", span, message, "");
            }
            Some(Never::Alternatives { condition }) => {
                let span = condition.span();
                self.add("never-true", span, "no alternative of this condition is ever true".to_owned(), "");
            }
            // The parts say the rest themselves.
            Some(Never::Impossible { .. } | Never::Contradiction { .. }) | None => {}
        }
        if before == self.found.len() {
            self.always(expr);
        }
        self.parts(expr);
    }

    /// `true && x`, `1 < 2 && x`
    fn always(&mut self, expr: &Expr) {
        let parts = conjuncts(expr);
        if parts.len() < 2 {
            return;
        }
        for part in parts {
            if part.as_literal().is_none() && constant(&part).is_some_and(|value| value.is_true()) {
                let message = format!("`{}` is always true", self.text(&part));
                self.add("always-true", part.span(), message, "remove it");
            }
        }
    }

    /// Everything that is wrong wherever it stands.
    fn parts(&mut self, expr: &Expr) {
        let mut pending = vec![(expr, false)];
        while let Some((expr, joined)) = pending.pop() {
            let and = matches!(expr.unparenthesized().kind(), Kind::Binary { op: BinaryOp::And, .. });
            if and && !joined {
                for never in contradictions(&conjuncts(expr)) {
                    self.contradiction(&never);
                }
            }
            match written_path(expr) {
                Ok((path, absolute)) => {
                    self.names(expr, &path, absolute);
                    continue;
                }
                Err(Some(base)) => {
                    pending.push((base, false));
                    continue;
                }
                Err(None) => {}
            }
            match expr.kind() {
                Kind::Binary { op, left, right } => self.comparison(expr, *op, left, right),
                Kind::Call(call) => {
                    if let Some((span, refusal)) = regex_check::of_call(call, &mut self.patterns) {
                        self.pattern(span, &refusal);
                    }
                }
                // Attributes of ports that are conditions.
                Kind::Ad(ad) => {
                    for (name, part) in ad.iter() {
                        match CONDITIONS.iter().any(|condition| name == condition) {
                            true => self.condition(part),
                            false => self.parts(part),
                        }
                    }
                    continue;
                }
                _ => {}
            }
            let inherits = and || matches!(expr.kind(), Kind::Parenthesized(_)) && joined;
            pending.extend(expr.children().into_iter().map(|part| (part, inherits)));
        }
    }

    fn pattern(&mut self, span: Span, refusal: &Refusal) {
        self.add(refusal.code, span, refusal.message.clone(), refusal.hint);
    }

    fn contradiction(&mut self, never: &Never) {
        let Never::Contradiction { first, second } = never else { return };
        if self.found.len() >= REMARKS_MAX {
            return;
        }
        let (one, two) = (self.text(first), self.text(second));
        let position = first.span().position(self.source);
        let message = format!(
            "`{two}` is never true where `{one}` of line {}, column {} is, and both must be",
            position.line, position.column
        );
        self.add("contradiction", second.span(), message, "write `||` if either may hold, or change one of the two");
        if let Some(last) = self.found.last_mut() {
            last.related = Some(Related { span: first.span(), position, message: "excludes the other".to_owned() });
        }
    }

    /// `x == undefined`, `x == {1}`
    fn comparison(&mut self, expr: &Expr, op: BinaryOp, left: &Expr, right: &Expr) {
        if op.precedence() != BinaryOp::Equal.precedence() && op.precedence() != BinaryOp::Less.precedence() {
            return;
        }
        let odd = |side: &Expr| match side.unparenthesized().kind() {
            Kind::Literal(value @ (Value::Undefined | Value::Error)) => Some(value.to_string()),
            Kind::List(_) => Some("list".to_owned()),
            Kind::Ad(_) => Some("ad".to_owned()),
            _ => None,
        };
        let (Some(what), other) = (match odd(right) {
            Some(what) => (Some(what), left),
            None => (odd(left), right),
        }) else {
            return;
        };
        let other = self.text(other);
        let identity = matches!(op, BinaryOp::Is | BinaryOp::Isnt);
        let (message, hint) = match what.as_str() {
            "undefined" | "error" if identity => return,
            "undefined" | "error" => {
                let sign = if op == BinaryOp::NotEqual { "isnt" } else { "is" };
                (format!("comparing with `{what}` is never true"), format!("write `{other} {sign} {what}`"))
            }
            "list" => ("comparing with a list is never true".to_owned(), format!("write `member({other}, {{...}})`")),
            _ => ("comparing with an ad is never true".to_owned(), "compare its attributes".to_owned()),
        };
        self.add("impossible-comparison", expr.span(), message, &hint);
    }

    /// The first name of a path, and after a partner or a label the second.
    fn names(&mut self, expr: &Expr, path: &[Name], absolute: bool) {
        let Some(first) = path.first() else { return };
        let meant = meant().any(|name| first == name);
        if !meant {
            self.name(expr, first, 0);
        }
        if let Some(second) = path.get(1)
            && !absolute
            && (meant || self.known.contains(first))
        {
            self.name(expr, second, 1);
        }
    }

    fn name(&mut self, expr: &Expr, name: &Name, place: usize) {
        if self.known.contains(name) || meant().any(|meant| name == meant) {
            return;
        }
        let Some(similar) = self.meant(name) else { return };
        let span = path_span(expr, place, name);
        self.add(
            "unknown-name",
            span,
            format!("no attribute `{name}` is known"),
            &format!("did you mean `{similar}`?"),
        );
    }

    /// The known name that was probably meant.
    fn meant(&mut self, name: &Name) -> Option<Name> {
        if let Some(known) = self.similar.get(name) {
            return known.clone();
        }
        self.comparisons = self.comparisons.checked_sub(self.known.len())?;
        let meant: Vec<Name> = meant().map(Name::from).collect();
        let found = similar(name.as_str(), self.known.iter().chain(&meant)).cloned();
        self.similar.insert(name.clone(), found.clone());
        found
    }
}

//! Computes the values that a name can have where a condition on it holds: an upper bound, never too few.

use crate::analysis::constant;
use crate::expr::paths::path;
use crate::expr::{BinaryOp, Call, Expr, Kind, UnaryOp};
use crate::value::Value;

/// Integers and reals compare exactly below this; nothing is concluded from larger numbers.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Values that compare with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// Booleans, integers, reals.
    Number,
    /// A real, or a length of time, that is not a number.
    NotANumber,
    Text,
    Instant,
    Length,
    Undefined,
    Error,
    Collection,
}

const GROUPS: [Group; 8] = [
    Group::Number,
    Group::NotANumber,
    Group::Text,
    Group::Instant,
    Group::Length,
    Group::Undefined,
    Group::Error,
    Group::Collection,
];

#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Point {
    Number(f64),
    /// In small letters: comparison ignores case.
    Text(String),
}

#[derive(Clone, Debug)]
struct Bound {
    point: Point,
    included: bool,
}

#[derive(Clone, Debug)]
struct Interval {
    group: Group,
    low: Option<Bound>,
    high: Option<Bound>,
}

/// A set of values.
#[derive(Clone, Debug)]
pub(crate) struct Domain(Vec<Interval>);

impl Domain {
    /// Whether no value is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has so many parts that nothing is concluded from it: all of them would be compared with all others.
    pub(crate) fn is_large(&self) -> bool {
        const PARTS_MAX: usize = 64;
        self.0.len() > PARTS_MAX
    }

    /// The values in both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().flat_map(|one| other.0.iter().filter_map(|two| one.and(two))).collect())
    }

    fn or(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn groups(groups: impl IntoIterator<Item = Group>) -> Self {
        Self(groups.into_iter().map(Interval::whole).collect())
    }

    fn all_but(group: Group) -> Self {
        Self::groups(GROUPS.into_iter().filter(|one| *one != group))
    }
}

impl Interval {
    fn whole(group: Group) -> Self {
        Self { group, low: None, high: None }
    }

    fn and(&self, other: &Self) -> Option<Self> {
        if self.group != other.group {
            return None;
        }
        let low = tighter(&self.low, &other.low, |one, two| one > two);
        let high = tighter(&self.high, &other.high, |one, two| one < two);
        if let (Some(low), Some(high)) = (&low, &high)
            && (low.point > high.point || low.point == high.point && !(low.included && high.included))
        {
            return None;
        }
        Some(Self { group: self.group, low, high })
    }
}

fn tighter(one: &Option<Bound>, two: &Option<Bound>, beyond: fn(&Point, &Point) -> bool) -> Option<Bound> {
    match (one, two) {
        (Some(one), Some(two)) if one.point == two.point => {
            Some(Bound { point: one.point.clone(), included: one.included && two.included })
        }
        (Some(one), Some(two)) => Some(if beyond(&one.point, &two.point) { one.clone() } else { two.clone() }),
        (one, two) => one.clone().or_else(|| two.clone()),
    }
}

/// The name that a condition is about, and the values for which it can be true.
pub(crate) fn condition(expr: &Expr) -> Option<(Expr, Domain)> {
    within(expr, 0)
}

fn within(expr: &Expr, nesting: usize) -> Option<(Expr, Domain)> {
    const NESTING_MAX: usize = 32;
    if nesting > NESTING_MAX {
        return None;
    }
    let expr = expr.unparenthesized();
    match expr.kind() {
        Kind::Attribute { .. } | Kind::Select { .. } => {
            let zero = Bound { point: Point::Number(0.0), included: false };
            let below = Interval { group: Group::Number, low: None, high: Some(zero.clone()) };
            let above = Interval { group: Group::Number, low: Some(zero), high: None };
            let domain = Domain(vec![below, above, Interval::whole(Group::NotANumber)]);
            subject(expr).map(|subject| (subject, domain))
        }
        Kind::Binary { op: BinaryOp::Or, left, right } => {
            let (subject, left) = within(left, nesting + 1)?;
            let (same, right) = within(right, nesting + 1)?;
            (subject == same).then(|| (subject, left.or(right)))
        }
        Kind::Binary { op, left, right } => {
            let (subject, op, value) = comparison(*op, left, right)?;
            Some((subject, holds(op, &value)?))
        }
        Kind::Unary { op: UnaryOp::Not, operand } => refuted(operand.unparenthesized()),
        Kind::Call(call) => called(call),
        _ => None,
    }
}

/// What can be compared twice with the same outcome: a path of names.
fn subject(expr: &Expr) -> Option<Expr> {
    let expr = expr.unparenthesized();
    path(expr).map(|_| expr.clone())
}

/// `x > 5`, also when written `5 < x`.
fn comparison(op: BinaryOp, left: &Expr, right: &Expr) -> Option<(Expr, BinaryOp, Value)> {
    if let (Some(subject), Some(value)) = (subject(left), constant(right)) {
        return Some((subject, op, value));
    }
    Some((subject(right)?, op.mirrored(), constant(left)?))
}

/// The values x for which `x op value` can be true.
fn holds(op: BinaryOp, value: &Value) -> Option<Domain> {
    match op {
        BinaryOp::Is => identical(value),
        BinaryOp::Isnt => match value {
            Value::Undefined => Some(Domain::all_but(Group::Undefined)),
            Value::Error => Some(Domain::all_but(Group::Error)),
            _ => None,
        },
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => match value {
            // Comparing with these gives UNDEFINED or ERROR, whatever x is.
            Value::Undefined | Value::Error | Value::List(_) | Value::Ad(_) => Some(Domain(Vec::new())),
            _ => point(value).map(|(group, point)| compared(op, group, &point)),
        },
        _ => None,
    }
}

fn compared(op: BinaryOp, group: Group, point: &Point) -> Domain {
    let bound = |included| Some(Bound { point: point.clone(), included });
    let between = |low, high| Interval { group, low, high };
    Domain(match op {
        BinaryOp::Equal => vec![between(bound(true), bound(true))],
        BinaryOp::Less => vec![between(None, bound(false))],
        BinaryOp::LessEqual => vec![between(None, bound(true))],
        BinaryOp::Greater => vec![between(bound(false), None)],
        BinaryOp::GreaterEqual => vec![between(bound(true), None)],
        _ => vec![between(None, bound(false)), between(bound(false), None), Interval::whole(Group::NotANumber)],
    })
}

/// The values x for which `x is value` can be true. Two lists, or two ads, are never identical.
fn identical(value: &Value) -> Option<Domain> {
    match value {
        Value::Undefined => Some(Domain::groups([Group::Undefined])),
        Value::Error => Some(Domain::groups([Group::Error])),
        Value::List(_) | Value::Ad(_) => Some(Domain(Vec::new())),
        _ => point(value).map(|(group, point)| compared(BinaryOp::Equal, group, &point)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers that lose precision are passed over")]
fn point(value: &Value) -> Option<(Group, Point)> {
    let (group, number) = match value {
        Value::Boolean(truth) => (Group::Number, f64::from(u8::from(*truth))),
        Value::Integer(number) => (Group::Number, *number as f64),
        Value::Real(number) => (Group::Number, *number),
        Value::RelTime(seconds) => (Group::Length, *seconds),
        Value::AbsTime { seconds, .. } => (Group::Instant, *seconds as f64),
        Value::String(text) => return Some((Group::Text, Point::Text(text.to_ascii_lowercase()))),
        Value::Undefined | Value::Error | Value::List(_) | Value::Ad(_) => return None,
    };
    (number.abs() < EXACT_MAX).then_some((group, Point::Number(number)))
}

/// The values for which `!expr` can be true: those for which `expr` is false.
fn refuted(expr: &Expr) -> Option<(Expr, Domain)> {
    match expr.kind() {
        Kind::Attribute { .. } | Kind::Select { .. } => {
            subject(expr).map(|subject| (subject, compared(BinaryOp::Equal, Group::Number, &Point::Number(0.0))))
        }
        Kind::Binary { op, left, right } => {
            let (subject, op, value) = comparison(*op, left, right)?;
            let opposite = match op {
                BinaryOp::Equal => BinaryOp::NotEqual,
                BinaryOp::NotEqual => BinaryOp::Equal,
                BinaryOp::Is => BinaryOp::Isnt,
                BinaryOp::Isnt => BinaryOp::Is,
                BinaryOp::Less => BinaryOp::GreaterEqual,
                BinaryOp::LessEqual => BinaryOp::Greater,
                BinaryOp::Greater => BinaryOp::LessEqual,
                BinaryOp::GreaterEqual => BinaryOp::Less,
                _ => return None,
            };
            let domain = holds(opposite, &value)?;
            // Without an order every comparison but `!=` is false.
            let domain = if domain.is_empty() { domain } else { domain.or(Domain::groups([Group::NotANumber])) };
            Some((subject, domain))
        }
        Kind::Call(call) => {
            let group = match (call.builtin_name(), &*call.arguments) {
                ("isUndefined", [_]) => Group::Undefined,
                ("isError", [_]) => Group::Error,
                _ => return None,
            };
            Some((subject(call.arguments.first()?)?, Domain::all_but(group)))
        }
        _ => None,
    }
}

/// `isString(x)`, `member(x, {"a", "b"})`
fn called(call: &Call) -> Option<(Expr, Domain)> {
    let groups: &[Group] = match (call.builtin_name(), &*call.arguments) {
        ("isUndefined", [_]) => &[Group::Undefined],
        ("isError", [_]) => &[Group::Error],
        ("isString", [_]) => &[Group::Text],
        ("isInteger" | "isBoolean", [_]) => &[Group::Number],
        ("isReal", [_]) => &[Group::Number, Group::NotANumber],
        ("isAbsTime", [_]) => &[Group::Instant],
        ("isRelTime", [_]) => &[Group::Length, Group::NotANumber],
        ("isList" | "isClassAd", [_]) => &[Group::Collection],
        ("member", [element, list]) => {
            let subject = subject(element)?;
            let Value::List(items) = constant(list)? else { return None };
            let domains: Option<Vec<Domain>> = items.iter().map(|item| holds(BinaryOp::Equal, item)).collect();
            let none = Domain(Vec::new());
            return Some((subject, domains?.into_iter().fold(none, Domain::or)));
        }
        _ => return None,
    };
    Some((subject(call.arguments.first()?)?, Domain::groups(groups.iter().copied())))
}

//! When two expressions are equal, and the hash that follows from that: what one looks at, the other does.

use std::hash::{Hash, Hasher};

use smallvec::{SmallVec, smallvec};
use triomphe::Arc as Counted;

use super::{Children, Expr, Kind};
use crate::value::Value;

impl Expr {
    /// Whether both are the same kind of node with the same words in it, whatever their children are.
    fn same_head(&self, other: &Self) -> bool {
        match (self.kind(), other.kind()) {
            (Kind::Literal(left), Kind::Literal(right)) => same_literal(left, right),
            (Kind::Attribute { name: left, absolute: a }, Kind::Attribute { name: right, absolute: b }) => {
                left == right && a == b
            }
            (Kind::Select { name: left, .. }, Kind::Select { name: right, .. }) => left == right,
            (Kind::Unary { op: left, .. }, Kind::Unary { op: right, .. }) => left == right,
            (Kind::Binary { op: left, .. }, Kind::Binary { op: right, .. }) => left == right,
            (Kind::Call(left), Kind::Call(right)) => left.function == right.function,
            (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
        }
    }

    /// Hashes what [`Expr::same_head`] compares, and how many children there are.
    fn hash_head<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self.kind()).hash(state);
        match self.kind() {
            Kind::Literal(value) => hash_literal(value, state),
            Kind::Attribute { name, absolute } => (name, absolute).hash(state),
            Kind::Select { name, .. } => name.hash(state),
            Kind::Unary { op, .. } => op.hash(state),
            Kind::Binary { op, .. } => op.hash(state),
            Kind::Call(call) => (&call.function, call.arguments.len()).hash(state),
            Kind::List(items) => items.len().hash(state),
            Kind::Ad(ad) => ad.len().hash(state),
            Kind::Subscript { .. } | Kind::Conditional { .. } | Kind::Elvis { .. } | Kind::Parenthesized(_) => {}
        }
    }
}

/// Literals are the same if they print the same: NaN is NaN, 0.0 is not -0.0.
fn same_literal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Real(left), Value::Real(right)) | (Value::RelTime(left), Value::RelTime(right)) => {
            left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
        }
        _ => left == right,
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        let mut pending: SmallVec<[(&Self, &Self); 8]> = smallvec![(self, other)];
        while let Some((left, right)) = pending.pop() {
            if Counted::ptr_eq(&left.0, &right.0) {
                continue;
            }
            match (left.kind(), right.kind()) {
                (Kind::Ad(left), Kind::Ad(right)) if left == right => {}
                (Kind::Ad(_), _) => return false,
                _ if !left.same_head(right) => return false,
                (Kind::Literal(_), _) => {}
                _ => {
                    let (lefts, rights) = (left.children(), right.children());
                    if lefts.len() != rights.len() {
                        return false;
                    }
                    pending.extend(lefts.into_iter().zip(rights));
                }
            }
        }
        true
    }
}

/// Equal expressions have equal hashes: NaN has one, and the attributes of an ad are hashed in an order of their own.
impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut pending: Children<'_> = smallvec![self];
        while let Some(expr) = pending.pop() {
            expr.hash_head(state);
            match expr.kind() {
                Kind::Ad(ad) => {
                    for (name, expr) in ad.by_name() {
                        name.hash(state);
                        pending.push(expr);
                    }
                }
                _ => pending.extend(expr.children()),
            }
        }
    }
}

fn hash_literal<H: Hasher>(value: &Value, state: &mut H) {
    std::mem::discriminant(value).hash(state);
    match value {
        Value::Undefined | Value::Error => {}
        Value::Boolean(truth) => truth.hash(state),
        Value::Integer(number) => number.hash(state),
        Value::Real(number) | Value::RelTime(number) => {
            let number = if number.is_nan() { f64::NAN } else { *number };
            number.to_bits().hash(state);
        }
        Value::String(text) => text.hash(state),
        Value::AbsTime { seconds, offset } => (seconds, offset).hash(state),
        // These are no literals.
        Value::List(items) => items.len().hash(state),
        Value::Ad(attributes) => attributes.len().hash(state),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, RandomState};

    use crate::{Dialect, Expr, parse_expr};

    fn parsed(texts: &[&str]) -> Vec<Expr> {
        texts.iter().map(|text| parse_expr(text, Dialect::Gangmatch).unwrap()).collect()
    }

    #[test]
    fn hashes_tell_apart_what_equality_does() {
        let all = parsed(&[
            "x",
            ".x",
            "a.x",
            "b.x",
            "x[0]",
            "x[1]",
            "-x",
            "!x",
            "x + 1",
            "x - 1",
            "x ? 1 : 2",
            "x ?: 1",
            "(x)",
            "f(x)",
            "f(x, x)",
            "g(x)",
            "{ }",
            "{ x }",
            "{ x, x }",
            "{ { x }, x }",
            "{ { x, x } }",
            "[ a = x ]",
            "[ b = x ]",
            "[ a = x; b = x ]",
            "[ a = [ b = x ] ]",
            "1",
            "1.0",
            "\"1\"",
            "true",
            "undefined",
            "error",
            "0.0",
            "-0.0",
            "absTime(\"2004-01-01T00:00:00Z\")",
            "absTime(\"2004-01-01T00:00:01Z\")",
            "absTime(\"2004-01-01T00:00:00+01:00\")",
            "relTime(\"1:00\")",
            "relTime(\"2:00\")",
        ]);
        let state = RandomState::new();
        let hashes: HashSet<u64> = all.iter().map(|expr| state.hash_one(expr)).collect();
        assert_eq!(hashes.len(), all.len());
    }

    #[test]
    fn equal_expressions_have_equal_hashes() {
        let state = RandomState::new();
        for pair in [["[ a = 1; B = x; c = 3 ]", "[ C = 3; b = X; A = 1 ]"], ["F(x.Y)", "f(X.y)"]] {
            let pair = parsed(&pair);
            assert_eq!(pair[0], pair[1]);
            assert_eq!(state.hash_one(&pair[0]), state.hash_one(&pair[1]));
        }
        let nan = |bits| Expr::literal(crate::Value::Real(f64::from_bits(bits)));
        let (one, other) = (nan(0x7ff8_0000_0000_0000), nan(0xfff8_0000_0000_0001));
        assert_eq!((&one, state.hash_one(&one)), (&other, state.hash_one(&other)));
    }
}

//! Random trees, as the parser builds them.

use classad::{BinaryOp, Expr, Kind, Name, Span, UnaryOp, Value};
use proptest::prelude::*;

pub(crate) fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        "[A-Za-z_][A-Za-z0-9_]{0,5}",
        "[a-z ]{1,6}",
        "[\\PC]{1,3}",
        Just("is".to_owned()),
        Just("parent".to_owned())
    ]
    .prop_filter("a function of this name would be a literal, a name with a clock is refused", |name| {
        !["abstime", "reltime", "real"].contains(&name.to_lowercase().as_str()) && !name.contains(':')
    })
    .prop_map(Name::from)
}

pub(crate) fn literal() -> impl Strategy<Value = Expr> {
    prop_oneof![
        Just(Value::Undefined),
        Just(Value::Error),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[\\PC\n\t\"\\\\']{0,8}".prop_map(Value::from),
        (-60_000_000_000_i64..250_000_000_000, -1400_i32..1400)
            .prop_map(|(seconds, minutes)| Value::AbsTime { seconds, offset: minutes * 60 }),
        (-1e9..1e9).prop_map(Value::RelTime),
    ]
    .prop_map(Expr::literal)
}

fn expr_of(kind: Kind) -> Expr {
    Expr::new(kind, Span::default())
}

fn parenthesized(expr: Expr) -> Expr {
    expr_of(Kind::Parenthesized(expr))
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    prop_oneof![
        Just(BinaryOp::Or),
        Just(BinaryOp::And),
        Just(BinaryOp::BitXor),
        Just(BinaryOp::Is),
        Just(BinaryOp::Less),
        Just(BinaryOp::ShiftRightUnsigned),
        Just(BinaryOp::Subtract),
        Just(BinaryOp::Remainder),
    ]
}

/// Trees as the parser builds them: operands of operators stand in parentheses.
pub(crate) fn tree() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![literal(), name().prop_map(Expr::attribute)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let operand = inner.clone().prop_map(parenthesized).boxed();
        prop_oneof![
            (binary_op(), operand.clone(), operand.clone()).prop_map(|(op, left, right)| expr_of(Kind::Binary {
                op,
                left,
                right
            })),
            operand.clone().prop_map(|operand| expr_of(Kind::Unary { op: UnaryOp::Minus, operand })),
            (operand.clone(), inner.clone(), inner.clone()).prop_map(|(condition, then, otherwise)| {
                expr_of(Kind::Conditional { condition, then, otherwise: parenthesized(otherwise) })
            }),
            (operand.clone(), operand.clone()).prop_map(|(value, fallback)| expr_of(Kind::Elvis { value, fallback })),
            (operand.clone(), name()).prop_map(|(base, name)| expr_of(Kind::Select { base, name })),
            (operand, inner.clone()).prop_map(|(base, index)| expr_of(Kind::Subscript { base, index })),
            name().prop_map(|name| expr_of(Kind::Attribute { name, absolute: true })),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Expr::list),
            prop::collection::vec((name(), inner), 0..4).prop_map(|ad| Expr::ad(ad.into_iter().collect())),
        ]
    })
}

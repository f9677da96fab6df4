//! Constraints made ready to be asked about many candidates: what an ad says of itself is worked out once.

mod compile;
mod view;

use crate::eval::lazy::Lazy;
use crate::eval::limits::Context;
use crate::eval::logic::{self, Truth};
use crate::eval::ops;
use crate::eval::scope::{Env, FrameId};
use crate::expr::{BinaryOp, Expr, UnaryOp};
use crate::name::Name;
use crate::text::Dialect;
use crate::value::Value;
use view::{Places, Seen};

pub use view::View;

/// An expression that is asked about one candidate after the other, with everything folded in that does not depend on the
/// candidate. It gives the value that [`eval`](crate::eval) gives once the candidate is bound, several times as fast and
/// without frames, or says that it cannot tell.
///
/// ```
/// use classad::{Context, Dialect, Env, Name, Prepared, View, eval, parse_ad, parse_expr};
///
/// let job = parse_ad("[ MinMemory = 64 ]", Dialect::Gangmatch)?;
/// let constraint = parse_expr("cpu.Type == \"Machine\" && cpu.Memory >= MinMemory", Dialect::Gangmatch)?;
/// let (port, body) = (parse_ad("[]", Dialect::Gangmatch)?, parse_ad("[ Type = \"Machine\"; Memory = 64 ]", Dialect::Gangmatch)?);
/// let (label, context) = (Name::new("cpu"), Context::default());
/// let mut env = Env::new();
/// let job = env.frame(&job, None);
/// let mut prepared = Prepared::labelled(&constraint, &mut env, job, &label, &context);
/// let accepted = prepared.holds(View::port(&port, &body)).unwrap_or_else(|| {
///     // It cannot tell: ask in full.
///     let body = env.frame(&body, None);
///     let view = env.frame(&port, Some(body));
///     env.bind(job, &label, view);
///     eval(&constraint, &env, job, &context).is_ok_and(|value| value.is_true())
/// });
/// assert!(accepted);
/// # Ok::<(), classad::Diagnostics>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prepared {
    root: Node,
    /// The candidate's attributes that matter.
    names: Vec<Name>,
    places: Places,
    /// How long a string may be as a result.
    result_bytes: usize,
    dialect: Dialect,
}

/// What is left of an expression.
#[derive(Clone, Debug)]
enum Node {
    /// INVARIANT: no list and no ad.
    Known(Value),
    /// The candidate's attribute, by its number.
    Theirs(usize),
    /// The most frequent kind of conjunct: the candidate's attribute compared with a known value.
    Test {
        op: BinaryOp,
        theirs: usize,
        value: Value,
    },
    /// Operands of `&&` or `||`, with the truth that decides.
    Chain {
        absorbing: Truth,
        operands: Vec<Node>,
    },
    Binary {
        op: BinaryOp,
        operands: Box<[Node; 2]>,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Node>,
    },
    /// Condition, value if true, value if false.
    Conditional(Box<[Node; 3]>),
    /// Value, and what stands for it if it is undefined.
    Elvis(Box<[Node; 2]>),
    /// Only full evaluation can tell.
    Unclear,
}

impl Prepared {
    /// Prepares `expr`, which stands in the frame `at`, for candidates that would be bound there as `label`.
    ///
    /// Everything else must be in place: what the environment and the context are now is what the answers depend on. The
    /// environment is the same afterwards.
    #[must_use]
    pub fn labelled(expr: &Expr, env: &mut Env<'_>, at: FrameId, label: &Name, context: &Context) -> Self {
        Self::new(compile::labelled(expr, env, at, label, context), context)
    }

    /// Prepares `expr`, which stands in the frame `at`, for candidates that would be its [partner](Env::partner).
    #[must_use]
    pub fn partnered(expr: &Expr, env: &mut Env<'_>, at: FrameId, context: &Context) -> Self {
        Self::new(compile::partnered(expr, env, at, context), context)
    }

    fn new((root, names): (Node, Vec<Name>), context: &Context) -> Self {
        Self {
            root,
            names,
            places: Places::default(),
            result_bytes: context.limits.result_bytes,
            dialect: context.dialect,
        }
    }

    /// The value for a candidate; none if only [`eval`](crate::eval) can tell, which may also run out of a limit.
    pub fn value(&mut self, view: View<'_>) -> Option<Value> {
        let seen = Seen { view, places: self.places.of(view, &self.names), dialect: self.dialect };
        let value = value(&self.root, &seen)?.to_scalar()?;
        (value.as_str().map_or(0, str::len) <= self.result_bytes).then_some(value)
    }

    /// Whether the value for a candidate [counts as true](Value::is_true); none if only [`eval`](crate::eval) can tell.
    pub fn holds(&mut self, view: View<'_>) -> Option<bool> {
        let seen = Seen { view, places: self.places.of(view, &self.names), dialect: self.dialect };
        if let Node::Chain { absorbing, operands } = &self.root {
            return chain(*absorbing, operands, &seen).map(|truth| truth == Truth::True);
        }
        self.value(view).map(|value| value.is_true())
    }

    /// Whether the value is the same for all candidates.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        match &self.root {
            Node::Known(value) => Some(value),
            _ => None,
        }
    }
}

fn value<'v>(node: &'v Node, seen: &Seen<'v>) -> Option<Lazy<'v>> {
    match node {
        Node::Test { .. } | Node::Chain { .. } => truth(node, seen).map(Lazy::from),
        Node::Known(value) => Some(Lazy::scalar(value)),
        Node::Theirs(number) => seen.literal(*number).map(Lazy::scalar),
        Node::Binary { op, operands } => {
            let [left, right] = &**operands;
            let (left, right) = (value(left, seen)?, value(right, seen)?);
            Some(match op {
                BinaryOp::Is | BinaryOp::Isnt => logic::identity(*op, &left, &right).into(),
                _ => ops::binary_in(seen.dialect, *op, &left, &right),
            })
        }
        Node::Unary { op, operand } => Some(ops::unary(*op, &value(operand, seen)?)),
        Node::Conditional(parts) => {
            let [condition, then, otherwise] = &**parts;
            match value(condition, seen)? {
                Lazy::Undefined => Some(Lazy::Undefined),
                condition => match condition.truth() {
                    Some(true) => value(then, seen),
                    Some(false) => value(otherwise, seen),
                    None => Some(Lazy::Error),
                },
            }
        }
        Node::Elvis(parts) => {
            let [first, fallback] = &**parts;
            match value(first, seen)? {
                Lazy::Undefined => value(fallback, seen),
                first => Some(first),
            }
        }
        Node::Unclear => None,
    }
}

/// What the value counts as where a truth is wanted.
fn truth(node: &Node, seen: &Seen<'_>) -> Option<Truth> {
    match node {
        Node::Test { op, theirs, value } => Some(test(*op, seen.literal(*theirs)?, value)),
        Node::Chain { absorbing, operands } => chain(*absorbing, operands, seen),
        node => value(node, seen).as_ref().map(Truth::from),
    }
}

/// From left to right: what decides a part of the chain decides all of it.
fn chain(absorbing: Truth, operands: &[Node], seen: &Seen<'_>) -> Option<Truth> {
    let (first, rest) = operands.split_first()?;
    let mut left = truth(first, seen)?;
    for operand in rest {
        if logic::decides(left, absorbing) {
            break;
        }
        left = logic::join(left, truth(operand, seen)?, absorbing);
    }
    Some(left)
}

/// A comparison; those that matter most without a detour.
fn test(op: BinaryOp, left: &Value, right: &Value) -> Truth {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Truth::from(ops::holds(op, Some(left.cmp(right)))),
        (Value::String(left), Value::String(right)) if op == BinaryOp::Equal => {
            Truth::from(left.eq_ignore_ascii_case(right))
        }
        _ => ops::comparison(op, &Lazy::scalar(left), &Lazy::scalar(right)),
    }
}

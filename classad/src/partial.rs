//! Expressions of which part of the names is known into what is left of them: the same tree, smaller.
//!
//! Evaluation itself decides what is known: a name that is left open stops it, as running out of a limit does, so that no
//! expression can catch it, and the part that needed the name stays as it is.

use std::cell::Cell;
use std::sync::LazyLock;

use crate::ad::Ad;
use crate::builtins::{Arity, Body, Builtin};
use crate::diagnostic::Span;
use crate::eval::arena::Arena;
use crate::eval::eval;
use crate::eval::limits::{Context, Exhausted, Limit};
use crate::eval::machine::{Machine, ScopeId};
use crate::eval::scope::{Env, FrameId, PARTNER};
use crate::expr::{BinaryOp, Call, Expr, Kind};
use crate::name::Name;
use crate::value::Value;

/// Strings of more bytes are not written in place of the names that stand for them.
const STRING_MAX: usize = 256;

/// Functions that evaluate the elements of a list.
const TAKES_ELEMENTS: [&str; 10] =
    ["member", "identicalMember", "anyCompare", "allCompare", "sum", "avg", "min", "max", "size", "regexpMember"];

/// What is left of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Partial {
    /// Its value, whatever the open names will mean.
    Known(Value),
    /// What to evaluate once they have a meaning.
    Open(Expr),
}

impl Partial {
    /// What is left as an expression; a value becomes the literal for it.
    #[must_use]
    pub fn into_expr(self) -> Expr {
        match self {
            Self::Known(value) => Expr::literal(value),
            Self::Open(expr) => expr,
        }
    }
}

/// What is left of `expr` in the frame `at` while names are open: see [`Env::leave_open`] and [`Env::leave_partner_open`].
///
/// What is left, evaluated in the same frame once the open names are labels, partners or defined values, has the value that
/// `expr` has then; UNDEFINED and ERROR too. An open name is not undefined: `isUndefined(cpu)` stays until `cpu` is known.
/// What is left may need fewer steps than the whole. A part that runs out of a limit stays, and runs out again.
///
/// ```
/// use classad::{Context, Dialect, Env, Name, Partial, parse_ad, parse_expr, specialize};
///
/// let job = parse_ad("[ Arch = \"arm64\"; Size = 2 ]", Dialect::Gangmatch)?;
/// let constraint = parse_expr("Size < 3 && cpu.Arch == Arch && cpu.Memory >= Size * 1024", Dialect::Gangmatch)?;
/// let mut env = Env::new();
/// let job = env.frame(&job, None);
/// env.leave_open(job, &Name::new("cpu"));
/// let left = specialize(&constraint, &env, job, &Context::default());
/// assert_eq!(left.into_expr().to_string(), "cpu.Arch == \"arm64\" && cpu.Memory >= 2048");
/// # Ok::<(), classad::Diagnostics>(())
/// ```
#[must_use]
pub fn specialize(expr: &Expr, env: &Env<'_>, at: FrameId, context: &Context) -> Partial {
    match eval(expr, env, at, context) {
        Ok(value) => Partial::Known(value),
        Err(stop) if is_open(stop) => {
            let work = Cell::new(context.limits.fuel);
            Partial::Open(Known { env, at, context, work }.items(expr, 0))
        }
        Err(_) => Partial::Open(expr.clone()),
    }
}

impl Env<'_> {
    /// Leaves open what `name` means in `frame`: a label to be bound later, or a value to be defined. Until then only
    /// [`specialize`] makes sense of expressions that need it; other evaluations of them run out.
    pub fn leave_open(&mut self, frame: FrameId, name: &Name) {
        self.define_expr(frame, name.clone(), OPEN.clone());
    }

    /// Leaves open who the partner of `frame` is: what `other` and `target` mean, and bare names that are found nowhere
    /// else. See [`Env::leave_open`].
    pub fn leave_partner_open(&mut self, frame: FrameId) {
        for name in &*PARTNER {
            self.leave_open(frame, name);
        }
        let unknown = self.nested(&NOTHING, None);
        self.define_rest(unknown, OPEN.clone());
        self.set_fallback(frame, unknown);
    }
}

/// Where evaluation stops at an open name: no text is so long.
const MARK: Span = Span { start: usize::MAX, end: usize::MAX };

static NOTHING: LazyLock<Ad> = LazyLock::new(Ad::new);

/// The expression of an open name.
static OPEN: LazyLock<Expr> = LazyLock::new(|| {
    let mut call = Call::new(Name::new("open"), Vec::new());
    call.builtin = Some(&STOP);
    Expr::new(Kind::Call(Box::new(call)), MARK)
});

static STOP: Builtin = Builtin {
    name: "open",
    arity: Arity { min: 0, max: None },
    doc: "Stops the evaluation.",
    body: Body::Lazy(|_, _, _, _| Err(Limit::Fuel)),
};

/// Whether evaluation stopped at an open name.
pub(crate) fn is_open(stop: Exhausted) -> bool {
    stop.span == MARK
}

/// Stops functions that look at expressions without evaluating them from showing how an open name is written here.
pub(crate) fn refuse_open(expr: &Expr) -> Result<(), Limit> {
    if expr.span() == MARK { Err(Limit::Fuel) } else { Ok(()) }
}

/// Everything that is known.
struct Known<'e> {
    env: &'e Env<'e>,
    at: FrameId,
    context: &'e Context,
    /// How many steps may still be taken for all parts together: after that, they stay as they are.
    work: Cell<u64>,
}

impl Known<'_> {
    /// What is left of a part that stands below `depth` operators.
    fn reduce(&self, expr: &Expr, depth: usize) -> Expr {
        if depth >= self.context.limits.depth {
            return expr.clone();
        }
        match self.attempt(expr, depth) {
            Ok(Some(value)) => Expr::new(Kind::Literal(value), expr.span()),
            Err(stop) if is_open(stop) => reparenthesized(expr, self.rebuild(expr.unparenthesized(), depth + 1)),
            Ok(None) | Err(_) => expr.clone(),
        }
    }

    /// What is left of an expression whose elements are wanted if it is a list. In other places a list stays as it is:
    /// functions that make text of it show how it is written.
    fn items(&self, expr: &Expr, depth: usize) -> Expr {
        match expr.as_list() {
            Some(items) => {
                let items = items.iter().map(|item| self.reduce(item, depth));
                reparenthesized(expr, Expr::new(Kind::List(items.collect()), expr.unparenthesized().span()))
            }
            None => self.reduce(expr, depth),
        }
    }

    /// The value if it can be written in place of the expression; none for lists, ads and long strings.
    fn attempt(&self, expr: &Expr, depth: usize) -> Result<Option<Value>, Exhausted> {
        let (arena, mut context) = (Arena::default(), *self.context);
        context.limits.fuel = self.work.get();
        Machine::new(self.env, &context, &arena).run(|machine| {
            for _ in 0..depth {
                machine.enter()?;
            }
            let value = machine.eval(expr, ScopeId(self.at.index()));
            self.work.set(self.work.get().saturating_sub(machine.spent()));
            let value = value?.to_scalar();
            Ok(value.filter(|value| value.as_str().is_none_or(|text| text.len() <= STRING_MAX)))
        })
    }

    /// The expression with its parts reduced. An ad is another scope: its attributes stay as they are.
    fn rebuild(&self, expr: &Expr, depth: usize) -> Expr {
        let part = |part: &Expr| self.reduce(part, depth);
        let kind = match expr.kind() {
            Kind::Literal(_) | Kind::Attribute { .. } | Kind::Ad(_) | Kind::Parenthesized(_) => return expr.clone(),
            Kind::Select { base, name } => Kind::Select { base: part(base), name: name.clone() },
            Kind::Subscript { base, index } => Kind::Subscript { base: part(base), index: part(index) },
            Kind::Unary { op, operand } => Kind::Unary { op: *op, operand: part(operand) },
            Kind::Binary { op, left, right } => {
                let (left, right) = (part(left), part(right));
                match neutral(*op, &left, &right) {
                    Some(rest) => return rest,
                    None => Kind::Binary { op: *op, left, right },
                }
            }
            Kind::Conditional { condition, then, otherwise } => {
                let condition = part(condition);
                match truth(&condition) {
                    Some(true) => return part(then),
                    Some(false) => return part(otherwise),
                    None => Kind::Conditional { condition, then: part(then), otherwise: part(otherwise) },
                }
            }
            Kind::Elvis { value, fallback } => match part(value) {
                value if value.as_literal() == Some(&Value::Undefined) => return part(fallback),
                value => Kind::Elvis { value, fallback: part(fallback) },
            },
            Kind::Call(call) => return self.call(expr, call, depth),
            Kind::List(_) => return expr.clone(),
        };
        Expr::new(kind, expr.span())
    }

    /// Functions that look at how an argument is written, or evaluate it elsewhere, keep it as it is.
    fn call(&self, expr: &Expr, call: &Call, depth: usize) -> Expr {
        let function = call.builtin().map_or("", |builtin| builtin.name);
        let kept = match function {
            "unparse" | "unresolved" | "countMatches" | "evalInEachContext" => 1,
            _ => 0,
        };
        if function == "ifThenElse"
            && let [condition, then, otherwise] = &*call.arguments
            && let Some(truth) = truth(&self.reduce(condition, depth))
        {
            let chosen = self.reduce(if truth { then } else { otherwise }, depth);
            return if binds_tightest(&chosen) { chosen } else { Expr::new(Kind::Parenthesized(chosen), expr.span()) };
        }
        let arguments = call.arguments.iter().enumerate();
        let arguments = arguments.map(|(index, argument)| match index < kept {
            true => argument.clone(),
            false if TAKES_ELEMENTS.contains(&function) => self.items(argument, depth),
            false => self.reduce(argument, depth),
        });
        let call = Call::new(call.function.clone(), arguments.collect());
        Expr::new(Kind::Call(Box::new(call)), expr.span())
    }
}

/// `true && x` and `x && true` are x if x is a truth: other values count as truths without being any.
fn neutral(op: BinaryOp, left: &Expr, right: &Expr) -> Option<Expr> {
    let neutral = match op {
        BinaryOp::And => true,
        BinaryOp::Or => false,
        _ => return None,
    };
    if truth(left) == Some(neutral) && is_truth(right) {
        Some(right.clone())
    } else if truth(right) == Some(neutral) && is_truth(left) {
        Some(left.clone())
    } else {
        None
    }
}

/// What a literal counts as where a truth is wanted.
fn truth(expr: &Expr) -> Option<bool> {
    match expr.as_literal()? {
        Value::Boolean(truth) => Some(*truth),
        Value::Integer(number) => Some(*number != 0),
        Value::Real(number) => Some(*number != 0.0),
        _ => None,
    }
}

/// Whether the value can only be true, false, undefined or error.
pub(crate) fn is_truth(expr: &Expr) -> bool {
    match expr.unparenthesized().kind() {
        Kind::Literal(value) => matches!(value, Value::Boolean(_) | Value::Undefined | Value::Error),
        Kind::Unary { op, .. } => *op == crate::UnaryOp::Not,
        Kind::Binary { op, .. } => {
            op.precedence() <= BinaryOp::And.precedence()
                || op.precedence() >= BinaryOp::Equal.precedence() && op.precedence() <= BinaryOp::Less.precedence()
        }
        _ => false,
    }
}

/// The reduced inside of `whole` with the parentheses it needs. Those around a call stay: what `random()` draws depends on
/// where it stands, parentheses included.
fn reparenthesized(whole: &Expr, inside: Expr) -> Expr {
    let parentheses = matches!(whole.kind(), Kind::Parenthesized(_));
    if parentheses && (!binds_tightest(&inside) || matches!(inside.kind(), Kind::Call(_))) {
        Expr::new(Kind::Parenthesized(inside), whole.span())
    } else {
        inside
    }
}

/// Whether the expression can stand anywhere without parentheses.
fn binds_tightest(expr: &Expr) -> bool {
    match expr.kind() {
        Kind::Unary { .. } | Kind::Binary { .. } | Kind::Conditional { .. } | Kind::Elvis { .. } => false,
        Kind::Literal(_)
        | Kind::Attribute { .. }
        | Kind::Select { .. }
        | Kind::Subscript { .. }
        | Kind::Call(_)
        | Kind::List(_)
        | Kind::Ad(_)
        | Kind::Parenthesized(_) => true,
    }
}

//! Trees into values.

pub(crate) mod arena;
pub(crate) mod bill;
pub(crate) mod lazy;
pub(crate) mod limits;
pub(crate) mod logic;
pub(crate) mod lookup;
pub(crate) mod machine;
mod memo;
pub(crate) mod ops;
pub(crate) mod scope;

use crate::expr::Expr;
use crate::name::Name;
use crate::value::Value;
use arena::Arena;
use bill::Bill;
use limits::{Context, Exhausted};
use machine::{Machine, ScopeId};
use scope::{Env, FrameId};

/// The value of `expr` in the frame `at`, whole to its last element.
///
/// # Errors
/// If a limit of the context is reached; an expression cannot catch that.
pub fn eval(expr: &Expr, env: &Env<'_>, at: FrameId, context: &Context) -> Result<Value, Exhausted> {
    let arena = Arena::default();
    Machine::new(env, context, &arena).run(|machine| {
        let value = machine.eval(expr, ScopeId(at.index()))?;
        machine.force(&value)
    })
}

/// The same, and adds the fuel that was used to `bill`: who evaluates often can see what it costs, and because of which ad.
///
/// # Errors
/// If a limit of the context is reached; an expression cannot catch that.
pub fn eval_billed(
    expr: &Expr,
    env: &Env<'_>,
    at: FrameId,
    context: &Context,
    bill: &mut Bill,
) -> Result<Value, Exhausted> {
    let arena = Arena::default();
    Machine::new(env, context, &arena).run(|machine| {
        machine.begin_bill(ScopeId(at.index()));
        let outcome = machine.eval(expr, ScopeId(at.index()));
        let value = outcome.and_then(|value| machine.force(&value));
        machine.end_bill(bill);
        value
    })
}

/// The value of the attribute `name` of the frame `at` itself, defined values included; UNDEFINED if it has none.
///
/// # Errors
/// If a limit of the context is reached.
pub fn eval_attribute(env: &Env<'_>, at: FrameId, name: &str, context: &Context) -> Result<Value, Exhausted> {
    let arena = Arena::default();
    Machine::new(env, context, &arena).run(|machine| match machine.own(ScopeId(at.index()), &Name::new(name)) {
        Some((expr, scope)) => {
            let value = machine.eval(expr, scope)?;
            machine.force(&value)
        }
        None => Ok(Value::Undefined),
    })
}

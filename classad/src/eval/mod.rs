//! Trees into values.

pub(crate) mod arena;
pub(crate) mod bill;
pub(crate) mod evaluator;
pub(crate) mod lazy;
pub(crate) mod limits;
pub(crate) mod logic;
pub(crate) mod lookup;
mod memo;
pub(crate) mod ops;
pub(crate) mod scope;

use crate::expr::Expr;
use crate::name::Name;
use crate::value::Value;
use arena::Arena;
use bill::Bill;
use evaluator::Evaluator;
use limits::{Context, Exhausted};
use scope::{Env, FrameId, ScopeId};

/// The value of `expr` in the frame `at`, whole to its last element.
///
/// # Errors
/// If a limit of the context is reached; an expression cannot catch that.
pub fn eval(expr: &Expr, env: &Env<'_>, at: FrameId, context: &Context) -> Result<Value, Exhausted> {
    let arena = Arena::default();
    Evaluator::new(env, context, &arena).run(|evaluator| {
        let value = evaluator.eval(expr, ScopeId(at.index()))?;
        evaluator.force(&value)
    })
}

/// The same, and adds the fuel that was used to `bill`, by the ad whose expressions used it.
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
    Evaluator::new(env, context, &arena).run(|evaluator| {
        evaluator.begin_bill(ScopeId(at.index()));
        let outcome = evaluator.eval(expr, ScopeId(at.index()));
        let value = outcome.and_then(|value| evaluator.force(&value));
        evaluator.end_bill(bill);
        value
    })
}

/// The value of the attribute `name` of the frame `at` itself, defined values included; UNDEFINED if it has none.
///
/// # Errors
/// If a limit of the context is reached.
pub fn eval_attribute(env: &Env<'_>, at: FrameId, name: &str, context: &Context) -> Result<Value, Exhausted> {
    let arena = Arena::default();
    Evaluator::new(env, context, &arena).run(|evaluator| {
        match evaluator.own_attribute(ScopeId(at.index()), &Name::new(name)) {
            Some((expr, scope)) => {
                let value = evaluator.eval(expr, scope)?;
                evaluator.force(&value)
            }
            None => Ok(Value::Undefined),
        }
    })
}

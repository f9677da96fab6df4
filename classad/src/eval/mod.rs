//! The evaluator: computes the value of a tree.

pub(crate) mod arena;
pub(crate) mod bill;
pub(crate) mod builtin;
mod charge;
pub(crate) mod costs;
pub(crate) mod evaluator;
pub(crate) mod lazy;
pub(crate) mod limits;
pub(crate) mod logic;
pub(crate) mod lookup;
mod memo;
pub(crate) mod ops;
mod results;
pub(crate) mod scope;
mod walk;

use crate::expr::Expr;
use crate::name::Name;
use crate::value::Value;
use arena::Arena;
use bill::Bill;
use evaluator::{Bounded, Evaluator};
use limits::{Context, Exhausted};
use scope::{Env, FrameId, ScopeId};

/// The whole value of `expr` in the frame `at`, every element and attribute evaluated.
///
/// # Errors
/// If a limit of the context is reached; an expression cannot catch that.
pub fn eval(expr: &Expr, env: &Env<'_>, at: FrameId, context: &Context) -> Result<Value, Exhausted> {
    let arena = Arena::default();
    Evaluator::new(env, context, &arena).run(|evaluator| evaluator.whole(expr, ScopeId(at.index())))
}

/// The whole value of `expr` in the frame `at`; adds the fuel that was used to `bill`, by the ad that contains the expressions
/// that used it.
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
        let value = evaluator.whole(expr, ScopeId(at.index()));
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
            Some((expr, scope)) => evaluator.whole(expr, scope),
            None => Ok(Value::Undefined),
        }
    })
}

impl<'e> Evaluator<'e> {
    /// The whole value of an expression.
    fn whole(&mut self, expr: &'e Expr, scope: ScopeId) -> Bounded<Value> {
        let value = self.eval(expr, scope)?;
        self.force(&value)
    }
}

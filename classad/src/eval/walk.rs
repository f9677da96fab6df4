//! Evaluates expressions: a walk of the tree within its limits, in which each attribute is resolved once.

use crate::ad::Ad;
use crate::eval::builtin::Body;
use crate::eval::costs::{ALLOCATION, CALL, SLOT_BYTES};
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::{Elements, Items, Lazy};
use crate::eval::logic::{self, Truth};
use crate::eval::memo::Slot;
use crate::eval::ops;
use crate::eval::scope::ScopeId;
use crate::expr::{BinaryOp, Call, Expr, Kind};
use crate::value::Value;

impl<'e> Evaluator<'e> {
    /// The value of `expr` in `scope`, its outermost layer only.
    pub(crate) fn eval(&mut self, expr: &'e Expr, scope: ScopeId) -> Outcome<'e> {
        self.start(expr)?;
        let inner = self.unparenthesized(expr)?;
        match inner.kind() {
            Kind::Literal(value) => Ok(Lazy::scalar(value)),
            Kind::List(items) => Ok(Lazy::List(Items::Written(items, scope))),
            Kind::Ad(ad) => Ok(Lazy::Ad(self.scope_of(inner, ad, scope)?)),
            kind => {
                self.enter()?;
                self.operate_and_leave(kind, scope)
            }
        }
    }

    /// The expression inside any parentheses, each of which takes a step.
    fn unparenthesized(&mut self, expr: &'e Expr) -> Bounded<&'e Expr> {
        let mut inner = expr;
        while let Kind::Parenthesized(expr) = inner.kind() {
            self.spend(1)?;
            inner = expr;
        }
        Ok(inner)
    }

    /// A function of its own, so that the value is made where the caller wants it: a copy waits for what was just written.
    fn operate_and_leave(&mut self, kind: &'e Kind, scope: ScopeId) -> Outcome<'e> {
        let value = self.operate(kind, scope);
        self.leave();
        value
    }

    fn operate(&mut self, kind: &'e Kind, scope: ScopeId) -> Outcome<'e> {
        match kind {
            Kind::Attribute { name, absolute } => self.resolve_name(name, *absolute, scope),
            Kind::Select { base, name } => match base.kind() {
                Kind::Attribute { name: label, absolute: false } => self.select_from_name(base, label, name, scope),
                _ => {
                    let base = self.eval(base, scope);
                    self.select(base.as_ref().map_err(|limit| *limit)?, name)
                }
            },
            Kind::Subscript { base, index } => {
                let base = self.eval(base, scope)?;
                let index = self.eval(index, scope)?;
                self.subscript(&base, &index)
            }
            Kind::Unary { op, operand } => Ok(ops::unary(*op, &self.eval(operand, scope)?)),
            Kind::Binary { op, left, right } => self.binary(*op, left, right, scope),
            Kind::Conditional { condition, then, otherwise } => self.choose(condition, then, otherwise, scope),
            Kind::Elvis { value, fallback } => match self.eval(value, scope)? {
                Lazy::Undefined => self.eval(fallback, scope),
                value => Ok(value),
            },
            Kind::Call(call) => self.call(call, scope),
            Kind::Literal(_) | Kind::List(_) | Kind::Ad(_) | Kind::Parenthesized(_) => Ok(Lazy::Error),
        }
    }

    /// `condition ? then : otherwise`; only the chosen one is evaluated.
    pub(crate) fn choose(
        &mut self,
        condition: &'e Expr,
        then: &'e Expr,
        otherwise: &'e Expr,
        scope: ScopeId,
    ) -> Outcome<'e> {
        match self.eval(condition, scope)? {
            Lazy::Undefined => Ok(Lazy::Undefined),
            condition => match condition.truth() {
                Some(true) => self.eval(then, scope),
                Some(false) => self.eval(otherwise, scope),
                None => Ok(Lazy::Error),
            },
        }
    }

    /// Values are inspected where they were returned: moving one out of its result takes longer than most operators.
    fn binary(&mut self, op: BinaryOp, left: &'e Expr, right: &'e Expr, scope: ScopeId) -> Outcome<'e> {
        if op.gives_truth() {
            return self.judge(op, left, right, scope).map(Lazy::from);
        }
        let left = self.eval(left, scope);
        let left = left.as_ref().map_err(|limit| *limit)?;
        let right = self.eval(right, scope);
        Ok(ops::binary_in(self.context.dialect, op, left, right.as_ref().map_err(|limit| *limit)?))
    }

    /// The value of an operator whose value is a truth.
    fn judge(&mut self, op: BinaryOp, left: &'e Expr, right: &'e Expr, scope: ScopeId) -> Bounded<Truth> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let absorbing = Truth::from(op == BinaryOp::Or);
            let left = self.truth(left, scope)?;
            if logic::decides(left, absorbing) {
                return Ok(left);
            }
            return Ok(logic::join(left, self.truth(right, scope)?, absorbing));
        }
        let left = self.eval(left, scope);
        let left = left.as_ref().map_err(|limit| *limit)?;
        if let Kind::Literal(value) = right.kind()
            && op.compares()
        {
            self.start(right)?;
            if let (Lazy::String(left), Value::String(right)) = (left, value) {
                self.compare(left, right)?;
            }
            return Ok(ops::comparison_with(op, left, value));
        }
        let right = self.eval(right, scope);
        let right = right.as_ref().map_err(|limit| *limit)?;
        self.compare_values(left, right)?;
        Ok(match op {
            BinaryOp::Is | BinaryOp::Isnt => logic::identity(op, left, right),
            _ => ops::comparison(op, left, right),
        })
    }

    /// What an operand of `&&` or `||` counts as.
    fn truth(&mut self, expr: &'e Expr, scope: ScopeId) -> Bounded<Truth> {
        match self.unparenthesized(expr)?.kind() {
            Kind::Binary { op, left, right } if op.gives_truth() => {
                self.start(expr)?;
                self.enter()?;
                let truth = self.judge(*op, left, right, scope);
                self.leave();
                truth
            }
            _ => self.eval(expr, scope).as_ref().map(Truth::from).map_err(|limit| *limit),
        }
    }

    /// Unknown functions and wrong numbers of arguments are ERROR, and the arguments are not evaluated.
    fn call(&mut self, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
        self.spend(CALL)?;
        let Some(builtin) = call.builtin().filter(|builtin| builtin.arity.allows(call.arguments.len())) else {
            return Ok(Lazy::Error);
        };
        match (builtin.body, &*call.arguments) {
            (Body::Exprs(body), _) => body(self, call, scope),
            // Few arguments need no list.
            (Body::Values(body), []) => body(self, &[]),
            (Body::Values(body), [only]) => {
                let arguments = [self.eval(only, scope)?];
                self.read(&arguments)?;
                body(self, &arguments)
            }
            (Body::Values(body), [first, second]) => {
                let arguments = [self.eval(first, scope)?, self.eval(second, scope)?];
                self.read(&arguments)?;
                body(self, &arguments)
            }
            (Body::Values(body), many) => {
                let arguments = self.eval_all(many, scope)?;
                self.read(&arguments)?;
                body(self, &arguments)
            }
            (Body::Test(holds), arguments) => {
                let Some(only) = arguments.first() else { return Ok(Lazy::Error) };
                let value = self.eval(only, scope)?;
                self.read(std::slice::from_ref(&value))?;
                Ok(Lazy::Boolean(holds(&value)))
            }
        }
    }

    /// The values of all expressions, outermost layers only.
    pub(crate) fn eval_all(&mut self, exprs: &'e [Expr], scope: ScopeId) -> Bounded<Vec<Lazy<'e>>> {
        self.take(exprs.len().saturating_mul(size_of::<Lazy<'_>>()))?;
        exprs.iter().map(|expr| self.eval(expr, scope)).collect()
    }

    /// The value of an attribute found in `scope`. Each is evaluated once; one that needs itself is UNDEFINED.
    pub(crate) fn resolve(&mut self, expr: &'e Expr, scope: ScopeId) -> Outcome<'e> {
        if let Kind::Literal(value) = expr.kind() {
            self.spend(1)?;
            return Ok(Lazy::scalar(value));
        }
        let slot = match self.memo.find((expr.id(), scope)) {
            Some(slot) => slot,
            None => {
                self.take(SLOT_BYTES)?;
                self.memo.add((expr.id(), scope))
            }
        };
        match self.memo.get(slot) {
            Slot::Known(value) => return Ok(value.clone()),
            Slot::Open(index) => {
                let index = *index;
                self.memo.cut = self.memo.cut.min(index);
                return Ok(Lazy::Undefined);
            }
            Slot::Forgotten => {}
        }
        let index = self.memo.open;
        let outer_cut = std::mem::replace(&mut self.memo.cut, usize::MAX);
        self.memo.open += 1;
        self.memo.set(slot, Slot::Open(index));
        let outer = self.bill_to(scope);
        let value = self.eval(expr, scope)?;
        self.bill_back(outer);
        self.memo.open -= 1;
        // A value that saw UNDEFINED for an attribute further out holds for this path only.
        if self.memo.cut >= index {
            self.memo.set(slot, Slot::Known(value.clone()));
            self.memo.cut = outer_cut;
        } else {
            self.memo.set(slot, Slot::Forgotten);
            self.memo.cut = self.memo.cut.min(outer_cut);
        }
        Ok(value)
    }

    /// The scope of an ad that stands in an expression: always the same for the same scope around it.
    fn scope_of(&mut self, expr: &'e Expr, ad: &'e Ad, around: ScopeId) -> Bounded<ScopeId> {
        if let Some(scope) = self.ads.get(&(expr.id(), around)) {
            return Ok(*scope);
        }
        self.spend(ALLOCATION)?;
        self.take(SLOT_BYTES)?;
        let scope = self.add_scope(ad, Some(around))?;
        self.ads.insert((expr.id(), around), scope);
        Ok(scope)
    }

    /// The elements of a list, evaluated to their outermost layer.
    pub(crate) fn items(&mut self, items: &Items<'e>) -> Bounded<Elements<'e>> {
        match items {
            Items::Written(items, scope) => {
                let outer = self.bill_to(*scope);
                let items = self.eval_all(items, *scope)?;
                self.bill_back(outer);
                Ok(Elements::Evaluated(items))
            }
            Items::Computed(computed) => {
                // The caller reads all of them.
                self.spend(computed.items.len())?;
                Ok(Elements::Shared(computed.clone()))
            }
        }
    }
}

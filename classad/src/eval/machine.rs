//! One evaluation at work: the tree walked within its limits, references resolved once each.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

use crate::ad::Ad;
use crate::builtins::Body;
use crate::eval::arena::{self, Arena, Made};
use crate::eval::lazy::{Items, Lazy};
use crate::eval::limits::{Context, Exhausted, Limit};
use crate::eval::logic::{self, Truth};
use crate::eval::memo::{Memo, Place, PlaceHasher, Slot};
use crate::eval::ops;
use crate::eval::scope::Env;
use crate::expr::{BinaryOp, Call, Expr, Kind};
use crate::partial;
use crate::value::Value;

/// A scope of an evaluation: the frames of the environment first, then ads found on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(pub(crate) usize);

/// What an evaluation gives, unless it runs out of something. Which place ran out, the machine knows.
pub(crate) type Bounded<T> = Result<T, Limit>;

/// The value that an evaluation gives.
pub(crate) type Outcome<'e> = Bounded<Lazy<'e>>;

/// An ad written in an expression, and the scope it stands in.
pub(crate) struct Nested<'e> {
    pub(crate) ad: &'e Ad,
    pub(crate) parent: Option<ScopeId>,
    /// The scope that this one is a guest's view of: names mean there what they mean in a selection.
    pub(crate) guest_of: Option<ScopeId>,
}

pub(crate) struct Machine<'e> {
    pub(crate) env: &'e Env<'e>,
    pub(crate) context: &'e Context,
    pub(crate) nested: Vec<Nested<'e>>,
    /// The scopes of ads written in expressions.
    ads: HashMap<Place, ScopeId, BuildHasherDefault<PlaceHasher>>,
    memo: Memo<'e>,
    /// How many references are open.
    open: usize,
    /// The lowest open reference that a circular one has run into since this was last reset.
    cut: usize,
    depth: usize,
    fuel: u64,
    /// Where the next tree made during the evaluation goes.
    made: &'e arena::Place,
    /// What was evaluated last.
    here: Option<&'e Expr>,
    /// The scope of values that have none.
    pub(crate) empty: Option<ScopeId>,
}

impl<'e> Machine<'e> {
    pub(crate) fn new(env: &'e Env<'e>, context: &'e Context, arena: &'e Arena) -> Self {
        Self {
            env,
            context,
            nested: Vec::new(),
            ads: HashMap::default(),
            memo: Memo::default(),
            open: 0,
            cut: usize::MAX,
            depth: 0,
            fuel: context.limits.fuel,
            made: arena.start(),
            here: None,
            empty: None,
        }
    }

    /// What `work` gives, or what ran out and where.
    pub(crate) fn run<T>(mut self, work: impl FnOnce(&mut Self) -> Bounded<T>) -> Result<T, Exhausted> {
        work(&mut self).map_err(|limit| Exhausted { limit, span: self.here.map(Expr::span).unwrap_or_default() })
    }

    /// The value of `expr` in `scope`, its outermost layer only.
    pub(crate) fn eval(&mut self, expr: &'e Expr, scope: ScopeId) -> Outcome<'e> {
        self.start(expr)?;
        match expr.unparenthesized().kind() {
            Kind::Literal(value) => Ok(Lazy::scalar(value)),
            Kind::List(items) => Ok(Lazy::List(Items::Written(items, scope))),
            Kind::Ad(ad) => Ok(Lazy::Ad(self.scope_of(expr.unparenthesized(), ad, scope))),
            kind => {
                self.enter()?;
                self.operate_and_leave(expr, kind, scope)
            }
        }
    }

    /// A function of its own, so that the value is made where the caller wants it: a copy waits for what was just written.
    fn operate_and_leave(&mut self, expr: &'e Expr, kind: &'e Kind, scope: ScopeId) -> Outcome<'e> {
        let value = self.operate(expr, kind, scope);
        self.leave();
        value
    }

    fn operate(&mut self, expr: &'e Expr, kind: &'e Kind, scope: ScopeId) -> Outcome<'e> {
        match kind {
            Kind::Attribute { name, absolute } => self.refer(name, *absolute, scope),
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
            Kind::Conditional { condition, then, otherwise } => match self.eval(condition, scope)? {
                Lazy::Undefined => Ok(Lazy::Undefined),
                condition => match condition.truth() {
                    Some(true) => self.eval(then, scope),
                    Some(false) => self.eval(otherwise, scope),
                    None => Ok(Lazy::Error),
                },
            },
            Kind::Elvis { value, fallback } => match self.eval(value, scope)? {
                Lazy::Undefined => self.eval(fallback, scope),
                value => Ok(value),
            },
            Kind::Call(call) => self.call(expr, call, scope),
            Kind::Literal(_) | Kind::List(_) | Kind::Ad(_) | Kind::Parenthesized(_) => Ok(Lazy::Error),
        }
    }

    /// Values are looked at where they were returned: moving one out of its result takes longer than most operators.
    fn binary(&mut self, op: BinaryOp, left: &'e Expr, right: &'e Expr, scope: ScopeId) -> Outcome<'e> {
        if op.gives_truth() {
            return self.judge(op, left, right, scope).map(Lazy::from);
        }
        let left = self.eval(left, scope);
        let left = left.as_ref().map_err(|limit| *limit)?;
        let right = self.eval(right, scope);
        Ok(ops::binary_in(self.context.dialect, op, left, right.as_ref().map_err(|limit| *limit)?))
    }

    /// The value of an operator that gives a truth.
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
            return Ok(ops::comparison_with(op, left, value));
        }
        let right = self.eval(right, scope);
        let right = right.as_ref().map_err(|limit| *limit)?;
        Ok(match op {
            BinaryOp::Is | BinaryOp::Isnt => logic::identity(op, left, right),
            _ => ops::comparison(op, left, right),
        })
    }

    /// What an operand of `&&` or `||` counts as.
    fn truth(&mut self, expr: &'e Expr, scope: ScopeId) -> Bounded<Truth> {
        match expr.unparenthesized().kind() {
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

    /// Unknown functions and wrong numbers of arguments are ERROR without a look at the arguments.
    fn call(&mut self, expr: &'e Expr, call: &'e Call, scope: ScopeId) -> Outcome<'e> {
        let Some(builtin) = call.builtin.filter(|builtin| builtin.arity.allows(call.arguments.len())) else {
            return Ok(Lazy::Error);
        };
        match builtin.body {
            Body::Lazy(body) => body(self, expr, call, scope),
            // Few arguments need no list.
            Body::Values(body) => match &*call.arguments {
                [] => body(self, &[]),
                [only] => {
                    let arguments = [self.eval(only, scope)?];
                    body(self, &arguments)
                }
                [first, second] => {
                    let arguments = [self.eval(first, scope)?, self.eval(second, scope)?];
                    body(self, &arguments)
                }
                many => {
                    let arguments = self.eval_all(many, scope)?;
                    body(self, &arguments)
                }
            },
        }
    }

    pub(crate) fn eval_all(&mut self, exprs: &'e [Expr], scope: ScopeId) -> Bounded<Vec<Lazy<'e>>> {
        exprs.iter().map(|expr| self.eval(expr, scope)).collect()
    }

    /// The value of an attribute found in `scope`. Each is evaluated once; one that needs itself is UNDEFINED.
    pub(crate) fn resolve(&mut self, expr: &'e Expr, scope: ScopeId) -> Outcome<'e> {
        if let Kind::Literal(value) = expr.kind() {
            self.spend(1)?;
            return Ok(Lazy::scalar(value));
        }
        let slot = self.memo.find((expr.address(), scope));
        match self.memo.get(slot) {
            Slot::Known(value) => return Ok(value.clone()),
            Slot::Open(index) => {
                self.cut = self.cut.min(*index);
                return Ok(Lazy::Undefined);
            }
            Slot::Forgotten => {}
        }
        let index = self.open;
        let outer_cut = std::mem::replace(&mut self.cut, usize::MAX);
        self.open += 1;
        self.memo.set(slot, Slot::Open(index));
        let value = self.eval(expr, scope)?;
        self.open -= 1;
        // A value that saw UNDEFINED for an attribute further out holds for this path only.
        if self.cut >= index {
            self.memo.set(slot, Slot::Known(value.clone()));
            self.cut = outer_cut;
        } else {
            self.memo.set(slot, Slot::Forgotten);
            self.cut = self.cut.min(outer_cut);
        }
        Ok(value)
    }

    /// The scope of an ad that stands in an expression: always the same for the same scope around it.
    fn scope_of(&mut self, expr: &'e Expr, ad: &'e Ad, around: ScopeId) -> ScopeId {
        if let Some(scope) = self.ads.get(&(expr.address(), around)) {
            return *scope;
        }
        let scope = self.add_scope(ad, Some(around));
        self.ads.insert((expr.address(), around), scope);
        scope
    }

    pub(crate) fn add_scope(&mut self, ad: &'e Ad, parent: Option<ScopeId>) -> ScopeId {
        let scope = ScopeId(self.env.len() + self.nested.len());
        self.nested.push(Nested { ad, parent, guest_of: None });
        scope
    }

    /// The scope for an expression of `home` that is evaluated in the ad of `scope`: labels around that ad are private to the
    /// expressions that stand there.
    pub(crate) fn as_guest(&mut self, scope: ScopeId, home: ScopeId) -> ScopeId {
        let chain = |start| std::iter::successors(Some(start), |at| self.parent(*at));
        let labelled = |at: &ScopeId| self.frame(*at).is_some_and(|frame| self.env.labels(frame) > 0);
        let private = chain(scope).any(|at| labelled(&at) && !chain(home).any(|own| own == at));
        let Some(ad) = self.ad(scope).filter(|_| private) else { return scope };
        let guest = self.add_scope(ad, self.parent(scope));
        if let Some(nested) = self.nested.last_mut() {
            nested.guest_of = Some(scope);
        }
        guest
    }

    /// Keeps a tree made during the evaluation until its end.
    pub(crate) fn keep(&mut self, expr: Expr) -> &'e Expr {
        let made = self.made.get_or_init(|| Box::new(Made { expr, next: arena::Place::new() }));
        self.made = &made.next;
        &made.expr
    }

    /// The scope of an ad made during the evaluation.
    pub(crate) fn keep_ad(&mut self, ad: Ad) -> ScopeId {
        static EMPTY: LazyLock<Ad> = LazyLock::new(Ad::new);
        let ad = self.keep(Expr::ad(ad)).as_ad().unwrap_or(&EMPTY);
        self.add_scope(ad, None)
    }

    /// Stops at the expression of an open name, which must not be looked into.
    pub(crate) fn refuse_open(&mut self, expr: &'e Expr) -> Bounded<()> {
        partial::refuse_open(expr).inspect_err(|_| self.here = Some(expr))
    }

    /// The first step of each expression.
    pub(crate) fn start(&mut self, expr: &'e Expr) -> Bounded<()> {
        self.here = Some(expr);
        self.spend(1)
    }

    /// Uses up fuel.
    pub(crate) fn spend(&mut self, steps: usize) -> Bounded<()> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.fuel = self.fuel.checked_sub(steps).ok_or(Limit::Fuel)?;
        Ok(())
    }

    /// How many steps were taken so far.
    pub(crate) fn spent(&self) -> u64 {
        self.context.limits.fuel.saturating_sub(self.fuel)
    }

    /// Uses up fuel for handling `bytes` bytes of text; text longer than a result may be is refused.
    pub(crate) fn charge(&mut self, bytes: usize) -> Bounded<()> {
        if bytes > self.context.limits.result_bytes {
            return Err(Limit::ResultBytes);
        }
        self.spend(bytes / 64)
    }

    /// Opens one more operator, reference or call; [`Machine::leave`] closes it.
    pub(crate) fn enter(&mut self) -> Bounded<()> {
        if self.depth >= self.context.limits.depth {
            return Err(Limit::Depth);
        }
        self.depth += 1;
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The whole value, every element and attribute evaluated.
    pub(crate) fn force(&mut self, value: &Lazy<'e>) -> Bounded<Value> {
        let mut bytes = 0;
        self.force_within(value, 0, &mut bytes)
    }

    fn force_within(&mut self, value: &Lazy<'e>, nesting: usize, bytes: &mut usize) -> Bounded<Value> {
        if nesting > self.context.limits.result_depth {
            return Err(Limit::ResultDepth);
        }
        match value {
            Lazy::List(items) => {
                let items = self.items(items)?;
                items
                    .iter()
                    .map(|item| self.force_within(item, nesting + 1, bytes))
                    .collect::<Result<_, _>>()
                    .map(Value::List)
            }
            Lazy::Ad(scope) => {
                let mut attributes = Vec::new();
                for (name, expr, scope) in self.attributes(*scope) {
                    let value = self.resolve(expr, scope)?;
                    attributes.push((name, self.force_within(&value, nesting + 1, bytes)?));
                }
                Ok(Value::ad(attributes))
            }
            scalar => {
                let scalar = scalar.to_scalar().unwrap_or(Value::Error);
                *bytes += scalar.as_str().map_or(0, str::len);
                if *bytes > self.context.limits.result_bytes {
                    return Err(Limit::ResultBytes);
                }
                Ok(scalar)
            }
        }
    }

    /// The elements of a list, evaluated to their outermost layer.
    pub(crate) fn items(&mut self, items: &Items<'e>) -> Bounded<Vec<Lazy<'e>>> {
        match items {
            Items::Written(items, scope) => self.eval_all(items, *scope),
            Items::Computed(items) => {
                self.spend(items.len())?;
                Ok(items.to_vec())
            }
        }
    }
}

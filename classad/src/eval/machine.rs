//! One evaluation at work: the tree walked within its limits, references resolved once each.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::ad::Ad;
use crate::builtins::Body;
use crate::diagnostic::Span;
use crate::eval::lazy::{Items, Lazy};
use crate::eval::limits::{Context, Exhausted, Limit};
use crate::eval::scope::Env;
use crate::eval::{logic, ops};
use crate::expr::{BinaryOp, Call, Expr, Kind};
use crate::value::Value;

/// A scope of an evaluation: the frames of the environment first, then ads found on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ScopeId(pub(crate) usize);

/// An evaluation either gives a value or runs out of something.
pub(crate) type Outcome<T = Lazy> = Result<T, Exhausted>;

/// An ad written in an expression, and the scope it stands in.
pub(crate) struct Nested {
    pub(crate) ad: Ad,
    pub(crate) parent: Option<ScopeId>,
}

/// An expression by its address, and the scope it stands in.
type Place = (usize, ScopeId);

/// A hash for [`Place`]s. Nobody can choose addresses, so it may be simple; and no order depends on it.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, word: usize) {
        let word = u64::try_from(word).unwrap_or(u64::MAX);
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        // The table takes its index from the low bits, where a product mixes least.
        self.0 ^ (self.0 >> 32)
    }
}

/// What is known of an attribute that has been referred to.
enum Slot {
    /// Being evaluated, as the n-th open reference.
    Open(usize),
    Known(Lazy),
}

pub(crate) struct Machine<'e> {
    pub(crate) env: &'e Env<'e>,
    pub(crate) context: &'e Context,
    pub(crate) nested: Vec<Nested>,
    ads: HashMap<Place, ScopeId, BuildHasherDefault<PlaceHasher>>,
    slots: HashMap<Place, Slot, BuildHasherDefault<PlaceHasher>>,
    /// How many references are open.
    open: usize,
    /// The lowest open reference that a circular one has run into since this was last reset.
    cut: usize,
    depth: usize,
    fuel: u64,
    /// Trees made by `eval`: they must live as long as addresses in them are keys.
    kept: Vec<Expr>,
    /// What was evaluated last.
    here: Span,
    /// The scope of values that have none.
    pub(crate) empty: Option<ScopeId>,
}

impl<'e> Machine<'e> {
    pub(crate) fn new(env: &'e Env<'e>, context: &'e Context) -> Self {
        Self {
            env,
            context,
            nested: Vec::new(),
            ads: HashMap::default(),
            slots: HashMap::default(),
            open: 0,
            cut: usize::MAX,
            depth: 0,
            fuel: context.limits.fuel,
            kept: Vec::new(),
            here: Span::default(),
            empty: None,
        }
    }

    /// The value of `expr` in `scope`, its outermost layer only.
    pub(crate) fn eval(&mut self, expr: &Expr, scope: ScopeId) -> Outcome {
        self.here = expr.span();
        self.spend(1)?;
        match expr.unparenthesized().kind() {
            Kind::Literal(value) => Ok(Lazy::scalar(value)),
            Kind::List(items) => Ok(Lazy::List(Items::Written(Arc::clone(items), scope))),
            Kind::Ad(ad) => Ok(Lazy::Ad(self.scope_of(expr.unparenthesized(), ad, scope))),
            kind => {
                self.enter()?;
                let value = self.operate(expr, kind, scope);
                self.leave();
                value
            }
        }
    }

    fn operate(&mut self, expr: &Expr, kind: &Kind, scope: ScopeId) -> Outcome {
        match kind {
            Kind::Attribute { name, absolute } => self.refer(name.as_str(), *absolute, scope),
            Kind::Select { base, name } => {
                let base = self.eval(base, scope)?;
                self.select(&base, name.as_str())
            }
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

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, scope: ScopeId) -> Outcome {
        let left = self.eval(left, scope)?;
        let absorbing = match op {
            BinaryOp::And => false,
            BinaryOp::Or => true,
            BinaryOp::Is | BinaryOp::Isnt => {
                let same = logic::identical(&left, &self.eval(right, scope)?);
                return Ok(same.map_or(Lazy::Error, |same| Lazy::Boolean(same == (op == BinaryOp::Is))));
            }
            _ => return Ok(ops::binary(op, &left, &self.eval(right, scope)?)),
        };
        match logic::decided(&left, absorbing) {
            Some(value) => Ok(value),
            None => Ok(logic::join(&left, &self.eval(right, scope)?, absorbing)),
        }
    }

    /// Unknown functions and wrong numbers of arguments are ERROR without a look at the arguments.
    fn call(&mut self, expr: &Expr, call: &Call, scope: ScopeId) -> Outcome {
        let Some(builtin) = call.builtin.filter(|builtin| builtin.arity.allows(call.arguments.len())) else {
            return Ok(Lazy::Error);
        };
        match builtin.body {
            Body::Lazy(body) => body(self, expr, call, scope),
            Body::Values(body) => {
                let arguments = self.eval_all(&call.arguments, scope)?;
                body(self, &arguments)
            }
        }
    }

    pub(crate) fn eval_all(&mut self, exprs: &[Expr], scope: ScopeId) -> Outcome<Vec<Lazy>> {
        exprs.iter().map(|expr| self.eval(expr, scope)).collect()
    }

    /// The value of an attribute found in `scope`. Each is evaluated once; one that needs itself is UNDEFINED.
    pub(crate) fn resolve(&mut self, expr: &Expr, scope: ScopeId) -> Outcome {
        if let Kind::Literal(value) = expr.kind() {
            self.spend(1)?;
            return Ok(Lazy::scalar(value));
        }
        let key = (expr.address(), scope);
        match self.slots.get(&key) {
            Some(Slot::Known(value)) => return Ok(value.clone()),
            Some(Slot::Open(index)) => {
                self.cut = self.cut.min(*index);
                return Ok(Lazy::Undefined);
            }
            None => {}
        }
        let index = self.open;
        let outer_cut = std::mem::replace(&mut self.cut, usize::MAX);
        self.open += 1;
        self.slots.insert(key, Slot::Open(index));
        let value = self.eval(expr, scope)?;
        self.open -= 1;
        // A value that saw UNDEFINED for an attribute further out holds for this path only.
        if self.cut >= index {
            self.slots.insert(key, Slot::Known(value.clone()));
            self.cut = outer_cut;
        } else {
            self.slots.remove(&key);
            self.cut = self.cut.min(outer_cut);
        }
        Ok(value)
    }

    /// The scope of an ad that stands in an expression: always the same for the same scope around it.
    fn scope_of(&mut self, expr: &Expr, ad: &Ad, around: ScopeId) -> ScopeId {
        if let Some(scope) = self.ads.get(&(expr.address(), around)) {
            return *scope;
        }
        let scope = self.add_scope(ad.clone(), Some(around));
        self.ads.insert((expr.address(), around), scope);
        scope
    }

    pub(crate) fn add_scope(&mut self, ad: Ad, parent: Option<ScopeId>) -> ScopeId {
        let scope = ScopeId(self.env.len() + self.nested.len());
        self.nested.push(Nested { ad, parent });
        scope
    }

    /// Keeps a tree made during the evaluation until its end.
    pub(crate) fn keep(&mut self, expr: &Expr) {
        self.kept.push(expr.clone());
    }

    /// Uses up fuel.
    pub(crate) fn spend(&mut self, steps: usize) -> Outcome<()> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.fuel = self.fuel.checked_sub(steps).ok_or_else(|| self.exhausted(Limit::Fuel))?;
        Ok(())
    }

    /// Uses up fuel for handling `bytes` bytes of text; text longer than a result may be is refused.
    pub(crate) fn charge(&mut self, bytes: usize) -> Outcome<()> {
        if bytes > self.context.limits.result_bytes {
            return Err(self.exhausted(Limit::ResultBytes));
        }
        self.spend(bytes / 64)
    }

    /// Opens one more operator, reference or call; [`Machine::leave`] closes it.
    pub(crate) fn enter(&mut self) -> Outcome<()> {
        if self.depth >= self.context.limits.depth {
            return Err(self.exhausted(Limit::Depth));
        }
        self.depth += 1;
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn exhausted(&self, limit: Limit) -> Exhausted {
        Exhausted { limit, span: self.here }
    }

    /// The whole value, every element and attribute evaluated.
    pub(crate) fn force(&mut self, value: &Lazy) -> Outcome<Value> {
        let mut bytes = 0;
        self.force_within(value, 0, &mut bytes)
    }

    fn force_within(&mut self, value: &Lazy, nesting: usize, bytes: &mut usize) -> Outcome<Value> {
        if nesting > self.context.limits.result_depth {
            return Err(self.exhausted(Limit::ResultDepth));
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
                    let value = self.resolve(&expr, scope)?;
                    attributes.push((name, self.force_within(&value, nesting + 1, bytes)?));
                }
                Ok(Value::ad(attributes))
            }
            scalar => {
                let scalar = scalar.to_scalar().unwrap_or(Value::Error);
                *bytes += scalar.as_str().map_or(0, str::len);
                if *bytes > self.context.limits.result_bytes {
                    return Err(self.exhausted(Limit::ResultBytes));
                }
                Ok(scalar)
            }
        }
    }

    /// The elements of a list, evaluated to their outermost layer.
    pub(crate) fn items(&mut self, items: &Items) -> Outcome<Vec<Lazy>> {
        match items {
            Items::Written(items, scope) => self.eval_all(items, *scope),
            Items::Computed(items) => {
                self.spend(items.len())?;
                Ok(items.to_vec())
            }
        }
    }
}

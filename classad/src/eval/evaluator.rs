//! One evaluation at work: the tree walked within its limits, references resolved once each.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, LazyLock};

use crate::ad::Ad;
use crate::builtins::Body;
use crate::eval::arena::{self, Arena, Made};
use crate::eval::bill::Bill;
use crate::eval::lazy::{Chars, Computed, Elements, Items, Lazy};
use crate::eval::limits::{Context, Exhausted, Limit};
use crate::eval::logic::{self, Truth};
use crate::eval::memo::{Memo, Place, PlaceHasher, Slot};
use crate::eval::ops;
use crate::eval::scope::{Env, ScopeId};
use crate::expr::{BinaryOp, Call, Expr, Kind};
use crate::name::Name;
use crate::value::Value;

// What things cost, in steps: the dearest of them takes some 40 ns for each.

/// A call takes so many beside those of its function.
const CALL: usize = 4;
/// So does what is put into a place of its own in memory.
pub(crate) const ALLOCATION: usize = 2;
/// So many bytes are copied in one step, ...
const COPIED: usize = 64;
/// ... read one by one, ...
pub(crate) const READ: usize = 16;
/// ... or printed: a real takes longer than its digits.
const PRINTED: usize = 2;
/// A small ad is made in so many.
const MADE_AD: usize = 64;

// What things take in memory, about.
const SLOT_BYTES: usize = 128;
const SCOPE_BYTES: usize = 64;
const STRING_BYTES: usize = 48;
const MADE_AD_BYTES: usize = 3072;

/// What an evaluation gives, unless it runs out of something. Which place ran out, the evaluator knows.
pub(crate) type Bounded<T> = Result<T, Limit>;

/// The value that an evaluation gives.
pub(crate) type Outcome<'e> = Bounded<Lazy<'e>>;

/// An ad written in an expression, and the scope it stands in.
pub(crate) struct Nested<'e> {
    pub(crate) ad: &'e Ad,
    pub(crate) parent: Option<ScopeId>,
    /// Set for a scope that is seen from outside: names are resolved as in a selection from this scope, so labels stay private.
    pub(crate) selected_from: Option<ScopeId>,
}

/// One evaluation: the environment, the limits that are left, and the memo of attributes that were resolved.
pub(crate) struct Evaluator<'e> {
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
    pub(super) fuel: u64,
    /// How many more bytes may be made.
    memory: usize,
    /// The seed of the ad whose expression is being evaluated, the fuel that was left when that began, and what others used.
    pub(super) payer: u64,
    pub(super) fuel_before: u64,
    pub(super) bill: Option<Bill>,
    /// Where the next tree made during the evaluation goes.
    made: &'e arena::Place,
    /// What was evaluated last.
    here: Option<&'e Expr>,
    /// The scope of values that have none.
    pub(crate) empty: Option<ScopeId>,
}

impl<'e> Evaluator<'e> {
    /// An evaluation with all its limits left.
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
            memory: context.limits.memory,
            payer: 0,
            fuel_before: context.limits.fuel,
            bill: None,
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
        let mut inner = expr;
        while let Kind::Parenthesized(expr) = inner.kind() {
            self.spend(1)?;
            inner = expr;
        }
        match inner.kind() {
            Kind::Literal(value) => Ok(Lazy::scalar(value)),
            Kind::List(items) => Ok(Lazy::List(Items::Written(items, scope))),
            Kind::Ad(ad) => Ok(Lazy::Ad(self.scope_of(inner, ad, scope)?)),
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
        let mut inner = expr;
        while let Kind::Parenthesized(expr) = inner.kind() {
            self.spend(1)?;
            inner = expr;
        }
        match inner.kind() {
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
        self.spend(CALL)?;
        let Some(builtin) = call.builtin().filter(|builtin| builtin.arity.allows(call.arguments.len())) else {
            return Ok(Lazy::Error);
        };
        match builtin.body {
            Body::Lazy(body) => body(self, expr, call, scope),
            // Few arguments need no list.
            Body::Values(body) => match &*call.arguments {
                [] => body(self, &[]),
                [only] => {
                    let arguments = [self.eval(only, scope)?];
                    self.read(&arguments)?;
                    body(self, &arguments)
                }
                [first, second] => {
                    let arguments = [self.eval(first, scope)?, self.eval(second, scope)?];
                    self.read(&arguments)?;
                    body(self, &arguments)
                }
                many => {
                    let arguments = self.eval_all(many, scope)?;
                    self.read(&arguments)?;
                    body(self, &arguments)
                }
            },
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
        let slot = match self.memo.find((expr.address(), scope)) {
            Some(slot) => slot,
            None => {
                self.take(SLOT_BYTES)?;
                self.memo.add((expr.address(), scope))
            }
        };
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
        let outer = self.bill_to(scope);
        let value = self.eval(expr, scope)?;
        self.bill_back(outer);
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
    fn scope_of(&mut self, expr: &'e Expr, ad: &'e Ad, around: ScopeId) -> Bounded<ScopeId> {
        if let Some(scope) = self.ads.get(&(expr.address(), around)) {
            return Ok(*scope);
        }
        self.spend(ALLOCATION)?;
        self.take(SLOT_BYTES)?;
        let scope = self.add_scope(ad, Some(around))?;
        self.ads.insert((expr.address(), around), scope);
        Ok(scope)
    }

    /// Adds the scope of an ad, and charges its memory.
    pub(crate) fn add_scope(&mut self, ad: &'e Ad, parent: Option<ScopeId>) -> Bounded<ScopeId> {
        self.take(SCOPE_BYTES)?;
        Ok(self.push_scope(ad, parent))
    }

    /// The same without a charge.
    pub(crate) fn push_scope(&mut self, ad: &'e Ad, parent: Option<ScopeId>) -> ScopeId {
        let scope = ScopeId(self.env.len() + self.nested.len());
        self.nested.push(Nested { ad, parent, selected_from: None });
        scope
    }

    /// The scope for an expression of `home` that is evaluated in the ad of `scope`: labels around that ad are private to the
    /// expressions that stand there.
    pub(crate) fn selected_scope(&mut self, scope: ScopeId, home: ScopeId) -> Bounded<ScopeId> {
        let chain = |start| std::iter::successors(Some(start), |at| self.parent(*at));
        let labelled = |at: &ScopeId| self.frame(*at).is_some_and(|frame| self.env.labels(frame) > 0);
        let mut looked_at = 0;
        let private = chain(scope).any(|at| {
            looked_at += 1;
            labelled(&at) && !chain(home).inspect(|_| looked_at += 1).any(|own| own == at)
        });
        self.spend(looked_at / 2)?;
        let Some(ad) = self.ad(scope).filter(|_| private) else { return Ok(scope) };
        let guest = self.add_scope(ad, self.parent(scope))?;
        if let Some(nested) = self.nested.last_mut() {
            nested.selected_from = Some(scope);
        }
        Ok(guest)
    }

    /// Keeps a tree made during the evaluation until its end.
    pub(crate) fn keep(&mut self, expr: Expr) -> &'e Expr {
        let made = self.made.get_or_init(|| Box::new(Made { expr, next: arena::Place::new() }));
        self.made = &made.next;
        &made.expr
    }

    /// Keeps an ad made during the evaluation until its end.
    pub(crate) fn keep_for_good(&mut self, ad: Ad) -> &'e Ad {
        static EMPTY: LazyLock<Ad> = LazyLock::new(Ad::new);
        self.keep(Expr::ad(ad)).as_ad().unwrap_or(&EMPTY)
    }

    /// The scope of an ad made during the evaluation, of as many attributes as a time has.
    pub(crate) fn keep_ad(&mut self, ad: Ad) -> Bounded<ScopeId> {
        self.spend(MADE_AD)?;
        self.take(MADE_AD_BYTES)?;
        let ad = self.keep_for_good(ad);
        self.add_scope(ad, None)
    }

    /// The first step of each expression.
    pub(crate) fn start(&mut self, expr: &'e Expr) -> Bounded<()> {
        self.here = Some(expr);
        self.spend(1)
    }

    /// Uses up fuel: all of it, if there is too little. Finding out what something takes may have been work.
    pub(crate) fn spend(&mut self, steps: usize) -> Bounded<()> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let left = self.fuel.checked_sub(steps);
        self.fuel = left.unwrap_or(0);
        left.map(drop).ok_or(Limit::Fuel)
    }

    /// How many steps are left.
    pub(crate) fn left(&self) -> usize {
        usize::try_from(self.fuel).unwrap_or(usize::MAX)
    }

    /// Uses up fuel for what was done already: what follows finds out if there was not enough.
    pub(crate) fn owe(&mut self, steps: usize) {
        self.fuel = self.fuel.saturating_sub(u64::try_from(steps).unwrap_or(u64::MAX));
    }

    /// Uses up memory.
    pub(crate) fn take(&mut self, bytes: usize) -> Bounded<()> {
        self.memory = self.memory.checked_sub(bytes).ok_or(Limit::Memory)?;
        Ok(())
    }

    /// Refuses text that is longer than a result may be.
    pub(crate) fn fits(&self, bytes: usize) -> Bounded<()> {
        if bytes > self.context.limits.result_bytes { Err(Limit::ResultBytes) } else { Ok(()) }
    }

    /// Uses up fuel for handling `bytes` bytes of text; text longer than a result may be is refused.
    pub(crate) fn charge(&mut self, bytes: usize) -> Bounded<()> {
        self.fits(bytes)?;
        self.spend(bytes / COPIED)
    }

    /// Uses up fuel for a function that reads all texts among its arguments, character by character.
    fn read(&mut self, arguments: &[Lazy<'e>]) -> Bounded<()> {
        let bytes = |value: &Lazy| if let Lazy::String(text) = value { text.len() } else { 0 };
        let bytes: usize = arguments.iter().map(bytes).sum();
        if bytes < READ { Ok(()) } else { self.spend(bytes / READ) }
    }

    /// Uses up fuel for comparing two texts.
    pub(crate) fn compare(&mut self, left: &str, right: &str) -> Bounded<()> {
        let bytes = left.len().min(right.len());
        if bytes < READ { Ok(()) } else { self.spend(bytes / READ) }
    }

    /// Uses up fuel for comparing two values.
    pub(crate) fn compare_values(&mut self, left: &Lazy<'e>, right: &Lazy<'e>) -> Bounded<()> {
        match (left, right) {
            (Lazy::String(left), Lazy::String(right)) => self.compare(left, right),
            _ => Ok(()),
        }
    }

    /// A text that a function has made.
    pub(crate) fn string(&mut self, text: impl Into<Arc<str>> + AsRef<str>) -> Outcome<'e> {
        let bytes = text.as_ref().len();
        self.charge(bytes)?;
        self.take(bytes.saturating_add(STRING_BYTES))?;
        Ok(Lazy::String(Chars::from(text)))
    }

    /// A list that a function has made.
    pub(crate) fn list(&mut self, items: Vec<Lazy<'e>>) -> Outcome<'e> {
        self.spend(items.len() / 4)?;
        self.take(items.len().saturating_mul(size_of::<Lazy<'_>>()).saturating_add(STRING_BYTES))?;
        let inner = items.iter().map(|item| if let Lazy::List(items) = item { items.nesting() } else { 0 });
        let nesting = 1 + inner.max().unwrap_or(0);
        if nesting > self.context.limits.result_depth {
            return Err(Limit::ResultDepth);
        }
        Ok(Lazy::List(Items::Computed(Arc::new(Computed { items, nesting }))))
    }

    /// A list of texts that a function has made.
    pub(crate) fn strings<T: Into<Arc<str>> + AsRef<str>>(
        &mut self,
        texts: impl IntoIterator<Item = T>,
    ) -> Outcome<'e> {
        let texts = texts.into_iter();
        // All at once, and only if there is room for them: a list that grows is there twice.
        let most = self.memory / size_of::<Lazy<'_>>();
        let mut items =
            Vec::with_capacity(Some(texts.size_hint().0).filter(|least| *least <= most).ok_or(Limit::Memory)?);
        for text in texts {
            self.spend(ALLOCATION)?;
            items.push(self.string(text)?);
        }
        self.list(items)
    }

    /// The text of an expression as HTCondor prints it, as far as it can be paid for.
    pub(crate) fn printed(&mut self, expr: &Expr) -> Bounded<String> {
        let paid = self.left().saturating_mul(PRINTED);
        let most = self.context.limits.result_bytes.min(self.memory).min(paid);
        match expr.canonical_within(most) {
            Some(text) => {
                self.take(text.len())?;
                self.spend(ALLOCATION + text.len() / PRINTED)?;
                Ok(text)
            }
            None => {
                // It was printed in vain, up to there.
                self.owe(most / PRINTED);
                Err(match most {
                    _ if most == self.context.limits.result_bytes => Limit::ResultBytes,
                    _ if most == self.memory => Limit::Memory,
                    _ => Limit::Fuel,
                })
            }
        }
    }

    /// Opens one more operator, reference or call; [`Evaluator::leave`] closes it.
    pub(crate) fn enter(&mut self) -> Bounded<()> {
        if self.depth >= self.context.limits.depth {
            return Err(Limit::Depth);
        }
        self.depth += 1;
        Ok(())
    }

    /// Closes what [`Evaluator::enter`] opened.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The whole value, every element and attribute evaluated.
    pub(crate) fn force(&mut self, value: &Lazy<'e>) -> Bounded<Value> {
        let mut made = Whole::default();
        self.force_within(value, 0, &mut made)
    }

    fn force_within(&mut self, value: &Lazy<'e>, nesting: usize, made: &mut Whole) -> Bounded<Value> {
        let limits = &self.context.limits;
        if nesting > limits.result_depth {
            return Err(Limit::ResultDepth);
        }
        match value {
            Lazy::List(items) => {
                made.elements = made.elements.saturating_add(items.len());
                if made.elements > limits.result_elements {
                    return Err(Limit::ResultElements);
                }
                let items = self.items(items)?;
                self.spend(items.len())?;
                self.take(items.len().saturating_mul(size_of::<Value>()))?;
                let mut values = Vec::with_capacity(items.len());
                for item in &*items {
                    values.push(self.force_within(item, nesting + 1, made)?);
                }
                Ok(Value::List(values.into()))
            }
            Lazy::Ad(scope) => {
                let attributes = self.attributes(*scope);
                made.elements = made.elements.saturating_add(attributes.len());
                if made.elements > limits.result_elements {
                    return Err(Limit::ResultElements);
                }
                self.spend(attributes.len())?;
                self.take(attributes.len().saturating_mul(size_of::<(Name, Value)>()))?;
                let mut values = Vec::with_capacity(attributes.len());
                for (name, expr) in attributes {
                    let value = self.resolve(expr, *scope)?;
                    values.push((name.clone(), self.force_within(&value, nesting + 1, made)?));
                }
                Ok(Value::Ad(values.into()))
            }
            scalar => {
                let scalar = scalar.to_scalar().unwrap_or(Value::Error);
                made.bytes += scalar.as_str().map_or(0, str::len);
                self.fits(made.bytes)?;
                Ok(scalar)
            }
        }
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
                Ok(Elements::Shared(Arc::clone(computed)))
            }
        }
    }
}

/// What a result has so far.
#[derive(Default)]
struct Whole {
    bytes: usize,
    elements: usize,
}

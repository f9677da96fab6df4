//! State of one evaluation: environment, scopes, memo, and what is left of the limits.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

use crate::ad::Ad;
use crate::eval::arena::{Arena, Made, NextMade};
use crate::eval::bill::Bill;
use crate::eval::costs::{MADE_AD, MADE_AD_BYTES, SCOPE_BYTES};
use crate::eval::lazy::Lazy;
use crate::eval::limits::{Context, Exhausted, Limit};
use crate::eval::lookup::Use;
use crate::eval::memo::{Memo, MemoHasher, MemoKey};
use crate::eval::scope::{Env, ScopeId};
use crate::expr::Expr;

/// The result of a part of an evaluation, or the limit that it reached. The evaluator knows where.
pub(crate) type Bounded<T> = Result<T, Limit>;

/// A value, or the limit that was reached.
pub(crate) type Outcome<'e> = Bounded<Lazy<'e>>;

/// An ad written in an expression, and the scope around it.
pub(crate) struct Nested<'e> {
    /// The ad.
    pub(crate) ad: &'e Ad,
    /// The scope around it.
    pub(crate) parent: Option<ScopeId>,
    /// Set if an expression of elsewhere is evaluated in the ad.
    pub(crate) guest: Option<Guest>,
}

/// An expression that is evaluated in an ad in which it does not stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guest {
    /// The ad. Its labels are private, and its attributes are evaluated where they stand.
    pub(crate) host: ScopeId,
    /// Where the expression stands: names that the ad does not define mean what they mean there.
    pub(crate) home: ScopeId,
    /// How the expression looks up names there.
    pub(crate) sees: Use,
}

/// One evaluation.
pub(crate) struct Evaluator<'e> {
    /// The frames that the evaluation starts with.
    pub(crate) env: &'e Env<'e>,
    /// Time, random seed, limits, dialect.
    pub(crate) context: &'e Context,
    /// The scopes that were added during the evaluation.
    pub(super) nested: Vec<Nested<'e>>,
    /// The scopes of ads written in expressions.
    pub(super) ads: HashMap<MemoKey, ScopeId, BuildHasherDefault<MemoHasher>>,
    /// Results of expressions that may be evaluated again.
    pub(super) memo: Memo<'e>,
    /// Limits, and what is spent of them.
    pub(super) meter: Meter,
    /// Where the next tree made during the evaluation goes.
    made: &'e NextMade,
    /// The expression that was evaluated last.
    pub(super) here: Option<&'e Expr>,
    /// The scope of values that have none.
    pub(super) empty: Option<ScopeId>,
}

/// What is left of the limits, and the ad that pays for what is used.
pub(super) struct Meter {
    /// Operators, references and calls that are open.
    pub(super) depth: usize,
    /// Steps that are left.
    pub(super) fuel: u64,
    /// Bytes that may still be allocated.
    pub(super) memory: usize,
    /// The seed of the ad whose expression is being evaluated.
    pub(super) payer: u64,
    /// The fuel that was left when that began.
    pub(super) fuel_before: u64,
    /// What other ads have used, if a bill is wanted.
    pub(super) bill: Option<Bill>,
}

impl<'e> Evaluator<'e> {
    /// An evaluation that has used nothing of its limits.
    pub(crate) fn new(env: &'e Env<'e>, context: &'e Context, arena: &'e Arena) -> Self {
        let (fuel, memory) = (context.limits.fuel, context.limits.memory);
        Self {
            env,
            context,
            nested: Vec::new(),
            ads: HashMap::default(),
            memo: Memo::default(),
            meter: Meter { depth: 0, fuel, memory, payer: 0, fuel_before: fuel, bill: None },
            made: arena.start(),
            here: None,
            empty: None,
        }
    }

    /// The result of `work`, or the limit that it reached and where.
    pub(crate) fn run<T>(mut self, work: impl FnOnce(&mut Self) -> Bounded<T>) -> Result<T, Exhausted> {
        work(&mut self).map_err(|limit| Exhausted { limit, span: self.here.map(Expr::span).unwrap_or_default() })
    }

    /// The place in the text of the expression that was evaluated last: in a function, of its call.
    pub(crate) fn place(&self) -> usize {
        self.here.map_or(0, |expr| expr.span().start)
    }

    /// Adds the scope of an ad, and charges its memory.
    pub(crate) fn add_scope(&mut self, ad: &'e Ad, parent: Option<ScopeId>) -> Bounded<ScopeId> {
        self.take(SCOPE_BYTES)?;
        Ok(self.push_scope(ad, parent))
    }

    /// Adds the scope of an ad without a charge.
    pub(super) fn push_scope(&mut self, ad: &'e Ad, parent: Option<ScopeId>) -> ScopeId {
        let scope = ScopeId(self.env.len() + self.nested.len());
        self.nested.push(Nested { ad, parent, guest: None });
        scope
    }

    /// The scope for an expression that is evaluated in an ad in which it does not stand.
    pub(crate) fn guest_scope(&mut self, guest: Guest) -> Bounded<ScopeId> {
        let Some(ad) = self.ad(guest.host) else { return Ok(guest.host) };
        let scope = self.add_scope(ad, self.parent(guest.host))?;
        if let Some(nested) = self.nested.last_mut() {
            nested.guest = Some(guest);
        }
        Ok(scope)
    }

    /// Keeps a tree made during the evaluation until its end.
    pub(crate) fn keep(&mut self, expr: Expr) -> &'e Expr {
        let made = self.made.get_or_init(|| Box::new(Made { expr, next: NextMade::new() }));
        self.made = &made.next;
        &made.expr
    }

    /// Keeps an ad made during the evaluation until its end.
    pub(super) fn keep_for_good(&mut self, ad: Ad) -> &'e Ad {
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
}

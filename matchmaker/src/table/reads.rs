//! Expressions into small numbers, and into the names that they read of others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use classad::{Expr, Kind, Name, Value, is_pure, references};
use foldhash::fast::RandomState;

use super::bits::as_u32;
use crate::term::scope::is_special;

/// Equal numbers are equal expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExprId(pub(crate) u32);

/// What an expression reads.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Bare names: of the own ad, of a label, or of a partner.
    pub(crate) bare: Vec<Name>,
    /// `label.name`
    pub(crate) selected: Vec<(Name, Name)>,
    /// It can read names that are not written in it.
    pub(crate) reflective: bool,
    /// It reads the clock or chance.
    pub(crate) timely: bool,
}

/// All expressions that were met.
#[derive(Debug, Default)]
pub(crate) struct Exprs {
    /// By identity; the expression is kept so that its identity is not taken by another.
    by_id: HashMap<usize, (Expr, ExprId), RandomState>,
    by_hash: HashMap<u64, Vec<ExprId>, RandomState>,
    list: Vec<(Expr, Arc<Reads>)>,
    hasher: RandomState,
}

/// How many identities are kept beyond those of different expressions.
const IDENTITIES_SPARE: usize = 100_000;

/// What an expression and what is known of it take in memory, about.
const EXPR_BYTES: usize = 1024;

impl Exprs {
    /// The number of an expression.
    pub(crate) fn id(&mut self, expr: &Expr) -> ExprId {
        if let Some((_, id)) = self.by_id.get(&expr.id()) {
            return *id;
        }
        if self.by_id.len() > 2 * self.list.len() + IDENTITIES_SPARE {
            self.by_id.clear();
        }
        let hash = self.hash(expr);
        let known = self.by_hash.entry(hash).or_default();
        let same = known.iter().find(|id| self.list.get(id.place()).is_some_and(|(own, _)| own == expr));
        let id = match same {
            Some(id) => *id,
            None => {
                let id = ExprId(as_u32(self.list.len()));
                known.push(id);
                self.list.push((expr.clone(), Arc::new(Reads::of(expr))));
                id
            }
        };
        if let Entry::Vacant(free) = self.by_id.entry(expr.id()) {
            free.insert((expr.clone(), id));
        }
        id
    }

    /// What the expression reads.
    pub(crate) fn reads(&self, id: ExprId) -> Arc<Reads> {
        self.list.get(id.place()).map_or_else(Arc::default, |(_, reads)| Arc::clone(reads))
    }

    /// What different expressions and what is known of them take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.list.len() * EXPR_BYTES
    }

    fn hash(&self, expr: &Expr) -> u64 {
        let mut state = self.hasher.build_hasher();
        let mut pending = vec![expr];
        while let Some(expr) = pending.pop() {
            std::mem::discriminant(expr.kind()).hash(&mut state);
            match expr.kind() {
                Kind::Literal(value) => literal(value, &mut state),
                Kind::Attribute { name, .. } | Kind::Select { name, .. } => name.hash(&mut state),
                Kind::Unary { op, .. } => op.hash(&mut state),
                Kind::Binary { op, .. } => op.hash(&mut state),
                Kind::Call(call) => call.function.hash(&mut state),
                _ => {}
            }
            pending.extend(expr.children());
        }
        state.finish()
    }
}

fn literal(value: &Value, state: &mut impl Hasher) {
    match value {
        Value::Integer(number) => number.hash(state),
        Value::Real(number) => number.to_bits().hash(state),
        Value::Boolean(truth) => truth.hash(state),
        Value::String(text) => text.hash(state),
        _ => {}
    }
}

impl ExprId {
    fn place(self) -> usize {
        super::as_usize(self.0)
    }
}

impl Reads {
    fn of(expr: &Expr) -> Reads {
        let mut reads = Reads { reflective: reflective(expr), timely: is_timely(expr), ..Reads::default() };
        for path in references(expr) {
            match path.as_slice() {
                [name] => reads.bare.push(name.clone()),
                [label, name, ..] if label == "my" || label == "self" => reads.bare.push(name.clone()),
                [label, name, ..] => reads.selected.push((label.clone(), name.clone())),
                [] => {}
            }
        }
        reads
    }
}

/// Whether some call in an expression is not pure: its value need not be the same tomorrow.
fn is_timely(expr: &Expr) -> bool {
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match expr.kind() {
            Kind::Call(call) if !is_pure(call) => return true,
            _ => pending.extend(expr.children()),
        }
    }
    false
}

/// Whether an expression may read names that are not written in it, or in another order than they are written.
fn reflective(expr: &Expr) -> bool {
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match expr.kind() {
            Kind::Call(call) if !is_pure(call) && !timely(call) => return true,
            Kind::Subscript { index, .. } if index.as_literal().is_none() => return true,
            Kind::Attribute { absolute: true, .. } => return true,
            Kind::Attribute { name, .. } if leads_anywhere(name) => return true,
            // `my.X` reads X; other selections from special names can lead anywhere.
            Kind::Select { base, name } => {
                if leads_anywhere(name) {
                    return true;
                }
                let own = base.as_attribute().is_some_and(|base| base == "my" || base == "self");
                if !own {
                    pending.push(base);
                }
            }
            _ => pending.extend(expr.children()),
        }
    }
    false
}

/// Whether a name leads to more than its own value. `Members` is told by the pool; `other` and `target` are as labels are.
fn leads_anywhere(name: &Name) -> bool {
    is_special(name) && name != "other" && name != "target" && name != "members"
}

/// Whether a function that is not pure reads nothing but the clock, or chance.
fn timely(call: &classad::Call) -> bool {
    const READING: [&str; 6] = ["eval", "unparse", "unresolved", "evalInEachContext", "countMatches", "debug"];
    !READING.iter().any(|name| call.function == *name)
}

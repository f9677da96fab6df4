//! Interned expressions, with the names that each reads of other ads.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use classad::{BinaryOp, Expr, Kind, Name, is_pure, references};
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::numbered::Numbered;
use super::scope::is_special;
use super::{as_u32, as_usize};

/// Equal numbers are equal expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ExprId(pub(crate) u32);

/// What an expression reads.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
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

/// Equal numbers are expressions that read the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReadsId(u32);

/// All expressions that were met.
#[derive(Debug, Default)]
pub(crate) struct Exprs {
    /// By identity; the expression is kept so that its identity is not taken by another.
    by_id: HashMap<usize, (Expr, ExprId), RandomState>,
    /// The latest expression of each hash.
    by_hash: HashMap<u64, ExprId, RandomState>,
    list: Vec<KnownExpr>,
    reads: Numbered<Arc<Reads>>,
    /// The read set of each conjunction of conditions.
    joined: HashMap<Conditions<ReadsId>, ReadsId, RandomState>,
    hasher: RandomState,
    /// How many words were hashed and compared, and not yet charged.
    work: u64,
}

/// An expression, what it reads, and the one before with the same hash.
#[derive(Debug)]
struct KnownExpr {
    expr: Expr,
    reads: ReadsId,
    before: Option<ExprId>,
}

/// One for each condition that is joined to others by `&&`.
type Conditions<T> = SmallVec<[T; 12]>;

/// How many expressions with the same hash are compared before one more gets a number of its own: equal numbers are equal
/// expressions, but not the other way round.
const SAME_HASH_MAX: usize = 16;

/// What it costs beside hashing to find out what a new expression reads, and to compare one with another, in words.
const READING: u64 = 4;
const COMPARING: u64 = 16;

/// How many words are hashed in about the time of a step.
const WORDS_OF_A_STEP: u64 = 512;

/// How many conditions are looked at one by one.
const CONDITIONS_MAX: usize = 64;

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
        // Ads read together share conditions, though the whole of them is another in each.
        let conditions: Conditions<ExprId> =
            conditions(expr).iter().map(|condition| self.number(condition, &[])).collect();
        self.number(expr, &conditions)
    }

    /// The number of an expression, given those of the conditions that it is made of, if it is.
    fn number(&mut self, expr: &Expr, conditions: &[ExprId]) -> ExprId {
        if let Some((_, id)) = self.by_id.get(&expr.id()) {
            return *id;
        }
        if self.by_id.len() > 2 * self.list.len() + IDENTITIES_SPARE {
            self.by_id.clear();
        }
        let (hash, words) = self.hash(expr, conditions);
        self.work += words;
        let latest = self.by_hash.get(&hash).copied();
        let known = |id: ExprId| self.list.get(id.place());
        let mut compared = 0;
        let mut same = std::iter::successors(latest, |id| known(*id)?.before).take(SAME_HASH_MAX);
        let same = same.find(|id| {
            compared += COMPARING;
            known(*id).is_some_and(|known| known.expr == *expr)
        });
        self.work += compared;
        let id = match same {
            Some(id) => id,
            None => {
                self.work += READING * words;
                let reads = if conditions.is_empty() {
                    ReadsId(self.reads.id(&Arc::new(Reads::of(expr))))
                } else {
                    self.join(conditions)
                };
                let id = ExprId(as_u32(self.list.len()));
                self.list.push(KnownExpr { expr: expr.clone(), reads, before: latest });
                self.by_hash.insert(hash, id);
                id
            }
        };
        self.by_id.insert(expr.id(), (expr.clone(), id));
        id
    }

    /// What the expression reads.
    pub(crate) fn reads(&self, id: ExprId) -> Arc<Reads> {
        self.reads_id(id).map_or_else(Arc::default, |id| self.reads_of(id))
    }

    /// What the expressions with this number read.
    pub(crate) fn reads_of(&self, id: ReadsId) -> Arc<Reads> {
        self.reads.get(id.0).map_or_else(Arc::default, Arc::clone)
    }

    /// The same as a number.
    pub(crate) fn reads_id(&self, id: ExprId) -> Option<ReadsId> {
        self.list.get(id.place()).map(|known| known.reads)
    }

    /// What different expressions and what is known of them take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.list.len() * EXPR_BYTES
    }

    /// What conditions read together.
    fn join(&mut self, conditions: &[ExprId]) -> ReadsId {
        let parts: Conditions<ReadsId> = conditions.iter().filter_map(|id| self.reads_id(*id)).collect();
        if let Some(known) = self.joined.get(&parts) {
            return *known;
        }
        let mut all = Reads::default();
        let (mut bare, mut selected) = (HashSet::<Name, RandomState>::default(), HashSet::<_, RandomState>::default());
        for reads in conditions.iter().map(|id| self.reads(*id)) {
            all.reflective |= reads.reflective;
            all.timely |= reads.timely;
            all.bare.extend(reads.bare.iter().filter(|name| bare.insert((*name).clone())).cloned());
            all.selected.extend(reads.selected.iter().filter(|path| selected.insert((*path).clone())).cloned());
        }
        let id = ReadsId(self.reads.id(&Arc::new(all)));
        self.joined.insert(parts, id);
        id
    }

    /// The hash of an expression, or of the conditions that it is made of, and how many words it took.
    fn hash(&self, expr: &Expr, conditions: &[ExprId]) -> (u64, u64) {
        let mut state = Counting { state: self.hasher.build_hasher(), words: 0 };
        match conditions {
            [] => expr.hash(&mut state),
            conditions => conditions.hash(&mut state),
        }
        (state.finish(), state.words)
    }

    /// Counts work of another kind as hashing so many words.
    pub(crate) fn worked(&mut self, words: usize) {
        self.work += words as u64;
    }

    /// The steps that were taken since this was asked last.
    pub(crate) fn charge(&mut self) -> u64 {
        let steps = self.work / WORDS_OF_A_STEP;
        self.work %= WORDS_OF_A_STEP;
        steps
    }
}

/// A hasher that counts what it is given, in words of eight bytes.
struct Counting<H> {
    state: H,
    words: u64,
}

impl<H: Hasher> Hasher for Counting<H> {
    fn write(&mut self, bytes: &[u8]) {
        self.words += 1 + bytes.len() as u64 / 8;
        self.state.write(bytes);
    }

    fn write_u64(&mut self, word: u64) {
        self.words += 1;
        self.state.write_u64(word);
    }

    fn finish(&self) -> u64 {
        self.state.finish()
    }
}

/// The conditions that are joined by `&&` one after the other; nothing if there are not several, or very many, or if one of
/// them is made of others in turn.
fn conditions(expr: &Expr) -> Conditions<&Expr> {
    let (mut found, mut rest) = (Conditions::new(), expr);
    while let Some((left, right)) = joined(rest) {
        if found.len() >= CONDITIONS_MAX || joined(right).is_some() {
            return Conditions::new();
        }
        found.push(right);
        rest = left;
    }
    if !found.is_empty() {
        found.push(rest);
        found.reverse();
    }
    found
}

/// The two sides of an `&&`.
fn joined(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr.kind() {
        Kind::Binary { op: BinaryOp::And, left, right } => Some((left, right)),
        _ => None,
    }
}

impl ExprId {
    fn place(self) -> usize {
        as_usize(self.0)
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

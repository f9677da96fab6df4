//! The offers of a pool into its summary, kept up to date as they come, change and go.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use classad::Name;

use crate::fact::Fact;
use crate::limits::Limits;
use crate::numbers::Numbers;
use crate::offer::OfferFacts;
use crate::real::Real;
use crate::summary::{Free, KindSummary, Rest, Summary};
use crate::texts::Texts;
use crate::values::Values;

/// The offers of a pool and how often each fact is true of them: a change of one offer costs its own attributes, whatever the size of the
/// pool. `K` names an offer.
#[derive(Clone, Debug)]
pub struct Pool<K> {
    offers: BTreeMap<K, OfferFacts>,
    /// By kind in small letters. INVARIANT: what all `offers` add up to; a count that is zero is not there.
    kinds: BTreeMap<String, KindCounts>,
}

/// What the offers of one kind add up to.
#[derive(Clone, Debug, Default)]
struct KindCounts {
    ads: u64,
    rows: u64,
    attributes: BTreeMap<Name, AttributeCounts>,
    free: BTreeMap<String, FreeCounts>,
}

/// How often an attribute has each value.
#[derive(Clone, Debug, Default)]
struct AttributeCounts {
    /// Rows that have it at all.
    rows: u64,
    undefined: u64,
    error: u64,
    any: u64,
    bools: BTreeMap<bool, u64>,
    /// By the reals around them.
    numbers: BTreeMap<(Real, Real), u64>,
    texts: BTreeMap<Arc<str>, u64>,
}

/// How much of one resource is free, by amount.
#[derive(Clone, Debug, Default)]
struct FreeCounts {
    amounts: BTreeMap<i64, u64>,
    sum: i128,
    shared: u64,
}

/// Whether something is counted in or out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
}

impl Change {
    fn apply(self, count: &mut u64) {
        *count = match self {
            Change::Added => count.saturating_add(1),
            Change::Removed => count.saturating_sub(1),
        };
    }

    /// Counts one thing of many; what there is none of is forgotten.
    fn count<T: Ord + Clone>(self, counts: &mut BTreeMap<T, u64>, thing: &T) {
        match counts.get_mut(thing) {
            Some(count) => {
                self.apply(count);
                if *count == 0 {
                    counts.remove(thing);
                }
            }
            None if self == Change::Added => {
                counts.insert(thing.clone(), 1);
            }
            None => {}
        }
    }
}

impl<K: Ord> Default for Pool<K> {
    fn default() -> Pool<K> {
        Pool { offers: BTreeMap::new(), kinds: BTreeMap::new() }
    }
}

impl<K: Ord> Pool<K> {
    /// A pool without offers.
    #[must_use]
    pub fn new() -> Pool<K> {
        Pool::default()
    }

    /// Adds an offer, or puts it in the place of the one of this name.
    pub fn put(&mut self, name: K, offer: OfferFacts) {
        self.count(&offer, Change::Added);
        if let Some(old) = self.offers.insert(name, offer) {
            self.count(&old, Change::Removed);
        }
    }

    /// Takes an offer out; nothing happens if there is none of this name.
    pub fn remove(&mut self, name: &K) {
        if let Some(old) = self.offers.remove(name) {
            self.count(&old, Change::Removed);
        }
    }

    /// How many offers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offers.len()
    }

    /// Whether there is no offer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offers.is_empty()
    }

    /// The summary of all offers, within the limits.
    #[must_use]
    pub fn summary(&self, limits: &Limits) -> Summary {
        let kinds = self.kinds.iter().map(|(name, kind)| (name.clone(), kind.summary(limits))).collect();
        Summary { kinds, rest: None }.bounded(limits)
    }

    fn count(&mut self, offer: &OfferFacts, change: Change) {
        let kind = match self.kinds.get_mut(&offer.kind) {
            Some(kind) => kind,
            None => self.kinds.entry(offer.kind.clone()).or_default(),
        };
        kind.count(offer, change);
        if kind.ads == 0 {
            self.kinds.remove(&offer.kind);
        }
    }
}

impl KindCounts {
    fn count(&mut self, offer: &OfferFacts, change: Change) {
        change.apply(&mut self.ads);
        for row in &offer.rows {
            change.apply(&mut self.rows);
            for (name, fact) in row {
                let counts = match self.attributes.get_mut(name) {
                    Some(counts) => counts,
                    None => self.attributes.entry(name.clone()).or_default(),
                };
                counts.count(fact, change);
                if counts.rows == 0 {
                    self.attributes.remove(name);
                }
            }
        }
        for (name, amount) in &offer.free {
            let free = match self.free.get_mut(name) {
                Some(free) => free,
                None => self.free.entry(name.clone()).or_default(),
            };
            free.count(*amount, offer.shared, change);
            if free.amounts.is_empty() {
                self.free.remove(name);
            }
        }
    }

    fn summary(&self, limits: &Limits) -> KindSummary {
        // Those that say something and that most offers have; of equally many, the first by name.
        let mut ranked: Vec<(&Name, &AttributeCounts)> = self.attributes.iter().collect();
        ranked.sort_by_key(|(_, counts)| (counts.any > 0, Reverse(counts.rows)));
        let cut = ranked.len() > limits.attributes;
        ranked.truncate(limits.attributes);
        let rest = cut.then_some(Rest::Any);
        let published = ranked
            .into_iter()
            .map(|(name, counts)| (name.as_str().to_ascii_lowercase(), counts.values(self.rows, limits)));
        // What may be anything need not be listed beside a rest.
        let attributes = published.filter(|(_, values)| rest.is_none() || !values.any).collect();
        let free = self.free.iter().map(|(name, free)| (name.clone(), free.published())).collect();
        KindSummary { ads: self.ads, rest, attributes, free, free_rest: None }
    }
}

impl AttributeCounts {
    fn count(&mut self, fact: &Fact, change: Change) {
        change.apply(&mut self.rows);
        match fact {
            Fact::Undefined => change.apply(&mut self.undefined),
            Fact::Error => change.apply(&mut self.error),
            Fact::Any => change.apply(&mut self.any),
            Fact::Bool(truth) => change.count(&mut self.bools, truth),
            Fact::Number(low, high) => change.count(&mut self.numbers, &(*low, *high)),
            Fact::Text(text) => change.count(&mut self.texts, text),
        }
    }

    /// The values of an attribute among so many rows.
    fn values(&self, rows: u64, limits: &Limits) -> Values {
        if self.any > 0 {
            return Values::any();
        }
        Values {
            undefined: self.undefined > 0 || rows > self.rows,
            error: self.error > 0,
            bools: self.bools.keys().copied().collect(),
            numbers: self.numbers(limits),
            texts: (!self.texts.is_empty()).then(|| Texts::of(self.texts.keys(), limits)),
            any: false,
        }
    }

    fn numbers(&self, limits: &Limits) -> Option<Numbers> {
        let ((min, _), _) = self.numbers.first_key_value()?;
        // Rounding keeps the order: the number with the largest lower end has the largest upper end.
        let ((_, max), _) = self.numbers.last_key_value()?;
        let exact = min.is_exact() && max.is_exact();
        let values = || self.numbers.keys().map(|(low, _)| *low).collect::<BTreeSet<Real>>();
        Some(Numbers { min: *min, max: *max, values: (exact && self.numbers.len() <= limits.values).then(values) })
    }
}

impl FreeCounts {
    fn count(&mut self, amount: i64, shared: bool, change: Change) {
        change.count(&mut self.amounts, &amount);
        let amount = i128::from(amount);
        self.sum = self.sum.saturating_add(if change == Change::Added { amount } else { -amount });
        if shared {
            change.apply(&mut self.shared);
        }
    }

    fn published(&self) -> Free {
        Free {
            max: self.amounts.last_key_value().map_or(0, |(amount, _)| *amount),
            sum: i64::try_from(self.sum).unwrap_or(if self.sum < 0 { i64::MIN } else { i64::MAX }),
            shared: self.shared > 0,
        }
    }
}

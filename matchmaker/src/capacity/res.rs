//! Amounts by resource name, in memory that copies share.

use std::collections::BTreeMap;
use std::collections::btree_map::Iter;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Amounts by resource name: `{seats: 10}`, `{cpus: 8, memory: 16384}` (memory in MiB, whole cpus).
///
/// A copy costs no memory: thousands of offers have the same capacity, and thousands of claims take the same.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Res(
    /// INVARIANT: `None` rather than an empty map.
    Option<Arc<Amounts>>,
);

type Amounts = BTreeMap<String, i64>;

static NONE: Amounts = Amounts::new();

impl Res {
    /// No amounts.
    pub fn new() -> Res {
        Res::default()
    }

    /// Sets the amount of one resource; gives the amount it had before.
    pub fn insert(&mut self, name: String, amount: i64) -> Option<i64> {
        Arc::make_mut(self.0.get_or_insert_default()).insert(name, amount)
    }

    /// Adds amounts, name by name.
    pub(crate) fn add(&mut self, more: &Res) {
        if self.0.is_none() {
            self.0.clone_from(&more.0);
            return;
        }
        let own = Arc::make_mut(self.0.get_or_insert_default());
        for (name, amount) in more {
            let sum = own.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }

    /// Subtracts amounts, name by name; nothing falls below 0.
    pub(crate) fn sub(&mut self, less: &Res) {
        let mut left: Amounts = Amounts::clone(self);
        for (name, amount) in less {
            if let Some(own) = left.get_mut(name) {
                *own = own.saturating_sub(*amount).max(0);
            }
        }
        left.retain(|_, amount| *amount > 0);
        *self = Res::from(left);
    }

    /// Where they are in memory, as long as they are there.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref::<Amounts>(self).addr()
    }

    /// Whether two are one and the same in memory; if not, they may still be equal.
    #[inline]
    pub fn is(&self, other: &Res) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

impl Deref for Res {
    type Target = Amounts;

    #[inline]
    fn deref(&self) -> &Amounts {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl fmt::Debug for Res {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(out)
    }
}

impl From<Amounts> for Res {
    fn from(amounts: Amounts) -> Res {
        Res(Some(amounts).filter(|amounts| !amounts.is_empty()).map(Arc::new))
    }
}

impl<const N: usize> From<[(String, i64); N]> for Res {
    fn from(amounts: [(String, i64); N]) -> Res {
        Res::from(Amounts::from(amounts))
    }
}

impl FromIterator<(String, i64)> for Res {
    fn from_iter<I: IntoIterator<Item = (String, i64)>>(amounts: I) -> Res {
        Res::from(Amounts::from_iter(amounts))
    }
}

impl<'r> IntoIterator for &'r Res {
    type Item = (&'r String, &'r i64);
    type IntoIter = Iter<'r, String, i64>;

    fn into_iter(self) -> Iter<'r, String, i64> {
        self.deref().iter()
    }
}

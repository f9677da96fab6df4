//! Which texts may stand somewhere, and how they may compare. Case does not count: texts are kept in small letters.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bloom::Bloom;
use crate::limits::Limits;
use crate::numbers::Orders;

/// A set of texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Texts {
    /// All of them, in small letters; [`Summary::check`](crate::Summary::check) refuses others that were read.
    Values(BTreeSet<Arc<str>>),
    /// They are too many for a list.
    Bloom(Bloom),
    /// They are too many for a Bloom filter: any text.
    Many,
}

/// A text in small letters (ASCII), as comparisons read it.
pub(crate) fn folded(text: &str) -> Arc<str> {
    text.to_ascii_lowercase().into()
}

impl Texts {
    /// The set of these texts, in small letters, in as much detail as the limits allow.
    pub(crate) fn of<'t>(texts: impl ExactSizeIterator<Item = &'t Arc<str>>, limits: &Limits) -> Texts {
        if texts.len() <= limits.values {
            return Texts::Values(texts.cloned().collect());
        }
        let mut filter = Bloom::new(limits.bloom_bits);
        for (number, text) in texts.enumerate() {
            filter.insert(text);
            // Counting the bits takes longer than setting some.
            if number % 64 == 0 && filter.is_full() {
                return Texts::Many;
            }
        }
        Texts::filter(filter)
    }

    fn filter(filter: Bloom) -> Texts {
        if filter.is_full() { Texts::Many } else { Texts::Bloom(filter) }
    }

    /// The texts in either.
    pub(crate) fn join(&self, other: &Texts, limits: &Limits) -> Texts {
        match (self, other) {
            (Texts::Values(one), Texts::Values(two)) => Texts::of((one | two).iter(), limits),
            (Texts::Bloom(filter), Texts::Values(values)) | (Texts::Values(values), Texts::Bloom(filter)) => {
                let mut filter = filter.clone();
                values.iter().for_each(|text| filter.insert(text));
                Texts::filter(filter)
            }
            (Texts::Bloom(one), Texts::Bloom(two)) => one.union(two).map_or(Texts::Many, Texts::filter),
            (Texts::Many, _) | (_, Texts::Many) => Texts::Many,
        }
    }

    /// How one of these may compare with one of the others.
    pub(crate) fn orders(&self, other: &Texts) -> Orders {
        let (Texts::Values(one), Texts::Values(two)) = (self, other) else {
            return Orders { less: true, equal: self.meets(other), greater: true };
        };
        Orders { less: one.first() < two.last(), equal: !one.is_disjoint(two), greater: one.last() > two.first() }
    }

    /// Whether a text may be in both.
    fn meets(&self, other: &Texts) -> bool {
        match (self, other) {
            (Texts::Values(values), Texts::Bloom(filter)) | (Texts::Bloom(filter), Texts::Values(values)) => {
                values.iter().any(|text| filter.contains(text))
            }
            (Texts::Bloom(one), Texts::Bloom(two)) => one.meets(two),
            _ => true,
        }
    }
}

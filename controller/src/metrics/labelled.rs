//! Metrics with labels, whose names come from the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;

use metrics_table::Metric as Described;
use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeLabelValue, EncodeMetric};
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::BOUNDS;

/// A value of a label.
pub(super) trait LabelText: EncodeLabelValue + Clone + Debug + Ord + Hash + Send + Sync + 'static {}

impl<T: EncodeLabelValue + Clone + Debug + Ord + Hash + Send + Sync + 'static> LabelText for T {}

/// So many labels with their values.
type Labels<const N: usize, V> = [(&'static str, V); N];

/// A metric for each combination of so many labels.
#[derive(Clone, Debug)]
pub(super) struct Labelled<const N: usize, M, V = &'static str> {
    names: [&'static str; N],
    family: Family<Labels<N, V>, M, fn() -> M>,
}

impl<const N: usize, M, V> Labelled<N, M, V>
where
    M: EncodeMetric + TypedMetric + Clone + Debug + Default + Send + Sync + 'static,
    V: LabelText,
{
    /// A new one, as the table describes it.
    pub(super) fn new(all: &mut Registry, described: &Described<N>) -> Labelled<N, M, V> {
        Labelled::made_by(M::default, all, described)
    }
}

impl<const N: usize, V: LabelText> Labelled<N, Histogram, V> {
    /// A new histogram, as the table describes it.
    pub(super) fn histogram(all: &mut Registry, described: &Described<N>) -> Labelled<N, Histogram, V> {
        Labelled::made_by(|| Histogram::new(BOUNDS), all, described)
    }
}

impl<const N: usize, M, V> Labelled<N, M, V>
where
    M: EncodeMetric + TypedMetric + Clone + Debug + Send + Sync + 'static,
    V: LabelText,
{
    fn made_by(make: fn() -> M, all: &mut Registry, described: &Described<N>) -> Labelled<N, M, V> {
        let family = Family::new_with_constructor(make);
        all.register(described.name, described.meaning, family.clone());
        Labelled { names: described.labels, family }
    }

    fn labels(&self, values: [V; N]) -> [(&'static str, V); N] {
        let mut names = self.names.into_iter();
        values.map(|value| (names.next().unwrap_or_default(), value))
    }

    /// The metric with these values of its labels.
    pub(super) fn with(&self, values: [V; N]) -> M {
        self.family.get_or_create_owned(&self.labels(values))
    }
}

/// What becomes of a gauge that has no value any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// It is 0.
    Nought,
    /// It is removed: what its labels name is gone.
    Removed,
}

/// Gauges that are all set together.
#[derive(Debug)]
pub(super) struct Levels<const N: usize, V = &'static str> {
    gauges: Labelled<N, Gauge, V>,
    known: Mutex<BTreeSet<[V; N]>>,
}

impl<const N: usize, V: LabelText> Levels<N, V> {
    /// New ones, as the table describes them.
    pub(super) fn new(all: &mut Registry, described: &Described<N>) -> Levels<N, V> {
        Levels { gauges: Labelled::new(all, described), known: Mutex::default() }
    }

    /// Sets all of them; those that were there before and have no value now are `gone`.
    pub(super) fn set(&self, levels: &BTreeMap<[V; N], i64>, gone: Gone) {
        let mut known = self.known.lock();
        for values in known.iter().filter(|values| !levels.contains_key(*values)) {
            match gone {
                Gone::Nought => drop(self.gauges.with(values.clone()).set(0)),
                Gone::Removed => drop(self.gauges.family.remove(&self.gauges.labels(values.clone()))),
            }
        }
        if gone == Gone::Removed {
            known.retain(|values| levels.contains_key(values));
        }
        for (values, level) in levels {
            self.gauges.with(values.clone()).set(*level);
            known.insert(values.clone());
        }
    }
}

//! What a pool publishes: by kind and attribute which values may stand there, and what is free.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::Limits;
use crate::values::Values;

/// A pool in a few kilobytes. It may claim too much, and never too little: what it rules out is not in the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// By kind, in small letters.
    #[serde(rename = "classes")]
    pub kinds: BTreeMap<String, KindSummary>,
    /// There are more kinds, of which nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

/// The offers of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSummary {
    /// How many offers there are.
    pub ads: u64,
    /// There may be more attributes, of which nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// By name in small letters. A name that is not there is UNDEFINED in every offer, unless there is a rest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Values>,
    /// By resource in small letters, of offers that can be claimed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub free: BTreeMap<String, Free>,
    /// There may be more resources, of which nothing is known.
    #[serde(default, rename = "freeRest", skip_serializing_if = "Option::is_none")]
    pub free_rest: Option<Rest>,
}

/// What is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rest {
    /// It may be anything.
    Any,
}

/// How much of one resource is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Free {
    /// The most on one offer.
    pub max: i64,
    /// On all offers together.
    pub sum: i64,
    /// Claims may share a seat of some offer, so that they take less together than each of them asks for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl Summary {
    /// The summary of two pools that have no offer in common: counts and sums add up, the rest is joined. Commutative and associative;
    /// idempotent but for counts and sums. It equals the summary of all offers at once as long as neither side was cut down to size.
    #[must_use]
    pub fn merge(&self, other: &Summary, limits: &Limits) -> Summary {
        let mut kinds = self.kinds.clone();
        for (name, kind) in &other.kinds {
            let merged = kinds.get(name).map_or_else(|| kind.clone(), |own| own.merge(kind, limits));
            kinds.insert(name.clone(), merged);
        }
        Summary { kinds, rest: self.rest.or(other.rest) }
    }

    /// How many bytes it takes as JSON.
    #[must_use]
    pub fn bytes(&self) -> usize {
        json_bytes(self)
    }
}

impl KindSummary {
    /// Which values an attribute may have, by its name in small letters.
    #[must_use]
    pub fn values(&self, name: &str) -> Values {
        let unlisted = || if self.rest.is_some() { Values::any() } else { Values::undefined() };
        self.attributes.get(name).cloned().unwrap_or_else(unlisted)
    }

    fn merge(&self, other: &KindSummary, limits: &Limits) -> KindSummary {
        let rest = self.rest.or(other.rest);
        let names = self.attributes.keys().chain(other.attributes.keys());
        let joined = |name: &String| (name.clone(), self.values(name).join(&other.values(name), limits));
        // What may be anything need not be listed beside a rest.
        let attributes = names.map(joined).filter(|(_, values)| rest.is_none() || !values.any).collect();
        let (free, free_rest) = (self.merged_free(other), self.free_rest.or(other.free_rest));
        KindSummary { ads: self.ads.saturating_add(other.ads), rest, attributes, free, free_rest }
    }

    /// Of a resource that one side left out nothing is known.
    fn merged_free(&self, other: &KindSummary) -> BTreeMap<String, Free> {
        let mut free = self.free.clone();
        for (name, more) in &other.free {
            let own = free.entry(name.clone()).or_default();
            *own = Free {
                max: own.max.max(more.max),
                sum: own.sum.saturating_add(more.sum),
                shared: own.shared || more.shared,
            };
        }
        let left_out = |side: &KindSummary, name: &String| side.free_rest.is_some() && !side.free.contains_key(name);
        free.retain(|name, _| !left_out(self, name) && !left_out(other, name));
        free
    }

    /// Whether this much of a resource may be free on one offer.
    pub(crate) fn may_have(&self, resource: &str, amount: i64) -> bool {
        self.free.get(resource).map_or(self.free_rest.is_some(), |free| free.max >= amount)
    }
}

/// How many bytes a part of a summary takes as JSON.
pub(crate) fn json_bytes(part: &impl Serialize) -> usize {
    serde_json::to_vec(part).map_or(usize::MAX, |json| json.len())
}

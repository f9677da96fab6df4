//! Which claims are being driven now, so that none is driven twice and none is forgotten by the next cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crds::Match;
use kube::ResourceExt;
use matchmaker::{AdKey, Ask};
use pool::{Flight, ObjectKey};

/// The claims under way.
#[derive(Default)]
pub(crate) struct Flights(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// By Match; with the gang as long as the objects may not show it yet.
    under_way: BTreeMap<ObjectKey, Option<Flight>>,
    /// Jobs whose claim is under way, by uid.
    jobs: BTreeMap<ObjectKey, String>,
    /// When an undecided Match was first seen here, on this process's clock.
    first_seen: BTreeMap<String, Instant>,
}

/// A claim under way; it lands when this is dropped, whatever happened.
pub(crate) struct UnderWay {
    flights: Arc<Flights>,
    key: ObjectKey,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut table = self.flights.table();
        table.under_way.remove(&self.key);
        table.jobs.remove(&self.key);
    }
}

impl Flights {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a claim; `None` if it is under way already. `gang` is what a new one takes.
    pub(crate) fn begin(self: &Arc<Self>, key: &ObjectKey, job_uid: &str, gang: Option<Flight>) -> Option<UnderWay> {
        let mut table = self.table();
        if table.under_way.contains_key(key) {
            return None;
        }
        table.under_way.insert(key.clone(), gang);
        table.jobs.insert(key.clone(), job_uid.to_owned());
        Some(UnderWay { flights: self.clone(), key: key.clone() })
    }

    /// How many are under way.
    pub(crate) fn len(&self) -> usize {
        self.table().under_way.len()
    }

    /// The gangs that the objects may not show yet.
    pub(crate) fn gangs(&self) -> Vec<Flight> {
        self.table().under_way.values().flatten().cloned().collect()
    }

    /// The uids of the jobs whose claims are under way.
    pub(crate) fn jobs(&self) -> BTreeSet<String> {
        self.table().jobs.values().cloned().collect()
    }

    /// How long ago this process saw an undecided Match first, in milliseconds.
    pub(crate) fn age_ms(&self, match_uid: &str) -> u64 {
        let mut table = self.table();
        let first = *table.first_seen.entry(match_uid.to_owned()).or_insert_with(Instant::now);
        u64::try_from(first.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Forgets first sights of Matches that are gone or decided.
    pub(crate) fn forget_unless(&self, undecided: &BTreeSet<String>) {
        self.table().first_seen.retain(|uid, _| undecided.contains(uid));
    }
}

/// What a Match takes, as the engine counts it.
pub(crate) fn flight(found: &Match) -> Flight {
    let asks = found.spec.members.iter().skip(1).map(|member| {
        let key = AdKey { kind: member.kind.clone(), namespace: member.namespace.clone(), name: member.name.clone() };
        (key, Ask { takes: member.takes.clone().unwrap_or_default().into(), share: member.share.clone() })
    });
    Flight {
        match_key: ObjectKey::new(&found.namespace().unwrap_or_default(), &found.name_any()),
        asks: asks.collect(),
    }
}

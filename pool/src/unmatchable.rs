//! Jobs that have no gang whatever is free: cycles leave them out until an offer changes.
//!
//! Thousands of jobs that ask for what is not there would otherwise make every cycle longer, for all.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use matchmaker::{Cycle, PoolAd, Snapshot};

/// For how many snapshots a job is left out, and over how many more the ends are spread: then it is searched for again, though nothing
/// tells that there is something to find, and what is said of it is up to date again.
const SNAPSHOTS: u64 = 64;

/// The jobs that the last cycles have found no gang for, not even with everything free.
#[derive(Debug, Default)]
pub struct Unmatchable {
    /// By the job's uid.
    roots: HashMap<String, LeftOut>,
    /// The number of the snapshot.
    snapshot: u64,
    /// The namespaces whose offers were left out because of their cost when that was found.
    without: BTreeSet<String>,
}

#[derive(Debug)]
struct LeftOut {
    /// The job's ad. If it has another one now, nothing is known of it.
    ad: Arc<PoolAd>,
    /// From this snapshot on it is a root again.
    until: u64,
}

impl Unmatchable {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Whether the job with this uid is one of them.
    pub fn contains(&self, uid: &str) -> bool {
        self.roots.contains_key(uid)
    }

    /// Whether this very ad is one of them.
    pub(crate) fn has(&self, ad: &PoolAd) -> bool {
        self.roots.get(&ad.uid).is_some_and(|known| std::ptr::eq(Arc::as_ptr(&known.ad), ad))
    }

    /// Begins with the next snapshot, for a cycle that leaves out the offers of these namespaces. Once offers come back, nothing is known.
    pub(crate) fn begin(&mut self, barred: &BTreeSet<String>) {
        self.snapshot += 1;
        if !self.without.is_subset(barred) {
            self.clear();
        }
        self.roots.retain(|_, known| known.until > self.snapshot);
    }

    /// Remembers what a cycle has found of jobs; it says nothing of one that reads the clock or chance.
    pub(crate) fn note(&mut self, snapshot: &Snapshot, cycle: &Cycle, mut is_concerned: impl FnMut(&PoolAd) -> bool) {
        self.without.extend(cycle.barred.iter().cloned());
        let lasting = cycle.unmatched.iter().filter(|unmatched| unmatched.why.verdict.is_lasting());
        for ad in lasting.filter_map(|unmatched| snapshot.shared(unmatched.root)) {
            if is_concerned(ad) && !ad.is_timely() {
                let spread = u64::try_from(self.roots.len()).unwrap_or(0) % SNAPSHOTS;
                let until = self.snapshot + SNAPSHOTS + spread;
                self.roots.insert(ad.uid.clone(), LeftOut { ad: Arc::clone(ad), until });
            }
        }
    }

    /// Forgets those of which this is not true.
    pub(crate) fn retain(&mut self, mut is_left_out: impl FnMut(&PoolAd) -> bool) {
        self.roots.retain(|_, known| is_left_out(&known.ad));
    }

    fn clear(&mut self) {
        self.roots.clear();
        self.without.clear();
    }
}

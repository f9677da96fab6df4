//! Jobs that have no gang whatever is free: cycles leave them out until an offer changes.
//!
//! Thousands of jobs that ask for what is not there would otherwise make every cycle longer, for all.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use matchmaker::{Cycle, PoolAd, Snapshot};

/// For how many snapshots a job is left out, and over how many more the ends are spread: then it is searched for again, though nothing
/// tells that there is something to find, and what is said of it is up to date again.
const SNAPSHOTS: u64 = 64;

/// For how long a job is left out that an offer admits which reads the clock or chance, in milliseconds: the first time, and the longest. It
/// doubles each time that nothing is found, and an eighth of it is spread.
const CLOCK_FIRST_MS: u64 = 1_000;
const CLOCK_MOST_MS: u64 = 30_000;

/// The jobs that the last cycles have found no gang for, not even with everything free.
#[derive(Debug, Default)]
pub struct Unmatchable {
    /// By the job's uid; those among them that are searched for again.
    roots: HashMap<String, Known>,
    /// The number of the snapshot.
    snapshot: u64,
    /// Its time, in milliseconds.
    now_ms: u64,
    /// The namespaces whose offers were left out because of their cost when that was found.
    without: BTreeSet<String>,
}

#[derive(Debug)]
struct Known {
    /// The job's ad. If it has another one now, nothing is known of it.
    ad: Arc<PoolAd>,
    until: Until,
}

/// Until when a job is no root.
#[derive(Clone, Copy, Debug)]
enum Until {
    /// Until this snapshot.
    Snapshot(u64),
    /// Some offer that admits it may say something else at any time: until this time, in milliseconds; and how often in a row that was in vain.
    Time { until_ms: u64, times: u32 },
}

impl Unmatchable {
    /// How many jobs are left out.
    pub fn len(&self) -> usize {
        self.roots.values().filter(|known| self.lasts(known)).count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the job with this uid is one of them.
    pub fn contains(&self, uid: &str) -> bool {
        self.roots.get(uid).is_some_and(|known| self.lasts(known))
    }

    /// Whether something is known of this very ad; and if so, whether it is left out.
    pub(crate) fn knows(&self, ad: &PoolAd) -> Option<bool> {
        let known = self.roots.get(&ad.uid).filter(|known| std::ptr::eq(Arc::as_ptr(&known.ad), ad))?;
        Some(self.lasts(known))
    }

    /// How many jobs something is known of.
    pub(crate) fn known(&self) -> usize {
        self.roots.len()
    }

    /// The namespaces of these jobs.
    pub(crate) fn namespaces(&self) -> BTreeSet<&str> {
        self.roots.values().map(|known| known.ad.key.namespace.as_str()).collect()
    }

    fn lasts(&self, known: &Known) -> bool {
        match known.until {
            Until::Snapshot(until) => self.snapshot < until,
            Until::Time { until_ms, .. } => self.now_ms < until_ms,
        }
    }

    /// Begins with the next snapshot, for a cycle that leaves out the offers of these namespaces. Once offers come back, nothing is known.
    pub(crate) fn begin(&mut self, barred: &BTreeSet<String>, now_ms: u64) {
        (self.snapshot, self.now_ms) = (self.snapshot + 1, now_ms);
        if !self.without.is_subset(barred) {
            self.clear();
        }
        let snapshot = self.snapshot;
        self.roots.retain(|_, known| !matches!(known.until, Until::Snapshot(until) if until <= snapshot));
    }

    /// Remembers what a cycle has found of jobs. It says nothing of one that reads the clock or chance, and not for long of one that is
    /// admitted by an offer that does.
    pub(crate) fn note(
        &mut self,
        snapshot: &Snapshot,
        cycle: &Cycle,
        is_concerned: impl Fn(&PoolAd) -> bool,
        mut is_unsure: impl FnMut(&PoolAd) -> bool,
    ) {
        self.without.extend(cycle.costs.barred.iter().cloned());
        for unmatched in &cycle.unmatched {
            let Some(ad) = snapshot.shared(unmatched.root) else { continue };
            if !unmatched.why.verdict.is_lasting() || ad.is_timely() {
                self.roots.remove(&ad.uid);
                continue;
            }
            if !is_concerned(ad) {
                continue;
            }
            let spread = u64::try_from(self.roots.len()).unwrap_or(0) % SNAPSHOTS;
            let until = if is_unsure(ad) {
                let before = self.roots.get(&ad.uid).filter(|known| Arc::ptr_eq(&known.ad, ad));
                let times = before.map_or(0, |known| known.until.times());
                let pause_ms = (CLOCK_FIRST_MS << times.min(10)).min(CLOCK_MOST_MS);
                let until_ms = self.now_ms + pause_ms - pause_ms / 8 * spread / SNAPSHOTS;
                Until::Time { until_ms, times: times.saturating_add(1) }
            } else {
                Until::Snapshot(self.snapshot + SNAPSHOTS + spread)
            };
            self.roots.insert(ad.uid.clone(), Known { ad: Arc::clone(ad), until });
        }
    }

    /// Lets those be searched for again that something new might be for.
    pub(crate) fn bring_back(&mut self, mut might_be_for: impl FnMut(&PoolAd) -> bool) {
        self.roots.retain(|_, known| {
            let comes_back = might_be_for(&known.ad);
            match &mut known.until {
                Until::Snapshot(_) => !comes_back,
                Until::Time { until_ms, .. } => {
                    *until_ms = if comes_back { 0 } else { *until_ms };
                    true
                }
            }
        });
    }

    /// Forgets those of which this is not true.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&PoolAd) -> bool) {
        self.roots.retain(|_, known| is_kept(&known.ad));
    }

    fn clear(&mut self) {
        self.roots.clear();
        self.without.clear();
    }
}

impl Until {
    /// How often in a row a search was in vain.
    fn times(self) -> u32 {
        match self {
            Until::Snapshot(_) => 0,
            Until::Time { times, .. } => times,
        }
    }
}

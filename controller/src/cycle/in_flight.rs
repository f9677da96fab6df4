//! The claims in flight: those that are driven now, so that none is driven twice and none is forgotten by the next cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use claiming::Decision;
use crds::Match;
use kube::ResourceExt;
use parking_lot::Mutex;
use pool::{AssumedGang, ObjectKey, asks_of, recorded_charges};
use tokio::time::Instant;

use crate::claims::View;

/// The claims in flight.
#[derive(Default)]
pub(crate) struct InFlight(Mutex<Table>);

/// Which claim: where its Match is, and the uid of that; empty for one that is still to be written. A Match that was deleted
/// and its namesake are two claims.
type Name = (ObjectKey, String);

/// One that is under way.
struct Claim {
    /// As long as the objects may not show it yet.
    gang: Option<AssumedGang>,
    /// The uid of its job.
    job: String,
    stage: Stage,
}

/// How far a claim that is driven has come. Each stage is counted by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is not decided yet.
    Undecided,
    /// It was decided since it began to be driven.
    Decided,
    /// It was decided before.
    Old,
}

#[derive(Default)]
struct Table {
    under_way: BTreeMap<Name, Claim>,
    /// When an undecided Match was first seen here, on this process's clock.
    first_seen: BTreeMap<String, Instant>,
    /// Those that have finished since they were taken last.
    finished: Vec<FinishedClaim>,
    /// The uids of jobs that are being told where they stand.
    told: BTreeSet<String>,
}

/// A job that is being told where it stands, until this is dropped.
pub(crate) struct Telling {
    in_flight: Arc<InFlight>,
    job: String,
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.in_flight.0.lock().told.remove(&self.job);
    }
}

/// A claim that is not under way any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinishedClaim {
    /// Where its Match is.
    pub(crate) key: ObjectKey,
    /// The uid of that; empty, if it was still to be written.
    pub(crate) uid: String,
    /// The uid of its job.
    pub(crate) job: String,
}

/// A claim in flight; it is not any more when this is dropped, whatever happened.
pub(crate) struct ClaimGuard {
    in_flight: Arc<InFlight>,
    name: Name,
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        let mut table = self.in_flight.0.lock();
        if let Some(Claim { job, .. }) = table.under_way.remove(&self.name) {
            let (key, uid) = self.name.clone();
            table.finished.push(FinishedClaim { key, uid, job });
        }
    }
}

impl ClaimGuard {
    /// The claim was committed or aborted: what is still to be done keeps no other one from being made.
    pub(crate) fn decided(&self) {
        if let Some(claim) = self.in_flight.0.lock().under_way.get_mut(&self.name)
            && claim.stage == Stage::Undecided
        {
            claim.stage = Stage::Decided;
        }
    }
}

/// How often it is looked whether claims are still under way.
const LOOK: Duration = Duration::from_millis(20);

impl InFlight {
    /// Waits for claims under way, for so long at most; what is left of them is found again by the next leader.
    pub(crate) async fn drained(&self, longest: Duration) {
        let begun = Instant::now();
        while self.len() > 0 && begun.elapsed() < longest {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Begins to write the status of a job; `None` if a claim of it is under way, which writes more, or if its status is being written.
    pub(crate) fn tell(self: &Arc<Self>, job: &str) -> Option<Telling> {
        let mut table = self.0.lock();
        let is_claimed = table.under_way.values().any(|claim| claim.job == job);
        let tells = !is_claimed && table.told.insert(job.to_owned());
        tells.then(|| Telling { in_flight: self.clone(), job: job.to_owned() })
    }

    /// Whether a job is being told where it stands.
    pub(crate) fn is_told(&self, job: &str) -> bool {
        self.0.lock().told.contains(job)
    }

    /// Begins a claim; `None` if it is under way already: under its uid, or as one that is just being written. `gang` is what a
    /// new one takes: its job must not be told something else at the same time.
    pub(crate) fn begin(self: &Arc<Self>, view: &View, gang: Option<AssumedGang>) -> Option<ClaimGuard> {
        let mut table = self.0.lock();
        let name = (view.key.clone(), view.uid.clone());
        let unwritten = (view.key.clone(), String::new());
        if table.under_way.contains_key(&name) || table.under_way.contains_key(&unwritten) {
            return None;
        }
        if gang.is_some() && table.told.contains(&view.root.uid) {
            return None;
        }
        let is_undecided = matches!(view.decision(), Decision::Absent | Decision::Pending);
        let stage = if is_undecided { Stage::Undecided } else { Stage::Old };
        table.under_way.insert(name.clone(), Claim { gang, job: view.root.uid.clone(), stage });
        Some(ClaimGuard { in_flight: self.clone(), name })
    }

    /// Whether a claim is under way.
    pub(crate) fn has(&self, view: &View) -> bool {
        let table = self.0.lock();
        let is_under_way = |uid: &str| table.under_way.contains_key(&(view.key.clone(), uid.to_owned()));
        is_under_way(&view.uid) || is_under_way("")
    }

    /// Those that have finished since they were taken last.
    pub(crate) fn take_finished(&self) -> Vec<FinishedClaim> {
        std::mem::take(&mut self.0.lock().finished)
    }

    /// How many are under way.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().under_way.len()
    }

    /// How many of them are not decided yet.
    pub(crate) fn undecided(&self) -> usize {
        self.count(Stage::Undecided)
    }

    /// How many of them were decided before they began to be driven.
    pub(crate) fn old(&self) -> usize {
        self.count(Stage::Old)
    }

    fn count(&self, stage: Stage) -> usize {
        self.0.lock().under_way.values().filter(|claim| claim.stage == stage).count()
    }

    /// The gangs that the objects may not show yet.
    pub(crate) fn gangs(&self) -> Vec<AssumedGang> {
        self.0.lock().under_way.values().filter_map(|claim| claim.gang.clone()).collect()
    }

    /// The uids of the jobs whose claims are under way.
    pub(crate) fn jobs(&self) -> BTreeSet<String> {
        self.0.lock().under_way.values().map(|claim| claim.job.clone()).collect()
    }

    /// The uids of the jobs whose written claims are under way: those of new ones are not among them.
    pub(crate) fn written_jobs(&self) -> BTreeSet<String> {
        let table = self.0.lock();
        let (new, written): (Vec<_>, Vec<_>) = table.under_way.values().partition(|claim| claim.gang.is_some());
        let is_new = |uid: &String| new.iter().any(|claim| claim.job == *uid);
        written.into_iter().map(|claim| claim.job.clone()).filter(|uid| !is_new(uid)).collect()
    }

    /// How long ago this process saw an undecided Match first, in milliseconds.
    pub(crate) fn age_ms(&self, match_uid: &str) -> u64 {
        let mut table = self.0.lock();
        let first = *table.first_seen.entry(match_uid.to_owned()).or_insert_with(Instant::now);
        u64::try_from(first.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Forgets first sights of Matches that are gone or decided.
    pub(crate) fn forget_unless(&self, undecided: &BTreeSet<String>) {
        self.0.lock().first_seen.retain(|uid, _| undecided.contains(uid));
    }
}

/// What a Match takes, as the engine counts it.
pub(crate) fn assumed_gang(found: &Match) -> AssumedGang {
    AssumedGang {
        match_key: ObjectKey::new(&found.namespace().unwrap_or_default(), &found.name_any()),
        asks: asks_of(&found.spec.members).collect(),
        charged: found.spec.account.as_deref().map(|account| (account.into(), recorded_charges(found))),
    }
}

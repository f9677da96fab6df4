//! Writes of one kind, several at a time: room and turns for each namespace, pauses for those whose writes are not taken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;

use crate::cache::Cache;
use crate::write::fair::FairSet;
use crate::write::gate::{Gate, Limits};
use crate::write::pacing::{Outcome, Pacing, PacingNotice};
use crate::write::rate::Rate;

/// The most writes that wait for an answer at once; and of one namespace.
const WRITES_MAX: usize = 16;
const WRITES_OF_ONE: usize = 12;
/// The most that are begun, those included that wait for their turn; and of one namespace. Later they are not what they were.
const BEGUN_MAX: usize = 64;
const BEGUN_OF_ONE: usize = 48;
/// How long those that have ended are kept back for the sake of others that are about to.
const MOMENT: Duration = Duration::from_millis(100);

/// The writes of one kind. Each is of one object, by its name `T`.
#[derive(Debug)]
pub(crate) struct Lane<T> {
    /// What they are, for the log.
    what: &'static str,
    gate: Gate,
    pacing: Arc<Mutex<Pacing<T>>>,
    rate: Rate,
    running: JoinSet<Outcome>,
    begun: BTreeMap<Id, (String, T)>,
    objects: BTreeSet<T>,
    by_namespace: BTreeMap<String, usize>,
    ended: Vec<(T, Outcome)>,
    ended_at: Option<Instant>,
}

/// How many writes may be begun now.
#[derive(Debug)]
pub(crate) struct Room<'l, T> {
    lane: Option<&'l Lane<T>>,
    left: usize,
    taken: BTreeMap<String, usize>,
    now_ms: u64,
}

impl<T: Clone + Ord + Send + 'static> Lane<T> {
    /// Nothing is being written.
    pub(crate) fn new(what: &'static str) -> Lane<T> {
        Lane {
            what,
            gate: Gate::new(Limits { all: WRITES_MAX, each: WRITES_OF_ONE, slow: 1 }),
            pacing: Arc::default(),
            rate: Rate::default(),
            running: JoinSet::new(),
            begun: BTreeMap::new(),
            objects: BTreeSet::new(),
            by_namespace: BTreeMap::new(),
            ended: Vec::new(),
            ended_at: None,
        }
    }

    /// How many may wait for an answer at once.
    pub(crate) fn limit_to(&self, most: usize) {
        self.gate.limit_to(most.min(WRITES_MAX));
    }

    /// How many may be begun now.
    pub(crate) fn room(&self, now_ms: u64) -> Room<'_, T> {
        let left = BEGUN_MAX.saturating_sub(self.begun.len());
        Room { lane: Some(self), left, taken: BTreeMap::new(), now_ms }
    }

    /// Those of some objects, each with its namespace, that may be begun now: round robin over namespaces.
    pub(crate) fn turns<'n>(
        &self,
        queue: &mut FairSet<T>,
        objects: impl Iterator<Item = (&'n str, T)>,
        now_ms: u64,
    ) -> Vec<T> {
        let mut room = self.room(now_ms);
        let wanted: BTreeMap<T, &str> = objects
            .filter(|(_, object)| !room.is_held(object))
            .map(|(namespace, object)| (object, namespace))
            .collect();
        wanted.iter().for_each(|(object, namespace)| queue.push(namespace, object.clone()));
        let mut all = Vec::new();
        while !room.is_none()
            && let Some(object) = queue.pop(|namespace| room.has(namespace))
        {
            if let Some(namespace) = wanted.get(&object) {
                room.take(namespace);
                all.push(object);
            }
        }
        all
    }

    /// Begins a write; one of a large object counts for many. It is not made if its namespace is to pause by the time of its turn.
    pub(crate) fn begin(
        &mut self,
        namespace: &str,
        (object, is_large): (T, bool),
        cache: &Arc<Cache>,
        write: impl Future<Output = Outcome> + Send + 'static,
    ) {
        let now_ms = cache.now_ms();
        let (gate, pacing, cache) = (self.gate.clone(), self.pacing.clone(), cache.clone());
        let (what, here, name) = (self.what, namespace.to_owned(), object.clone());
        let task = self.running.spawn(async move {
            let _turn = gate.turn(&here).await;
            if !locked(&pacing).may(&here, cache.now_ms()) {
                return Outcome::Again;
            }
            let outcome = write.await;
            // before the turn is over, so that none of those that wait for it runs into the same
            gate.answered(&here, !matches!(outcome, Outcome::Stalled(_)));
            let news = locked(&pacing).note(&here, &name, &outcome, cache.now_ms());
            log(what, &here, &outcome, news.as_ref());
            outcome
        });
        *self.by_namespace.entry(namespace.to_owned()).or_default() += 1;
        self.rate.take(namespace, is_large, now_ms);
        self.objects.insert(object.clone());
        self.begun.insert(task.id(), (namespace.to_owned(), object));
    }

    /// Waits until writes have ended, for ever if there are none: those that were not taken, and why.
    pub(crate) async fn ended(&mut self) -> Vec<(T, Outcome)> {
        loop {
            if self.running.is_empty() && self.ended_at.is_some() {
                break;
            }
            let moment = self.ended_at.map(|at| at + MOMENT);
            tokio::select! {
                biased;
                Some(ended) = self.running.join_next_with_id(), if !self.running.is_empty() => {
                    let (id, outcome) = match ended {
                        Ok((id, outcome)) => (id, outcome),
                        Err(error) => (error.id(), Outcome::Stalled(error.to_string())),
                    };
                    self.ended_at.get_or_insert_with(Instant::now);
                    self.note(id, outcome);
                }
                () = until(moment) => break,
            }
        }
        self.ended_at = None;
        std::mem::take(&mut self.ended)
    }

    fn note(&mut self, id: Id, outcome: Outcome) {
        let Some((namespace, object)) = self.begun.remove(&id) else { return };
        self.objects.remove(&object);
        if let Some(count) = self.by_namespace.get_mut(&namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_namespace.remove(&namespace);
            }
        }
        if outcome != Outcome::Done {
            self.ended.push((object, outcome));
        }
    }

    /// When the next pause ends, or a namespace that has used up its rate may go on.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        locked(&self.pacing).next_ms(now_ms).into_iter().chain(self.rate.next_ms(now_ms)).min()
    }
}

fn locked<T>(pacing: &Mutex<Pacing<T>>) -> MutexGuard<'_, Pacing<T>> {
    pacing.lock()
}

/// One line when a namespace's writes begin to be refused, for each reason, and one when they are taken again.
fn log(what: &str, namespace: &str, outcome: &Outcome, news: Option<&PacingNotice>) {
    match news {
        Some(PacingNotice::Refused) => {
            let why = outcome.why().unwrap_or("");
            tracing::warn!(namespace, why, "{what} not written; tried again with growing pauses");
        }
        Some(PacingNotice::Taken) => tracing::info!(namespace, "{what} written again"),
        None => {}
    }
}

/// Waits until then; for ever, if there is no moment.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl<T: Clone + Ord + Send + 'static> Room<'_, T> {
    /// Room for so many of any namespace.
    #[cfg(test)]
    pub(crate) fn of(left: usize) -> Room<'static, T> {
        Room { lane: None, left, taken: BTreeMap::new(), now_ms: 0 }
    }

    /// Whether there is none.
    pub(crate) fn is_none(&self) -> bool {
        self.left == 0
    }

    /// Whether there is some for a namespace.
    pub(crate) fn has(&self, namespace: &str) -> bool {
        let Some(lane) = self.lane else { return self.left > 0 };
        let pacing = locked(&lane.pacing);
        let begun = lane.by_namespace.get(namespace).copied().unwrap_or(0);
        let taken = self.taken.get(namespace).copied().unwrap_or(0);
        self.left > 0
            && begun.saturating_add(taken) < pacing.allowance(namespace, BEGUN_OF_ONE)
            && taken < lane.rate.left(namespace, self.now_ms)
            && pacing.may(namespace, self.now_ms)
    }

    /// Whether an object is not to be written now: it is being written, or pauses.
    pub(crate) fn is_held(&self, object: &T) -> bool {
        let held =
            |lane: &Lane<T>| lane.objects.contains(object) || !locked(&lane.pacing).may_object(object, self.now_ms);
        self.lane.is_some_and(held)
    }

    /// One is begun.
    pub(crate) fn take(&mut self, namespace: &str) {
        self.left = self.left.saturating_sub(1);
        *self.taken.entry(namespace.to_owned()).or_default() += 1;
    }
}

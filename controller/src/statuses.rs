//! Statuses that are due into writes, a few at a time and round robin over namespaces, with pauses for those that are not taken.

use std::sync::Arc;

use crds::{Job, License, Machine};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use pool::{Changes, Objects};

use crate::api::{Answer, Change};
use crate::context::Context;
use crate::flights::Flights;
use crate::lane::Lane;
use crate::metrics;
use crate::pacing::Outcome;
use crate::status::{Finding, Findings, News, Pending, Update, Whose, count_gave_up};

/// The most status writes under way at once; and beside claims, which come first.
const WRITES_MAX: usize = 16;
const BESIDE_CLAIMS: usize = 4;

/// What is being written, and how it went lately.
#[derive(Debug)]
pub(crate) struct Statuses {
    /// Whose are to be looked at.
    pending: Pending,
    lane: Lane<Whose>,
}

impl Default for Statuses {
    fn default() -> Self {
        Statuses { pending: Pending::default(), lane: Lane::new("statuses") }
    }
}

impl Statuses {
    /// Takes in what has changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects) {
        self.pending.note(changes, objects);
    }

    /// The job with this uid is to be looked at.
    pub(crate) fn touch_job(&mut self, uid: &str, objects: &Objects) {
        self.pending.touch_job(uid, objects);
    }

    /// What is said of the job with this uid is not what was said of it before.
    pub(crate) fn found(&mut self, uid: &str, finding: &Finding, objects: &Objects, now: (Timestamp, u64)) {
        self.pending.found(uid, finding, objects, now);
    }

    /// Begins to write the statuses that are due, as many as there is room for: claims do not wait for them.
    pub(crate) fn begin(
        &mut self,
        context: &Arc<Context>,
        flights: &Arc<Flights>,
        objects: &Objects,
        findings: &Findings<'_>,
    ) {
        let now_ms = context.now_ms();
        self.lane.limit_to(if flights.len() == 0 { WRITES_MAX } else { BESIDE_CLAIMS });
        let mut room = self.lane.room(now_ms);
        let now = (context.clock.now(), now_ms);
        for update in self.pending.due(objects, findings, &flights.jobs(), now, &mut room) {
            let (namespace, whose) = (update.key.namespace.clone(), (update.kind, update.key.clone()));
            let (context, flights) = (context.clone(), flights.clone());
            self.lane.begin(&namespace, whose, &context.world.clone(), async move {
                write(&context, &flights, update).await
            });
        }
    }

    /// Waits until something of what was begun is written; for ever, if nothing was.
    pub(crate) async fn written(&mut self, context: &Context) {
        let lost = self.lane.ended().await;
        context.cluster.metrics.add(&metrics::STATUSES_LOST, &[], i64::try_from(lost.len()).unwrap_or(i64::MAX));
        // After all others of their namespaces: those that the server does not take must not keep them waiting.
        self.pending.again(lost.into_iter().map(|(whose, _)| whose).collect());
    }

    /// When there is something to do if nothing changes: a pause ends, or a status is to be looked at.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let rested = self.lane.next_ms(now_ms).filter(|_| !self.pending.is_empty());
        rested.into_iter().chain(self.pending.next_ms()).min()
    }
}

/// Writes one status; what came of it. If the object has changed in the meantime, the change comes by watch and the status is
/// made anew.
async fn write(context: &Context, flights: &Arc<Flights>, update: Update) -> Outcome {
    // Not while it is claimed: that tells it more. And no claim begins before it has heard this.
    let telling = match update.kind {
        "Job" => match flights.tell(&update.uid) {
            Some(telling) => Some(telling),
            None => return Outcome::Done,
        },
        _ => None,
    };
    let (key, patch, news) = (update.key, Change::Json(update.patch), update.news);
    let answer = match update.kind {
        "Job" => context.cluster.patch_status::<Job>(&key, &patch).await.map(|found| {
            count_gave_up(&context.cluster.metrics, &found);
            tell(context, found.object_ref(&()), news);
            context.world.learn(|all| all.jobs.put(found));
        }),
        "Machine" => context.cluster.patch_status::<Machine>(&key, &patch).await.map(|found| {
            tell(context, found.object_ref(&()), news);
            context.world.learn(|all| all.machines.put(found));
        }),
        _ => context.cluster.patch_status::<License>(&key, &patch).await.map(|found| {
            tell(context, found.object_ref(&()), news);
            context.world.learn(|all| all.licenses.put(found));
        }),
    };
    drop(telling);
    outcome(answer)
}

/// An Event of each reason once in a while.
fn tell(context: &Context, about: ObjectReference, news: Option<News>) {
    let Some(News { tone, reason, note }) = news else { return };
    if context.events.is_new(about.uid.as_deref().unwrap_or(""), &reason) {
        context.events.tell_about(about, tone, &reason, &note);
    }
}

fn outcome(answer: Answer<()>) -> Outcome {
    match answer {
        Answer::Refused(refused) if !refused.rules.is_empty() => Outcome::Refused(refused.message),
        Answer::Lost(why) => Outcome::of_lost(&why),
        // it has moved on
        Answer::Done(()) | Answer::Refused(_) | Answer::Missing | Answer::Exists => Outcome::Done,
    }
}

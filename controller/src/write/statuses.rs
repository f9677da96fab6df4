//! Statuses that are due into writes, a few at a time and round robin over namespaces, with pauses for those that are not taken.

use std::sync::Arc;

use crds::{AdKind, Job, License, Machine, OfferKind};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use pool::{Cached, ObjectKey, Objects};

use crate::context::Context;
use crate::cycle::in_flight::InFlight;
use crate::metrics::count;
use crate::status::{EventText, Findings, ObjectId, Pending, StatusWrite, Update, count_gave_up};
use crate::write::answer::Answer;
use crate::write::lane::Lane;
use crate::write::pacing::Outcome;
use crate::write::requests::ObjectPatch;

/// The most status writes under way at once; and beside claims, which come first.
const WRITES_MAX: usize = 16;
const BESIDE_CLAIMS: usize = 2;

/// What is being written, and how it went lately.
#[derive(Debug)]
pub(crate) struct Statuses {
    /// The objects whose statuses are to be looked at.
    pub(crate) pending: Pending,
    lane: Lane<ObjectId>,
}

impl Default for Statuses {
    fn default() -> Self {
        Statuses { pending: Pending::default(), lane: Lane::new("statuses") }
    }
}

impl Statuses {
    /// Begins to write the statuses that are due, as many as there is room for: claims do not wait for them.
    pub(crate) fn begin(
        &mut self,
        context: &Arc<Context>,
        in_flight: &Arc<InFlight>,
        objects: &Objects,
        findings: &Findings<'_>,
    ) {
        let now_ms = context.now_ms();
        self.lane.limit_to(if in_flight.len() == 0 { WRITES_MAX } else { BESIDE_CLAIMS });
        let mut room = self.lane.room(now_ms);
        let now = (context.clock.now(), now_ms);
        for update in self.pending.due(objects, findings, &in_flight.jobs(), now, &mut room) {
            let (namespace, whose) = (update.key.namespace.clone(), (update.kind, update.key.clone()));
            let (writer, in_flight) = (context.clone(), in_flight.clone());
            let whose = (whose, is_large(objects, update.kind, &update.key));
            self.lane.begin(&namespace, whose, &context.cache, async move { write(&writer, &in_flight, update).await });
        }
    }

    /// Waits until something of what was begun is written; for ever, if nothing was.
    pub(crate) async fn written(&mut self, context: &Context) {
        let lost = self.lane.ended().await;
        context.metrics.requests.statuses_not_written.inc_by(count(lost.len()));
        // After all others of their namespaces: those that the server does not take must not keep them waiting.
        self.pending.again(lost.into_iter().map(|(whose, _)| whose).collect());
    }

    /// When there is something to do if nothing changes: a pause ends, or a status is to be looked at.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let rested = self.lane.next_ms(now_ms).filter(|_| !self.pending.is_empty());
        rested.into_iter().chain(self.pending.next_ms()).min()
    }
}

/// Whether the object is so large that its ad has no room in memory.
fn is_large(objects: &Objects, kind: AdKind, key: &ObjectKey) -> bool {
    match kind {
        AdKind::Job => objects.jobs.get(key).is_some_and(Cached::is_stripped),
        AdKind::Offer(OfferKind::Machine) => objects.machines.get(key).is_some_and(Cached::is_stripped),
        AdKind::Offer(OfferKind::License) => objects.licenses.get(key).is_some_and(Cached::is_stripped),
    }
}

/// Writes one status; what came of it. If the object has changed in the meantime, the change comes by watch and the status is
/// made anew.
async fn write(context: &Context, in_flight: &Arc<InFlight>, update: Update) -> Outcome {
    // Not while it is claimed: that tells it more. And no claim begins before it has heard this.
    let telling = match update.kind {
        AdKind::Job => match in_flight.tell(&update.uid) {
            Some(telling) => Some(telling),
            None => return Outcome::Done,
        },
        AdKind::Offer(_) => None,
    };
    let (key, news) = (update.key, update.news);
    let patch = match update.change {
        StatusWrite::Status(patch) => ObjectPatch::Json(patch),
        StatusWrite::Delete => return outcome(context.cluster.delete::<Job>(&key, &update.uid).await),
    };
    let answer = match update.kind {
        AdKind::Job => {
            let answer = context.patch_status::<Job>(&key, &patch).await;
            answer.inspect(|job| count_gave_up(&context.metrics, job)).map(|job| job.object_ref(&()))
        }
        AdKind::Offer(OfferKind::Machine) => {
            context.patch_status::<Machine>(&key, &patch).await.map(|machine| machine.object_ref(&()))
        }
        AdKind::Offer(OfferKind::License) => {
            context.patch_status::<License>(&key, &patch).await.map(|license| license.object_ref(&()))
        }
    };
    drop(telling);
    outcome(answer.map(|about| tell(context, about, news)))
}

/// An Event of each reason once in a while.
fn tell(context: &Context, about: ObjectReference, news: Option<EventText>) {
    let Some(EventText { tone, reason, note }) = news else { return };
    if context.events.is_new(about.uid.as_deref().unwrap_or(""), &reason) {
        context.events.tell_about(about, tone, &reason, &note);
    }
}

fn outcome(answer: Answer<()>) -> Outcome {
    match answer {
        Answer::Denied(refused) if !refused.is_by_test() => Outcome::Refused(refused.message),
        Answer::Unknown(unknown) => unknown.into(),
        // it has moved on
        Answer::Done(()) | Answer::Denied(_) | Answer::Missing | Answer::Exists => Outcome::Done,
    }
}

//! A claim's next write into the patch that makes it: what it tests first, and what it changes.
//!
//! Every patch of the first phase tests uid and generation, every decision tests what it turns: a write that comes too late
//! changes nothing.

use claiming::Reason;
use crds::ad::MESSAGE_LENGTH_MAX;
use crds::{ClaimEntry, Decision, Job, Match, MemberVote, OfferStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pool::{Cached, Objects, OfferRef};
use serde_json::{Value, json};

use crate::claims::registers::{Introduced, initial_entry};
use crate::claims::view::{Leg, View};
use crate::status::{self, decision_conditions};
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;

/// Reserves the job for this Match. Only once: if it comes late, after the claim was committed or freed, it must not say that
/// the job is being reserved. (`null` is what is not there.) And only if the job was not written since: it must not date
/// back what was written.
pub(crate) fn reserve_root(view: &View, found: &Match, held: &Cached<Job>, now: Timestamp) -> ObjectPatch {
    let from = held.object.status.clone().unwrap_or_default();
    let to = status::job_reserving(held, found, &view.uid, now);
    let version = held.object.metadata.resource_version.clone().unwrap_or_default();
    let guarded = Ops::default()
        .test(&["metadata", "uid"], view.root.uid.as_str())
        .test(&["metadata", "resourceVersion"], version)
        .test(&["metadata", "generation"], view.root.generation)
        .test(&["status", "claim"], Value::Null);
    ObjectPatch::Json(guarded.status(&from, &to).build())
}

/// Notifies the job that its claim is committed. If the claim was taken out of its status, it is put back: the server refuses
/// that while another claim is there.
pub(crate) fn notify_job(view: &View, found: &Match, held: &Cached<Job>, now: Timestamp) -> ObjectPatch {
    let from = held.object.status.clone().unwrap_or_default();
    let to = status::job_claimed(held, found, &view.uid, now);
    let guarded = match from.claim {
        Some(_) => holds(view),
        None => Ops::default().test(&["metadata", "uid"], view.root.uid.as_str()),
    };
    ObjectPatch::Json(knows(guarded, &held.object).status(&from, &to).build())
}

/// Frees the job, and says why.
pub(crate) fn free_root(view: &View, job: &Job, ended: &status::Ended, now: Timestamp) -> ObjectPatch {
    let from = job.status.clone().unwrap_or_default();
    let to = status::job_freed(job, ended, now);
    ObjectPatch::Json(knows(holds(view), job).status(&from, &to).build())
}

/// Only if the job's conditions are as they were read: a write that comes late, or from an old cache, must not date anew what was
/// written since. A job that has no conditions must not have changed at all.
fn knows(guarded: Ops, job: &Job) -> Ops {
    match job.status.as_ref().filter(|status| !status.conditions.is_empty()) {
        Some(from) => guarded.test(&["status", "conditions"], json!(from.conditions)),
        None => {
            guarded.test(&["metadata", "resourceVersion"], job.metadata.resource_version.clone().unwrap_or_default())
        }
    }
}

fn holds(view: &View) -> Ops {
    Ops::default().test(&["status", "claim", "uid"], view.uid.as_str())
}

/// Enters claims into an offer's ledger, each only once, all or none of them: one write for as many as want the offer at the
/// same time. They are about the same offer in the same generation. The epoch fences it: a leader that was replaced without
/// knowing it is refused, once its successor has written here.
pub(crate) fn reserve(
    claims: Vec<(&View, &Leg, Introduced)>,
    offer: OfferRef<'_>,
    objects: &Objects,
    epoch: Option<i64>,
    now: Timestamp,
) -> ObjectPatch {
    let mut guarded = Ops::default();
    if let Some((_, leg, _)) = claims.first() {
        guarded =
            guarded.test(&["metadata", "uid"], leg.uid.as_str()).test(&["metadata", "generation"], leg.generation);
    }
    for (view, ..) in &claims {
        guarded = guarded.test(&["status", "claims", &view.uid], Value::Null);
    }
    let entries = claims.into_iter().map(|(view, leg, introduced)| (view, leg, initial_entry(view, leg, introduced)));
    enter(guarded, entries.collect(), offer, objects, epoch, now)
}

/// Enters committed claims into a ledger that has lost them: exactly the state that was seen without them. What the offer says
/// by now does not matter any more.
pub(crate) fn restore(
    claims: Vec<(&View, &Leg)>,
    offer: OfferRef<'_>,
    objects: &Objects,
    epoch: Option<i64>,
    now: Timestamp,
) -> ObjectPatch {
    let version = offer.metadata.resource_version.clone().unwrap_or_default();
    let uid = claims.first().map(|(_, leg)| leg.uid.clone()).unwrap_or_default();
    let guarded = Ops::default().test(&["metadata", "uid"], uid).test(&["metadata", "resourceVersion"], version);
    let entries = claims.into_iter().map(|(view, leg)| (view, leg, initial_entry(view, leg, Introduced::default())));
    enter(guarded, entries.collect(), offer, objects, epoch, now)
}

fn enter(
    guarded: Ops,
    entries: Vec<(&View, &Leg, ClaimEntry)>,
    offer: OfferRef<'_>,
    objects: &Objects,
    epoch: Option<i64>,
    now: Timestamp,
) -> ObjectPatch {
    let from = offer.status.cloned().unwrap_or_default();
    let mut ops = guarded;
    let mut after = from.clone();
    for (view, leg, entry) in entries {
        if let Some(key) = leg.share.as_ref().filter(|key| !after.shared.contains_key(*key)) {
            ops = ops.add(&["status", "shared", key], json!(leg.allocation));
            after.shared.insert(key.clone(), leg.allocation.clone());
        }
        ops = ops.add(&["status", "claims", &view.uid], json!(entry));
        after.claims.insert(view.uid.clone(), entry);
    }
    if let Some(epoch) = epoch {
        ops = ops.add(&["status", "epoch"], epoch);
    }
    ObjectPatch::Json(derived(ops, offer, &from, after, objects, now).build())
}

/// Which shared seats go with the claims that leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seats {
    /// Those that no other claim shares, as far as is seen.
    OfThoseAlone,
    /// None.
    Stay,
}

/// Takes claims out of an offer's ledger, all that are seen there or none of them, and shared seats with them as `seats` says.
/// Only once: if it comes late, after it was done otherwise, it must not say what was true of the offer then. `None`: there
/// is nothing to take out.
pub(crate) fn free(
    views: &[&View],
    offer: OfferRef<'_>,
    seats: Seats,
    objects: &Objects,
    now: Timestamp,
) -> Option<ObjectPatch> {
    let from = offer.status.cloned().unwrap_or_default();
    let mut after = from.clone();
    let mut ops = Ops::default().test(&["metadata", "uid"], offer.uid());
    for view in views {
        let is_alone = seats == Seats::OfThoseAlone && sits_alone(view, &after);
        let Some(entry) = after.claims.remove(&view.uid) else { continue };
        ops = ops
            .test(&["status", "claims", &view.uid, "match"], entry.match_key)
            .remove(&["status", "claims", &view.uid]);
        if let Some(key) = entry.share.filter(|key| is_alone && after.shared.contains_key(key)) {
            ops = ops.remove(&["status", "shared", &key]);
            after.shared.remove(&key);
        }
    }
    (after.claims.len() < from.claims.len())
        .then(|| ObjectPatch::Json(derived(ops, offer, &from, after, objects, now).build()))
}

/// Whether no other claim shares a claim's seat, as far as is seen.
fn sits_alone(view: &View, status: &OfferStatus) -> bool {
    let Some(key) = status.claims.get(&view.uid).and_then(|entry| entry.share.as_ref()) else { return false };
    !status.claims.iter().any(|(uid, entry)| *uid != view.uid && entry.share.as_ref() == Some(key))
}

/// The fields of an offer's status that follow from its ledger, in the same write.
fn derived(
    mut ops: Ops,
    offer: OfferRef<'_>,
    from: &OfferStatus,
    after: OfferStatus,
    objects: &Objects,
    now: Timestamp,
) -> Ops {
    let to = status::offer_status(offer, after, objects, now);
    if to.used != from.used {
        ops = ops.add(&["status", "used"], json!(to.used));
    }
    if to.state != from.state {
        ops = ops.add(&["status", "state"], json!(to.state));
    }
    // Those of a new offer are written with its first status. This write may come late, and would date back what has changed meanwhile.
    if to.conditions != from.conditions && !from.conditions.is_empty() {
        ops = ops.test(&CONDITIONS, json!(from.conditions)).add(&CONDITIONS, json!(to.conditions));
    }
    ops
}

/// Where the conditions of an offer are.
const CONDITIONS: [&str; 2] = ["status", "conditions"];

/// The same change of a ledger without the conditions that follow from it, which the next status brings; none if it has none.
pub(crate) fn without_conditions(patch: &ObjectPatch) -> Option<ObjectPatch> {
    let ObjectPatch::Json(json_patch::Patch(all)) = patch else { return None };
    let conditions = json_patch::jsonptr::PointerBuf::from_tokens(CONDITIONS);
    let others: Vec<_> = all.iter().filter(|op| *op.path() != *conditions).cloned().collect();
    (others.len() < all.len()).then_some(ObjectPatch::Json(json_patch::Patch(others)))
}

/// A decision, and what is said of it.
#[derive(Clone, Debug)]
pub(crate) struct Decided<'v> {
    pub(crate) to: Decision,
    /// None for the commit.
    pub(crate) reason: Option<Reason>,
    pub(crate) message: &'v str,
    /// How the agents have voted, for people.
    pub(crate) votes: Vec<MemberVote>,
}

/// Turns the decision of a Match, if it says what it has to say before. Its message is cut to what the field takes: parts of it are of
/// others, and a message that is too long would keep the claim from its end.
pub(crate) fn decide(view: &View, found: &Match, outcome: Decided<'_>, now: Timestamp) -> ObjectPatch {
    let Decided { to, reason, message, votes } = outcome;
    let message = status::cut(message, MESSAGE_LENGTH_MAX);
    let from = decides_from(to);
    let mut status = found.status.clone().unwrap_or_default();
    decision_conditions(&mut status.conditions, to, reason, &message, now);
    let mut ops = Ops::default()
        .test(&["metadata", "uid"], view.uid.as_str())
        .test(&["status", "decision"], json!(from))
        .replace(&["status", "decision"], json!(to))
        .add(&["status", "conditions"], json!(status.conditions))
        .add(&["status", "reason"], reason.map_or("AllReserved", Reason::as_str));
    if !message.is_empty() {
        ops = ops.add(&["status", "message"], message);
    }
    if !votes.is_empty() {
        ops = ops.add(&["status", "members"], json!(votes));
    }
    match to {
        Decision::Committed => ops = ops.add(&["status", "committedAt"], json!(Time(now))),
        Decision::Released => ops = ops.add(&["status", "releasedAt"], json!(Time(now))),
        Decision::Pending | Decision::Aborted => {}
    }
    ObjectPatch::Json(ops.build())
}

/// What the decision has to be so that it can be turned to `to`.
pub(crate) fn decides_from(to: Decision) -> Decision {
    if to == Decision::Released { Decision::Committed } else { Decision::Pending }
}

//! The writes of nominations: N1, stored; N5, taken out. N2 and N3 are those of any claim that ends, and N4 is part of the write that reserves the job.

use std::sync::Arc;

use claiming::NominationEnd;
use crds::{Job, Member, Nomination, NominationKind, PreemptionReason};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::runtime::events::EventType;
use matchmaker::{AdId, Gang, MemberCharges, Snapshot};
use policy::Amount;
use pool::{Cached, ObjectKey, Objects, Provenance, record};
use serde_json::{Value, json};

use super::{FailedWrite, Nominations, id_of};
use crate::claims::Claims;
use crate::status::{Finding, job_nominated};
use crate::write::answer::Answer;
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;

/// A nomination that a cycle has decided on.
pub(super) struct NewNomination<'n> {
    pub(super) kind: NominationKind,
    pub(super) mode: Option<PreemptionReason>,
    pub(super) gang: &'n Gang,
    /// What its members cost, in micros.
    pub(super) charges: Option<&'n [Amount]>,
    /// The uids of their Matches.
    pub(super) victims: Vec<String>,
    /// The account of the job.
    pub(super) account: &'n str,
}

/// The account of a root.
pub(super) fn account_of(pool: &Snapshot, root: AdId) -> &str {
    pool.accounts.as_ref().and_then(|accounts| accounts.account_of.get(root)).map_or("", |account| account)
}

/// What the members of the gang of a root cost, if that is known.
pub(super) fn charges_of(all: &[(AdId, MemberCharges)], root: AdId) -> Option<&[Amount]> {
    all.iter().find(|(own, _)| *own == root).map(|(_, charges)| charges.as_slice())
}

impl Nominations {
    /// N1: begins to store what was decided. What the server answers is in the cache before any victim is released.
    pub(super) fn store(
        &mut self,
        new: NewNomination<'_>,
        told: &Finding,
        (pool, provenance): (&Snapshot, &Provenance),
        objects: &Objects,
        claims: &Arc<Claims>,
    ) {
        let NewNomination { kind, mode, gang, charges, victims, account } = new;
        let Some(found) = record(objects, pool, gang, &claims.engine, provenance, charges) else { return };
        let Some(root) = found.spec.members.first() else { return };
        let (key, uid) = (ObjectKey::new(&root.namespace, &root.name), root.uid.clone());
        let Some(held) = objects.jobs.get(&key) else { return };
        let Some(telling) = claims.in_flight.tell(&uid) else { return };
        let gang = found.spec.members.iter().map(|member| Member { values: Default::default(), ..member.clone() });
        // Times are stored in whole seconds.
        let time = jiff::Timestamp::from_second(provenance.time.as_second()).unwrap_or(provenance.time);
        let nomination = Nomination { kind, time: Time(time), mode, gang: gang.collect(), victims };
        self.judged.insert(id_of(&uid, &nomination), true);
        if !nomination.victims.is_empty() {
            self.budget.spend(account, nomination.victims.len(), claims.context.now_ms());
        }
        self.writing.lock().insert(uid.clone());
        let patch = stored(held, &nomination, told, claims);
        let (claims, writing, note) = (claims.clone(), self.writing.clone(), told.why.clone());
        let (failed, account) = (self.failed.clone(), account.to_owned());
        tokio::spawn(async move {
            let answer = claims.context.patch_status::<Job>(&key, &patch).await;
            drop(telling);
            let victims = match &answer {
                Answer::Done(_) => None,
                Answer::Unknown(_) => Some(0),
                Answer::Denied(_) | Answer::Missing | Answer::Exists => Some(nomination.victims.len()),
            };
            failed.lock().extend(victims.map(|victims| FailedWrite { uid: uid.clone(), account, victims }));
            writing.lock().remove(&uid);
            match answer {
                Answer::Done(job) => {
                    let victims = nomination.victims.len();
                    tracing::info!(job = %key, ?kind, ?mode, victims, "a gang is held for a job");
                    claims.context.events.tell(&job, EventType::Normal, "Nominated", &note);
                }
                // Decided again on what is read by then.
                _ => drop(claims.context.read::<Job>(&key).await),
            }
            claims.context.cache.notify();
        });
    }

    /// N5: begins to take out a nomination that is over.
    pub(super) fn drop_it(
        &mut self,
        held: &Cached<Job>,
        nomination: &Nomination,
        end: NominationEnd,
        claims: &Arc<Claims>,
    ) {
        let uid = held.object.uid().unwrap_or_default();
        if !self.writing.lock().insert(uid.clone()) {
            return;
        }
        self.first_seen.entry(id_of(&uid, nomination)).and_modify(|seen| seen.end = Some(end));
        let kind = nomination.kind;
        let (key, patch) = (ObjectKey::of(held.object.as_ref()), taken_out(&uid, nomination));
        let (claims, writing) = (claims.clone(), self.writing.clone());
        tokio::spawn(async move {
            match claims.context.patch_status::<Job>(&key, &patch).await {
                Answer::Done(_) => {
                    tracing::info!(job = %key, ?end, "its nomination has ended");
                    claims.context.metrics.accounts.nominations.ended(kind.as_str(), outcome(end));
                }
                _ => drop(claims.context.read::<Job>(&key).await),
            }
            writing.lock().remove(&uid);
            claims.context.cache.notify();
        });
    }

    /// Tells once what would be preempted for a job.
    pub(super) fn tell_dry(&mut self, uid: &str, told: &Finding, objects: &Objects, claims: &Claims) {
        let said = format!("{:?}", told.counts.preemption);
        let is_new = self.dry.insert(uid.to_owned(), said.clone()).is_none_or(|before| before != said);
        self.dry.retain(|uid, _| objects.jobs.by_uid(uid).is_some());
        if let Some((_, held)) = objects.jobs.by_uid(uid).filter(|_| is_new) {
            claims.context.metrics.accounts.nominations.ended(NominationKind::Preemption.as_str(), "DryRun");
            claims.context.events.tell(held.object.as_ref(), EventType::Normal, "WouldPreempt", &told.why);
        }
    }
}

/// Only while the job is as it was read, is not held, and has no nomination.
fn stored(held: &Cached<Job>, nomination: &Nomination, told: &Finding, claims: &Claims) -> ObjectPatch {
    let job = held.object.as_ref();
    let from = job.status.clone().unwrap_or_default();
    let to = job_nominated(held, nomination, told, claims.context.clock.now());
    let guarded = Ops::default()
        .test(&["metadata", "uid"], job.uid().unwrap_or_default())
        .test(&["metadata", "resourceVersion"], job.metadata.resource_version.clone().unwrap_or_default())
        .test(&["status", "claim"], Value::Null)
        .test(&["status", "nomination"], Value::Null);
    ObjectPatch::Json(guarded.status(&from, &to).build())
}

/// Only if it is the one that was meant.
fn taken_out(uid: &str, nomination: &Nomination) -> ObjectPatch {
    let guarded = Ops::default()
        .test(&["metadata", "uid"], uid)
        .test(&["status", "nomination", "time"], json!(nomination.time))
        .test(&["status", "nomination", "victims"], json!(nomination.victims));
    ObjectPatch::Json(guarded.remove(&["status", "nomination"]).build())
}

fn outcome(end: NominationEnd) -> &'static str {
    match end {
        NominationEnd::Elsewhere => "Elsewhere",
        NominationEnd::Withdrawn => "Withdrawn",
        NominationEnd::Expired => "Expired",
        NominationEnd::Changed => "Changed",
        NominationEnd::Taken => "Taken",
    }
}

//! Jobs that are withdrawn after gangs were stopped for them. Their accounts have nothing preempted for a while: else a tenant could stop the gangs
//! of others again and again, with another job each time, and use nothing of what they held.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crds::{AdKind, Nomination, OfferKind};
use jiff::Timestamp;
use pool::{AgentLiveness, Cached, JobState, ObjectKey, Objects, Prepared, job_state};

use super::PAUSES;
use super::pauses::REMEMBERED_MS;
use crate::cycle::backoff::Pause;

/// The rests of accounts, each longer than the one before.
#[derive(Debug, Default)]
pub(super) struct Withdrawals(BTreeMap<String, Rest>);

#[derive(Debug, Default)]
struct Rest {
    pause: Pause,
    /// Its end, as people are told of it.
    until: Timestamp,
}

impl Withdrawals {
    /// A job of an account was withdrawn.
    pub(super) fn add(&mut self, account: String, now: Timestamp, now_ms: u64) {
        let Rest { pause, until } = self.0.entry(account).or_default();
        let pause_ms = pause.begin(PAUSES.pause_ms(pause.times(), 0), now_ms);
        *until = now.checked_add(Duration::from_millis(pause_ms)).unwrap_or(now);
    }

    /// Forgets what was long ago.
    pub(super) fn forget(&mut self, now_ms: u64) {
        self.0.retain(|_, rest| now_ms < rest.pause.until_ms().saturating_add(REMEMBERED_MS));
    }

    /// Until when nothing is preempted for an account; none if something may be.
    pub(super) fn until(&self, account: &str, now_ms: u64) -> Option<Timestamp> {
        self.0.get(account).filter(|rest| rest.pause.lasts(now_ms)).map(|rest| rest.until)
    }

    /// Whether nothing is preempted for some account.
    pub(super) fn any(&self, now_ms: u64) -> bool {
        self.0.values().any(|rest| rest.pause.lasts(now_ms))
    }

    /// When rests end.
    pub(super) fn ends(&self) -> impl Iterator<Item = u64> {
        self.0.values().map(|rest| rest.pause.until_ms())
    }
}

/// What belongs to the namespace of a job in its nomination: its own ad, and offers. If a nomination comes to nothing since these have changed,
/// its tenant has withdrawn it; if offers of others have, the tenant has not.
#[derive(Debug)]
pub(super) struct OwnPart(Vec<(AdKind, ObjectKey, Option<Arc<Prepared>>)>);

impl OwnPart {
    /// As it is now.
    pub(super) fn of(nomination: &Nomination, objects: &Objects) -> OwnPart {
        let namespace = nomination.gang.first().map_or("", |root| root.namespace.as_str());
        let own = nomination.gang.iter().filter(|member| member.namespace == namespace);
        let part = own.filter_map(|member| {
            let (kind, key) =
                (AdKind::try_from(member.kind.as_str()).ok()?, ObjectKey::new(&member.namespace, &member.name));
            let ad = open_ad(kind, &key, objects);
            Some((kind, key, ad))
        });
        OwnPart(part.collect())
    }

    /// Whether it is not as it was, or cannot be had any more.
    pub(super) fn has_changed(&self, objects: &Objects) -> bool {
        self.0.iter().any(|(kind, key, before)| match (before, open_ad(*kind, key, objects)) {
            (Some(before), Some(now)) => !Arc::ptr_eq(before, &now),
            // An ad for which there is no room any more has made room for those of others.
            _ => !is_stripped(*kind, key, objects),
        })
    }
}

fn is_stripped(kind: AdKind, key: &ObjectKey, objects: &Objects) -> bool {
    match kind {
        AdKind::Job => objects.jobs.get(key).is_some_and(Cached::is_stripped),
        AdKind::Offer(OfferKind::Machine) => objects.machines.get(key).is_some_and(Cached::is_stripped),
        AdKind::Offer(OfferKind::License) => objects.licenses.get(key).is_some_and(Cached::is_stripped),
    }
}

/// The ad of a job that waits or is held, or of an offer whose agent is not lost. It is another one as soon as something of its object is edited.
fn open_ad(kind: AdKind, key: &ObjectKey, objects: &Objects) -> Option<Arc<Prepared>> {
    match kind {
        AdKind::Job => {
            let held = objects.jobs.get(key)?;
            let is_wanted = matches!(job_state(held, objects), JobState::Waits | JobState::Held);
            held.ad.as_ref().ok().filter(|_| is_wanted).map(Arc::clone)
        }
        AdKind::Offer(kind) => {
            let offer = objects.offer(kind, key)?;
            let is_lost = objects.agent(kind, key) == AgentLiveness::Expired;
            let is_going = offer.metadata.deletion_timestamp.is_some();
            offer.ad.as_ref().ok().filter(|_| !is_lost && !is_going).map(Arc::clone)
        }
    }
}

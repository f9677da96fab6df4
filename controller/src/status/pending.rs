//! The objects whose statuses may have to be written: looked at round robin over namespaces, and in each namespace those first that have
//! no status yet.

use std::collections::{BTreeMap, BTreeSet};

use crds::AdKind;
use jiff::Timestamp;
use pool::{Changes, MultiMap, ObjectKey, Objects};

use crate::cycle::timer_queue::TimerQueue;
use crate::status::Finding;
use crate::status::write::{Findings, StatusCheck, Update, hears_at, job_next, offer_next};
use crate::write::fair::FairSet;
use crate::write::lane::Room;

/// One object: its kind, and where it is. Example: the Job `ns/sim`.
pub(crate) type ObjectId = (AdKind, ObjectKey);

/// The queue of objects to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Jobs without a status are urgent.
    queue: FairSet<ObjectId>,
    timers: TimerQueue<ObjectId>,
    /// Jobs by the uid of the Match that holds them, and the same the other way round.
    held_by: MultiMap<String, ObjectKey>,
    holder: BTreeMap<ObjectKey, String>,
}

impl Pending {
    /// Takes in what has changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects) {
        if changes.namespaces {
            objects.offers().for_each(|offer| self.push((offer.kind.into(), offer.key()), objects));
        }
        for key in &changes.jobs {
            self.note_holder(key, objects);
            self.push((AdKind::Job, key.clone()), objects);
        }
        changes.offers().for_each(|(kind, key)| self.push((kind.into(), key.clone()), objects));
        changes.roots.iter().for_each(|uid| self.touch_job(uid, objects));
        let worked = changes.worked.iter().flat_map(|uid| self.held_by.get(uid));
        for key in worked.cloned().collect::<Vec<_>>() {
            self.push((AdKind::Job, key), objects);
        }
    }

    fn note_holder(&mut self, key: &ObjectKey, objects: &Objects) {
        if let Some(before) = self.holder.remove(key) {
            self.held_by.remove(&before, key);
        }
        if let Some(claim) = objects.jobs.get(key).and_then(|held| held.object.claim()) {
            self.holder.insert(key.clone(), claim.uid.clone());
            self.held_by.insert(claim.uid.clone(), key.clone());
        }
    }

    /// The job with this uid is to be looked at.
    pub(crate) fn touch_job(&mut self, uid: &str, objects: &Objects) {
        if let Some((key, _)) = objects.jobs.by_uid(uid) {
            self.push((AdKind::Job, key.clone()), objects);
        }
    }

    /// The last cycle says something else of the job with this uid than the one before.
    pub(crate) fn found(&mut self, uid: &str, finding: &Finding, objects: &Objects, now: (Timestamp, u64)) {
        let Some((key, held)) = objects.jobs.by_uid(uid) else { return };
        match hears_at(&held.object, finding, now.0) {
            Some(at) if at > now.0.as_second() => self.timers.set_by((AdKind::Job, key.clone()), clock(at, now)),
            Some(_) => self.push((AdKind::Job, key.clone()), objects),
            None => {}
        }
    }

    /// These could not be written: they are looked at again after all others.
    pub(crate) fn again(&mut self, ids: Vec<ObjectId>) {
        ids.into_iter().for_each(|id| self.queue.push(&id.1.namespace.clone(), id));
    }

    fn push(&mut self, id: ObjectId, objects: &Objects) {
        if self.queue.contains(&id) {
            return;
        }
        let held = objects.jobs.get(&id.1).filter(|_| id.0 == AdKind::Job);
        let never_reported =
            held.is_some_and(|held| held.object.status.as_ref().is_none_or(|status| status.conditions.is_empty()));
        let namespace = id.1.namespace.clone();
        if never_reported { self.queue.push_urgent(&namespace, id) } else { self.queue.push(&namespace, id) }
    }

    /// The next updates that are due, as many as there is room for.
    pub(crate) fn due(
        &mut self,
        objects: &Objects,
        findings: &Findings<'_>,
        under_way: &BTreeSet<String>,
        now: (Timestamp, u64),
        room: &mut Room<'_, ObjectId>,
    ) -> Vec<Update> {
        for id in self.timers.expired(now.1) {
            self.push(id, objects);
        }
        let (mut all, mut held) = (Vec::new(), Vec::new());
        while !room.is_none()
            && let Some(id) = self.queue.pop(|namespace| room.has(namespace))
        {
            if room.is_held(&id) {
                held.push(id);
                continue;
            }
            self.timers.remove(&id);
            let StatusCheck { update, at } = next(&id, objects, findings, under_way, now.0);
            if let Some(update) = update {
                room.take(&id.1.namespace);
                all.push(update);
            }
            if let Some(at) = at {
                self.timers.set(id, clock(at, now));
            }
        }
        self.again(held);
        all
    }

    /// Whether no object is to be looked at now.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When an object is to be looked at if nothing changes.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.timers.next_ms()
    }
}

fn next(
    (kind, key): &ObjectId,
    objects: &Objects,
    findings: &Findings<'_>,
    under_way: &BTreeSet<String>,
    now: Timestamp,
) -> StatusCheck {
    match *kind {
        AdKind::Job => {
            let held = objects.jobs.get(key);
            held.map(|held| job_next(held, objects, findings, under_way, now)).unwrap_or_default()
        }
        AdKind::Offer(kind) => {
            let update = objects.offer(kind, key).and_then(|offer| offer_next(offer, objects, now));
            StatusCheck { update, at: None }
        }
    }
}

/// A second of the wall clock on the monotonic one: when it has begun for certain.
fn clock(at: i64, (now, now_ms): (Timestamp, u64)) -> u64 {
    let left_ms = at.saturating_mul(1000).saturating_sub(now.as_millisecond());
    now_ms.saturating_add(u64::try_from(left_ms).unwrap_or(0)).saturating_add(1)
}

/// All updates that are due.
#[cfg(test)]
pub(crate) fn updates(
    objects: &Objects,
    findings: &Findings<'_>,
    under_way: &BTreeSet<String>,
    now: Timestamp,
) -> Vec<Update> {
    let mut pending = Pending::default();
    pending.note(&objects.everything(), objects);
    pending.due(objects, findings, under_way, (now, 0), &mut Room::of(usize::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use jiff::Timestamp;
    use matchmaker::Config;
    use pool::{CycleInputs, SnapshotBuilder, snapshot};

    use crds::AdKind;

    use super::{Finding, Findings, Pending, Update, updates};
    use crate::testing::churn::Churn;
    use crate::write::lane::Room;

    const BEGIN: i64 = 1_795_269_600;

    fn keys(updates: &[Update]) -> BTreeSet<(AdKind, String)> {
        updates.iter().map(|update| (update.kind, update.key.to_string())).collect()
    }

    fn finding(churn: &mut Churn) -> Finding {
        let reason = ["NoCandidates", "WaitingForCapacity"][usize::try_from(churn.one_of(2)).unwrap()];
        Finding { reason, why: format!("{}", churn.one_of(3)), counts: crds::Unmatched::default() }
    }

    #[test]
    fn what_has_changed_is_enough() {
        let (mut written, mut silent) = (0, 0);
        for seed in 0..16 {
            let (mut churn, mut pending) = (Churn::new(seed), Pending::default());
            let mut all: BTreeMap<String, Arc<Finding>> = BTreeMap::new();
            let mut refused = Vec::new();
            for step in 0..120_u64 {
                let now_ms = step * 100;
                let now = Timestamp::from_millisecond(BEGIN * 1000 + i64::try_from(now_ms).unwrap()).unwrap();
                churn.turn();
                let changes = churn.objects.take_changes();
                pending.note(&changes, &churn.objects);
                if churn.one_of(3) == 0 {
                    let (uid, found) = (format!("u-j{}", churn.one_of(3)), finding(&mut churn));
                    pending.found(&uid, &found, &churn.objects, (now, now_ms));
                    all.insert(uid, Arc::new(found));
                }
                pending.again(std::mem::take(&mut refused));
                let findings = Findings { all: &all, searching: false };
                let under_way = BTreeSet::new();
                let some = pending.due(&churn.objects, &findings, &under_way, (now, now_ms), &mut Room::of(usize::MAX));
                let whole = updates(&churn.objects, &findings, &under_way, now);
                assert_eq!(keys(&some), keys(&whole), "seed {seed}, step {step}");
                silent += usize::from(some.is_empty());
                // The server takes none of them: each is due until it is.
                written += some.len();
                refused.extend(some.into_iter().map(|update| (update.kind, update.key)));
            }
        }
        assert!(written > 400, "much has happened: {written} {silent}");
    }

    #[test]
    fn a_snapshot_is_the_same_whatever_was_built_before() {
        let mut kept = 0;
        for seed in 0..10 {
            let (mut churn, mut builder) = (Churn::new(seed), SnapshotBuilder::default());
            let mut before = snapshot(&churn.objects, &CycleInputs::default());
            let settings = Config::product();
            for step in 0..60 {
                churn.turn();
                let now = builder.build(&churn.objects, &CycleInputs::default());
                let fresh = snapshot(&churn.objects, &CycleInputs::default());
                assert_eq!(format!("{now:?}"), format!("{fresh:?}"), "seed {seed}, step {step}");
                assert_eq!(
                    format!("{:?}", gangindex::negotiate(&now, &settings, BEGIN)),
                    format!("{:?}", gangindex::negotiate(&fresh, &settings, BEGIN))
                );
                for (place, ad) in now.ads() {
                    let known = before.find(&ad.key).and_then(|place| before.shared(place));
                    kept +=
                        usize::from(known.zip(now.shared(place)).is_some_and(|(one, other)| Arc::ptr_eq(one, other)));
                }
                before = now;
            }
        }
        assert!(kept > 1000, "ads that have not changed are the very same: {kept}");
    }
}

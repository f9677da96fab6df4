//! Whose status may have to be written: looked at round robin over namespaces, in each of them those first that were told nothing yet.

use std::collections::{BTreeMap, BTreeSet};

use crds::AdKind;
use jiff::Timestamp;
use pool::{Changes, ObjectKey, Objects};

use crate::alarm::Alarm;
use crate::fair::FairQueue;
use crate::lane::Room;
use crate::status::Finding;
use crate::status::write::{Findings, Next, Update, hears_at, job_next, offer_next};

/// One object: its kind, and where it is.
pub(crate) type Whose = (AdKind, ObjectKey);

/// Those who are to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Jobs that were told nothing yet are urgent.
    queue: FairQueue<Whose>,
    /// All that are in it.
    known: BTreeSet<Whose>,
    alarm: Alarm<Whose>,
    /// Jobs by the uid of the Match that holds them, and the same the other way round.
    held_by: BTreeMap<String, BTreeSet<ObjectKey>>,
    holder: BTreeMap<ObjectKey, String>,
}

impl Pending {
    /// Takes in what has changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects) {
        if changes.namespaces {
            objects.offers().for_each(|offer| self.push((offer.kind().into(), offer.key()), objects));
        }
        for key in &changes.jobs {
            self.note_holder(key, objects);
            self.push((AdKind::Job, key.clone()), objects);
        }
        changes.offers().for_each(|(kind, key)| self.push((kind.into(), key.clone()), objects));
        changes.roots.iter().for_each(|uid| self.touch_job(uid, objects));
        let worked = changes.worked.iter().filter_map(|uid| self.held_by.get(uid)).flatten();
        for key in worked.cloned().collect::<Vec<_>>() {
            self.push((AdKind::Job, key), objects);
        }
    }

    fn note_holder(&mut self, key: &ObjectKey, objects: &Objects) {
        if let Some(before) = self.holder.remove(key)
            && let Some(keys) = self.held_by.get_mut(&before)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.held_by.remove(&before);
            }
        }
        let job = objects.jobs.get(key).and_then(|held| held.object.status.as_ref());
        if let Some(claim) = job.and_then(|status| status.claim.as_ref()) {
            self.holder.insert(key.clone(), claim.uid.clone());
            self.held_by.entry(claim.uid.clone()).or_default().insert(key.clone());
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
            Some(at) if at > now.0.as_second() => self.alarm.set_by((AdKind::Job, key.clone()), clock(at, now)),
            Some(_) => self.push((AdKind::Job, key.clone()), objects),
            None => {}
        }
    }

    /// These could not be written: they are looked at again after all others.
    pub(crate) fn again(&mut self, whose: Vec<Whose>) {
        for one in whose {
            if self.known.insert(one.clone()) {
                self.queue.push(&one.1.namespace.clone(), one);
            }
        }
    }

    fn push(&mut self, whose: Whose, objects: &Objects) {
        if !self.known.insert(whose.clone()) {
            return;
        }
        let held = objects.jobs.get(&whose.1).filter(|_| whose.0 == AdKind::Job);
        let untold =
            held.is_some_and(|held| held.object.status.as_ref().is_none_or(|status| status.conditions.is_empty()));
        let namespace = whose.1.namespace.clone();
        if untold { self.queue.push_urgent(&namespace, whose) } else { self.queue.push(&namespace, whose) }
    }

    /// The next updates that are due, as many as there is room for.
    pub(crate) fn due(
        &mut self,
        objects: &Objects,
        findings: &Findings<'_>,
        under_way: &BTreeSet<String>,
        now: (Timestamp, u64),
        room: &mut Room<'_, Whose>,
    ) -> Vec<Update> {
        for whose in self.alarm.rung(now.1) {
            self.push(whose, objects);
        }
        let (mut all, mut held) = (Vec::new(), Vec::new());
        while !room.is_none()
            && let Some(whose) = self.queue.pop(|namespace| room.has(namespace))
        {
            self.known.remove(&whose);
            if room.is_held(&whose) {
                held.push(whose);
                continue;
            }
            self.alarm.forget(&whose);
            let Next { update, at } = next(&whose, objects, findings, under_way, now.0);
            if let Some(update) = update {
                room.take(&whose.1.namespace);
                all.push(update);
            }
            if let Some(at) = at {
                self.alarm.set(whose, clock(at, now));
            }
        }
        self.again(held);
        all
    }

    /// Whether somebody is to be looked at now.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// When somebody is to be looked at if nothing changes.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.alarm.next_ms()
    }
}

fn next(
    (kind, key): &Whose,
    objects: &Objects,
    findings: &Findings<'_>,
    under_way: &BTreeSet<String>,
    now: Timestamp,
) -> Next {
    match *kind {
        AdKind::Job => {
            let held = objects.jobs.get(key);
            held.map(|held| job_next(held, objects, findings, under_way, now)).unwrap_or_default()
        }
        AdKind::Offer(kind) => {
            let update = objects.offer(kind, key).and_then(|offer| offer_next(offer, objects, now));
            Next { update, at: None }
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

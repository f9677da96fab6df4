//! What people do, and what goes wrong with processes, into changes of the world.

use std::collections::BTreeMap;

use crate::objects::{Body, Job, ObjectName, Offer};
use crate::plan::Happening;
use crate::server::ModelRequest;
use crate::world::{ModelCluster, Who, WorldEvent};

impl ModelCluster {
    pub(super) fn inject(&mut self, happening: Happening) {
        self.log(format!("{happening:?}"));
        match happening {
            Happening::Crash(number) => self.crash(number),
            Happening::Pause(number, ms) => {
                let until = self.now_ms + ms;
                if let Some(process) = self.coordinators.get_mut(usize::from(number)) {
                    process.paused_until_ms = until;
                }
            }
            Happening::AgentDies(number, ms) => {
                let until = self.now_ms + ms;
                if let Some(Some(process)) = self.agents.get_mut(usize::from(number)) {
                    process.agent.crash(until);
                }
            }
            Happening::Suspend(job) => self.edits(ObjectName::Job(job), |body| {
                if let Body::Job(job) = body {
                    job.suspend = true
                }
            }),
            Happening::Resume(job) => self.edits(ObjectName::Job(job), |body| {
                if let Body::Job(job) = body {
                    job.suspend = false
                }
            }),
            Happening::Done(job) => self.edits(ObjectName::Job(job), |body| {
                if let Body::Job(job) = body {
                    job.done = true
                }
            }),
            Happening::Evict(offer) => self.edits_offer(offer, |offer| (offer.open, offer.evict) = (false, true)),
            Happening::Drain(offer) => self.edits_offer(offer, |offer| offer.open = false),
            Happening::Open(offer) => self.edits_offer(offer, |offer| (offer.open, offer.evict) = (true, false)),
            Happening::Capacity(offer, capacity) => self.edits_offer(offer, |offer| offer.capacity = capacity),
            Happening::DeleteJob(job) => self.deletes(ObjectName::Job(job)),
            Happening::DeleteOffer(offer) => self.deletes(ObjectName::Offer(offer)),
            Happening::DeleteMatch(job) => self.deletes_of(job, |key| matches!(key, ObjectName::Match(..))),
            Happening::DeleteBatch(job) => self.deletes_of(job, |key| matches!(key, ObjectName::Batch(..))),
            Happening::MakeJob(name) => {
                let workload = self.plan.jobs.get(usize::from(name)).copied().unwrap_or(false);
                self.makes(ObjectName::Job(name), Body::Job(Job { workload, ..Job::default() }));
            }
            Happening::MakeOffer(name) => {
                let (agent, capacity) = self.plan.offers.get(usize::from(name)).copied().unwrap_or((false, 1));
                self.makes(ObjectName::Offer(name), offer(agent, capacity));
            }
        }
    }

    /// It begins again, with what is there, or first with what was there long ago.
    pub(super) fn crash(&mut self, number: u8) {
        let place = usize::from(number);
        let Some(old) = self.coordinators.get_mut(place) else { return };
        let is_stale = self.chance.permille(500);
        let seen = if is_stale { std::mem::take(&mut old.coordinator.seen) } else { self.server.objects.clone() };
        let fresh = self.coordinator(number, seen);
        let wait = self.chance.between(50, 2_000);
        if let Some(process) = self.coordinators.get_mut(place) {
            process.coordinator = fresh;
            process.life += 1;
            process.paused_until_ms = self.now_ms + wait;
        }
        if is_stale {
            let wait = wait + self.chance.between(50, 3_000);
            let life = self.life(Who::Coordinator(number));
            self.later(wait, WorldEvent::Relisted { by: number, life });
        }
    }

    /// Its cache has caught up.
    pub(super) fn relisted(&mut self, number: u8) {
        if let Some(wait) = self.paused(Who::Coordinator(number)) {
            let life = self.life(Who::Coordinator(number));
            return self.later(wait, WorldEvent::Relisted { by: number, life });
        }
        let (now_ms, all, version) = (self.now_ms, self.server.objects.clone(), self.server.version);
        let Some(process) = self.coordinators.get_mut(usize::from(number)) else { return };
        let coordinator = &mut process.coordinator;
        let gone: Vec<ObjectName> = coordinator.seen.keys().filter(|key| !all.contains_key(key)).copied().collect();
        gone.into_iter().for_each(|key| coordinator.forget(key, version));
        all.values().for_each(|stored| coordinator.learn(stored, now_ms));
        self.wake(number, 50);
    }

    pub(super) fn makes(&mut self, key: ObjectName, body: Body) {
        let (_, change) = self.server.ask(&ModelRequest::Create(key, body));
        change.into_iter().for_each(|change| self.changed(change));
    }

    fn edits(&mut self, key: ObjectName, edit: impl FnOnce(&mut Body)) {
        let change = self.server.edit(key, edit);
        change.into_iter().for_each(|change| self.changed(change));
    }

    fn edits_offer(&mut self, name: u8, edit: impl FnOnce(&mut Offer)) {
        self.edits(ObjectName::Offer(name), |body| {
            if let Body::Offer(offer) = body {
                edit(offer)
            }
        });
    }

    fn deletes(&mut self, key: ObjectName) {
        let Some(stored) = self.server.objects.get(&key).cloned() else { return };
        let (_, change) = self.server.ask(&ModelRequest::Delete(key, stored.uid));
        change.into_iter().for_each(|change| self.changed(change));
        if let ObjectName::Job(_) = key {
            // the garbage collector takes its Matches
            let owned = |other: &&ObjectName| matches!(other, ObjectName::Match(root, _) if *root == stored.uid);
            let matches: Vec<ObjectName> = self.server.objects.keys().filter(owned).copied().collect();
            matches.into_iter().for_each(|key| self.deletes(key));
        }
    }

    /// The newest object of this job's that is meant.
    fn deletes_of(&mut self, job: u8, is_meant: impl Fn(&ObjectName) -> bool) {
        let Some(root) = self.server.objects.get(&ObjectName::Job(job)).map(|stored| stored.uid) else { return };
        let own =
            |key: &&ObjectName| matches!(key, ObjectName::Match(uid, _) | ObjectName::Batch(uid, _) if *uid == root);
        let newest = self.server.objects.keys().filter(own).rfind(|key| is_meant(key)).copied();
        newest.into_iter().for_each(|key| self.deletes(key));
    }
}

pub(super) fn offer(agent: bool, capacity: i64) -> Body {
    let (claims, shared) = (BTreeMap::new(), BTreeMap::new());
    Body::Offer(Offer { open: true, evict: false, capacity, agent, epoch: 0, claims, shared })
}

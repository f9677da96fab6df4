//! The set of claims whose objects have changed: only these are looked at again. All others are as they were when they were looked at.

use std::collections::BTreeSet;

use claiming::Decision;
use crds::{OfferKind, WorkKind};
use kube::ResourceExt;
use pool::{Changes, MultiMap, ObjectKey, Objects};

use crate::claims::due::{DueSteps, Known, NextStep, next, outlived, outlived_work};
use crate::claims::observation::Moment;
use crate::claims::view::{Leg, View, view};
use crate::cycle::timer_queue::TimerQueue;
use crate::write::fair::FairSet;

/// An object that a claim depends on, or depended on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dependency {
    Job(ObjectKey),
    Offer(OfferKind, ObjectKey),
    Match(ObjectKey),
    Work(WorkKind, ObjectKey),
}

/// The claims that have to be looked at.
#[derive(Debug, Default)]
pub(crate) struct DirtyClaims {
    /// By the uids of their Matches.
    dirty: BTreeSet<String>,
    /// Jobs whose ended Matches may have become too many.
    histories: BTreeSet<ObjectKey>,
    /// The claims that depend on each object, and the same the other way round.
    dependents: MultiMap<Dependency, String>,
    dependencies: MultiMap<String, Dependency>,
    /// Claims to which something happens by time alone, in milliseconds.
    timers: TimerQueue<String>,
    /// Claims that are decided, have a next step, and wait for a place.
    waiting: FairSet<String>,
    /// Matches that are undecided.
    undecided: BTreeSet<String>,
    /// All of them have to be looked at.
    all: bool,
}

impl DirtyClaims {
    /// Takes in what has changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects) {
        if changes.namespaces {
            self.dirty.extend(self.dependencies.keys().cloned());
            self.all = true;
        }
        for key in &changes.matches {
            let found = objects.matches.get(key);
            self.touch(&Dependency::Match(key.clone()), found.and_then(|found| found.uid()));
        }
        for key in &changes.jobs {
            let claim = objects.jobs.get(key).and_then(|held| held.object.claim());
            self.touch(&Dependency::Job(key.clone()), claim.map(|claim| claim.uid.clone()));
            self.histories.insert(key.clone());
        }
        for (kind, key) in changes.offers() {
            let ledger = objects.offer(kind, key).and_then(|offer| offer.status).map(|status| &status.claims);
            self.touch(
                &Dependency::Offer(kind, key.clone()),
                ledger.into_iter().flat_map(|ledger| ledger.keys().cloned()),
            );
        }
        changes.workloads.iter().for_each(|(kind, key)| self.touch(&Dependency::Work(*kind, key.clone()), None));
        self.dirty.extend(changes.worked.iter().cloned());
    }

    /// There may be a reason to end these claims, by the uids of their Matches.
    pub(crate) fn may_exit(&mut self, uids: Vec<String>) {
        self.dirty.extend(uids);
    }

    /// A claim is not under way any more: it is to be looked at again.
    pub(crate) fn landed(&mut self, key: &ObjectKey, uid: &str, objects: &Objects) {
        let found = objects.matches.get(key).and_then(|found| found.uid());
        self.touch(
            &Dependency::Match(key.clone()),
            found.into_iter().chain(Some(uid.to_owned()).filter(|uid| !uid.is_empty())),
        );
    }

    /// The claims that depend on this, and those that it names, are to be looked at.
    fn touch(&mut self, object: &Dependency, names: impl IntoIterator<Item = String>) {
        self.dirty.extend(self.dependents.get(object).cloned());
        for uid in names {
            self.depend(object.clone(), &uid);
            self.dirty.insert(uid);
        }
    }

    fn depend(&mut self, on: Dependency, uid: &str) {
        self.dependents.insert(on.clone(), uid.to_owned());
        self.dependencies.insert(uid.to_owned(), on);
    }

    fn forget_dependencies(&mut self, uid: &str) -> BTreeSet<Dependency> {
        let all = self.dependencies.remove_all(uid);
        all.iter().for_each(|object| self.dependents.remove(object, uid));
        all
    }

    /// What is to be done about those that have to be looked at.
    pub(crate) fn due(&mut self, objects: &Objects, moment: &Moment<'_>) -> DueSteps {
        let mut due = DueSteps::default();
        let all = std::mem::take(&mut self.all);
        self.dirty.extend(self.timers.expired(moment.now_ms));
        for uid in std::mem::take(&mut self.dirty) {
            if let Some(view) = self.due_view(&uid, objects, moment, &mut due) {
                // The end of a claim may take long: it waits in a queue of its own.
                match view.decision() {
                    Decision::Absent | Decision::Pending => due.claims.push(view),
                    _ => self.waiting.push(&view.key.namespace, uid),
                }
            }
        }
        let mut places = moment.places;
        while places > 0
            && let Some(uid) = self.waiting.pop(|_| true)
        {
            let view = self.due_view(&uid, objects, moment, &mut due);
            places = places.saturating_sub(view.iter().len());
            due.claims.extend(view);
        }
        for held in std::mem::take(&mut self.histories).iter().filter_map(|key| objects.jobs.get(key)) {
            due.outlived.extend(outlived(&held.object, objects));
        }
        let claims = || self.dependencies.keys().cloned().collect();
        due.known = all.then(|| Known { undecided: self.undecided.clone(), claims: claims() });
        due
    }

    /// When one of them has to be looked at, if nothing changes.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.timers.next_ms()
    }

    /// Reads one claim from the objects, and records what it depends on from now on. Returns it if it is to be driven now.
    fn due_view(&mut self, uid: &str, objects: &Objects, moment: &Moment<'_>, due: &mut DueSteps) -> Option<View> {
        let seen = self.view(uid, objects);
        if seen.as_ref().is_some_and(|view| (moment.under_way)(view)) {
            return None;
        }
        let before = self.forget_dependencies(uid);
        self.histories.extend(before.iter().filter_map(Dependency::job).cloned());
        self.timers.remove(uid);
        self.undecided.remove(uid);
        let Some(view) = seen else {
            due.outlived_work.extend(outlived_work(uid, objects));
            return None;
        };
        self.histories.insert(view.root.key.clone());
        // An offer may name a claim that is none of its own.
        let still = before.into_iter().filter(|object| object.names(uid, objects));
        still.chain(dependencies(&view, objects)).for_each(|object| self.depend(object, uid));
        let NextStep { undecided, asks, at_ms, seen } = next(&view, objects, moment);
        if undecided {
            self.undecided.insert(uid.to_owned());
        }
        let rests_until = if asks { (moment.rests_until)(&view, seen) } else { None };
        if asks && rests_until.is_none() {
            return Some(view);
        }
        if let Some(at_ms) = at_ms.into_iter().chain(rests_until).min() {
            self.timers.set(uid.to_owned(), at_ms);
        }
        None
    }

    /// The claim with this uid, if anything of it is there. What names it was noted when it began to.
    fn view(&self, uid: &str, objects: &Objects) -> Option<View> {
        let named = || self.dependencies.get(uid).any(|object| object.names(uid, objects));
        let worked = || objects.workloads.labelled_with(uid).any(|batch| batch.ended.is_none());
        if objects.matches.by_uid(uid).is_some() || named() || worked() { view(uid, objects) } else { None }
    }
}

impl Dependency {
    fn job(&self) -> Option<&ObjectKey> {
        if let Dependency::Job(key) = self { Some(key) } else { None }
    }

    /// Whether the object says of itself that this claim holds it.
    fn names(&self, uid: &str, objects: &Objects) -> bool {
        match self {
            Dependency::Job(key) => {
                let claim = objects.jobs.get(key).and_then(|held| held.object.claim());
                claim.is_some_and(|claim| claim.uid == uid)
            }
            Dependency::Offer(kind, key) => objects.offer(*kind, key).is_some_and(|offer| offer.entry(uid).is_some()),
            Dependency::Match(_) | Dependency::Work(..) => false,
        }
    }
}

/// What a claim depends on: its Match, its members, and the names under which its work may be.
fn dependencies(view: &View, objects: &Objects) -> Vec<Dependency> {
    let job = objects.jobs.get(&view.root.key);
    let reference = job.and_then(|held| held.object.spec.workload.as_ref()?.workload_ref.as_ref());
    let work = |kind: WorkKind, name: &str| Dependency::Work(kind, ObjectKey::new(&view.key.namespace, name));
    let offer = |leg: &Leg| Dependency::Offer(leg.kind, leg.key.clone());
    let own = [
        Dependency::Match(view.key.clone()),
        Dependency::Job(view.root.key.clone()),
        work(WorkKind::Job, &view.key.name),
    ];
    let named = reference.map(|reference| work(reference.kind, &reference.name));
    own.into_iter().chain(named).chain(view.legs.iter().map(offer)).collect()
}

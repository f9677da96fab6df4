//! What has changed into the claims that have to be looked at again. All others are as they were when they were looked at.

use std::collections::{BTreeMap, BTreeSet};

use claiming::Record;
use crds::{License, Machine, WorkKind};
use kube::ResourceExt;
use pool::{Advertises, Changes, ObjectKey, Objects, OfferRef};

use crate::alarm::Alarm;
use crate::claims::due::{Due, Known, Moment, Next, next, outlived, outlived_work};
use crate::claims::view::{Leg, View, view};
use crate::fair::FairSet;

/// An object that a claim depends on, or depended on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tie {
    Job(ObjectKey),
    Offer(&'static str, ObjectKey),
    Match(ObjectKey),
    Work(WorkKind, ObjectKey),
}

/// Which claims have to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Attention {
    /// By the uids of their Matches.
    open: BTreeSet<String>,
    /// Jobs whose ended Matches may have become too many.
    histories: BTreeSet<ObjectKey>,
    /// Who depends on what, and the same the other way round.
    tied: BTreeMap<Tie, BTreeSet<String>>,
    ties: BTreeMap<String, BTreeSet<Tie>>,
    /// Claims to which something happens by time alone, in milliseconds.
    alarm: Alarm<String>,
    /// Claims that are decided, have a next step, and wait for a place.
    waiting: FairSet,
    /// Matches that are undecided.
    undecided: BTreeSet<String>,
    /// All of them have to be looked at.
    whole: bool,
}

impl Attention {
    /// Takes in what has changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects) {
        if changes.namespaces {
            self.open.extend(self.ties.keys().cloned());
            self.whole = true;
        }
        for key in &changes.matches {
            let found = objects.matches.get(key);
            self.touch(&Tie::Match(key.clone()), found.and_then(|found| found.uid()));
        }
        for key in &changes.jobs {
            let claim = objects.jobs.get(key).and_then(|held| held.object.status.as_ref()?.claim.as_ref());
            self.touch(&Tie::Job(key.clone()), claim.map(|claim| claim.uid.clone()));
            self.histories.insert(key.clone());
        }
        for (kind, key) in changes.offers() {
            let ledger = objects.offer(kind, key).and_then(OfferRef::status).map(|status| &status.claims);
            self.touch(&Tie::Offer(kind, key.clone()), ledger.into_iter().flat_map(|ledger| ledger.keys().cloned()));
        }
        changes.works.iter().for_each(|(kind, key)| self.touch(&Tie::Work(*kind, key.clone()), None));
        self.open.extend(changes.worked.iter().cloned());
    }

    /// A claim is not under way any more: what is to be done about it now is looked at anew.
    pub(crate) fn landed(&mut self, key: &ObjectKey, uid: &str, objects: &Objects) {
        let found = objects.matches.get(key).and_then(|found| found.uid());
        self.touch(
            &Tie::Match(key.clone()),
            found.into_iter().chain(Some(uid.to_owned()).filter(|uid| !uid.is_empty())),
        );
    }

    /// Whoever depends on this, and whoever it names, is to be looked at.
    fn touch(&mut self, tie: &Tie, names: impl IntoIterator<Item = String>) {
        self.open.extend(self.tied.get(tie).into_iter().flatten().cloned());
        for uid in names {
            self.tie(tie.clone(), &uid);
            self.open.insert(uid);
        }
    }

    fn tie(&mut self, tie: Tie, uid: &str) {
        self.tied.entry(tie.clone()).or_default().insert(uid.to_owned());
        self.ties.entry(uid.to_owned()).or_default().insert(tie);
    }

    fn untie(&mut self, uid: &str) -> BTreeSet<Tie> {
        let ties = self.ties.remove(uid).unwrap_or_default();
        for tie in &ties {
            if let Some(others) = self.tied.get_mut(tie) {
                others.remove(uid);
                if others.is_empty() {
                    self.tied.remove(tie);
                }
            }
        }
        ties
    }

    /// What is to be done about those that have to be looked at.
    pub(crate) fn due(&mut self, objects: &Objects, moment: &Moment<'_>) -> Due {
        let mut due = Due::default();
        let whole = std::mem::take(&mut self.whole);
        self.open.extend(self.alarm.rung(moment.now_ms));
        for uid in std::mem::take(&mut self.open) {
            if let Some(view) = self.look(&uid, objects, moment, &mut due) {
                // The end of a claim may take as long as it likes: it stands in a line of its own.
                match view.record() {
                    claiming::Decision::Absent | claiming::Decision::Pending => due.claims.push(view),
                    _ => self.waiting.push(&view.key.namespace, &uid),
                }
            }
        }
        let mut places = moment.places;
        while places > 0
            && let Some(uid) = self.waiting.pop(|_| true)
        {
            let view = self.look(&uid, objects, moment, &mut due);
            places = places.saturating_sub(view.iter().len());
            due.claims.extend(view);
        }
        for held in std::mem::take(&mut self.histories).iter().filter_map(|key| objects.jobs.get(key)) {
            due.outlived.extend(outlived(&held.object, objects));
        }
        let claims = || self.ties.keys().cloned().collect();
        due.known = whole.then(|| Known { undecided: self.undecided.clone(), claims: claims() });
        due
    }

    /// When one of them has to be looked at, if nothing changes.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.alarm.next_ms()
    }

    /// Looks at one claim, and remembers what it depends on from now on. The claim, if it is to be driven now.
    fn look(&mut self, uid: &str, objects: &Objects, moment: &Moment<'_>, due: &mut Due) -> Option<View> {
        let seen = self.view(uid, objects);
        if seen.as_ref().is_some_and(|view| (moment.under_way)(view)) {
            return None;
        }
        let before = self.untie(uid);
        self.histories.extend(before.iter().filter_map(Tie::job).cloned());
        self.alarm.forget(uid);
        self.undecided.remove(uid);
        let Some(view) = seen else {
            due.outlived_work.extend(outlived_work(uid, objects));
            return None;
        };
        self.histories.insert(view.root.key.clone());
        // An offer may name a claim that is none of its own.
        let still = before.into_iter().filter(|tie| tie.names(uid, objects));
        still.chain(ties(&view, objects)).for_each(|tie| self.tie(tie, uid));
        let Next { undecided, asks, at_ms, seen } = next(&view, objects, moment);
        if undecided {
            self.undecided.insert(uid.to_owned());
        }
        let rests_until = if asks { (moment.rests_until)(&view, seen) } else { None };
        if asks && rests_until.is_none() {
            return Some(view);
        }
        if let Some(at_ms) = at_ms.into_iter().chain(rests_until).min() {
            self.alarm.set(uid.to_owned(), at_ms);
        }
        None
    }

    /// The claim with this uid, if anything of it is there. Whatever names it was noted when it began to.
    fn view(&self, uid: &str, objects: &Objects) -> Option<View> {
        let named = || self.ties.get(uid).is_some_and(|ties| ties.iter().any(|tie| tie.names(uid, objects)));
        let worked = || objects.works.labelled_with(uid).any(|batch| batch.ended.is_none());
        if objects.matches.by_uid(uid).is_some() || named() || worked() { view(uid, objects) } else { None }
    }
}

impl Tie {
    fn job(&self) -> Option<&ObjectKey> {
        if let Tie::Job(key) = self { Some(key) } else { None }
    }

    /// Whether the object says of itself that this claim holds it.
    fn names(&self, uid: &str, objects: &Objects) -> bool {
        match self {
            Tie::Job(key) => {
                let job = objects.jobs.get(key).and_then(|held| held.object.status.as_ref());
                job.and_then(|status| status.claim.as_ref()).is_some_and(|claim| claim.uid == uid)
            }
            Tie::Offer(kind, key) => {
                let ledger = objects.offer(kind, key).and_then(OfferRef::status);
                ledger.is_some_and(|ledger| ledger.claims.contains_key(uid))
            }
            Tie::Match(_) | Tie::Work(..) => false,
        }
    }
}

/// What a claim depends on: its Match, its members, and the names under which its work may be.
fn ties(view: &View, objects: &Objects) -> Vec<Tie> {
    let job = objects.jobs.get(&view.root.key);
    let reference = job.and_then(|held| held.object.spec.workload.as_ref()?.workload_ref.as_ref());
    let work = |kind: WorkKind, name: &str| Tie::Work(kind, ObjectKey::new(&view.key.namespace, name));
    let offer = |leg: &Leg| match leg.kind.as_str() {
        <Machine as Advertises>::KIND => Tie::Offer(<Machine as Advertises>::KIND, leg.key.clone()),
        _ => Tie::Offer(<License as Advertises>::KIND, leg.key.clone()),
    };
    let own = [Tie::Match(view.key.clone()), Tie::Job(view.root.key.clone()), work(WorkKind::Job, &view.key.name)];
    let named = reference.map(|reference| work(reference.kind, &reference.name));
    own.into_iter().chain(named).chain(view.legs.iter().map(offer)).collect()
}

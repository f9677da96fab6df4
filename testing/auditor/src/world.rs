//! All objects in one revision, and who points to whom.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{ClaimEntry, Decision, Match, Member};
use pool::{ClaimRef, ObjectKey, Origin, Workloads};

use crate::{Change, Key, Object, ObjectKind};

/// All objects, as they were in one revision.
#[derive(Clone, Debug, Default)]
pub struct World {
    objects: BTreeMap<Key, Arc<Object>>,
    /// The Matches by uid.
    matches: BTreeMap<String, Key>,
    /// The offers whose ledger has an entry, by uid of its Match.
    holders: BTreeMap<String, BTreeSet<Key>>,
    /// Those of them that were entered after the Match had ended: by a request that came late.
    late: BTreeMap<String, BTreeSet<Key>>,
    /// The jobs by the uid of the Match that they say they are claimed by.
    claimed: BTreeMap<String, BTreeSet<Key>>,
    /// The Matches of a job, by the job's uid.
    of_root: BTreeMap<String, BTreeSet<Key>>,
    /// What carries the label of a Match, by its uid.
    works: BTreeMap<String, BTreeSet<Key>>,
    /// Where every Match is, or was, and its root.
    recorded: BTreeMap<String, (ObjectKey, Option<Member>)>,
}

impl World {
    /// The object with this key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// All objects.
    pub fn objects(&self) -> impl Iterator<Item = (&Key, &Arc<Object>)> {
        self.objects.iter()
    }

    /// The Match with this uid.
    #[must_use]
    pub fn found(&self, uid: &str) -> Option<&Match> {
        self.objects.get(self.matches.get(uid)?)?.found()
    }

    /// The offers that have an entry of this Match.
    pub fn holders(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.holders.get(uid).into_iter().flatten()
    }

    /// The same, without those that were entered after the Match had ended: the controller could not know of them when it gave the
    /// others back. They are taken out later.
    pub fn holders_in_time(&self, uid: &str) -> impl Iterator<Item = &Key> {
        let late = self.late.get(uid);
        self.holders(uid).filter(move |key| late.is_none_or(|late| !late.contains(*key)))
    }

    /// The jobs that say they are claimed by this Match.
    pub fn claimed_by(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.claimed.get(uid).into_iter().flatten()
    }

    /// What works for this Match, or did.
    pub fn works(&self, uid: &str) -> impl Iterator<Item = (&Key, &Arc<Object>)> {
        let keys = self.works.get(uid).into_iter().flatten();
        let labelled = keys.filter_map(|key| Some((key, self.objects.get(key)?)));
        labelled.filter(|(_, object)| self.works_for(object).is_some())
    }

    /// The uid of the Match for which an object works: its label says so, and it is what the controller would have made or taken. Of a
    /// Match that never was, the label alone.
    pub fn works_for<'o>(&self, object: &'o Object) -> Option<&'o str> {
        let uid = object.label_of_match()?;
        let Some((key, root)) = self.recorded.get(uid) else { return Some(uid) };
        let of_root = root.as_ref().and_then(|root| {
            let job = self.objects.get(&Key::new(ObjectKind::Job, &root.namespace, &root.name))?;
            job.job().filter(|_| job.uid() == root.uid)
        });
        let whose = ClaimRef { uid, key, job: of_root };
        let counts = match object {
            Object::Pod(pod) => {
                whose.owns_pod(&ObjectKey::of(pod.as_ref()), &Origin::of(&pod.metadata), &Workloads::default())
            }
            _ => object.work().is_some_and(|work| whose.owns(&work)),
        };
        counts.then_some(uid)
    }

    /// The Matches whose root is the job with this uid.
    pub fn of_root(&self, job_uid: &str) -> impl Iterator<Item = &Match> {
        let keys = self.of_root.get(job_uid).into_iter().flatten();
        keys.filter_map(|key| self.objects.get(key)?.found())
    }

    /// The entry of this Match in an offer's ledger.
    #[must_use]
    pub fn entry(&self, key: &Key, uid: &str) -> Option<&ClaimEntry> {
        self.objects.get(key)?.ledger()?.claims.get(uid)
    }

    /// Whether the Match with this uid has ended: released, aborted, or not there.
    #[must_use]
    pub fn has_ended(&self, uid: &str) -> bool {
        self.found(uid).is_none_or(|found| decision(found).is_terminal())
    }

    /// The next revision; answers what was there before.
    pub fn apply(&mut self, change: &Change) -> Option<Arc<Object>> {
        let before = match &change.object {
            Some(object) => self.objects.insert(change.key.clone(), object.clone()),
            None => self.objects.remove(&change.key),
        };
        if let Some(before) = &before {
            self.point(&change.key, before, false);
        }
        if let Some(after) = &change.object {
            self.point(&change.key, after, true);
        }
        self.note_late(change, before.as_deref());
        before
    }

    fn note_late(&mut self, change: &Change, before: Option<&Object>) {
        let claims = |object: Option<&Object>| -> BTreeSet<String> {
            object.and_then(Object::ledger).into_iter().flat_map(|ledger| ledger.claims.keys().cloned()).collect()
        };
        let (before, after) = (claims(before), claims(change.object.as_deref()));
        for uid in before.difference(&after) {
            mark(&mut self.late, uid, &change.key, false);
        }
        for uid in after.difference(&before).filter(|uid| self.has_ended(uid)).cloned().collect::<Vec<_>>() {
            mark(&mut self.late, &uid, &change.key, true);
        }
    }

    fn point(&mut self, key: &Key, object: &Object, there: bool) {
        for uid in object.ledger().into_iter().flat_map(|ledger| ledger.claims.keys()) {
            mark(&mut self.holders, uid, key, there);
        }
        if let Some(uid) = object.claimed_by() {
            mark(&mut self.claimed, uid, key, there);
        }
        if let Some(uid) = object.label_of_match() {
            mark(&mut self.works, uid, key, there);
        }
        if let (ObjectKind::Match, Some(found)) = (key.kind, object.found()) {
            if there {
                self.matches.insert(object.uid().to_owned(), key.clone());
                let root = found.spec.members.first().cloned();
                self.recorded.insert(object.uid().to_owned(), (ObjectKey::new(&key.namespace, &key.name), root));
            } else {
                self.matches.remove(object.uid());
            }
            if let Some(root) = found.spec.members.first() {
                mark(&mut self.of_root, &root.uid, key, there);
            }
        }
    }
}

fn mark(index: &mut BTreeMap<String, BTreeSet<Key>>, uid: &str, key: &Key, there: bool) {
    if there {
        index.entry(uid.to_owned()).or_default().insert(key.clone());
        return;
    }
    if let Some(keys) = index.get_mut(uid) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(uid);
        }
    }
}

/// What the register of a Match says.
pub(crate) fn decision(found: &Match) -> Decision {
    found.decision()
}

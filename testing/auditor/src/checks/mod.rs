//! One revision into what is broken in it, promise by promise.

mod authority;
mod capacity;
mod entry;
mod gang;
mod held;
pub(crate) mod preemption;
mod register;
mod status;
mod validity;
mod work;

use std::collections::BTreeSet;

use crds::ClaimEntry;

use crate::{Invariant, Key, Object, Past, Violation, World};

pub(crate) use validity::gathered;

/// One revision: who was written, and what surrounds it.
#[derive(Clone, Copy)]
pub struct Step<'s> {
    /// Its number.
    pub revision: i64,
    /// Who was written.
    pub key: &'s Key,
    /// What it was before; `None` if it was not there.
    pub before: Option<&'s Object>,
    /// What it is after; `None` if it was deleted.
    pub after: Option<&'s Object>,
    /// Everybody, after it.
    pub world: &'s World,
    /// What was ever true, this revision included.
    pub past: &'s Past,
}

impl<'s> Step<'s> {
    /// Whether this can be work of a Match: in another namespace than its own a label is any user's word.
    fn is_of(&self, uid: &str, work: &Key) -> bool {
        self.past.members(uid).first().is_none_or(|root| root.namespace == work.namespace)
    }

    /// What it was before, if it is still the same object.
    fn same(&self) -> Option<(&'s Object, &'s Object)> {
        let (before, after) = (self.before?, self.after?);
        (before.uid() == after.uid()).then_some((before, after))
    }

    /// The entries of an offer that are there after the step, each with what it was before.
    fn entries(&self) -> impl Iterator<Item = (&'s String, Option<&'s ClaimEntry>, &'s ClaimEntry)> + use<'s> {
        let before = self.same().and_then(|(before, _)| before.ledger());
        let after = self.after.and_then(Object::ledger);
        after.into_iter().flat_map(|ledger| &ledger.claims).map(move |(uid, entry)| {
            let was = before.and_then(|ledger| ledger.claims.get(uid));
            (uid, was, entry)
        })
    }

    /// The uids of all Matches that this step may be about: its own, those in its ledger, those of its job.
    fn touched(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for object in self.before.into_iter().chain(self.after) {
            all.extend(object.ledger().into_iter().flat_map(|ledger| ledger.claims.keys().cloned()));
            all.extend(object.claimed_by().map(str::to_owned));
            match object.found() {
                Some(_) => all.extend([object.uid().to_owned()]),
                None => {
                    let found = self.world.of_root(object.uid());
                    all.extend(found.filter_map(|found| found.metadata.uid.clone()));
                }
            }
        }
        all
    }

    fn violation(&self, invariant: Invariant, what: String) -> Violation {
        Violation { invariant, revision: self.revision, key: self.key.clone(), what }
    }
}

/// Everything that is broken in this revision.
pub(crate) fn all(step: &Step<'_>) -> Vec<Violation> {
    let checks = [
        authority::check,
        capacity::check,
        entry::check,
        gang::check,
        held::check,
        preemption::check,
        register::check,
        status::check,
        validity::check,
        work::check,
    ];
    checks.iter().flat_map(|check| check(step)).collect()
}

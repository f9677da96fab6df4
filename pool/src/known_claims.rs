//! The claims that may hold offers. The Match of one can be deleted while its pods still end: until its last entry is gone, it holds what it
//! held, so it is charged, counted and waited for as before.

use std::sync::Arc;

use crds::{Decision, Match};

use crate::key::ObjectKey;
use crate::objects::Objects;

/// A claim that may hold offers.
#[derive(Clone, Copy, Debug)]
pub struct KnownClaim<'o> {
    /// Its Match, as it was last seen.
    pub found: &'o Arc<Match>,
    /// The Match was deleted, and some offer still has the entry of the claim.
    pub is_deleted: bool,
}

impl KnownClaim<'_> {
    /// Whether it is ending: it was aborted or released, or its Match was deleted.
    #[must_use]
    pub fn is_ending(self) -> bool {
        self.is_deleted || self.found.decision().is_terminal()
    }

    /// Whether some offer still has its entry.
    #[must_use]
    pub fn has_entry(self, objects: &Objects) -> bool {
        has_entry(self.found, objects)
    }

    /// Whether it holds something: it is undecided or committed, or is ending while some offer has its entry.
    pub(crate) fn holds(self, objects: &Objects) -> bool {
        match self.found.decision() {
            Decision::Pending | Decision::Committed => true,
            Decision::Released => has_entry(self.found, objects),
            Decision::Aborted => false,
        }
    }
}

impl Objects {
    /// All claims: those that have a Match first, by key.
    pub fn claims(&self) -> impl Iterator<Item = (&ObjectKey, KnownClaim<'_>)> {
        let known = self.matches.iter().map(|(key, found)| (key, KnownClaim { found, is_deleted: false }));
        let deleted = self.matches.deleted().values().filter(|(_, found)| is_ending(found, self));
        known.chain(deleted.map(|(key, found)| (key, KnownClaim { found, is_deleted: true })))
    }

    /// The claim whose Match has or had this key.
    #[must_use]
    pub fn claim(&self, key: &ObjectKey) -> Option<KnownClaim<'_>> {
        let known = self.matches.get(key).map(|found| KnownClaim { found, is_deleted: false });
        // There are few, as pods end sooner or later.
        let deleted = || self.matches.deleted().values().find(|(own, found)| own == key && is_ending(found, self));
        known.or_else(|| deleted().map(|(_, found)| KnownClaim { found, is_deleted: true }))
    }

    /// The claim whose Match has or had this uid.
    #[must_use]
    pub fn claim_by_uid(&self, uid: &str) -> Option<KnownClaim<'_>> {
        let known = self.matches.by_uid(uid).map(|found| KnownClaim { found, is_deleted: false });
        let deleted = || self.matches.deleted().get(uid).filter(|(_, found)| is_ending(found, self));
        known.or_else(|| deleted().map(|(_, found)| KnownClaim { found, is_deleted: true }))
    }

    /// Forgets the deleted Matches of which no offer has an entry any more.
    pub(crate) fn forget_freed(&mut self) {
        let is_freed = |(_, (_, found)): &(&String, &(ObjectKey, Arc<Match>))| !has_entry(found, self);
        let freed: Vec<String> = self.matches.deleted().iter().filter(is_freed).map(|(uid, _)| uid.clone()).collect();
        freed.iter().for_each(|uid| self.matches.forget_deleted(uid));
    }
}

/// Whether the claim of a deleted Match counts: it was committed, and some offer still has its entry.
fn is_ending(found: &Match, objects: &Objects) -> bool {
    let was_committed = found.status.as_ref().is_some_and(|status| status.committed_at.is_some());
    was_committed && has_entry(found, objects)
}

/// Whether some offer of a claim still has its entry.
pub(crate) fn has_entry(found: &Match, objects: &Objects) -> bool {
    let uid = found.metadata.uid.as_deref().unwrap_or("");
    found.spec.members.iter().skip(1).any(|member| objects.has_entry(member, uid))
}

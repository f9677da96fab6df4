//! What was broken: which promise, in which revision, by which object, and what was found.

use std::fmt;

use crate::Key;

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// No offer gives away more than it has.
    Capacity,
    /// A job is in one gang at a time.
    OneGang,
    /// The register of a Match goes forward, its spec never changes.
    Register,
    /// Whose Match is committed is held: the job, and every member that was not deleted.
    AllOrNothing,
    /// Nobody works who was not committed.
    NoEffectBeforeCommit,
    /// Nothing is given back before the Match has ended, nor while somebody of the gang works.
    HeldUntilOver,
    /// What was committed fitted together as it was reserved.
    Validity,
    /// Epochs never go back.
    Fencing,
    /// Only the controller enters claims, and it never votes.
    Authority,
    /// Terms and votes of an entry are final.
    Entry,
    /// At rest every entry belongs to a claim that stands.
    NoLeak,
    /// At rest nobody waits for a gang that is there.
    NobodyWaitsInVain,
    /// A gang is preempted for a stored nomination that names it.
    Preemption,
    /// A status speaks of the object as it was, and of the moment of change.
    TruthfulStatus,
    /// What is stored can be read.
    Readable,
}

/// One promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise.
    pub invariant: Invariant,
    /// The revision in which it was broken.
    pub revision: i64,
    /// The object that was written then.
    pub key: Key,
    /// What was found.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "revision {}: {:?}: {}: {}", self.revision, self.invariant, self.key, self.what)
    }
}

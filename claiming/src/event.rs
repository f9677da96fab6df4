//! What a claim asks its caller to do, and what the caller tells it.

use crate::claim::Record;
use crate::reason::Reason;

/// One write, or one look, that the caller is to make. Legs are numbered as the offers of the gang, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Write the Match, undecided. Answer: [`Event::Recorded`].
    Record,
    /// Reserve the root for this Match. Answer: [`Event::RootReserved`] or [`Event::RootRefused`].
    ReserveRoot,
    /// Reserve an offer. Answer: [`Event::Reserved`] or [`Event::Refused`].
    Reserve(usize),
    /// Evaluate the gang again on what the reserves returned. Answer: [`Event::Agreed`] or [`Event::Disagreed`].
    Check,
    /// Decide: Pending to Committed. Answer: [`Event::Decided`], with what the register says.
    Commit,
    /// Decide: Pending to Aborted. Answer: [`Event::Decided`].
    Abort(Reason),
    /// Tell the root that it is claimed. Answer: [`Event::Told`].
    TellRoot,
    /// End the claim: Committed to Released. Answer: [`Event::Decided`].
    Release(Reason),
    /// Give an offer back, after a quorum read has shown the Match ended or gone. Answer: [`Event::Freed`].
    Free(usize),
    /// Give the root back, after every entry was read absent. Answer: [`Event::RootFreed`].
    FreeRoot,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing; or some time has passed.
    Woke,
    /// The Match is written.
    Recorded,
    /// The root is held.
    RootReserved,
    /// The root cannot be had.
    RootRefused(Reason),
    /// An offer is held.
    Reserved(usize),
    /// An offer cannot be had.
    Refused(usize, Reason),
    /// The second look agrees.
    Agreed,
    /// The second look does not.
    Disagreed(Reason),
    /// The decision register was read.
    Decided(Record),
    /// The root knows.
    Told,
    /// An offer is free of this claim.
    Freed(usize),
    /// The root is free of this claim.
    RootFreed,
    /// A party wants out: the job is done, deleted or suspended, a member is gone or evicts.
    Leave(Reason),
    /// An action came to nothing for a reason that says nothing about the gang: a lost connection, a full server. The
    /// claim rests; the caller begins again from what the cluster shows.
    Failed(Action),
}

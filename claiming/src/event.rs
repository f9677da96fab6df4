//! What a claim asks its caller to do, and what the caller tells it.

use crate::claim::{Record, Work};
use crate::leg::Agent;
use crate::reason::Reason;

/// One write, or one look, that the caller is to make. Legs are numbered as the offers of the gang, from 0.
///
/// Every action may also be answered by [`Event::Failed`]; other events may say what was learned on the way. A *look* is made at the server, after it was asked for; what a cache shows is no answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Write the Match, undecided. Answer: [`Event::Recorded`]. If one of its name is there, the caller begins again from
    /// that one as it is stored.
    Record,
    /// Reserve the root for this Match. Answer: [`Event::RootReserved`] or [`Event::RootRefused`].
    ReserveRoot,
    /// Reserve an offer. Answer: [`Event::Reserved`] or [`Event::Refused`].
    Reserve(usize),
    /// Tell an agent that it may vote: everybody below has accepted. Answer: [`Event::Entry`].
    Ask(usize),
    /// Evaluate the gang again on what the reserves returned. Answer: [`Event::Agreed`] or [`Event::Disagreed`].
    Check,
    /// Decide: Pending to Committed. Answer: [`Event::Decided`], with what the register says.
    Commit,
    /// Decide: Pending to Aborted. Answer: [`Event::Decided`].
    Abort(Reason),
    /// Tell the root that it is claimed. Answer: [`Event::Told`].
    TellRoot,
    /// Look at the register. Answer: [`Event::Confirmed`].
    Confirm,
    /// Tell an agent that the claim stands, if its vote and its ballot are those that were read. Answer: [`Event::Entry`].
    TellAgent(usize),
    /// Make the batch Job, suspended, or mark the one that is there. Answer: [`Event::Work`].
    MakeWork,
    /// Delete a batch Job of the name whose own Match has ended or is gone. Answer: [`Event::Work`].
    ClearWork,
    /// Start the batch Job, if it is the one that was read. Answer: [`Event::Work`].
    StartWork,
    /// End the claim: Committed to Released. Answer: [`Event::Decided`].
    Release(Reason),
    /// Tell an agent to stop. Answer: [`Event::Entry`].
    StopAgent(usize),
    /// Write that a silent agent's work is lost. Answer: [`Event::Entry`].
    MarkLost(usize),
    /// Suspend the batch Job, wait until it is, and delete it, or take the mark off. Answer: [`Event::Work`].
    StopWork,
    /// Look for batch Jobs and pods of this Match that have not finished. Answer: [`Event::NoWork`] or [`Event::Work`].
    LookForWork,
    /// Give an offer back. Answer: [`Event::Freed`], or [`Event::Entry`] if its work goes on.
    Free(usize),
    /// Look for entries of this Match at all legs that are not known to be held; if not all members are known, at all
    /// offers. Answer: [`Event::Nowhere`]; [`Event::Reserved`] for a leg that has one.
    LookForEntries,
    /// Give the root back. Answer: [`Event::RootFreed`].
    FreeRoot,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The entry of an offer with an agent, as it was read or as a write returned it.
    Entry(usize, Agent),
    /// The second look agrees.
    Agreed,
    /// The second look does not.
    Disagreed(Reason),
    /// The decision register was read.
    Decided(Record),
    /// What the server said of the register when it was asked.
    Confirmed(Record),
    /// The root knows.
    Told,
    /// What is known of the batch Job now.
    Work(Work),
    /// No batch Job and no pod of this Match was found that has not finished.
    NoWork,
    /// An offer is free of this claim.
    Freed(usize),
    /// No entry was found but those that are known.
    Nowhere,
    /// The root is free of this claim.
    RootFreed,
    /// A party wants out: the job is done, deleted or suspended, a member is gone or evicts.
    Leave(Reason),
    /// An object was read that somebody has written under this epoch.
    Epoch(u64),
    /// An action came to nothing for a reason that says nothing about the gang: a lost connection, a full server. The
    /// claim rests; the caller begins again from what the cluster shows.
    Failed(Action),
}

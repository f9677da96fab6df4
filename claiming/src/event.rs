//! What a claim asks its caller to do, and what the caller reports.

use crate::digest::Digest;
use crate::leg::Agent;
use crate::reason::Reason;

/// One write, or one read, that the caller is to make. Legs are numbered as the offers of the gang, from 0.
///
/// Every action may also be answered by [`Event::Failed`]; other events may say what was learned on the way. A *read* is made at the
/// server, after it was asked for; what a cache shows is no answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Write the Match, undecided. Answer: [`Event::MatchCreated`]. If one of its name is there, the caller begins again from
    /// that one as it is stored.
    CreateMatch,
    /// Reserve the root for this Match. Answer: [`Event::RootReserved`] or [`Event::RootRefused`].
    ReserveRoot,
    /// Reserve an offer. Answer: [`Event::Reserved`] or [`Event::Refused`].
    Reserve(usize),
    /// Request the vote of an agent: all below it have accepted. Answer: [`Event::Entry`].
    RequestVote(usize),
    /// Evaluate the gang again on what the reserves returned. Answer: [`Event::Verified`] or [`Event::NotVerified`].
    Verify,
    /// Read whether this reason to exit holds: that something is gone is believed from the server only. Answer:
    /// [`Event::ExitConfirmed`].
    ConfirmExit(Reason),
    /// Decide: Pending to Committed. Answer: [`Event::Decided`], with what the Match says.
    Commit,
    /// Decide: Pending to Aborted. Answer: [`Event::Decided`].
    Abort(Reason),
    /// Notify the root that it is claimed. Answer: [`Event::JobNotified`].
    NotifyJob,
    /// Read the decision. Answer: [`Event::DecisionRead`].
    ReadDecision,
    /// Notify an agent that the claim is committed, if its vote was cast with this ballot. Answer: [`Event::Entry`].
    NotifyAgent(usize, Digest),
    /// Make the batch Job, suspended, or mark the one that is there. Answer: [`Event::Work`].
    MakeWork,
    /// Delete a batch Job of the name whose own Match has ended or is gone. Answer: [`Event::Work`].
    ClearWork,
    /// Start the batch Job, if it is this object in this version. Answer: [`Event::Work`].
    StartWork(Digest),
    /// End the claim: Committed to Released. Answer: [`Event::Decided`].
    Release(Reason),
    /// Tell an agent to stop. Answer: [`Event::Entry`].
    StopAgent(usize),
    /// Write that a silent agent's work is lost. Answer: [`Event::Entry`].
    MarkLost(usize),
    /// Suspend the batch Job, wait until it is, and delete it, or take the mark off. Answer: [`Event::Work`].
    StopWork,
    /// List batch Jobs and pods of this Match that have not finished. Answer: [`Event::NoWork`] or [`Event::Work`].
    ListWork,
    /// Give an offer back. Answer: [`Event::Freed`], or [`Event::Entry`] if its work goes on.
    Free(usize),
    /// Read the entries of this Match at [`crate::Claim::unread_legs`]; if not all members are known, at all offers. Answer:
    /// [`Event::NoEntries`]; [`Event::Reserved`] for a leg that has one.
    ListEntries,
    /// Give the root back. Answer: [`Event::RootFreed`].
    FreeRoot,
}

/// What the Match says of the claim: its decision, which is written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// The Match is not written yet.
    Absent,
    /// Written, undecided.
    Pending,
    /// The claim is committed.
    Committed,
    /// It was aborted before the commit.
    Aborted,
    /// It was committed and has ended.
    Released,
    /// The Match is not among what was seen: that is no proof.
    Missing,
    /// The Match was deleted: the server says so.
    Gone,
}

impl Decision {
    /// Whether the claim is over: what it holds is to be freed.
    pub fn has_ended(self) -> bool {
        matches!(self, Decision::Aborted | Decision::Released | Decision::Gone)
    }
}

/// The batch Job that works for a claim, as last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// The job wants none.
    None,
    /// None is there.
    Absent,
    /// One of its name is there and belongs to another Match.
    Foreign,
    /// It is there, suspended: this object in this version.
    Suspended(Digest),
    /// It was started and has not finished.
    Started,
    /// It has finished; true: well.
    Finished(bool),
}

/// What happened. All that is decided from it is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Nothing; or some time has passed.
    Tick,
    /// The Match is written.
    MatchCreated,
    /// The root is held.
    RootReserved,
    /// The root cannot be had.
    RootRefused(Reason),
    /// An offer is held.
    Reserved(usize),
    /// An offer cannot be had.
    Refused(usize, Reason),
    /// The entry of an offer with an agent, as it was read or as a write returned it: its vote with the ballot, and the rest.
    Entry(usize, Agent),
    /// On what the reserves returned, the gang is one.
    Verified,
    /// It is none.
    NotVerified(Reason),
    /// The server says that this reason to exit holds.
    ExitConfirmed(Reason),
    /// The decision as the server has answered the write that was to turn it.
    Decided(Decision),
    /// The decision as the server has answered a read.
    DecisionRead(Decision),
    /// The root's status says that the claim is committed.
    JobNotified,
    /// What is known of the batch Job now.
    Work(Work),
    /// No batch Job and no pod of this Match was found that has not finished.
    NoWork,
    /// An offer is free of this claim: the server says so.
    Freed(usize),
    /// No entry was found but those that are known.
    NoEntries,
    /// The root is free of this claim.
    RootFreed,
    /// There is a reason to exit: the job is done, deleted or suspended, a member is gone or evicts.
    Exit(Reason),
    /// An object was read that was written under this epoch.
    Epoch(u64),
    /// An action came to nothing for a reason that says nothing about the gang: a lost connection, a full server. The
    /// claim halts; the caller begins again from what the cluster shows.
    Failed(Action),
}

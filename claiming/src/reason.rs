//! Why a claim was aborted or released, as the word that conditions and events carry.

use std::fmt;

/// The reason of an abort or of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Aborted: another claim took what was left.
    CapacityTaken,
    /// Aborted: a member's ad is not the one that was matched, or would now give something else.
    StaleAd,
    /// Aborted: on the objects as they are now, a constraint is not true.
    RequirementsChanged,
    /// Aborted: an offer was deleted before the commit.
    MemberGone,
    /// Aborted: an offer does not take jobs of this namespace, or takes no jobs now. Released: such an offer has lost the entry of the claim, which
    /// is not written back.
    NotAllowed,
    /// Aborted: not all members answered in time.
    ReserveTimedOut,
    /// Aborted: the job is held by another Match.
    JobTaken,
    /// Aborted: an agent voted no.
    Rejected,
    /// The job was deleted.
    JobDeleted,
    /// The job was suspended.
    Suspended,
    /// The job said that it is done.
    Done,
    /// Released: `activeDeadlineSeconds` are over.
    ClaimExpired,
    /// The Match was deleted.
    MatchDeleted,
    /// Released: a member was deleted.
    MemberLost,
    /// Released: an owner takes the offer back.
    Evicted,
    /// Released: another job is to have what it holds.
    Preempted,
    /// Released: an agent has been silent too long.
    AgentLost,
    /// Released: the work has ended well.
    Completed,
    /// The work has failed, or what `workloadRef` names is managed by another controller.
    WorkloadFailed,
    /// Released: the work did not start in time.
    StartTimedOut,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 20] = [
        Reason::CapacityTaken,
        Reason::StaleAd,
        Reason::RequirementsChanged,
        Reason::MemberGone,
        Reason::NotAllowed,
        Reason::ReserveTimedOut,
        Reason::JobTaken,
        Reason::Rejected,
        Reason::JobDeleted,
        Reason::Suspended,
        Reason::Done,
        Reason::ClaimExpired,
        Reason::MatchDeleted,
        Reason::MemberLost,
        Reason::Evicted,
        Reason::Preempted,
        Reason::AgentLost,
        Reason::Completed,
        Reason::WorkloadFailed,
        Reason::StartTimedOut,
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::CapacityTaken => "CapacityTaken",
            Reason::StaleAd => "StaleAd",
            Reason::RequirementsChanged => "RequirementsChanged",
            Reason::MemberGone => "MemberGone",
            Reason::NotAllowed => "NotAllowed",
            Reason::ReserveTimedOut => "ReserveTimedOut",
            Reason::JobTaken => "JobTaken",
            Reason::Rejected => "Rejected",
            Reason::JobDeleted => "JobDeleted",
            Reason::Suspended => "Suspended",
            Reason::Done => "Done",
            Reason::ClaimExpired => "ClaimExpired",
            Reason::MatchDeleted => "MatchDeleted",
            Reason::MemberLost => "MemberLost",
            Reason::Evicted => "Evicted",
            Reason::Preempted => "Preempted",
            Reason::AgentLost => "AgentLost",
            Reason::Completed => "Completed",
            Reason::WorkloadFailed => "WorkloadFailed",
            Reason::StartTimedOut => "StartTimedOut",
        }
    }

    /// Whether it is about another object than the claim's own, which the caller may know only as it was: that is believed from the server only.
    pub(crate) fn is_hearsay(self) -> bool {
        matches!(
            self,
            Reason::JobDeleted
                | Reason::MemberGone
                | Reason::MemberLost
                | Reason::AgentLost
                | Reason::WorkloadFailed
                | Reason::Preempted
        )
    }

    /// The reason that a word stands for.
    pub fn of(word: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

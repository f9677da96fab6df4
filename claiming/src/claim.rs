//! The state of one claim: what the cluster is known to hold, and what was asked for and not answered yet.

use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::event::{Action, Decision, Work};
use crate::leg::{Activity, Agent, Hold, Leg};
use crate::reason::Reason;

/// Something that may be acted on only if the server said Committed after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Evidence {
    /// The ballot of an agent, by the number of its leg.
    Ballot(usize, Digest),
    /// The batch Job.
    Work(Digest),
}

/// One claim: a value; [`crate::step`] makes the next one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The decision of its Match.
    pub decision: Decision,
    /// The root.
    pub root: Hold,
    /// The offers, in the order of the gang.
    pub legs: Vec<Leg>,
    /// The batch Job.
    pub work: Work,
    /// The gang was verified on what the reserves returned.
    pub verified: bool,
    /// The root's status says that the claim is committed.
    pub root_notified: bool,
    /// Why the claim is to be aborted or released, if the caller has seen a reason.
    pub exit: Option<Reason>,
    /// When an undecided claim is aborted, in milliseconds of the caller's monotonic clock.
    pub deadline_ms: u64,
    /// The epochs of the caller and of what it has seen.
    pub epochs: Epochs,
    /// All members are known. Not so if the Match is gone and only entries are left of it.
    pub members_known: bool,
    /// An earlier claim of the root came to nothing because an offer refused it: few offers are reserved at the same time.
    pub refused_before: bool,
    pub(crate) progress: Progress,
}

/// Fencing epochs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epochs {
    /// The epoch under which the caller leads; 0 if there is no leader.
    pub own: u64,
    /// The newest epoch that was seen in the Match or in a member. A leader whose epoch is older asks for nothing.
    pub newest: u64,
}

/// What was asked for since the caller began, and what the answers have proved.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Progress {
    /// Asked for and not answered yet.
    pub(crate) asked: BTreeSet<Action>,
    /// An action failed: no more until the caller begins again.
    pub(crate) halted: bool,
    /// Known when the decision was last asked for.
    pub(crate) pending_evidence: BTreeSet<Evidence>,
    /// The server said Committed after these were read.
    pub(crate) confirmed: BTreeSet<Evidence>,
    /// The reason to exit that the server has confirmed.
    pub(crate) confirmed_exit: Option<Reason>,
    /// The server has said that the claim is over. It says so once and for all.
    pub(crate) ended_at_server: bool,
    /// After the end: no work was found.
    pub(crate) no_work: bool,
    /// After the end: these legs were read without an entry.
    pub(crate) absent: BTreeSet<usize>,
    /// After the end: all offers were read, and no entry was found beyond the legs.
    pub(crate) entries_listed: bool,
}

impl Claim {
    /// A claim of which nothing is written yet, with this many offers that no agent speaks for.
    pub fn new(legs: usize, deadline_ms: u64) -> Claim {
        Claim::seen(Decision::Absent, Hold::Free, vec![Hold::Free; legs], deadline_ms)
    }

    /// A claim as the cluster shows it, without a workload. The root of a committed one is taken as not notified: to notify it
    /// twice does no harm.
    pub fn seen<L: Into<Leg>>(decision: Decision, root: Hold, legs: Vec<L>, deadline_ms: u64) -> Claim {
        Claim {
            decision,
            root,
            legs: legs.into_iter().map(Into::into).collect(),
            work: Work::None,
            verified: false,
            root_notified: false,
            exit: None,
            deadline_ms,
            epochs: Epochs::default(),
            members_known: true,
            refused_before: false,
            progress: Progress::default(),
        }
    }

    /// Whether there is nothing left to do: the claim is committed, or all of it is freed.
    pub fn is_settled(&self) -> bool {
        match self.decision {
            Decision::Committed => {
                let agents_know = self.legs.iter().filter_map(Leg::held_agent).all(|agent| agent.committed);
                let work_goes_on = matches!(self.work, Work::None | Work::Started);
                self.root_notified && self.reason_to_end().is_none() && agents_know && work_goes_on
            }
            Decision::Aborted | Decision::Released | Decision::Gone | Decision::Missing => {
                !self.holds_anything() && !self.has_unfinished_work()
            }
            Decision::Absent => self.exit.is_some(),
            Decision::Pending => false,
        }
    }

    /// What the claim has of each offer.
    pub fn holds(&self) -> Vec<Hold> {
        self.legs.iter().map(|leg| leg.hold).collect()
    }

    /// Whether an offer's agent may vote as soon as it is reserved: no agent below it has to vote first.
    pub fn votes_at_once(&self, leg: usize) -> bool {
        self.below(leg).all(|leg| leg.agent.is_none())
    }

    /// The legs that [`Action::ListEntries`] is about: neither known to be held, nor read without an entry.
    pub fn unread_legs(&self) -> impl Iterator<Item = usize> {
        let is_unread = |(number, leg): &(usize, &Leg)| !leg.is_held() && !self.progress.absent.contains(number);
        self.legs.iter().enumerate().filter(is_unread).map(|(number, _)| number)
    }

    /// All legs below one, however far.
    pub(crate) fn below(&self, top: usize) -> impl Iterator<Item = &Leg> {
        self.legs.iter().filter(move |leg| self.is_below(leg, top))
    }

    fn is_below(&self, leg: &Leg, top: usize) -> bool {
        let mut parent = leg.parent;
        // as many steps up as there are legs: a circle is no tree, and ends here too
        for _ in &self.legs {
            match parent {
                Some(number) if number == top => return true,
                Some(number) => parent = self.legs.get(number).and_then(|leg| leg.parent),
                None => return false,
            }
        }
        false
    }

    /// Why a committed claim is to end: there is a reason to exit, or the work is over.
    pub(crate) fn reason_to_end(&self) -> Option<Reason> {
        self.exit.or_else(|| self.end_of_work())
    }

    fn end_of_work(&self) -> Option<Reason> {
        let agents: Vec<Agent> = self.legs.iter().filter_map(Leg::held_agent).collect();
        if agents.iter().any(|agent| agent.activity == Activity::Lost) {
            return Some(Reason::AgentLost);
        }
        if agents.iter().any(|agent| agent.silent && agent.activity != Activity::Ended) {
            return Some(Reason::AgentLost);
        }
        let all_ended = !agents.is_empty() && agents.iter().all(|agent| agent.activity == Activity::Ended);
        match self.work {
            Work::Finished(true) => Some(Reason::Completed),
            Work::Finished(false) => Some(Reason::WorkloadFailed),
            Work::None if all_ended => Some(Reason::Completed),
            _ => None,
        }
    }

    /// Whether a newer leader has written.
    pub(crate) fn is_fenced(&self) -> bool {
        self.epochs.newest > self.epochs.own
    }

    /// Whether an action has been requested and is not answered yet.
    pub(crate) fn has_asked(&self, action: Action) -> bool {
        self.progress.asked.contains(&action)
    }

    /// Whether the root or one of the legs is held.
    pub(crate) fn holds_anything(&self) -> bool {
        self.root == Hold::Held || self.legs.iter().any(Leg::is_held)
    }

    /// Whether there is a workload that is suspended or has started, and has not ended.
    pub(crate) fn has_unfinished_work(&self) -> bool {
        matches!(self.work, Work::Suspended(_) | Work::Started)
    }
}

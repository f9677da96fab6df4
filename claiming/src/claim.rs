//! The state of one claim: what the cluster is known to hold, and what was asked for and not answered yet.

use std::collections::BTreeSet;

use crate::event::Action;
use crate::leg::{Activity, Agent, Hold, Leg};
use crate::reason::Reason;

/// What the decision register of the Match says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Record {
    /// Not written yet.
    Absent,
    /// Written, undecided.
    Pending,
    /// The claim stands.
    Committed,
    /// It was called off before it stood.
    Aborted,
    /// It stood and has ended.
    Released,
    /// The Match is not among what was seen: that is no proof.
    Missing,
    /// The Match was deleted: the server says so.
    Gone,
}

/// What is known of the batch Job that works for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// The job wants none.
    None,
    /// None is there.
    Absent,
    /// One of its name is there and belongs to another Match.
    Foreign,
    /// It is there, suspended.
    Suspended,
    /// It was started and has not finished.
    Started,
    /// It has finished; true: well.
    Finished(bool),
}

/// Something that may be acted on only if the claim was seen to stand after it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fact {
    /// The ballot of an agent's entry.
    Ballot(usize),
    /// The uid of the batch Job.
    Work,
}

/// One claim: a value; [`crate::step`] makes the next one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The register.
    pub record: Record,
    /// The root.
    pub root: Hold,
    /// The offers, in the order of the gang.
    pub legs: Vec<Leg>,
    /// The batch Job.
    pub work: Work,
    /// The second look agreed.
    pub agreed: bool,
    /// The root knows that it is claimed.
    pub told: bool,
    /// A party wants out.
    pub leaving: Option<Reason>,
    /// When an undecided claim is called off, in milliseconds of the caller's monotonic clock.
    pub deadline_ms: u64,
    /// The epoch under which the caller leads; 0 if there is no leader.
    pub epoch: u64,
    /// The newest epoch that was seen in the Match or in a member. A leader whose epoch is older asks for nothing.
    pub newest: u64,
    /// All members are known. Not so if the Match is gone and only entries are left of it.
    pub whole: bool,
    /// The order in which the offers are reserved, one after the other; empty: all side by side.
    pub order: Vec<usize>,
    /// Asked for and not answered yet.
    pub(crate) asked: BTreeSet<Action>,
    /// An action failed: no more until the caller begins again.
    pub(crate) resting: bool,
    /// Known when the register was last asked for.
    pub(crate) covered: BTreeSet<Fact>,
    /// The claim stood after these were read.
    pub(crate) cleared: BTreeSet<Fact>,
    /// After the end: no work was found.
    pub(crate) swept: bool,
    /// After the end: these legs were read without an entry.
    pub(crate) absent: BTreeSet<usize>,
    /// After the end: all offers were read, and no entry was found beyond the legs.
    pub(crate) listed: bool,
}

impl Claim {
    /// A claim of which nothing is written yet, with this many offers that no agent speaks for.
    pub fn new(legs: usize, deadline_ms: u64) -> Claim {
        Claim::seen(Record::Absent, Hold::Free, vec![Hold::Free; legs], deadline_ms)
    }

    /// A claim as the cluster shows it, without a workload. A committed one is taken as not told to its root: telling twice
    /// does no harm.
    pub fn seen<L: Into<Leg>>(record: Record, root: Hold, legs: Vec<L>, deadline_ms: u64) -> Claim {
        Claim {
            record,
            root,
            legs: legs.into_iter().map(Into::into).collect(),
            work: Work::None,
            agreed: false,
            told: false,
            leaving: None,
            deadline_ms,
            epoch: 0,
            newest: 0,
            whole: true,
            order: Vec::new(),
            asked: BTreeSet::new(),
            resting: false,
            covered: BTreeSet::new(),
            cleared: BTreeSet::new(),
            swept: false,
            absent: BTreeSet::new(),
            listed: false,
        }
    }

    /// Whether there is nothing left to do: the claim stands, or all of it is given back.
    pub fn is_settled(&self) -> bool {
        match self.record {
            Record::Committed => {
                let agents_know = self.legs.iter().filter_map(Leg::speaks).all(|agent| agent.committed);
                let work_goes_on = matches!(self.work, Work::None | Work::Started);
                self.told && self.ends().is_none() && agents_know && work_goes_on
            }
            Record::Aborted | Record::Released | Record::Gone | Record::Missing => {
                !self.holds_anything() && !self.has_unfinished_work()
            }
            Record::Absent => self.leaving.is_some(),
            Record::Pending => false,
        }
    }

    /// Whether an answer is awaited.
    pub fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// What the claim has of each offer.
    pub fn holds(&self) -> Vec<Hold> {
        self.legs.iter().map(|leg| leg.hold).collect()
    }

    /// Whether an offer's agent may vote as soon as it is reserved: no agent below it has to be heard first.
    pub fn votes_at_once(&self, leg: usize) -> bool {
        self.below(leg).all(|leg| leg.agent.is_none())
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

    /// Why a claim that stands is to end: a party wants out, or the work is over.
    pub(crate) fn ends(&self) -> Option<Reason> {
        self.leaving.or_else(|| self.ended_by_itself())
    }

    fn ended_by_itself(&self) -> Option<Reason> {
        let agents: Vec<Agent> = self.legs.iter().filter_map(Leg::speaks).collect();
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
        self.newest > self.epoch
    }

    pub(crate) fn holds_anything(&self) -> bool {
        self.root == Hold::Held || self.legs.iter().any(Leg::is_held)
    }

    pub(crate) fn has_unfinished_work(&self) -> bool {
        matches!(self.work, Work::Suspended | Work::Started)
    }
}

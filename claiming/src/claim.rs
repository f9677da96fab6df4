//! The state of one claim: what the cluster is known to hold, and what was asked for and not answered yet.

use std::collections::BTreeSet;

use crate::event::Action;
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
    /// The Match was deleted.
    Gone,
}

/// What this claim has of one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hold {
    /// Nothing.
    Free,
    /// An entry.
    Held,
    /// Nothing, and it will not have it.
    Refused(Reason),
    /// Nothing any more: the object is gone.
    Gone,
}

/// One claim: a value; [`crate::step`] makes the next one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// The register.
    pub record: Record,
    /// The root.
    pub root: Hold,
    /// The offers, in the order of the gang.
    pub legs: Vec<Hold>,
    /// The second look agreed.
    pub agreed: bool,
    /// The root knows that it is claimed.
    pub told: bool,
    /// A party wants out.
    pub leaving: Option<Reason>,
    /// When an undecided claim is called off, in milliseconds of the caller's monotonic clock.
    pub deadline_ms: u64,
    /// Asked for and not answered yet.
    pub(crate) asked: BTreeSet<Action>,
    /// An action failed: no more until the caller begins again.
    pub(crate) resting: bool,
}

impl Claim {
    /// A claim of which nothing is written yet, with this many offers.
    pub fn new(legs: usize, deadline_ms: u64) -> Claim {
        Claim::seen(Record::Absent, Hold::Free, vec![Hold::Free; legs], deadline_ms)
    }

    /// A claim as the cluster shows it. A committed one is taken as not told to its root: telling twice does no harm.
    pub fn seen(record: Record, root: Hold, legs: Vec<Hold>, deadline_ms: u64) -> Claim {
        Claim {
            record,
            root,
            legs,
            agreed: false,
            told: false,
            leaving: None,
            deadline_ms,
            asked: BTreeSet::new(),
            resting: false,
        }
    }

    /// Whether there is nothing left to do: the claim stands, or all of it is given back.
    pub fn is_settled(&self) -> bool {
        match self.record {
            Record::Committed => self.told && self.leaving.is_none(),
            Record::Aborted | Record::Released | Record::Gone => !self.holds_anything(),
            Record::Absent => self.leaving.is_some(),
            Record::Pending => false,
        }
    }

    /// Whether an answer is awaited.
    pub fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    pub(crate) fn holds_anything(&self) -> bool {
        self.root == Hold::Held || self.legs.contains(&Hold::Held)
    }
}

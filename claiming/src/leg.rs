//! What a claim has of one offer; with an agent, the registers of its entry.

use crate::digest::Digest;
use crate::reason::Reason;

/// What this claim has of one party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hold {
    /// Nothing.
    Free,
    /// An entry.
    Held,
    /// Nothing, and it will not have it.
    Refused(Reason),
    /// Nothing any more: the object was deleted, or this claim has freed it.
    Gone,
}

/// An offer's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vote {
    /// None yet.
    #[default]
    Pending,
    /// Yes.
    Accepted,
    /// No.
    Rejected,
}

/// What an agent does under a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Nothing yet.
    #[default]
    Idle,
    /// The work goes on.
    Active,
    /// The work has ended.
    Ended,
    /// The agent was silent longer than its lease allows.
    Lost,
}

/// The registers of an entry for which an agent speaks, as last read. All but `silent` go one way only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Agent {
    /// Its vote was requested: all below it have accepted.
    pub asked: bool,
    /// Its answer.
    pub vote: Vote,
    /// The random word that it has written with its vote: the same vote has the same one.
    pub ballot: Digest,
    /// It was notified that the claim is committed.
    pub committed: bool,
    /// It was told to stop.
    pub release: bool,
    /// What it does.
    pub activity: Activity,
    /// Its lease has expired, by the observer's own clock. By then it has stopped, by its own.
    pub silent: bool,
}

/// One offer's part in a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leg {
    /// What the claim has of it.
    pub hold: Hold,
    /// The leg that it works for; `None` for those that work for the root.
    pub parent: Option<usize>,
    /// Its agent; `None` if no program speaks for it: then its entry is its acceptance.
    pub agent: Option<Agent>,
}

impl Leg {
    /// An offer without an agent that works for the root.
    pub fn auto(hold: Hold) -> Leg {
        Leg { hold, parent: None, agent: None }
    }

    /// The same, working for another leg.
    #[must_use]
    pub fn below(self, parent: usize) -> Leg {
        Leg { parent: Some(parent), ..self }
    }

    /// Whether the entry of the claim is in the ledger of the offer.
    pub(crate) fn is_held(&self) -> bool {
        self.hold == Hold::Held
    }

    /// The registers of the entry, if the offer is held and an agent speaks for it.
    pub(crate) fn held_agent(&self) -> Option<Agent> {
        self.agent.filter(|_| self.is_held())
    }

    /// Whether it has accepted.
    pub(crate) fn accepts(&self) -> bool {
        self.is_held() && self.agent.is_none_or(|agent| agent.vote == Vote::Accepted)
    }

    /// Whether its work goes on, as far as is known.
    pub(crate) fn is_active(&self) -> bool {
        self.held_agent().is_some_and(|agent| agent.activity == Activity::Active)
    }
}

impl From<Hold> for Leg {
    fn from(hold: Hold) -> Leg {
        Leg::auto(hold)
    }
}

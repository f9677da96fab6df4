//! What the server stores: jobs, offers with their ledgers, Matches, batch Jobs and leases, as far as claims need them.

use std::collections::BTreeMap;

use claiming::{Agent, Reason};

/// What tells an object from a namesake that was deleted.
pub type Uid = u64;

/// The name of an object. Matches are named by the uid of their root and the number of the attempt; their batch Jobs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectName {
    /// A job.
    Job(u8),
    /// A machine or a license.
    Offer(u8),
    /// A Match.
    Match(Uid, u32),
    /// A batch Job.
    Batch(Uid, u32),
    /// The lease of an offer's agent.
    Alive(u8),
    /// The lease of the leader.
    Leader,
}

/// An object as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its name.
    pub key: ObjectName,
    /// Its uid.
    pub uid: Uid,
    /// Counts changes of what its owner wrote.
    pub generation: u64,
    /// Counts all changes of everything.
    pub version: u64,
    /// What it says.
    pub body: Body,
}

/// What an object says.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A job.
    Job(Job),
    /// An offer.
    Offer(Offer),
    /// A Match.
    Match(Match),
    /// A batch Job.
    Batch(Batch),
    /// A lease: whose, and how often renewed.
    Lease(u8, u64),
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Its owner paused it.
    pub suspend: bool,
    /// Its owner says that it is done.
    pub done: bool,
    /// It has a batch Job.
    pub workload: bool,
    /// The Match that holds it.
    pub claim: Option<(ObjectName, Uid)>,
    /// It was told that its claim stands.
    pub told: bool,
    /// It is over.
    pub finished: bool,
    /// What is held for it while gangs are preempted.
    pub nomination: Option<Nomination>,
    /// How often it was preempted.
    pub preemptions: u32,
}

/// What is held for a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Nomination {
    /// When it was decided on, by the clock of that coordinator, in seconds.
    pub at_s: i64,
    /// Its gang.
    pub members: Vec<Member>,
    /// The Matches that are to be released.
    pub victims: Vec<Uid>,
}

/// An offer.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// Takes new claims.
    pub open: bool,
    /// Wants its claims ended.
    pub evict: bool,
    /// Seats or slots.
    pub capacity: i64,
    /// An agent speaks for it.
    pub agent: bool,
    /// The newest epoch that has written here.
    pub epoch: u64,
    /// Who holds what.
    pub claims: BTreeMap<Uid, HeldClaim>,
    /// Seats that several claims hold together.
    pub shared: BTreeMap<String, i64>,
}

/// One claim on an offer.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldClaim {
    /// The Match.
    pub of: ObjectName,
    /// How much of it.
    pub takes: i64,
    /// The share key.
    pub share: Option<String>,
    /// The registers, if an agent speaks for the offer.
    pub agent: Option<Agent>,
    /// What the agent wrote with its vote.
    pub ballot: u64,
}

/// A Match.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The job: its name, its uid, its generation when it was matched.
    pub root: (u8, Uid, u64),
    /// The offers.
    pub members: Vec<Member>,
    /// Under which leader it was made.
    pub epoch: u64,
    /// The register.
    pub decision: Decision,
    /// Why.
    pub reason: Option<Reason>,
    /// When it was committed, by the clock of that coordinator, in seconds.
    pub committed_s: i64,
}

/// An offer of a gang, as it was matched.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its name.
    pub offer: u8,
    /// Its uid.
    pub uid: Uid,
    /// Its generation.
    pub generation: u64,
    /// How much is taken.
    pub takes: i64,
    /// The share key.
    pub share: Option<String>,
    /// An agent speaks for it.
    pub agent: bool,
    /// The member that it works for, counted without the root.
    pub parent: Option<usize>,
}

/// The register of a Match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing yet.
    Pending,
    /// The claim stands.
    Committed,
    /// It was aborted.
    Aborted,
    /// It has ended.
    Released,
}

impl Decision {
    /// What it is to the claim.
    pub fn record(self) -> claiming::Decision {
        match self {
            Decision::Pending => claiming::Decision::Pending,
            Decision::Committed => claiming::Decision::Committed,
            Decision::Aborted => claiming::Decision::Aborted,
            Decision::Released => claiming::Decision::Released,
        }
    }

    /// Whether nothing can follow.
    pub fn is_over(self) -> bool {
        matches!(self, Decision::Aborted | Decision::Released)
    }
}

/// A batch Job. Its pods run from its start until it has finished, or has stopped after it was suspended.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The Match that it works for.
    pub of: Uid,
    /// The offers that it works on: names and uids.
    pub members: Vec<(u8, Uid)>,
    /// It is to stop, or was never started.
    pub suspended: bool,
    /// Pods run.
    pub runs: bool,
    /// It has finished.
    pub finished: bool,
}

impl Stored {
    /// The job, if it is one.
    pub fn job(&self) -> Option<&Job> {
        if let Body::Job(job) = &self.body { Some(job) } else { None }
    }

    /// The offer, if it is one.
    pub fn offer(&self) -> Option<&Offer> {
        if let Body::Offer(offer) = &self.body { Some(offer) } else { None }
    }

    /// The Match, if it is one.
    pub fn found(&self) -> Option<&Match> {
        if let Body::Match(found) = &self.body { Some(found) } else { None }
    }

    /// The batch Job, if it is one.
    pub fn batch(&self) -> Option<&Batch> {
        if let Body::Batch(batch) = &self.body { Some(batch) } else { None }
    }
}

impl Offer {
    /// What is taken: own seats, and each shared seat once.
    pub fn used(&self) -> i64 {
        let own: i64 = self.claims.values().filter(|entry| entry.share.is_none()).map(|entry| entry.takes).sum();
        own.saturating_add(self.shared.values().sum())
    }
}

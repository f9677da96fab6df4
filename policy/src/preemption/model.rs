//! What preemption is decided on, and what is decided.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::amounts::{Amount, Amounts, CHARGE};
use crate::quota::Quotas;

/// Why a gang may be preempted, in the order in which reasons are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Nothing has to be preempted.
    None,
    /// Every offer in question ranks the preemptor strictly higher.
    Rank,
    /// The preemptor takes back what is guaranteed to it, from an account that has borrowed it.
    Reclaim,
    /// The preemptor's part of the tree holds less for its weight, even afterwards.
    Share,
    /// Both are charged to the same account, and the preemptor has the higher priority.
    Priority,
}

/// What the administrator permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted {
    /// The modes that may be used.
    pub reasons: BTreeSet<Mode>,
    /// How long a gang runs undisturbed; twice as long for each time that its job was preempted before, up to 20 times.
    pub min_runtime_seconds: i64,
    /// How many gangs may end for one job.
    pub max_victims: usize,
    /// By share, no account is left with less for its weight than the account of the job then has.
    pub leaves_above: bool,
}

impl Permitted {
    /// Until when a gang runs undisturbed that was committed at this time and whose job was preempted so often before.
    #[must_use]
    pub fn undisturbed_until(&self, since: i64, preemptions: u32) -> i64 {
        let least = i128::from(self.min_runtime_seconds) << preemptions.min(20);
        i64::try_from(i128::from(since) + least).unwrap_or(i64::MAX)
    }
}

/// A claimed gang. `rank` and `requirements` are what the administrator's expressions evaluate to for the preemptor and this gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedGang {
    /// Its name, unique.
    pub name: String,
    /// The account that it is charged to. Without such an account it is left alone.
    pub account: String,
    /// Of its job.
    pub priority: i64,
    /// When it was committed, in seconds.
    pub since: i64,
    /// How often its job was preempted before.
    pub preemptions: u32,
    /// What it holds of every counter.
    pub takes: Amounts,
    /// The larger the sooner it is chosen.
    pub rank: Amount,
    /// Whether it may be preempted for another reason than rank.
    pub requirements: bool,
    /// Its offers.
    pub members: Vec<GangMember>,
}

/// One offer of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangMember {
    /// The offer.
    pub offer: String,
    /// By resource: what a candidate takes of the offer, or what the end of a claimed gang gives back. A seat that it shares with a gang that
    /// stays is not given back.
    pub amounts: BTreeMap<String, Amount>,
    /// The rank that the offer gives to the job.
    pub rank: Amount,
}

/// A job that has no gang without preemption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preemptor {
    /// The account that its gang would be charged to.
    pub account: String,
    /// Of the job.
    pub priority: i64,
}

/// A gang that the preemptor could have, if there were room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How much the job prefers it.
    pub own: Amount,
    /// What it would hold of every counter.
    pub takes: Amounts,
    /// Its offers, each once.
    pub members: Vec<GangMember>,
}

/// Which candidate, with which victims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The place of the candidate in the list given.
    pub candidate: usize,
    /// Places of the victims in the list of claimed gangs, in the order in which they were chosen.
    pub victims: Vec<usize>,
    /// The last of the modes that were needed, in their order.
    pub mode: Mode,
}

/// What one choice is compared by with another one for the same job, field by field, the smaller the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChoiceCost {
    /// How much the job prefers the gang.
    pub(super) own: Reverse<Amount>,
    pub(super) mode: Mode,
    /// How many gangs end.
    pub(super) victims: usize,
    /// The sum of their ranks.
    pub(super) ranks: Reverse<Amount>,
    /// The work that is lost, in charge times seconds.
    pub(super) lost: Amount,
}

/// Why nothing is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoVictims {
    /// There is no gang even if everything were free.
    NoCandidate,
    /// What may be preempted does not make enough room.
    NotEnoughVictims,
    /// It would take more victims than are permitted.
    TooManyVictims,
    /// A quota forbids the gang even without the victims.
    QuotaExceeded,
}

/// What all decisions of one cycle are made on.
#[derive(Clone, Debug)]
pub struct Preemption<'w> {
    /// What the administrator permits.
    pub permitted: &'w Permitted,
    /// In seconds.
    pub now: i64,
    /// What is held and granted now, all claimed gangs included.
    pub quotas: &'w Quotas<'w>,
    /// What is free, by offer and resource; absent: nothing.
    pub free: &'w BTreeMap<String, BTreeMap<String, Amount>>,
    /// Committed gangs that are not ending.
    pub gangs: &'w [ClaimedGang],
}

/// The charge of a gang, in micros.
pub(super) fn charge(takes: &Amounts) -> Amount {
    takes.get(CHARGE).copied().unwrap_or(0)
}

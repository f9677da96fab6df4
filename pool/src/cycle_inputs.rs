//! What a negotiation cycle reads besides the objects: what the controller knows and they do not show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use matchmaker::{AdKey, Ask};

use crate::key::ObjectKey;

/// A gang that is being claimed, and that the objects may not show yet. What it takes counts as taken.
#[derive(Clone, Debug)]
pub struct AssumedGang {
    /// Its Match.
    pub match_key: ObjectKey,
    /// What it takes, by offer.
    pub asks: Vec<(AdKey, Ask)>,
    /// The account that it is charged to, and what each of these offers costs it, in micros.
    pub charged: Option<(Arc<str>, Vec<policy::Amount>)>,
}

/// What a negotiation cycle reads besides the objects.
#[derive(Clone, Debug, Default)]
pub struct CycleInputs {
    /// Gangs that are being claimed.
    pub assumed: Vec<AssumedGang>,
    /// Uids of jobs that are not to be matched in this cycle.
    pub held_back: BTreeSet<String>,
    /// Uids of jobs that are roots although they are held, or held back: their claims are ending, and the offers that these have freed
    /// are not for jobs behind them in the queue. Gangs that are found for them are not claimed.
    pub returning: BTreeSet<String>,
    /// Uids of offers of which it is not known yet whether work goes on under a former object of the same name.
    pub unverified: BTreeSet<String>,
    /// Offers that refused a job and are not to be asked again yet, by the job's uid.
    pub exclusions: BTreeMap<String, BTreeSet<AdKey>>,
    /// Namespaces whose offers are left out for jobs of other namespaces, because of what they cost.
    pub barred: BTreeSet<String>,
    /// The time on a clock that does not jump, in milliseconds.
    pub now_ms: u64,
}

//! What reservations keep idle, and whether the claims that follow use as much: in charges and time, as accounts are charged.

use std::collections::BTreeMap;

use policy::Amount;
use pool::{Objects, recorded_charges};

use crate::accounts::charge_meter::ChargeMeter;

/// The claims of what was reserved, by the uids of their Matches.
#[derive(Debug, Default)]
pub(super) struct Uses(BTreeMap<String, Use>);

#[derive(Debug)]
struct Use {
    /// The uid of the job.
    job: String,
    account: String,
    /// What was kept idle for it, in micros times milliseconds.
    kept: Amount,
    /// What the claim costs, in micros; 0 until its Match is known.
    charge: Amount,
    since_ms: u64,
}

impl Uses {
    /// The claim of a job of an account begins, for which so much was kept idle.
    pub(super) fn begin(&mut self, claim: String, (job, account): (String, String), kept: ChargeMeter, now_ms: u64) {
        self.0.insert(claim, Use { job, account, kept: kept.sum, charge: 0, since_ms: now_ms });
    }

    /// The accounts of claims that have used enough by now, or have ended before; and whether it was enough.
    pub(super) fn judge(&mut self, objects: &Objects, now_ms: u64) -> Vec<(String, bool)> {
        let mut judged = Vec::new();
        self.0.retain(|claim, own| {
            if let Some(found) = objects.matches.by_uid(claim) {
                own.charge = recorded_charges(found).iter().sum();
            }
            let is_enough = own.charge * Amount::from(now_ms.saturating_sub(own.since_ms)) >= own.kept;
            let job = objects.jobs.by_uid(&own.job).map(|(_, held)| &held.object);
            let lasts = job.and_then(|job| job.claim()).is_some_and(|held| held.uid == *claim);
            if is_enough || !lasts {
                judged.push((own.account.clone(), is_enough));
            }
            lasts && !is_enough
        });
        judged
    }
}

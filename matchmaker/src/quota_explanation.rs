//! Explains after a cycle which quota stands against a gang, or against an offer, for people who ask why a root waits.
//!
//! It decides nothing: in a cycle, `within_quotas.rs` keeps gangs within the quotas.

use policy::{Bound, LEAST_CHARGE};

use crate::account_queue::{AccountQueue, NumberedCharge};
use crate::charges::Prices;
use crate::gang::Gang;
use crate::model::{AdId, Config, Root, Snapshot};
use crate::why_not::QuotaExceeded;

/// The quotas of a pool after a cycle.
pub struct QuotaExplanation<'s> {
    queue: AccountQueue<'s>,
    config: &'s Config,
    now: i64,
}

impl<'s> QuotaExplanation<'s> {
    /// The quotas when these gangs are held; none of a pool without accounts.
    pub fn of(snapshot: &'s Snapshot, gangs: &[Gang], config: &'s Config, now: i64) -> Option<QuotaExplanation<'s>> {
        let accounts = snapshot.accounts.as_deref()?;
        let queue = AccountQueue::after(snapshot, accounts, gangs, &mut Prices::of(config, now));
        Some(QuotaExplanation { queue, config, now })
    }

    /// The `max` that forbids a root this gang, if one does. What is set aside for others is left out: it depends on what is free.
    pub fn against(&self, root: &Root, gang: &Gang) -> Option<QuotaExceeded> {
        let mut charge = NumberedCharge::default();
        self.queue.numbered_charge_of(root, gang, (self.config, self.now), &mut charge);
        let exceeded = *self.queue.exceeded_by_charge(self.queue.leaf(root)?, &charge)?;
        matches!(exceeded, QuotaExceeded::Max { .. }).then_some(exceeded)
    }

    /// Whether a `max` forbids a root every gang with this offer.
    pub fn closes(&self, root: &Root, offer: AdId) -> bool {
        let Some(leaf) = self.queue.leaf(root) else { return false };
        let quotas = self.queue.quotas();
        let is_max = |bound: &Bound<'_>| matches!(bound, Bound::Max { .. });
        let has_none = |number, amount| quotas.bound(leaf, number, amount).as_ref().is_some_and(is_max);
        has_none(quotas.gangs_number(), 1)
            || has_none(quotas.charge_number(), LEAST_CHARGE)
            || self.queue.is_closed_to(leaf, offer, is_max)
    }
}

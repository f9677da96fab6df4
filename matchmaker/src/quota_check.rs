//! What quotas say to a root beside the gangs of a cycle, for explanations: the cycle itself asks its queue.

use policy::{LEAST_CHARGE, Node};

use crate::account_queue::AccountQueue;
use crate::charges::Prices;
use crate::gang::Gang;
use crate::model::{AdId, Config, Root, Snapshot};
use crate::why_not::QuotaExceeded;

/// The quotas of a pool after a cycle.
pub struct QuotaCheck<'s> {
    queue: AccountQueue<'s>,
    config: &'s Config,
    now: i64,
}

impl<'s> QuotaCheck<'s> {
    /// The quotas when these gangs are held; none of a pool without accounts.
    pub fn of(snapshot: &'s Snapshot, gangs: &[Gang], config: &'s Config, now: i64) -> Option<QuotaCheck<'s>> {
        let policy = snapshot.policy.as_deref()?;
        let queue = AccountQueue::after(snapshot, policy, gangs, &mut Prices::of(config, now));
        Some(QuotaCheck { queue, config, now })
    }

    /// Which quota does not let a root have this gang.
    pub fn against(&self, root: &Root, gang: &Gang) -> Option<QuotaExceeded> {
        let charge = self.queue.numbered_charge_of(root, gang, self.config, self.now);
        self.queue.exceeded_by_charge(self.own_roots(root)?, &charge)
    }

    /// Whether a quota lets a root have no gang with this offer.
    pub fn closes(&self, root: &Root, offer: AdId) -> bool {
        let Some(own_roots) = self.own_roots(root) else { return false };
        let quotas = self.queue.quotas();
        let has_none = |number, amount| quotas.bound_of(own_roots, number, amount).is_some();
        has_none(quotas.gangs(), 1)
            || has_none(quotas.charge(), LEAST_CHARGE)
            || self.queue.is_closed_to(own_roots, offer)
    }

    fn own_roots(&self, root: &Root) -> Option<Node> {
        self.queue.own_roots(root)
    }
}

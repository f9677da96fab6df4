//! Who pays for finding out what gangs cost.

use crate::budget::{FUEL_OF_A_STEP, Owners, StepShares};
use crate::charges::Prices;
use crate::finder::Turn;
use crate::model::Snapshot;

/// What the gangs of one root cost, and who pays for finding that out.
pub(super) struct Bill<'b> {
    pub(super) turn: &'b Turn<'b>,
    pub(super) prices: &'b mut Prices,
    pub(super) owners: &'b mut Owners,
    pub(super) shares: &'b mut StepShares,
}

impl Bill<'_> {
    /// Pays for what was evaluated since this was called last. Says whether more can be paid for.
    pub(super) fn settle(&mut self, snapshot: &Snapshot) -> bool {
        let own = self.prices.settle(snapshot, self.turn.ad, self.owners);
        self.shares.pay(self.turn.submitter, own / FUEL_OF_A_STEP);
        own == 0 || self.shares.left(self.turn.submitter) > 0
    }
}

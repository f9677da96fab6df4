//! The accounts of a simulated pool: what they hold, and what they have used.

use std::collections::BTreeMap;
use std::sync::Arc;

use matchmaker::{Accounts, ByAd, Gang, MemberCharges, RootAccounts, Seats};
use policy::{Account, Amount, Amounts, CHARGE, Claim, GANGS, Tree, Usage, charge};

use crate::fairness::pool::SLOTS;

/// One charge, in micros.
pub(super) const CHARGE_OF_ONE: Amount = 1_000_000;

/// What a gang costs: a charge for each machine.
pub(super) fn charge_of(gang: &Gang) -> Amount {
    (gang.members.len() as Amount - 1) * CHARGE_OF_ONE
}

/// What its members cost.
pub(super) fn charges_of(gang: &Gang) -> MemberCharges {
    (0..gang.members.len()).map(|place| if place == 0 { 0 } else { CHARGE_OF_ONE }).collect()
}

/// An account.
pub(super) struct Party {
    pub(super) name: Arc<str>,
    weight: i64,
    half_life: i64,
    pub(super) usage: Usage,
    /// What it is charged for, by job.
    claims: BTreeMap<usize, Claim>,
}

impl Party {
    pub(super) fn new(number: usize, weight: i64, half_life: i64) -> Party {
        let usage = Usage::default().with_half_life(half_life);
        Party { name: format!("account-{number}").into(), weight, half_life, usage, claims: BTreeMap::new() }
    }

    /// It has held this for ever.
    pub(super) fn has_always_held(&mut self, held: Amount) {
        self.usage = Usage::stored(held, self.usage.since(), self.usage.held()).with_half_life(self.half_life);
    }

    /// A claim of a job is committed.
    pub(super) fn begins(&mut self, job: usize, claim: Claim) {
        let from = claim.from;
        self.claims.insert(job, claim);
        self.usage.hold(from, charge(self.claims.values()));
    }

    /// The last entry of a claim is freed.
    pub(super) fn ends(&mut self, job: usize, now: i64) {
        self.claims.remove(&job);
        self.usage.hold(now, charge(self.claims.values()));
    }

    /// Another leader takes over, with what is stored and the claims that are known.
    pub(super) fn is_taken_over(&mut self, now: i64) {
        let claims: Vec<Claim> = self.claims.values().cloned().collect();
        let since = self.usage.since();
        let stored = Usage::stored(self.usage.at(since), since, self.usage.held()).with_half_life(self.half_life);
        self.usage = stored.taken_over(&claims, now);
    }
}

/// What the cycle knows of accounts. `nominated`: the accounts of nominations, and what each would cost.
pub(super) fn accounts_of(
    parties: &[Party],
    nominated: impl Iterator<Item = (usize, Amount)>,
    account_of: &RootAccounts,
    now: i64,
) -> Accounts {
    let mut held: Vec<(Amount, Amount)> =
        parties.iter().map(|own| (own.usage.held(), own.claims.len() as Amount)).collect();
    for (account, micros) in nominated {
        if let Some((charge, gangs)) = held.get_mut(account) {
            *charge += micros;
            *gangs += 1;
        }
    }
    let account = |(own, (charge, gangs)): (&Party, (Amount, Amount))| Account {
        weight: own.weight,
        usage: own.usage.at(now),
        held: Amounts::from([(CHARGE.into(), charge), (GANGS.into(), gangs)]),
        ..Account::named(&own.name)
    };
    Accounts {
        tree: Tree::new(parties.iter().zip(held).map(account)),
        total: Amounts::new(),
        account_of: account_of.clone(),
        offers: ByAd::default(),
        weights: BTreeMap::from([(SLOTS.to_owned(), CHARGE_OF_ONE)]),
        seats: Seats::default(),
        counters: Vec::new(),
        counting: BTreeMap::new(),
    }
}

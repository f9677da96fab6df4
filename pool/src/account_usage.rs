//! What accounts have used, reconstructed from what their statuses store and from the Matches that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{Account, charge_micros};
use kube::ResourceExt;
use policy::{Amount, Claim, Usage};

use crate::accounting::{Charged, charged_claim};
use crate::accounts::{Payer, Submitting};
use crate::key::ObjectKey;
use crate::nominations::{idle_claim, idle_claim_id, nominated};
use crate::objects::Objects;

/// How far a stored time may be ahead of the own one, in seconds: beyond that, it is taken for a mistake, and counts as now.
const AHEAD_MAX: i64 = 600;

/// What the status of an Account stores: usage and held charge in micros, time and half-life in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredUsage {
    /// The usage at its time.
    pub usage: Amount,
    /// The time.
    pub at: i64,
    /// The charge held since then.
    pub held: Amount,
    half_life: i64,
}

impl StoredUsage {
    /// What is stored of an account; none if nothing is.
    #[must_use]
    pub fn of(account: &Account) -> Option<StoredUsage> {
        let status = account.status.as_ref()?;
        let micros = |text: &Option<String>| text.as_deref().and_then(charge_micros);
        Some(StoredUsage {
            usage: micros(&status.usage)?,
            at: status.usage_time.as_ref()?.0.as_second(),
            held: micros(&status.charge)?,
            half_life: status.half_life_seconds.unwrap_or(0),
        })
    }

    /// Whether its time can be right.
    #[must_use]
    pub fn is_credible(&self, now: i64) -> bool {
        self.at <= now.saturating_add(AHEAD_MAX)
    }

    /// The usage at a time, if nothing is held after the stored time.
    #[must_use]
    pub fn at(self, time: i64) -> Amount {
        Usage::stored(self.usage, self.at, self.held).with_half_life(self.half_life.max(1)).at(time)
    }

    /// The usage now, with the claims of the account that are known; from then on with this half-life.
    #[must_use]
    pub fn taken_over(self, claims: &[Claim], now: i64, half_life: i64) -> Usage {
        let at = if self.is_credible(now) { self.at } else { now };
        let written_with = if self.half_life > 0 { self.half_life } else { half_life };
        let usage = Usage::stored(self.usage, at, self.held).with_half_life(written_with);
        usage.taken_over(claims, now).with_half_life(half_life)
    }
}

/// What one account holds and has used.
#[derive(Clone, Debug, Default)]
pub struct AccountUsage {
    /// Its usage.
    pub usage: Usage,
    /// The claims that are charged now, by the uids of their Matches; and what is kept idle for jobs, see [`idle_claim_id`].
    pub claims: BTreeMap<String, Claim>,
    /// The time that its status stores.
    pub stored_at: Option<i64>,
    /// For whom it is created, if it is not there: who had a claim that was charged to it.
    pub payer: Option<Payer>,
}

/// What all accounts hold and have used.
#[derive(Clone, Debug, Default)]
pub struct AllUsage {
    /// By account.
    pub accounts: BTreeMap<String, AccountUsage>,
    /// The uids of Matches whose claims are charged no more.
    pub ended: BTreeSet<String>,
    /// The Matches of the claims that are ending, and of which some offer still has the entry.
    pub ending: BTreeSet<ObjectKey>,
    /// The time of accounts: now, or the newest time that an account stores.
    pub time: i64,
}

/// What all accounts hold and have used at a time, in seconds; nothing without a PoolPolicy. An account of which nothing is stored is charged for
/// all claims that are known.
#[must_use]
pub fn account_usage(objects: &Objects, now: i64) -> AllUsage {
    let Some(known) = objects.accounts.policy() else { return AllUsage { time: now, ..AllUsage::default() } };
    let terms = &known.terms;
    let stored = |(name, account): (&String, &Arc<Account>)| Some((name.clone(), StoredUsage::of(account)?));
    let stored: BTreeMap<String, StoredUsage> = objects.accounts.iter().filter_map(stored).collect();
    let times = stored.values().filter(|stored| stored.is_credible(now)).map(|stored| stored.at);
    let time = times.chain([now]).max().unwrap_or(now);
    let submitting = Submitting::of(objects, terms);
    let mut all = AllUsage { time, ..AllUsage::default() };
    let mut claims: BTreeMap<String, BTreeMap<String, Claim>> =
        stored.keys().map(|name| (name.clone(), BTreeMap::new())).collect();
    let mut payers: BTreeMap<String, Payer> = BTreeMap::new();
    for (key, known) in objects.claims() {
        let found = known.found;
        let uid = found.uid().unwrap_or_default();
        let Some(charged) = charged_claim(found, objects, &submitting, terms) else { continue };
        let Charged { account, payer, claim } = charged;
        let claim = claim.by(time);
        if known.is_ending() && claim.to.is_none() {
            all.ending.insert(key.clone());
        }
        payers.entry(account.clone()).or_insert(payer);
        claims.entry(account).or_default().insert(uid, claim);
    }
    for (key, held, _) in nominated(objects) {
        let Some(Charged { account, payer, claim }) = idle_claim(&held.object, objects, &submitting, terms, time)
        else {
            continue;
        };
        payers.entry(account.clone()).or_insert(payer);
        claims.entry(account).or_default().insert(idle_claim_id(key), claim);
    }
    for (name, mut own) in claims {
        let list: Vec<Claim> = own.values().cloned().collect();
        let before = stored.get(&name).copied();
        let begun = list.iter().map(|claim| claim.from).min().unwrap_or(time).min(time);
        let fresh = || Usage::stored(0, begun, 0).with_half_life(terms.half_life).taken_over(&list, time);
        let usage = before.map_or_else(fresh, |stored| stored.taken_over(&list, time, terms.half_life));
        all.ended.extend(own.iter().filter(|(_, claim)| claim.to.is_some()).map(|(uid, _)| uid.clone()));
        own.retain(|_, claim| claim.to.is_none());
        let (stored_at, payer) = (before.map(|stored| stored.at), payers.remove(&name));
        all.accounts.insert(name, AccountUsage { usage, claims: own, stored_at, payer });
    }
    all
}

//! What reservations are decided on: which claims hold which offers, and when they end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::ad::PolicyTerms;
use crds::{Decision, Job, Match, Member};
use kube::ResourceExt;
use matchmaker::{Accounts, AdId, AdKey, Ask, HeldOffers, Snapshot};
use policy::{Amounts, CHARGE, taken_by_gang};

use crate::accounting::micros_of;
use crate::accounts::Submitting;
use crate::cycle_inputs::AssumedGang;
use crate::key::{ObjectKey, ask_of, key_of};
use crate::known_claims::KnownClaim;
use crate::nominations::nominated;
use crate::objects::Objects;
use crate::preemption::is_to_end;

/// What reservations are decided on.
#[derive(Clone, Debug, Default)]
pub struct ReservationInput {
    /// All claims that hold offers.
    pub held: Vec<HeldOffers>,
    /// When the claims of roots end at the latest, if they are found now; of those with `activeDeadlineSeconds`.
    pub ends: BTreeMap<AdId, i64>,
    /// Their `activeDeadlineSeconds`.
    pub active: BTreeMap<AdId, i64>,
    /// The offers that nominations hold.
    pub nominated: BTreeSet<AdKey>,
}

/// What reservations in a snapshot are decided on at a time; none without accounts.
pub fn reservation_input(
    objects: &Objects,
    snapshot: &Snapshot,
    assumed: &[AssumedGang],
    now: i64,
) -> Option<ReservationInput> {
    let known = objects.accounts.policy()?;
    let accounts = snapshot.accounts.as_ref()?;
    let submitting = Submitting::of(objects, &known.terms);
    let in_flight: BTreeSet<&ObjectKey> = assumed.iter().map(|gang| &gang.match_key).collect();
    let mut input = ReservationInput::default();
    for (key, KnownClaim { found, is_deleted }) in objects.claims() {
        let account = submitting.of_match(found, objects).0.into();
        let ends = if is_deleted { Some(now) } else { ends(found, objects, now) };
        let claim = Claim { found, account, ends, is_in_flight: in_flight.contains(key) };
        input.held.extend(claim.held(objects, (snapshot, accounts), &known.terms));
    }
    // Claims that are being made, and whose Matches are not known here yet. The gangs of nominations have no Match.
    let unseen = assumed.iter().filter(|gang| !gang.match_key.name.is_empty());
    for gang in unseen.filter(|gang| objects.claim(&gang.match_key).is_none()) {
        let Some((account, charges)) = &gang.charged else { continue };
        let asks = gang.asks.iter().filter_map(|(key, ask)| Some((snapshot.find(key)?, ask.clone())));
        let holds: Vec<(AdId, Ask)> = asks.collect();
        let takes = takes(accounts, holds.iter().map(|(ad, ask)| (*ad, ask)), charges.iter().sum());
        input.held.push(HeldOffers { account: Arc::clone(account), takes, ends: None, holds });
    }
    for root in &snapshot.roots {
        let key = snapshot.ad(root.ad).map(|ad| ObjectKey::new(&ad.key.namespace, &ad.key.name));
        let job = key.and_then(|key| objects.jobs.get(&key)).map(|held| &held.object);
        let active = job.and_then(|job| Some((job, i64::from(job.spec.active_deadline_seconds?))));
        input.ends.extend(active.map(|(job, active)| (root.ad, now.saturating_add(limit(job, active)))));
        input.active.extend(active.map(|(_, active)| (root.ad, active)));
    }
    let offers = nominated(objects).flat_map(|(_, _, nomination)| nomination.gang.iter().skip(1));
    input.nominated = offers.map(key_of).collect();
    Some(input)
}

/// How long a claim of a job lasts at most, from when its gang is found.
fn limit(job: &Job, active: i64) -> i64 {
    i64::from(job.spec.reserve_timeout_seconds).saturating_add(active)
}

/// When a claim ends at the latest; none if that is not known.
fn ends(found: &Match, objects: &Objects, now: i64) -> Option<i64> {
    let root = found.spec.members.first()?;
    let job = objects.job_of(root);
    let of_job = job.and_then(|job| job.spec.active_deadline_seconds).map(i64::from);
    let active = of_job.into_iter().chain(found.spec.active_deadline_seconds).min();
    match found.decision() {
        Decision::Pending => Some(now.saturating_add(limit(job?, active?))),
        Decision::Committed if !is_to_end(found, objects) => found.expires_at(job),
        Decision::Committed | Decision::Aborted | Decision::Released => Some(now),
    }
}

/// A claim that may hold offers.
struct Claim<'c> {
    found: &'c Match,
    account: Arc<str>,
    ends: Option<i64>,
    /// All of its offers count as taken.
    is_in_flight: bool,
}

impl Claim<'_> {
    /// What it holds; none if that is nothing.
    fn held(
        self,
        objects: &Objects,
        (snapshot, accounts): (&Snapshot, &Accounts),
        terms: &PolicyTerms,
    ) -> Option<HeldOffers> {
        let uid = self.found.uid()?;
        let holds = |member: &&Member| self.is_in_flight || objects.has_entry(member, &uid);
        let members: Vec<&Member> = self.found.spec.members.iter().skip(1).filter(holds).collect();
        let ask = |member: &&Member| Some((snapshot.find(&key_of(member))?, ask_of(member)));
        let holds: Vec<(AdId, Ask)> = members.iter().filter_map(ask).collect();
        let charge = members.iter().map(|member| micros_of(member, terms)).sum();
        let takes = takes(accounts, holds.iter().map(|(ad, ask)| (*ad, ask)), charge);
        (!holds.is_empty()).then_some(HeldOffers { account: self.account, takes, ends: self.ends, holds })
    }
}

/// What an account holds less of when a claim with such a charge on such offers has ended. A shared seat may be held by others still: its
/// charge does not count, nor does what counters count of it.
fn takes<'a>(accounts: &Accounts, holds: impl Iterator<Item = (AdId, &'a Ask)>, charge: policy::Amount) -> Amounts {
    let mut takes = Amounts::new();
    for (ad, ask) in holds.filter(|(_, ask)| ask.share.is_none()) {
        let counted = accounts.offers.get(ad);
        for (counter, amount) in
            counted.into_iter().flat_map(|counted| counted.counts(&accounts.counters, &ask.allocation))
        {
            *takes.entry(Arc::clone(counter)).or_default() += amount;
        }
    }
    let mut takes = taken_by_gang(charge, takes);
    takes.insert(CHARGE.into(), charge);
    takes
}

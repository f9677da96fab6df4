//! What accounts hold and count: Matches and gangs in flight into the accounts of a negotiation cycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::ad::{CounterTerms, PolicyTerms};
use crds::{Match, Member, charge_micros};
use matchmaker::{
    Accounts, AdKey, ByAd, COUNTER_FUEL, Config, CountedOffer, PoolAd, Ports, Res, RootAccounts, Seats, Snapshot,
    own_context, own_value,
};
use policy::{Amount, Amounts, CHARGE, Claim, Counter, GANGS, MemberCharge, Tree, charge};

use crate::accounts::{AccountList, Payer, Submitting};
use crate::cycle_inputs::AssumedGang;
use crate::key::{ObjectKey, key_of};
use crate::known_claims::has_entry;
use crate::objects::Objects;

/// Makes the accounts of cycles. What it remembers of the last one saves time and changes nothing.
#[derive(Debug, Default)]
pub struct AccountsBuilder {
    terms: Option<Arc<PolicyTerms>>,
    /// What each offer costs and what counts it, with the ad that this was made of.
    counted: BTreeMap<AdKey, (Arc<Ports>, Arc<CountedOffer>)>,
}

/// A counter, with the resource of which it counts amounts.
type CountedBy = (Counter, Option<String>);

/// What is counted of the offers of a snapshot.
type Counted = ByAd<Arc<CountedOffer>>;

impl AccountsBuilder {
    /// The accounts of a snapshot, with what they have used, in micros; none without a PoolPolicy.
    pub fn build(
        &mut self,
        objects: &Objects,
        snapshot: &Snapshot,
        assumed: &[AssumedGang],
        usage: &BTreeMap<String, Amount>,
    ) -> Option<Accounts> {
        let terms = Arc::clone(&objects.accounts.policy()?.terms);
        if !self.terms.as_ref().is_some_and(|known| Arc::ptr_eq(known, &terms)) {
            self.counted.clear();
            self.terms = Some(Arc::clone(&terms));
        }
        let (offers, counting) = self.offers(objects, snapshot, &terms);
        let submitting = Submitting::of(objects, &terms);
        let counter = |counter: &CounterTerms| (counter.name.as_str().into(), counter.resource.clone());
        let counters: Vec<CountedBy> = terms.counters.iter().map(counter).collect();
        let mut holdings = Holdings::of(AccountList::of(objects, &terms), snapshot, (&counters, &offers));
        for found in objects.claims().filter(|(_, claim)| claim.holds(objects)).map(|(_, claim)| claim.found) {
            let (account, submitter) = submitting.of_match(found, objects);
            holdings.accounts.add(&account, &submitter, &submitting);
            holdings.hold(&account.into(), found.spec.members.iter().skip(1).map(|member| held_member(member, &terms)));
        }
        for gang in assumed.iter().filter(|gang| objects.claim(&gang.match_key).is_none()) {
            let Some((account, charges)) = &gang.charged else { continue };
            let members = gang.asks.iter().zip(charges).map(|((key, ask), micros)| HeldMember {
                key: key.clone(),
                allocation: ask.allocation.clone(),
                share: ask.share.clone(),
                micros: *micros,
            });
            holdings.hold(account, members);
        }
        let mut account_of = RootAccounts::default();
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for root in &snapshot.roots {
            let Some(ad) = snapshot.ad(root.ad) else { continue };
            let Some(held) = objects.jobs.get(&ObjectKey::new(&ad.key.namespace, &ad.key.name)) else { continue };
            let (name, submitter) = submitting.of_job(&held.object);
            holdings.accounts.add(&name, &submitter, &submitting);
            let number = *numbers.entry(name).or_insert_with_key(|name| account_of.add(name.as_str().into()));
            account_of.insert(root.ad, number);
        }
        let weights = terms.weights.clone();
        let (tree, seats) = holdings.finish(usage);
        let total = total(snapshot, (&counters, &offers), &tree);
        Some(Accounts { tree, total, counters, account_of, offers, weights, seats, counting })
    }

    /// What offers cost, and what counts them; those of which there is nothing to say are left out. And the fuel that was used for it beyond
    /// what is usual, by the namespace of the offers.
    fn offers(
        &mut self,
        objects: &Objects,
        snapshot: &Snapshot,
        terms: &PolicyTerms,
    ) -> (Counted, BTreeMap<String, u64>) {
        let (mut all, mut counting) = (Counted::default(), BTreeMap::<String, u64>::new());
        for (id, ad) in snapshot.ads().filter(|(_, ad)| ad.offer().is_some()) {
            let known = self.counted.get(&ad.key).filter(|(ports, _)| Arc::ptr_eq(ports, &ad.ports));
            let counted = match known {
                Some((_, counted)) => Arc::clone(counted),
                None => {
                    let (counted, fuel) = counted_offer(objects, ad, terms);
                    let counted = Arc::new(counted);
                    if fuel > 0 {
                        *counting.entry(ad.key.namespace.clone()).or_default() += fuel;
                    }
                    self.counted.insert(ad.key.clone(), (Arc::clone(&ad.ports), Arc::clone(&counted)));
                    counted
                }
            };
            if counted.charge_weight.is_some() || !counted.counters.is_empty() {
                all.insert(id, counted);
            }
        }
        if self.counted.len() > snapshot.len().saturating_mul(2) {
            self.counted.retain(|key, _| snapshot.find(key).is_some());
        }
        (all, counting)
    }
}

/// The fuel that a counter's constraint usually takes: it compares a few attributes.
const USUAL_FUEL: u64 = COUNTER_FUEL / 4;

/// What an offer costs, and what counts it. A counter's constraint sees the offer's own ad, and no clock. And the fuel that constraints took
/// beyond what is usual.
fn counted_offer(objects: &Objects, ad: &PoolAd, terms: &PolicyTerms) -> (CountedOffer, u64) {
    let prepared = objects.offer_at(&ad.key).and_then(|offer| offer.ad.as_ref().ok());
    let charge_weight = prepared.and_then(|prepared| prepared.charge_weight.clone());
    let context = own_context(COUNTER_FUEL, &Config::product(), 0);
    let (mut counters, mut unusual) = (Vec::new(), 0);
    for (number, counter) in terms.counters.iter().enumerate() {
        let (value, fuel) = own_value(ad, &counter.constraint, None, &context);
        unusual += fuel.saturating_sub(USUAL_FUEL);
        if matches!(value, Some(classad::Value::Boolean(true))) {
            counters.push(number);
        }
    }
    (CountedOffer { charge_weight, counters }, unusual)
}

/// How much of each counter of a resource there is: what all accounts hold of it, and what is free of open offers. What counts
/// claims has no limit.
fn total(snapshot: &Snapshot, (counters, offers): (&[CountedBy], &Counted), tree: &Tree) -> Amounts {
    let of_resource = counters.iter().filter(|(_, resource)| resource.is_some());
    let mut total: Amounts = of_resource.map(|(counter, _)| (Arc::clone(counter), 0)).collect();
    for (id, counted) in offers.iter() {
        let Some(offer) = snapshot.ad(id).and_then(PoolAd::offer).filter(|offer| offer.open) else { continue };
        for (counter, resource) in counted.counters.iter().filter_map(|number| counters.get(*number)) {
            let Some((resource, sum)) = resource.as_ref().zip(total.get_mut(counter)) else { continue };
            let capacity = offer.capacity.get(resource).copied().unwrap_or(0);
            *sum += Amount::from(capacity.saturating_sub(snapshot.usage(id, offer).used(resource)).max(0));
        }
    }
    for (counter, amount) in tree.accounts().iter().flat_map(|account| &account.held) {
        if let Some(sum) = total.get_mut(counter) {
            *sum += amount;
        }
    }
    total
}

/// What one offer gives to a claim, and what that costs.
struct HeldMember {
    key: AdKey,
    allocation: Res,
    share: Option<String>,
    micros: Amount,
}

fn held_member(member: &Member, terms: &PolicyTerms) -> HeldMember {
    HeldMember {
        key: key_of(member),
        allocation: member.allocation.clone().unwrap_or_default().into(),
        share: member.share.clone(),
        micros: micros_of(member, terms),
    }
}

/// What a member of a Match costs, as it was recorded; one that was made without a PoolPolicy by the weights of the pool.
pub(crate) fn micros_of(member: &Member, terms: &PolicyTerms) -> Amount {
    let recorded = member.charge.as_deref().and_then(charge_micros);
    recorded.unwrap_or_else(|| {
        let allocation = member.allocation.iter().flatten();
        matchmaker::charge_by_weights(&terms.weights, allocation)
    })
}

/// What the offers of a Match cost, in micros, in the order of its members; without a PoolPolicy, nothing is recorded.
pub fn recorded_charges(found: &Match) -> Vec<Amount> {
    let recorded = |member: &Member| member.charge.as_deref().and_then(charge_micros).unwrap_or(0);
    found.spec.members.iter().skip(1).map(recorded).collect()
}

/// What accounts hold, while it is summed up.
struct Holdings<'s> {
    accounts: AccountList,
    snapshot: &'s Snapshot,
    counters: &'s [CountedBy],
    offers: &'s Counted,
    seats: Seats,
    claims: BTreeMap<Arc<str>, Vec<Claim>>,
}

impl<'s> Holdings<'s> {
    fn of(
        accounts: AccountList,
        snapshot: &'s Snapshot,
        (counters, offers): (&'s [CountedBy], &'s Counted),
    ) -> Holdings<'s> {
        Holdings { accounts, snapshot, counters, offers, seats: Seats::default(), claims: BTreeMap::new() }
    }

    /// An account holds a gang of these offers.
    fn hold(&mut self, account: &Arc<str>, members: impl Iterator<Item = HeldMember>) {
        let (mut sum, mut charges) = (Amounts::from([(GANGS.into(), 1)]), Vec::new());
        for HeldMember { key, allocation, share, micros } in members {
            let counted = self.snapshot.find(&key).and_then(|id| self.offers.get(id));
            let counts = counted.into_iter().flat_map(|counted| counted.counts(self.counters, &allocation));
            let counts = counts.map(|(counter, amount)| (Arc::clone(counter), amount));
            let amounts = counts.chain([(CHARGE.into(), micros)]).collect();
            for (counter, amount) in self.seats.take(account, &key, share.as_deref(), amounts) {
                *sum.entry(counter).or_default() += amount;
            }
            charges.push(MemberCharge { offer: key.to_string(), charge: micros, share });
        }
        sum.remove(CHARGE);
        self.accounts.hold(account, &sum);
        self.claims.entry(Arc::clone(account)).or_default().push(Claim { from: 0, to: None, members: charges });
    }

    /// The tree of the accounts, with what they have used, and the shared seats that they hold.
    fn finish(mut self, usage: &BTreeMap<String, Amount>) -> (Tree, Seats) {
        for (account, claims) in &self.claims {
            self.accounts.hold_charge(account, charge(claims));
        }
        self.accounts.used(usage);
        (self.accounts.into_tree(), self.seats)
    }
}

/// A claim that is charged.
#[derive(Clone, Debug)]
pub struct Charged {
    /// The name of its account.
    pub account: String,
    /// For whom the account is created, if it is not there.
    pub payer: Payer,
    /// What it costs, and from when to when.
    pub claim: Claim,
}

/// What a member of a Match is charged for.
pub(crate) fn member_charge(member: &Member, terms: &PolicyTerms) -> MemberCharge {
    MemberCharge { offer: key_of(member).to_string(), charge: micros_of(member, terms), share: member.share.clone() }
}

/// What is to be known of a claim for accounting; none if it was never committed.
pub fn charged_claim(
    found: &Match,
    objects: &Objects,
    submitting: &Submitting<'_>,
    terms: &PolicyTerms,
) -> Option<Charged> {
    let status = found.status.as_ref()?;
    let seconds = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.as_ref().map(|time| time.0.as_second())
    };
    let from = seconds(&status.committed_at)?;
    let is_over = found.decision().is_terminal() && !has_entry(found, objects);
    let to = if is_over { Some(seconds(&status.released_at).unwrap_or(from)) } else { None };
    let members = found.spec.members.iter().skip(1).map(|member| member_charge(member, terms)).collect();
    let (account, submitter) = submitting.of_match(found, objects);
    let payer = Payer { submitter, namespace: found.metadata.namespace.clone().unwrap_or_default() };
    Some(Charged { account, payer, claim: Claim { from, to, members } })
}

//! Nominations: what is held for jobs that wait. It counts as taken for all others, and is charged to the account of the job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::ad::PolicyTerms;
use crds::{Job, Nomination, charge_micros};
use kube::ResourceExt;
use matchmaker::{AdId, AdKey, Ask, Config, Disagreement, Gang, MemberCharges, PoolAd, Snapshot, Usage, verified};
use policy::{Amount, Claim, MemberCharge};

use crate::accounting::{Charged, member_charge, micros_of};
use crate::accounts::{Payer, Submitting};
use crate::cycle_inputs::{AssumedGang, CycleInputs};
use crate::key::{ObjectKey, ask_of, asks_of, key_of};
use crate::objects::Objects;
use crate::recorded_gang::gang_over;
use crate::store::Cached;
use crate::usage::usage;

/// What the gang of a nomination has come to.
#[derive(Clone, Debug)]
pub enum NominatedGang {
    /// All of it is free: the gang, with its score as it is now.
    Free(Gang),
    /// Some of it is held.
    Held(Gang),
    /// Some of it is held by gangs that end for other nominations. When they have ended, all of it is free.
    Ending(Gang),
    /// It is no gang any more.
    Broken,
}

/// The nomination of a job that no Match holds; none if it is not about this job.
pub fn nomination_of(job: &Job) -> Option<&Nomination> {
    let nomination = job.status.as_ref()?.nomination.as_ref()?;
    let is_own = nomination.gang.first().is_some_and(|root| root.uid == job.uid().unwrap_or_default());
    Some(nomination).filter(|_| is_own && job.claim().is_none())
}

/// The jobs with a nomination.
pub fn nominated(objects: &Objects) -> impl Iterator<Item = (&ObjectKey, &Cached<Job>, &Nomination)> {
    objects.jobs.iter().filter_map(|(key, held)| Some((key, held, nomination_of(&held.object)?)))
}

/// What nominations take, as gangs that are being claimed. Those of jobs whose claims are under way are left out.
pub fn nominated_gangs(objects: &Objects, under_way: &BTreeSet<String>) -> Vec<AssumedGang> {
    let is_others = |held: &Cached<Job>| !under_way.contains(&held.object.uid().unwrap_or_default());
    let mut of_others = nominated(objects).filter(|(_, held, _)| is_others(held)).peekable();
    if of_others.peek().is_none() {
        return Vec::new();
    }
    let submitting = objects.accounts.policy().map(|known| Submitting::of(objects, &known.terms));
    let assumed = |(key, held, nomination): (&ObjectKey, &Cached<Job>, &Nomination)| {
        let offers = nomination.gang.iter().skip(1);
        let charges = offers.map(|member| member.charge.as_deref().and_then(charge_micros).unwrap_or(0));
        let charges: Vec<Amount> = charges.collect();
        let account = submitting.as_ref().map(|submitting| submitting.of_job(&held.object).0);
        AssumedGang {
            // No Match has an empty name.
            match_key: ObjectKey::new(&key.namespace, ""),
            asks: asks_of(&nomination.gang).collect(),
            charged: account.map(|account| (Arc::from(account), charges)),
        }
    };
    of_others.map(assumed).collect()
}

impl CycleInputs {
    /// Where no claim is under way: what nominations hold counts as taken.
    pub fn of(objects: &Objects) -> CycleInputs {
        CycleInputs { assumed: nominated_gangs(objects, &BTreeSet::new()), ..CycleInputs::default() }
    }
}

/// What is done for the other nominations: what their victims still hold, and what they take, which are both counted as taken.
#[derive(Clone, Debug, Default)]
pub struct OtherNominations {
    /// What victims hold that have not ended.
    pub ending: Vec<(AdId, Ask)>,
    /// What is nominated.
    pub nominated: Vec<(AdId, Ask)>,
}

/// The gang of a nomination in a snapshot in which it counts as taken, as everything does that is nominated.
///
/// What a victim of another nomination holds and what that nomination takes may be the same slots, and must not count twice: a gang is held by
/// others if it does not fit even without these victims, and it is free if it fits beside all that is held now.
pub fn nominated_gang(
    snapshot: &Snapshot,
    nomination: &Nomination,
    others: &OtherNominations,
    (config, now): (&Config, i64),
) -> NominatedGang {
    let Some(gang) = gang_over(&nomination.gang, snapshot) else { return NominatedGang::Broken };
    let without = |more: &[(AdId, Ask)]| snapshot.freed(unshared(&gang).chain(more.iter().map(|(ad, ask)| (*ad, ask))));
    let at_last = without(&others.ending);
    let verified = match verified(&at_last, &gang, config, now) {
        Ok(verified) if !is_overfull(&at_last, &verified) => verified,
        Ok(_) | Err(Disagreement::NoRoom(_)) => return NominatedGang::Held(gang),
        Err(_) => return NominatedGang::Broken,
    };
    match without(&others.nominated).has_room(&verified) {
        true => NominatedGang::Free(verified),
        false => NominatedGang::Ending(gang),
    }
}

/// What the members of the gang of a nomination cost, as was recorded when it was found, in micros; that of the root is 0.
pub fn nominated_charges(nomination: &Nomination, terms: &PolicyTerms) -> MemberCharges {
    let charge = |(place, member): (usize, &crds::Member)| if place == 0 { 0 } else { micros_of(member, terms) };
    nomination.gang.iter().enumerate().map(charge).collect()
}

/// What is kept idle for a job that has a nomination, as a claim from now on: the offers of its gang that are free. None if nothing is. What is
/// still held is charged to those that hold it, and what jobs use meanwhile to these.
pub fn idle_claim(
    job: &Job,
    objects: &Objects,
    submitting: &Submitting<'_>,
    terms: &PolicyTerms,
    now: i64,
) -> Option<Charged> {
    let nomination = nomination_of(job)?;
    let mut taken: BTreeMap<AdKey, Usage> = BTreeMap::new();
    let mut is_idle = |member: &&crds::Member| {
        let Some(offer) = objects.offer_of(member).filter(|offer| offer.is(member)) else { return false };
        let ask = ask_of(member);
        let taken = taken.entry(key_of(member)).or_insert_with(|| usage(offer.status));
        let fits = taken.fits(&offer.capacity.clone().into(), &ask).is_ok();
        if fits {
            taken.take(&ask);
        }
        fits
    };
    let members = nomination.gang.iter().skip(1).filter(&mut is_idle).map(|member| member_charge(member, terms));
    let members: Vec<MemberCharge> = members.collect();
    let (account, submitter) = submitting.of_job(job);
    let payer = Payer { submitter, namespace: job.namespace().unwrap_or_default() };
    (!members.is_empty()).then_some(Charged { account, payer, claim: Claim { from: now, to: None, members } })
}

/// The name of what is kept idle for a job among the claims of its account. No uid of a Match is like it.
#[must_use]
pub fn idle_claim_id(key: &ObjectKey) -> String {
    format!("reserved for {key}")
}

/// What the gang of a nomination takes of offers, but for seats that can be shared; nothing if it is none any more.
pub fn taken_by_nomination(snapshot: &Snapshot, nomination: &Nomination) -> Vec<(AdId, Ask)> {
    let gang = gang_over(&nomination.gang, snapshot);
    let members = gang.into_iter().flat_map(|gang| gang.members).filter(|member| member.ask.share.is_none());
    members.map(|member| (member.ad, member.ask)).collect()
}

/// How many offers of a gang that counts as taken are free, and how many it has.
pub fn free_offers(snapshot: &Snapshot, gang: &Gang) -> (usize, usize) {
    let without = snapshot.freed(unshared(gang));
    let offers = || gang.members.iter().filter(|member| member.edge.is_some());
    (offers().filter(|member| without.fits(member)).count(), offers().count())
}

/// What a gang takes of offers, but for seats that can be shared.
fn unshared(gang: &Gang) -> impl Iterator<Item = (AdId, &Ask)> {
    gang.asks().filter(|(_, ask)| ask.share.is_none())
}

/// Whether more is taken of an offer whose seat the gang shares than there is: the seat counts as taken, though others may hold it.
fn is_overfull(snapshot: &Snapshot, gang: &Gang) -> bool {
    gang.members.iter().filter(|member| member.ask.share.is_some()).any(|member| {
        let offer = snapshot.ad(member.ad).and_then(PoolAd::offer);
        offer.is_some_and(|offer| {
            let usage = snapshot.usage(member.ad, offer);
            offer.capacity.iter().any(|(name, all)| usage.used(name) > *all)
        })
    })
}

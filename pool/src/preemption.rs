//! What preemption is decided on: the administrator's terms, and the gangs that are claimed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::ad::PolicyTerms;
use crds::{Decision, Match, Member, PreemptionReason};
use kube::ResourceExt;
use matchmaker::{Accounts, AdKey, Ask, HeldGang, PreemptionTerms, Snapshot};
use policy::{Amounts, CHARGE, Mode, Permitted, taken_by_gang};

use crate::accounting::micros_of;
use crate::accounts::Submitting;
use crate::key::key_of;
use crate::known_claims::{KnownClaim, has_entry};
use crate::nominations::nominated;
use crate::objects::Objects;
use crate::recorded_gang::held_over;

/// What preemption is decided on.
#[derive(Clone, Debug)]
pub struct PreemptionInput {
    /// The administrator's terms.
    pub terms: PreemptionTerms,
    /// The committed gangs that are not ending. Their names are the uids of their Matches.
    pub held: Vec<HeldGang>,
    /// The gangs that are ending, those that nominations name and those whose Matches were deleted among them.
    pub ending: Vec<HeldGang>,
}

/// What preemption in a snapshot is decided on; none if there is none.
pub fn preemption_input(objects: &Objects, snapshot: &Snapshot) -> Option<PreemptionInput> {
    let known = objects.accounts.policy()?;
    let rules = known.terms.preemption.as_ref()?;
    let accounts = snapshot.accounts.as_ref()?;
    let terms = PreemptionTerms {
        permitted: Permitted {
            reasons: rules.reasons.iter().map(|reason| mode_of(*reason)).collect(),
            min_runtime_seconds: rules.min_runtime_seconds,
            max_victims: rules.max_victims,
            leaves_above: true,
        },
        requirements: rules.requirements.clone(),
        rank: rules.rank.clone(),
    };
    let named: BTreeSet<&String> = nominated(objects).flat_map(|(_, _, nomination)| &nomination.victims).collect();
    let submitting = Submitting::of(objects, &known.terms);
    let mut input = PreemptionInput { terms, held: Vec::new(), ending: Vec::new() };
    let mut seats = TakenSeats::default();
    for KnownClaim { found, is_deleted } in objects.claims().map(|(_, claim)| claim) {
        let is_ending = match found.decision() {
            Decision::Pending | Decision::Aborted => continue,
            Decision::Committed if is_deleted => true,
            Decision::Committed => is_to_end(found, objects) || named.contains(&found.uid().unwrap_or_default()),
            Decision::Released if has_entry(found, objects) => true,
            Decision::Released => continue,
        };
        let seats = (&mut seats, objects);
        let Some(gang) = held_gang(found, seats, (snapshot, accounts), (&known.terms, &submitting)) else { continue };
        if is_ending { input.ending.push(gang) } else { input.held.push(gang) }
    }
    Some(input)
}

/// The mode of a reason.
fn mode_of(reason: PreemptionReason) -> Mode {
    match reason {
        PreemptionReason::Rank => Mode::Rank,
        PreemptionReason::Reclaim => Mode::Reclaim,
        PreemptionReason::Share => Mode::Share,
        PreemptionReason::Priority => Mode::Priority,
    }
}

/// The reason of a mode; none of `None`.
pub fn reason_of(mode: Mode) -> Option<PreemptionReason> {
    match mode {
        Mode::None => None,
        Mode::Rank => Some(PreemptionReason::Rank),
        Mode::Reclaim => Some(PreemptionReason::Reclaim),
        Mode::Share => Some(PreemptionReason::Share),
        Mode::Priority => Some(PreemptionReason::Priority),
    }
}

/// Whether a committed claim is about to be released: its job does not want it any more.
pub(crate) fn is_to_end(found: &Match, objects: &Objects) -> bool {
    let job = found.spec.members.first().and_then(|root| objects.job_of(root));
    let wants = |job: &crds::Job| !job.spec.done && !job.spec.suspend && job.metadata.deletion_timestamp.is_none();
    found.metadata.deletion_timestamp.is_some() || job.is_none_or(|job| !wants(job))
}

/// A claimed gang over the ads of a snapshot: what its Match says, whatever was edited since.
fn held_gang(
    found: &Match,
    (seats, objects): (&mut TakenSeats, &Objects),
    (snapshot, accounts): (&Snapshot, &Accounts),
    (terms, submitting): (&PolicyTerms, &Submitting<'_>),
) -> Option<HeldGang> {
    let (status, uid) = (found.status.as_ref()?, found.uid()?);
    let (mut gang, held) = held_over(&found.spec.members, snapshot);
    let own = found.spec.members.iter().skip(1).filter(|member| !seats.is_shared(member, objects));
    let (charge, mut takes) = (own.map(|member| micros_of(member, terms)).sum(), Amounts::new());
    for (member, recorded) in gang.members.iter_mut().zip(held).skip(1) {
        // A claim that is ending is freed offer by offer: what is freed already is not given back once more.
        if seats.is_shared(recorded, objects) || !objects.has_entry(recorded, &uid) {
            member.ask = Ask::default();
            continue;
        }
        let counted = accounts.offers.get(member.ad);
        for (counter, amount) in
            counted.into_iter().flat_map(|counted| counted.counts(&accounts.counters, &member.ask.allocation))
        {
            *takes.entry(Arc::clone(counter)).or_default() += amount;
        }
    }
    let (account, _) = submitting.of_match(found, objects);
    let root = found.spec.members.first()?;
    // Of a job that was deleted, nothing is known: its claim is ending.
    let job = objects.job_of(root);
    let preemptions = job.and_then(|job| job.status.as_ref()?.preemptions).unwrap_or(0);
    // An account pays the least charge for all its claims together with what it shares.
    let mut takes = taken_by_gang(charge, takes);
    takes.insert(CHARGE.into(), charge);
    Some(HeldGang {
        name: uid,
        account: Arc::from(account),
        priority: job.map_or(0, |job| i64::from(job.spec.priority)),
        since: status.committed_at.as_ref()?.0.as_second(),
        preemptions: u32::try_from(preemptions).unwrap_or(0),
        takes,
        gang,
    })
}

/// How many claims hold each shared seat of the offers that were asked about. Ledgers may have thousands of entries, and each is asked about for
/// each of them.
#[derive(Debug, Default)]
struct TakenSeats {
    by_offer: BTreeMap<AdKey, BTreeMap<String, usize>>,
    /// How many entries of ledgers were looked at.
    #[cfg(test)]
    looked_at: usize,
}

impl TakenSeats {
    /// Whether another claim shares the seat.
    fn is_shared(&mut self, member: &Member, objects: &Objects) -> bool {
        let Some(share) = &member.share else { return false };
        let key = key_of(member);
        if !self.by_offer.contains_key(&key) {
            let mut seats: BTreeMap<String, usize> = BTreeMap::new();
            let ledger = objects.offer_of(member).and_then(|offer| offer.status).map(|status| &status.claims);
            for entry in ledger.into_iter().flat_map(BTreeMap::values) {
                #[cfg(test)]
                {
                    self.looked_at += 1;
                }
                entry.share.iter().for_each(|share| *seats.entry(share.clone()).or_default() += 1);
            }
            self.by_offer.insert(key.clone(), seats);
        }
        self.by_offer.get(&key).and_then(|seats| seats.get(share)).is_some_and(|sharers| *sharers > 1)
    }
}

#[cfg(test)]
mod tests {
    use crds::{ClaimEntry, License, LicenseSpec, OfferStatus};

    use super::*;

    #[test]
    fn q5_each_entry_of_a_ledger_is_looked_at_once_however_many_claims_share_its_seats() {
        const CLAIMS: usize = 3000;
        let mut licence = License::new("l", LicenseSpec::default());
        (licence.metadata.namespace, licence.metadata.uid) = (Some("n".to_owned()), Some("l".to_owned()));
        let entry = |number: usize| {
            let share = (number > 0).then(|| format!("s{}", number / 2));
            (format!("u{number:04}"), ClaimEntry { share, ..ClaimEntry::default() })
        };
        licence.status = Some(OfferStatus { claims: (0..CLAIMS).map(entry).collect(), ..OfferStatus::default() });
        let (mut objects, mut seats) = (Objects::default(), TakenSeats::default());
        objects.licenses.put(licence);
        let member = |share: Option<String>| Member {
            kind: "License".to_owned(),
            namespace: "n".to_owned(),
            name: "l".to_owned(),
            uid: "l".to_owned(),
            share,
            ..Member::default()
        };
        let mut shared = 0;
        for number in 0..CLAIMS {
            shared += usize::from(seats.is_shared(&member(entry(number).1.share), &objects));
        }
        // The first one shares nothing, and of the second seat there is one claim.
        assert_eq!((shared, seats.looked_at), (CLAIMS - 2, CLAIMS));
    }
}

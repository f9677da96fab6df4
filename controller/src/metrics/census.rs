//! What is in the cache into the numbers that operators watch.

use std::collections::BTreeMap;

use crds::conditions::{reasons, types};
use crds::{Decision, JobPhase, Match, OfferKind, conditions};
use jiff::Timestamp;
use pool::{Objects, OfferRef, usage};

/// The resources that are summed up. Owners choose the names of others, which are no labels for that reason.
const RESOURCES: [&str; 4] = ["seats", "slots", "cpus", "memory"];
/// The most Licenses of one namespace that have series of their own.
const LICENSES_MAX: usize = 256;
/// All reasons of an offer's condition Ready.
const READY_REASONS: [&str; 12] = [
    reasons::AVAILABLE,
    reasons::CLAIMED,
    reasons::FULL,
    reasons::NOT_ACCEPTED,
    reasons::NAMESPACE_NOT_TRUSTED,
    reasons::DRAINING,
    reasons::EVICTING,
    reasons::AGENT_LOST,
    reasons::NODE_NOT_READY,
    reasons::NODE_CORDONED,
    reasons::NODE_MISSING,
    reasons::DUPLICATE_NODE,
];

/// The numbers, by the values of the labels of their metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Offers by kind and reason of Ready.
    pub(crate) offers: BTreeMap<[&'static str; 2], i64>,
    /// Amounts by kind and resource.
    pub(crate) capacity: BTreeMap<[&'static str; 2], i64>,
    pub(crate) claimed: BTreeMap<[&'static str; 2], i64>,
    pub(crate) external: BTreeMap<[&'static str; 2], i64>,
    /// Seats by namespace and name.
    pub(crate) license_seats: BTreeMap<[String; 2], i64>,
    pub(crate) license_seats_claimed: BTreeMap<[String; 2], i64>,
    pub(crate) license_seats_external: BTreeMap<[String; 2], i64>,
    /// Jobs by phase.
    pub(crate) jobs: BTreeMap<[&'static str; 1], i64>,
    pub(crate) oldest_wait_seconds: i64,
    /// Claims by state.
    pub(crate) claims: BTreeMap<[&'static str; 1], i64>,
    pub(crate) oldest_claim_seconds: BTreeMap<[&'static str; 1], i64>,
}

/// Counts what is known now. Licenses of these namespaces are counted one by one.
pub(crate) fn census(objects: &Objects, license_namespaces: &[String], now: Timestamp) -> Census {
    let mut census = Census::default();
    for offer in objects.offers() {
        census.count_offer(offer);
    }
    for namespace in license_namespaces {
        census.count_licenses(objects, namespace);
    }
    for (_, held) in objects.jobs.iter() {
        let job = held.object.as_ref();
        let status = job.status.as_ref();
        *census.jobs.entry([phase_text(status.and_then(|status| status.phase))]).or_default() += 1;
        let since = status.and_then(|status| status.waiting_since.as_ref()).map(|time| time.0);
        if let Some(since) = since {
            let before = status.and_then(|status| status.waited_seconds).unwrap_or(0);
            let waited = now.duration_since(since).as_secs().saturating_add(before);
            census.oldest_wait_seconds = census.oldest_wait_seconds.max(waited);
        }
    }
    for found in objects.matches.values() {
        if let Some((state, since)) = claim_state(found, objects) {
            *census.claims.entry([state]).or_default() += 1;
            if let Some(since) = since {
                let oldest = census.oldest_claim_seconds.entry([state]).or_default();
                *oldest = now.duration_since(since).as_secs().max(*oldest);
            }
        }
    }
    census
}

impl Census {
    fn count_offer(&mut self, offer: OfferRef<'_>) {
        let kind = match offer.kind {
            OfferKind::Machine => "Machine",
            OfferKind::License => "License",
        };
        *self.offers.entry([kind, ready_text(offer)]).or_default() += 1;
        if offer.ad.is_err() {
            return;
        }
        let used = usage(offer.status);
        for (resource, capacity) in offer.capacity {
            let Some(resource) = RESOURCES.into_iter().find(|known| known == resource) else { continue };
            let external = used.external.get(resource).copied().unwrap_or(0);
            let claimed = used.used(resource).saturating_sub(external);
            let amounts =
                [(&mut self.capacity, *capacity), (&mut self.claimed, claimed), (&mut self.external, external)];
            for (sums, amount) in amounts {
                let sum = sums.entry([kind, resource]).or_default();
                *sum = sum.saturating_add(amount);
            }
        }
    }

    fn count_licenses(&mut self, objects: &Objects, namespace: &str) {
        let here = objects.licenses.iter().filter(|(key, held)| key.namespace == namespace && held.ad.is_ok());
        for (key, held) in here.take(LICENSES_MAX) {
            let offer = OfferRef::from(held);
            let used = usage(offer.status);
            let seats = offer.capacity.get("seats").copied().unwrap_or(0);
            let external = used.external.get("seats").copied().unwrap_or(0);
            let labels = [key.namespace.clone(), key.name.clone()];
            self.license_seats.insert(labels.clone(), seats);
            self.license_seats_claimed.insert(labels.clone(), used.used("seats").saturating_sub(external));
            self.license_seats_external.insert(labels, external);
        }
    }
}

/// The reason of its condition Ready, if it is one that is known.
fn ready_text(offer: OfferRef<'_>) -> &'static str {
    let ready = offer.status.and_then(|status| conditions::find(&status.conditions, types::READY));
    let known = |reason: &str| READY_REASONS.into_iter().find(|known| *known == reason);
    ready.and_then(|ready| known(&ready.reason)).unwrap_or("Unknown")
}

/// The phase as a label.
pub(crate) fn phase_text(phase: Option<JobPhase>) -> &'static str {
    match phase {
        None => "New",
        Some(JobPhase::Pending) => "Pending",
        Some(JobPhase::Reserving) => "Reserving",
        Some(JobPhase::Claimed) => "Claimed",
        Some(JobPhase::Running) => "Running",
        Some(JobPhase::Suspended) => "Suspended",
        Some(JobPhase::Succeeded) => "Succeeded",
        Some(JobPhase::Failed) => "Failed",
        Some(JobPhase::Cancelled) => "Cancelled",
    }
}

/// The state of a claim, and since when it has had it; none if it is over.
fn claim_state(found: &Match, objects: &Objects) -> Option<(&'static str, Option<Timestamp>)> {
    match found.decision() {
        Decision::Pending => Some(("Pending", found.metadata.creation_timestamp.as_ref().map(|time| time.0))),
        Decision::Committed => Some(("Committed", None)),
        Decision::Aborted | Decision::Released => is_ending(found, objects).then(|| ("Ending", ended_at(found))),
    }
}

/// Whether something still holds a claim that has ended: the job, or the ledger of an offer.
fn is_ending(found: &Match, objects: &Objects) -> bool {
    let Some(uid) = found.metadata.uid.as_deref() else { return false };
    let Some((root, offers)) = found.spec.members.split_first() else { return false };
    let is_held = objects.job_of(root).and_then(|job| job.claim()).is_some_and(|claim| claim.uid == uid);
    is_held || offers.iter().any(|offer| objects.has_entry(offer, uid))
}

/// When a claim ended that is not committed any more.
fn ended_at(found: &Match) -> Option<Timestamp> {
    let status = found.status.as_ref()?;
    let claimed = || conditions::find(&status.conditions, types::CLAIMED).map(|claimed| &claimed.last_transition_time);
    status.released_at.as_ref().or_else(claimed).map(|time| time.0)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::fixtures::{entry, key, license, machine, world};

    /// One in which each number has a value.
    pub(crate) fn full() -> Census {
        let kind = BTreeMap::from([(["License", "seats"], 3)]);
        let seats = BTreeMap::from([(["eda".to_owned(), "sim".to_owned()], 3)]);
        Census {
            offers: BTreeMap::from([(["License", "Available"], 1)]),
            capacity: kind.clone(),
            claimed: kind.clone(),
            external: kind,
            license_seats: seats.clone(),
            license_seats_claimed: seats.clone(),
            license_seats_external: seats,
            jobs: BTreeMap::from([(["Pending"], 2)]),
            oldest_wait_seconds: 5,
            claims: BTreeMap::from([(["Pending"], 1)]),
            oldest_claim_seconds: BTreeMap::from([(["Pending"], 7)]),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_795_269_600 + seconds).unwrap()
    }

    #[test]
    fn amounts_are_summed_by_kind_and_names_are_counted_where_it_is_asked_for() {
        let mut objects = world(&json!({"decision": "Committed"}));
        let mut status = entry("seats");
        status["externalUsage"] = json!({"seats": 3});
        let mut second = license(&json!({"capacity": {"seats": 10, "of-an-owner": 5}}), &status);
        (second.metadata.name, second.metadata.uid) = (Some("second".to_owned()), Some("u-second".to_owned()));
        objects.licenses.put(second);
        let counted = census(&objects, &[], at(0));
        assert_eq!(counted.capacity, BTreeMap::from([(["License", "seats"], 11), (["Machine", "slots"], 1)]));
        assert_eq!(counted.claimed, BTreeMap::from([(["License", "seats"], 2), (["Machine", "slots"], 1)]));
        assert_eq!(counted.external.get(&["License", "seats"]), Some(&3));
        assert_eq!((counted.license_seats.len(), counted.claims.get(&["Committed"])), (0, Some(&1)));
        let named = census(&objects, &["ns".to_owned(), "empty".to_owned()], at(0));
        let second = ["ns".to_owned(), "second".to_owned()];
        let [seats, claimed, external] =
            [&named.license_seats, &named.license_seats_claimed, &named.license_seats_external];
        assert_eq!([seats, claimed, external].map(|all| all[&second]), [10, 1, 3]);
        assert_eq!(seats.len(), 2);
    }

    #[test]
    fn a_reason_that_is_not_known_is_no_label() {
        let ready = |reason: &str| {
            let since = "2026-11-21T14:00:00Z";
            let conditions = json!([{"type": "Ready", "status": "False", "reason": reason, "message": "", "lastTransitionTime": since}]);
            let mut objects = Objects::default();
            objects.machines.put(machine(&json!({}), &json!({"conditions": conditions})));
            census(&objects, &[], at(0)).offers.into_keys().next().unwrap()
        };
        assert_eq!(ready("AgentLost"), ["Machine", "AgentLost"]);
        assert_eq!(ready("Forged"), ["Machine", "Unknown"]);
    }

    #[test]
    fn the_oldest_wait_counts_what_was_waited_before() {
        let mut objects = Objects::default();
        let status = json!({"phase": "Pending", "waitingSince": at(-60).to_string(), "waitedSeconds": 40});
        objects.jobs.put(crate::testing::fixtures::job(&json!({}), &status));
        let counted = census(&objects, &[], at(0));
        assert_eq!((counted.oldest_wait_seconds, counted.jobs), (100, BTreeMap::from([(["Pending"], 1)])));
    }

    #[test]
    fn a_claim_that_has_ended_counts_until_nothing_holds_it() {
        let released = json!({"decision": "Released", "reason": "Done", "releasedAt": at(-30).to_string()});
        let mut objects = world(&released);
        let counted = census(&objects, &[], at(0));
        assert_eq!(counted.claims, BTreeMap::from([(["Ending"], 1)]));
        assert_eq!(counted.oldest_claim_seconds, BTreeMap::from([(["Ending"], 30)]));
        for name in ["job", "machine", "license"] {
            objects.jobs.remove(&key(name));
            objects.machines.remove(&key(name));
            objects.licenses.remove(&key(name));
        }
        assert_eq!(census(&objects, &[], at(0)).claims, BTreeMap::new());
    }
}

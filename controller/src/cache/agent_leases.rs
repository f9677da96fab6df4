//! Leases of agents, as they are seen to change, into which agents are alive: by this process's own clock, never by comparing clocks.

use std::collections::{BTreeMap, BTreeSet};

use crds::OfferKind;
use pool::{AgentLiveness, ObjectKey, Objects, lease_key};

/// Since when each Lease is what it is.
#[derive(Debug, Default)]
pub(crate) struct AgentLeases {
    seen: BTreeMap<ObjectKey, SeenLease>,
    /// When all Leases had been listed: from then on one that is not seen is not there.
    listed_ms: Option<u64>,
    /// The Leases whose renewal would change something.
    awaited: BTreeSet<ObjectKey>,
    /// A Lease was seen that may say something new of its agent.
    heard: bool,
    /// When an agent falls silent, as far as was known at the last look.
    next_ms: Option<u64>,
}

#[derive(Debug)]
struct SeenLease {
    /// A digest of what it says. `None`: it was deleted, or has no holder.
    held: Option<u64>,
    since_ms: u64,
}

/// What is known of all agents, by kind and key of their offers, if that may have changed; and when the next of them falls silent.
pub(crate) type Liveness = (Option<BTreeMap<(OfferKind, ObjectKey), AgentLiveness>>, Option<u64>);

impl AgentLeases {
    /// All Leases have been listed: these.
    pub(crate) fn listed(&mut self, all: &BTreeSet<ObjectKey>, now_ms: u64) {
        self.listed_ms.get_or_insert(now_ms);
        self.heard = true;
        self.seen.iter_mut().filter(|(key, _)| !all.contains(*key)).for_each(|(_, heartbeat)| heartbeat.held = None);
    }

    /// Takes in a Lease as it was seen, by a digest of what it says; `None`: there is none, or it has no holder. Returns whether the main loop waits
    /// for that.
    pub(crate) fn saw(&mut self, key: ObjectKey, held: Option<u64>, now_ms: u64) -> bool {
        let awaited = self.awaited.contains(&key);
        match self.seen.get_mut(&key) {
            // given back or deleted: since when it is silent counts from its last renewal
            Some(known) if held.is_none() => {
                self.heard |= known.held.is_some();
                known.held = None;
            }
            Some(known) if known.held == held => return false,
            _ if held.is_none() => return false,
            _ => drop(self.seen.insert(key, SeenLease { held, since_ms: now_ms })),
        }
        self.heard |= awaited;
        awaited
    }

    /// What a Lease says of an agent that may be silent for so long; and until when that holds if nothing is seen.
    pub(crate) fn life(&self, key: &ObjectKey, silence_ms: u64, now_ms: u64) -> (AgentLiveness, Option<u64>) {
        let heartbeat = self.seen.get(key);
        let Some(since_ms) = heartbeat.map(|heartbeat| heartbeat.since_ms).or(self.listed_ms) else {
            return (AgentLiveness::Unknown, None);
        };
        let until_ms = since_ms.saturating_add(silence_ms).saturating_add(1);
        match (heartbeat.is_some_and(|heartbeat| heartbeat.held.is_some()), now_ms < until_ms) {
            (true, true) => (AgentLiveness::Renewed, Some(until_ms)),
            (true, false) => (AgentLiveness::Expired, None),
            (false, true) => (AgentLiveness::Unknown, Some(until_ms)),
            (false, false) => (AgentLiveness::Absent, None),
        }
    }

    /// What all agents' Leases say now. Nothing, if that is what was said last: no offer has changed, no Lease has changed, and no agent
    /// was to fall silent by now.
    pub(crate) fn lives(&mut self, objects: &Objects, offers_changed: bool, now_ms: u64) -> Liveness {
        let waits = self.next_ms.is_none_or(|next| now_ms < next);
        if !offers_changed && !std::mem::take(&mut self.heard) && waits {
            return (None, self.next_ms);
        }
        self.heard = false;
        let (mut all, mut next) = (BTreeMap::new(), None::<u64>);
        let mut named = BTreeSet::new();
        self.awaited.clear();
        for offer in objects.offers() {
            let Some(seconds) = offer.silence_seconds() else { continue };
            let lease = lease_key(offer.kind, &offer.key());
            let (life, until_ms) = self.life(&lease, seconds.saturating_mul(1000), now_ms);
            next = next.into_iter().chain(until_ms).min();
            if life != AgentLiveness::Renewed {
                self.awaited.insert(lease.clone());
            }
            named.insert(lease);
            all.insert((offer.kind, offer.key()), life);
        }
        // Leases that are gone and belong to no offer are forgotten: any tenant can make them, one name after the other.
        self.seen.retain(|lease, heartbeat| heartbeat.held.is_some() || named.contains(lease));
        self.next_ms = next;
        (Some(all), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE_MS: u64 = 20_000;

    fn lease(holder: &str, transitions: i32) -> Option<u64> {
        let spec = serde_json::json!({"holderIdentity": holder, "leaseTransitions": transitions});
        serde_json::from_value::<pool::AgentLease>(serde_json::json!({"spec": spec})).unwrap().held
    }

    fn life(heartbeats: &AgentLeases, now_ms: u64) -> AgentLiveness {
        heartbeats.life(&ObjectKey::new("n", "l"), SILENCE_MS, now_ms).0
    }

    #[test]
    fn a_lease_counts_from_its_last_change_that_was_seen() {
        let mut heartbeats = AgentLeases::default();
        let key = || ObjectKey::new("n", "l");
        heartbeats.saw(key(), lease("a", 0), 5);
        assert_eq!(
            (life(&heartbeats, 5 + SILENCE_MS), life(&heartbeats, 6 + SILENCE_MS)),
            (AgentLiveness::Renewed, AgentLiveness::Expired)
        );
        heartbeats.saw(key(), lease("a", 0), 10_000);
        assert_eq!(life(&heartbeats, 6 + SILENCE_MS), AgentLiveness::Expired, "seen again is not renewed");
        heartbeats.saw(key(), lease("a", 1), 11_000);
        assert_eq!(life(&heartbeats, 11_000 + SILENCE_MS), AgentLiveness::Renewed);
    }

    #[test]
    fn one_that_is_given_back_or_deleted_is_not_held_and_falls_silent_in_its_time() {
        for given_back in [None, lease("", 2)] {
            let mut heartbeats = AgentLeases::default();
            let key = || ObjectKey::new("n", "l");
            heartbeats.saw(key(), lease("a", 1), 5);
            heartbeats.saw(key(), given_back, 6);
            assert_eq!(
                (life(&heartbeats, 7), life(&heartbeats, 6 + SILENCE_MS)),
                (AgentLiveness::Unknown, AgentLiveness::Absent)
            );
            heartbeats.saw(key(), lease("a", 1), 60_000);
            assert_eq!(life(&heartbeats, 60_001), AgentLiveness::Renewed, "it is back");
        }
    }

    #[test]
    fn one_that_was_never_seen_is_absent_only_after_its_time() {
        let mut heartbeats = AgentLeases::default();
        assert_eq!(life(&heartbeats, 1_000_000), AgentLiveness::Unknown, "nothing was listed yet");
        heartbeats.listed(&BTreeSet::new(), 1_000_000);
        heartbeats.listed(&BTreeSet::new(), 2_000_000);
        assert_eq!(life(&heartbeats, 1_000_000 + SILENCE_MS), AgentLiveness::Unknown);
        assert_eq!(life(&heartbeats, 1_000_001 + SILENCE_MS), AgentLiveness::Absent);
    }

    #[test]
    fn leases_that_come_and_go_without_an_offer_are_forgotten() {
        let (mut heartbeats, objects) = (AgentLeases::default(), Objects::default());
        for number in 0..100 {
            let key = ObjectKey::new("n", &format!("gangmatch-machine-{number}"));
            heartbeats.saw(key.clone(), lease("a", 0), 5);
            heartbeats.saw(key, None, 6);
        }
        assert_eq!(heartbeats.seen.len(), 100);
        heartbeats.lives(&objects, false, 7);
        assert_eq!(heartbeats.seen.len(), 0);
    }

    #[test]
    fn a_renewal_is_awaited_only_of_whoever_is_not_alive() {
        let mut objects = Objects::default();
        let agent = serde_json::json!({"claimPolicy": "Agent", "agent": {"username": "a", "leaseDurationSeconds": 20}});
        objects.machines.put(crate::testing::fixtures::machine(&agent, &serde_json::json!({})));
        let mut heartbeats = AgentLeases::default();
        let key = || ObjectKey::new("ns", "gangmatch-machine-machine");
        let only = |(lives, next): Liveness| (lives.unwrap_or_default().into_values().collect::<Vec<_>>(), next);
        assert_eq!(only(heartbeats.lives(&objects, true, 0)).0, [AgentLiveness::Unknown]);
        assert!(heartbeats.saw(key(), lease("a", 1), 5));
        assert_eq!(only(heartbeats.lives(&objects, false, 6)), (vec![AgentLiveness::Renewed], Some(6 + SILENCE_MS)));
        assert!(!heartbeats.saw(key(), lease("a", 2), 7), "it is alive: nothing changes");
        assert_eq!(heartbeats.lives(&objects, false, 8), (None, Some(6 + SILENCE_MS)), "and nobody looks");
        assert_eq!(
            only(heartbeats.lives(&objects, false, 6 + SILENCE_MS)),
            (vec![AgentLiveness::Renewed], Some(8 + SILENCE_MS))
        );
        assert_eq!(only(heartbeats.lives(&objects, false, 8 + SILENCE_MS)), (vec![AgentLiveness::Expired], None));
        assert!(heartbeats.saw(key(), lease("a", 3), 9 + SILENCE_MS));
        assert_eq!(only(heartbeats.lives(&objects, false, 9 + SILENCE_MS)).0, [AgentLiveness::Renewed]);
    }
}

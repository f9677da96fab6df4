//! What must hold after every change; and, when the world has come to rest, that nothing leaks and nobody waits in vain.

use claiming::Vote;

use crate::nominated::Preemptions;
use crate::objects::{Decision, Match, ObjectName, Offer, Stored, Uid};
use crate::server::{ModelServer, StoredChange};

/// Who works where, beside the batch Jobs: the offer, the uid of its object, the Match.
pub type AtWork = Vec<(u8, Uid, Uid)>;

/// What history has shown that objects no longer do: all Matches that ever were, and which of them have stood.
#[derive(Default)]
pub struct Chronicle {
    /// By uid: what it said at first, and whether it ever was committed.
    pub matches: std::collections::BTreeMap<Uid, (Match, bool)>,
    /// What has become of nominations and of their victims.
    pub preemptions: Preemptions,
}

impl Chronicle {
    /// Takes a change in; what it breaks by itself.
    pub fn note(&mut self, change: &StoredChange, now_ms: u64) -> Option<String> {
        if let Some(broken) = self.preemptions.note(change, now_ms) {
            return Some(broken);
        }
        let after = change.after.as_deref()?;
        if let Some(found) = after.found() {
            let known = self.matches.entry(after.uid).or_insert_with(|| (found.clone(), false));
            known.1 |= found.decision == Decision::Committed;
            let before = change.before.as_ref().and_then(|before| before.found()).map(|found| found.decision);
            let turned =
                matches!((before, found.decision), (Some(Decision::Committed), Decision::Aborted | Decision::Pending))
                    || matches!(before, Some(was) if was.is_over() && was != found.decision);
            if turned {
                return Some(format!("I3: match {} was {before:?} and is {:?}", after.uid, found.decision));
            }
        }
        self.ledger(change, after).or_else(|| self.job(change, after))
    }

    fn ledger(&self, change: &StoredChange, after: &Stored) -> Option<String> {
        let offer = after.offer()?;
        let old = change.before.as_ref().filter(|before| before.uid == after.uid).and_then(|before| before.offer());
        let was = old.map_or(0, Offer::used);
        if offer.used() > offer.capacity && offer.used() > was {
            return Some(format!("I1: {:?} gives {} of {}", after.key, offer.used(), offer.capacity));
        }
        if old.is_some_and(|old| old.epoch > offer.epoch) {
            return Some(format!("I7: an old leader has written to {:?}", after.key));
        }
        for uid in offer.claims.keys().filter(|uid| old.is_none_or(|old| !old.claims.contains_key(uid))) {
            let member = self.matches.get(uid).map(|(found, _)| found.members.iter());
            let mut same = member?.filter(|member| ObjectName::Offer(member.offer) == after.key);
            if !same.any(|member| (member.uid, member.generation) == (after.uid, after.generation)) {
                return Some(format!("I6: {:?} is reserved and is not what was matched", after.key));
            }
        }
        None
    }

    fn job(&self, change: &StoredChange, after: &Stored) -> Option<String> {
        let (_, uid) = after.job()?.claim?;
        let before = change.before.as_ref().filter(|before| before.uid == after.uid);
        if before.and_then(|before| before.job()?.claim).is_some() {
            return None;
        }
        let (found, _) = self.matches.get(&uid)?;
        let same = (found.root.1, found.root.2) == (after.uid, after.generation);
        (!same).then(|| format!("I6: {:?} is claimed and is not what was matched", after.key))
    }

    /// What the world as a whole breaks.
    pub fn broken(&self, server: &ModelServer, at_work: &AtWork) -> Option<String> {
        let mut works: Vec<(Uid, Vec<(u8, Uid)>)> =
            at_work.iter().map(|(offer, object, claim)| (*claim, vec![(*offer, *object)])).collect();
        let batches = server.objects.values().filter_map(|stored| stored.batch()).filter(|batch| batch.runs);
        works.extend(batches.map(|batch| (batch.of, batch.members.clone())));
        for (place, (claim, objects)) in works.iter().enumerate() {
            // an agent whose offer is gone may not have noticed yet: nothing on the server tells of it
            let unnoticed = place < at_work.len() && !objects.iter().any(|(offer, uid)| is_there(server, *offer, *uid));
            let Some((found, stood)) = self.matches.get(claim).filter(|_| !unnoticed) else { continue };
            if !stood {
                return Some(format!("I4: match {claim} works and was never committed"));
            }
            if let Some(what) = lacks(server, *claim, found, false) {
                return Some(format!("I4: match {claim} works and {what}"));
            }
            let job = |uid: &Uid| self.matches.get(uid).map(|(found, _)| found.root.1);
            let twice = works.iter().take(place).any(|(other, objects)| {
                let there = objects.iter().any(|(offer, uid)| is_there(server, *offer, *uid));
                other != claim && there && job(other) == job(claim)
            });
            if twice {
                return Some(format!("I2: match {claim} and another one work for one job"));
            }
        }
        // on one object the ledger counts (I1, and I4: whoever works is in it); on two objects of one name nobody does
        let objects: Vec<(u8, Uid)> = works.iter().flat_map(|(_, objects)| objects.iter().copied()).collect();
        let other = |(offer, uid): &&(u8, Uid)| objects.iter().any(|(name, object)| name == offer && object != uid);
        let twice = objects.iter().find(other);
        twice
            .map(|(offer, _)| format!("I5: offer {offer} is worked on for a former object of its name, too"))
            .or_else(|| self.state(server))
    }

    fn state(&self, server: &ModelServer) -> Option<String> {
        let mut roots: Vec<Uid> = Vec::new();
        for stored in server.objects.values() {
            let Some(found) = stored.found().filter(|found| found.decision == Decision::Committed) else { continue };
            if roots.contains(&found.root.1) {
                return Some(format!("I2: two matches of job {} stand", found.root.0));
            }
            roots.push(found.root.1);
            if let Some(what) = lacks(server, stored.uid, found, true) {
                return Some(format!("I3: match {} stands and {what}", stored.uid));
            }
        }
        None
    }
}

fn is_there(server: &ModelServer, offer: u8, uid: Uid) -> bool {
    server.objects.get(&ObjectName::Offer(offer)).is_some_and(|stored| stored.uid == uid)
}

/// What of a gang's members that are still there is not held.
fn lacks(server: &ModelServer, claim: Uid, found: &Match, voted: bool) -> Option<String> {
    let root = server.objects.get(&ObjectName::Job(found.root.0)).filter(|stored| stored.uid == found.root.1);
    if root.and_then(|stored| stored.job()).is_some_and(|job| job.claim.map(|held| held.1) != Some(claim)) {
        return Some("its job is not held".to_owned());
    }
    found.members.iter().find_map(|member| {
        let stored = server.objects.get(&ObjectName::Offer(member.offer)).filter(|stored| stored.uid == member.uid)?;
        match stored.offer()?.claims.get(&claim) {
            None => Some(format!("offer {} is not held", member.offer)),
            Some(entry) if voted && entry.agent.is_some_and(|agent| agent.vote != Vote::Accepted) => {
                Some(format!("offer {} has not accepted", member.offer))
            }
            Some(_) => None,
        }
    })
}

/// At rest: entries, claims and Matches that stand are the same set.
pub fn leaks(server: &ModelServer) -> Option<String> {
    let live = |uid: &Uid| {
        let mut all = server.objects.values().filter(|stored| stored.uid == *uid);
        all.any(|stored| stored.found().is_some_and(|found| found.decision == Decision::Committed))
    };
    for stored in server.objects.values() {
        if let Some(found) = stored.found().filter(|found| found.decision == Decision::Pending) {
            return Some(format!("I9: match {} of job {} is never decided", stored.uid, found.root.0));
        }
        let held = stored.offer().into_iter().flat_map(|offer| offer.claims.keys().copied());
        let held = held.chain(stored.job().and_then(|job| job.claim).map(|claim| claim.1));
        let held = held.chain(stored.batch().filter(|batch| !batch.finished).map(|batch| batch.of));
        if let Some(uid) = held.into_iter().find(|uid| !live(uid)) {
            return Some(format!("I9: {:?} is held by match {uid}, which does not stand", stored.key));
        }
        let offer = stored.offer().filter(|offer| {
            let used = |share: &String| offer.claims.values().any(|entry| entry.share.as_ref() == Some(share));
            !offer.shared.keys().all(used)
        });
        if offer.is_some() {
            return Some(format!("I9: {:?} has a shared seat on which nobody sits", stored.key));
        }
    }
    None
}

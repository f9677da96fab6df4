//! An object before and after a write into the rule of the API that refuses it, if one does. Named as in `crds/src/rules.rs`.

use claiming::{Activity, Vote};

use crate::objects::{Body, Decision, HeldClaim, Job, Match, Offer};
use crate::planted::Planted;

/// The rule that refuses this change.
pub fn refuses(old: Option<&Body>, new: &Body, planted: Planted) -> Option<&'static str> {
    match (old, new) {
        (Some(Body::Job(old)), Body::Job(new)) => job(old, new),
        (Some(Body::Offer(old)), Body::Offer(new)) => offer(old, new, planted),
        (Some(Body::Match(old)), Body::Match(new)) => decision(old, new, planted),
        _ => None,
    }
}

fn job(old: &Job, new: &Job) -> Option<&'static str> {
    let held = matches!((&old.claim, &new.claim), (Some(before), Some(after)) if before != after);
    let finished = new.finished && new.claim.is_some() && old.claim.is_none();
    let replaced = matches!((&old.nomination, &new.nomination), (Some(before), Some(after)) if before != after);
    held.then_some("J1").or(finished.then_some("J2")).or(replaced.then_some("J4"))
}

fn offer(old: &Offer, new: &Offer, planted: Planted) -> Option<&'static str> {
    let same_holders = old.claims.keys().eq(new.claims.keys()) && old.shared == new.shared;
    let grows = !same_holders && new.used() > new.capacity && new.used() > old.used();
    if grows && planted != Planted::NoCapacityRule {
        return Some("C1");
    }
    let seated = |entry: &HeldClaim| entry.share.as_ref().is_none_or(|key| new.shared.get(key) >= Some(&entry.takes));
    if !new.claims.values().all(seated) {
        return Some("C4");
    }
    let active = |entry: &HeldClaim| entry.agent.is_some_and(|agent| agent.activity == Activity::Active);
    let removed = old.claims.iter().filter(|(uid, _)| !new.claims.contains_key(uid));
    if planted != Planted::RemovesActive && removed.into_iter().any(|(_, entry)| active(entry)) {
        return Some("C5");
    }
    let born = new.claims.iter().filter(|(uid, _)| !old.claims.contains_key(uid));
    if born.into_iter().any(|(_, entry)| entry.agent.is_some_and(|agent| agent.vote != Vote::Pending)) {
        return Some("C6");
    }
    if new.epoch < old.epoch {
        return Some("epoch");
    }
    let pairs = new.claims.iter().filter_map(|(uid, entry)| Some((old.claims.get(uid)?, entry)));
    pairs.into_iter().find_map(|(before, after)| entry(before, after))
}

fn entry(old: &HeldClaim, new: &HeldClaim) -> Option<&'static str> {
    let terms = (old.of, old.takes, &old.share) == (new.of, new.takes, &new.share);
    if !terms || old.agent.is_some() != new.agent.is_some() {
        return Some("E1");
    }
    let (Some(was), Some(is)) = (old.agent, new.agent) else { return None };
    let forward = match (was.activity, is.activity) {
        (before, after) if before == after => true,
        (Activity::Idle, _) | (Activity::Active, Activity::Ended | Activity::Lost) => true,
        _ => false,
    };
    let rules = [
        (was.vote == is.vote || was.vote == Vote::Pending, "E2"),
        (forward, "E3"),
        (is.activity != Activity::Active || is.committed, "E4"),
        (!was.committed || is.committed, "E5"),
        (!was.release || is.release, "E6"),
        (was.activity == is.activity || is.activity != Activity::Active || !was.release, "E7"),
        (old.ballot == 0 || old.ballot == new.ballot, "E8"),
        (!is.committed || is.vote == Vote::Accepted, "E9"),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map(|(_, rule)| rule)
}

fn decision(old: &Match, new: &Match, planted: Planted) -> Option<&'static str> {
    let goes = matches!(
        (old.decision, new.decision),
        (Decision::Pending, Decision::Committed | Decision::Aborted) | (Decision::Committed, Decision::Released)
    );
    let holds = old.decision == new.decision || goes || planted == Planted::DecidesTwice;
    (!holds).then_some("M3")
}

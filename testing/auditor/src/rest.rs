//! What has to hold once nothing is under way: nothing leaks, and nobody waits for a gang that is there.

use crds::conditions::{self, reasons, types};
use crds::{Decision, Match};
use gangindex::negotiate;
use matchmaker::Config;
use pool::{CycleInputs, JobState, Objects, job_state, snapshot};

use crate::checks::gathered;
use crate::world::decision;
use crate::{Invariant, Key, Object, ObjectKind, Violation, World};

/// Everything that is broken if nothing is under way any more. `now` is in seconds since 1970, `revision` is the last one.
#[must_use]
pub fn at_rest(world: &World, revision: i64, now: i64) -> Vec<Violation> {
    let violation = |invariant, key: &Key, what| Violation { invariant, revision, key: key.clone(), what };
    let mut all = Vec::new();
    for (key, object) in world.objects() {
        all.extend(leaks(key, object, world).into_iter().map(|what| violation(Invariant::NoLeak, key, what)));
    }
    let waiting = in_vain(&gathered(world.objects()), now);
    all.extend(waiting.iter().map(|(key, what)| violation(Invariant::NobodyWaitsInVain, key, what.clone())));
    all
}

fn leaks(key: &Key, object: &Object, world: &World) -> Vec<String> {
    let mut all = Vec::new();
    let stands = |uid: &str| world.found(uid).filter(|found| decision(found) == Decision::Committed);
    if let Some(ledger) = object.ledger() {
        let unheld = |uid: &&String| !stands(uid).is_some_and(|found| names(found, key, object.uid()));
        all.extend(
            ledger.claims.keys().filter(unheld).map(|uid| format!("an entry of {uid}, whose claim does not stand")),
        );
        let empty = |seat: &&String| !ledger.claims.values().any(|entry| entry.share.as_ref() == Some(seat));
        all.extend(ledger.shared.keys().filter(empty).map(|seat| format!("nobody sits on the seat `{seat}`")));
    }
    if let Some(uid) = object.claimed_by()
        && !stands(uid).is_some_and(|found| names(found, key, object.uid()))
    {
        all.push(format!("it says it is claimed by {uid}, whose claim does not stand"));
    }
    if let Some(uid) = world.works_for(object)
        && stands(uid).is_none()
        && object.work().is_some_and(|work| work.ended.is_none())
    {
        all.push(format!("it is there for {uid}, whose claim does not stand"));
    }
    if object.found().is_some_and(|found| decision(found) == Decision::Pending) {
        all.push("it is still undecided".to_owned());
    }
    if object.found().is_some_and(|found| decision(found) == Decision::Committed)
        && world.claimed_by(object.uid()).next().is_none()
    {
        all.push("it stands, and its job does not say so".to_owned());
    }
    all
}

fn names(found: &Match, key: &Key, uid: &str) -> bool {
    found.spec.members.iter().any(|member| member.uid == uid && member.name == key.name)
}

/// The jobs that wait though the engine finds a gang, and those that are not told why they wait.
fn in_vain(objects: &Objects, now: i64) -> Vec<(Key, String)> {
    let pool = snapshot(objects, &CycleInputs::default());
    let cycle = negotiate(&pool, &Config::product(), now);
    let roots = cycle.gangs.iter().filter_map(|gang| pool.ad(gang.root()?));
    let mut all: Vec<(Key, String)> = roots
        .map(|root| {
            (
                Key::new(ObjectKind::Job, &root.key.namespace, &root.key.name),
                "it waits, and there is a gang for it".to_owned(),
            )
        })
        .collect();
    for (key, held) in objects.jobs.iter().filter(|(_, held)| job_state(held, objects) == JobState::Waits) {
        let status = held.object.status.as_ref();
        let matched = status.and_then(|status| conditions::find(&status.conditions, types::MATCHED));
        let told = matched.is_some_and(|found| found.status == "False" && found.reason != reasons::PENDING_EVALUATION);
        if !told {
            all.push((
                Key::new(ObjectKind::Job, &key.namespace, &key.name),
                "it waits, and is not told why".to_owned(),
            ));
        }
    }
    all
}

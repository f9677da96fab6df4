//! What is committed was reserved as it was matched, and fits together on the members as their reserves left them.

use std::sync::Arc;

use crds::{Decision, Match};
use matchmaker::{Config, Disagreement, verify};
use pool::{Objects, OwnerTrust, gang_of};

use crate::checks::Step;
use crate::world::decision;
use crate::{Invariant, Key, Object, ObjectKind, Violation};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some(found) = step.after.and_then(Object::found) else { return Vec::new() };
    let was = step.same().and_then(|(before, _)| before.found()).map(decision);
    if decision(found) != Decision::Committed || was == Some(Decision::Committed) {
        return Vec::new();
    }
    let uid = found.metadata.uid.as_deref().unwrap_or("");
    let reserved: Vec<(&Key, &Arc<Object>)> = step.past.reserved(uid).collect();
    let mut all = Vec::new();
    for member in &found.spec.members {
        let key = ObjectKind::of(&member.kind).map(|kind| Key::new(kind, &member.namespace, &member.name));
        let object = reserved.iter().find(|(held, _)| key.as_ref() == Some(held)).map(|(_, object)| object);
        let as_matched =
            |object: &&&Arc<Object>| (object.uid(), object.generation()) == (&member.uid, member.generation);
        if object.filter(as_matched).is_none() {
            let what = format!(
                "committed, and {} {}/{} was never reserved as it was matched",
                member.kind, member.namespace, member.name
            );
            all.push(step.violation(Invariant::Validity, what));
        }
    }
    // Who looked again after a restart saw the members later than their reserves.
    let now = step.world.objects().filter(|(key, _)| reserved.iter().any(|(held, _)| held == key));
    if let Err(why) = fits(found, reserved.iter().copied())
        && fits(found, now).is_err()
    {
        all.push(step.violation(Invariant::Validity, format!("committed, and it does not fit together: {why}")));
    }
    all
}

fn fits<'o>(found: &Match, members: impl Iterator<Item = (&'o Key, &'o Arc<Object>)>) -> Result<(), String> {
    let objects = gathered(members);
    let Some(recalled) = gang_of(found, &objects) else { return Err("a member is not what was matched".to_owned()) };
    let config = Config { seed: u64::try_from(found.spec.cycle.seed).unwrap_or(0), ..Config::product() };
    let at = found.status.as_ref().and_then(|status| status.committed_at.as_ref());
    match verify(&recalled.snapshot, &recalled.gang, &config, at.map_or(0, |time| time.0.as_second())) {
        // Labels of namespaces are not among what is audited.
        Ok(()) | Err(Disagreement::NotAllowed(_)) => Ok(()),
        Err(disagreement) => Err(disagreement.to_string()),
    }
}

/// Objects as the engine takes them.
pub(crate) fn gathered<'o>(members: impl Iterator<Item = (&'o Key, &'o Arc<Object>)>) -> Objects {
    let mut objects = Objects::new(OwnerTrust::Stamped);
    for (_, object) in members {
        match object.as_ref() {
            Object::Job(job) => objects.jobs.put(*job.clone()),
            Object::Machine(machine) => objects.machines.put(*machine.clone()),
            Object::License(license) => objects.licenses.put(*license.clone()),
            Object::Match(found) => objects.matches.put(*found.clone()),
            Object::Batch(_) | Object::Pod(_) => {}
        }
    }
    objects
}

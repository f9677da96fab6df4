//! A job is in one gang at a time; and whose Match is committed is held, with every member that was not deleted.

use std::collections::BTreeSet;

use crds::{Decision, Match, Member, Vote};

use crate::checks::Step;
use crate::world::decision;
use crate::{Invariant, Key, Object, ObjectKind, Violation, World};

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let touched = step.touched();
    let found: Vec<&Match> = touched.iter().filter_map(|uid| step.world.found(uid)).collect();
    let committed = found.iter().filter(|found| decision(found) == Decision::Committed);
    let mut all: Vec<Violation> = committed
        .flat_map(|found| torn(found, step.world))
        .map(|what| step.violation(Invariant::AllOrNothing, what))
        .collect();
    let roots: BTreeSet<&str> =
        found.iter().filter_map(|found| Some(found.spec.members.first()?.uid.as_str())).collect();
    all.extend(roots.into_iter().filter_map(|root| doubled(step, root)));
    all.extend(foreign(step));
    all
}

/// More than one Match of this job that is undecided or stands.
fn doubled(step: &Step<'_>, root: &str) -> Option<Violation> {
    let open = step.world.of_root(root).filter(|found| !decision(found).is_terminal());
    let names: Vec<&str> = open.filter_map(|found| found.metadata.name.as_deref()).collect();
    let what = || format!("the job with uid {root} is in {} gangs: {}", names.len(), names.join(", "));
    (names.len() > 1).then(|| step.violation(Invariant::OneGang, what()))
}

/// What a committed Match does not hold and should.
fn torn(found: &Match, world: &World) -> Vec<String> {
    let uid = found.metadata.uid.as_deref().unwrap_or("");
    let mut all = Vec::new();
    for (place, member) in found.spec.members.iter().enumerate() {
        let Some((key, object)) = there(member, world) else { continue };
        let what = match place {
            0 if object.claimed_by() == Some(uid) => None,
            0 => Some(format!("committed, and {key} is claimed by {}", object.claimed_by().unwrap_or("nobody"))),
            _ => match world.entry(&key, uid) {
                None => Some(format!("committed, and {key} has no entry of it")),
                Some(entry) if entry.vote != Vote::Accepted => {
                    Some(format!("committed, and {key} voted {:?}", entry.vote))
                }
                Some(entry) if Some(&entry.allocation) != member.allocation.as_ref() || entry.share != member.share => {
                    Some(format!("committed, and {key} holds something else for it than what was recorded"))
                }
                Some(_) => None,
            },
        };
        all.extend(what);
    }
    all
}

/// The member, unless it was deleted.
pub(super) fn there<'w>(member: &Member, world: &'w World) -> Option<(Key, &'w Object)> {
    let key = Key::new(ObjectKind::of(&member.kind)?, &member.namespace, &member.name);
    let object = world.get(&key)?;
    (object.uid() == member.uid).then_some((key, object.as_ref()))
}

/// A job that says it is claimed by a Match that is another job's, or was never there.
fn foreign(step: &Step<'_>) -> Option<Violation> {
    let after = step.after?;
    let uid = after.claimed_by()?;
    let root = step.past.members(uid).first();
    let own = root.is_some_and(|root| root.uid == after.uid());
    let what = || format!("it says it is claimed by {uid}, which is no Match of its own");
    (!own).then(|| step.violation(Invariant::OneGang, what()))
}

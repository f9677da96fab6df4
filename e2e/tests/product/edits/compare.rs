//! Turns a namespace whose ads were edited into a comparison with ads that were not: the three comparisons of `edits.rs`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use testbed::until;

use super::world::{Id, KINDS, State, World};
use super::{count, edit};
use crate::edits::sequence::Sequence;
use crate::stage::LIMIT;

/// The first one: a job that waits does what a new job of the same spec does beside it.
pub(super) fn with_twins(sequence: &Sequence<'_>, state: &State) -> Result<(), String> {
    let world = &sequence.lived;
    for job in edit::JOBS.into_iter().filter(|job| state.phase(job) == "Pending") {
        let twin: Id = ("Job", format!("{job}-twin"));
        world.create(&twin, &sequence.specs[&("Job", job.to_owned())])?;
        let mut seen = (Value::Null, Value::Null);
        let same = until("a job that waits to be like its twin", LIMIT, || {
            let state = world.read();
            let mut view = state.view(&world.namespace);
            let mut take = |job: &str| view.remove(&format!("Job {job}")).unwrap_or_default();
            seen = (take(job), take(&twin.1));
            // A job that is claimed after all was not forgotten.
            let is_claimed = state.phase(job) == "Claimed";
            Ok(((is_claimed || seen.0 == seen.1) && sequence.unrest(&state).is_empty()).then_some(()))
        });
        same.map_err(|_| format!("Job {job} waits, and a twin of it does not do the same:\n{}\n{}", seen.0, seen.1))?;
        world.delete(&twin);
        sequence.rest("the namespace to come to rest without the twin")?;
        count(&sequence.run.figures.twins, 1);
    }
    Ok(())
}

/// The second one and the third: without claims, and then job by job, the ads are what new ones of the same specs are.
pub(super) fn with_new_ads(sequence: &Sequence<'_>) -> Result<(), String> {
    let (lived, specs) = (&sequence.lived, &sequence.specs);
    let fresh = World::new(sequence.run.requests, lived.namespace.replace("-lived", "-fresh"));
    let suspend = |world: &World<'_>, id: &Id, value: bool| {
        let answer = world.set(id, &[("suspend".to_owned(), Some(json!(value)))]);
        answer.map(drop).map_err(|refusal| format!("suspend: {refusal:?}"))
    };
    let jobs: Vec<&Id> = specs.keys().filter(|id| id.0 == "Job").collect();
    for id in &jobs {
        suspend(lived, id, true)?;
    }
    // Offers and jobs are compared without claims only when all claims have ended.
    let is_free = |state: &State| jobs.iter().all(|id| !state.is_claimed(&id.1));
    until("all claims to end", LIMIT, || Ok(is_free(&lived.read()).then_some(())))
        .map_err(|error| error.to_string())?;
    for (id, spec) in KINDS.iter().flat_map(|kind| specs.iter().filter(|(id, _)| id.0 == kind.0)) {
        let mut spec = spec.clone();
        if id.0 == "Job" {
            spec["suspend"] = json!(true);
        }
        fresh.create(id, &spec)?;
    }
    look_the_same(lived, &fresh, "everything suspended")?;
    for id in jobs.into_iter().filter(|id| specs[*id]["suspend"] != true) {
        let both = |value: bool, when: &str| {
            suspend(lived, id, value)?;
            suspend(&fresh, id, value)?;
            look_the_same(lived, &fresh, &format!("job {} {when}", id.1))
        };
        // A seat can be taken a moment longer in one namespace than in the other, and its job takes another that is as good. What
        // comes from edits does so again.
        if both(false, "goes on").is_err() {
            count(&sequence.run.figures.again, 1);
            both(true, "is suspended again")?;
            both(false, "goes on again")?;
        }
    }
    let state = fresh.read();
    count(&sequence.run.figures.claimed, edit::JOBS.iter().filter(|job| state.is_claimed(job)).count());
    [lived, &fresh].into_iter().try_for_each(is_deleted)
}

/// Nothing of what is deleted stays: no ad by a finalizer, no Match without its job.
fn is_deleted(world: &World<'_>) -> Result<(), String> {
    world.delete_everything();
    let gone = until("everything that was deleted to be gone", LIMIT, || {
        let state = world.read();
        Ok((state.ads.is_empty() && state.matches.is_empty()).then_some(()))
    });
    gone.map_err(|error| error.to_string())
}

/// Waits until both are at rest and look the same.
fn look_the_same(lived: &World<'_>, fresh: &World<'_>, when: &str) -> Result<(), String> {
    let mut different = Vec::new();
    let same = until("both namespaces to look the same", LIMIT, || {
        let [edited, new] = [lived, fresh].map(|world| (world.read(), &world.namespace));
        different = [&edited.0, &new.0].map(|state| state.unrest(&BTreeSet::new())).concat();
        let [edited, new] = [edited, new].map(|(state, namespace)| state.view(namespace));
        let text =
            |view: &BTreeMap<String, Value>, name: &String| view.get(name).map(Value::to_string).unwrap_or_default();
        let names: BTreeSet<&String> = edited.keys().chain(new.keys()).collect();
        let differs = names.into_iter().filter(|name| edited.get(*name) != new.get(*name));
        let tell = |name| format!("{name}\n  edited: {}\n  new:    {}", text(&edited, name), text(&new, name));
        different.extend(differs.map(tell));
        Ok(different.is_empty().then_some(()))
    });
    same.map_err(|_| format!("{when}:\n{}", different.join("\n")))
}

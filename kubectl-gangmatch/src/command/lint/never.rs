//! Jobs into warnings of conditions that no offer can ever meet. That of a text alone is found where it stands; these take the job's own
//! attributes to know, as in `other.Memory >= Least && other.Memory < 64` with `Least` 100.

use gangindex::Engine;
use matchmaker::{Config, Unmatched, Verdict};
use pool::{CycleInputs, ObjectKey, Objects, SnapshotBuilder, explained};

use crate::manifests::Problem;
use crate::offline::Sources;

/// Warnings by the place of the port.
pub(super) fn never(objects: Objects, sources: &Sources) -> Vec<Problem> {
    let jobs = Objects { jobs: objects.jobs, ..Objects::default() };
    let pool = SnapshotBuilder::default().build(&jobs, &CycleInputs::default());
    let cycle = Engine::default().negotiate(&pool, &Config::product(), 0);
    let of_job = |unmatched: &Unmatched| {
        let Verdict::Never { port, core } = &unmatched.verdict else { return None };
        let key = &pool.ad(unmatched.root)?.key;
        let key = ObjectKey::new(&key.namespace, &key.name);
        let source = sources.get(&("Job", key.clone()))?;
        let spec = &jobs.jobs.get(&key)?.object.spec.ad;
        // Who owns the job is known in a cluster only.
        let parts = &unmatched.ports.get(*port)?.conjuncts;
        let reads_owner =
            |part: &usize| parts.get(*part).is_some_and(|part| part.text.to_lowercase().contains("owner"));
        if spec.owner.is_none() && core.iter().any(reads_owner) {
            return None;
        }
        let field = match (&spec.classad, spec.ports.is_none()) {
            (Some(_), _) => "spec.classad".to_owned(),
            (None, true) => "spec.constraint".to_owned(),
            (None, false) => format!("spec.ports[{port}].constraint"),
        };
        let why = explained(unmatched, &[]).why;
        Some(Problem {
            place: source.field(&field, 1),
            text: format!("Job {}/{}: {field}: {why}", key.namespace, key.name),
        })
    };
    cycle.unmatched.iter().filter_map(of_job).collect()
}

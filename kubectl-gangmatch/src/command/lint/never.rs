//! Jobs into warnings of conditions that no offer can ever meet. That of a text alone is found where it stands; these take the job's own
//! attributes to know, as in `other.Memory >= Least && other.Memory < 64` with `Least` 100.

use std::sync::Arc;

use classad::{Ad, Dialect, Name, parse_expr};
use crds::Job;
use gangindex::never_satisfied;
use matchmaker::{AdId, Config, Ports, Unmatched, Verdict};
use pool::{Cached, ObjectKey, Objects, explained};

use crate::manifests::Problem;
use crate::offline::Sources;

/// What only a cluster knows of a job: who creates it, and where.
const OF_THE_CLUSTER: [&str; 3] = ["Owner", "Namespace", "Uid"];
/// An expression of which nothing is known before it is evaluated.
const UNKNOWN: &str = "eval(string(time()))";

/// Warnings by the place of the port.
pub(super) fn never(objects: &Objects, sources: &Sources) -> Vec<Problem> {
    objects.jobs.iter().filter_map(|(key, held)| of_job(key, held, sources)).collect()
}

fn of_job(key: &ObjectKey, held: &Cached<Job>, sources: &Sources) -> Option<Problem> {
    let ports = Ports::of(&as_written(&held.ad.as_ref().ok()?.ports.body));
    let why = Arc::new(never_satisfied(&ports, &Config::product())?);
    let Verdict::Never { port, .. } = &why.verdict else { return None };
    let spec = &held.object.spec.ad;
    let field = match (&spec.classad, spec.ports.is_none()) {
        (Some(_), _) => "spec.classad".to_owned(),
        (None, true) => "spec.constraint".to_owned(),
        (None, false) => format!("spec.ports[{port}].constraint"),
    };
    let place = sources.get(&("Job", key.clone()))?.field(&field, 1);
    let why = explained(&Unmatched { root: AdId::at(0), why }, &[]).why;
    Some(Problem { place, text: format!("Job {key}: {field}: {why}") })
}

/// The ad, without the values that reading the manifest has given to what only a cluster knows.
fn as_written(ad: &Ad) -> Ad {
    let mut ad = ad.clone();
    if let Ok(unknown) = parse_expr(UNKNOWN, Dialect::Gangmatch) {
        OF_THE_CLUSTER.iter().for_each(|name| drop(ad.insert(Name::new(*name), unknown.clone())));
    }
    ad
}

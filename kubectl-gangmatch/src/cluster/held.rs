//! Workloads that are held for a Job that does not exist. They are not in the queue, so no other verb shows them.

use crds::{LABEL_AD, WorkKind, match_name};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use pool::{JobSet, ObjectKey, Objects, WorkloadObject};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::Failure;
use super::kubectl::{Kubectl, Scope};
use super::live::{Kind, Pool};

/// A workload that is held for a Job that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Held {
    pub(crate) namespace: String,
    pub(crate) kind: WorkKind,
    pub(crate) name: String,
    /// The name on its label `gangmatch.dev/ad`.
    pub(crate) missing_job: String,
}

/// Those of all namespaces, or of one where not all may be listed, or not all Jobs were. What may not be listed there either is left out.
///
/// # Errors
/// The cluster cannot be asked.
pub(crate) fn without_job(kubectl: &Kubectl<'_>, namespace: &str, pool: &Pool) -> Result<Vec<Held>, Failure> {
    let mut items = labelled(kubectl, &["jobs.batch", "pods"], namespace)?;
    match labelled(kubectl, &["jobsets.jobset.x-k8s.io"], namespace) {
        Ok(sets) => items.extend(sets),
        // Few clusters have JobSets.
        Err(Failure::NotInstalled(_)) => {}
        Err(other) => return Err(other),
    }
    let mut held: Vec<Held> =
        items.into_iter().filter_map(workload).filter_map(|work| missing(&work, &pool.objects)).collect();
    held.retain(|held| held.namespace == namespace || !pool.partly.contains(&Kind::Job));
    held.sort();
    Ok(held)
}

fn labelled(kubectl: &Kubectl<'_>, resources: &[&str], namespace: &str) -> Result<Vec<Value>, Failure> {
    let has_label = format!("--selector={LABEL_AD}");
    let mut listed = kubectl.list(resources, Scope::All, &[&has_label])?;
    let refused: Vec<String> = listed.failures.iter().filter_map(Failure::refused_resource).collect();
    if !refused.is_empty() {
        let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
        listed.items.extend(kubectl.list(&refused, Scope::One(namespace), &[&has_label])?.items);
    }
    Ok(listed.items)
}

fn workload(item: Value) -> Option<WorkloadObject> {
    fn read<K: DeserializeOwned>(item: Value, of: fn(&K) -> WorkloadObject) -> Option<WorkloadObject> {
        serde_json::from_value(item).ok().map(|object| of(&object))
    }
    match item.get("kind")?.as_str()? {
        "Job" => read::<Batch>(item, WorkloadObject::of_batch),
        "Pod" => read::<Pod>(item, WorkloadObject::of_pod),
        "JobSet" => read::<JobSet>(item, WorkloadObject::of_job_set),
        _ => None,
    }
}

/// What a workload that asks for a Job misses: neither the one on its label nor the one that is made of that for it is there.
fn missing(work: &WorkloadObject, objects: &Objects) -> Option<Held> {
    let asks = work.run.suspended && work.ended.is_none() && work.marks.match_uid.is_none() && !work.marks.made;
    let missing_job = work.marks.ad.clone().filter(|_| asks)?;
    let own = match_name(&work.key.name, &work.uid, 0);
    let exists = |name: &str| objects.jobs.get(&ObjectKey::new(&work.key.namespace, name)).is_some();
    if exists(&missing_job) || exists(&own) {
        return None;
    }
    let ObjectKey { namespace, name } = work.key.clone();
    Some(Held { namespace, kind: work.kind, name, missing_job })
}

//! Requests about batch Jobs, JobSets and Pods that keep what is not known here: what their authors wrote goes back as it was.

use std::borrow::Cow;

use crds::{LABEL_AD, LABEL_MATCH_UID, WorkKind};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::core::{ApiResource, DynamicResourceScope};
use pool::{JobSet, ObjectKey, ReadTrimmed, WorkloadObject};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::write::answer::{Answer, Unknown};
use crate::write::patch::Ops;
use crate::write::requests::{Cluster, MANAGER, ObjectPatch, only, patch_params};

/// The labels by which this controller, that of batch Jobs and that of JobSets find what is theirs.
const FOUND_BY: [&str; 5] = [
    LABEL_MATCH_UID,
    LABEL_AD,
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "jobset.sigs.k8s.io/jobset-name",
];
/// The most pods of a claim that are read whole.
const WHOLE_PODS_MAX: u32 = 20;

/// An object as it is written, whatever fields it has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Raw {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    /// Its metadata without `managedFields`.
    #[serde(deserialize_with = "pool::trimmed_metadata")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    status: Value,
}

/// An object as it was read, and what counts of it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) raw: Raw,
    pub(crate) work: WorkloadObject,
}

impl Raw {
    fn read<K: ReadTrimmed>(&self) -> Option<K> {
        K::read(serde_json::to_value(self).ok()?).ok()
    }

    fn work(&self, kind: WorkKind) -> Option<WorkloadObject> {
        match kind {
            WorkKind::Job => self.read::<Batch>().map(|batch| WorkloadObject::of_batch(&batch)),
            WorkKind::JobSet => self.read::<JobSet>().map(|set| WorkloadObject::of_job_set(&set)),
            WorkKind::Pod => self.read::<Pod>().map(|pod| WorkloadObject::of_pod(&pod)),
        }
    }
}

/// How the API names a kind of workload.
pub(crate) fn resource(kind: WorkKind) -> ApiResource {
    match kind {
        WorkKind::Job => ApiResource::erase::<Batch>(&()),
        WorkKind::JobSet => ApiResource::erase::<JobSet>(&()),
        WorkKind::Pod => ApiResource::erase::<Pod>(&()),
    }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

fn seen(kind: WorkKind, answer: Answer<Raw>) -> Answer<Seen> {
    answer.and_then(|raw| match raw.work(kind) {
        Some(work) => Answer::Done(Seen { raw, work }),
        None => Answer::Unknown(Unknown::Other("the server's answer cannot be read".to_owned())),
    })
}

/// Takes out of the metadata of an object what people can fill, but for the labels by which it is found, the controlling reference, and
/// annotations that pods cannot lose.
fn bare(uid: &str, read: &ObjectMeta) -> ObjectPatch {
    let is_fixed = |key: &str| key.starts_with("container.apparmor.") || key.starts_with("kubernetes.io/config.");
    let annotations = read.annotations.iter().flatten().filter(|(key, _)| is_fixed(key));
    let annotations: Map<String, Value> = annotations.map(|(key, value)| (key.clone(), json!(value))).collect();
    let owners = read.owner_references.iter().flatten().filter(|one| one.controller == Some(true));
    let owners: Vec<Value> = owners.map(|one| json!(one)).collect();
    let labels = read.labels.iter().flatten().filter(|(key, _)| FOUND_BY.contains(&key.as_str()));
    let labels: Map<String, Value> = labels.map(|(key, value)| (key.clone(), json!(value))).collect();
    let ops = Ops::default().test(&["metadata", "uid"], uid);
    let ops = ops.add(&["metadata", "labels"], labels).add(&["metadata", "annotations"], annotations);
    let ops = ops.add(&["metadata", "ownerReferences"], owners).add(&["metadata", "finalizers"], json!([]));
    // one empty entry means that there are none
    ObjectPatch::Json(ops.add(&["metadata", "managedFields"], json!([{}])).build())
}

impl Cluster {
    fn workloads(&self, kind: WorkKind, namespace: &str) -> Api<Raw> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
    }

    /// Creates a batch Job. What forbids it, a quota or a policy, may not do so a moment later: that is not an answer that counts.
    pub(crate) async fn make(&self, object: &Raw) -> Answer<Seen> {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let namespace = object.metadata.namespace.as_deref().unwrap_or("");
        let api = self.workloads(WorkKind::Job, namespace);
        seen(WorkKind::Job, Answer::of(api.create(&params, object).await))
    }

    /// Reads an object as it is now, not as a cache has it.
    pub(crate) async fn read_work(&self, kind: WorkKind, key: &ObjectKey) -> Answer<Seen> {
        seen(kind, Answer::of(self.workloads(kind, &key.namespace).get(&key.name).await))
    }

    /// Patches an object itself, not its status.
    pub(crate) async fn patch_work(&self, kind: WorkKind, key: &ObjectKey, patch: &ObjectPatch) -> Answer<Seen> {
        let api = self.workloads(kind, &key.namespace);
        seen(kind, Answer::of(api.patch(&key.name, &patch_params(), &patch.body()).await))
    }

    /// Deletes an object if it is still the one with this uid.
    pub(crate) async fn delete_work(&self, work: &WorkloadObject) -> Answer<()> {
        self.delete_within(work, None).await
    }

    /// The same; within so many seconds, even if it is being deleted already and was given more. What is so large that not even its
    /// deletion can be stored is made [`bare`] first.
    pub(crate) async fn delete_within(&self, work: &WorkloadObject, seconds: Option<u32>) -> Answer<()> {
        let answer = self.try_delete(work, seconds).await;
        let Answer::Unknown(Unknown::TooLarge(_)) = answer else { return answer };
        tracing::warn!(work = %work.key, "it is too large to be deleted: its labels and annotations are removed");
        match self.read_work(work.kind, &work.key).await {
            Answer::Done(current) => {
                let bare = bare(&work.uid, &current.raw.metadata);
                let answer = self.patch_work(work.kind, &work.key, &bare).await;
                if !matches!(answer, Answer::Done(_) | Answer::Missing) {
                    tracing::warn!(work = %work.key, ?answer, "they cannot be removed");
                }
                self.try_delete(work, seconds).await
            }
            answer => answer.map(drop),
        }
    }

    async fn try_delete(&self, work: &WorkloadObject, seconds: Option<u32>) -> Answer<()> {
        let api = self.workloads(work.kind, &work.key.namespace);
        let params = DeleteParams { grace_period_seconds: seconds, ..only(&work.uid) };
        Answer::of(api.delete(&work.key.name, &params).await).map(|_| ())
    }

    /// Lists the pods of a namespace that have not finished, as they are now.
    pub(crate) async fn unfinished_pods(&self, namespace: &str) -> Answer<Vec<Pod>> {
        let only = ListParams::default().fields("status.phase!=Succeeded,status.phase!=Failed");
        self.list_of(namespace, only, |pod: Pod| pod).await
    }

    /// Lists the pods of a namespace that a selector of labels selects, as they are now.
    pub(crate) async fn pods(&self, namespace: &str, labels: &str) -> Answer<Vec<Pod>> {
        self.list_of(namespace, ListParams::default().labels(labels), |pod: Pod| pod).await
    }

    /// The first of them, with everything that their statuses say. All others are read without what containers wait for.
    pub(crate) async fn whole_pods(&self, namespace: &str, labels: &str) -> Answer<Vec<Pod>> {
        let only = ListParams::default().labels(labels).limit(WHOLE_PODS_MAX);
        let api: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        Answer::of(api.list(&only).await).map(|list| list.items)
    }

    /// Lists the objects of a kind that a selector of labels selects, as they are now.
    pub(crate) async fn list_works(
        &self,
        kind: WorkKind,
        namespace: &str,
        labels: &str,
    ) -> Answer<Vec<WorkloadObject>> {
        let only = ListParams::default().labels(labels);
        match kind {
            WorkKind::Job => self.list_of(namespace, only, |batch: Batch| WorkloadObject::of_batch(&batch)).await,
            WorkKind::JobSet => self.list_of(namespace, only, |set: JobSet| WorkloadObject::of_job_set(&set)).await,
            WorkKind::Pod => self.list_of(namespace, only, |pod: Pod| WorkloadObject::of_pod(&pod)).await,
        }
    }
}

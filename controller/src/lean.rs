//! An object as the server sends it into the object without what nobody here looks at: the list of who has managed which of its
//! fields, which takes longer to read than all the rest, and annotations of others, which may be as long.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use crds::{Job, JobSpec, JobStatus, License, LicenseSpec, Machine, MachineSpec, Match, MatchSpec, MatchStatus};
use crds::{MachineClass, MachineClassSpec, MachineClassStatus, OfferStatus};
use k8s_openapi::api::batch::v1::{Job as Batch, JobSpec as BatchSpec, JobStatus as BatchStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A kind of which all is read but that list.
pub(crate) trait Lean: Resource<DynamicType = ()> + Clone + Debug + Send + 'static {
    type Spec: DeserializeOwned;
    type Status: DeserializeOwned;

    fn whole(metadata: ObjectMeta, spec: Self::Spec, status: Option<Self::Status>) -> Self;
}

macro_rules! lean {
    ($kind:ty, $spec:ty, $status:ty) => {
        impl Lean for $kind {
            type Spec = $spec;
            type Status = $status;

            fn whole(metadata: ObjectMeta, spec: $spec, status: Option<$status>) -> Self {
                Self { metadata, spec, status }
            }
        }
    };
}

lean!(Job, JobSpec, JobStatus);
lean!(Machine, MachineSpec, OfferStatus);
lean!(License, LicenseSpec, OfferStatus);
lean!(Match, MatchSpec, MatchStatus);
lean!(MachineClass, MachineClassSpec, MachineClassStatus);
lean!(Batch, Option<BatchSpec>, BatchStatus);

/// An object that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent<K>(pub(crate) K);

impl<'de, K: Lean> Deserialize<'de> for Sent<K> {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let Parts { metadata, spec, status } = Parts::<K::Spec, K::Status>::deserialize(text)?;
        Ok(Sent(K::whole(metadata.into(), spec, status)))
    }
}

impl<K: Lean> Resource for Sent<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

#[derive(Deserialize)]
struct Parts<S, T> {
    #[serde(default)]
    metadata: Meta,
    spec: S,
    status: Option<T>,
}

/// All that metadata say but `managedFields`, and of annotations only those of gangmatch.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    #[serde(default, deserialize_with = "own_annotations")]
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
    generate_name: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    name: Option<String>,
    namespace: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    resource_version: Option<String>,
    self_link: Option<String>,
    uid: Option<String>,
}

/// Reads annotations one by one, and keeps those of gangmatch.
fn own_annotations<'de, D: Deserializer<'de>>(text: D) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    let own = Option::<Own>::deserialize(text)?;
    Ok(own.map(|own| own.0).filter(|own| !own.is_empty()))
}

struct Own(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Own {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        text.deserialize_map(Annotations).map(Own)
    }
}

struct Annotations;

impl<'de> Visitor<'de> for Annotations {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a map of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(name) = entries.next_key::<String>()? {
            if name.starts_with(crds::GROUP) {
                kept.insert(name, entries.next_value()?);
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(kept)
    }
}

impl From<Meta> for ObjectMeta {
    fn from(meta: Meta) -> ObjectMeta {
        ObjectMeta {
            annotations: meta.annotations,
            creation_timestamp: meta.creation_timestamp,
            deletion_grace_period_seconds: meta.deletion_grace_period_seconds,
            deletion_timestamp: meta.deletion_timestamp,
            finalizers: meta.finalizers,
            generate_name: meta.generate_name,
            generation: meta.generation,
            labels: meta.labels,
            managed_fields: None,
            name: meta.name,
            namespace: meta.namespace,
            owner_references: meta.owner_references,
            resource_version: meta.resource_version,
            self_link: meta.self_link,
            uid: meta.uid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::world;
    use serde_json::{Value, json};

    fn sent<K: Lean + DeserializeOwned + PartialEq>(mut object: Value) {
        let plain: K = serde_json::from_value(object.clone()).unwrap();
        let metadata = json!({
            "annotations": {"gangmatch.dev/a": "b"}, "creationTimestamp": "2026-11-21T14:00:00Z", "deletionGracePeriodSeconds": 3,
            "deletionTimestamp": "2026-11-21T14:00:03Z", "finalizers": ["f"], "generateName": "g", "generation": 4,
            "labels": {"l": "m"}, "name": "n", "namespace": "ns", "resourceVersion": "5", "selfLink": "s", "uid": "u",
            "ownerReferences": [{"apiVersion": "v1", "kind": "k", "name": "o", "uid": "v"}]});
        object["metadata"] = metadata.clone();
        let mut whole: K = serde_json::from_value(object.clone()).unwrap();
        assert!(whole != plain, "they have other metadata");
        object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
        object["metadata"]["managedFields"] = json!([{"manager": "gangmatch", "fieldsV1": {"f:status": {}}}]);
        whole.meta_mut().managed_fields = None;
        let Sent(found) = serde_json::from_value::<Sent<K>>(object).unwrap();
        assert!(found == whole, "{found:?}\n{whole:?}");
        assert_eq!(serde_json::to_value(found.meta()).unwrap(), metadata, "all that metadata can say");
    }

    #[test]
    fn what_is_sent_is_read_but_for_who_has_managed_it() {
        let objects = world(&json!({"decision": "Committed"}));
        objects.jobs.iter().for_each(|(_, held)| sent::<Job>(json!(held.object.as_ref())));
        objects.machines.iter().for_each(|(_, held)| sent::<Machine>(json!(held.object.as_ref())));
        objects.licenses.iter().for_each(|(_, held)| sent::<License>(json!(held.object.as_ref())));
        objects.matches.values().for_each(|found| sent::<Match>(json!(found.as_ref())));
        sent::<Batch>(json!({"metadata": {}, "spec": {"suspend": true, "template": {}}, "status": {"active": 1}}));
        sent::<Batch>(json!({"metadata": {}}));
    }
}

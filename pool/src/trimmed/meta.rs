//! Metadata without `managedFields`, which take longer to read than all the rest.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer};

use super::lenient::{As, Lenient, Moment, lenient_fields, texts};

/// The fields of metadata without `managedFields`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound = "A: Lenient")]
pub(super) struct Meta<A> {
    annotations: As<A>,
    creation_timestamp: As<Option<Moment<Time>>>,
    deletion_grace_period_seconds: As<Option<i64>>,
    deletion_timestamp: As<Option<Moment<Time>>>,
    finalizers: As<Option<Vec<Option<String>>>>,
    generate_name: As<Option<String>>,
    generation: As<Option<i64>>,
    labels: As<AllTexts>,
    name: As<Option<String>>,
    namespace: As<Option<String>>,
    owner_references: As<Option<Vec<Owner>>>,
    resource_version: As<Option<String>>,
    self_link: As<Option<String>>,
    uid: As<Option<String>>,
}

/// All annotations.
pub(super) type AllTexts = Option<BTreeMap<String, String>>;

/// The annotations of gangmatch: others may be as long as the rest of the object.
#[derive(Default)]
pub(super) struct OwnTexts(AllTexts);

impl From<OwnTexts> for AllTexts {
    fn from(own: OwnTexts) -> AllTexts {
        own.0
    }
}

impl Lenient for OwnTexts {
    fn map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        let own = texts(map, |name| crds::ANNOTATIONS.contains(&name))?;
        Ok(OwnTexts(Some(own).filter(|own| !own.is_empty())))
    }
}

impl<A: Lenient> Lenient for Meta<A> {
    fn map<'de, M: MapAccess<'de>>(map: M) -> Result<Self, M::Error> {
        Deserialize::deserialize(serde::de::value::MapAccessDeserializer::new(map))
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Owner {
    api_version: As<Option<String>>,
    block_owner_deletion: As<Option<bool>>,
    controller: As<Option<bool>>,
    kind: As<Option<String>>,
    name: As<Option<String>>,
    uid: As<Option<String>>,
}

lenient_fields!(Owner);

impl From<Owner> for OwnerReference {
    fn from(owner: Owner) -> OwnerReference {
        OwnerReference {
            api_version: owner.api_version.0.unwrap_or_default(),
            block_owner_deletion: owner.block_owner_deletion.0,
            controller: owner.controller.0,
            kind: owner.kind.0.unwrap_or_default(),
            name: owner.name.0.unwrap_or_default(),
            uid: owner.uid.0.unwrap_or_default(),
        }
    }
}

impl<A: Into<AllTexts>> From<Meta<A>> for ObjectMeta {
    fn from(meta: Meta<A>) -> ObjectMeta {
        // Only the server writes these two. If one is unreadable nevertheless: the object counts as young, or as being deleted.
        let created = meta.creation_timestamp.0.map(|time| time.or(Time(Timestamp::MAX)));
        let deleted = meta.deletion_timestamp.0.map(|time| time.or(Time(Timestamp::UNIX_EPOCH)));
        ObjectMeta {
            annotations: meta.annotations.0.into(),
            creation_timestamp: created,
            deletion_grace_period_seconds: meta.deletion_grace_period_seconds.0,
            deletion_timestamp: deleted,
            finalizers: meta.finalizers.0.map(|all| all.into_iter().flatten().collect()),
            generate_name: meta.generate_name.0,
            generation: meta.generation.0,
            labels: meta.labels.0,
            managed_fields: None,
            name: meta.name.0,
            namespace: meta.namespace.0,
            owner_references: meta.owner_references.0.map(|all| all.into_iter().map(OwnerReference::from).collect()),
            resource_version: meta.resource_version.0,
            self_link: meta.self_link.0,
            uid: meta.uid.0,
        }
    }
}

/// Reads metadata with all annotations, without `managedFields`.
///
/// # Errors
/// It is not JSON.
pub fn trimmed_metadata<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    As::<Meta<AllTexts>>::deserialize(from).map(|meta| meta.0.into())
}

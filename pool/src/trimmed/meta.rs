//! Metadata without `managedFields`, which take longer to read than all the rest.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::de::{IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer};

use super::lenient::{As, Lenient, Moment, lenient_fields, texts};
use crate::key::NAME_MAX;

/// The metadata of an object, with the annotations that `A` reads.
#[derive(Default)]
pub(super) struct Meta<A>(ObjectMeta, PhantomData<A>);

/// The names of the fields of metadata that are read: all but `managedFields`.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum MetaField {
    Annotations,
    CreationTimestamp,
    DeletionGracePeriodSeconds,
    DeletionTimestamp,
    Finalizers,
    GenerateName,
    Generation,
    Labels,
    Name,
    Namespace,
    OwnerReferences,
    ResourceVersion,
    Uid,
    #[serde(other)]
    Other,
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

impl<A: Lenient + Into<AllTexts>> Lenient for Meta<A> {
    fn map<'de, M: MapAccess<'de>>(mut map: M) -> Result<Self, M::Error> {
        let mut meta = ObjectMeta::default();
        while let Some(name) = map.next_key()? {
            match name {
                MetaField::Annotations => meta.annotations = value::<A, M>(&mut map)?.into(),
                // Only the server writes the two times. If one is unreadable nevertheless: the object counts as young, or as being deleted.
                MetaField::CreationTimestamp => meta.creation_timestamp = time(&mut map, Timestamp::MAX)?,
                MetaField::DeletionGracePeriodSeconds => meta.deletion_grace_period_seconds = value(&mut map)?,
                MetaField::DeletionTimestamp => meta.deletion_timestamp = time(&mut map, Timestamp::UNIX_EPOCH)?,
                MetaField::Finalizers => {
                    let names = value::<Option<Vec<Option<String>>>, M>(&mut map)?;
                    meta.finalizers = names.map(|all| all.into_iter().flatten().collect());
                }
                // It can be changed later, and is not checked then.
                MetaField::GenerateName => {
                    let prefix = value::<Option<String>, M>(&mut map)?;
                    meta.generate_name = prefix.filter(|prefix| prefix.len() <= NAME_MAX);
                }
                MetaField::Generation => meta.generation = value(&mut map)?,
                MetaField::Labels => meta.labels = value(&mut map)?,
                MetaField::Name => meta.name = value(&mut map)?,
                MetaField::Namespace => meta.namespace = value(&mut map)?,
                MetaField::OwnerReferences => {
                    let owners = value::<Option<Vec<Owner>>, M>(&mut map)?;
                    meta.owner_references = owners.map(|all| all.into_iter().map(OwnerReference::from).collect());
                }
                MetaField::ResourceVersion => meta.resource_version = value(&mut map)?,
                MetaField::Uid => meta.uid = value(&mut map)?,
                MetaField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Meta(meta, PhantomData))
    }
}

/// The next value, read leniently.
fn value<'de, T: Lenient, M: MapAccess<'de>>(map: &mut M) -> Result<T, M::Error> {
    map.next_value().map(|As(value)| value)
}

/// The next value as a time; another one if it cannot be read.
fn time<'de, M: MapAccess<'de>>(map: &mut M, instead: Timestamp) -> Result<Option<Time>, M::Error> {
    let found = value::<Option<Moment<Time>>, M>(map)?;
    Ok(found.map(|time| time.or(Time(instead))))
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

impl<A> From<Meta<A>> for ObjectMeta {
    fn from(meta: Meta<A>) -> ObjectMeta {
        meta.0
    }
}

/// Reads metadata with all annotations, without `managedFields`.
///
/// # Errors
/// It is not JSON.
pub fn trimmed_metadata<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectMeta, D::Error> {
    As::<Meta<AllTexts>>::deserialize(from).map(|meta| meta.0.into())
}

//! YAML documents into the objects that an API server would hold, without one.

use std::collections::BTreeMap;

use crds::{AdFields, Job, License, Machine};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use pool::Objects;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::manifests::Document;

/// What an API server would add.
pub(crate) struct Stamp<'s> {
    /// The namespace of objects that name none.
    pub(crate) namespace: &'s str,
    /// Who creates them: `Owner` of their ads.
    pub(crate) owner: &'s str,
}

/// The objects, and what is wrong with documents that are none. Documents of other kinds are passed over.
pub(crate) fn objects(documents: Vec<Document>, stamp: &Stamp<'_>) -> (Objects, Vec<String>) {
    let (mut objects, mut problems) = (Objects::default(), Vec::new());
    for (number, document) in documents.into_iter().enumerate() {
        let text = |name: &str| document.value.get(name).and_then(Value::as_str).unwrap_or("");
        let (api, kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
        let done = match (api.as_str(), kind.as_str()) {
            ("gangmatch.dev/v1alpha1", "Job") => {
                read::<Job>(&document, stamp, number, |job| &mut job.spec.ad).map(|job| objects.jobs.put(job))
            }
            ("gangmatch.dev/v1alpha1", "Machine") => {
                read::<Machine>(&document, stamp, number, |machine| &mut machine.spec.ad)
                    .map(|machine| objects.machines.put(machine))
            }
            ("gangmatch.dev/v1alpha1", "License") => {
                read::<License>(&document, stamp, number, |license| &mut license.spec.ad)
                    .map(|license| objects.licenses.put(license))
            }
            ("gangmatch.dev/v1alpha1", "Match") => Ok(()),
            ("v1", "Namespace") => typed::<Namespace>(&document).map(|namespace| {
                objects.namespaces.insert(namespace.name_any(), namespace.labels().clone());
            }),
            (api, kind) if api.starts_with("gangmatch.dev/") => Err(format!(
                "{}: no kind `{kind}` in {api}; there are Job, Machine, License and Match in gangmatch.dev/v1alpha1",
                document.place
            )),
            ("", _) | (_, "") => {
                Err(format!("{}: a manifest begins with apiVersion and kind; one of them is missing", document.place))
            }
            _ => Ok(()),
        };
        problems.extend(done.err());
    }
    (objects, problems)
}

fn read<K>(
    document: &Document,
    stamp: &Stamp<'_>,
    number: usize,
    ad: impl Fn(&mut K) -> &mut AdFields,
) -> Result<K, String>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Serialize,
{
    let mut object: K = typed(document)?;
    unknown_fields(document, &object)?;
    let meta: &mut ObjectMeta = object.meta_mut();
    if meta.name.as_deref().unwrap_or("").is_empty() {
        return Err(format!("{}: metadata.name is missing", document.place));
    }
    meta.namespace.get_or_insert_with(|| stamp.namespace.to_owned());
    meta.uid.get_or_insert_with(|| format!("offline-{number}"));
    meta.generation.get_or_insert(1);
    ad(&mut object).owner.get_or_insert_with(|| stamp.owner.to_owned());
    Ok(object)
}

fn typed<K: DeserializeOwned>(document: &Document) -> Result<K, String> {
    serde_json::from_value(document.value.clone()).map_err(|error| format!("{}: {error}", document.place))
}

/// Fields that no such object has: kubectl refuses them, so that a slip of the pen is not silently no constraint.
fn unknown_fields<K: Serialize>(document: &Document, object: &K) -> Result<(), String> {
    let known = serde_json::to_value(object).unwrap_or(Value::Null);
    let spec = |value: &Value| value.get("spec").cloned().unwrap_or(Value::Null);
    match unknown("spec", &spec(&document.value), &spec(&known)) {
        Some(path) => Err(format!("{}: unknown field `{path}`", document.place)),
        None => Ok(()),
    }
}

/// The first path that is written but was not understood.
fn unknown(path: &str, written: &Value, known: &Value) -> Option<String> {
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => written.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match known.get(name) {
                Some(known) => unknown(&path, value, known),
                None if is_empty(value) => None,
                None => Some(path),
            }
        }),
        (Value::Array(written), Value::Array(known)) => {
            let pairs = written.iter().zip(known).enumerate();
            pairs.filter_map(|(place, (value, known))| unknown(&format!("{path}[{place}]"), value, known)).next()
        }
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// The ads that are none, with where they stand in the manifests' terms: kind, namespace, name.
pub(crate) fn rejected(objects: &Objects) -> Vec<String> {
    let jobs = objects.jobs.iter().filter_map(|(key, held)| Some(("Job", key.clone(), held.ad.as_ref().err()?.clone())));
    let offers = objects.offers().filter_map(|offer| Some((offer.kind(), offer.key(), offer.ad().as_ref().err()?.clone())));
    jobs.chain(offers).map(|(kind, key, why)| format!("{kind} {key}: {}: {}", why.reason, why.message)).collect()
}

/// What the authors of accepted ads should know.
pub(crate) fn warnings(objects: &Objects) -> Vec<String> {
    let mut all = BTreeMap::new();
    for (key, held) in objects.jobs.iter() {
        all.insert(format!("Job {key}"), held.ad.as_ref().map(|ad| ad.warnings.clone()).unwrap_or_default());
    }
    for offer in objects.offers() {
        let warnings = offer.ad().as_ref().map(|ad| ad.warnings.clone()).unwrap_or_default();
        all.insert(format!("{} {}", offer.kind(), offer.key()), warnings);
    }
    all.into_iter().flat_map(|(who, list)| list.into_iter().map(move |text| format!("{who}: {text}"))).collect()
}


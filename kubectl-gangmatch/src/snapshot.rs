//! A snapshot: the objects of a pool as one file, from which a negotiation cycle can be computed again elsewhere.
//!
//! The same objects give the same bytes. A snapshot holds what its reader could read, and no more.

use std::path::Path;

use anyhow::{Context, bail};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cluster::Pool;

/// What the file says it is.
const FORMAT: &str = "gangmatch-snapshot";
/// The version of the format.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    /// When it was taken, which is the value of `time()` when it is computed again.
    time: Timestamp,
    /// What could not be read.
    notes: Vec<String>,
    /// By kind, namespace and name.
    items: Vec<Value>,
}

/// A snapshot that was read.
pub(crate) struct Saved {
    pub(crate) pool: Pool,
    pub(crate) time: Timestamp,
}

/// The snapshot of a pool as text.
///
/// # Errors
/// An object cannot be written as JSON.
pub(crate) fn text(pool: &Pool, time: Timestamp) -> anyhow::Result<String> {
    let objects = &pool.objects;
    let mut items = Vec::new();
    for (name, labels) in objects.namespaces.iter() {
        let metadata = ObjectMeta { name: Some(name.clone()), labels: Some(labels.clone()), ..ObjectMeta::default() };
        items.push(item(Namespace { metadata, ..Namespace::default() })?);
    }
    for (_, held) in objects.machines.iter() {
        items.push(item(held.object.as_ref().clone())?);
    }
    for (_, held) in objects.licenses.iter() {
        items.push(item(held.object.as_ref().clone())?);
    }
    for (_, held) in objects.jobs.iter() {
        items.push(item(held.object.as_ref().clone())?);
    }
    for found in pool.matches.values() {
        items.push(item(found.clone())?);
    }
    for account in objects.accounts.values() {
        items.push(item(account.as_ref().clone())?);
    }
    if let Some(policy) = objects.accounts.policy() {
        items.push(item(policy.object.as_ref().clone())?);
    }
    let file = File { format: FORMAT.to_owned(), version: VERSION, time, notes: pool.notes.clone(), items };
    Ok(format!("{}\n", serde_json::to_string_pretty(&file)?))
}

/// An object without what differs though the object is the same.
fn item<K: ResourceExt + Serialize>(mut object: K) -> anyhow::Result<Value> {
    let metadata = object.meta_mut();
    metadata.managed_fields = None;
    metadata.resource_version = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    Ok(serde_json::to_value(object)?)
}

/// Whether a text is a snapshot, and not a manifest.
pub(crate) fn is_snapshot(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.get(..200.min(text.len())).is_some_and(|begin| begin.contains(FORMAT))
}

/// The pool of a snapshot.
///
/// # Errors
/// The file cannot be read, or is no snapshot of a version that is known.
pub(crate) fn read(path: &Path) -> anyhow::Result<Saved> {
    let name = path.display();
    let meta = std::fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
    if meta.len() > FILE_BYTES_MAX {
        bail!("{name} is larger than {} MiB, the limit for a snapshot", FILE_BYTES_MAX / 1024 / 1024);
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let hint = || format!("{name} is no snapshot; write one with `kubectl gangmatch snapshot save FILE`");
    let value: Value = serde_json::from_str(&text).with_context(hint)?;
    let version = value.get("version").and_then(Value::as_u64).filter(|_| value.get("format") == Some(&FORMAT.into()));
    match version {
        None => bail!("{}", hint()),
        Some(version) if version != u64::from(VERSION) => {
            bail!(
                "{name} is a snapshot of version {version}; this plugin reads version {VERSION}: use the plugin that wrote it"
            )
        }
        Some(_) => {}
    }
    let File { time, notes, items, .. } = serde_json::from_value(value).with_context(hint)?;
    let mut pool = Pool::of(items);
    pool.notes = notes;
    Ok(Saved { pool, time })
}

//! A key and a value of etcd into an object of ours, or of what works for claims.

use std::fmt;
use std::sync::Arc;

use crds::{GROUP, Job, LABEL_MATCH_UID, License, Machine, Match, OfferStatus, Res};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use pool::{ReadTrimmed, Trimmed, WorkloadObject, has_finished};
use serde::Deserialize;

/// The kinds of gangmatch.dev, and those that work for claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A job.
    Job,
    /// A machine.
    Machine,
    /// A license.
    License,
    /// A Match.
    Match,
    /// A batch Job.
    Batch,
    /// A Pod.
    Pod,
}

impl ObjectKind {
    /// As in `kind:` of a manifest.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ObjectKind::Job => "Job",
            ObjectKind::Machine => "Machine",
            ObjectKind::License => "License",
            ObjectKind::Match => "Match",
            ObjectKind::Batch => "Job.batch",
            ObjectKind::Pod => "Pod",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<ObjectKind> {
        [ObjectKind::Job, ObjectKind::Machine, ObjectKind::License, ObjectKind::Match]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    fn of_plural(plural: &str) -> Option<ObjectKind> {
        match plural {
            "jobs" => Some(ObjectKind::Job),
            "machines" => Some(ObjectKind::Machine),
            "licenses" => Some(ObjectKind::License),
            "matches" => Some(ObjectKind::Match),
            _ => None,
        }
    }
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// A key.
    #[must_use]
    pub fn new(kind: ObjectKind, namespace: &str, name: &str) -> Key {
        Key { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The key of what etcd keeps under `/registry/gangmatch.dev/PLURAL/NAMESPACE/NAME`, `/registry/jobs/NAMESPACE/NAME` or
    /// `/registry/pods/NAMESPACE/NAME`; `None` for anything else.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Key> {
        let parts: Vec<&str> = path.strip_prefix("/registry/")?.split('/').collect();
        let (kind, namespace, name) = match *parts.as_slice() {
            [GROUP, plural, namespace, name] => (ObjectKind::of_plural(plural)?, namespace, name),
            ["jobs", namespace, name] => (ObjectKind::Batch, namespace, name),
            ["pods", namespace, name] => (ObjectKind::Pod, namespace, name),
            _ => return None,
        };
        Some(Key::new(kind, namespace, name))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.name(), self.namespace, self.name)
    }
}

/// An object as it was stored.
#[derive(Clone, Debug)]
pub enum Object {
    /// A job.
    Job(Box<Job>),
    /// A machine.
    Machine(Box<Machine>),
    /// A license.
    License(Box<License>),
    /// A Match.
    Match(Box<Match>),
    /// A batch Job.
    Batch(Box<Batch>),
    /// A Pod.
    Pod(Box<Pod>),
}

/// Who has written which fields; entries that cannot be read say nothing.
fn managed_fields(json: &[u8]) -> Option<Vec<ManagedFieldsEntry>> {
    #[derive(Deserialize)]
    struct Written {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        managed_fields: Option<Vec<serde_json::Value>>,
    }
    let Written { metadata } = serde_json::from_slice(json).ok()?;
    Some(metadata.managed_fields?.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

impl Object {
    /// Reads the stored JSON. The revision is the object's resource version, which is not stored with it.
    ///
    /// # Errors
    /// When it is no JSON, or not of this kind.
    pub fn read(kind: ObjectKind, json: &[u8], revision: i64) -> Result<Object, String> {
        // as the controller reads it: what tenants write may say odd things
        fn parse<K: ReadTrimmed>(json: &[u8]) -> Result<Box<K>, String> {
            let Trimmed(mut object) = serde_json::from_slice::<Trimmed<K>>(json).map_err(|error| error.to_string())?;
            // it does not look at who has written what
            object.meta_mut().managed_fields = managed_fields(json);
            Ok(Box::new(object))
        }
        let mut object = match kind {
            ObjectKind::Job => Object::Job(parse(json)?),
            ObjectKind::Machine => Object::Machine(parse(json)?),
            ObjectKind::License => Object::License(parse(json)?),
            ObjectKind::Match => Object::Match(parse(json)?),
            ObjectKind::Batch => Object::Batch(parse(json)?),
            ObjectKind::Pod => Object::Pod(parse(json)?),
        };
        object.metadata_mut().resource_version = Some(revision.to_string());
        Ok(object)
    }

    /// Its metadata.
    #[must_use]
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Object::Job(job) => &job.metadata,
            Object::Machine(machine) => &machine.metadata,
            Object::License(license) => &license.metadata,
            Object::Match(found) => &found.metadata,
            Object::Batch(batch) => &batch.metadata,
            Object::Pod(pod) => &pod.metadata,
        }
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Object::Job(job) => &mut job.metadata,
            Object::Machine(machine) => &mut machine.metadata,
            Object::License(license) => &mut license.metadata,
            Object::Match(found) => &mut found.metadata,
            Object::Batch(batch) => &mut batch.metadata,
            Object::Pod(pod) => &mut pod.metadata,
        }
    }

    /// Its uid.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.metadata().uid.as_deref().unwrap_or("")
    }

    /// How often its spec was changed.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.metadata().generation.unwrap_or(0)
    }

    /// The job, if it is one.
    #[must_use]
    pub fn job(&self) -> Option<&Job> {
        if let Object::Job(job) = self { Some(job) } else { None }
    }

    /// The Match, if it is one.
    #[must_use]
    pub fn found(&self) -> Option<&Match> {
        if let Object::Match(found) = self { Some(found) } else { None }
    }

    /// What an offer has, and what became of it; `None` of what is no offer.
    #[must_use]
    pub fn offer(&self) -> Option<(&Res, Option<&OfferStatus>)> {
        match self {
            Object::Machine(machine) => Some((&machine.spec.capacity, machine.status.as_ref())),
            Object::License(license) => Some((&license.spec.capacity, license.status.as_ref())),
            Object::Job(_) | Object::Match(_) | Object::Batch(_) | Object::Pod(_) => None,
        }
    }

    /// The status of an offer.
    #[must_use]
    pub fn ledger(&self) -> Option<&OfferStatus> {
        self.offer().and_then(|(_, status)| status)
    }

    /// What works for a claim, or may; `None` of what is of another kind.
    #[must_use]
    pub fn work(&self) -> Option<WorkloadObject> {
        match self {
            Object::Batch(batch) => Some(WorkloadObject::of_batch(batch)),
            Object::Pod(pod) => Some(WorkloadObject::of_pod(pod)),
            _ => None,
        }
    }

    /// The uid of the Match on the label of what may work for a claim.
    #[must_use]
    pub fn label_of_match(&self) -> Option<&str> {
        let metadata = match self {
            Object::Batch(batch) => &batch.metadata,
            Object::Pod(pod) => &pod.metadata,
            _ => return None,
        };
        Some(metadata.labels.as_ref()?.get(LABEL_MATCH_UID)?.as_str())
    }

    /// Whether it works, or may do so at any moment: nobody holds it back, and it has not come to its end. A Pod that is being
    /// deleted has not.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        match self {
            Object::Pod(pod) => !WorkloadObject::of_pod(pod).run.suspended && !has_finished(pod),
            Object::Batch(batch) => {
                let work = WorkloadObject::of_batch(batch);
                !work.run.suspended && work.ended.is_none()
            }
            _ => false,
        }
    }

    /// The uid of the Match that a job says it is claimed by.
    #[must_use]
    pub fn claimed_by(&self) -> Option<&str> {
        let claim = self.job()?.status.as_ref()?.claim.as_ref()?;
        Some(claim.uid.as_str())
    }
}

/// One object in one revision.
#[derive(Clone, Debug)]
pub struct Change {
    /// The revision: one number for all objects, ever growing.
    pub revision: i64,
    /// Which object.
    pub key: Key,
    /// What it was then; `None` if it was deleted.
    pub object: Option<Arc<Object>>,
}

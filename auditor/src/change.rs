//! A key and a value of etcd into an object of ours.

use std::fmt;
use std::sync::Arc;

use crds::{GROUP, Job, License, Machine, Match, OfferStatus, Res};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The kinds of gangmatch.dev.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A job.
    Job,
    /// A machine.
    Machine,
    /// A license.
    License,
    /// A Match.
    Match,
}

impl Kind {
    /// As in `kind:` of a manifest.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Job => "Job",
            Kind::Machine => "Machine",
            Kind::License => "License",
            Kind::Match => "Match",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Kind> {
        [Kind::Job, Kind::Machine, Kind::License, Kind::Match].into_iter().find(|kind| kind.name() == name)
    }

    fn of_plural(plural: &str) -> Option<Kind> {
        match plural {
            "jobs" => Some(Kind::Job),
            "machines" => Some(Kind::Machine),
            "licenses" => Some(Kind::License),
            "matches" => Some(Kind::Match),
            _ => None,
        }
    }
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// A key.
    #[must_use]
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Key {
        Key { kind, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The key of what etcd keeps under `/registry/gangmatch.dev/PLURAL/NAMESPACE/NAME`; `None` for anything else.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Key> {
        let mut parts = path.strip_prefix("/registry/")?.split('/');
        let (group, plural) = (parts.next()?, parts.next()?);
        let (namespace, name) = (parts.next()?, parts.next()?);
        let whole = group == GROUP && parts.next().is_none();
        Kind::of_plural(plural).filter(|_| whole).map(|kind| Key::new(kind, namespace, name))
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
}

impl Object {
    /// Reads the stored JSON. The revision is the object's resource version, which is not stored with it.
    ///
    /// # Errors
    /// When it is no JSON, or not of this kind.
    pub fn read(kind: Kind, json: &[u8], revision: i64) -> Result<Object, String> {
        fn parse<K: serde::de::DeserializeOwned>(json: &[u8]) -> Result<Box<K>, String> {
            serde_json::from_slice(json).map(Box::new).map_err(|error| error.to_string())
        }
        let mut object = match kind {
            Kind::Job => Object::Job(parse(json)?),
            Kind::Machine => Object::Machine(parse(json)?),
            Kind::License => Object::License(parse(json)?),
            Kind::Match => Object::Match(parse(json)?),
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
        }
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Object::Job(job) => &mut job.metadata,
            Object::Machine(machine) => &mut machine.metadata,
            Object::License(license) => &mut license.metadata,
            Object::Match(found) => &mut found.metadata,
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
            Object::Job(_) | Object::Match(_) => None,
        }
    }

    /// The status of an offer.
    #[must_use]
    pub fn ledger(&self) -> Option<&OfferStatus> {
        self.offer().and_then(|(_, status)| status)
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

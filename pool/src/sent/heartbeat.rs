//! What counts of the Lease of an agent: whether somebody holds it, and whether it is another one than before.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::guarded::Shallow;
use super::lenient::As;
use super::meta::{Meta, OwnTexts};

/// The Lease of an agent. Times in it are compared, and never read: an agent is alive if it writes another one in time.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// A digest of what it says; `None` if nobody holds it.
    pub held: Option<u64>,
}

#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    metadata: As<Meta<OwnTexts>>,
    spec: Option<Shallow>,
}

impl<'de> Deserialize<'de> for Heartbeat {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Parts { metadata, spec } = Parts::deserialize(from)?;
        Ok(Heartbeat { metadata: metadata.0.into(), held: spec.and_then(|spec| digest(&spec.value)) })
    }
}

fn digest(spec: &Value) -> Option<u64> {
    spec.get("holderIdentity").and_then(Value::as_str).filter(|holder| !holder.is_empty())?;
    let mut hasher = DefaultHasher::new();
    spec.to_string().hash(&mut hasher);
    Some(hasher.finish())
}

impl Resource for Heartbeat {
    type DynamicType = ();
    type Scope = <Lease as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        Lease::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Lease::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Lease::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Lease::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

//! What is read of the Lease of an agent: whether it has a holder, and a digest that tells whether it has changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use crds::bounded_value;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::lenient::As;
use super::meta::{Meta, OwnTexts};
use super::parsed::LIMITS;

/// The Lease of an agent. Its times are compared, and never read: an agent is alive if it changes its Lease in time.
#[derive(Clone, Debug)]
pub struct AgentLease {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// A digest of its spec; `None` if it has no holder.
    pub held: Option<u64>,
}

#[derive(Deserialize)]
struct LeaseParts {
    #[serde(default)]
    metadata: As<Meta<OwnTexts>>,
    #[serde(default, deserialize_with = "shallow")]
    spec: Value,
}

impl<'de> Deserialize<'de> for AgentLease {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let LeaseParts { metadata, spec } = LeaseParts::deserialize(from)?;
        Ok(AgentLease { metadata: metadata.0.into(), held: digest(&spec) })
    }
}

/// A digest needs no more.
fn shallow<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    bounded_value(from, LIMITS).map(|(value, _)| value)
}

fn digest(spec: &Value) -> Option<u64> {
    spec.get("holderIdentity").and_then(Value::as_str).filter(|holder| !holder.is_empty())?;
    let mut hasher = DefaultHasher::new();
    spec.to_string().hash(&mut hasher);
    Some(hasher.finish())
}

wrapped_resource!([] AgentLease, Lease, |this| &this.metadata, &mut this.metadata);

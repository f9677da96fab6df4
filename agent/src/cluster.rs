//! The agent's requests: its offer read and watched, its status patched, its Lease renewed; each within a deadline.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use crds::Offer;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Client, Error, Resource};
use pool::{Advertises, ObjectKey, ReadTrimmed, Trimmed, lease_key};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::time::timeout;

use crate::config::Config;
use crate::token;

const MANAGER: &str = "gangmatch-agent";

/// An offer of either kind, as an agent needs it.
pub(crate) trait AgentOffer:
    Offer + Advertises + ReadTrimmed + Resource<Scope = NamespaceResourceScope>
{
}

impl<K: Offer + Advertises + ReadTrimmed + Resource<Scope = NamespaceResourceScope>> AgentOffer for K {}

/// What came of a request: the object as it is now, or why that is not known.
pub(crate) type Answer<K> = Result<K, String>;

/// The API server, as far as this agent needs it.
pub(crate) struct Cluster<K> {
    pub(crate) offers: Api<Trimmed<K>>,
    leases: Api<Trimmed<Lease>>,
    lease: ObjectKey,
    name: String,
    holder: String,
    known: Option<Lease>,
}

impl<K: AgentOffer> Cluster<K> {
    /// Connects with a kubeconfig file, or with what the surroundings offer.
    pub(crate) async fn connect(config: &Config) -> anyhow::Result<Cluster<K>> {
        let mut client = match &config.kubeconfig {
            Some(file) => {
                let read = Kubeconfig::read_from(file).with_context(|| format!("{} cannot be read", file.display()))?;
                kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
            }
            None => kube::Config::infer().await?,
        };
        // In a pod, kubelet renews the token.
        let token_file = config.kubeconfig.as_ref().and(client.auth_info.token_file.clone()).map(PathBuf::from);
        if let (Some(_), Some(token)) = (&config.kubeconfig, &client.auth_info.token) {
            token::announce(token.expose_secret());
        }
        // each write here is followed up by a look at what it did
        client.default_retry = false;
        let client = Client::try_from(client)?;
        if let Some(file) = token_file {
            tokio::spawn(token::keep(client.clone(), file, config.renew_token_before()));
        }
        let namespace = config.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
        let lease = lease_key(<K as Offer>::KIND, &ObjectKey::new(&namespace, &config.name));
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Cluster {
            offers: Api::namespaced(client.clone(), &namespace),
            leases: Api::namespaced(client, &namespace),
            lease,
            name: config.name.clone(),
            holder: format!("{}_{}", host.trim(), std::process::id()),
            known: None,
        })
    }

    /// Patches the status of the offer, operation by operation.
    pub(crate) async fn patch(&self, patch: Value, within: Duration) -> Answer<K> {
        let patch = Patch::<Value>::Json(serde_json::from_value(patch).map_err(|error| error.to_string())?);
        answered(self.offers.patch_status(&self.name, &params(), &patch), within).await.map(|sent| sent.0)
    }

    /// Writes the fields of the offer's status that only the agent writes.
    pub(crate) async fn publish(&self, patch: &Value, within: Duration) -> Answer<K> {
        answered(self.offers.patch_status(&self.name, &params(), &Patch::Merge(patch)), within).await.map(|sent| sent.0)
    }

    /// Reads the offer as it is now.
    pub(crate) async fn read(&self, within: Duration) -> Answer<Option<K>> {
        answered(self.offers.get_opt(&self.name), within).await.map(|found| found.map(|sent| sent.0))
    }

    /// Renews the Lease, or gives it back.
    pub(crate) async fn renew(&mut self, silence_seconds: i32, holds: bool, within: Duration) -> Answer<()> {
        if self.known.is_none() {
            self.known = answered(self.leases.get_opt(&self.lease.name), within).await?.map(|sent| sent.0);
        }
        let next = Trimmed(self.next_lease(silence_seconds, holds));
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        // If the write fails, the Lease is read again.
        let written = match self.known.take() {
            Some(_) => answered(self.leases.replace(&self.lease.name, &params, &next), within).await?,
            None => answered(self.leases.create(&params, &next), within).await?,
        };
        self.known = Some(written.0);
        Ok(())
    }

    fn next_lease(&self, silence_seconds: i32, holds: bool) -> Lease {
        let metadata = match &self.known {
            Some(known) => ObjectMeta { managed_fields: None, ..known.metadata.clone() },
            None => ObjectMeta { name: Some(self.lease.name.clone()), ..ObjectMeta::default() },
        };
        let spec = LeaseSpec {
            holder_identity: Some(if holds { self.holder.clone() } else { String::new() }),
            lease_duration_seconds: Some(silence_seconds),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        };
        Lease { metadata, spec: Some(spec) }
    }
}

fn params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

async fn answered<T>(request: impl Future<Output = Result<T, Error>>, within: Duration) -> Answer<T> {
    match timeout(within, request).await {
        Err(_) => Err(format!("no answer within {} ms", within.as_millis())),
        Ok(Ok(found)) => Ok(found),
        // Another writer was faster, or a rule forbids it.
        Ok(Err(Error::Api(status))) if matches!(status.code, 409 | 422) => Err(status.message.clone()),
        Ok(Err(Error::Api(status))) => Err(format!("{} {}: {}", status.code, status.reason, status.message)),
        Ok(Err(error)) => Err(error.to_string()),
    }
}

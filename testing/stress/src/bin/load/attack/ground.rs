//! A control plane with tenants on it: an attacker, another tenant who is measured, many offers, and the controller that is attacked.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crds::{Job, License, Machine};
use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod, ResourceQuota};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::control_plane::processes::Signal;
use testbed::product::Controller;
use testbed::tenants::{self, TenantNames};
use testbed::{Component, Options, product};
use tokio::task::JoinSet;

use crate::ads::object;
use crate::attack::samples::{self, Sampled};
use crate::attack::table::Used;
use crate::process;
use crate::stage::{LoadStage, WORKERS};
use stress::client;

/// Offers that anybody may take: they are what hostile ads are compared with.
const MACHINES: usize = 200;
const LICENSES: usize = 12;
/// The measured tenant's own machines, so that no sample waits for the end of another.
const OWN: usize = 64;
/// How long anything may take that is bound to happen.
const LIMIT: Duration = Duration::from_secs(120);
/// How many objects are deleted with one request.
const PAGE: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// The measured tenant's namespace, and the attacker's.
const CAROLS: &str = "c";
pub(crate) const BOBS: &str = "b";

pub(crate) struct AttackStage {
    pub(crate) stage: LoadStage,
    pub(crate) bob: Client,
    carol: Client,
}

impl AttackStage {
    pub(crate) async fn start() -> Result<AttackStage> {
        let options = Options { kwok: true, audit: false, fsync: true, node_lease_seconds: 1200, ..Options::default() };
        let stage = LoadStage::start_with(options).await?;
        let plane = stage.plane;
        let [_, bob, carol, _] =
            tokio::task::spawn_blocking(move || tenants::create(plane, &TenantNames::with_prefix(""))).await??;
        let (bob, carol) = (client(&bob.kubeconfig, None).await?, client(&carol.kubeconfig, None).await?);
        let ground = AttackStage { stage, bob, carol };
        ground.offers().await?;
        Ok(ground)
    }

    /// As the admin, in a namespace.
    pub(crate) fn admin<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.stage.client.clone(), namespace)
    }

    /// As the attacker.
    pub(crate) fn bob<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.bob.clone(), BOBS)
    }

    async fn offers(&self) -> Result<()> {
        let any = json!("other.Type == \"Job\"");
        let machine = |at: usize| {
            let spec = json!({"attributes": {"Arch": "INTEL", "Memory": 1024 + at}, "constraint": any, "allowedNamespaces": {"from": "All"}});
            object::<Machine>("Machine", &format!("m{at}"), &spec)
        };
        let license = |at: usize| {
            let spec = json!({"attributes": {"App": format!("app{at}")}, "constraint": any, "allowedNamespaces": {"from": "All"}});
            object::<License>("License", &format!("l{at}"), &spec)
        };
        let own = |at: usize| {
            let spec = json!({"attributes": {"Group": "carol", "Memory": 512}, "constraint": any});
            object::<Machine>("Machine", &format!("own{at}"), &spec)
        };
        create(&self.admin("a"), (0..MACHINES).map(machine).collect::<Result<_>>()?).await.all("machines")?;
        create(&self.admin("a"), (0..LICENSES).map(license).collect::<Result<_>>()?).await.all("licenses")?;
        create(&self.admin(CAROLS), (0..OWN).map(own).collect::<Result<_>>()?).await.all("machines")?;
        let seats = json!({"attributes": {"App": "carol"}, "constraint": any, "capacity": {"seats": OWN}});
        let asks = json!({"suspend": true, "constraint": "other.Type == \"License\" && other.App == \"carol\""});
        self.admin(CAROLS).create(&PostParams::default(), &object::<License>("License", "seats", &seats)?).await?;
        self.admin(CAROLS).create(&PostParams::default(), &object::<Job>("Job", "ad", &asks)?).await?;
        Ok(())
    }

    /// Latencies of the other tenant.
    pub(crate) async fn samples(&self, sampled: Sampled, count: usize) -> Result<Vec<Option<Duration>>> {
        match sampled {
            Sampled::Jobs => {
                let spec = json!({"constraint": "other.Type == \"Machine\" && other.Group == \"carol\""});
                let api = Api::<Job>::namespaced(self.carol.clone(), CAROLS);
                samples::measure(&api, count, |name| object("Job", name, &spec)).await
            }
            Sampled::Labelled => {
                let api = Api::<Batch>::namespaced(self.carol.clone(), CAROLS);
                samples::measure(&api, count, |name| batch(name, &json!({"gangmatch.dev/ad": "ad"}), &json!({}))).await
            }
        }
    }

    /// A new controller, to which everything that was claimed has been given back.
    pub(crate) async fn defence(&self, flags: &[String]) -> Result<Defence<'_>> {
        let flags = [vec!["--lease-seconds=15".to_owned()], flags.to_vec()].concat();
        let controller = self.stage.controller(&flags).await?;
        let begun = Instant::now();
        while self.claims(CAROLS).await? + self.claims("a").await? > 0 && begun.elapsed() < LIMIT {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(Defence { ground: self, controller })
    }

    async fn claims(&self, namespace: &str) -> Result<usize> {
        let all = self.admin::<Machine>(namespace).list(&ListParams::default()).await?;
        Ok(all.items.iter().filter_map(|machine| machine.status.as_ref()).map(|status| status.claims.len()).sum())
    }

    /// Takes away everything that the attacker, and the admin for the attacker, has made.
    pub(crate) async fn clear(&self) -> Result<()> {
        self.signal_kubelets(Signal::Continue).await?;
        clear(&self.admin::<Job>(BOBS)).await?;
        clear(&self.admin::<Batch>(BOBS)).await?;
        clear(&self.admin::<Pod>(BOBS)).await?;
        clear(&self.admin::<Machine>(BOBS)).await?;
        clear(&self.admin::<ResourceQuota>(BOBS)).await?;
        let nodes: Api<Node> = Api::all(self.stage.client.clone());
        nodes.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        let others = ListParams::default().fields("metadata.name!=ad");
        self.admin::<Job>(CAROLS).delete_collection(&DeleteParams::default(), &others).await?;
        Ok(())
    }

    /// kwok, which plays the kubelets.
    pub(crate) async fn signal_kubelets(&self, signal: Signal) -> Result<()> {
        let plane = self.stage.plane;
        tokio::task::spawn_blocking(move || plane.signal(Component::Kwok, signal)).await?
    }
}

/// The controller that is attacked.
pub(crate) struct Defence<'g> {
    ground: &'g AttackStage,
    controller: Controller<'static>,
}

impl Defence<'_> {
    pub(crate) fn meter(&self) -> Result<Meter> {
        let id = self.controller.id()?;
        let (largest, mut watch) = (Arc::<AtomicU64>::default(), JoinSet::new());
        let seen = largest.clone();
        watch.spawn(async move {
            loop {
                seen.fetch_max(process::resident_bytes(id).unwrap_or(0), Ordering::Relaxed);
                tokio::time::sleep(PAUSE).await;
            }
        });
        Ok(Meter { id, spent: process::milliseconds_of(id)?, largest, _watch: watch })
    }

    /// Ends it whatever it does, and lets the next one lead at once.
    pub(crate) async fn end(self) -> Result<()> {
        let controller = self.controller;
        tokio::task::spawn_blocking(move || controller.end(Signal::Kill)).await??;
        let leases = self.ground.admin::<Lease>(product::NAMESPACE);
        leases.delete(product::RELEASE, &DeleteParams::default()).await.context("the leader's Lease")?;
        Ok(())
    }
}

/// What a process uses, from now on.
pub(crate) struct Meter {
    id: u32,
    spent: u64,
    largest: Arc<AtomicU64>,
    _watch: JoinSet<()>,
}

impl Meter {
    pub(crate) fn read(&self, over: Duration) -> Result<Used> {
        let spent = process::milliseconds_of(self.id)?.saturating_sub(self.spent);
        let spent = Duration::from_millis(spent).as_secs_f64();
        Ok(Used { cores: spent / over.as_secs_f64().max(0.001), bytes: self.largest.load(Ordering::Relaxed) })
    }
}

/// What came of creating many.
#[derive(Debug, Default)]
pub(crate) struct Created {
    pub(crate) made: usize,
    /// The server's words for one of those that it refused.
    pub(crate) refusal: Option<String>,
}

impl Created {
    fn all(self, what: &str) -> Result<()> {
        match self.refusal {
            None => Ok(()),
            Some(refusal) => anyhow::bail!("{what}: {refusal}"),
        }
    }
}

/// Creates all of them; those that are refused are refused.
pub(crate) async fn create<K>(api: &Api<K>, all: Vec<K>) -> Created
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let params = PostParams::default();
    let mut answers =
        std::pin::pin!(futures::stream::iter(&all).map(|object| api.create(&params, object)).buffer_unordered(WORKERS));
    let mut created = Created::default();
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(_) => created.made += 1,
            Err(error) => created.refusal = Some(error.to_string()),
        }
    }
    created
}

/// Deletes all of a kind, and waits until they are gone; what does not go in time stays. A server that has much to delete may not answer in
/// time: it is asked again.
async fn clear<K>(api: &Api<K>) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    // page by page: the answer contains what is deleted, and thousands of large objects are too much for one
    let page = ListParams::default().limit(PAGE);
    let begun = Instant::now();
    loop {
        let is_empty = match api.delete_collection(&DeleteParams::background(), &page).await {
            Ok(_) => api.list_metadata(&ListParams::default().limit(1)).await.map(|left| left.items.is_empty()),
            Err(error) => Err(error),
        };
        match is_empty {
            Err(error) if begun.elapsed() > LIMIT => return Err(error.into()),
            Ok(is_empty) if is_empty || begun.elapsed() > LIMIT => return Ok(()),
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// A batch Job of one pod, held.
pub(crate) fn batch(name: &str, labels: &Value, more: &Value) -> Result<Batch> {
    let pod = json!({"metadata": {"annotations": {"e2e.gangmatch.dev/ends": "never"}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{"name": "sim", "image": "sim:1"}]}});
    let mut spec = json!({"suspend": true, "backoffLimit": 0, "template": pod});
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
        spec.extend(more.clone());
    }
    Ok(serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}, "spec": spec}))?)
}

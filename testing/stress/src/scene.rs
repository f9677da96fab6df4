//! A namespace for one play, and words for what is put there and awaited.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use crds::{Job, JobPhase, License, Machine, Match};
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{ChaosStage, Replica};

/// How long anything may take that is bound to happen, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// Where one play is played.
#[derive(Clone)]
pub struct Scene {
    client: Client,
    /// The namespace.
    pub name: String,
}

impl Scene {
    /// A new namespace.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn new(stage: &ChaosStage, name: &str) -> Result<Scene> {
        let api: Api<Namespace> = Api::all(stage.client.clone());
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        api.create(&PostParams::default(), &namespace).await.with_context(|| format!("namespace {name}"))?;
        Ok(Scene { client: stage.client.clone(), name: name.to_owned() })
    }

    /// The same namespace as another user sees it.
    pub(crate) fn seen_by(&self, client: Client) -> Scene {
        Scene { client, name: self.name.clone() }
    }

    /// Deletes all objects of a kind, and waits until they are gone.
    pub(crate) async fn delete_all<K>(&self) -> Result<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let begun = Instant::now();
        while begun.elapsed() < LIMIT {
            self.api::<K>().delete_collection(&DeleteParams::background(), &ListParams::default()).await?;
            if self.api::<K>().list_metadata(&ListParams::default().limit(1)).await?.items.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        bail!("{}: not all {} are gone", self.name, K::plural(&()))
    }

    /// The objects of a kind here.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Creates an object.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn create<K>(&self, object: &K) -> Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
    {
        Ok(self.api::<K>().create(&PostParams::default(), object).await?)
    }

    /// Creates as many machines `m0`..., and licenses `l0`... of one seat.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub async fn offers(&self, count: usize) -> Result<()> {
        for number in 0..count {
            self.create(&crate::machine(&format!("m{number}"))).await?;
            self.create(&crate::license(&format!("l{number}"), 1)).await?;
        }
        Ok(())
    }

    /// Creates a node of this play, and a machine that is it; and licenses `l0`... of one seat.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub async fn nodes(&self, count: usize) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        for number in 0..count {
            let node = format!("{}-{number}", self.name);
            nodes.create(&PostParams::default(), &crate::node(&node)).await?;
            self.create(&crate::machine_on(&format!("m{number}"), &node)).await?;
            self.create(&crate::license(&format!("l{number}"), 1)).await?;
        }
        Ok(())
    }

    /// Changes the spec of an object.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn merge<K>(&self, name: &str, spec: serde_json::Value) -> Result<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.api::<K>().patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Deletes an object, and what belongs to it, as kubectl does; one that is not there is no error.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn delete<K>(&self, name: &str) -> Result<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        match self.api::<K>().delete(name, &DeleteParams::background()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until an API server that was restarted takes writes of all kinds: for a moment it knows nothing of custom ones, and
    /// reads of them are answered first.
    ///
    /// # Errors
    /// When it does not within the limit.
    pub async fn is_served(&self) -> Result<()> {
        let (begun, dry) = (Instant::now(), PostParams { dry_run: true, ..PostParams::default() });
        loop {
            let served = async {
                self.api().create(&dry, &crate::job("served")).await?;
                self.api().create(&dry, &crate::machine("served")).await?;
                self.api().create(&dry, &crate::license("served", 1)).await.map(drop)
            };
            match served.await {
                Ok(()) => return Ok(()),
                Err(error) if begun.elapsed() > LIMIT => {
                    return Err(error).context("the API server does not come back");
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// The phase of a job; none if it is not there, or nobody has looked at it.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn phase(&self, job: &str) -> Result<Option<JobPhase>> {
        let found = self.api::<Job>().get_opt(job).await?;
        Ok(found.and_then(|job| job.status).and_then(|status| status.phase))
    }

    /// How many jobs here are in this phase.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn in_phase(&self, phase: JobPhase) -> Result<usize> {
        let jobs = self.api::<Job>().list(&ListParams::default()).await?;
        let is = |job: &&Job| job.status.as_ref().and_then(|status| status.phase) == Some(phase);
        Ok(jobs.items.iter().filter(is).count())
    }

    /// How many entries there are in all ledgers here.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn entries(&self) -> Result<usize> {
        let machines = self.api::<Machine>().list(&ListParams::default()).await?;
        let licenses = self.api::<License>().list(&ListParams::default()).await?;
        let of_machines = machines.items.iter().filter_map(|machine| machine.status.as_ref());
        let of_licenses = licenses.items.iter().filter_map(|license| license.status.as_ref());
        Ok(of_machines.chain(of_licenses).map(|status| status.claims.len()).sum())
    }

    /// The Matches here.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn matches(&self) -> Result<Vec<Match>> {
        Ok(self.api::<Match>().list(&ListParams::default()).await?.items)
    }

    /// Waits until a job is in a phase; whoever is struck meanwhile dies and comes back. While the API server is away, it is
    /// asked again.
    ///
    /// # Errors
    /// When it takes too long; the error has the end of the controllers' logs.
    pub async fn wait(&self, job: &str, phase: JobPhase, replicas: &mut [Replica]) -> Result<()> {
        self.wait_any(job, &[phase], replicas).await
    }

    /// The same until a job is in one of several phases.
    ///
    /// # Errors
    /// As [`Scene::wait`].
    pub async fn wait_any(&self, job: &str, phases: &[JobPhase], replicas: &mut [Replica]) -> Result<()> {
        let begun = Instant::now();
        loop {
            for replica in replicas.iter_mut() {
                replica.die_if_struck()?;
            }
            let now = self.phase(job).await.unwrap_or_default();
            if now.is_some_and(|now| phases.contains(&now)) {
                return Ok(());
            }
            if begun.elapsed() > LIMIT {
                let logs: Vec<String> = replicas.iter().map(Replica::log_tail).collect();
                bail!("{}/{job} is {now:?}, not {phases:?}; the controllers say:\n{}", self.name, logs.join("\n--\n"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

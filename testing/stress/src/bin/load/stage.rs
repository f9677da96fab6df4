//! A control plane with the chart on it, and the controller as it is shipped.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use crds::{License, Machine};
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use stress::client;
use testbed::product::{self, Controller};
use testbed::{Component, ControlPlane, Options, repository};

use crate::ads;

/// Where the load is.
pub(crate) const NAMESPACE: &str = "load";
/// How many requests of our own are under way at once.
pub(crate) const WORKERS: usize = 32;
/// How many entries an offer can have.
const ENTRIES_MAX: usize = 256;

pub(crate) struct LoadStage {
    pub(crate) plane: &'static ControlPlane,
    /// The admin.
    pub(crate) client: Client,
    /// The controller's own rights: what it may do, and how its requests are queued.
    pub(crate) as_controller: Client,
    kubeconfig: PathBuf,
}

impl LoadStage {
    /// etcd waits for the disk, requests are audited, all policies of the chart are in force.
    pub(crate) async fn start() -> Result<LoadStage> {
        LoadStage::start_with(Options { fsync: true, ..Options::default() }).await
    }

    /// The same as these options say.
    pub(crate) async fn start_with(options: Options) -> Result<LoadStage> {
        let (plane, kubeconfig) = tokio::task::spawn_blocking(move || -> Result<_> {
            let plane: &'static ControlPlane = Box::leak(Box::new(ControlPlane::start(&options)?));
            product::install_chart(plane, &[])?;
            Ok((plane, product::controller_kubeconfig(plane)?))
        })
        .await??;
        let (client, as_controller) = (client(plane.kubeconfig(), None).await?, client(&kubeconfig, None).await?);
        let stage = LoadStage { plane, client, as_controller, kubeconfig };
        stage.namespace(NAMESPACE).await?;
        Ok(stage)
    }

    pub(crate) async fn namespace(&self, name: &str) -> Result<()> {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.to_owned());
        Api::all(self.client.clone()).create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Offers with room for so many jobs.
    pub(crate) async fn offers(&self, jobs: usize, machines: usize, licenses: usize) -> Result<()> {
        let (slots, seats) = (jobs.div_ceil(machines.max(1)), jobs.div_ceil(licenses.max(1)));
        ensure!(
            slots.max(seats) <= ENTRIES_MAX,
            "an offer has {ENTRIES_MAX} entries at most: more offers, or fewer jobs"
        );
        let params = PostParams::default();
        futures::stream::iter((0..machines).map(|number| ads::machine(number, slots)))
            .try_for_each_concurrent(WORKERS, |machine| {
                let (api, params) = (self.api::<Machine>(), params.clone());
                async move { api.create(&params, &machine).await.map(drop).map_err(Into::into) }
            })
            .await?;
        futures::stream::iter((0..licenses).map(|number| ads::license(number, seats)))
            .try_for_each_concurrent(WORKERS, |license| {
                let (api, params) = (self.api::<License>(), params.clone());
                async move { api.create(&params, &license).await.map(drop).map_err(Into::into) }
            })
            .await
    }

    /// The controller, optimised, with the chart's rights. Its lease is long: it stands still for a while.
    pub(crate) async fn controller(&self, flags: &[String]) -> Result<Controller<'static>> {
        let (plane, kubeconfig, flags) = (self.plane, self.kubeconfig.clone(), flags.to_vec());
        tokio::task::spawn_blocking(move || {
            let executable = repository::optimised("gangmatch-controller")?;
            let mut all = vec!["--lease-seconds=300"];
            all.extend(flags.iter().map(String::as_str));
            let controller = product::spawn_executable(plane, &executable, &kubeconfig, &all)?;
            controller.wait_until_ready()?;
            Ok(controller)
        })
        .await?
    }

    /// Ends the control plane's processes; else they end with this program.
    pub(crate) fn take_down(self) -> Result<()> {
        for component in [Component::ControllerManager, Component::Scheduler, Component::Apiserver, Component::Etcd] {
            self.plane.kill(component)?;
        }
        Ok(())
    }

    /// Waits until nothing has been written for a second.
    pub(crate) async fn settle(&self) -> Result<()> {
        let begun = Instant::now();
        let mut last = (String::new(), Instant::now());
        while last.1.elapsed() < Duration::from_secs(1) {
            ensure!(begun.elapsed() < Duration::from_secs(600), "it does not come to rest");
            let mut version = String::new();
            for newest in
                [newest::<Machine>(self).await?, newest::<License>(self).await?, newest::<crds::Job>(self).await?]
            {
                version = version + "/" + &newest;
            }
            if version != last.0 {
                last = (version, Instant::now());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}

/// Something that changes when any object of the kind does.
async fn newest<K>(stage: &LoadStage) -> Result<String>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let list = stage.api::<K>().list_metadata(&ListParams::default()).await?;
    let versions = list.items.iter().filter_map(|item| item.metadata.resource_version.as_ref()?.parse::<u64>().ok());
    Ok(versions.max().unwrap_or(0).to_string())
}

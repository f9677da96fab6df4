//! A tenant who attacks beside the ordinary people of a soak, with credentials and rights of the tenant's own.

use anyhow::Result;
use crds::{LABEL_AD, LABEL_MATCH_UID, Machine};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use sampling::Random;
use serde_json::json;
use testbed::tenants;
use tokio::task::block_in_place;

use crate::{ChaosStage, Costly, Ends, Scene, client};

/// What the attacker does in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attack {
    /// Ads that cost as much as an ad can.
    Costly(Costly),
    /// Batch Jobs with the label of claims of others.
    Forged,
    /// Labelled workloads that no quota is left for.
    Quota,
    /// A machine of the attacker's that is taken away again and again, and workloads that never say that they have stopped.
    Evictions,
}

const PLANS: [Attack; 7] = [
    Attack::Costly(Costly::Lists { width: 4, levels: 39 }),
    Attack::Costly(Costly::EachInEach { elements: 800 }),
    Attack::Costly(Costly::Gang { ports: 8 }),
    Attack::Costly(Costly::Large { bytes: 256 * 1024 }),
    Attack::Forged,
    Attack::Quota,
    Attack::Evictions,
];
/// How many names there are for what the attacker makes.
const NAMES: u64 = 12;
/// An ad that workloads name.
const AD: &str = "asks";

/// The attacker of one round.
pub(crate) struct Attacker {
    /// The attacker's own namespace, by the attacker's own rights.
    here: Scene,
    /// The same namespace as an administrator sees it, who may delete all objects of a kind at once.
    as_admin: Scene,
    plan: Attack,
}

impl Attacker {
    /// A new one, with a namespace and a plan.
    pub(crate) async fn new(stage: &ChaosStage, round: &str, random: &mut Random) -> Result<Attacker> {
        let home = format!("hostile-{round}");
        let as_admin = Scene::new(stage, &home).await?;
        let mallory = block_in_place(|| tenants::admin_of(stage.plane, "mallory", &home))?;
        let here = as_admin.seen_by(client(&mallory, None).await?);
        let plan = random.pick(&PLANS).copied().unwrap_or(Attack::Forged);
        if plan == Attack::Quota {
            let quota: ResourceQuota = serde_json::from_value(
                json!({"metadata": {"name": "one"}, "spec": {"hard": {"count/jobs.gangmatch.dev": "1"}}}),
            )?;
            as_admin.create(&quota).await?;
            here.create(&crate::ad(AD)).await?;
        }
        if plan == Attack::Evictions {
            here.create(&crate::machine("m")).await?;
            here.create(&crate::license("l", 1)).await?;
        }
        Ok(Attacker { here, as_admin, plan })
    }

    /// What is done in this round.
    pub(crate) fn name(&self) -> String {
        format!("attack {:?}", self.plan).to_lowercase()
    }

    /// The next step; the API server may refuse it.
    pub(crate) async fn act(&self, victims: &Scene, random: &mut Random) -> Result<()> {
        let number = usize::try_from(random.below(NAMES)).unwrap_or(0);
        let name = format!("x{number}");
        match self.plan {
            Attack::Costly(costly) => drop(self.here.create(&costly.ad(&name, number)).await?),
            Attack::Forged => {
                let all = victims.matches().await?;
                let Some(found) = random.pick(&all) else { return Ok(()) };
                let mut batch = crate::labelled_batch(&name, AD, Ends::Well);
                let labels = batch.metadata.labels.get_or_insert_default();
                labels.remove(LABEL_AD);
                labels.insert(LABEL_MATCH_UID.to_owned(), found.metadata.uid.clone().unwrap_or_default());
                self.here.create(&batch).await?;
            }
            Attack::Quota => drop(self.here.create(&crate::labelled_batch(&name, AD, Ends::Never)).await?),
            Attack::Evictions if random.happens(500) => {
                let stop_policy = if random.happens(500) { "HoldAndDrain" } else { "None" };
                self.here.merge::<Machine>("m", json!({"stopPolicy": stop_policy})).await?;
            }
            Attack::Evictions => {
                let mut batch = crate::labelled_batch(&name, AD, Ends::Never);
                batch.metadata.labels = None;
                let spec = batch.spec.get_or_insert_default();
                (spec.suspend, spec.managed_by) = (Some(true), Some("mallory.io/none".to_owned()));
                self.here.create(&batch).await?;
                let mut job = crate::job(&name);
                job.spec.workload = Some(serde_json::from_value(json!({"workloadRef": {"name": name}}))?);
                self.here.create(&job).await?;
            }
        }
        Ok(())
    }

    /// Takes away everything that the attacker has made, so that the world can come to rest.
    pub(crate) async fn leave(&self) -> Result<()> {
        self.as_admin.delete_all::<crds::Job>().await?;
        self.as_admin.delete_all::<Batch>().await?;
        self.as_admin.delete_all::<Pod>().await
    }
}

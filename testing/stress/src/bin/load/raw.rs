//! The API server alone: how many guarded status patches a second it takes, from as many writers as the controller has.

use std::time::{Duration, Instant};

use anyhow::Result;
use crds::Machine;
use json_patch::Patch as Json;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::ads;
use crate::stage::{LoadStage, WORKERS};

/// How long it is measured.
const TIME: Duration = Duration::from_secs(6);

/// Patches a second. The objects are of no pool: nobody else looks at them.
pub(crate) async fn rate(stage: &LoadStage) -> Result<f64> {
    const NAMESPACE: &str = "raw";
    stage.namespace(NAMESPACE).await.ok();
    let admin: Api<Machine> = Api::namespaced(stage.client.clone(), NAMESPACE);
    let api: Api<Machine> = Api::namespaced(stage.as_controller.clone(), NAMESPACE);
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let machine = admin.create(&PostParams::default(), &ads::machine(number, 1)?).await?;
        let api = api.clone();
        workers.push(async move {
            let (uid, name) = (machine.metadata.uid.unwrap_or_default(), machine.metadata.name.unwrap_or_default());
            let (begun, mut done) = (Instant::now(), 0_u32);
            while begun.elapsed() < TIME {
                let patch: Json = serde_json::from_value(json!([
                    {"op": "test", "path": "/metadata/uid", "value": uid},
                    {"op": "test", "path": "/metadata/generation", "value": 1},
                    {"op": "add", "path": "/status/used", "value": format!("{done}/1 slots")},
                ]))?;
                api.patch_status(&name, &PatchParams::default(), &Patch::Json::<()>(patch)).await?;
                done += 1;
            }
            Ok::<_, anyhow::Error>(done)
        });
    }
    let begun = Instant::now();
    let done = futures::future::try_join_all(workers).await?;
    let rate = f64::from(done.iter().sum::<u32>()) / begun.elapsed().as_secs_f64();
    admin.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    Ok(rate)
}

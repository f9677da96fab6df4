//! The rows of an attack into objects of the attacker's, put in place.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use crds::{Job, JobPhase, Machine};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::{Node, ResourceQuota};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use stress::Costly;
use testbed::control_plane::processes::Signal;

use crate::ads::object;
use crate::attack::ground::{AttackStage, BOBS, Created, batch, create};
use crate::attack::samples::Sampled;

/// How long the attacker waits for what the attack needs, and how long a seat may be held after it was taken back.
const WAIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
/// Enough claims to fill any budget of claims under way.
const CLAIMS: usize = 66;

/// One attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Row {
    A8,
    B1,
    B2,
    B3,
    B4,
    B5,
    B6,
    B7,
    B8,
    B9,
    B11,
    B13,
    B14,
}

impl Row {
    pub(crate) fn all() -> Vec<Row> {
        Row::value_variants().to_vec()
    }

    pub(crate) fn name(self) -> &'static str {
        self.told().0
    }

    pub(crate) fn what(self) -> &'static str {
        self.told().1
    }

    fn told(self) -> (&'static str, &'static str) {
        match self {
            Row::A8 => ("A8", "a workloadRef to a batch Job of another controller, evicted"),
            Row::B1 => ("B1", "300 labelled batch Jobs under a quota of one Job"),
            Row::B2 => ("B2", "66 claims whose work never says that it has stopped"),
            Row::B3 => ("B3", "66 claims on nodes with silent kubelets, jobs deleted"),
            Row::B4 => ("B4", "one job with a tree of 4^39 lists"),
            Row::B5 => ("B5", "one job with a tree of 2^24 lists"),
            Row::B6 => ("B6", "30 jobs with 800 x 800 evaluations for each candidate"),
            Row::B7 => ("B7", "one job with 8 ports and a condition on all"),
            Row::B8 => ("B8", "30 jobs with texts that double 59 times"),
            Row::B9 => ("B9", "30 jobs with sums that double 60 times"),
            Row::B11 => ("B11", "200 jobs with costly patterns"),
            Row::B13 => ("B13", "5,000 jobs of 256 KiB"),
            Row::B14 => ("B14", "5,000 jobs of one tenant"),
        }
    }

    /// Whom the attack is on.
    pub(crate) fn sampled(self) -> Sampled {
        if self == Row::B1 { Sampled::Labelled } else { Sampled::Jobs }
    }

    /// How many ads it is made of, if it is made of ads alone.
    fn ads(self) -> Option<(usize, Costly)> {
        match self {
            Row::B4 => Some((1, Costly::Lists { width: 4, levels: 39 })),
            Row::B5 => Some((1, Costly::Lists { width: 2, levels: 24 })),
            Row::B6 => Some((30, Costly::EachInEach { elements: 800 })),
            Row::B7 => Some((1, Costly::Gang { ports: 8 })),
            Row::B8 => Some((30, Costly::Texts { levels: 59 })),
            Row::B9 => Some((30, Costly::Sums { levels: 60 })),
            Row::B11 => Some((200, Costly::Patterns { letters: 8000 })),
            Row::B13 => Some((5000, Costly::Large { bytes: 256 * 1024 })),
            Row::B14 => Some((5000, Costly::Plain)),
            Row::A8 | Row::B1 | Row::B2 | Row::B3 => None,
        }
    }
}

/// `percent` of a number, at least one.
fn scaled(count: usize, percent: usize) -> usize {
    (count * percent / 100).max(1)
}

/// Puts an attack in place; says what of it was refused.
pub(crate) async fn place(ground: &AttackStage, row: Row, percent: usize) -> Result<String> {
    match (row, row.ads()) {
        (_, Some((count, costly))) => {
            let count = scaled(count, percent);
            // a few at a time: all of them at once are more than the memory of a small machine
            let mut created = Created::default();
            for first in (0..count).step_by(200) {
                let some = first..count.min(first + 200);
                let some = create(&ground.bob(), some.map(|at| costly.ad(&format!("j{at}"), at)).collect()).await;
                created = Created { made: created.made + some.made, refusal: some.refusal.or(created.refusal) };
            }
            Ok(refused(&created, count))
        }
        (Row::B1, _) => labelled(ground, scaled(300, percent)).await,
        (Row::B3, _) => silent(ground, scaled(CLAIMS, percent)).await,
        (Row::A8, _) => foreign(ground, 1).await,
        (_, None) => foreign(ground, scaled(CLAIMS, percent)).await,
    }
}

fn refused(created: &Created, count: usize) -> String {
    match &created.refusal {
        Some(refusal) => {
            let short: String = refusal.chars().take(120).collect();
            format!("{} of {count} made; refused: {}", created.made, short.replace(['|', '\n'], " "))
        }
        None => String::new(),
    }
}

/// Workloads that ask by a label for Jobs that no quota is left for.
async fn labelled(ground: &AttackStage, count: usize) -> Result<String> {
    let quota: ResourceQuota = serde_json::from_value(
        json!({"metadata": {"name": "one"}, "spec": {"hard": {"count/jobs.gangmatch.dev": "1"}}}),
    )?;
    ground.admin(BOBS).create(&PostParams::default(), &quota).await?;
    let quotas = ground.admin::<ResourceQuota>(BOBS);
    let begun = Instant::now();
    while quotas.get("one").await?.status.is_none_or(|status| status.used.is_none()) && begun.elapsed() < WAIT {
        tokio::time::sleep(PAUSE).await;
    }
    let asks = json!({"suspend": true, "constraint": "other.Type == \"Machine\""});
    ground.bob().create(&PostParams::default(), &object::<Job>("Job", "ad", &asks)?).await?;
    let all = (0..count).map(|at| batch(&format!("w{at}"), &json!({"gangmatch.dev/ad": "ad"}), &json!({})));
    let created = create(&ground.bob::<Batch>(), all.collect::<Result<_>>()?).await;
    Ok(refused(&created, count))
}

/// Claims for batch Jobs that another controller is in charge of; then all are told to end, and none does.
async fn foreign(ground: &AttackStage, count: usize) -> Result<String> {
    machines(ground, count, |_| json!({"attributes": {"Group": "bob"}})).await?;
    let managed = json!({"managedBy": "bob.io/none"});
    let batches = (0..count).map(|at| batch(&format!("w{at}"), &json!({}), &managed));
    create(&ground.bob::<Batch>(), batches.collect::<Result<_>>()?).await;
    let job = |at: usize| {
        let workload = json!({"workloadRef": {"name": format!("w{at}")}});
        object::<Job>("Job", &format!("j{at}"), &json!({"constraint": "other.Group == \"bob\"", "workload": workload}))
    };
    let created = create(&ground.bob::<Job>(), (0..count).map(job).collect::<Result<_>>()?).await;
    let claimed = in_phase(ground, count, &[JobPhase::Claimed, JobPhase::Running]).await?;
    let told = if count == 1 { json!({"stopPolicy": "HoldAndDrain"}) } else { json!({"done": true}) };
    let patch = Patch::Merge(json!({"spec": told}));
    if count == 1 {
        ground.admin::<Machine>(BOBS).patch("bobs0", &PatchParams::default(), &patch).await?;
    } else {
        for at in 0..count {
            ground.bob::<Job>().patch(&format!("j{at}"), &PatchParams::default(), &patch).await.ok();
        }
    }
    Ok([refused(&created, count), format!("{claimed} of {count} claimed")].concat())
}

/// Claims with pods whose kubelets then say nothing any more, and whose jobs are deleted.
async fn silent(ground: &AttackStage, count: usize) -> Result<String> {
    let nodes: Api<Node> = Api::all(ground.stage.client.clone());
    for at in 0..count {
        nodes.create(&PostParams::default(), &crate::ads::node(at)?).await?;
    }
    machines(ground, count, |at| json!({"attributes": {"Group": "bob"}, "nodeName": format!("n{at}")})).await?;
    let template = batch("any", &json!({}), &json!({"suspend": null}))?.spec;
    let spec = json!({"constraint": "other.Group == \"bob\"", "workload": {"jobTemplate": {"spec": template}}});
    let jobs = (0..count).map(|at| object::<Job>("Job", &format!("j{at}"), &spec));
    create(&ground.bob::<Job>(), jobs.collect::<Result<_>>()?).await;
    let running = in_phase(ground, count, &[JobPhase::Running]).await?;
    ground.signal_kubelets(Signal::Stop).await?;
    for at in 0..count {
        ground.bob::<Job>().delete(&format!("j{at}"), &DeleteParams::background()).await.ok();
    }
    Ok(format!("{running} of {count} were running"))
}

/// Machines that the attacker has a right to.
async fn machines(ground: &AttackStage, count: usize, spec: impl Fn(usize) -> serde_json::Value) -> Result<()> {
    let all = (0..count).map(|at| object::<Machine>("Machine", &format!("bobs{at}"), &spec(at)));
    create(&ground.admin(BOBS), all.collect::<Result<_>>()?).await;
    Ok(())
}

/// Waits until so many of the attacker's jobs are in one of these phases; how many are, after a while.
async fn in_phase(ground: &AttackStage, count: usize, phases: &[JobPhase]) -> Result<usize> {
    let begun = Instant::now();
    loop {
        let all = ground.bob::<Job>().list(&ListParams::default()).await?.items;
        let is = |job: &&Job| {
            job.status.as_ref().and_then(|status| status.phase).is_some_and(|phase| phases.contains(&phase))
        };
        let now = all.iter().filter(is).count();
        if now >= count || begun.elapsed() > WAIT {
            return Ok(now);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What became of what was attacked, apart from the latency of others.
pub(crate) async fn outcome(ground: &AttackStage, row: Row) -> Result<String> {
    if row != Row::A8 {
        return Ok(String::new());
    }
    let begun = Instant::now();
    while begun.elapsed() < WAIT {
        let machine = ground.admin::<Machine>(BOBS).get("bobs0").await?;
        if machine.status.is_none_or(|status| status.claims.is_empty()) {
            return Ok(format!("the seat is back after {:.1} s at the latest", begun.elapsed().as_secs_f64()));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(format!("the seat is not back after {} s", WAIT.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_that_selects_it() {
        for row in Row::all() {
            assert_eq!(Row::from_str(row.name(), true), Ok(row));
            assert!(!row.what().is_empty());
        }
    }

    #[test]
    fn an_attack_is_made_of_one_object_at_least() {
        assert_eq!((scaled(5000, 10), scaled(30, 100), scaled(1, 1)), (500, 30, 1));
    }
}

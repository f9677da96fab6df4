//! Agents in the plays: one that never votes, one that says no, and one that dies in the middle of its work, while answers to the
//! controller's writes get lost.

use std::time::Duration;

use anyhow::Result;
use crds::{Activity, AskWhen, ClaimEntry, JobPhase, Machine, Vote};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use stress::{Fault, Scene, Weather};

use crate::play::{play, scene};

/// What an agent does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    NeverVotes,
    SaysNo,
    /// Says yes, starts to work, and is not heard of again.
    Dies,
}

/// How long it may be silent, in seconds: as short as the API allows.
const SILENCE: u32 = 20;

/// A machine for which an agent speaks; jobs like it better than others.
fn voting() -> Machine {
    let mut machine = stress::machine("asked");
    let spec = json!({"claimPolicy": "Agent", "agent": {"username": "admin", "leaseDurationSeconds": SILENCE},
        "attributes": {"Arch": "INTEL", "Memory": 9000}, "constraint": "other.Type == \"Job\""});
    machine.spec = serde_json::from_value(spec).unwrap();
    machine
}

/// A job that likes large machines, and waits for votes as short as the API allows.
fn job() -> crds::Job {
    let mut job = stress::job("j");
    job.spec.reserve_timeout_seconds = 5;
    if let Some(cpu) = job.spec.ad.ports.as_mut().and_then(|ports| ports.first_mut()) {
        cpu.rank = serde_json::from_value(json!("cpu.Memory")).unwrap();
    }
    job
}

/// An agent, until it is dropped, or dies.
async fn agent(here: Scene, manner: Manner) {
    let (leases, machines): (Api<Lease>, Api<Machine>) = (here.api(), here.api());
    let name = "gangmatch-machine-asked";
    for renewal in 0_i32.. {
        let lease =
            json!({"metadata": {"name": name}, "spec": {"holderIdentity": "agent", "leaseTransitions": renewal}});
        if leases.get_opt(name).await.is_ok_and(|found| found.is_none()) {
            let made = serde_json::from_value(lease).unwrap();
            leases.create(&PostParams::default(), &made).await.ok();
        } else {
            leases.patch(name, &PatchParams::default(), &Patch::Merge(lease)).await.ok();
        }
        let Ok(machine) = machines.get("asked").await else { continue };
        for (uid, entry) in machine.status.map(|status| status.claims).unwrap_or_default() {
            let Some(said) = says(manner, &uid, &entry) else { continue };
            let patch = Patch::Merge(json!({"status": {"claims": {uid: said}}}));
            machines.patch_status("asked", &PatchParams::default(), &patch).await.ok();
            if manner == Manner::Dies && entry.committed {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// What it writes into an entry.
fn says(manner: Manner, uid: &str, entry: &ClaimEntry) -> Option<Value> {
    let asked = entry.vote == Vote::Pending && entry.ask_when == AskWhen::Now;
    match manner {
        Manner::SaysNo if asked => {
            Some(json!({"vote": "Rejected", "voteReason": "somebody sits there", "retry": "Reject"}))
        }
        Manner::Dies if asked => Some(json!({"vote": "Accepted", "ballot": format!("ballot-{uid}")})),
        Manner::Dies if entry.committed && entry.activity == Activity::Idle => Some(json!({"activity": "Active"})),
        Manner::NeverVotes | Manner::SaysNo | Manner::Dies => None,
    }
}

#[test]
fn agents_may_be_silent_unwilling_or_dead() {
    play(async |stage| {
        let mut replica = stage.replica(&["--leader-elect=false"], 1).await?;
        let faults = vec![Fault::AnswerLost, Fault::Lost, Fault::DoneAndRefused(504)];
        replica.proxy.plan().set_weather(Some(Weather { writes: 100, faults, reads: 0 }));
        let mut scenes = Vec::new();
        for (name, manner) in [("never-votes", Manner::NeverVotes), ("says-no", Manner::SaysNo), ("dies", Manner::Dies)]
        {
            let here = scene(stage, name).await;
            let agent = tokio::spawn(agent(here.clone(), manner));
            here.create(&voting()).await?;
            here.create(&stress::license("l", 1)).await?;
            scenes.push((here, name, agent));
        }
        for (here, ..) in &scenes {
            ready(here).await?;
            here.create(&job()).await?;
        }
        for (here, name, _) in &scenes {
            refused(here).await?;
            // Now there is another machine; the job goes there.
            here.create(&stress::machine("other")).await?;
            elsewhere(here, &mut replica).await?;
            println!("{name}: claimed elsewhere");
        }
        replica.proxy.plan().set_weather(None);
        let rest = stage.rest().await?;
        println!("agents: at rest {} ms after", rest.as_millis());
        scenes.iter().for_each(|(_, _, agent)| agent.abort());
        Ok(())
    });
}

/// Waits until the offer may be taken: its agent is seen to be alive.
async fn ready(here: &Scene) -> Result<()> {
    awaits("the agent's machine to be ready", async || {
        let machine = here.api::<Machine>().get("asked").await?;
        let status = machine.status.unwrap_or_default();
        let ready = crds::conditions::find(&status.conditions, crds::conditions::types::READY);
        Ok(ready.is_some_and(|found| found.status == "True"))
    })
    .await
}

/// Waits until a claim on the agent's machine was aborted, or ended.
async fn refused(here: &Scene) -> Result<()> {
    awaits("the claim on the agent's machine to be over", async || {
        let over = |found: &crds::Match| found.status.as_ref().is_some_and(|status| status.decision.is_terminal());
        Ok(here.matches().await?.iter().any(over))
    })
    .await
}

async fn elsewhere(here: &Scene, replica: &mut stress::Replica) -> Result<()> {
    here.wait("j", JobPhase::Claimed, std::slice::from_mut(replica)).await?;
    let job = here.api::<crds::Job>().get("j").await?;
    let members = job.status.and_then(|status| status.members).unwrap_or_default();
    anyhow::ensure!(members.contains("/other"), "{members}");
    Ok(())
}

async fn awaits(what: &str, mut is_so: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
    let begun = std::time::Instant::now();
    while !is_so().await? {
        anyhow::ensure!(begun.elapsed() < Duration::from_secs(120), "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

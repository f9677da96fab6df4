//! The writes of one gang's life, struck in every way: nothing is half claimed, nothing leaks, the job runs all the same.
//!
//! Every other write, unless `GANGMATCH_FAULTS=all` asks for all of them. Before one write is after the one before it, and of two faults that do
//! nearly the same, one strikes the odd writes and the other the even ones: no state is left out.

use anyhow::{Result, ensure};
use stress::{ChaosStage, Fault, Logged, Replica, Scene};

use crate::play::{life, life_of_a_set, play, scene};

const ALONE: &[&str] = &["--leader-elect=false"];

/// What a controller wrote in a namespace.
fn written(replica: &Replica, here: &Scene) -> Vec<Logged> {
    let log = replica.proxy.log();
    log.into_iter().filter(|one| one.asked.ordinal > 0 && one.asked.namespace.as_ref() == Some(&here.name)).collect()
}

/// How many writes an undisturbed life takes.
async fn undisturbed(stage: &ChaosStage, replica: &mut Replica) -> Result<usize> {
    let here = scene(stage, "calm").await;
    life(&here, std::slice::from_mut(replica)).await?;
    stage.rest().await?;
    Ok(written(replica, &here).len())
}

/// Those of so many writes that are struck: one in six, from this one on, or all.
fn struck(first: usize, writes: usize) -> impl Iterator<Item = usize> {
    let all = std::env::var("GANGMATCH_FAULTS").is_ok_and(|faults| faults == "all");
    (if all { 1 } else { first }..=writes).step_by(if all { 1 } else { 6 })
}

/// How many of so many writes may not come to pass, the last ones: how often a job is told that it waits depends on when it is seen first.
fn missed_max(lives: usize) -> usize {
    (lives / 4).max(1).min(lives.saturating_sub(1))
}

/// One life for each write that is struck, one after the other: each kills the controller once.
fn killed_at_writes(name: &str, fault: Fault) {
    play(async |stage| {
        let mut replica = stage.replica(ALONE, 1).await?;
        let writes = undisturbed(stage, &mut replica).await?;
        ensure!(writes >= 12, "a whole life takes more than {writes} writes");
        let before = replica.killed;
        let mut lives = 0;
        for ordinal in struck(1, writes) {
            lives += 1;
            let here = scene(stage, name).await;
            replica.proxy.plan().strike(&here.name, ordinal, fault);
            life(&here, std::slice::from_mut(&mut replica)).await?;
        }
        stage.rest().await?;
        println!("{name}: {} of {lives} writes struck", replica.killed - before);
        let killed = replica.killed - before;
        ensure!(killed + missed_max(lives) >= lives, "only {killed} of {lives} writes were struck");
        Ok(())
    });
}

/// One life for each write that is struck, side by side under one controller: none of them disturbs another.
fn struck_at_writes(name: &str, first: usize, fault: Fault) {
    play(async |stage| {
        let mut replica = stage.replica(ALONE, 1).await?;
        let writes = undisturbed(stage, &mut replica).await?;
        let mut scenes = Vec::new();
        for ordinal in struck(first, writes) {
            let here = scene(stage, name).await;
            replica.proxy.plan().strike(&here.name, ordinal, fault);
            scenes.push(here);
        }
        for done in futures::future::join_all(scenes.iter().map(|here| life(here, &mut []))).await {
            done?;
        }
        let rest = stage.rest().await?;
        let (struck, lives) = (replica.proxy.faults().get(&fault).copied().unwrap_or(0), scenes.len());
        println!("{name}: {struck} of {lives} writes struck, at rest after {} ms", rest.as_millis());
        ensure!(struck + missed_max(lives) >= lives, "only {struck} of {lives} writes were struck");
        Ok(())
    });
}

#[test]
fn the_controller_may_be_killed_before_any_write() {
    killed_at_writes("before", Fault::KilledBefore);
}

#[test]
fn the_controller_may_be_killed_after_any_write() {
    killed_at_writes("after", Fault::KilledAfter);
}

/// As many machines at one port, unless `GANGMATCH_SET` says how many: 32 take some minutes.
const SET: usize = 4;

fn set() -> usize {
    std::env::var("GANGMATCH_SET").ok().and_then(|count| count.parse().ok()).unwrap_or(SET)
}

#[test]
fn the_controller_may_be_killed_after_any_write_of_a_claim_of_a_set() {
    play(async |stage| {
        let set = set();
        let mut replica = stage.replica(ALONE, 1).await?;
        let here = scene(stage, "calm-set").await;
        life_of_a_set(&here, set, std::slice::from_mut(&mut replica)).await?;
        stage.rest().await?;
        let writes = written(&replica, &here);
        // Offers are told first that they are ready; and after the claim, that they are free.
        let claim = writes.iter().position(|write| short(write) == "POST matches").unwrap_or(0);
        let writes = writes.len();
        ensure!(writes - claim >= 2 * (set + 1) + 4, "a whole claim takes more than {} writes", writes - claim);
        let before = replica.killed;
        for ordinal in claim..=writes {
            let here = scene(stage, "set").await;
            replica.proxy.plan().strike(&here.name, ordinal, Fault::KilledAfter);
            life_of_a_set(&here, set, std::slice::from_mut(&mut replica)).await?;
            ensure!(here.entries().await? == 0, "something is held after the end, write {ordinal}");
        }
        stage.rest().await?;
        let (struck, all) = (replica.killed - before, writes + 1 - claim);
        println!("set of {set}: {struck} of {all} writes struck");
        ensure!(struck + missed_max(all) >= all, "only {struck} of {all} writes were struck");
        Ok(())
    });
}

#[test]
fn the_answer_to_any_write_may_be_lost() {
    struck_at_writes("answer-lost", 1, Fault::AnswerLost);
}

#[test]
fn any_write_may_be_lost() {
    struck_at_writes("lost", 2, Fault::Lost);
}

#[test]
fn any_write_may_seem_to_have_timed_out() {
    struck_at_writes("timed-out", 2, Fault::DoneAndRefused(504));
}

#[test]
fn any_write_may_meet_a_conflict() {
    struck_at_writes("conflict", 1, Fault::Refused(409));
}

#[test]
fn any_write_may_meet_an_error_of_the_server() {
    struck_at_writes("error", 2, Fault::Refused(500));
}

#[test]
fn a_claim_takes_three_writes_and_one_for_each_offer() {
    play(async |stage| {
        let mut replica = stage.replica(ALONE, 1).await?;
        let here = scene(stage, "budget").await;
        here.offers(1).await?;
        here.create(&stress::machine("spare")).await?;
        // The offers are told that they are ready before there is a job: those writes are not the claim's.
        let ready = async || Ok::<_, anyhow::Error>(written(&replica, &here).len() >= 3);
        while !ready().await? {
            tokio::task::yield_now().await;
        }
        let before = written(&replica, &here).len();
        life_of_job(&here, &mut replica).await?;
        let all: Vec<String> = written(&replica, &here).iter().skip(before).map(short).collect();
        // That the job was seen may be told first: that write is not the claim's either.
        let all: Vec<String> = all.into_iter().skip_while(|write| write != "POST matches").collect();
        let commit = all.iter().position(|write| write.ends_with("matches/status")).map_or(0, |place| place + 1);
        println!("budget: {commit} writes to the commit, {} to the telling: {all:?}", all.len());
        ensure!(commit == 5, "3 + k with k = 2 is 5: {all:?}");
        ensure!(written(&replica, &here).iter().all(|write| write.status < 300), "refused: {all:?}");
        Ok(())
    });
}

async fn life_of_job(here: &Scene, replica: &mut Replica) -> Result<()> {
    here.create(&stress::job("j")).await?;
    here.wait("j", crds::JobPhase::Claimed, std::slice::from_mut(replica)).await?;
    here.merge::<crds::Job>("j", serde_json::json!({"done": true})).await?;
    here.wait("j", crds::JobPhase::Succeeded, std::slice::from_mut(replica)).await
}

/// `PATCH matches/status`.
fn short(logged: &Logged) -> String {
    let path = logged.asked.path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip_while(|part| *part != "namespaces").skip(2).collect();
    let what = match parts.as_slice() {
        [kind, _, sub, ..] => format!("{kind}/{sub}"),
        [kind, ..] => (*kind).to_owned(),
        [] => String::new(),
    };
    format!("{} {what}", logged.asked.method)
}

//! Two who write at once, and one who writes long after he was replaced.

use anyhow::{Result, ensure};
use crds::{Decision, Job, JobPhase};
use serde_json::json;
use stress::{ChaosStage, Fault, Replica, Scene};
use testbed::control_plane::processes::Signal;

use crate::play::{play, scene};

/// How many pairs of a machine and a license there are to quarrel about, and twice as many jobs.
const PAIRS: usize = 3;

#[test]
fn two_controllers_that_both_think_they_lead_give_nothing_away_twice() {
    play(async |stage| {
        let mut both = vec![
            stage.replica(&["--leader-elect=false"], 1).await?,
            stage.replica(&["--leader-elect=false"], 2).await?,
        ];
        let here = scene(stage, "both").await;
        here.offers(PAIRS).await?;
        let names: Vec<String> = (0..2 * PAIRS).map(|number| format!("j{number}")).collect();
        for name in &names {
            here.create(&stress::job(name)).await?;
        }
        // Whoever is claimed is done at once, and makes room for the next.
        for name in until_all_are_over(&here, &names, &mut both).await? {
            ensure!(here.phase(&name).await? == Some(JobPhase::Succeeded), "{name}");
        }
        stage.rest().await?;
        let writers = both.iter().filter(|replica| replica.proxy.plan().writes(&here.name) > 0).count();
        let aborted = here.matches().await?.iter().filter(|found| decided(found) == Decision::Aborted).count();
        println!("two controllers: {} gangs, {aborted} attempts aborted, {writers} of 2 wrote", names.len());
        Ok(())
    });
}

fn decided(found: &crds::Match) -> Decision {
    found.status.as_ref().map(|status| status.decision).unwrap_or_default()
}

async fn until_all_are_over(here: &Scene, names: &[String], replicas: &mut [Replica]) -> Result<Vec<String>> {
    let mut over = Vec::new();
    let begun = std::time::Instant::now();
    while over.len() < names.len() {
        ensure!(begun.elapsed().as_secs() < 90, "only {over:?} of {names:?} are over");
        for name in names {
            match here.phase(name).await? {
                Some(JobPhase::Claimed) => here.merge::<Job>(name, json!({"done": true})).await?,
                Some(JobPhase::Succeeded) if !over.contains(name) => over.push(name.clone()),
                _ => {}
            }
        }
        for replica in replicas.iter_mut() {
            replica.die_if_struck()?;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    Ok(over)
}

/// Leaders by election, with a short lease.
async fn elected(stage: &ChaosStage) -> Result<[Replica; 2]> {
    const SHORT: &[&str] = &["--lease-seconds=3"];
    Ok([stage.replica(SHORT, 1).await?, stage.replica(SHORT, 2).await?])
}

#[test]
fn writes_of_a_leader_that_come_after_its_successors_do_no_harm() {
    play(async |stage| {
        let [zombie, mut next] = elected(stage).await?;
        // In each scene another write of the first leader is kept back.
        let mut scenes = Vec::new();
        for ordinal in 1..=9 {
            let here = scene(stage, "zombie").await;
            zombie.proxy.plan().strike(&here.name, ordinal, Fault::Held);
            here.offers(1).await?;
            here.create(&stress::job("j")).await?;
            scenes.push((here, ordinal));
        }
        for (here, ordinal) in &scenes {
            // Offers and jobs that wait for a look are not told anything new: the later writes may not be come to.
            let begun = std::time::Instant::now();
            while zombie.proxy.plan().writes(&here.name) < *ordinal && begun.elapsed().as_secs() < 4 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        zombie.signal(Signal::Stop)?;
        let held = scenes.iter().filter(|(here, ordinal)| zombie.proxy.plan().writes(&here.name) >= *ordinal).count();
        for (here, _) in &scenes {
            here.wait("j", JobPhase::Claimed, std::slice::from_mut(&mut next)).await?;
        }
        for (here, ordinal) in &scenes {
            // Half of the gangs are over and given back when the late write comes, the others stand.
            if ordinal % 2 == 0 {
                here.merge::<Job>("j", json!({"done": true})).await?;
                here.wait("j", JobPhase::Succeeded, std::slice::from_mut(&mut next)).await?;
            }
        }
        zombie.proxy.release();
        zombie.signal(Signal::Continue)?;
        let late = async || zombie.proxy.faults().get(&Fault::Held).copied().unwrap_or(0);
        let begun = std::time::Instant::now();
        while late().await < held {
            ensure!(begun.elapsed().as_secs() < 30, "{} of {held} held writes have arrived", late().await);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let rest = stage.rest().await?;
        println!("zombie: {held} writes held and let go after the succession, at rest {} ms later", rest.as_millis());
        ensure!(held >= 6, "only {held} writes were held");
        ensure!(rest.as_secs() <= 30, "an orphan lived for {} s", rest.as_secs());
        Ok(())
    });
}

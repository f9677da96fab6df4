//! Writes of the life of a gang with pods, struck: no pod works without its seats, none is left over, the job ends all the same.

use anyhow::{Result, ensure};
use stress::{ChaosStage, Ends, Fault, Replica, Scene};

use crate::play::{play, scene, working_life};

const ALONE: &[&str] = &["--leader-elect=false"];

/// How many writes an undisturbed life takes.
async fn undisturbed(stage: &ChaosStage, ends: Ends, replica: &mut Replica) -> Result<usize> {
    let here = scene(stage, "work-calm").await;
    working_life(&here, ends, std::slice::from_mut(replica)).await?;
    stage.rest().await?;
    let log = replica.proxy.log();
    Ok(log.iter().filter(|one| one.asked.ordinal > 0 && one.asked.namespace.as_ref() == Some(&here.name)).count())
}

/// One life for every other of its writes, side by side: each kills the controller once, in whatever state it finds the others. Before
/// one write is after the one before it: the two plays leave no state out.
fn killed_at_writes(name: &str, ends: Ends, fault: Fault) {
    play(async |stage| {
        let mut replica = stage.replica(ALONE, 1).await?;
        let writes = undisturbed(stage, ends, &mut replica).await?;
        ensure!(writes >= 15, "a whole life with pods takes more than {writes} writes");
        let mut scenes = Vec::new();
        for ordinal in (1..=writes).step_by(2) {
            let here = scene(stage, name).await;
            replica.proxy.plan().strike(&here.name, ordinal, fault);
            scenes.push(here);
        }
        lives(&scenes, ends, &mut replica).await?;
        let rest = stage.rest().await?;
        let lives = scenes.len();
        println!("{name}: killed {} times in {lives} lives, at rest after {} ms", replica.killed, rest.as_millis());
        ensure!(2 * replica.killed >= lives, "killed only {} times in {lives} lives", replica.killed);
        Ok(())
    });
}

/// All lives at once, under a controller that comes back whenever it is killed.
async fn lives(scenes: &[Scene], ends: Ends, replica: &mut Replica) -> Result<()> {
    let all = futures::future::try_join_all(scenes.iter().map(|here| working_life(here, ends, &mut [])));
    let mut all = std::pin::pin!(all);
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(20));
    loop {
        tokio::select! {
            done = &mut all => return done.map(drop),
            _ = tick.tick() => replica.die_if_struck().map(drop)?,
        }
    }
}

#[test]
fn the_controller_may_be_killed_before_writes_about_work_that_ends() {
    killed_at_writes("work-before", Ends::Well, Fault::KilledBefore);
}

#[test]
fn the_controller_may_be_killed_after_writes_about_work_that_is_stopped() {
    killed_at_writes("work-after", Ends::Never, Fault::KilledAfter);
}

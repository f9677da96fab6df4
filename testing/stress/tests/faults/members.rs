//! Members that are deleted and made again under their names while a write about them is on its way.

use anyhow::{Result, ensure};
use crds::{Job, JobPhase, License, Machine};
use stress::{Fault, Scene};

use crate::play::{play, scene};

/// Holds one write of each life back, deletes and makes a member again meanwhile, and lets the write go.
fn replaced_at_every_write(name: &str, replace: impl AsyncFn(&Scene) -> Result<()>) {
    const WRITES: usize = 7;
    play(async |stage| {
        let mut replica = stage.replica(&["--leader-elect=false"], 1).await?;
        let mut scenes = Vec::new();
        for ordinal in 1..=WRITES {
            let here = scene(stage, name).await;
            replica.proxy.plan().strike(&here.name, ordinal, Fault::Held);
            here.offers(1).await?;
            here.create(&stress::job("j")).await?;
            scenes.push(here);
        }
        let mut held = 0;
        for (ordinal, here) in (1..).zip(&scenes) {
            let begun = std::time::Instant::now();
            while replica.proxy.plan().writes(&here.name) < ordinal && begun.elapsed().as_secs() < 5 {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            held += usize::from(replica.proxy.plan().writes(&here.name) >= ordinal);
        }
        for here in &scenes {
            replace(here).await?;
        }
        replica.proxy.release();
        for here in &scenes {
            here.wait("j", JobPhase::Claimed, std::slice::from_mut(&mut replica)).await?;
        }
        let rest = stage.rest().await?;
        println!("{name}: replaced during {held} of {WRITES} writes, at rest after {} ms", rest.as_millis());
        ensure!(held >= WRITES - 2, "only {held} writes were held");
        Ok(())
    });
}

#[test]
fn a_machine_may_be_made_again_during_any_write() {
    replaced_at_every_write("machine", async |here| {
        here.delete::<Machine>("m0").await?;
        here.create(&stress::machine("m0")).await?;
        Ok(())
    });
}

#[test]
fn a_license_may_be_made_again_during_any_write() {
    replaced_at_every_write("license", async |here| {
        here.delete::<License>("l0").await?;
        here.create(&stress::license("l0", 1)).await?;
        Ok(())
    });
}

#[test]
fn a_job_may_be_made_again_during_any_write() {
    replaced_at_every_write("job", async |here| {
        here.delete::<Job>("j").await?;
        here.create(&stress::job("j")).await?;
        Ok(())
    });
}

#[test]
fn a_match_may_be_deleted_during_any_write() {
    replaced_at_every_write("match", async |here| {
        for found in here.matches().await? {
            here.delete::<crds::Match>(found.metadata.name.as_deref().unwrap_or("")).await?;
        }
        Ok(())
    });
}

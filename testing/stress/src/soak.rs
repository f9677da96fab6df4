//! A seed and some minutes into faults by chance, and a verdict.
//!
//! It goes in rounds. In a round two controllers and a handful of people are at work while everything happens to them that the
//! seed brings; then all faults end, the world has to come to rest, and whoever waits must have a reason.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crds::{Job, JobPhase, License, Machine, Match};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use sampling::Random;
use serde_json::json;
use testbed::control_plane::processes::Signal;
use testbed::{Component, Options};
use tokio::task::block_in_place;

use crate::attacker::Attacker;
use crate::{ChaosStage, Ends, Fault, Flow, Replica, Scene, Weather};

/// How long faults go on before the world may come to rest.
const ROUND: Duration = Duration::from_secs(15);
/// The pause between two things that happen.
const PAUSE_MS: u64 = 120;
/// How many offers of each kind there are, and names for jobs.
const OFFERS: u64 = 4;
const JOBS: u64 = 10;
/// The ad that unmodified workloads name by a label, and how many names there are for those.
const AD: &str = "ad";
const WORKLOADS: u64 = 3;
/// How many writes in a thousand go wrong while the weather is bad.
const STRUCK: u64 = 60;

/// What a soak is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// What happens when.
    pub seed: u64,
    /// How long.
    pub time: Duration,
    /// Whether the leader is elected; else both write all the time.
    pub elect: bool,
    /// Whether a tenant attacks beside the ordinary people, in another way in each round.
    pub attacks: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct SoakReport {
    /// Rounds.
    pub rounds: usize,
    /// Faults, by kind.
    pub faults: BTreeMap<String, usize>,
    /// Requests of the controllers that changed something, or were to.
    pub writes: usize,
    /// Of these, refused with 409 or 422.
    pub conflicts: usize,
    /// What the auditor looked at.
    pub audited: auditor::Figures,
    /// The longest time from the last fault to rest.
    pub rest: Duration,
}

/// Plays until the time is over, and tells of each round.
///
/// # Errors
/// When a promise was broken, or the world does not come to rest; the error has the seed.
pub async fn soak(wish: Soak, mut tell: impl FnMut(&SoakReport)) -> Result<SoakReport> {
    let begun = Instant::now();
    let stage = ChaosStage::start(Options { kwok: true, ..Options::default() }).await?;
    let flag: &[&str] = if wish.elect { &["--lease-seconds=3"] } else { &["--leader-elect=false"] };
    let replicas = vec![stage.replica(flag, wish.seed).await?, stage.replica(flag, wish.seed.wrapping_add(1)).await?];
    let mut play =
        Play { attacks: wish.attacks, stage, replicas, random: Random::new(wish.seed), report: SoakReport::default() };
    while begun.elapsed() < wish.time {
        let round = play.round().await;
        round.with_context(|| format!("in round {} of seed {}", play.report.rounds + 1, wish.seed))?;
        play.report.rounds += 1;
        play.count();
        tell(&play.report);
    }
    Ok(play.report)
}

struct Play {
    attacks: bool,
    stage: ChaosStage,
    replicas: Vec<Replica>,
    random: Random,
    report: SoakReport,
}

impl Play {
    async fn round(&mut self) -> Result<()> {
        let here = Scene::new(&self.stage, &format!("round-{}", self.report.rounds)).await?;
        here.nodes(usize::try_from(OFFERS).unwrap_or(1)).await?;
        here.create(&crate::ad(AD)).await?;
        let attacker = self.attacker(&here).await?;
        let begun = Instant::now();
        while begun.elapsed() < ROUND {
            if let Some(attacker) = attacker.as_ref().filter(|_| self.random.happens(300)) {
                attacker.act(&here, &mut self.random).await.ok();
            }
            // People may be refused, and the server may be away: they try something else next.
            self.people(&here).await.ok();
            self.fault().await?;
            for replica in &mut self.replicas {
                replica.die_if_struck()?;
            }
            tokio::time::sleep(Duration::from_millis(PAUSE_MS)).await;
        }
        self.heal()?;
        here.is_served().await?;
        if let Some(attacker) = attacker {
            attacker.leave().await?;
        }
        let rest = self.stage.rest().await?;
        self.report.rest = self.report.rest.max(rest);
        self.stage.verdict()?;
        self.end(&here).await
    }

    /// The attacker of this round, if there are any.
    async fn attacker(&mut self, here: &Scene) -> Result<Option<Attacker>> {
        if !self.attacks {
            return Ok(None);
        }
        let attacker = Attacker::new(&self.stage, &here.name, &mut self.random).await?;
        self.report.note(&attacker.name(), 1);
        Ok(Some(attacker))
    }

    /// Somebody does something.
    async fn people(&mut self, here: &Scene) -> Result<()> {
        let job = format!("j{}", self.random.below(JOBS));
        let machine = format!("m{}", self.random.below(OFFERS));
        let license = format!("l{}", self.random.below(OFFERS));
        let work = format!("w{}", self.random.below(WORKLOADS));
        let ends = if self.random.happens(500) { Ends::Well } else { Ends::Never };
        match self.random.below(27) {
            0..=2 => drop(here.create(&crate::job(&job)).await?),
            3..=5 => drop(here.create(&crate::working_job(&job, Ends::Well)).await?),
            6..=8 => drop(here.create(&crate::working_job(&job, Ends::Never)).await?),
            9 | 10 => here.delete::<Job>(&job).await?,
            11 | 12 => here.merge::<Job>(&job, json!({"done": true})).await?,
            13 => here.merge::<Job>(&job, json!({"suspend": true})).await?,
            14 => here.merge::<Job>(&job, json!({"suspend": false})).await?,
            15 => {
                here.delete::<Machine>(&machine).await?;
                here.create(&crate::machine_on(&machine, &machine.replacen('m', &format!("{}-", here.name), 1)))
                    .await?;
            }
            16 => {
                here.delete::<License>(&license).await?;
                here.create(&crate::license(&license, 1 + self.random.below(2))).await?;
            }
            17 => here.merge::<Machine>(&machine, json!({"stopPolicy": "HoldAndDrain"})).await?,
            18 => here.merge::<Machine>(&machine, json!({"stopPolicy": "None"})).await?,
            20 | 21 => drop(here.create(&crate::labelled_batch(&work, AD, ends)).await?),
            22 | 23 => drop(here.create(&crate::labelled_pod(&work, AD, ends)).await?),
            24 => here.delete::<Batch>(&work).await?,
            25 => here.delete::<Pod>(&work).await?,
            _ => {
                let all = here.matches().await?;
                if let Some(found) = self.random.pick(&all) {
                    here.delete::<Match>(found.metadata.name.as_deref().unwrap_or("")).await?;
                }
            }
        }
        Ok(())
    }

    /// Something goes wrong, or does not.
    async fn fault(&mut self) -> Result<()> {
        let who = usize::try_from(self.random.below(2)).unwrap_or(0);
        let what = self.random.below(100);
        let Some(replica) = self.replicas.get_mut(who) else { return Ok(()) };
        match what {
            0 | 1 => {
                replica.kill()?;
                replica.restart_without_waiting()?;
                self.report.note("controller killed", 1);
            }
            2 | 3 => {
                replica.signal(Signal::Stop)?;
                let pause = Duration::from_millis(500 + self.random.below(4500));
                tokio::time::sleep(pause).await;
                replica.signal(Signal::Continue)?;
                self.report.note("controller frozen", 1);
            }
            4..=9 => {
                let faults = vec![
                    Fault::Lost,
                    Fault::AnswerLost,
                    Fault::KilledBefore,
                    Fault::KilledAfter,
                    Fault::Refused(409),
                    Fault::Refused(429),
                    Fault::Refused(500),
                    Fault::DoneAndRefused(504),
                ];
                replica.proxy.plan().set_weather(Some(Weather { writes: STRUCK, faults, reads: STRUCK }));
                self.report.note("bad weather", 1);
            }
            10..=15 => replica.proxy.plan().set_weather(None),
            16 | 17 => {
                let flow = self.random.pick(&[Flow::Frozen, Flow::Cut, Flow::Expired]).copied().unwrap_or(Flow::Cut);
                replica.proxy.set_flow(flow);
                self.report.note(&format!("watches {flow:?}").to_lowercase(), 1);
            }
            18..=23 => replica.proxy.set_flow(Flow::Open),
            24 => {
                let component = if self.random.happens(500) { Component::Apiserver } else { Component::Etcd };
                block_in_place(|| {
                    self.stage.plane.kill(component)?;
                    self.stage.plane.restart(component)
                })?;
                self.report.note(&format!("{} killed", component.name()), 1);
            }
            _ => {}
        }
        Ok(())
    }

    /// Nothing goes wrong any more.
    fn heal(&mut self) -> Result<()> {
        for replica in &mut self.replicas {
            replica.proxy.plan().set_weather(None);
            replica.proxy.set_flow(Flow::Open);
            replica.die_if_struck()?;
        }
        Ok(())
    }

    /// Everybody is done, and gives back what he has.
    async fn end(&mut self, here: &Scene) -> Result<()> {
        for number in 0..WORKLOADS {
            here.delete::<Batch>(&format!("w{number}")).await?;
            here.delete::<Pod>(&format!("w{number}")).await?;
        }
        here.delete::<Job>(AD).await?;
        for number in 0..JOBS {
            let name = format!("j{number}");
            if matches!(here.phase(&name).await?, Some(JobPhase::Claimed | JobPhase::Running)) {
                here.merge::<Job>(&name, json!({"done": true})).await?;
                // Its workload may end in the same moment.
                let over = [JobPhase::Cancelled, JobPhase::Succeeded];
                here.wait_any(&name, &over, &mut self.replicas).await?;
            }
            here.delete::<Job>(&name).await?;
        }
        self.stage.rest().await?;
        self.stage.verdict()
    }

    fn count(&mut self) {
        let report = &mut self.report;
        report.audited = self.stage.follower.audit().figures().clone();
        (report.writes, report.conflicts) = (0, 0);
        for replica in &self.replicas {
            let log = replica.proxy.log();
            let writes = log.iter().filter(|one| one.asked.is_write());
            report.writes += writes.clone().count();
            report.conflicts += writes.filter(|one| one.fault.is_none() && [409, 422].contains(&one.status)).count();
            for (fault, times) in replica.proxy.faults() {
                report.faults.insert(format!("{} {fault:?}", replica.name()), times);
            }
        }
    }
}

impl SoakReport {
    fn note(&mut self, what: &str, times: usize) {
        if times > 0 {
            *self.faults.entry(what.to_owned()).or_default() += times;
        }
    }

    /// How many faults there were, of all kinds.
    #[must_use]
    pub fn faults(&self) -> usize {
        self.faults.values().sum()
    }
}

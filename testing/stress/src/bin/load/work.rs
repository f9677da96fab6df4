//! Jobs with pods through a pool that is much too small for all of them at once: how well the scarce seats are used until nobody waits
//! any more, and whether a seat was ever given twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use crds::{Decision, Job, JobPhase, License, Match};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use parking_lot::Mutex;
use stress::Follower;
use testbed::Options;

use crate::stage::{LoadStage, WORKERS};
use crate::{ads, line, process};

/// What is asked for.
pub(crate) struct WorkOptions {
    pub(crate) jobs: usize,
    pub(crate) nodes: usize,
    pub(crate) licenses: usize,
    pub(crate) seats: usize,
    /// The shortest and the longest work, in seconds.
    pub(crate) seconds: (u64, u64),
}

/// How often it is said how far it is.
const TELL_EVERY: Duration = Duration::from_secs(15);
/// If nothing has ended for so long, nothing will.
const STUCK: Duration = Duration::from_secs(300);

/// Plays it, and prints what was measured.
pub(crate) async fn run(wish: &WorkOptions, flags: &[String]) -> Result<()> {
    let mut options = Options { kwok: true, audit: false, fsync: true, node_lease_seconds: 1200, ..Options::default() };
    // every revision is read at the end, pods too
    options.apiserver_flags =
        ["--etcd-compaction-interval=0", "--storage-media-type=application/json"].map(str::to_owned).to_vec();
    let stage = LoadStage::start_with(options).await?;
    offer(&stage, wish).await?;
    let controller = stage.controller(flags).await?;
    machines(&stage, wish.nodes).await?;
    let ledger = Ledger::follow(&stage);
    let (begun, before) = (Instant::now(), process::milliseconds(&controller)?);
    let seconds = |number: usize| {
        let (least, most) = wish.seconds;
        // no chance: as many of each length, in a mixed order
        least + u64::try_from(number * 7919).unwrap_or(0) % (most - least + 1)
    };
    let (all, jobs) =
        (stage.api::<Job>(), (0..wish.jobs).map(|number| ads::working_job(&format!("j{number}"), seconds(number))));
    let create = futures::stream::iter(jobs).try_for_each_concurrent(WORKERS / 2, |job| {
        let all = all.clone();
        async move { all.create(&PostParams::default(), &job).await.map(drop).map_err(Into::into) }
    });
    let (created, ended) =
        tokio::join!(async { create.await.map(|()| begun.elapsed()) }, ledger.wait_for(wish.jobs, begun));
    let (created, took) = (created?, ended?);
    let spent = process::milliseconds(&controller)?.saturating_sub(before);
    let pods = stage.api::<Pod>().list(&ListParams::default()).await?.items;
    let done = stage.api::<Job>().list(&ListParams::default()).await?.items;
    let well =
        done.iter().filter(|job| job.status.as_ref().and_then(|status| status.phase) == Some(JobPhase::Succeeded));
    line(&format!(
        "{} of {} jobs Succeeded in {:.0} s; all were created after {:.0} s",
        well.count(),
        wish.jobs,
        took.as_secs_f64(),
        created.as_secs_f64()
    ));
    let seats = wish.licenses * wish.seats;
    let work: u64 = (0..wish.jobs).map(seconds).sum();
    line(&format!("{work} s of work on {seats} seats: {:.0} s at the least", real(work) / real(seats as u64)));
    ledger.tell(begun, seats, &pods);
    line(&format!("the controller's processor time: {:.1} ms a job", real(spent) / real(wish.jobs as u64)));
    process::end(controller)?;
    audit(&stage).await
}

fn real(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Nodes, the class that makes Machines of them, and licenses.
async fn offer(stage: &LoadStage, wish: &WorkOptions) -> Result<()> {
    let nodes: Api<Node> = Api::all(stage.client.clone());
    futures::stream::iter((0..wish.nodes).map(ads::node))
        .try_for_each_concurrent(WORKERS, |node| {
            let nodes = nodes.clone();
            async move { nodes.create(&PostParams::default(), &node).await.map(drop).map_err(Into::into) }
        })
        .await?;
    let params = PostParams::default();
    Api::all(stage.client.clone()).create(&params, &ads::class(crate::stage::NAMESPACE)?).await?;
    for number in 0..wish.licenses {
        stage.api::<License>().create(&params, &ads::license(number, wish.seats)?).await?;
    }
    Ok(())
}

/// Waits until every node is offered.
async fn machines(stage: &LoadStage, nodes: usize) -> Result<()> {
    let begun = Instant::now();
    loop {
        let all = stage.api::<crds::Machine>().list(&ListParams::default()).await?.items;
        let ready = |machine: &&crds::Machine| {
            let conditions = machine.status.as_ref().map_or(&[][..], |status| &status.conditions);
            crds::conditions::find(conditions, "Ready").is_some_and(|ready| ready.status == "True")
        };
        if all.iter().filter(ready).count() == nodes {
            return Ok(());
        }
        ensure!(begun.elapsed() < STUCK, "{} of {nodes} nodes are offered", all.iter().filter(ready).count());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What is seen of licenses and Matches while it goes on.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<WorkSeen>>);

#[derive(Default)]
struct WorkSeen {
    /// Seats held, by license.
    held: BTreeMap<String, usize>,
    /// How many were held in all, from when on.
    levels: Vec<(Instant, usize)>,
    /// When each job was committed.
    committed: BTreeMap<String, Instant>,
    released: BTreeSet<String>,
}

impl Ledger {
    fn follow(stage: &LoadStage) -> Ledger {
        let ledger = Ledger::default();
        let licenses = watcher(stage.api::<License>(), watcher::Config::default()).default_backoff();
        let seen = ledger.clone();
        tokio::spawn(async move {
            let mut events = std::pin::pin!(licenses);
            while let Some(event) = events.next().await {
                if let Ok(watcher::Event::Apply(found) | watcher::Event::InitApply(found)) = event {
                    let held = found.status.map_or(0, |status| status.claims.len());
                    seen.held(found.metadata.name.unwrap_or_default(), held);
                }
            }
        });
        let matches = watcher(stage.api::<Match>(), watcher::Config::default()).default_backoff();
        let seen = ledger.clone();
        tokio::spawn(async move {
            let mut events = std::pin::pin!(matches);
            while let Some(event) = events.next().await {
                if let Ok(watcher::Event::Apply(found) | watcher::Event::InitApply(found)) = event {
                    seen.decided(&found);
                }
            }
        });
        ledger
    }

    fn seen(&self) -> parking_lot::MutexGuard<'_, WorkSeen> {
        self.0.lock()
    }

    fn held(&self, license: String, held: usize) {
        let mut seen = self.seen();
        seen.held.insert(license, held);
        let all = seen.held.values().sum();
        seen.levels.push((Instant::now(), all));
    }

    fn decided(&self, found: &Match) {
        let Some(root) = found.spec.members.first() else { return };
        let mut seen = self.seen();
        match found.status.as_ref().map(|status| status.decision).unwrap_or_default() {
            Decision::Committed => {
                seen.committed.entry(root.name.clone()).or_insert_with(Instant::now);
            }
            Decision::Released => {
                seen.released.insert(root.name.clone());
            }
            Decision::Pending | Decision::Aborted => {}
        }
    }

    /// Waits until so many jobs are over and every seat is free.
    async fn wait_for(&self, jobs: usize, begun: Instant) -> Result<Duration> {
        let (mut told, mut last) = (Instant::now(), (0, Instant::now()));
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let (committed, over, held) = {
                let seen = self.seen();
                (seen.committed.len(), seen.released.len(), seen.levels.last().map_or(0, |(_, held)| *held))
            };
            if over == jobs && held == 0 {
                return Ok(begun.elapsed());
            }
            if over > last.0 {
                last = (over, Instant::now());
            }
            ensure!(last.1.elapsed() < STUCK, "{over} of {jobs} jobs are over, {held} seats held, and nothing goes on");
            if told.elapsed() > TELL_EVERY {
                told = Instant::now();
                line(&format!(
                    "{:.0} s: {committed} committed, {over} over, {held} seats held",
                    begun.elapsed().as_secs_f64()
                ));
            }
        }
    }

    /// How well the seats were used: held by claims, and with a pod at work; from when they were all held first until nobody waited any
    /// more, and from the very beginning.
    fn tell(&self, begun: Instant, seats: usize, pods: &[Pod]) {
        let seen = self.seen();
        let Some(last) = seen.committed.values().max() else { return };
        let full = seen.levels.iter().find(|(_, held)| *held == seats).map(|(at, _)| *at);
        let started = jiff::Timestamp::now().as_millisecond() - i64::try_from(begun.elapsed().as_millis()).unwrap_or(0);
        let first = seen.committed.values().min().copied().unwrap_or(begun);
        for (what, from) in [("since all seats were held first", full), ("since the first commit", Some(first))] {
            let Some(from) = from else {
                line("the seats were never all held at the same moment");
                continue;
            };
            let span = last.saturating_duration_since(from).as_secs_f64();
            if span <= 0.0 {
                continue;
            }
            let held = integral(&seen.levels, from, *last) / (span * real(seats as u64));
            let at = |moment: Instant| {
                started + i64::try_from(moment.saturating_duration_since(begun).as_millis()).unwrap_or(0)
            };
            let worked = at_work(pods, at(from), at(*last)) / (span * real(seats as u64));
            line(&format!(
                "while jobs waited, {what} ({span:.0} s): seats held {:.1} %, with a pod at work {:.1} %",
                100.0 * held,
                100.0 * worked
            ));
        }
    }
}

/// Seat seconds held between two moments.
fn integral(levels: &[(Instant, usize)], from: Instant, to: Instant) -> f64 {
    let mut sum = 0.0;
    for (place, (at, held)) in levels.iter().enumerate() {
        let end = levels.get(place + 1).map_or(to, |(next, _)| *next).min(to);
        sum += end.saturating_duration_since((*at).max(from)).as_secs_f64() * real(*held as u64);
    }
    sum
}

/// Seconds of pods at work between two moments, in milliseconds since 1970: from when their kubelet has taken them in. The times are whole
/// seconds.
fn at_work(pods: &[Pod], from: i64, to: i64) -> f64 {
    let span = |pod: &Pod| {
        let status = pod.status.as_ref()?;
        let ended = status.container_statuses.as_ref()?.first()?.state.as_ref()?.terminated.as_ref()?;
        let (start, end) = (status.start_time.as_ref()?.0, ended.finished_at.as_ref()?.0);
        Some(u64::try_from(end.as_millisecond().min(to) - start.as_millisecond().max(from)).unwrap_or(0))
    };
    pods.iter().filter_map(span).map(real).sum::<f64>() / 1000.0
}

/// Everything that etcd has stored, from the first revision on.
async fn audit(stage: &LoadStage) -> Result<()> {
    let follower = Follower::start(&stage.plane.etcd()?)?;
    follower.catch_up_within(Duration::from_secs(1200)).await?;
    let audit = follower.audit();
    let figures = audit.figures();
    let broken = audit.violations();
    line(&format!(
        "audited: {} revisions, {} gangs committed, {} aborted, {} released, {} violations",
        figures.revisions,
        figures.committed,
        figures.aborted,
        figures.released,
        broken.len()
    ));
    for violation in broken.iter().take(20) {
        line(&violation.to_string());
    }
    let left = auditor::at_rest(audit.world(), audit.revision(), jiff::Timestamp::now().as_second());
    left.iter().take(20).for_each(|violation| line(&violation.to_string()));
    ensure!(broken.is_empty() && left.is_empty(), "a promise was broken");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seat_seconds_are_counted_between_two_moments() {
        let zero = Instant::now();
        let at = |seconds: u64| zero + Duration::from_secs(seconds);
        let levels = [(at(0), 1), (at(10), 3), (at(20), 0)];
        assert!((integral(&levels, at(0), at(30)) - 40.0).abs() < 1e-9);
        assert!((integral(&levels, at(5), at(15)) - 20.0).abs() < 1e-9);
        assert!(integral(&levels, at(20), at(25)).abs() < 1e-9);
    }
}

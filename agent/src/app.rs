//! The loop: the offer watched, the Lease renewed, everything measured now and then, and duties done, one after the other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crds::{ClaimPolicy, License, Machine, Offer};
use futures::StreamExt as _;
use jiff::Timestamp;
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cluster::{Answer, Cluster, Speaks};
use crate::config::{Config, Kind};
use crate::duties::{Duty, Sight, Work, duties};
use crate::host::Memory;
use crate::lmstat;
use crate::measure::{Measured, Seats, measure};
use crate::verdict::{Verdict, verdict};
use crate::work::Job;
use crate::{patches, value};

/// The longest that a request may take.
const REQUEST_MAX: Duration = Duration::from_secs(5);
/// After something came to nothing.
const REST: Duration = Duration::from_millis(500);

/// Runs the agent until a signal ends it.
pub(crate) async fn run(config: Config) -> anyhow::Result<()> {
    if config.name.is_empty() {
        anyhow::bail!("--name says nothing: write the name of the {:?} to speak for", config.kind);
    }
    match config.kind {
        Kind::Machine => speak::<Machine>(config).await,
        Kind::License => speak::<License>(config).await,
    }
}

async fn speak<K: Speaks>(config: Config) -> anyhow::Result<()> {
    let cluster = Cluster::<K>::connect(&config).await?;
    let only = watcher::Config::default().timeout(60).fields(&format!("metadata.name={}", config.name));
    let mut events = std::pin::pin!(watcher(cluster.offers.clone(), only).default_backoff());
    let (done, mut ended) = mpsc::unbounded_channel();
    let mut agent = Agent::new(config, cluster, done);
    let (mut terminated, mut interrupted) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut listed = false;
    loop {
        let pause = agent.pause();
        tokio::select! {
            Some(event) = events.next() => match event {
                Ok(watcher::Event::Init) => listed = false,
                Ok(watcher::Event::InitApply(found)) => {
                    listed = true;
                    agent.see(found);
                }
                Ok(watcher::Event::InitDone) if !listed => agent.gone(),
                Ok(watcher::Event::InitDone) => {}
                Ok(watcher::Event::Apply(found)) => agent.see(found),
                Ok(watcher::Event::Delete(_)) => agent.gone(),
                Err(error) => tracing::warn!(%error, "watch interrupted; it starts again"),
            },
            Some(claim) = ended.recv() => agent.work_ended(&claim),
            () = agent.measured() => {}
            () = tokio::time::sleep(pause) => {}
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
        }
        agent.turn().await;
    }
    agent.farewell().await;
    Ok(())
}

/// An agent and what it remembers. Nothing of it is needed after a restart.
struct Agent<K> {
    config: Config,
    cluster: Cluster<K>,
    done: mpsc::UnboundedSender<String>,
    /// The offer as it was seen last; `Some(None)`: deleted.
    seen: Option<Option<K>>,
    works: BTreeMap<String, (Work, Job)>,
    /// When the Lease was last renewed: when that was sent.
    renewed: Option<Instant>,
    /// The last measurement, and when it began.
    last: Option<(Measured, Instant)>,
    measuring: Option<JoinHandle<(Measured, Memory, Instant)>>,
    memory: Memory,
    /// When a vote was first asked for, by claim.
    asked: BTreeMap<String, Instant>,
    rest_until: Instant,
}

impl<K: Speaks> Agent<K> {
    fn new(config: Config, cluster: Cluster<K>, done: mpsc::UnboundedSender<String>) -> Agent<K> {
        Agent {
            config,
            cluster,
            done,
            seen: None,
            works: BTreeMap::new(),
            renewed: None,
            last: None,
            measuring: None,
            memory: Memory::default(),
            asked: BTreeMap::new(),
            rest_until: Instant::now(),
        }
    }

    /// Takes in the offer, unless what is known of it is newer.
    fn see(&mut self, found: K) {
        let version = |offer: &K| offer.resource_version().and_then(|version| version.parse::<u64>().ok());
        let known = self.seen.as_ref().and_then(Option::as_ref).and_then(version);
        if known.is_none() || version(&found) >= known {
            self.seen = Some(Some(found));
        }
    }

    fn gone(&mut self) {
        if !matches!(self.seen, Some(None)) {
            tracing::warn!(offer = self.config.name, "there is no such offer");
        }
        self.seen = Some(None);
    }

    fn offer(&self) -> Option<&K> {
        self.seen.as_ref()?.as_ref()
    }

    fn work_ended(&mut self, claim: &str) {
        if let Some((work, _)) = self.works.get_mut(claim) {
            work.ended = true;
        }
    }

    /// How long this agent may be silent.
    fn silence(&self) -> Duration {
        let agent = self.offer().and_then(|offer| offer.offer_fields().agent.as_ref());
        Duration::from_secs(agent.map_or(20, |agent| u64::try_from(agent.lease_duration_seconds).unwrap_or(20)))
    }

    /// How long a request may take: several of them, and the end of the work, fit into the last third of the silence.
    fn within(&self) -> Duration {
        REQUEST_MAX.min(self.silence() / 10)
    }

    /// Whether the Lease could not be renewed for so long that others may soon take this agent for lost. By its own clock, from
    /// when the last renewal was sent: so it has stopped before anybody else says so.
    fn is_alone(&self) -> bool {
        self.renewed.is_none_or(|renewed| renewed.elapsed() > self.silence() * 2 / 3)
    }

    /// Until when there is nothing to do by itself.
    fn pause(&self) -> Duration {
        let now = Instant::now();
        let renewal = match (self.offer(), self.renewed) {
            // there is nothing to be alive for
            (None, _) => now + self.config.every(),
            (Some(_), None) => now,
            (Some(_), Some(renewed)) => renewed + self.silence() / 3,
        };
        let next = match (&self.measuring, &self.last) {
            (None, Some((_, began))) => renewal.min(*began + self.config.every()),
            (None, None) => now,
            (Some(_), _) => renewal,
        };
        next.max(self.rest_until).saturating_duration_since(now)
    }

    /// Waits for the measurement that is under way.
    async fn measured(&mut self) {
        let Some(measuring) = &mut self.measuring else { return std::future::pending().await };
        if let Ok((found, memory, began)) = measuring.await {
            for why in &found.failures {
                tracing::warn!(why, "not measured");
            }
            (self.memory, self.last) = (memory, Some((found, began)));
        }
        self.measuring = None;
    }

    /// Everything that is due.
    async fn turn(&mut self) {
        if Instant::now() < self.rest_until && !self.is_alone() {
            return;
        }
        self.keep_lease().await;
        self.keep_measuring();
        self.publish().await;
        for duty in self.due() {
            if !self.fulfil(duty).await {
                self.rest_until = Instant::now() + REST;
                break;
            }
        }
    }

    fn due(&self) -> Vec<Duty> {
        let works = self.works.iter().map(|(claim, (work, _))| (claim.clone(), work.clone())).collect();
        let none = BTreeMap::new();
        let sight = match &self.seen {
            None => Sight::Unknown,
            Some(None) => Sight::Gone,
            Some(Some(offer)) => {
                let claims = Offer::offer_status(offer).map_or(&none, |status| &status.claims);
                Sight::There(offer.meta().uid.as_deref().unwrap_or(""), claims)
            }
        };
        duties(sight, &works, self.is_alone())
    }

    async fn keep_lease(&mut self) {
        let third = self.silence() / 3;
        if self.offer().is_none() || self.renewed.is_some_and(|renewed| renewed.elapsed() < third) {
            return;
        }
        let (sent, within) = (Instant::now(), self.within());
        let seconds = i32::try_from(self.silence().as_secs()).unwrap_or(i32::MAX);
        match self.cluster.renew(seconds, true, within).await {
            Answer::Done(()) => self.renewed = Some(sent),
            Answer::Refused(why) | Answer::Lost(why) => {
                tracing::warn!(why, "the Lease is not renewed; it is tried again");
                self.rest_until = Instant::now() + REST;
            }
        }
    }

    /// Begins a measurement, if it is time for one, or if somebody waits for a vote since the last one began.
    fn keep_measuring(&mut self) {
        let waits: Vec<String> = self
            .due()
            .into_iter()
            .filter_map(|duty| match duty {
                Duty::Vote(claim) => Some(claim),
                _ => None,
            })
            .collect();
        self.asked.retain(|claim, _| waits.contains(claim));
        for claim in waits {
            self.asked.entry(claim).or_insert_with(Instant::now);
        }
        let is_old = match &self.last {
            None => true,
            Some((_, began)) => {
                began.elapsed() >= self.config.every() || self.asked.values().any(|asked| asked > began)
            }
        };
        if self.measuring.is_none() && is_old {
            let (config, mut memory, began) = (self.config.clone(), self.memory.clone(), Instant::now());
            self.measuring = Some(tokio::spawn(async move {
                let found = measure(&config, &mut memory).await;
                (found, memory, began)
            }));
        }
    }

    /// Seats taken outside, as they were measured, if they were.
    fn outside(&self, offer: &K) -> Option<i64> {
        let (measured, _) = self.last.as_ref()?;
        let usage = pool::usage(Offer::offer_status(offer));
        match measured.seats.as_ref()? {
            Seats::Outside(seats) => Some((*seats).max(0)),
            Seats::Said(said) => Some(lmstat::outside(said, &self.config.inside_host, usage.used("seats"))),
        }
    }

    async fn publish(&mut self) {
        let Some((offer, (measured, _))) = self.offer().zip(self.last.as_ref()) else { return };
        let status = Offer::offer_status(offer).cloned().unwrap_or_default();
        let declared = &offer.offer_fields().dynamic_attributes;
        let attributes = value::to_publish(declared, &status.attributes, &measured.attributes);
        let known = status.outside.get("seats").copied().unwrap_or(0);
        let outside = self.outside(offer).filter(|seats| *seats != known);
        let Some(patch) = patches::publish(&attributes, outside) else { return };
        match self.cluster.publish(&patch, self.within()).await {
            Answer::Done(found) => self.see(found),
            Answer::Refused(why) | Answer::Lost(why) => {
                tracing::warn!(why, "not published; it is tried again");
                self.rest_until = Instant::now() + REST;
            }
        }
    }

    /// Does what is due; false if it came to nothing.
    async fn fulfil(&mut self, duty: Duty) -> bool {
        match duty {
            Duty::Halt(claim) => {
                if let Some((_, job)) = self.works.remove(&claim) {
                    tracing::info!(claim, "the work stops");
                    job.end(if self.is_alone() {
                        self.config.stop().min(self.silence() / 6)
                    } else {
                        self.config.stop()
                    })
                    .await;
                }
                true
            }
            Duty::End(claim) => {
                let ended = self.write(&claim, patches::end(&claim)).await;
                if ended && self.works.remove(&claim).is_some() {
                    tracing::info!(claim, "its end is told");
                }
                ended
            }
            Duty::Vote(claim) => self.vote(&claim).await,
            Duty::Begin(claim) => self.write(&claim, patches::begin(&claim)).await && self.work(&claim),
            Duty::Resume(claim) => {
                let now = Timestamp::now().to_string();
                self.write(&claim, patches::resume(&claim, &now)).await && self.work(&claim)
            }
        }
    }

    /// Votes, once everything was measured after the vote was asked for; until then there is nothing to do.
    async fn vote(&mut self, claim: &str) -> bool {
        let Some((measured, began)) = &self.last else { return true };
        let Some(offer) = self.offer().filter(|_| self.asked.get(claim).is_some_and(|asked| began >= asked)) else {
            return true;
        };
        let vote = self.judge(offer, claim, measured);
        let Ok(ballot) = std::fs::read_to_string("/proc/sys/kernel/random/uuid") else {
            tracing::error!("no random word for a ballot: /proc/sys/kernel/random/uuid cannot be read");
            return false;
        };
        tracing::info!(claim, ?vote, "voted");
        self.write(claim, patches::vote(claim, &vote, ballot.trim())).await
    }

    /// What the offer's ad says of a claim, on values as they are now.
    fn judge(&self, offer: &K, claim: &str, measured: &Measured) -> Verdict {
        if offer.offer_fields().claim_policy != ClaimPolicy::Agent {
            return Verdict::no("this offer does not ask its agent any more");
        }
        if let Some(why) = measured.failures.first() {
            return Verdict::no(why);
        }
        let fresh = value::fresh(&offer.offer_fields().dynamic_attributes, &measured.attributes);
        let mut now = offer.clone();
        now.status_mut().attributes.extend(fresh);
        let entry = now.status_mut().claims.get(claim).cloned().unwrap_or_default();
        match now.advertise() {
            Ok(advertised) => verdict(&advertised.ad, &entry.requester, Timestamp::now().as_second()),
            Err(rejected) => Verdict::no(&rejected.message),
        }
    }

    /// Writes into an entry; true if it was taken.
    async fn write(&mut self, claim: &str, patch: serde_json::Value) -> bool {
        match self.cluster.turn(patch, self.within()).await {
            Answer::Done(found) => {
                self.see(found);
                true
            }
            Answer::Refused(why) | Answer::Lost(why) => {
                tracing::warn!(claim, why, "not written; the offer is read again");
                match self.cluster.read(self.within()).await {
                    Answer::Done(Some(found)) => self.see(found),
                    Answer::Done(None) => self.gone(),
                    Answer::Refused(_) | Answer::Lost(_) => {}
                }
                false
            }
        }
    }

    /// Begins the work, unless time has run out in the meantime.
    fn work(&mut self, claim: &str) -> bool {
        let entry = self.offer().and_then(|offer| {
            let entry = Offer::offer_status(offer)?.claims.get(claim)?.clone();
            Some((entry, offer.meta().uid.clone().unwrap_or_default()))
        });
        let Some((entry, uid)) = entry.filter(|_| !self.is_alone()) else { return false };
        let environment = vec![
            ("GANGMATCH_MATCH".to_owned(), entry.match_key.clone()),
            ("GANGMATCH_MATCH_UID".to_owned(), claim.to_owned()),
            ("GANGMATCH_MEMBERS".to_owned(), entry.members.join("\n")),
            ("GANGMATCH_REQUESTER".to_owned(), serde_json::json!(entry.requester).to_string()),
        ];
        match Job::begin(self.config.run.as_deref(), environment, claim, self.done.clone()) {
            Ok(job) => {
                tracing::info!(claim, r#match = entry.match_key, "the work goes on");
                self.works.insert(claim.to_owned(), (Work { offer: uid, ended: false }, job));
                true
            }
            Err(error) => {
                tracing::error!(%error, "the work cannot be started");
                false
            }
        }
    }

    /// Stops what it runs, and gives the Lease back: nothing more is offered. The claims stand, and whoever comes next goes on
    /// with them.
    async fn farewell(mut self) {
        for (_, (_, job)) in std::mem::take(&mut self.works) {
            job.end(self.config.stop()).await;
        }
        let within = self.within();
        self.cluster.renew(20, false, within).await;
        tracing::info!("stopped");
    }
}

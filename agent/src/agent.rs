//! The agent: what it remembers, when it is its turn, and whether it is still in touch.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::cluster::{AgentOffer, Cluster};
use crate::config::Config;
use crate::host::Memory;
use crate::measure::{Measured, measure};
use crate::tasks::{OfferView, Task, Work, tasks};
use crate::work::Job;

/// The longest that a request may take.
const REQUEST_MAX: Duration = Duration::from_secs(5);
/// After something came to nothing.
pub(crate) const REST: Duration = Duration::from_millis(500);

/// An agent and what it remembers. Nothing of it is needed after a restart.
pub(crate) struct Agent<K> {
    pub(crate) config: Config,
    pub(crate) cluster: Cluster<K>,
    pub(crate) done: mpsc::UnboundedSender<String>,
    /// The offer as it was seen last; `Some(None)`: deleted.
    seen: Option<Option<K>>,
    pub(crate) works: BTreeMap<String, (Work, Job)>,
    /// When the Lease was last renewed: when that was sent.
    renewed: Option<Instant>,
    /// The last measurement, and when it began.
    pub(crate) last: Option<(Measured, Instant)>,
    measuring: Option<JoinHandle<(Measured, Memory, Instant)>>,
    memory: Memory,
    /// When a vote was first asked for, by claim.
    pub(crate) asked: BTreeMap<String, Instant>,
    pub(crate) rest_until: Instant,
}

impl<K: AgentOffer> Agent<K> {
    pub(crate) fn new(config: Config, cluster: Cluster<K>, done: mpsc::UnboundedSender<String>) -> Agent<K> {
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
    pub(crate) fn see(&mut self, found: K) {
        let version = |offer: &K| offer.resource_version().and_then(|version| version.parse::<u64>().ok());
        let known = self.seen.as_ref().and_then(Option::as_ref).and_then(version);
        if known.is_none() || version(&found) >= known {
            self.seen = Some(Some(found));
        }
    }

    /// Notes that the offer does not exist.
    pub(crate) fn gone(&mut self) {
        if !matches!(self.seen, Some(None)) {
            tracing::warn!(offer = self.config.name, "the offer does not exist");
        }
        self.seen = Some(None);
    }

    pub(crate) fn offer(&self) -> Option<&K> {
        self.seen.as_ref()?.as_ref()
    }

    /// Notes that the work for a claim has ended.
    pub(crate) fn work_ended(&mut self, claim: &str) {
        if let Some((work, _)) = self.works.get_mut(claim) {
            work.ended = true;
        }
    }

    /// How long this agent may be silent.
    pub(crate) fn silence(&self) -> Duration {
        let agent = self.offer().and_then(|offer| offer.offer_fields().agent.as_ref());
        Duration::from_secs(agent.map_or(20, |agent| u64::try_from(agent.lease_duration_seconds).unwrap_or(20)))
    }

    /// How long a request may take: several of them, and the end of the work, fit into the last third of the silence.
    pub(crate) fn within(&self) -> Duration {
        REQUEST_MAX.min(self.silence() / 10)
    }

    /// Whether the Lease could not be renewed for so long that others may soon take this agent for lost. By its own clock, from
    /// when the last renewal was sent: so it has stopped before a controller says so.
    pub(crate) fn lease_lapsed(&self) -> bool {
        self.renewed.is_none_or(|renewed| renewed.elapsed() > self.silence() * 2 / 3)
    }

    /// Until when there is nothing to do by itself.
    pub(crate) fn pause(&self) -> Duration {
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
    pub(crate) async fn measured(&mut self) {
        let Some(measuring) = &mut self.measuring else { return std::future::pending().await };
        if let Ok((found, memory, began)) = measuring.await {
            for why in &found.failures {
                tracing::warn!(why, "a value could not be measured");
            }
            (self.memory, self.last) = (memory, Some((found, began)));
        }
        self.measuring = None;
    }

    /// Everything that is due.
    pub(crate) async fn turn(&mut self) {
        if Instant::now() < self.rest_until && !self.lease_lapsed() {
            return;
        }
        self.keep_lease().await;
        self.keep_measuring();
        self.publish().await;
        for task in self.due() {
            if !self.fulfil(task).await {
                self.rest_until = Instant::now() + REST;
                break;
            }
        }
    }

    fn due(&self) -> Vec<Task> {
        let works = self.works.iter().map(|(claim, (work, _))| (claim.clone(), work.clone())).collect();
        let none = BTreeMap::new();
        let view = match &self.seen {
            None => OfferView::Unknown,
            Some(None) => OfferView::Gone,
            Some(Some(offer)) => {
                let claims = offer.status().map_or(&none, |status| &status.claims);
                OfferView::There(offer.meta().uid.as_deref().unwrap_or(""), claims)
            }
        };
        tasks(view, &works, self.lease_lapsed())
    }

    /// Renews the Lease, if it is time for that.
    pub(crate) async fn keep_lease(&mut self) {
        let third = self.silence() / 3;
        if self.offer().is_none() || self.renewed.is_some_and(|renewed| renewed.elapsed() < third) {
            return;
        }
        let (sent, within) = (Instant::now(), self.within());
        let seconds = i32::try_from(self.silence().as_secs()).unwrap_or(i32::MAX);
        match self.cluster.renew(seconds, true, within).await {
            Ok(()) => self.renewed = Some(sent),
            Err(why) => {
                tracing::warn!(why, "the Lease could not be renewed; retrying");
                self.rest_until = Instant::now() + REST;
            }
        }
    }

    /// Begins a measurement, if it is time for one, or if a vote was requested since the last one began.
    fn keep_measuring(&mut self) {
        let waits: Vec<String> = self
            .due()
            .into_iter()
            .filter_map(|task| match task {
                Task::Vote(claim) => Some(claim),
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

    /// Stops what it runs, and gives the Lease back: nothing more is offered. The claims stand, and the next agent goes on
    /// with them.
    pub(crate) async fn shutdown(mut self) {
        let jobs = std::mem::take(&mut self.works).into_values().map(|(_, job)| job).collect();
        self.stop_all(jobs).await;
        let within = self.within();
        self.cluster.renew(20, false, within).await.ok();
        tracing::info!("stopped");
    }
}

//! What the agent does: values published, votes cast, work begun and ended, each write with what came of it.

use std::time::{Duration, Instant};

use crds::ClaimPolicy;
use futures::future::join_all;
use jiff::Timestamp;

use crate::agent::{Agent, REST};
use crate::choice::{Choice, Reader, choose};
use crate::cluster::AgentOffer;
use crate::lmstat;
use crate::measure::{Measured, Seats};
use crate::tasks::{Task, Work};
use crate::work::Job;
use crate::{patches, value};

impl<K: AgentOffer> Agent<K> {
    /// Seats used outside the cluster, as they were measured, if they were.
    fn external_usage(&self, offer: &K) -> Option<i64> {
        let (measured, _) = self.last.as_ref()?;
        let usage = pool::usage(offer.status());
        match measured.seats.as_ref()? {
            Seats::External(seats) => Some((*seats).max(0)),
            Seats::Said(said) => {
                Some(lmstat::external_usage(said, &self.config.license.inside_host, usage.held("seats")))
            }
        }
    }

    /// Writes the measured attributes and external usage that differ from those in the status of the offer.
    pub(crate) async fn publish(&mut self) {
        let Some((offer, (measured, _))) = self.offer().zip(self.last.as_ref()) else { return };
        let status = offer.status().cloned().unwrap_or_default();
        let declared = &offer.offer_fields().dynamic_attributes;
        let attributes = value::to_publish(declared, &status.attributes, &measured.attributes);
        let known = status.external_usage.get("seats").copied().unwrap_or(0);
        let changed = self.external_usage(offer).filter(|seats| *seats != known);
        let Some(patch) = patches::publish(&attributes, changed) else { return };
        match self.cluster.publish(&patch, self.within()).await {
            Ok(found) => self.see(found),
            Err(why) => {
                tracing::warn!(why, "values could not be published; retrying");
                self.rest_until = Instant::now() + REST;
            }
        }
    }

    /// Does what is due; false if it came to nothing.
    pub(crate) async fn fulfil(&mut self, task: Task) -> bool {
        match task {
            Task::Halt(claim) => {
                if let Some((_, job)) = self.works.remove(&claim) {
                    tracing::info!(claim, "stopping the work");
                    self.stop(job).await;
                }
                true
            }
            Task::End(claim) => {
                let ended = self.write(&claim, patches::end(&claim)).await;
                if ended && self.works.remove(&claim).is_some() {
                    tracing::info!(claim, "reporting the end of the work");
                }
                ended
            }
            Task::Vote(claim) => self.vote(&claim).await,
            Task::Begin(claim) => self.write(&claim, patches::begin(&claim)).await && self.work(&claim),
            Task::Resume(claim) => {
                let now = Timestamp::now().to_string();
                self.write(&claim, patches::resume(&claim, &now)).await && self.work(&claim)
            }
        }
    }

    /// Stops work. Other work goes on, so the Lease is renewed meanwhile. If it expires all the same, work ends before that is seen.
    async fn stop(&mut self, job: Job) {
        if self.lease_lapsed() {
            return job.end(self.config.stop().min(self.silence() / 6)).await;
        }
        self.stop_all(vec![job]).await;
    }

    /// Stops work, and renews the Lease until it has ended.
    pub(crate) async fn stop_all(&mut self, jobs: Vec<Job>) {
        let (hurry, stop): (Vec<_>, _) = (jobs.iter().map(Job::hurry).collect(), self.config.stop());
        let mut end = std::pin::pin!(join_all(jobs.into_iter().map(|job| job.end(stop))));
        loop {
            tokio::select! {
                _ = &mut end => return,
                () = tokio::time::sleep(REST) => self.keep_lease().await,
            }
            if self.lease_lapsed() {
                hurry.iter().for_each(|hurry| _ = hurry.try_send(Duration::ZERO));
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
        let refusal = vote.refusal(&reader(offer, claim));
        let Ok(ballot) = std::fs::read_to_string("/proc/sys/kernel/random/uuid") else {
            tracing::error!(
                "cannot vote: no random word for a ballot, because /proc/sys/kernel/random/uuid cannot be read"
            );
            return false;
        };
        tracing::info!(claim, ?vote, "voted");
        self.write(claim, patches::vote(claim, refusal.as_deref(), ballot.trim())).await
    }

    /// What the offer's ad says of a claim, on values as they are now.
    fn judge(&self, offer: &K, claim: &str, measured: &Measured) -> Choice {
        if offer.offer_fields().claim_policy != ClaimPolicy::Agent {
            return Choice::no("the offer no longer asks its agent");
        }
        if let Some(why) = measured.failures.first() {
            return Choice::Unmeasured(why.clone());
        }
        let fresh = value::fresh(&offer.offer_fields().dynamic_attributes, &measured.attributes);
        let mut now = offer.clone();
        let status = now.status_mut().get_or_insert_default();
        status.attributes.extend(fresh);
        let entry = status.claims.get(claim).cloned().unwrap_or_default();
        match now.advertise() {
            Ok(advertised) => choose(&advertised.ad, &entry.requester, Timestamp::now().as_second()),
            Err(rejected) => Choice::no(&rejected.message),
        }
    }

    /// Writes into an entry; true if it was taken.
    async fn write(&mut self, claim: &str, patch: serde_json::Value) -> bool {
        match self.cluster.patch(patch, self.within()).await {
            Ok(found) => {
                self.see(found);
                true
            }
            Err(why) => {
                tracing::warn!(claim, why, "the status could not be written; reading the offer again");
                match self.cluster.read(self.within()).await {
                    Ok(Some(found)) => self.see(found),
                    Ok(None) => self.gone(),
                    Err(_) => {}
                }
                false
            }
        }
    }

    /// Begins the work, unless time has run out in the meantime.
    fn work(&mut self, claim: &str) -> bool {
        let entry = self.offer().and_then(|offer| {
            let entry = offer.status()?.claims.get(claim)?.clone();
            Some((entry, offer.meta().uid.clone().unwrap_or_default()))
        });
        let Some((entry, uid)) = entry.filter(|_| !self.lease_lapsed()) else { return false };
        let environment = vec![
            ("GANGMATCH_MATCH".to_owned(), entry.match_key.clone()),
            ("GANGMATCH_MATCH_UID".to_owned(), claim.to_owned()),
            ("GANGMATCH_MEMBERS".to_owned(), entry.members.join("\n")),
            ("GANGMATCH_REQUESTER".to_owned(), serde_json::json!(entry.requester).to_string()),
        ];
        match Job::begin(self.config.run.as_deref(), environment, claim, self.done.clone()) {
            Ok(job) => {
                tracing::info!(claim, r#match = entry.match_key, "starting the work");
                self.works.insert(claim.to_owned(), (Work { offer: uid, ended: false }, job));
                true
            }
            Err(error) => {
                tracing::error!(%error, "the work could not be started");
                false
            }
        }
    }
}

/// Who reads the reason of a vote on a claim of an offer.
fn reader<K: AgentOffer>(offer: &K, claim: &str) -> Reader {
    let entry = offer.status().and_then(|status| status.claims.get(claim));
    let namespace = entry.and_then(|entry| entry.match_key.split_once('/')).map(|(namespace, _)| namespace);
    Reader {
        is_at_home: namespace.is_some() && namespace == offer.meta().namespace.as_deref(),
        disclosure: offer.offer_fields().disclosure,
    }
}

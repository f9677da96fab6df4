//! Ledgers that somebody has wiped: the entries of claims that stand, written back from their Matches.
//!
//! Until that is done nothing of such an offer is given away (`pool::forgotten`).

use std::sync::Arc;

use crds::{ClaimPolicy, Decision, Match};
use pool::{Objects, forgotten};

use crate::api::Answer;
use crate::claims::drive::{Driver, REST};
use crate::claims::view::View;
use crate::claims::writes;
use crate::flights::UnderWay;
use crate::metrics;

/// The claims that stand and have lost entries, with the numbers of the offers that have lost them. Where an agent votes, an
/// entry cannot be born with its vote: those are not restored.
pub(crate) fn wiped(objects: &Objects) -> Vec<(View, Vec<usize>)> {
    let mut all: Vec<(View, Vec<usize>)> = Vec::new();
    for (found, member) in forgotten(objects) {
        if member.claim_policy == Some(ClaimPolicy::Agent) {
            continue;
        }
        let number = found.spec.members.iter().skip(1).position(|other| other.uid == member.uid);
        let known = all.iter_mut().find(|(view, _)| Some(&view.uid) == found.metadata.uid.as_ref());
        match (known, number) {
            (Some((_, numbers)), Some(number)) => numbers.push(number),
            (None, Some(number)) => all.push((View::of(found.clone()), vec![number])),
            (_, None) => {}
        }
    }
    all
}

impl Driver {
    /// Writes the entries back, if the server says that the claim still stands.
    pub(crate) async fn restore(self: Arc<Self>, view: View, numbers: Vec<usize>, under_way: UnderWay) {
        if !self.stands(&view).await || !self.write_back(&view, &numbers).await {
            tokio::time::sleep(REST).await;
        }
        drop(under_way);
        self.world.ring();
    }

    /// Whether the server says that the claim stands.
    pub(super) async fn stands(&self, view: &View) -> bool {
        let Answer::Done(found) = self.cluster.get::<Match>(&view.key).await else { return false };
        let same = found.metadata.uid.as_deref() == Some(view.uid.as_str());
        let committed = found.status.as_ref().is_some_and(|status| status.decision == Decision::Committed);
        self.world.learn(|all| all.put_match(found));
        same && committed
    }

    async fn write_back(&self, view: &View, numbers: &[usize]) -> bool {
        let mut all = true;
        for leg in numbers.iter().filter_map(|number| view.legs.get(*number)) {
            let epoch = self.cluster.leadership.epoch();
            let patch = {
                let objects = self.world.look();
                let offer = objects.offer(&leg.kind, &leg.key);
                offer.map(|offer| writes::restore(view, leg, offer, &objects, epoch, self.clock.now()))
            };
            let Some(patch) = patch else { continue };
            match self.patch_offer(leg, &patch).await {
                Answer::Done(_) => {
                    self.cluster.metrics.count(&metrics::RESTORED, &[]);
                    tracing::warn!(r#match = %view.key, offer = %leg.key, kind = leg.kind, "entry lost by the offer; written back");
                }
                answer => {
                    tracing::warn!(r#match = %view.key, offer = %leg.key, kind = leg.kind, ?answer, "entry lost by the offer, and not written back");
                    self.read_offer(leg).await;
                    all = false;
                }
            }
        }
        all
    }
}

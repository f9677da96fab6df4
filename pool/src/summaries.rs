//! Offers and jobs as the engine sees them into what summaries take of them.

use std::collections::BTreeMap;

use matchmaker::{AdId, AdKey, Offer, Port, Ports, Snapshot};
use summary::{Job, JobPort, OfferFacts, OfferPort, Summary, Verdict};

/// System attributes that differ from offer to offer, or from match to match: of them nothing is published.
const OPAQUE: [&str; 5] = ["Uid", "Labels", "Members", "Capacity", "Free"];

/// What a pool publishes: all its offers, by key. Attributes that their owners keep private are left out.
pub fn published(snapshot: &Snapshot) -> summary::Pool<AdKey> {
    let mut pool = summary::Pool::new();
    for (id, ad) in snapshot.ads() {
        if let Some(facts) = offer_facts(snapshot, id) {
            pool.put(ad.key.clone(), facts);
        }
    }
    pool
}

/// What a summary takes of one offer of a snapshot; none of what is no offer, or can take no part.
pub fn offer_facts(snapshot: &Snapshot, id: AdId) -> Option<OfferFacts> {
    let ad = snapshot.ad(id)?;
    let offer = ad.offer().filter(|_| ad.ports.problem.is_none())?;
    let ports: Vec<OfferPort<'_>> = ad.ports.list.iter().filter(|_| !ad.ports.implicit).map(offer_port).collect();
    Some(OfferFacts::of(&summary::Offer {
        kind: &ad.key.kind,
        body: &ad.ports.body,
        ports: &ports,
        opaque: &OPAQUE,
        free: free(snapshot, id, offer),
        shared: offer.shared_by.is_some(),
    }))
}

/// What a summary says of a job with these ports.
pub fn verdict(job: &Ports, summary: &Summary) -> Verdict {
    let ports: Vec<JobPort<'_>> = job.list.iter().map(job_port).collect();
    summary::verdict(&Job { body: &job.body, ports: &ports, implicit: job.implicit }, summary)
}

fn offer_port(port: &Port) -> OfferPort<'_> {
    OfferPort { label: &port.label, attributes: &port.attributes }
}

fn job_port(port: &Port) -> JobPort<'_> {
    let (constraint, request) = (port.constraint.as_ref(), port.request.as_ref());
    JobPort { label: &port.label, attributes: &port.attributes, constraint, request, counted: port.set.is_some() }
}

/// How much of each resource a claim could have: of an offer whose seats are shared all, since a claim that joins a seat takes nothing.
fn free(snapshot: &Snapshot, id: AdId, offer: &Offer) -> BTreeMap<String, i64> {
    if !offer.open {
        return BTreeMap::new();
    }
    let usage = snapshot.usage(id, offer);
    let of = |(name, all): (&String, &i64)| {
        let used = if offer.shared_by.is_some() { 0 } else { usage.used(name) };
        (name.clone(), all.saturating_sub(used).max(0))
    };
    offer.capacity.iter().map(of).collect()
}

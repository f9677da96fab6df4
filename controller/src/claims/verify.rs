//! Between the phases: the gang verified on the members as their reserves returned them.

use claiming::{Event, Reason};
use crds::{AdKind, Job};
use matchmaker::{Disagreement, verify};
use pool::{Objects, gang_of};

use crate::claims::refusal::{OfferRefusal, ad_key};
use crate::claims::step::{Step, StepResult};
use crate::claims::view::Leg;

impl Step<'_> {
    /// Evaluates the gang again. A member that this run of the claim did not reserve itself is read at the server first.
    pub(super) async fn verify(&mut self) -> StepResult {
        let mut members = Objects::new(self.claims.owners);
        self.facts.members.iter().cloned().for_each(|member| member.put_into(&mut members));
        if members.jobs.get(&self.view.root.key).is_none() {
            let read = self.context.read::<Job>(&self.view.root.key).await;
            if self.found(read)?.is_none() {
                return Ok(Event::NotVerified(Reason::JobDeleted));
            }
        }
        for leg in self.view.legs.iter().filter(|leg| members.offer(leg.kind, &leg.key).is_none()) {
            if self.found(self.context.read_offer(leg.kind, &leg.key).await)?.is_none() {
                return Ok(Event::NotVerified(Reason::MemberGone));
            }
        }
        {
            let world = self.context.cache.lock();
            members.namespaces = world.namespaces.clone();
            members.agents = world.agents.clone();
            members.nodes = world.nodes.clone();
            let offers = self.view.legs.iter().map(|leg| (AdKind::Offer(leg.kind), leg.key.clone()));
            let keys = offers.chain([(AdKind::Job, self.view.root.key.clone())]);
            keys.for_each(|(kind, key)| members.copy_missing(kind, &key, &world));
        }
        Ok(self.verified(&members).await)
    }

    async fn verified(&mut self, members: &Objects) -> Event {
        let view = self.view.clone();
        let Some(found) = &view.found else { return Event::NotVerified(Reason::StaleAd) };
        let Some(recalled) = gang_of(found, members) else { return Event::NotVerified(Reason::StaleAd) };
        let (engine, now) = (self.claims.engine_of(found), self.context.clock.now().as_second());
        // What it takes is bounded, but too much for the threads that everything else needs.
        let verified =
            tokio::task::spawn_blocking(move || verify(&recalled.snapshot, &recalled.gang, &engine, now)).await;
        let Err(disagreement) = verified.unwrap_or(Err(Disagreement::Malformed)) else {
            return Event::Verified;
        };
        let (reason, key) = match &disagreement {
            Disagreement::ParentRefuses(key) | Disagreement::ChildRefuses(key) | Disagreement::SetRefused(key) => {
                (Reason::RequirementsChanged, Some(key))
            }
            Disagreement::NoRoom(key) => (Reason::CapacityTaken, Some(key)),
            Disagreement::NotAllowed(key) => (Reason::NotAllowed, Some(key)),
            Disagreement::TooExpensive(key) => (Reason::RequirementsChanged, Some(key)),
            Disagreement::TermsChanged(key) => (Reason::StaleAd, Some(key)),
            Disagreement::Malformed => (Reason::StaleAd, None),
        };
        let at_fault = |leg: &&Leg| key.is_some_and(|key| ad_key(leg) == *key);
        let mut message = disagreement.to_string();
        // What is said of an offer begins with its name.
        if let Some(rest) = key.and_then(|key| message.strip_prefix(&format!("{key} "))) {
            message = rest.to_owned();
        }
        match view.legs.iter().find(at_fault) {
            Some(leg) => self.note_refusal(&OfferRefusal { leg, message, for_good: false }, reason),
            None => self.learned.message = message,
        }
        Event::NotVerified(reason)
    }
}

//! Between the phases: the gang looked at once more, on the members as their reserves returned them.

use std::sync::Mutex;

use claiming::{Action, Event, Reason};
use crds::{Job, Match};
use matchmaker::{Config as Engine, Disagreement, verify};
use pool::{Objects, gang_of};

use crate::api::Answer;
use crate::claims::drive::{Driver, Notes, ad_key, noted};
use crate::claims::reserve::No;
use crate::claims::view::{Leg, View};

impl Driver {
    /// Evaluates the gang again. A member that this process did not reserve itself is read anew first.
    pub(super) async fn check(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let mut members = noted(notes, |notes| notes.members.clone());
        if members.jobs.get(&view.root.key).is_none() {
            match self.read::<Job>(&view.root.key, |all, job| all.jobs.put(job)).await {
                Answer::Done(()) => {}
                Answer::Missing => return Event::NotVerified(Reason::JobDeleted),
                answer => return self.lost(Action::Verify, &answer, notes),
            }
        }
        for leg in view.legs.iter().filter(|leg| members.offer(&leg.kind, &leg.key).is_none()) {
            match self.read_offer(leg).await {
                Answer::Done(()) => {}
                Answer::Missing => return Event::NotVerified(Reason::MemberGone),
                answer => return self.lost(Action::Verify, &answer, notes),
            }
        }
        {
            let world = self.world.look();
            members.namespaces = world.namespaces.clone();
            members.agents = world.agents.clone();
            members.nodes = world.nodes.clone();
            let keys = view.legs.iter().map(|leg| (leg.kind.as_str(), &leg.key)).chain([("Job", &view.root.key)]);
            keys.for_each(|(kind, key)| members.copy_missing(kind, key, &world));
        }
        self.agree(view, &members, notes)
    }

    /// The engine as it was when a gang was found.
    pub(super) fn engine_of(&self, found: &Match) -> Engine {
        Engine { seed: u64::try_from(found.spec.cycle.seed).unwrap_or(0), ..self.engine.clone() }
    }

    fn agree(&self, view: &View, members: &Objects, notes: &Mutex<Notes>) -> Event {
        let Some(found) = &view.found else { return Event::NotVerified(Reason::StaleAd) };
        let Some(recalled) = gang_of(found, members) else { return Event::NotVerified(Reason::StaleAd) };
        let engine = self.engine_of(found);
        let Err(disagreement) = verify(&recalled.snapshot, &recalled.gang, &engine, self.clock.now().as_second())
        else {
            return Event::Verified;
        };
        let (reason, key) = match &disagreement {
            Disagreement::ParentRefuses(key) | Disagreement::ChildRefuses(key) => {
                (Reason::RequirementsChanged, Some(key))
            }
            Disagreement::NoRoom(key) => (Reason::CapacityTaken, Some(key)),
            Disagreement::NotAllowed(key) => (Reason::NotAllowed, Some(key)),
            Disagreement::TermsChanged(key) => (Reason::StaleAd, Some(key)),
            Disagreement::Malformed => (Reason::StaleAd, None),
        };
        let at_fault = |leg: &&Leg| key.is_some_and(|key| ad_key(leg) == *key);
        match view.legs.iter().find(at_fault) {
            Some(leg) => {
                self.refused(view, &No { leg, message: disagreement.to_string(), for_good: false }, reason, notes);
            }
            None => noted(notes, |notes| notes.message = disagreement.to_string()),
        }
        Event::NotVerified(reason)
    }
}

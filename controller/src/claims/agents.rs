//! What a claim has to tell the agents of its offers, and what is read of them.

use std::sync::Mutex;

use claiming::{Action, Event, Vote};

use crate::api::{Answer, Change};
use crate::claims::drive::{Driver, Notes, noted};
use crate::claims::registers;
use crate::claims::view::{Leg, View, entry, is_stopping, registers as seen};

impl Driver {
    /// Tells an agent that its turn to vote has come.
    pub(super) async fn ask(&self, view: &View, number: usize, notes: &Mutex<Notes>) -> Event {
        self.turn(view, number, (Action::RequestVote(number), &registers::ask(&view.uid)), notes).await
    }

    /// Tells an agent that the claim stands, if it is the one whose ballot was read before that was looked up.
    pub(super) async fn tell_agent(&self, view: &View, number: usize, notes: &Mutex<Notes>) -> Event {
        let ballot = noted(notes, |notes| notes.ballots.get(number).cloned()).unwrap_or_default();
        self.turn(view, number, (Action::NotifyAgent(number), &registers::tell(&view.uid, &ballot)), notes).await
    }

    /// Tells an agent to stop, once the Match is read as ended or gone.
    pub(super) async fn stop_agent(&self, view: &View, number: usize, notes: &Mutex<Notes>) -> Event {
        if !self.has_ended(view, notes).await {
            return Event::Failed(Action::StopAgent(number));
        }
        let patch = registers::stop(&view.uid, &view.key.to_string());
        self.turn(view, number, (Action::StopAgent(number), &patch), notes).await
    }

    /// Writes that the work of a silent agent is lost. Whoever was asleep himself takes others for silent: so its offer is read,
    /// then its Lease, which must be what it was all the time.
    pub(super) async fn mark_lost(&self, view: &View, number: usize, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::MarkLost(number));
        let Some(leg) = view.legs.get(number) else { return failed };
        if !matches!(self.read_offer(leg).await, Answer::Done(())) {
            return failed;
        }
        let version = view.offer(leg, &self.world.look()).and_then(|offer| offer.metadata().resource_version.clone());
        let Some(version) = version else { return failed };
        let is_late = self.is_late(view, leg);
        if !is_late && !self.is_silent(leg).await {
            return failed;
        }
        let why = if is_late { "it has not stopped in time" } else { "it is silent" };
        tracing::warn!(r#match = %view.key, offer = %leg.key, kind = leg.kind, why, "the work of an agent is lost");
        self.turn(view, number, (Action::MarkLost(number), &registers::lose(&view.uid, &version)), notes).await
    }

    /// Whether an offer's agent was told to stop its work for a claim, and has not done so in its time.
    fn is_late(&self, view: &View, leg: &Leg) -> bool {
        let objects = self.world.look();
        let found = view.offer(leg, &objects).and_then(|offer| entry(offer, &view.uid));
        let is_stopping = found.is_some_and(|found| is_stopping(&seen(Some(found), false)));
        is_stopping && self.now_ms() >= self.stop_by_ms(&view.uid, &leg.uid)
    }

    /// Whether an offer's agent is silent, with its Lease as the server has it now.
    pub(super) async fn is_silent(&self, leg: &Leg) -> bool {
        let lease = pool::lease_key(&leg.kind, &leg.key);
        let Answer::Done(found) = self.cluster.lease(&lease).await else { return false };
        self.world.saw_lease(lease.clone(), found);
        let silence = self.world.look().offer(&leg.kind, &leg.key).and_then(pool::OfferRef::silence_seconds);
        // an offer that names no agent any more has none that could work
        silence.is_none_or(|silence| self.world.life(&lease, silence).is_silent())
    }

    async fn turn(
        &self,
        view: &View,
        number: usize,
        (action, patch): (Action, &Change),
        notes: &Mutex<Notes>,
    ) -> Event {
        let Some(leg) = view.legs.get(number) else { return Event::Failed(action) };
        match self.patch_offer(leg, patch).await {
            Answer::Done(_) => self.entry_of(view, number).unwrap_or(Event::Failed(action)),
            answer => {
                self.read_offer(leg).await;
                self.lost(action, &answer, notes)
            }
        }
    }

    /// The entry of a leg as it is known now, if there is one.
    pub(super) fn entry_of(&self, view: &View, number: usize) -> Option<Event> {
        let leg = view.legs.get(number)?;
        let is_late = self.is_late(view, leg);
        let objects = self.world.look();
        let found = entry(view.offer(leg, &objects)?, &view.uid)?;
        Some(Event::Entry(number, seen(Some(found), is_late || objects.agent(&leg.kind, &leg.key).is_silent())))
    }

    /// Remembers the ballot of a vote that the claim learns of: the first one that was seen is the one that counts.
    pub(super) fn note_ballot(&self, view: &View, event: &Event, notes: &Mutex<Notes>) {
        let Event::Entry(number, agent) = event else { return };
        let Some(leg) = view.legs.get(*number).filter(|_| agent.vote == Vote::Accepted) else { return };
        let ballot = {
            let objects = self.world.look();
            let found = view.offer(leg, &objects).and_then(|offer| entry(offer, &view.uid));
            found.map(|entry| entry.ballot.clone()).unwrap_or_default()
        };
        noted(notes, |notes| {
            if let Some(known) = notes.ballots.get_mut(*number).filter(|known| known.is_empty()) {
                *known = ballot;
            }
        });
    }
}

//! An offer's agent: votes, starts and ends work, renews its lease, and stops by itself when it must.

use std::rc::Rc;

use claiming::{Activity, Vote};

use crate::chance::Chance;
use crate::coordinator::SILENT_MS;
use crate::objects::{HeldClaim, ObjectName, Stored, Uid};
use crate::server::{ModelRequest, Patch, ServerAnswer};

/// An agent.
#[derive(Clone, Debug)]
pub struct Minder {
    /// Its offer.
    pub offer: u8,
    /// For which Match, on which object of its offer's name, it works.
    pub works: Option<(Uid, Uid)>,
    /// It is not there before this.
    pub dead_until_ms: u64,
    seen: Option<Rc<Stored>>,
    ends_ms: u64,
    renewed_ms: u64,
    call: Option<(u64, Sent)>,
    token: u64,
}

#[derive(Clone, Debug)]
enum Sent {
    Renew { sent_ms: u64 },
    Start { claim: Uid },
    Other,
}

impl Minder {
    /// The agent of an offer.
    pub fn new(offer: u8) -> Minder {
        let (seen, call) = (None, None);
        Minder { offer, works: None, dead_until_ms: 0, seen, ends_ms: 0, renewed_ms: 0, call, token: 0 }
    }

    /// It dies, and its work with it; later it begins again.
    pub fn crash(&mut self, until_ms: u64) {
        (self.works, self.call, self.dead_until_ms) = (None, None, until_ms);
        self.token += 1000;
    }

    /// Its own object, as watched; `None`: deleted.
    pub fn watched(&mut self, stored: Option<Rc<Stored>>) {
        self.seen = stored;
    }

    /// What it does on its own: first what it must stop, then its lease, then whoever waits for it.
    pub fn round(&mut self, now_ms: u64, chance: &mut Chance) -> Option<(u64, ModelRequest)> {
        if now_ms < self.dead_until_ms {
            return None;
        }
        let own = self.seen.clone();
        let uid = own.as_ref().map(|stored| stored.uid);
        let alone = self.is_alone(now_ms);
        if alone || self.works.is_some_and(|(_, object)| Some(object) != uid) {
            self.works = None;
        }
        if self.call.is_some() {
            return None;
        }
        if now_ms.saturating_sub(self.renewed_ms) > 2_000 {
            let renew = Patch::Renew { version: 0, holder: self.offer };
            return Some(
                self.ask(Sent::Renew { sent_ms: now_ms }, ModelRequest::Patch(ObjectName::Alive(self.offer), renew)),
            );
        }
        let stored = own.filter(|_| !alone)?;
        let claims = &stored.offer()?.claims;
        claims.iter().find_map(|(uid, entry)| self.serve(*uid, entry, now_ms, chance))
    }

    /// Whoever could not renew his lease for so long counts as lost: he stops, and begins nothing.
    fn is_alone(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.renewed_ms) > SILENT_MS - 1_500
    }

    fn serve(
        &mut self,
        claim: Uid,
        entry: &HeldClaim,
        now_ms: u64,
        chance: &mut Chance,
    ) -> Option<(u64, ModelRequest)> {
        let agent = entry.agent?;
        let works = self.works.is_some_and(|(uid, _)| uid == claim);
        let patch = |patch: Patch, offer: u8| ModelRequest::Patch(ObjectName::Offer(offer), patch);
        if agent.vote == Vote::Pending && agent.asked && self.works.is_none() {
            let vote = if chance.permille(850) { Vote::Accepted } else { Vote::Rejected };
            let ballot = chance.draw() | 1;
            return Some(self.ask(Sent::Other, patch(Patch::Vote { claim, vote, ballot }, self.offer)));
        }
        if agent.activity == Activity::Idle && agent.committed && !agent.release && self.works.is_none() {
            let start = Patch::Act { claim, activity: Activity::Active };
            return Some(self.ask(Sent::Start { claim }, patch(start, self.offer)));
        }
        if agent.activity == Activity::Active && (!works || agent.release || now_ms >= self.ends_ms) {
            if works {
                self.works = None;
            }
            let end = Patch::Act { claim, activity: Activity::Ended };
            return Some(self.ask(Sent::Other, patch(end, self.offer)));
        }
        None
    }

    fn ask(&mut self, call: Sent, verb: ModelRequest) -> (u64, ModelRequest) {
        self.token += 1;
        self.call = Some((self.token, call));
        (self.token, verb)
    }

    /// An answer to what it asked last; older ones do not count any more.
    pub fn answered(&mut self, token: u64, answer: &ServerAnswer, now_ms: u64, chance: &mut Chance) {
        let Some((_, call)) = self.call.take_if(|(known, _)| *known == token) else { return };
        let ServerAnswer::Done(stored) = answer else { return };
        match call {
            Sent::Renew { sent_ms } => self.renewed_ms = sent_ms,
            Sent::Start { .. } if self.is_alone(now_ms) => {}
            Sent::Start { claim } => {
                self.works = Some((claim, stored.uid));
                self.ends_ms = now_ms.saturating_add(chance.between(1_000, 12_000));
            }
            Sent::Other => {}
        }
        let newer = self.seen.as_ref().is_some_and(|seen| seen.version < stored.version);
        if newer && stored.key == ObjectName::Offer(self.offer) {
            self.seen = Some(stored.clone());
        }
    }
}

//! Group commit for the ledgers of offers: claims that come to the same offer at the same time are written one after the other, and
//! together where they want the same.
//!
//! The server makes writes to one object one after the other, and makes each again that was overtaken. So they queue here: while one
//! write to an offer is under way, others wait; the first of them then writes for all that want the same operation. No claim waits for
//! others to come, and a popular license takes as many claims as come. If the one write is refused, each is tried alone: a claim that
//! does not fit keeps no other one out.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::OfferKind;
use parking_lot::Mutex;

use matchmaker::Config as EngineConfig;
use tokio::sync::oneshot;

use crate::claims::offers::Member;
use crate::claims::view::{Leg, View};
use crate::claims::{registers, writes};
use crate::context::Context;
use crate::write::answer::{Answer, Denial, Rule, Unknown};
use crate::write::requests::ObjectPatch;

/// The most claims that one write enters or takes out: the rules that are evaluated with it take time with each.
const TOGETHER_MAX: usize = 32;

/// How often lost entries are written after a write that was overtaken.
const TRIES: usize = 5;

/// An offer: its kind and its uid.
type OfferId = (OfferKind, String);

/// A claim, and which of its offers a write is about.
type Claimant = (Arc<View>, usize);

/// Writes the ledgers of offers.
pub(super) struct WriteBatcher {
    context: Arc<Context>,
    engine: EngineConfig,
    queues: Queues,
}

/// What a claim wants of an offer's ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LedgerOp {
    /// Its entry is written, while the offer is in this generation.
    Enter(i64),
    /// Its entry is written again: the ledger has lost it.
    Restore,
    /// Its entry is taken out.
    Leave,
    /// The same, by a write for this claim alone.
    Alone,
}

impl LedgerOp {
    /// Whether one write can do both.
    fn goes_with(self, other: LedgerOp) -> bool {
        self == other && self != LedgerOp::Alone
    }
}

/// The claims that wait, by offer; those of which a write is under way are not among them.
#[derive(Default)]
struct Queues(Mutex<BTreeMap<OfferId, Vec<Waiting>>>);

/// A claim that waits for its slot.
struct Waiting {
    claimant: Claimant,
    op: LedgerOp,
    slot: oneshot::Sender<Slot>,
}

/// What becomes of a claim that has waited.
enum Slot {
    /// Another one's write was for it, too.
    Written(Box<Member>),
    /// Another one's write was for it, too; what came of that is unknown.
    Unknown(Unknown),
    /// Another one's write was for it, too, and was refused: it has to be written alone.
    Alone,
    /// It is next: its write is for all that wait now and want the same.
    Writes,
}

impl Slot {
    /// What a write for several claims means for each that waited for it.
    fn after(answer: &Answer<Member>) -> Slot {
        match answer {
            Answer::Done(offer) => Slot::Written(Box::new(offer.clone())),
            Answer::Unknown(why) => Slot::Unknown(why.clone()),
            Answer::Denied(_) | Answer::Missing | Answer::Exists => Slot::Alone,
        }
    }
}

impl Queues {
    /// Queues for an offer; `None`: no write is under way, this claim writes.
    fn queue(&self, offer: &OfferId, claimant: Claimant, op: LedgerOp) -> Option<oneshot::Receiver<Slot>> {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(offer) else {
            queues.insert(offer.clone(), Vec::new());
            return None;
        };
        let (slot, comes) = oneshot::channel();
        queue.push(Waiting { claimant, op, slot });
        Some(comes)
    }

    /// Takes out all that wait now and want the same, as far as one write takes them.
    fn take_batch(&self, offer: &OfferId, op: LedgerOp) -> Vec<Waiting> {
        let mut queues = self.0.lock();
        let Some(queue) = queues.get_mut(offer) else { return Vec::new() };
        let mut count = 1;
        let wants_the_same = |one: &mut Waiting| {
            let goes = count < TOGETHER_MAX && op.goes_with(one.op);
            count += usize::from(goes);
            goes
        };
        queue.extract_if(.., wants_the_same).collect()
    }
}

/// The write to an offer that is under way; when this is dropped, the first claim that waits is next.
struct Writer<'q> {
    queues: &'q Queues,
    offer: OfferId,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let mut queues = self.queues.0.lock();
        while let Some(queue) = queues.get_mut(&self.offer).filter(|queue| !queue.is_empty()) {
            let next = queue.remove(0);
            if next.slot.send(Slot::Writes).is_ok() {
                return;
            }
        }
        queues.remove(&self.offer);
    }
}

impl WriteBatcher {
    pub(super) fn new(context: Arc<Context>, engine: EngineConfig) -> WriteBatcher {
        WriteBatcher { context, engine, queues: Queues::default() }
    }

    /// Does to one of its offers what a claim wants, when its slot comes, together with others that want the same.
    pub(super) async fn submit(&self, view: &Arc<View>, number: usize, wanted: LedgerOp) -> Answer<Member> {
        let Some(leg) = view.legs.get(number) else { return Answer::Missing };
        let offer = (leg.kind, leg.uid.clone());
        let claimant = (view.clone(), number);
        let mut op = wanted;
        loop {
            let slot = match self.queues.queue(&offer, claimant.clone(), op) {
                None => Slot::Writes,
                Some(comes) => comes.await.unwrap_or(Slot::Alone),
            };
            match slot {
                Slot::Written(offer) => return Answer::Done(*offer),
                Slot::Unknown(why) => return Answer::Unknown(why),
                Slot::Alone => op = LedgerOp::Alone,
                Slot::Writes => {
                    let writer = Writer { queues: &self.queues, offer };
                    let batch = self.queues.take_batch(&writer.offer, op);
                    let others = batch.iter().map(|one| one.claimant.clone());
                    let all: Vec<Claimant> = std::iter::once(claimant.clone()).chain(others).collect();
                    let answer = self.write(leg, &all, wanted).await;
                    let was_alone = batch.is_empty();
                    for one in batch {
                        // A claim that waits no longer finds out later what came of it.
                        one.slot.send(Slot::after(&answer)).ok();
                    }
                    return match answer {
                        // One of them does not fit: each is written alone.
                        Answer::Denied(_) | Answer::Missing if !was_alone => self.write(leg, &[claimant], wanted).await,
                        answer => answer,
                    };
                }
            }
        }
    }

    async fn write(&self, leg: &Leg, claims: &[Claimant], op: LedgerOp) -> Answer<Member> {
        match op {
            LedgerOp::Enter(_) => self.enter(leg, claims).await,
            LedgerOp::Restore => self.put_back(leg, claims).await,
            LedgerOp::Leave | LedgerOp::Alone => self.take_out(leg, claims).await,
        }
    }

    /// Writes the entries of committed claims into a ledger that has lost them. If the offer has changed meanwhile, once more.
    async fn put_back(&self, leg: &Leg, claims: &[Claimant]) -> Answer<Member> {
        let mut answer = Answer::Missing;
        for _ in 0..TRIES {
            let epoch = self.context.cluster.leadership.epoch();
            let patch = {
                let objects = self.context.cache.lock();
                let all = claims.iter().filter_map(|(view, number)| Some((view.as_ref(), view.legs.get(*number)?)));
                let offer = objects.offer(leg.kind, &leg.key);
                offer.map(|offer| writes::restore(all.collect(), offer, &objects, epoch, self.context.clock.now()))
            };
            let Some(patch) = patch else { return Answer::Missing };
            answer = self.context.patch_offer(leg, &patch).await;
            if !matches!(&answer, Answer::Denied(no) if no.is_by_test()) {
                break;
            }
            self.context.read_offer(leg.kind, &leg.key).await;
        }
        answer
    }

    async fn enter(&self, leg: &Leg, claims: &[Claimant]) -> Answer<Member> {
        let epoch = self.context.cluster.leadership.epoch();
        let patch = {
            let objects = self.context.cache.lock();
            let now = self.context.clock.now();
            let about = |(view, number): &Claimant| {
                registers::introduced(view, *number, &objects, &self.engine, now.as_second())
            };
            let all =
                claims.iter().filter_map(|claim| Some((claim.0.as_ref(), claim.0.legs.get(claim.1)?, about(claim))));
            let offer = objects.offer(leg.kind, &leg.key);
            offer.map(|offer| writes::reserve(all.collect(), offer, &objects, epoch, now))
        };
        let Some(patch) = patch else { return Answer::Missing };
        self.patch_ledger(leg, &patch).await
    }

    /// Writes a change of a ledger with the conditions that follow from it; without them, if they have changed since they were seen.
    async fn patch_ledger(&self, leg: &Leg, patch: &ObjectPatch) -> Answer<Member> {
        let answer = self.context.patch_offer(leg, patch).await;
        match (&answer, writes::without_conditions(patch)) {
            (Answer::Denied(no), Some(plain)) if no.is_by_test() => self.context.patch_offer(leg, &plain).await,
            _ => answer,
        }
    }

    /// Takes claims out of an offer's ledger, those that are seen there; refused without a rule, if none is.
    async fn take_out(&self, leg: &Leg, claims: &[Claimant]) -> Answer<Member> {
        let views: Vec<&View> = claims.iter().map(|(view, _)| view.as_ref()).collect();
        let mut seats = writes::Seats::OfThoseAlone;
        loop {
            let patch = {
                let objects = self.context.cache.lock();
                let Some(offer) = objects.offer(leg.kind, &leg.key) else { return Answer::Missing };
                writes::free(&views, offer, seats, &objects, self.context.clock.now())
            };
            let Some(patch) = patch else { return Answer::Denied(Denial::default()) };
            match self.patch_ledger(leg, &patch).await {
                // Another claim may share the seat by now: then it stays.
                Answer::Denied(no)
                    if leg.share.is_some()
                        && seats == writes::Seats::OfThoseAlone
                        && !no.is_by_test()
                        && !no.breaks(Rule::Active) =>
                {
                    seats = writes::Seats::Stay;
                }
                answer => return answer,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN: LedgerOp = LedgerOp::Enter(1);

    fn waits(queues: &Queues, offer: &OfferId, op: LedgerOp) -> Option<oneshot::Receiver<Slot>> {
        let view = View {
            uid: String::new(),
            key: pool::ObjectKey::new("", ""),
            found: None,
            root: Default::default(),
            legs: Vec::new(),
        };
        queues.queue(offer, (Arc::new(view), 0), op)
    }

    fn offer() -> OfferId {
        (OfferKind::License, "u".to_owned())
    }

    #[test]
    fn the_first_writes_at_once_and_the_next_for_all_that_came_meanwhile() {
        let (queues, offer) = (Queues::default(), offer());
        assert!(waits(&queues, &offer, IN).is_none(), "no write is under way");
        let writer = Writer { queues: &queues, offer: offer.clone() };
        let mut others: Vec<_> = (0..3).map(|_| waits(&queues, &offer, IN).unwrap()).collect();
        assert!(waits(&queues, &(OfferKind::License, "v".to_owned()), IN).is_none(), "another offer, another queue");
        drop(writer);
        assert!(matches!(others.remove(0).try_recv(), Ok(Slot::Writes)));
        let next = Writer { queues: &queues, offer: offer.clone() };
        assert_eq!(queues.take_batch(&offer, IN).len(), 2);
        drop(next);
        assert!(waits(&queues, &offer, IN).is_none(), "all have gone: the next writes at once");
    }

    #[test]
    fn one_write_is_for_those_that_want_the_same() {
        let (queues, offer) = (Queues::default(), offer());
        assert!(waits(&queues, &offer, IN).is_none());
        let ops = [LedgerOp::Leave, IN, LedgerOp::Alone, LedgerOp::Enter(2), LedgerOp::Leave, IN, LedgerOp::Alone];
        let _all: Vec<_> = ops.iter().map(|op| waits(&queues, &offer, *op)).collect();
        let batch = |op| queues.take_batch(&offer, op).iter().map(|one| one.op).collect::<Vec<_>>();
        assert_eq!(batch(LedgerOp::Alone), []);
        assert_eq!(batch(IN), [IN, IN]);
        assert_eq!(batch(LedgerOp::Leave), [LedgerOp::Leave, LedgerOp::Leave]);
        let left: Vec<LedgerOp> = queues.0.lock()[&offer].iter().map(|one| one.op).collect();
        assert_eq!(left, [LedgerOp::Alone, LedgerOp::Enter(2), LedgerOp::Alone], "in the order in which they came");
    }

    #[test]
    fn one_that_waits_no_longer_is_passed_over_and_one_write_takes_so_many() {
        let (queues, offer) = (Queues::default(), offer());
        assert!(waits(&queues, &offer, IN).is_none());
        let writer = Writer { queues: &queues, offer: offer.clone() };
        drop(waits(&queues, &offer, IN));
        let mut second = waits(&queues, &offer, IN).unwrap();
        let rest: Vec<_> = (0..40).map(|_| waits(&queues, &offer, IN)).collect();
        drop(writer);
        assert!(matches!(second.try_recv(), Ok(Slot::Writes)));
        assert_eq!(queues.take_batch(&offer, IN).len(), TOGETHER_MAX - 1);
        assert_eq!(rest.len() - queues.take_batch(&offer, IN).len(), TOGETHER_MAX - 1);
    }
}

//! Claims that come to the same offer at the same time into one write after the other, and into one write for all who want
//! the same of it.
//!
//! The server makes writes to one object one after the other, and makes each anew that was overtaken. So they stand in line
//! here: while a write to an offer is under way, others who come for it wait; the first of them then writes for all who want
//! what he wants: in, or out. Nobody waits for company, and a popular license takes as many claims as come. If the one write
//! is refused, each is tried singly: one who does not fit does not keep the others out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crds::{License, Machine, OfferStatus};
use pool::Objects;
use tokio::sync::oneshot;

use crate::claims::drive::Driver;
use crate::claims::view::{Leg, View};
use crate::claims::{registers, writes};
use crate::write::answer::{Answer, Denial, Rule, Unknown};

/// The most claims that one write enters or takes out: the rules that are evaluated with it take time with each.
const TOGETHER_MAX: usize = 32;

/// How often lost entries are written that somebody has overtaken.
const TRIES: usize = 5;

/// An offer: its kind and its uid.
type Place = (String, String);

/// Who waits for which offer.
#[derive(Default)]
pub(crate) struct Groups(Mutex<BTreeMap<Place, Vec<Waiting>>>);

/// What somebody wants of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Into its ledger, while it is in this generation.
    Enter(i64),
    /// Into its ledger again, which has lost it.
    Return,
    /// Out of its ledger.
    Leave,
    /// To write for himself alone.
    Singly,
}

impl Wish {
    /// Whether one write can do both.
    fn goes_with(self, other: Wish) -> bool {
        self == other && self != Wish::Singly
    }
}

/// A claim, and which of its offers this is about.
type Claimant = (Arc<View>, usize);

/// One who waits.
struct Waiting {
    claimant: Claimant,
    wish: Wish,
    turn: oneshot::Sender<Turn>,
}

/// What becomes of him.
enum Turn {
    /// Somebody has written for him.
    Written(Box<Offer>),
    /// Somebody has tried, and nobody knows what came of it.
    Unknown(Unknown),
    /// Somebody has tried, and it was refused: he has to write for himself alone.
    Singly,
    /// He has to write, for himself and for all who wait now and want the same.
    Writes,
}

impl Turn {
    /// What a write for several means for each who waited for it.
    fn after(answer: &Answer<Offer>) -> Turn {
        match answer {
            Answer::Done(offer) => Turn::Written(Box::new(offer.clone())),
            Answer::Unknown(unknown) => Turn::Unknown(unknown.clone()),
            Answer::Denied(_) | Answer::Missing | Answer::Exists => Turn::Singly,
        }
    }
}

/// An offer as a write has left it.
#[derive(Clone, Debug)]
pub(crate) enum Offer {
    Machine(Machine),
    License(License),
}

impl Offer {
    pub(crate) fn put_into(self, objects: &mut Objects) {
        match self {
            Offer::Machine(machine) => objects.machines.put(machine),
            Offer::License(license) => objects.licenses.put(license),
        }
    }

    fn status(&self) -> Option<&OfferStatus> {
        match self {
            Offer::Machine(machine) => machine.status.as_ref(),
            Offer::License(license) => license.status.as_ref(),
        }
    }

    /// Whether its ledger has an entry of a claim.
    pub(super) fn has_entry(&self, uid: &str) -> bool {
        self.status().is_some_and(|status| status.claims.contains_key(uid))
    }
}

impl Groups {
    fn table(&self) -> MutexGuard<'_, BTreeMap<Place, Vec<Waiting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stands in line; `None`: nobody is before him, he writes.
    fn line_up(&self, place: &Place, claimant: Claimant, wish: Wish) -> Option<oneshot::Receiver<Turn>> {
        let mut table = self.table();
        let Some(line) = table.get_mut(place) else {
            table.insert(place.clone(), Vec::new());
            return None;
        };
        let (turn, comes) = oneshot::channel();
        line.push(Waiting { claimant, wish, turn });
        Some(comes)
    }

    /// All who wait now and want the same, as far as one write takes them.
    fn company(&self, place: &Place, wish: Wish) -> Vec<Waiting> {
        let mut table = self.table();
        let Some(line) = table.get_mut(place) else { return Vec::new() };
        let mut count = 1;
        let wants_the_same = |one: &mut Waiting| {
            let goes = count < TOGETHER_MAX && wish.goes_with(one.wish);
            count += usize::from(goes);
            goes
        };
        line.extract_if(.., wants_the_same).collect()
    }
}

/// Whoever writes to an offer; when he goes, in whatever way, the first who waits is next.
struct Writer<'g> {
    groups: &'g Groups,
    place: Place,
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let mut table = self.groups.table();
        while let Some(line) = table.get_mut(&self.place).filter(|line| !line.is_empty()) {
            let next = line.remove(0);
            if next.turn.send(Turn::Writes).is_ok() {
                return;
            }
        }
        table.remove(&self.place);
    }
}

impl Driver {
    /// Does to one of its offers what a claim wishes, when its turn comes, together with others who want the same.
    pub(super) async fn together(&self, view: &Arc<View>, number: usize, mut wish: Wish) -> Answer<Offer> {
        let Some(leg) = view.legs.get(number) else { return Answer::Missing };
        let place = (leg.kind.clone(), leg.uid.clone());
        let claimant = (view.clone(), number);
        let wanted = wish;
        loop {
            let turn = match self.groups.line_up(&place, claimant.clone(), wish) {
                None => Turn::Writes,
                Some(comes) => comes.await.unwrap_or(Turn::Singly),
            };
            match turn {
                Turn::Written(offer) => return Answer::Done(*offer),
                Turn::Unknown(unknown) => return Answer::Unknown(unknown),
                Turn::Singly => wish = Wish::Singly,
                Turn::Writes => {
                    let writer = Writer { groups: &self.groups, place };
                    let company = self.groups.company(&writer.place, wish);
                    let others = company.iter().map(|one| one.claimant.clone());
                    let all: Vec<Claimant> = std::iter::once(claimant.clone()).chain(others).collect();
                    let answer = self.write(leg, &all, wanted).await;
                    let was_alone = company.is_empty();
                    for one in company {
                        // Who has gone meanwhile finds out later what came of it.
                        one.turn.send(Turn::after(&answer)).ok();
                    }
                    return match answer {
                        // One of them does not fit: each is on his own.
                        Answer::Denied(_) | Answer::Missing if !was_alone => self.write(leg, &[claimant], wanted).await,
                        answer => answer,
                    };
                }
            }
        }
    }

    async fn write(&self, leg: &Leg, claims: &[Claimant], wish: Wish) -> Answer<Offer> {
        match wish {
            Wish::Enter(_) => self.enter(leg, claims).await,
            Wish::Return => self.put_back(leg, claims).await,
            Wish::Leave | Wish::Singly => self.take_out(leg, claims).await,
        }
    }

    /// Writes the entries of claims that stand into a ledger that has lost them. If the offer has changed meanwhile, once more.
    async fn put_back(&self, leg: &Leg, claims: &[Claimant]) -> Answer<Offer> {
        let mut answer = Answer::Missing;
        for _ in 0..TRIES {
            let epoch = self.cluster.leadership.epoch();
            let patch = {
                let objects = self.cache.lock();
                let all = claims.iter().filter_map(|(view, number)| Some((view.as_ref(), view.legs.get(*number)?)));
                let offer = objects.offer(&leg.kind, &leg.key);
                offer.map(|offer| writes::restore(all.collect(), offer, &objects, epoch, self.clock.now()))
            };
            let Some(patch) = patch else { return Answer::Missing };
            answer = self.patch_offer(leg, &patch).await;
            if !matches!(&answer, Answer::Denied(no) if no.is_by_test()) {
                break;
            }
            self.read_offer(leg).await;
        }
        answer
    }

    async fn enter(&self, leg: &Leg, claims: &[Claimant]) -> Answer<Offer> {
        let epoch = self.cluster.leadership.epoch();
        let patch = {
            let objects = self.cache.lock();
            let now = self.clock.now();
            let about = |(view, number): &Claimant| {
                registers::introduced(view, *number, &objects, &self.engine, now.as_second())
            };
            let all =
                claims.iter().filter_map(|claim| Some((claim.0.as_ref(), claim.0.legs.get(claim.1)?, about(claim))));
            let offer = objects.offer(&leg.kind, &leg.key);
            offer.map(|offer| writes::reserve(all.collect(), offer, &objects, epoch, now))
        };
        let Some(patch) = patch else { return Answer::Missing };
        self.patch_offer(leg, &patch).await
    }

    /// Takes claims out of an offer's ledger, those that are seen there; refused without a rule, if none is.
    async fn take_out(&self, leg: &Leg, claims: &[Claimant]) -> Answer<Offer> {
        let views: Vec<&View> = claims.iter().map(|(view, _)| view.as_ref()).collect();
        let mut seats = writes::Seats::OfThoseAlone;
        loop {
            let patch = {
                let objects = self.cache.lock();
                let Some(offer) = objects.offer(&leg.kind, &leg.key) else { return Answer::Missing };
                writes::free(&views, offer, seats, &objects, self.clock.now())
            };
            let Some(patch) = patch else { return Answer::Denied(Denial::default()) };
            match self.patch_offer(leg, &patch).await {
                // Somebody may have sat down beside it in the meantime: then the seat stays.
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
    use crate::claims::view::View;

    const IN: Wish = Wish::Enter(1);

    fn waits(groups: &Groups, place: &Place, wish: Wish) -> Option<oneshot::Receiver<Turn>> {
        let view = View {
            uid: String::new(),
            key: pool::ObjectKey::new("", ""),
            found: None,
            root: Default::default(),
            legs: Vec::new(),
        };
        groups.line_up(place, (Arc::new(view), 0), wish)
    }

    fn place() -> Place {
        ("License".to_owned(), "u".to_owned())
    }

    #[test]
    fn the_first_writes_at_once_and_the_next_for_all_who_came_meanwhile() {
        let (groups, place) = (Groups::default(), place());
        assert!(waits(&groups, &place, IN).is_none(), "nobody is before him");
        let writer = Writer { groups: &groups, place: place.clone() };
        let mut others: Vec<_> = (0..3).map(|_| waits(&groups, &place, IN).unwrap()).collect();
        assert!(waits(&groups, &("License".to_owned(), "v".to_owned()), IN).is_none(), "another offer, another line");
        drop(writer);
        assert!(matches!(others.remove(0).try_recv(), Ok(Turn::Writes)));
        let next = Writer { groups: &groups, place: place.clone() };
        assert_eq!(groups.company(&place, IN).len(), 2);
        drop(next);
        assert!(waits(&groups, &place, IN).is_none(), "all have gone: the next writes at once");
    }

    #[test]
    fn one_write_is_for_those_who_want_the_same() {
        let (groups, place) = (Groups::default(), place());
        assert!(waits(&groups, &place, IN).is_none());
        let wishes = [Wish::Leave, IN, Wish::Singly, Wish::Enter(2), Wish::Leave, IN, Wish::Singly];
        let _all: Vec<_> = wishes.iter().map(|wish| waits(&groups, &place, *wish)).collect();
        let company = |wish| groups.company(&place, wish).iter().map(|one| one.wish).collect::<Vec<_>>();
        assert_eq!(company(Wish::Singly), []);
        assert_eq!(company(IN), [IN, IN]);
        assert_eq!(company(Wish::Leave), [Wish::Leave, Wish::Leave]);
        let left: Vec<Wish> = groups.table()[&place].iter().map(|one| one.wish).collect();
        assert_eq!(left, [Wish::Singly, Wish::Enter(2), Wish::Singly], "in the order in which they came");
    }

    #[test]
    fn who_has_gone_is_passed_over_and_one_write_takes_so_many() {
        let (groups, place) = (Groups::default(), place());
        assert!(waits(&groups, &place, IN).is_none());
        let writer = Writer { groups: &groups, place: place.clone() };
        drop(waits(&groups, &place, IN));
        let mut second = waits(&groups, &place, IN).unwrap();
        let rest: Vec<_> = (0..40).map(|_| waits(&groups, &place, IN)).collect();
        drop(writer);
        assert!(matches!(second.try_recv(), Ok(Turn::Writes)));
        assert_eq!(groups.company(&place, IN).len(), TOGETHER_MAX - 1);
        assert_eq!(rest.len() - groups.company(&place, IN).len(), TOGETHER_MAX - 1);
    }
}

//! Claims that want the same offer at the same time into one write for all of them.
//!
//! While a write to an offer is under way, others who come for it wait; the first of them then writes for all who do. So nobody
//! waits for company, and a popular license takes as many claims as come. If the one write is refused, each is tried singly:
//! one who does not fit does not keep the others out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crds::{License, Machine};
use pool::{Advertises, Objects};
use tokio::sync::oneshot;

use crate::api::Answer;
use crate::claims::drive::Driver;
use crate::claims::view::{Leg, View};
use crate::claims::{registers, writes};

/// The most claims that one write enters: the rules that are evaluated with it take time with each.
const TOGETHER_MAX: usize = 32;

/// An offer in one generation: who is matched with another one waits for another write.
type Place = (String, String, i64);

/// Who waits for which offer.
#[derive(Default)]
pub(crate) struct Groups(Mutex<BTreeMap<Place, Vec<Waiting>>>);

/// One who waits.
struct Waiting {
    view: Arc<View>,
    number: usize,
    turn: oneshot::Sender<Turn>,
}

/// What becomes of him.
enum Turn {
    /// Somebody has written for him.
    Written(Box<Offer>),
    /// Somebody has tried, and nobody knows what came of it.
    Lost(String),
    /// He has to write, for himself alone.
    Alone,
    /// He has to write, for himself and for all who wait now.
    ForAll,
}

impl Turn {
    /// What a write for several means for each who waited for it.
    fn after(answer: &Answer<Offer>) -> Turn {
        match answer {
            Answer::Done(offer) => Turn::Written(Box::new(offer.clone())),
            Answer::Lost(why) => Turn::Lost(why.clone()),
            Answer::Refused(_) | Answer::Missing | Answer::Exists => Turn::Alone,
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
}

impl Groups {
    fn table(&self) -> MutexGuard<'_, BTreeMap<Place, Vec<Waiting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stands in line; `None`: nobody is before him, he writes.
    fn line_up(&self, place: &Place, view: &Arc<View>, number: usize) -> Option<oneshot::Receiver<Turn>> {
        let mut table = self.table();
        let Some(line) = table.get_mut(place) else {
            table.insert(place.clone(), Vec::new());
            return None;
        };
        let (turn, comes) = oneshot::channel();
        line.push(Waiting { view: view.clone(), number, turn });
        Some(comes)
    }

    /// All who wait now, as far as one write takes them.
    fn company(&self, place: &Place) -> Vec<Waiting> {
        let mut table = self.table();
        let Some(line) = table.get_mut(place) else { return Vec::new() };
        let count = line.len().min(TOGETHER_MAX - 1);
        line.drain(..count).collect()
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
            if next.turn.send(Turn::ForAll).is_ok() {
                return;
            }
        }
        table.remove(&self.place);
    }
}

impl Driver {
    /// Enters a claim into the ledger of one of its offers, together with others who want to get in.
    pub(super) async fn enter_together(&self, view: &Arc<View>, number: usize) -> Answer<Offer> {
        let Some(leg) = view.legs.get(number) else { return Answer::Missing };
        let place = (leg.kind.clone(), leg.uid.clone(), leg.generation);
        let turn = match self.groups.line_up(&place, view, number) {
            None => Turn::ForAll,
            Some(comes) => comes.await.unwrap_or(Turn::Alone),
        };
        match turn {
            Turn::Written(offer) => Answer::Done(*offer),
            Turn::Lost(why) => Answer::Lost(why),
            Turn::Alone => self.enter(leg, &[(view.clone(), number)]).await,
            Turn::ForAll => {
                let writer = Writer { groups: &self.groups, place };
                let company = self.groups.company(&writer.place);
                let mut all = vec![(view.clone(), number)];
                all.extend(company.iter().map(|one| (one.view.clone(), one.number)));
                let answer = self.enter(leg, &all).await;
                let was_alone = company.is_empty();
                for one in company {
                    // Who has gone meanwhile finds out later what came of it.
                    one.turn.send(Turn::after(&answer)).ok();
                }
                match answer {
                    Answer::Done(_) | Answer::Lost(_) => answer,
                    _ if was_alone => answer,
                    // One of them does not fit: each is on his own.
                    _ => self.enter(leg, &[(view.clone(), number)]).await,
                }
            }
        }
    }

    async fn enter(&self, leg: &Leg, claims: &[(Arc<View>, usize)]) -> Answer<Offer> {
        let epoch = self.cluster.leadership.epoch();
        let patch = {
            let objects = self.world.look();
            let now = self.clock.now();
            let about = |(view, number): &(Arc<View>, usize)| {
                registers::introduced(view, *number, &objects, &self.engine, now.as_second())
            };
            let all =
                claims.iter().filter_map(|claim| Some((claim.0.as_ref(), claim.0.legs.get(claim.1)?, about(claim))));
            let offer = objects.offer(&leg.kind, &leg.key);
            offer.map(|offer| writes::reserve(all.collect(), offer, &objects, epoch, now))
        };
        let Some(patch) = patch else { return Answer::Missing };
        if leg.kind == <Machine as Advertises>::KIND {
            let answer = self.cluster.patch_status::<Machine>(&leg.key, &patch).await;
            answer.map(|machine| {
                self.world.learn(|all| all.machines.put(machine.clone()));
                Offer::Machine(machine)
            })
        } else {
            let answer = self.cluster.patch_status::<License>(&leg.key, &patch).await;
            answer.map(|license| {
                self.world.learn(|all| all.licenses.put(license.clone()));
                Offer::License(license)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::view::View;

    fn waits(groups: &Groups, place: &Place) -> Option<oneshot::Receiver<Turn>> {
        let view = View {
            uid: String::new(),
            key: pool::ObjectKey::new("", ""),
            found: None,
            root: Default::default(),
            legs: Vec::new(),
        };
        groups.line_up(place, &Arc::new(view), 0)
    }

    #[test]
    fn the_first_writes_at_once_and_the_next_for_all_who_came_meanwhile() {
        let (groups, place) = (Groups::default(), ("License".to_owned(), "u".to_owned(), 1));
        assert!(waits(&groups, &place).is_none(), "nobody is before him");
        let writer = Writer { groups: &groups, place: place.clone() };
        let mut others: Vec<_> = (0..3).map(|_| waits(&groups, &place).unwrap()).collect();
        assert!(
            waits(&groups, &("License".to_owned(), "u".to_owned(), 2)).is_none(),
            "another generation is another write"
        );
        drop(writer);
        assert!(matches!(others.remove(0).try_recv(), Ok(Turn::ForAll)));
        let next = Writer { groups: &groups, place: place.clone() };
        assert_eq!(groups.company(&place).len(), 2);
        drop(next);
        assert!(waits(&groups, &place).is_none(), "all have gone: the next writes at once");
    }

    #[test]
    fn who_has_gone_is_passed_over_and_one_write_takes_so_many() {
        let (groups, place) = (Groups::default(), ("License".to_owned(), "u".to_owned(), 1));
        assert!(waits(&groups, &place).is_none());
        let writer = Writer { groups: &groups, place: place.clone() };
        drop(waits(&groups, &place));
        let mut second = waits(&groups, &place).unwrap();
        let rest: Vec<_> = (0..40).map(|_| waits(&groups, &place)).collect();
        drop(writer);
        assert!(matches!(second.try_recv(), Ok(Turn::ForAll)));
        assert_eq!(groups.company(&place).len(), TOGETHER_MAX - 1);
        assert_eq!(rest.len() - groups.company(&place).len(), TOGETHER_MAX - 1);
    }
}

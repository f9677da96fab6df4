//! Resources that no root can tell apart, as one: ten equal machines become one resource of which there are ten.
//!
//! Two resources are equal if they are in the same columns but for themselves: of the same roots, with the same scores and the same rest. Each
//! column takes the same amount of them, so that what is free is a number of places. Exchanging equal resources turns
//! columns into columns, so every placement of the smaller window is one of the larger one. Where only the number of placed
//! roots counts, columns are compared without their scores.
//!
//! Roots with the same columns are looked at once.
//!
//! Resources that are only taken together, as the processors and the memory of a machine, become one before.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use sampling::Random;

use crate::model::{Choice, Column, Lists, Root, Take, Window};
use crate::objective::Score;
use crate::state::{Problem, State};

/// A window in which equal resources are one.
#[derive(Debug)]
pub(crate) struct Classes {
    /// The smaller window.
    pub(crate) window: Window,
    /// By resource: the first one that is equal to it.
    pub(crate) firsts: Vec<usize>,
    /// By resource: the first one that is always taken with it.
    pub(crate) together: Vec<usize>,
    /// By root: the number that each column has there.
    numbers: Vec<Arc<Vec<usize>>>,
}

impl Classes {
    /// Joins the equal resources of a window.
    pub(crate) fn of(window: &Window) -> Classes {
        Classes::join(window, Compare::Scores)
    }

    /// Joins resources that are equal but for scores. The columns have none.
    pub(crate) fn without_scores(window: &Window) -> Classes {
        Classes::join(window, Compare::Takes)
    }

    fn join(window: &Window, compare: Compare) -> Classes {
        let lists = window.lists();
        let places = Places::of(window, &lists);
        let together = places.taken_together(window);
        let joined = places.representatives(window, &together, compare);
        let mut free = window.free.clone();
        for Joined { resource, first, slots } in &joined {
            if first == resource {
                free.get_mut(*first).into_iter().for_each(|free| *free = 0);
            }
            free.get_mut(*first).into_iter().for_each(|free| *free = free.saturating_add(*slots));
        }
        let mut firsts: Vec<usize> = (0..window.free.len()).collect();
        let mut counted = vec![Counted::Units; window.free.len()];
        for Joined { resource, first, .. } in joined {
            if let (Some(own), Some(counted)) = (firsts.get_mut(resource), counted.get_mut(resource)) {
                (*own, *counted) = (first, Counted::Places);
            }
        }
        for (resource, first) in together.iter().enumerate().filter(|(resource, first)| resource != *first) {
            let first = firsts.get(*first).copied().unwrap_or(*first);
            if let (Some(own), Some(counted)) = (firsts.get_mut(resource), counted.get_mut(resource)) {
                (*own, *counted) = (first, Counted::Elsewhere);
            }
        }
        let mut numbers = Vec::new();
        let joined = lists.all.iter().map(|columns| {
            if compare == Compare::Scores && columns.iter().all(|column| stays(column, &firsts, &counted)) {
                return (Arc::clone(columns), Arc::new((0..columns.len()).collect()));
            }
            let (columns, numbers) = join(columns, (&firsts, &counted), compare);
            (Arc::new(columns), Arc::new(numbers))
        });
        let joined: Vec<Joint> = joined.collect();
        let roots = window.roots.iter().zip(&lists.of).zip(&lists.needs).filter_map(|((root, list), needs)| {
            let (columns, of_list) = joined.get(*list)?;
            let in_turn = root.in_turn.and_then(|number| of_list.get(number).copied());
            numbers.push(Arc::clone(of_list));
            let Root { weight, submitter, priority, band, pinned, has_more, .. } = *root;
            let needs = needs.iter().filter_map(|list| Some(Arc::clone(&joined.get(*list)?.0))).collect();
            let columns = Arc::clone(columns);
            Some(Root { weight, submitter, priority, band, pinned, has_more, needs, columns, in_turn })
        });
        let roots = roots.collect();
        let window = Window { roots, free, seats: window.seats.clone(), fair: window.fair };
        Classes { window, firsts, together, numbers }
    }

    /// Choices of the smaller window as choices of the window that it was made of: for each root in turn the first column that is left.
    pub(crate) fn expand(&self, window: &Window, choices: &[Choice]) -> Vec<Choice> {
        let problem = Problem::of(window);
        let mut state = State::empty(&problem);
        for (root, choice) in choices.iter().enumerate() {
            let (Some(of), Some(numbers)) = (window.roots.get(root), self.numbers.get(root)) else { continue };
            let mut alike = numbers.iter().enumerate().filter(|(_, number)| Some(**number) == *choice);
            let fits = |(number, _): &(usize, &usize)| {
                of.columns.get(*number).is_some_and(|column| state.lacks(column, None).is_none())
            };
            if let Some((number, _)) = alike.find(fits) {
                state.place(root, number);
            }
        }
        state.choices().to_vec()
    }
}

/// The columns of a list that are left, and for each of the list its number among them.
type Joint = (Arc<Vec<Column>>, Arc<Vec<usize>>);

/// What of columns must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Scores,
    Takes,
}

impl Compare {
    fn score(self, column: &Column) -> Score {
        if self == Compare::Scores { column.score } else { Score::default() }
    }
}

/// How what is taken of a resource is counted in the smaller window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Units,
    /// Each column takes one place.
    Places,
    /// It is only taken with another one.
    Elsewhere,
}

/// A resource of which all columns take the same amount, the first one that is equal to it, and for how many columns it has room.
struct Joined {
    resource: usize,
    first: usize,
    slots: u64,
}

/// A column that takes some of a resource.
#[derive(Clone, Copy)]
struct Place<'w> {
    /// The list that it is in.
    list: usize,
    /// The number of the column, counted over all lists.
    number: usize,
    column: &'w Column,
}

/// By resource: the columns that take some of it.
struct Places<'w> {
    of: Vec<Vec<Place<'w>>>,
    /// The amount, if it is the same in all, and no seat takes some.
    amounts: Vec<Option<u64>>,
}

impl<'w> Places<'w> {
    fn of(window: &Window, lists: &'w Lists) -> Places<'w> {
        let mut places = Places { of: vec![Vec::new(); window.free.len()], amounts: vec![None; window.free.len()] };
        let columns =
            lists.all.iter().enumerate().flat_map(|(list, columns)| columns.iter().map(move |own| (list, own)));
        for (number, (list, column)) in columns.enumerate() {
            for (resource, amount) in column.units() {
                let (Some(of), Some(known)) = (places.of.get_mut(resource), places.amounts.get_mut(resource)) else {
                    continue;
                };
                *known = if of.is_empty() {
                    Some(amount).filter(|amount| *amount > 0)
                } else {
                    known.filter(|known| *known == amount)
                };
                of.push(Place { list, number, column });
            }
        }
        for (taken, _) in window.seats.iter().flat_map(|seat| &seat.takes) {
            places.amounts.get_mut(*taken).into_iter().for_each(|amount| *amount = None);
        }
        places
    }

    fn amount(&self, resource: usize) -> Option<u64> {
        self.amounts.get(resource).copied().flatten()
    }

    /// For how many columns there is room.
    fn slots(&self, window: &Window, resource: usize) -> u64 {
        let free = window.free.get(resource).copied().unwrap_or(0);
        self.amount(resource).map_or(0, |amount| free / amount)
    }

    /// By resource: the first one that is in the same columns, each time with the same amount.
    fn taken_together(&self, window: &Window) -> Vec<usize> {
        let mut together: Vec<usize> = (0..window.free.len()).collect();
        let mut first: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        // only columns that take more than one resource of the same first column are compared
        let mut of_first: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (resource, places) in self.of.iter().enumerate().filter(|(resource, _)| self.amount(*resource).is_some()) {
            places.first().into_iter().for_each(|place| of_first.entry(place.number).or_default().push(resource));
        }
        for resource in of_first.into_values().filter(|resources| resources.len() > 1).flatten() {
            let numbers = self.of.get(resource).into_iter().flatten().map(|place| place.number).collect();
            let first = *first.entry(numbers).or_insert(resource);
            together.get_mut(resource).into_iter().for_each(|own| *own = first);
        }
        together
    }

    /// The resources that can be counted in places, each with the first one that is equal to it.
    fn representatives(&self, window: &Window, together: &[usize], compare: Compare) -> Vec<Joined> {
        // in all: as many places as there are of the scarcest of those that are taken together
        let mut slots: BTreeMap<usize, u64> = BTreeMap::new();
        for (resource, first) in together.iter().enumerate().filter(|(resource, _)| self.amount(*resource).is_some()) {
            let own = self.slots(window, resource);
            slots.entry(*first).and_modify(|slots| *slots = own.min(*slots)).or_insert(own);
        }
        let mut alike: BTreeMap<(usize, u64, u64), Vec<usize>> = BTreeMap::new();
        for resource in slots.keys() {
            let Some(places) = self.of.get(*resource) else { continue };
            let amount = self.amount(*resource).unwrap_or(0);
            // what comes to the same for equal resources, whatever the order of the columns
            let hash = |place: &Place<'_>| {
                let rest = self.rest_of(place.column, *resource, together).map(|take| hash_of(&take));
                let score = compare.score(place.column);
                mixed(&[place.list as u64, fold(score), rest.fold(0, u64::wrapping_add)])
            };
            let hash = places.iter().map(hash).fold(0, u64::wrapping_add);
            alike.entry((places.len(), amount, hash)).or_default().push(*resource);
        }
        let mut found = Vec::new();
        for resources in alike.into_values() {
            let mut firsts: Vec<(usize, Vec<Place<'_>>)> = Vec::new();
            for resource in &resources {
                let slots = slots.get(resource).copied().unwrap_or(0);
                let first = if resources.len() == 1 {
                    *resource
                } else {
                    self.first_equal(*resource, &mut firsts, together, compare)
                };
                found.push(Joined { resource: *resource, first, slots });
            }
        }
        found.sort_unstable_by_key(|joined| joined.resource);
        found
    }

    /// The first of these resources that is equal to one, or itself, which is then one of them.
    fn first_equal(
        &self,
        resource: usize,
        firsts: &mut Vec<(usize, Vec<Place<'w>>)>,
        together: &[usize],
        compare: Compare,
    ) -> usize {
        let order = |(one, own): (&Place<'_>, usize), (other, its): (&Place<'_>, usize)| {
            let key = |place: &Place<'_>| (place.list, compare.score(place.column));
            let rest = || self.rest_of(one.column, own, together).cmp(self.rest_of(other.column, its, together));
            key(one).cmp(&key(other)).then_with(rest)
        };
        let mut places = self.of.get(resource).cloned().unwrap_or_default();
        places.sort_unstable_by(|one, other| order((one, resource), (other, resource)));
        let equal = firsts.iter().find(|(first, known)| {
            known.len() == places.len()
                && known
                    .iter()
                    .zip(&places)
                    .all(|(one, other)| order((one, *first), (other, resource)) == Ordering::Equal)
        });
        if let Some((first, _)) = equal {
            return *first;
        }
        firsts.push((resource, places));
        resource
    }

    /// What a column takes beside a resource, of those that are taken together only the first.
    fn rest_of(&self, column: &'w Column, resource: usize, together: &[usize]) -> impl Iterator<Item = Take> {
        column.takes.iter().copied().filter(move |take| match take {
            Take::Units { resource: of, .. } => *of != resource && together.get(*of) == Some(of),
            Take::Seat(_) => true,
        })
    }
}

/// Numbers as one that looks random.
fn mixed(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |hash, number| Random::new(hash ^ number).draw())
}

fn hash_of(take: &Take) -> u64 {
    match *take {
        Take::Units { resource, amount } => mixed(&[1, resource as u64, amount]),
        Take::Seat(seat) => mixed(&[2, seat as u64]),
    }
}

fn fold(score: Score) -> u64 {
    let halves = score.iter().flat_map(|level| [*level as u64, (*level >> 64) as u64]);
    halves.fold(0, |hash, half| mixed(&[hash, half]))
}

/// Whether a column takes the same when equal resources are one.
fn stays(column: &Column, firsts: &[usize], counted: &[Counted]) -> bool {
    column.takes.iter().all(|take| match *take {
        Take::Units { resource, amount } => {
            firsts.get(resource) == Some(&resource)
                && match counted.get(resource) {
                    Some(Counted::Places) => amount == 1,
                    Some(Counted::Elsewhere) => false,
                    _ => true,
                }
        }
        Take::Seat(_) => true,
    })
}

/// Columns when equal resources are one, each once, and the number of each former column among them.
fn join(before: &[Column], (firsts, counted): (&[usize], &[Counted]), compare: Compare) -> (Vec<Column>, Vec<usize>) {
    let mut known: BTreeMap<Score, BTreeMap<Vec<Take>, usize>> = BTreeMap::new();
    let (mut columns, mut taken) = (Vec::new(), Vec::new());
    let number = |column: &Column| {
        let take = |take: &Take| match *take {
            Take::Units { resource, amount } => {
                let first = firsts.get(resource).copied().unwrap_or(resource);
                match counted.get(resource) {
                    Some(Counted::Places) => Some(Take::Units { resource: first, amount: 1 }),
                    Some(Counted::Elsewhere) => None,
                    _ => Some(Take::Units { resource, amount }),
                }
            }
            seat => Some(seat),
        };
        taken.clear();
        taken.extend(column.takes.iter().filter_map(take));
        taken.sort_unstable();
        let score = compare.score(column);
        if let Some(number) = known.get(&score).and_then(|known| known.get(taken.as_slice())) {
            return *number;
        }
        columns.push(Column { takes: taken.clone(), score });
        known.entry(score).or_default().insert(taken.clone(), columns.len() - 1);
        columns.len() - 1
    };
    let numbers = before.iter().map(number).collect();
    (columns, numbers)
}

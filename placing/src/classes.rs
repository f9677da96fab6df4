//! Resources that no root can tell apart, as one: ten equal machines become one resource of which there are ten.
//!
//! Two resources are equal if they are in the same columns but for themselves: of the same roots, with the same scores and the same rest. Each
//! column takes the same amount of them, so that what is free is a number of places. Exchanging equal resources turns
//! columns into columns, so every placement of the smaller window is one of the larger one.

use std::collections::BTreeMap;

use crate::model::{Choice, Column, Root, Take, Window};
use crate::objective::Score;
use crate::state::{Problem, State};

/// A column without one of its resources: its root, its score, the amount, and the rest.
type Place<'w> = (usize, Score, u64, Vec<&'w Take>);

/// A window in which equal resources are one.
#[derive(Debug)]
pub(crate) struct Classes {
    /// The smaller window.
    pub(crate) window: Window,
    /// By root: the number that each column has there.
    numbers: Vec<Vec<usize>>,
}

impl Classes {
    /// Joins the equal resources of a window.
    pub(crate) fn of(window: &Window) -> Classes {
        let places = representatives(window);
        let mut free = window.free.clone();
        for (resource, first, amount) in &places {
            let slots = window.free.get(*resource).map_or(0, |free| free / amount);
            if first == resource {
                free.get_mut(*first).into_iter().for_each(|free| *free = 0);
            }
            free.get_mut(*first).into_iter().for_each(|free| *free = free.saturating_add(slots));
        }
        let joined: BTreeMap<usize, usize> = places.iter().map(|(resource, first, _)| (*resource, *first)).collect();
        let mut numbers = Vec::new();
        let roots = window.roots.iter().map(|root| {
            let (columns, of_root) = join(root, &joined);
            let in_turn = root.in_turn.and_then(|number| of_root.get(number).copied());
            numbers.push(of_root);
            Root { columns, in_turn, ..root.clone() }
        });
        let roots = roots.collect();
        Classes { window: Window { roots, free, seats: window.seats.clone(), fair: window.fair }, numbers }
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

/// For each resource of which all columns take the same amount: the first resource that is equal to it, and the amount.
fn representatives(window: &Window) -> Vec<(usize, usize, u64)> {
    let mut places: Vec<Vec<Place<'_>>> = vec![Vec::new(); window.free.len()];
    let columns = || {
        window
            .roots
            .iter()
            .enumerate()
            .flat_map(|(number, root)| root.columns.iter().map(move |column| (number, column)))
    };
    for (number, column) in columns() {
        for (resource, amount) in column.units() {
            let is_it = |take: &&Take| matches!(take, Take::Units { resource: of, .. } if *of == resource);
            let rest = column.takes.iter().filter(|take| !is_it(take)).collect();
            if let Some(places) = places.get_mut(resource) {
                places.push((number, column.score, amount, rest));
            }
        }
    }
    let in_seats =
        |resource: usize| window.seats.iter().flat_map(|seat| &seat.takes).any(|(taken, _)| *taken == resource);
    let mut first: BTreeMap<Vec<Place<'_>>, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (resource, mut places) in places.into_iter().enumerate() {
        let Some(amount) = places.first().map(|place| place.2) else { continue };
        if amount == 0 || places.iter().any(|place| place.2 != amount) || in_seats(resource) {
            continue;
        }
        places.sort_unstable();
        found.push((resource, *first.entry(places).or_insert(resource), amount));
    }
    found
}

/// The columns of a root when equal resources are one, each once, and the number of each former column among them.
fn join(root: &Root, joined: &BTreeMap<usize, usize>) -> (Vec<Column>, Vec<usize>) {
    let mut known: BTreeMap<Column, usize> = BTreeMap::new();
    let mut columns = Vec::new();
    let number = |column: &Column| {
        let take = |take: &Take| match *take {
            Take::Units { resource, amount } => match joined.get(&resource) {
                Some(first) => Take::Units { resource: *first, amount: 1 },
                None => Take::Units { resource, amount },
            },
            seat => seat,
        };
        let mut takes: Vec<Take> = column.takes.iter().map(take).collect();
        takes.sort_unstable();
        let column = Column { takes, score: column.score };
        *known.entry(column).or_insert_with_key(|column| {
            columns.push(column.clone());
            columns.len() - 1
        })
    };
    let numbers = root.columns.iter().map(number).collect();
    (columns, numbers)
}

//! How many roots can have a gang at most, whatever gangs these are, by what each takes at least.
//!
//! Each root takes a place of one of a few resources, and no more is asked of it. So the most roots that fit are a flow from roots to
//! resources, which is found exactly. Where few seats keep many roots waiting, no more fit together with everything else either.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::best::Steps;
use crate::flow;
use crate::model::{Column, Root, Take, Window};

/// How many roots can be placed at most; `None` if of no root it is known what it takes at least, or there are too few steps.
pub(crate) fn most(window: &Window, steps: &mut Steps) -> Option<u128> {
    let able = || window.roots.iter().filter(|root| root.can_have());
    let places = Places::of(window, able());
    let mut lists: BTreeMap<*const Vec<Column>, Arc<Vec<Column>>> = BTreeMap::new();
    let mut likeness = |least: &Arc<Vec<Column>>| {
        Arc::clone(lists.entry(Arc::as_ptr(least)).or_insert_with(|| Arc::new(places.columns(least))))
    };
    let roots: Vec<Root> = able()
        .filter(|root| !root.least.is_empty())
        .map(|root| Root { columns: likeness(&root.least), ..Root::default() })
        .collect();
    if roots.is_empty() {
        return None;
    }
    let others = able().count() - roots.len();
    let relaxed = Window { roots, free: places.free, ..Window::default() };
    let (choices, is_most) = flow::most(&relaxed, steps)?;
    is_most.then(|| choices.iter().flatten().chain(std::iter::repeat_n(&0, others)).fold(0, |count, _| count + 1))
}

/// By resource: for how many of these columns it has room at most.
struct Places {
    free: Vec<u64>,
}

impl Places {
    fn of<'w>(window: &'w Window, roots: impl Iterator<Item = &'w Root>) -> Places {
        let mut smallest: Vec<Option<u64>> = vec![None; window.free.len()];
        let mut known: BTreeMap<*const Vec<Column>, &Vec<Column>> = BTreeMap::new();
        for root in roots {
            known.entry(Arc::as_ptr(&root.least)).or_insert(&root.least);
        }
        for (resource, amount) in
            known.into_values().flatten().flat_map(Column::units).filter(|(_, amount)| *amount > 0)
        {
            let Some(smallest) = smallest.get_mut(resource) else { continue };
            *smallest = Some(smallest.map_or(amount, |smallest| smallest.min(amount)));
        }
        let places = window.free.iter().zip(smallest).map(|(free, smallest)| smallest.map_or(*free, |one| free / one));
        Places { free: places.collect() }
    }

    /// One column for each resource of which a column takes something: of what it takes that of which there are the fewest places. If one takes
    /// nothing that runs out, nothing is known.
    fn columns(&self, least: &[Column]) -> Vec<Column> {
        let scarcest = |column: &Column| {
            let units = column.units().filter(|(_, amount)| *amount > 0);
            units
                .min_by_key(|(resource, _)| (self.free.get(*resource).copied(), *resource))
                .map(|(resource, _)| resource)
        };
        let column = |resource| Column { takes: vec![Take::Units { resource, amount: 1 }], score: Default::default() };
        least.iter().map(scarcest).map(|resource| resource.map_or_else(Column::default, column)).collect()
    }
}

//! Which of several equal placements is the result.

use std::collections::BTreeMap;

use crate::model::Choice;
use crate::state::{Problem, State};

/// What makes roots equal: band, submitter, priority, weight, whether there are other gangs, the list of columns.
type Likeness = (i64, usize, i64, u64, bool, usize);

/// Of equal roots the first ones are placed, and have the better gangs; then each root in its turn gets the first of its columns that
/// is free and has the same score. The worth stays the same.
pub(crate) fn settle(problem: &Problem<'_>, choices: &[Choice]) -> Vec<Choice> {
    let window = problem.window;
    let choices = first_come(problem, choices);
    let Some(mut state) = State::of(problem, &choices) else { return choices };
    for root in 0..window.roots.len() {
        let Some(before) = state.remove(root) else { continue };
        let columns = window.roots.get(root).map_or(&[][..], |root| &root.columns);
        let score = columns.get(before).map(|column| column.score);
        let mut equal = columns.iter().enumerate().take(before).filter(|(_, column)| Some(column.score) == score);
        let first = equal.find(|(_, column)| state.lacks(column, None).is_none());
        state.place(root, first.map_or(before, |(number, _)| number));
    }
    state.choices().to_vec()
}

fn first_come(problem: &Problem<'_>, choices: &[Choice]) -> Vec<Choice> {
    let mut alike: BTreeMap<Likeness, Vec<usize>> = BTreeMap::new();
    let lists = problem.window.lists();
    let roots = problem.window.roots.iter().zip(&lists.of).enumerate();
    for (number, (root, list)) in roots.filter(|(_, (root, _))| !root.columns.is_empty()) {
        let likeness = (root.band, root.submitter, root.priority, root.counts(), root.has_more, *list);
        alike.entry(likeness).or_default().push(number);
    }
    let mut settled = choices.to_vec();
    for mut roots in alike.into_values().filter(|roots| roots.len() > 1) {
        let choice = |root: &usize| choices.get(*root).copied().flatten();
        let mut columns: Vec<usize> = roots.iter().filter_map(choice).collect();
        columns.sort_by_key(|number| {
            let column = roots.first().and_then(|root| problem.window.column(*root, Some(*number)));
            (std::cmp::Reverse(column.map(|column| column.score)), *number)
        });
        // those that must be placed, then the first ones
        roots.sort_by_key(|root| (!problem.rules.must(*root), *root));
        let waiting = roots.split_off(columns.len());
        roots.sort_unstable();
        let columns = columns.into_iter().map(Some).chain(std::iter::repeat(None));
        for (root, choice) in roots.into_iter().chain(waiting).zip(columns) {
            if let Some(settled) = settled.get_mut(root) {
                *settled = choice;
            }
        }
    }
    settled
}

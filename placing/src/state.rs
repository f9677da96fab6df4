//! A placement in progress: which root has which column, and what is left.

use crate::fairness::{Balance, Rules};
use crate::model::{Choice, Column, Take, Window};
use crate::objective::{Objective, Worth};

/// A window with what is derived from it once.
#[derive(Debug)]
pub(crate) struct Problem<'w> {
    pub(crate) window: &'w Window,
    pub(crate) rules: Rules,
    pub(crate) objective: Objective,
}

impl<'w> Problem<'w> {
    pub(crate) fn of(window: &'w Window) -> Problem<'w> {
        Problem { window, rules: Rules::of(window), objective: Objective::of(window) }
    }
}

/// A placement.
#[derive(Clone, Debug)]
pub(crate) struct State<'p> {
    problem: &'p Problem<'p>,
    /// What is left of each resource.
    left: Vec<u64>,
    /// How many gangs hold each seat.
    sitting: Vec<usize>,
    /// The roots that take something of each resource.
    holders: Vec<Vec<usize>>,
    choices: Vec<Choice>,
    balance: Balance,
    worth: Worth,
}

impl<'p> State<'p> {
    /// No root has a gang.
    pub(crate) fn empty(problem: &'p Problem<'p>) -> State<'p> {
        let Window { roots, free, seats, .. } = problem.window;
        State {
            problem,
            left: free.clone(),
            sitting: vec![0; seats.len()],
            holders: vec![Vec::new(); free.len()],
            choices: vec![None; roots.len()],
            balance: problem.rules.balance(),
            worth: problem.objective.nothing(),
        }
    }

    /// These choices; `None` if they overdraw a resource.
    pub(crate) fn of(problem: &'p Problem<'p>, choices: &[Choice]) -> Option<State<'p>> {
        let mut state = State::empty(problem);
        for (root, choice) in choices.iter().enumerate() {
            let Some(number) = *choice else { continue };
            let column = problem.window.column(root, *choice)?;
            if state.lacks(column, None).is_some() {
                return None;
            }
            state.place(root, number);
        }
        Some(state)
    }

    pub(crate) fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The choice of one root; `None`: it has no gang.
    pub(crate) fn choice(&self, root: usize) -> Choice {
        self.choices.get(root).copied().flatten()
    }

    /// By how much these choices exceed what is due.
    pub(crate) fn balance(&self) -> &Balance {
        &self.balance
    }

    pub(crate) fn worth(&self) -> &Worth {
        &self.worth
    }

    /// What is left of each resource.
    pub(crate) fn left(&self) -> &[u64] {
        &self.left
    }

    /// How many gangs hold each seat.
    pub(crate) fn sitting(&self) -> &[usize] {
        &self.sitting
    }

    /// The roots that take something of a resource.
    pub(crate) fn holders(&self, resource: usize) -> &[usize] {
        self.holders.get(resource).map_or(&[], Vec::as_slice)
    }

    /// The first resource of which there is too little for a column, if the gang of the root `without` is away.
    pub(crate) fn lacks(&self, column: &Column, without: Option<usize>) -> Option<usize> {
        let gone = without.and_then(|root| self.problem.window.column(root, self.choice(root)));
        column.takes.iter().find_map(|take| match *take {
            Take::Units { resource, amount } => self.short(resource, amount, gone),
            Take::Seat(seat) => {
                let leaves = usize::from(gone.is_some_and(|column| column.holds(seat)));
                let is_taken = self.sitting.get(seat).is_some_and(|sitting| *sitting > leaves);
                let takes = self.problem.window.seats.get(seat).filter(|_| !is_taken)?;
                takes.takes.iter().find_map(|(resource, amount)| self.short(*resource, *amount, gone))
            }
        })
    }

    /// The resource, if less than the amount is left of it when a column is given back.
    fn short(&self, resource: usize, amount: u64, gone: Option<&Column>) -> Option<usize> {
        let back = gone.map_or(0, |column| self.given_back(column, resource));
        let left = self.left.get(resource).map_or(0, |left| left.saturating_add(back));
        (amount > left).then_some(resource)
    }

    fn given_back(&self, column: &Column, resource: usize) -> u64 {
        let mut back = 0u64;
        each(self.problem.window, column, &mut |seat| self.sitting.get(seat) == Some(&1), &mut |taken, amount| {
            back = if taken == resource { back.saturating_add(amount) } else { back };
        });
        back
    }

    /// Gives a root a column, which must fit; the root has none.
    pub(crate) fn place(&mut self, root: usize, number: usize) {
        let Problem { window, rules, objective } = self.problem;
        let Some(column) = window.column(root, Some(number)) else { return };
        let (sitting, left, holders) = (&mut self.sitting, &mut self.left, &mut self.holders);
        let mut opens = |seat: usize| {
            let Some(sitting) = sitting.get_mut(seat) else { return false };
            *sitting += 1;
            *sitting == 1
        };
        each(window, column, &mut opens, &mut |resource, amount| {
            if let Some(left) = left.get_mut(resource) {
                *left = left.saturating_sub(amount);
            }
        });
        each(window, column, &mut |_| true, &mut |resource, _| {
            if let Some(holders) = holders.get_mut(resource) {
                holders.push(root);
            }
        });
        objective.add(&mut self.worth, root, &column.score, 1);
        self.balance.count(rules, root, objective.count(root).1);
        if let Some(choice) = self.choices.get_mut(root) {
            *choice = Some(number);
        }
    }

    /// Takes a root's column away. The column.
    pub(crate) fn remove(&mut self, root: usize) -> Choice {
        let Problem { window, rules, objective } = self.problem;
        let choice = self.choices.get_mut(root)?.take();
        let column = window.column(root, choice)?;
        let (sitting, left, holders) = (&mut self.sitting, &mut self.left, &mut self.holders);
        let mut closes = |seat: usize| {
            let Some(sitting) = sitting.get_mut(seat) else { return false };
            *sitting = sitting.saturating_sub(1);
            *sitting == 0
        };
        each(window, column, &mut closes, &mut |resource, amount| {
            if let Some(left) = left.get_mut(resource) {
                *left = left.saturating_add(amount);
            }
        });
        each(window, column, &mut |_| true, &mut |resource, _| {
            let Some(holders) = holders.get_mut(resource) else { return };
            if let Some(at) = holders.iter().position(|holder| *holder == root) {
                holders.swap_remove(at);
            }
        });
        objective.add(&mut self.worth, root, &column.score, -1);
        self.balance.count(rules, root, -objective.count(root).1);
        choice
    }
}

/// Calls `take` with everything that a column takes; of seats, what those take for which `seat` says yes.
fn each(window: &Window, column: &Column, seat: &mut dyn FnMut(usize) -> bool, take: &mut dyn FnMut(usize, u64)) {
    for taken in &column.takes {
        match *taken {
            Take::Units { resource, amount } => take(resource, amount),
            Take::Seat(number) if seat(number) => {
                let takes = window.seats.get(number).into_iter().flat_map(|seat| &seat.takes);
                takes.for_each(|(resource, amount)| take(*resource, *amount));
            }
            Take::Seat(_) => {}
        }
    }
}

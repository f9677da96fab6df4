//! What the evaluations of an assembly have cost, what offers of other namespaces pay of it, and what ran out.

use std::cell::{Cell, RefCell};

use classad::Limit;

use crate::budget::{FAIR_FUEL, Owners};

/// How often the root's own constraints may run out before no more candidates are tried: what takes so much for some takes it
/// for others, too.
const COSTLY_MAX: u64 = 3;

/// A constraint of the root that takes more than an evaluation may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costly {
    /// The number of the port.
    pub(crate) port: usize,
    /// What ran out.
    pub(crate) limit: Limit,
}

/// The costs of all evaluations so far.
#[derive(Default)]
pub(super) struct EvaluationCosts {
    /// How many evaluations ran out of depth or fuel.
    exhausted: Cell<u64>,
    /// What the last of them ran out of.
    limit: Cell<Option<Limit>>,
    /// The first of the root's own constraints that did, and how many times they did in all.
    costly: Cell<(Option<Costly>, u64)>,
    /// Whether an evaluation ran out of the steps that its search had left, though it may take more.
    cut: Cell<bool>,
    /// The fuel that all evaluations have used, except what other namespaces pay.
    fuel: Cell<u64>,
    /// What offers of other namespaces pay; without it, the root pays for everything.
    owners: RefCell<Option<Owners>>,
}

impl EvaluationCosts {
    /// An evaluation ran out.
    pub(super) fn ran_out(&self, limit: Limit) {
        self.exhausted.set(self.exhausted.get().saturating_add(1));
        self.limit.set(Some(limit));
    }

    /// An evaluation was not finished, because its search had no more steps left.
    pub(super) fn was_cut(&self) {
        self.cut.set(true);
    }

    /// The root's own constraint at this port was among what ran out.
    pub(super) fn root_ran_out(&self, port: usize) {
        let (first, times) = self.costly.get();
        let costly = self.limit.get().map(|limit| Costly { port, limit });
        self.costly.set((first.or(costly), times + 1));
    }

    /// Charges the root.
    pub(super) fn pay(&self, fuel: u64) {
        self.fuel.set(self.fuel.get().saturating_add(fuel));
    }

    /// Charges fuel that expressions of an ad have used: up to what is fair, to the root. `other`: the namespace of the ad, if it is not that
    /// of the root.
    pub(super) fn pay_for<'n>(&self, fuel: u64, other: impl FnOnce() -> Option<&'n str>) {
        let mut own = fuel;
        if fuel > FAIR_FUEL
            && let Some(owners) = &mut *self.owners.borrow_mut()
            && let Some(namespace) = other()
        {
            own = FAIR_FUEL;
            owners.pay(namespace, fuel - own);
        }
        self.pay(own);
    }

    /// Lets offers of other namespaces pay for what their expressions cost.
    pub(super) fn charge_owners(&self, owners: Owners) {
        self.owners.replace(Some(owners));
    }

    /// What they have paid.
    pub(super) fn into_owners(self) -> Option<Owners> {
        self.owners.into_inner()
    }

    /// Whether offers of a namespace are left out for jobs of others.
    pub(super) fn bars(&self, namespace: &str) -> bool {
        self.owners.borrow().as_ref().is_some_and(|owners| owners.bars(namespace))
    }

    /// The fuel that the root has paid.
    pub(super) fn fuel(&self) -> u64 {
        self.fuel.get()
    }

    /// Whether an evaluation was not finished, because its search had no more steps left.
    pub(super) fn is_cut(&self) -> bool {
        self.cut.get()
    }

    /// How many evaluations ran out.
    pub(super) fn exhausted(&self) -> u64 {
        self.exhausted.get()
    }

    /// The first of the root's own constraints that ran out.
    pub(super) fn first_costly(&self) -> Option<Costly> {
        self.costly.get().0
    }

    /// Whether the root's own constraints have run out so often that they are not asked any more.
    pub(super) fn is_too_costly(&self) -> bool {
        self.costly.get().1 >= COSTLY_MAX
    }
}

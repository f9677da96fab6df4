//! The model of a cycle, without ads, which tests compare with: decides which jobs are served in a pool in which every gang is found for which enough is left.
//!
//! It does with [`Order`] and [`Quotas`] what the crate `matchmaker` does with them in a real cycle, so that the laws of the order can be
//! tested on amounts alone.

use std::collections::BTreeMap;

use crate::amounts::Amounts;
use crate::order::{Order, Pass, Waiting};
use crate::quota::Quotas;

/// Which jobs were served, and why the others were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Places of the jobs in the list given, in the order in which they were served.
    pub served: Vec<(usize, Pass)>,
    /// The other jobs, with what stood against each when it had its turn.
    pub unserved: BTreeMap<usize, Unserved>,
}

/// Why a job was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unserved {
    /// The pool has too little left of something.
    WaitingForCapacity,
    /// A quota forbids it.
    QuotaExceeded,
}

/// Serves jobs in their order. `takes` has, for each job, what its gang takes; the gang is found if the pool has as much left.
#[must_use]
pub fn serve(quotas: Quotas<'_>, jobs: &[Waiting], takes: &[Amounts]) -> Served {
    let mut order = Order::new(quotas, jobs);
    let mut outcome = Served::default();
    while let Some(turn) = order.next() {
        let none = Amounts::new();
        let takes = takes.get(turn.job).unwrap_or(&none);
        let is_there = order.quotas().fits(takes);
        if !is_there || !order.quotas().allows(turn.leaf, takes) {
            let why = if is_there { Unserved::QuotaExceeded } else { Unserved::WaitingForCapacity };
            outcome.unserved.insert(turn.job, why);
            order.not_found(turn);
        } else if order.found(turn, takes) {
            outcome.served.push((turn.job, turn.pass));
        }
    }
    outcome
}

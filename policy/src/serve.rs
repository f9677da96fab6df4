//! A whole cycle on a pool that only counts.

use std::collections::BTreeMap;

use crate::amounts::Amounts;
use crate::order::{Order, Pass, Waiting};
use crate::quota::Quotas;

/// Who was served, and why the others were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Places of the jobs in the list given, in the order in which they were served.
    pub served: Vec<(usize, Pass)>,
    /// The other jobs, as things are after the cycle.
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

/// Serves jobs, each with what its gang takes, in a pool in which a gang is found whenever there is as much of everything as it takes.
#[must_use]
pub fn serve(quotas: Quotas<'_>, jobs: &[Waiting], takes: &[Amounts]) -> Served {
    let mut order = Order::new(quotas, jobs);
    let mut served = Vec::new();
    while let Some(turn) = order.next() {
        let found = takes.get(turn.job).filter(|takes| order.quotas().fits(takes) && order.quotas().allows(turn.own_roots, takes));
        match found {
            None => order.not_found(turn),
            Some(takes) => served.extend(order.found(turn, takes).then_some((turn.job, turn.pass))),
        }
    }
    let mut unserved: BTreeMap<usize, Unserved> = takes
        .iter()
        .map(|takes| if order.quotas().fits(takes) { Unserved::QuotaExceeded } else { Unserved::WaitingForCapacity })
        .enumerate()
        .collect();
    unserved.retain(|job, _| served.iter().all(|(other, _)| other != job));
    Served { served, unserved }
}

//! Decides which root is served next: one of the submitter with the fewest gangs, or, if the snapshot has accounts, one of the account to
//! which something is guaranteed, and then of the one with the smallest normalized usage.
//!
//! It only chooses between the two orders, `queue.rs` and `account_queue.rs`. `cycle.rs` and `collective.rs` take the next root from here,
//! search its gang, and report what came of it, which counts for the choice after it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::account_queue::{AccountQueue, NumberedCharge};
use crate::charges::Prices;
use crate::finder::Turn;
use crate::gang::Gang;
use crate::model::{AdId, Config, Snapshot};
use crate::queue::Queue;
use crate::why_not::QuotaExceeded;

/// The waiting roots in the order in which they are served if each of them gets a gang. What a root gets counts for its submitter, or for its
/// account, when the next one is chosen; with accounts, every gang counts as one charge, and as one of each thing that is guaranteed to its account.
#[must_use]
pub fn service_order(snapshot: &Snapshot) -> Vec<AdId> {
    let mut line = Line::of(snapshot);
    let mut order = Vec::with_capacity(snapshot.roots.len());
    while let Some(turn) = line.next() {
        let is_served = match &mut line {
            Line::Submitters(queue) => {
                queue.count_gang();
                true
            }
            Line::Accounts(queue) => queue.serve_any(),
        };
        order.extend(is_served.then_some(turn.ad));
    }
    order
}

/// The roots of a cycle in the order in which they are served.
pub(crate) enum Line<'s> {
    /// By what submitters hold.
    Submitters(Queue<'s>),
    /// By what accounts have used and hold.
    Accounts(Box<AccountQueue<'s>>),
}

impl<'s> Line<'s> {
    /// The roots of a snapshot.
    pub(crate) fn of(snapshot: &'s Snapshot) -> Line<'s> {
        match &snapshot.accounts {
            None => Line::Submitters(Queue::of(snapshot)),
            Some(accounts) => Line::Accounts(Box::new(AccountQueue::of(snapshot, accounts))),
        }
    }

    /// Sets what claims cost, as far as that is known already: only the rest is evaluated.
    pub(crate) fn set_prices(&mut self, prices: &Prices) {
        if let Line::Accounts(queue) = self {
            queue.set_prices(prices.clone());
        }
    }

    /// The submitters in the order of their numbers.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        match self {
            Line::Submitters(queue) => queue.names().cloned().collect(),
            Line::Accounts(queue) => queue.names().cloned().collect(),
        }
    }

    /// The root that is served next. What came of it is to be reported by one of the functions below.
    pub(crate) fn next(&mut self) -> Option<Turn<'s>> {
        match self {
            Line::Submitters(queue) => queue.next(),
            Line::Accounts(queue) => queue.next(),
        }
    }

    /// Whether it is the pass of guarantees: the root that is served has its turn because something is guaranteed to its account.
    pub(crate) fn is_guarantee_pass(&self) -> bool {
        match self {
            Line::Submitters(_) => false,
            Line::Accounts(queue) => queue.is_guarantee_pass(),
        }
    }

    /// The quota that forbids the root that is served every gang, if one does.
    pub(crate) fn forbids_every_gang(&self) -> Option<Box<QuotaExceeded>> {
        match self {
            Line::Submitters(_) => None,
            Line::Accounts(queue) => queue.forbids_every_gang(),
        }
    }

    /// The same line. None with accounts.
    pub(crate) fn copy(&self) -> Option<Line<'s>> {
        match self {
            Line::Submitters(queue) => Some(Line::Submitters(queue.clone())),
            Line::Accounts(_) => None,
        }
    }

    /// Takes out the roots of these gangs, which count for their submitters. Not for accounts.
    pub(crate) fn leave_out(&mut self, gangs: &[Gang], snapshot: &Snapshot) {
        if let Line::Submitters(queue) = self {
            queue.leave_out(&snapshot.marks(gangs.iter().filter_map(Gang::root)));
        }
    }

    /// The root that was served last has no gang in this cycle.
    pub(crate) fn not_found(&mut self) {
        match self {
            Line::Submitters(_) => {}
            Line::Accounts(queue) => queue.not_found(),
        }
    }

    /// Postpones the root that was served last: it comes once more when all others are done.
    pub(crate) fn postpone(&mut self, turn: &Turn<'_>) {
        match self {
            Line::Submitters(queue) => queue.postpone(turn),
            Line::Accounts(queue) => queue.postpone(),
        }
    }

    /// Begins again with the postponed roots. Returns the numbers of their submitters.
    pub(crate) fn begin_postponed(&mut self) -> BTreeSet<usize> {
        match self {
            Line::Submitters(queue) => queue.begin_postponed(),
            Line::Accounts(queue) => queue.begin_postponed(),
        }
    }

    /// Counts the gang of the root that was served last for its submitter, or charges its account. With accounts, `charge` is what the gang costs;
    /// it is worked out if it is not known. Returns whether the gang is served; if not, its root comes again in this cycle.
    pub(crate) fn serve(
        &mut self,
        turn: &Turn<'_>,
        gang: &Gang,
        charge: &mut NumberedCharge,
        (config, now): (&Config, i64),
    ) -> bool {
        match self {
            Line::Submitters(queue) => {
                queue.count_gang();
                true
            }
            Line::Accounts(queue) => queue.serve(turn.root, gang, charge, (config, now)),
        }
    }
}

//! One negotiation cycle: decides for a whole [`Snapshot`] which roots get which gangs, in the five steps that are numbered below.
//!
//! Before it, the crate `pool` has made the snapshot. In the cycle, `line.rs` says whose turn it is, a [`Finder`] finds the best gang,
//! `within_quotas.rs` keeps it within the quotas, and `explanations.rs` says why the other roots have none. After it, the controller claims
//! the gangs.

use crate::budget::StepShares;
use crate::charges::MemberCharges;
use crate::explanations::{Failed, explain};
use crate::finder::{Cycle, Finder, Round, Turn};
use crate::gang::Gang;
use crate::line::Line;
use crate::model::{Config, Snapshot};
use crate::plain::Found;
use crate::within_quotas::{Within, best_within};

/// Finds the best gang of every root, in order: first those of the higher band, then those of the submitter with the fewest gangs, then
/// those with a higher priority, then older ones, then those with the smaller key. What a gang takes is not available to later roots. With
/// accounts, what is guaranteed is served first, then the account with the smallest normalized usage, and only gangs within its quotas
/// are found.
///
/// The same snapshot, configuration and time give the same cycle with every finder. `now` is in seconds since 1970.
pub fn negotiate<F: Finder>(snapshot: &Snapshot, config: &Config, now: i64, finder: &mut F) -> Cycle {
    let mut begun = Begun::of(snapshot, (config, now, Ahead::Nothing), finder);
    begun.search(usize::MAX, finder);
    begun.finish(finder)
}

/// Whether a cycle may be begun again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// It will not be.
    Nothing,
    /// It may be: see [`Finder::restart`].
    Restarts,
}

/// A cycle that has begun.
pub(crate) struct Begun<'s, F: Finder> {
    pub(crate) line: Line<'s>,
    /// The line at the beginning, if the cycle may be begun again.
    first: Option<Line<'s>>,
    pub(crate) round: Round<'s>,
    /// What the finder knows.
    pub(crate) run: F::Run<'s>,
    /// The roots that were searched and have no gang.
    failed: Vec<Failed>,
    /// The roots that were searched, in the order of their turns, if the cycle may be begun again.
    pub(crate) searched: Vec<Turn<'s>>,
    /// Some roots were postponed, because their submitters had no steps left.
    pub(crate) has_postponed: bool,
}

impl<'s, F: Finder> Begun<'s, F> {
    /// A cycle without gangs yet.
    pub(crate) fn of(
        snapshot: &'s Snapshot,
        (config, now, ahead): (&'s Config, i64, Ahead),
        finder: &mut F,
    ) -> Begun<'s, F> {
        // 1. Order the submitters, and give each its share of the steps: an equal one, unless it is frugal.
        let line = Line::of(snapshot);
        let mut round = Round::of(snapshot, config, now, line.names().iter());
        round.ahead = ahead;
        let run = finder.begin(&mut round);
        let first = if ahead == Ahead::Restarts { line.copy() } else { None };
        Begun { line, first, round, run, failed: Vec::new(), searched: Vec::new(), has_postponed: false }
    }

    /// Begins again with these gangs and other settings, but for the line. What the expressions of offers have cost stays counted.
    pub(crate) fn restart(&mut self, config: &'s Config, gangs: Vec<Gang>, finder: &mut F) {
        let Round { snapshot, now, .. } = self.round;
        let mut round = Round::of(snapshot, config, now, self.line.names().iter());
        std::mem::swap(&mut round.owners, &mut self.round.owners);
        finder.restart(&mut self.run, &mut round);
        (self.round, self.has_postponed) = (round, false);
        self.failed.clear();
        self.take(gangs, finder);
    }

    /// Begins the line again, without the roots of the gangs so far. Not for accounts.
    pub(crate) fn queue_again(&mut self) {
        let Some(mut line) = self.first.take() else { return };
        line.leave_out(&self.round.cycle.gangs, self.round.snapshot);
        self.line = line;
    }

    /// Gives the submitters other shares for a while: those that they had.
    pub(crate) fn swap_shares(&mut self, shares: StepShares) -> StepShares {
        std::mem::replace(&mut self.round.shares, shares)
    }

    /// Takes gangs.
    pub(crate) fn take(&mut self, gangs: Vec<Gang>, finder: &mut F) {
        for gang in gangs {
            self.round.cycle.gangs.push(gang);
            finder.took(&mut self.run, &mut self.round);
        }
    }

    /// Searches so many roots, the next ones; the postponed ones last, if others are not enough.
    pub(crate) fn search(&mut self, roots_max: usize, finder: &mut F) {
        let Begun { line, round, run, failed, searched, has_postponed, .. } = self;
        let (config, mut within) = (round.config, Within::default());
        let done = round.cycle.gangs.len() + failed.len();
        round.cycle.gangs.reserve(round.snapshot.roots.len().min(roots_max));
        if matches!(line, Line::Accounts(_)) {
            round.cycle.charges.reserve(round.snapshot.roots.len().min(roots_max));
        }
        for last in [false, true] {
            if last && (!*has_postponed || round.cycle.gangs.len() + failed.len() - done >= roots_max) {
                break;
            }
            if last {
                // Roots whose submitters had no steps left are searched again, with the steps that the others have not used.
                round.shares.share_rest(line.begin_postponed().into_iter());
                round.last = true;
            }
            // 2. Take the next root.
            while round.cycle.gangs.len() + failed.len() - done < roots_max {
                let Some(turn) = line.next() else { break };
                if config.stop.is_set() {
                    round.cycle.skipped.push(turn.ad);
                    line.not_found();
                    continue;
                }
                // 3. Find its best gang.
                let before = round.shares.spent(turn.submitter);
                within.exceeded = line.forbids_every_gang();
                // A gang is large, and is moved once: to its place among the gangs of the cycle.
                let mut found =
                    if within.exceeded.is_none() { finder.best(run, &turn, round) } else { Found::default() };
                if let Line::Accounts(queue) = &*line {
                    best_within(finder, run, (queue, &turn), round, (&mut found, &mut within));
                }
                if found.disagreed {
                    round.cycle.disagreements.push(turn.ad);
                }
                if found.gang.is_none() {
                    round.shares.waste(turn.submitter, round.shares.spent(turn.submitter) - before);
                }
                if config.stop.is_set() && found.gave_up && round.cycle.ended_at.is_none() {
                    round.cycle.ended_at = Some(turn.ad);
                } else if found.short && !last {
                    line.postpone(&turn);
                    *has_postponed = true;
                    continue;
                }
                if found.short {
                    round.shares.exceed(turn.submitter);
                }
                if round.ahead == Ahead::Restarts {
                    searched.push(turn);
                }
                let Some(gang) = &found.gang else {
                    failed.push(Failed::of(&turn, found.gave_up).by(within.exceeded.take()));
                    line.not_found();
                    continue;
                };
                // 4. Charge the submitter for the gang, and the offers for what the gang takes.
                if !line.serve(&turn, gang, &mut within.charge, (config, round.now)) {
                    continue;
                }
                if within.charge.is_known() {
                    round.cycle.charges.push((turn.ad, MemberCharges::from_slice(&within.charge.members)));
                }
                if found.gave_up {
                    round.cycle.cut_short.push(turn.ad);
                }
                if let Some(gang) = found.gang {
                    round.cycle.gangs.push(gang);
                }
                finder.took(run, round);
            }
        }
    }

    /// The result so far, and what it has cost.
    pub(crate) fn so_far(&mut self) -> &Cycle {
        self.round.end();
        let Round { cycle, shares, .. } = &mut self.round;
        (cycle.costs.fruitless, cycle.costs.spent) = (shares.fruitless(), shares.spent_by_all());
        cycle
    }

    /// Explains the roots that were searched and have no gang. The result.
    pub(crate) fn finish(mut self, finder: &mut F) -> Cycle {
        self.round.end();
        finder.end(&mut self.run, &mut self.round);
        // 5. Explain the rest.
        if self.round.config.explains {
            explain(finder, &mut self.run, &mut self.round, &self.failed);
        }
        self.so_far();
        self.round.cycle
    }
}

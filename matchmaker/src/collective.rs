//! Collective placing: the roots of a window get their gangs together, and not one after the other.

use std::collections::{BTreeMap, BTreeSet};

use placing::Effort;

use crate::cycle::negotiate;
use crate::finder::{Cycle, Finder, Round, Turn};
use crate::gang::Gang;
use crate::model::{AdId, Config, Snapshot};
use crate::plain::{Listing, list};
use crate::queue::Queue;
use crate::score::Score;

mod columns;

use columns::Columns;

/// The settings of collective placing.
#[derive(Clone, Debug)]
pub struct Collective {
    /// The most roots that are placed together: the first ones in the order of their turns. The others follow in turn.
    pub window: usize,
    /// What one window may cost, in steps of 64 gangs that are looked at.
    pub steps: u64,
    /// The most gangs of one root that are compared.
    pub gangs_max: usize,
    /// Roots that have waited for too long: if they have a gang in turn, they have one here. See [`overdue`].
    pub pinned: BTreeSet<AdId>,
    /// Whether each submitter has at least as many gangs as in turn, for each priority p among its roots of at least p.
    pub fair: bool,
}

impl Default for Collective {
    fn default() -> Collective {
        Collective { window: 1000, steps: 200_000, gangs_max: 1000, pinned: BTreeSet::new(), fair: true }
    }
}

/// The result of a cycle whose roots were placed together.
#[derive(Clone, Debug)]
pub struct Together {
    /// The gangs in the order of the turns of their roots, and why the other roots have none.
    pub cycle: Cycle,
    /// How many roots of the window have a gang, and the sum of their scores.
    pub placed: Reached,
    /// The same in turn.
    pub in_turn: Reached,
    /// How many roots of the window can have a gang at most.
    pub bound: usize,
    /// Whether no placement has more gangs, band by band.
    pub proven: bool,
    /// What it took.
    pub effort: Spent,
    /// The gangs in turn of the roots that have one, and none here.
    pub passed_over: Vec<Gang>,
}

/// What a placement comes to: the objective, without bands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// How many roots have a gang.
    pub gangs: usize,
    /// The sum of their scores.
    pub score: Score,
}

/// What placing a window takes, beside two cycles in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Candidates that the evaluator looked at to list the gangs of all roots.
    pub candidates: u64,
    /// The gangs that were listed.
    pub gangs: u64,
    /// The steps of the placement.
    pub steps: u64,
}

/// The roots that have waited for at least `wait_max` seconds, which are all roots if that is 0. Of a root that waits since 0 it is not
/// known for how long.
pub fn overdue(snapshot: &Snapshot, now: i64, wait_max: i64) -> BTreeSet<AdId> {
    let is_overdue = |since: i64| wait_max <= 0 || since > 0 && now.saturating_sub(since) >= wait_max;
    snapshot.roots.iter().filter(|root| is_overdue(root.since)).map(|root| root.ad).collect()
}

/// Finds gangs for the roots of a window together: as many as it can, band by band, and then those with the largest sum of scores. In no
/// band are there fewer than in turn. All other roots are served in turn, on what the window has left.
///
/// The same snapshot, configuration and time give the same result with every finder, as long as no search runs out of steps. `now` is in
/// seconds since 1970.
pub fn negotiate_together<F: Finder>(
    snapshot: &Snapshot,
    config: &Config,
    now: i64,
    finder: &mut F,
    collective: &Collective,
) -> Together {
    // 1. In turn: what is to be improved on.
    let before = negotiate(snapshot, &Config { explains: false, ..config.clone() }, now, finder);
    let in_turn: BTreeMap<AdId, &Gang> = before.gangs.iter().filter_map(|gang| Some((gang.root()?, gang))).collect();
    // 2. The window: the first roots in that order.
    let order = turns(snapshot, &in_turn);
    let window = order.get(..collective.window).unwrap_or(&order);
    // 3. The gangs that each root may have, and what they take.
    let mut round = Round::of(snapshot, config, now, Queue::of(snapshot).names());
    let (mut columns, mut effort) = (Columns::new(snapshot, collective), Spent::default());
    let mut run = finder.begin(&mut round);
    for turn in window {
        let among = finder.candidates(&mut run, turn, &mut round);
        let (exclusions, cap) = (&turn.root.exclusions, collective.gangs_max);
        let listed = list(snapshot, turn.ad, &Listing { exclusions, among: among.as_deref(), cap }, config, now);
        effort.candidates = effort.candidates.saturating_add(listed.steps);
        effort.gangs = effort.gangs.saturating_add(u64::try_from(listed.gangs.len()).unwrap_or(u64::MAX));
        columns.add(turn, listed, in_turn.get(&turn.ad).copied());
    }
    finder.end(&mut run, &mut round);
    // 4. Place them together.
    let (numbers, gangs) = columns.finish();
    let placed = placing::place(&numbers, Effort { steps: collective.steps, seed: config.seed });
    effort.steps = placed.steps;
    // 5. Take the gangs. If there is no room for all of them, it is known to be there for those in turn.
    let chosen = placed.choices.iter().zip(gangs).filter_map(|(choice, gangs)| gangs.into_iter().nth((*choice)?));
    let mut taken = fitting(snapshot, chosen.collect()).unwrap_or_else(|| {
        window.iter().filter_map(|turn| in_turn.get(&turn.ad).map(|gang| Gang::clone(gang))).collect()
    });
    // 6. Serve the others in turn, and explain the rest.
    let mut cycle = negotiate(&snapshot.after(&taken), config, now, finder);
    taken.append(&mut cycle.gangs);
    let places: BTreeMap<AdId, usize> = order.iter().enumerate().map(|(place, turn)| (turn.ad, place)).collect();
    taken.sort_by_key(|gang| gang.root().and_then(|root| places.get(&root)));
    cycle.gangs = taken;
    let together: BTreeMap<AdId, &Gang> = cycle.gangs.iter().filter_map(|gang| Some((gang.root()?, gang))).collect();
    let reached = Reached::of(window, &together);
    Together {
        placed: reached,
        in_turn: Reached::of(window, &in_turn),
        bound: usize::try_from(placed.bound).unwrap_or(usize::MAX).max(reached.gangs),
        proven: placed.proven,
        effort,
        passed_over: in_turn
            .iter()
            .filter(|(root, _)| !together.contains_key(root))
            .map(|(_, gang)| Gang::clone(gang))
            .collect(),
        cycle,
    }
}

impl Reached {
    /// What these gangs come to in a window.
    fn of(window: &[Turn<'_>], gangs: &BTreeMap<AdId, &Gang>) -> Reached {
        let of_window = || window.iter().filter_map(|turn| gangs.get(&turn.ad));
        let score = of_window().fold(Score::default(), |sum, gang| sum.plus(&gang.score));
        Reached { gangs: of_window().count(), score }
    }
}

/// These gangs, if there is room for all of them at once.
fn fitting(snapshot: &Snapshot, gangs: Vec<Gang>) -> Option<Vec<Gang>> {
    let mut pool = snapshot.as_it_began();
    for gang in &gangs {
        if !pool.has_room(gang) {
            return None;
        }
        gang.members.iter().for_each(|member| pool.take(member.ad, &member.ask));
    }
    Some(gangs)
}

/// The roots in the order of their turns, in a cycle that finds these gangs.
fn turns<'s>(snapshot: &'s Snapshot, gangs: &BTreeMap<AdId, &Gang>) -> Vec<Turn<'s>> {
    let mut queue = Queue::of(snapshot);
    let mut order = Vec::new();
    while let Some(turn) = queue.next() {
        if gangs.contains_key(&turn.ad) {
            queue.charge();
        }
        order.push(turn);
    }
    order
}

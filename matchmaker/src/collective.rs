//! Collective placing: the roots of a window get their gangs together, and not one after the other.

use std::collections::{BTreeMap, BTreeSet};

use placing::Effort;

use crate::cycle::negotiate;
use crate::finder::{Cycle, Finder, Turn};
use crate::gang::Gang;
use crate::model::{AdId, Config, Snapshot};
use crate::queue::Queue;

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
    /// How many roots of the window have a gang.
    pub placed: usize,
    /// How many have one in turn.
    pub in_turn: usize,
    /// How many roots of the window can have a gang at most.
    pub bound: usize,
    /// Whether no placement has more gangs, band by band.
    pub proven: bool,
    /// The steps that were used.
    pub steps: u64,
    /// Roots that have a gang in turn, and none here.
    pub passed_over: Vec<AdId>,
}

/// The roots that have waited for at least `wait_max` seconds.
pub fn overdue(snapshot: &Snapshot, now: i64, wait_max: i64) -> BTreeSet<AdId> {
    let is_overdue = |since: i64| now.saturating_sub(since) >= wait_max;
    snapshot.roots.iter().filter(|root| is_overdue(root.since)).map(|root| root.ad).collect()
}

/// Finds gangs for the roots of a window together: as many as it can, band by band, and then those with the largest sum of scores. In no
/// band are there fewer than in turn. All other roots are served in turn, on what the window has left.
///
/// The same snapshot, configuration and time give the same result with every finder. `now` is in seconds since 1970.
pub fn negotiate_together<F: Finder>(
    snapshot: &Snapshot,
    config: &Config,
    now: i64,
    finder: &mut F,
    collective: &Collective,
) -> Together {
    // 1. In turn: what is to be improved on.
    let unexplained = Config { explains: false, ..config.clone() };
    let in_turn = negotiate(snapshot, &unexplained, now, finder);
    let by_root: BTreeMap<AdId, &Gang> = in_turn.gangs.iter().filter_map(|gang| Some((gang.root()?, gang))).collect();
    // 2. The window: the first roots in that order.
    let order = turns(snapshot, &by_root);
    let window: Vec<Turn<'_>> = order.iter().take(collective.window).copied().collect();
    // 3. The gangs that each root may have, and what they take.
    let mut columns = Columns::new(snapshot, collective);
    for turn in &window {
        columns.add(turn, by_root.get(&turn.ad).copied(), config, now);
    }
    // 4. Place them together.
    let (numbers, gangs) = columns.finish();
    let placed = placing::place(&numbers, Effort { steps: collective.steps, seed: config.seed });
    // 5. Take the gangs; a gang for which there is no room is none.
    let mut pool = snapshot.as_it_began();
    let mut taken: Vec<Gang> = Vec::new();
    for (choice, gangs) in placed.choices.iter().zip(gangs) {
        let gang = choice.and_then(|choice| gangs.into_iter().nth(choice));
        if let Some(gang) = gang.filter(|gang| pool.has_room(gang)) {
            gang.members.iter().for_each(|member| pool.take(member.ad, &member.ask));
            taken.push(gang);
        }
    }
    // 6. Serve the others in turn, and explain the rest.
    let mut cycle = negotiate(&snapshot.after(&taken), config, now, finder);
    taken.append(&mut cycle.gangs);
    let places: BTreeMap<AdId, usize> = order.iter().enumerate().map(|(place, turn)| (turn.ad, place)).collect();
    taken.sort_by_key(|gang| gang.root().and_then(|root| places.get(&root)));
    cycle.gangs = taken;
    let have: BTreeSet<AdId> = cycle.gangs.iter().filter_map(Gang::root).collect();
    let count = |has: &dyn Fn(&AdId) -> bool| window.iter().filter(|turn| has(&turn.ad)).count();
    let reached = count(&|root| have.contains(root));
    Together {
        placed: reached,
        in_turn: count(&|root| by_root.contains_key(root)),
        bound: usize::try_from(placed.bound).unwrap_or(usize::MAX).max(reached),
        proven: placed.proven,
        steps: placed.steps,
        passed_over: by_root.keys().filter(|root| !have.contains(root)).copied().collect(),
        cycle,
    }
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

//! Collective placing: the roots of a window get their gangs together, and not one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placing::Effort;
use policy::{Amount, CHARGE, LEAST_CHARGE};

use crate::account_queue::NumberedCharge;
use crate::charges::{Accounts, MemberCharges, Prices, Seats, charge_by_weights};
use crate::cycle::{Ahead, Begun};
use crate::finder::{Cycle, Finder, Round, Turn};
use crate::gang::Gang;
use crate::line::Line;
use crate::model::{AdId, Config, Snapshot};
use crate::score::Score;
use crate::verify::verify;

mod alike;
mod bill;
mod columns;
mod listing;
mod presolve;
mod quotas;
mod result;

use listing::{Listings, WindowRoots};

/// The settings of collective placing.
#[derive(Clone, Debug)]
pub struct Collective {
    /// The most roots that are placed together: the first ones in the order of their turns. The others follow in turn.
    pub window: usize,
    /// Of a window of at most so many roots, the gangs of all are listed. Of a larger one only those of the roots that may gain, if the finder tells
    /// which these are and they are few: all others keep their gangs in turn.
    pub whole: usize,
    /// What one window may cost, in steps of 64 gangs that are looked at.
    pub steps: u64,
    /// The most gangs of one root that are compared.
    pub gangs_max: usize,
    /// The most members of all gangs that are listed, of all roots together; each submitter has an equal share. Of a root whose submitter has
    /// none left, a few gangs are listed.
    pub members_max: usize,
    /// The most candidates that are tried to list the gangs of all roots; each submitter has an equal share. A root whose gangs are not all
    /// listed keeps its gang in turn among those that it may have.
    pub candidates_max: u64,
    /// What a gang counts.
    pub weight: Weight,
    /// Roots that have waited for too long: if they have a gang in turn, they have one here. See [`overdue`].
    pub pinned: BTreeSet<AdId>,
    /// Whether each submitter, or each account if there are accounts, has at least as much as in turn. It is compared for each priority p: what
    /// its roots with a priority of at least p have. Always so in the product; the benchmarks of
    /// the contract set it to false, in `testing/conformance/src/optimum.rs`.
    pub fair: bool,
}

/// What a gang counts in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Each counts 1.
    #[default]
    One,
    /// What the best gang of its root would be charged if nothing that is free now were taken. Without accounts, one unit of each resource has
    /// this charge, in micros.
    Charge(BTreeMap<String, Amount>),
}

impl Default for Collective {
    fn default() -> Collective {
        Collective {
            window: 1000,
            whole: 256,
            steps: 200_000,
            gangs_max: 1000,
            members_max: 600_000,
            candidates_max: u64::MAX,
            weight: Weight::One,
            pinned: BTreeSet::new(),
            fair: true,
        }
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
    /// What the gangs of the window count, if that is what they are charged.
    pub charged: Option<Charged>,
    /// Whether no placement counts more, band by band.
    pub proven: bool,
    /// How many roots of the window are pinned.
    pub pinned: usize,
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

/// What the gangs of a window are charged, in micros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    /// Together.
    pub placed: u128,
    /// In turn.
    pub in_turn: u128,
    /// At most.
    pub bound: u128,
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
/// With accounts, these take the place of submitters: no account gets less than in turn, gangs that are guaranteed in turn are there here, and
/// all quotas are kept.
///
/// The same snapshot, configuration and time give the same result with every finder, as long as no search runs out of steps and the window is
/// no larger than [`Collective::whole`]. `now` is in seconds since 1970.
pub fn negotiate_together<F: Finder>(
    snapshot: &Snapshot,
    config: &Config,
    now: i64,
    finder: &mut F,
    collective: &Collective,
) -> Together {
    // 1. In turn: what is to be improved on.
    let limits = Config { cycle_steps_max: collective.candidates_max, ..config.clone() };
    let mut begun = Begun::of(snapshot, (config, now, Ahead::Restarts), finder);
    begun.search(collective.window, finder);
    let before = begun.so_far().clone();
    let in_turn = result::by_root(&before.gangs);
    let mut prices = Prices::of(config, now);
    before.charged().for_each(|(gang, charges)| prices.learn(gang, charges));
    // 2. The window: the first roots in that order. Those whose submitters have no steps left come later.
    let Turns { order: window, guaranteed } = match snapshot.accounts {
        None => Turns { order: begun.searched.clone(), guaranteed: BTreeSet::new() },
        Some(_) => turns(snapshot, collective.window, &in_turn, &prices, (config, now)),
    };
    let roots = WindowRoots { window: &window, in_turn: &in_turn, guaranteed: &guaranteed, collective };
    // 3. Which roots may have other gangs than in turn. If there is none, the cycle goes on in turn.
    let presolved = if config.stop.is_set() { None } else { roots.presolve(finder, &mut begun, &limits) };
    let (open, kept) = roots.split(presolved.as_ref());
    if config.stop.is_set() || open.is_empty() && !begun.has_postponed {
        begun.search(usize::MAX, finder);
        return roots.result(presolved.map_or(window.len(), |presolved| presolved.bound), begun.finish(finder));
    }
    // 4. The gangs of these roots, and what they take. Place them together.
    begun.restart(&limits, kept.clone(), finder);
    let settings = roots.settings(&open);
    let listed = WindowRoots { window: &open, collective: &settings, ..roots };
    let Listings { numbers, gangs, mut effort } = listed.list(finder, &mut begun, &mut prices);
    let placed = placing::place(&numbers, Effort { steps: settings.steps, seed: config.seed });
    effort.steps = placed.steps;
    // 5. Take the gangs. If there is no room for all of them, or no quota, it is known to be there for those in turn.
    let chosen = kept.into_iter().chain(gangs.chosen(&placed)).collect();
    let is_kept = |gangs: &Vec<Gang>| quotas::are_kept(snapshot, &gangs.iter().collect::<Vec<_>>(), &mut prices);
    let mut taken = fitting(snapshot, chosen).filter(is_kept).unwrap_or_else(|| {
        window.iter().filter_map(|turn| in_turn.get(&turn.ad).map(|gang| Gang::clone(gang))).collect()
    });
    let checks = (snapshot, config, now);
    let disagreements = if config.verify_gangs { refused(&mut taken, &in_turn, checks) } else { Vec::new() };
    let known = result::by_root(&taken);
    let is_in_turn = |root: &&AdId| known.get(root).is_some_and(|gang| in_turn.get(root) == Some(gang));
    let cut_short: Vec<AdId> = before.cut_short.iter().filter(is_in_turn).copied().collect();
    // 6. Serve the others in turn, and explain the rest.
    let mut cycle = match quotas::charged(snapshot, &taken, &mut prices) {
        None => roots.serve_others(taken, config, begun, finder),
        Some(charged) => serve_accounts(taken, charged, config, begun, finder),
    };
    cycle.cut_short.extend(cut_short);
    cycle.costs.add_earlier(&before.costs);
    cycle.disagreements.extend(before.disagreements.iter().copied().chain(disagreements));
    // if only some roots were placed anew, nothing else is known of the window
    let is_whole = open.len() == window.len();
    let of_placement = usize::try_from(placed.roots_bound).ok().filter(|_| is_whole);
    let of_presolve = presolved.map(|presolved| presolved.bound);
    let bound = of_placement.into_iter().chain(of_presolve).min().unwrap_or(usize::MAX);
    let is_known = is_whole && placed.proven;
    let mut together = roots.result(bound, cycle);
    if collective.weight != Weight::One {
        let charged = together.charged.insert(roots.charged(&numbers, &together.cycle.gangs));
        charged.bound = placed.bound.max(charged.placed);
    }
    // where that was known before, all roots count the same
    Together { effort, proven: is_known || of_presolve.is_some() && together.proven, ..together }
}

/// Serves all roots that have no gang in turn, on what these gangs leave of the quotas of accounts.
fn serve_accounts<F: Finder>(
    taken: Vec<Gang>,
    (accounts, charges): (Accounts, Vec<(AdId, MemberCharges)>),
    config: &Config,
    begun: Begun<'_, F>,
    finder: &mut F,
) -> Cycle {
    let Begun { mut round, mut run, .. } = begun;
    finder.end(&mut run, &mut round);
    drop(run);
    let Round { snapshot, now, owners, .. } = round;
    let mut rest = snapshot.served(&taken);
    rest.accounts = Some(Arc::new(accounts));
    rest.owners_fuel.clone_from(owners.paid());
    rest.barred.extend(owners.into_barred());
    let mut last = Begun::of(&rest, (config, now, Ahead::Nothing), finder);
    last.take(taken, finder);
    last.search(usize::MAX, finder);
    let mut cycle = last.finish(finder);
    cycle.charges.extend(charges);
    cycle
}

/// Takes out the gangs that the evaluator does not confirm, which is a defect of the index: their roots. It has confirmed those in turn.
fn refused(
    gangs: &mut Vec<Gang>,
    in_turn: &BTreeMap<AdId, &Gang>,
    (snapshot, config, now): (&Snapshot, &Config, i64),
) -> Vec<AdId> {
    let mut refused = Vec::new();
    gangs.retain(|gang| {
        let is_known = gang.root().is_some_and(|root| in_turn.get(&root).is_some_and(|known| *known == gang));
        let holds = is_known || verify(snapshot, gang, config, now).is_ok();
        refused.extend(gang.root().filter(|_| !holds));
        holds
    });
    refused
}

/// What the best gang of a root counts.
pub(crate) fn weight(weight: &Weight, (snapshot, gang): (&Snapshot, &Gang), prices: &mut Prices) -> u64 {
    let Weight::Charge(weights) = weight else { return 1 };
    let account = gang.root().and_then(|root| snapshot.accounts.as_ref()?.account_of.get(root));
    let micros = match snapshot.accounts.as_deref().zip(account) {
        Some((accounts, account)) => {
            let charge = accounts.charge_of((snapshot, gang), account, &mut Seats::default(), prices);
            charge.takes.get(CHARGE).copied().unwrap_or(LEAST_CHARGE)
        }
        None => {
            let offers = gang.members.iter().skip(1);
            let charges = offers.map(|member| charge_by_weights(weights, member.ask.allocation.iter()));
            charges.sum::<Amount>().max(LEAST_CHARGE)
        }
    };
    u64::try_from(micros).unwrap_or(u64::MAX)
}

/// These gangs, if there is room for all of them at once.
fn fitting(snapshot: &Snapshot, gangs: Vec<Gang>) -> Option<Vec<Gang>> {
    let mut pool = snapshot.as_it_began();
    for gang in &gangs {
        if !pool.has_room(gang) {
            return None;
        }
        gang.asks().for_each(|(ad, ask)| pool.take(ad, ask));
    }
    Some(gangs)
}

/// The first turns of a cycle.
struct Turns<'s> {
    order: Vec<Turn<'s>>,
    /// The roots with gangs that are guaranteed to their accounts.
    guaranteed: BTreeSet<AdId>,
}

/// The first roots in the order of their turns, in a cycle that finds these gangs.
fn turns<'s>(
    snapshot: &'s Snapshot,
    count: usize,
    gangs: &BTreeMap<AdId, &Gang>,
    prices: &Prices,
    (config, now): (&Config, i64),
) -> Turns<'s> {
    let mut line = Line::of(snapshot);
    line.set_prices(prices);
    let mut turns = Turns { order: Vec::new(), guaranteed: BTreeSet::new() };
    let mut charge = NumberedCharge::default();
    while turns.order.len() < count {
        let Some(turn) = line.next() else { break };
        charge.forget();
        let is_guaranteed = line.is_guarantee_pass();
        match gangs.get(&turn.ad) {
            None => line.not_found(),
            // It comes again.
            Some(gang) if !line.serve(&turn, gang, &mut charge, (config, now)) => continue,
            Some(_) if is_guaranteed => drop(turns.guaranteed.insert(turn.ad)),
            Some(_) => {}
        }
        turns.order.push(turn);
    }
    turns
}

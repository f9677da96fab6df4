//! Finds the best gang of one root in the current state of a cycle.

use matchmaker::{AdId, Edge, Found, Gang, Member, Members, Round, Score, Snapshot, Turn, plain};

use super::Indexed;
use super::fruitless::Less;
use super::run::{Class, OfKey, Run};
use crate::search::branch_and_bound::{self, Budget, Choices, Searched};
use crate::search::candidates::Candidates;
use crate::search::check::Checker;
use crate::search::star_join::StarJoin;
use crate::search::verified::RootKey;
use crate::table::{Bits, ROWS_OF_A_STEP, as_u64, as_usize};

/// There is none.
const NOTHING: Found = Found { gang: None, gave_up: false, short: false, disagreed: false };
/// The submitter has no steps left to find out.
const SHORT: Found = Found { gang: None, gave_up: true, short: true, disagreed: false };

/// The rows that a star looks at are not charged to its submitter. So of a star, a search that found nothing is remembered from a sixteenth as
/// many rows on as others from steps.
const STAR_SOONER: u64 = 16;

/// How many choices are listed in about the time of a step.
const CHOICES_OF_A_STEP: usize = 256;
/// How many choices may be listed at a time, for all classes, but that one class may always have its own: some 100 bytes each.
const CHOICES_MAX: usize = 250_000;

/// How many choices a class has at most.
fn choices_of(class: &Class, candidate_sets: &[Candidates]) -> usize {
    class.ports.iter().filter_map(|port| candidate_sets.get(*port)).map(|candidates| candidates.may.count()).sum()
}

/// Forgets the choices of all classes if those of one more would be too many. How many are held then, with those of that class.
fn make_room(classes: &mut [Class], candidate_sets: &[Candidates], next: usize, held: usize) -> usize {
    let Some(class) = classes.get(next).filter(|class| class.choices.is_none()) else { return held };
    let more = choices_of(class, candidate_sets);
    let all = held.saturating_add(more);
    if all <= CHOICES_MAX {
        return all;
    }
    classes.iter_mut().for_each(|class| class.choices = None);
    more
}

impl Indexed {
    /// The best gang of a root as things are now.
    pub(super) fn serve(&mut self, run: &mut Run<'_>, turn: &Turn<'_>, round: &mut Round<'_>) -> Found {
        if let Some(key) = run.aside(turn.number) {
            let prepared = round.last && self.prepare_late(key, run, round);
            if !prepared {
                return SHORT;
            }
        }
        let Some((_, of_key)) = run.key(turn.number) else { return NOTHING };
        let number = as_usize(of_key.class);
        let Some(class) = run.classes.get_mut(number) else { return NOTHING };
        if class.exhausted {
            return Found { gave_up: class.budget_exceeded, ..NOTHING };
        }
        self.stats.questions += 1;
        // A root that ran out of steps among shared candidates has removed some of them.
        let is_whole = |port: &usize| run.joined_ports.get(*port).is_some_and(Option::is_some);
        class.star = class.star && class.ports.iter().skip(1).all(is_whole);
        let is_star = class.star;
        let meets_itself = self.meets_itself(run, number, turn);
        if is_star && !turn.excludes && !meets_itself {
            // Among thousands of jobs that wait, a look at what has gained is much cheaper than one at every row.
            if !self.fruitless.is_empty() && self.is_fruitless(run, number, turn, 0, round) {
                run.classes.get_mut(number).into_iter().for_each(|class| class.exhausted = true);
                return NOTHING;
            }
            return self.star(run, turn, round);
        }
        self.by_choices(run, (number, meets_itself), turn, round)
    }

    /// The best gang of a root of which the index does not know everything, and what that says of its class.
    fn by_choices(
        &mut self,
        run: &mut Run<'_>,
        (number, meets_itself): (usize, bool),
        turn: &Turn<'_>,
        round: &mut Round<'_>,
    ) -> Found {
        run.choices_held = make_room(&mut run.classes, &run.candidate_sets, number, run.choices_held);
        let found = self.guided(run, number, turn, round);
        let Some(class) = run.classes.get_mut(number) else { return found };
        if found.gang.is_none() && !found.short && !turn.excludes && !class.reflective && !meets_itself {
            (class.exhausted, class.budget_exceeded, class.choices) = (true, found.gave_up, None);
        }
        found
    }

    /// Whether a root is a candidate for its own ports.
    pub(super) fn meets_itself(&self, run: &Run<'_>, class: usize, turn: &Turn<'_>) -> bool {
        let offers = run.roots.offers.get(turn.number);
        let itself = offers.then(|| self.tables.table.first_row(turn.ad.place())).flatten();
        itself.filter(|row| run.admitted.get(as_usize(*row))).is_some_and(|row| {
            let may = |port: &usize| {
                run.candidate_sets.get(*port).is_some_and(|candidates| candidates.may.get(as_usize(row)))
            };
            run.classes.get(class).is_some_and(|class| class.ports.iter().any(may))
        })
    }

    /// The best gang of a root that is no candidate for its own ports, and of which the index knows everything; if it does not, the evaluator is
    /// asked.
    fn star(&mut self, run: &mut Run<'_>, turn: &Turn<'_>, round: &mut Round<'_>) -> Found {
        let Some((key, of_key)) = run.key(turn.number) else { return NOTHING };
        let number = as_usize(of_key.class);
        let Run { classes, candidate_sets, joined_ports, checker, bound, .. } = run;
        let Some(class) = classes.get_mut(number) else { return NOTHING };
        self.tables.table.words.meter.begin(round.shares.for_one(turn.submitter));
        let mut known = self.tables.known();
        let mut star = StarJoin { candidate_sets, joined_ports, ports: &class.ports };
        let before = class.progress.steps;
        let score = star.best(&mut class.progress, &mut known);
        let doubt = known.doubt;
        self.stats.steps += class.progress.steps - before;
        let (steps, dry) = self.tables.table.words.meter.end();
        round.shares.pay(turn.submitter, steps);
        if doubt || dry {
            // From here on the evaluator has the last word on every edge of this class.
            class.star = false;
            if dry {
                // Spokes have passed over what may be right.
                for port in &class.ports {
                    joined_ports.get_mut(*port).into_iter().for_each(|joined_port| *joined_port = None);
                }
                return SHORT;
            }
            return self.by_choices(run, (number, false), turn, round);
        }
        let Some(score) = score else {
            class.exhausted = true;
            if class.progress.steps - before >= round.config.fruitless_steps_min / STAR_SOONER {
                self.remember_fruitless(turn, round);
            }
            return NOTHING;
        };
        let rows = &class.progress.rows;
        let gang = self.gang(turn.ad, score, rows, &class.ports, candidate_sets);
        if !round.config.verify_gangs || self.holds(&gang, (key, of_key), rows, round.snapshot, checker) {
            bound.extend_from_slice(rows);
            return Found { gang: Some(gang), ..NOTHING };
        }
        let (config, now) = (round.config, round.now);
        let found = plain::best(round.pool(), turn.ad, &turn.root.exclusions, config, now);
        Found { disagreed: true, ..found }
    }

    /// The best gang of a root of which the index does not know everything.
    fn guided(&mut self, run: &mut Run<'_>, class: usize, turn: &Turn<'_>, round: &mut Round<'_>) -> Found {
        let config = round.config;
        let steps_max = config.steps_max.min(round.shares.for_one(turn.submitter));
        if steps_max == 0 {
            return SHORT;
        }
        if self.is_fruitless(run, class, turn, 1, round) {
            return NOTHING;
        }
        let Run { classes, candidate_sets, .. } = run;
        let Some(class) = classes.get_mut(class) else { return NOTHING };
        self.tables.table.words.meter.begin(steps_max);
        let listed = if class.choices.is_none() { choices_of(class, candidate_sets) } else { 0 };
        let has_sets = round.snapshot.ad(turn.ad).is_some_and(|ad| ad.ports.has_sets());
        let choices = class
            .choices
            .get_or_insert_with(|| Choices::of(&class.ports, has_sets, candidate_sets, &mut self.tables.known()));
        let (looked, _) = self.tables.table.words.meter.end();
        let looked = looked.saturating_add(as_u64(listed / CHOICES_OF_A_STEP));
        let pool = round.left.after(&round.cycle.gangs);
        let budget = Budget { steps_max, owners: &mut round.owners };
        let Searched { found, steps, nothing } = branch_and_bound::best(pool, turn, config, round.now, choices, budget);
        let cost = steps.saturating_add(looked);
        round.shares.pay(turn.submitter, cost);
        self.stats.steps += steps;
        if nothing && cost >= config.fruitless_steps_min {
            self.remember_fruitless(turn, round);
        }
        Found { short: found.gave_up && steps_max < config.steps_max, ..found }
    }

    /// Whether the evaluator agrees to a gang that the index found, or has agreed to all of it before.
    fn holds(
        &mut self,
        gang: &Gang,
        (key, OfKey { head, common, .. }): (u32, OfKey),
        rows: &[u32],
        pool: &Snapshot,
        checker: &mut Checker<'_>,
    ) -> bool {
        let Some(root) = gang.root().map(AdId::place) else { return false };
        let key = common.then_some(key);
        let root = RootKey { key, head, place: root, roots: &mut self.plans.roots, ads: pool.list() };
        let is_new = self.agreed.is_new(root, rows, &mut self.tables.table);
        if is_new == Some(false) {
            return true;
        }
        self.stats.looks += 1;
        let holds = is_new.is_some() && checker.agrees(gang, self.agreed.news()) || checker.holds(gang);
        if holds {
            self.agreed.remember(rows, &self.tables.table);
        }
        holds
    }

    /// The gang of a root with these rows at its ports: each takes what its port asks of it.
    pub(super) fn gang(
        &mut self,
        root: AdId,
        score: Score,
        rows: &[u32],
        ports: &[usize],
        candidate_sets: &[Candidates],
    ) -> Gang {
        // A gang is large, and is made in its place.
        let mut gang = Gang { members: Members::new(), score };
        gang.members.reserve(rows.len() + 1);
        gang.members.push(Member { ad: root, edge: None, ask: Default::default() });
        for (port, (row, candidates)) in rows.iter().zip(ports).enumerate() {
            let (Some(row), Some(candidates)) =
                (self.tables.table.rows.get(as_usize(*row)), candidate_sets.get(*candidates))
            else {
                continue;
            };
            let (place, via) = (row.place(), row.child_port());
            let ask = self
                .tables
                .availability
                .take_of(candidates.ask, place)
                .map(|take| take.ask.clone())
                .unwrap_or_default();
            gang.members.push(Member { ad: AdId::at(place), edge: Some(Edge::new(0, port, via)), ask });
        }
        gang
    }

    /// Whether the search of a root is known to find nothing. Its submitter pays `steps`, and for the rows that are compared.
    pub(super) fn is_fruitless(
        &mut self,
        run: &Run<'_>,
        class: usize,
        turn: &Turn<'_>,
        steps: u64,
        round: &mut Round<'_>,
    ) -> bool {
        if self.fruitless.is_empty() {
            return false;
        }
        if !self.fruitless.remembers(turn.ad) {
            round.shares.pay(turn.submitter, steps);
            self.stats.steps += steps;
            return false;
        }
        let (Some(root), Some(class)) = (round.snapshot.shared(turn.ad), run.classes.get(class)) else { return false };
        let own = class.ports.iter().filter_map(|port| run.candidate_sets.get(*port));
        // An offer with ports of its own may be bound to any other.
        let deep = own.clone().find(|candidates| candidates.is_deep(&self.tables.table));
        let reach: Vec<&Bits> = match deep {
            Some(candidates) => vec![run.making.admitted_to(candidates.plan.namespace)],
            None => own.map(|candidates| &*candidates.may).collect(),
        };
        let less = Less { exclusions: &turn.root.exclusions, owners: &round.owners, config: round.config };
        let pool = (round.snapshot, &self.tables.table);
        let (known, rows) = self.fruitless.knows(root, &less, &reach, pool);
        let steps = steps + as_u64(rows / ROWS_OF_A_STEP);
        round.shares.pay(turn.submitter, steps);
        self.stats.steps += steps;
        self.stats.fruitless += u64::from(known);
        known
    }

    /// Remembers that a whole search of a root found nothing.
    pub(super) fn remember_fruitless(&mut self, turn: &Turn<'_>, round: &Round<'_>) {
        let less = Less { exclusions: &turn.root.exclusions, owners: &round.owners, config: round.config };
        self.fruitless.remember(turn.ad, &less, round.snapshot, &self.tables.table);
    }
}

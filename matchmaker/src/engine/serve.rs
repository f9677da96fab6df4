//! One root into its best gang as things are now.

use super::class::{Class, OfKey};
use super::prepare::{Indexed, Making};
use super::{Engine, Ledger, Serve, as_u64};
use crate::cycle::{Cycle, Turn};
use crate::gang::{Bond, Gang, Member, Members};
use crate::model::{AdId, Snapshot};
use crate::naive;
use crate::ports::Rules;
use crate::score::Score;
use crate::search::agreed::Shown;
use crate::search::check::Checker;
use crate::search::domain::Domain;
use crate::search::guided::{self, Budget, Choices, Searched};
use crate::search::list::Star;
use crate::table::as_usize;

/// What came of serving a root.
pub(super) struct Served {
    pub(super) gang: Option<Gang>,
    /// The search was cut short.
    pub(super) gave_up: bool,
    /// It was, because its submitter had no more steps left.
    pub(super) short: bool,
}

impl From<naive::Found> for Served {
    fn from(found: naive::Found) -> Served {
        Served { gang: found.gang, gave_up: found.gave_up, short: false }
    }
}

const NOTHING: Served = Served { gang: None, gave_up: false, short: false };
const SHORT: Served = Served { gang: None, gave_up: true, short: true };

/// How many choices are listed in about the time of a step.
const CHOICES_OF_A_STEP: usize = 256;
/// How many choices may be listed at a time, for all classes, but that one class may always have its own: some 100 bytes each.
const CHOICES_MAX: usize = 250_000;

/// How many choices a class has at most.
fn choices_of(class: &Class, domains: &[Domain]) -> usize {
    class.ports.iter().filter_map(|port| domains.get(*port)).map(|domain| domain.may.count()).sum()
}

/// Forgets the choices of all classes if those of one more would be too many. How many are held then, with those of that class.
fn make_room(classes: &mut [Class], domains: &[Domain], next: usize, held: usize) -> usize {
    let Some(class) = classes.get(next).filter(|class| class.choices.is_none()) else { return held };
    let more = choices_of(class, domains);
    let all = held.saturating_add(more);
    if all <= CHOICES_MAX {
        return all;
    }
    classes.iter_mut().for_each(|class| class.choices = None);
    more
}

impl Engine {
    /// The best gang of a root as things are now.
    pub(super) fn best(
        &mut self,
        indexed: &mut Indexed,
        ledger: &mut Ledger,
        turn: Turn<'_>,
        serve: &mut Serve<'_>,
        cycle: &mut Cycle,
    ) -> Served {
        let Turn { number, ad, excludes, root, submitter } = turn;
        let (config, now) = (serve.config, serve.now);
        if let Some(key) = indexed.aside(number) {
            let prepared = serve.last && self.prepare_late(key, serve.snapshot, config, indexed, &mut serve.accounts);
            if !prepared {
                return SHORT;
            }
        }
        let Some((key, of_key)) = indexed.key(number) else { return NOTHING };
        let offers = indexed.offers.get(number);
        let Indexed { classes, domains, spokes, admitted, making, choices_held, .. } = indexed;
        let Some(class) = classes.get_mut(as_usize(of_key.class)) else { return NOTHING };
        if class.dead {
            return Served { gave_up: class.gave_up, ..NOTHING };
        }
        self.stats.questions += 1;
        let itself = offers.then(|| self.table.first_row(ad.place())).flatten();
        let meets_itself = itself.filter(|row| admitted.get(as_usize(*row))).is_some_and(|row| {
            let may = |port: &usize| domains.get(*port).is_some_and(|domain| domain.may.get(as_usize(row)));
            class.ports.iter().any(may)
        });
        // Who ran out of steps among candidates that others have, too, has taken them away.
        let is_whole = |port: &usize| spokes.get(*port).is_some_and(Option::is_some);
        class.star = class.star && class.ports.iter().skip(1).all(is_whole);
        if class.star && !excludes && !meets_itself {
            self.table.words.meter.begin(serve.accounts.for_one(submitter));
            let mut known = self.known();
            let counted = config.rules == Rules::Product;
            let mut star = Star { domains, spokes, ports: &class.ports, counted };
            let before = class.progress.steps;
            let score = star.best(&mut class.progress, &mut known);
            let doubt = known.doubt;
            self.stats.steps += class.progress.steps - before;
            let (steps, dry) = self.table.words.meter.end();
            serve.accounts.pay(submitter, steps);
            if !doubt && !dry {
                let Some(score) = score else {
                    class.dead = true;
                    return NOTHING;
                };
                let rows = &class.progress.rows;
                let gang = self.gang(ad, score, rows, &class.ports, domains);
                if !config.second_look || self.holds(&gang, (key, of_key), rows, ledger.ads(), &mut serve.checker) {
                    self.bound.extend_from_slice(rows);
                    return Served { gang: Some(gang), ..NOTHING };
                }
                cycle.disagreements.push(ad);
                return naive::best(ledger.after(&cycle.gangs), ad, &root.exclusions, config, now).into();
            }
            // From here on the evaluator has the last word on every edge of this class.
            class.star = false;
            if dry {
                // Spokes have passed over what may be right.
                for port in &class.ports {
                    spokes.get_mut(*port).into_iter().for_each(|spoke| *spoke = None);
                }
                return SHORT;
            }
        }
        let pool = ledger.after(&cycle.gangs);
        let number = as_usize(of_key.class);
        *choices_held = make_room(classes, domains, number, *choices_held);
        let Some(class) = classes.get_mut(number) else { return NOTHING };
        let Served { gang, gave_up, short } = self.guided(class, domains, making, pool, turn, serve);
        if gang.is_none() && !short && !excludes && !class.reflective && !meets_itself {
            (class.dead, class.gave_up, class.choices) = (true, gave_up, None);
        }
        Served { gang, gave_up, short }
    }

    /// The best gang of a root of which the index does not know everything.
    fn guided(
        &mut self,
        class: &mut Class,
        domains: &mut [Domain],
        making: &Making,
        pool: &Snapshot,
        turn: Turn<'_>,
        serve: &mut Serve<'_>,
    ) -> Served {
        let config = serve.config;
        let steps_max = config.steps_max.min(serve.accounts.for_one(turn.submitter));
        if steps_max == 0 {
            return SHORT;
        }
        if self.is_fruitless(class, domains, making, &turn, serve) {
            return NOTHING;
        }
        self.table.words.meter.begin(steps_max);
        let listed = if class.choices.is_none() { choices_of(class, domains) } else { 0 };
        let choices = class.choices.get_or_insert_with(|| Choices::of(&class.ports, domains, &mut self.known()));
        let (looked, _) = self.table.words.meter.end();
        let looked = looked.saturating_add(as_u64(listed / CHOICES_OF_A_STEP));
        let budget = Budget { steps_max, owners: &mut self.owners };
        let searched = guided::best(pool, turn.ad, &turn.root.exclusions, config, serve.now, choices, budget);
        let Searched { found, steps, nothing } = searched;
        let cost = steps.saturating_add(looked);
        serve.accounts.pay(turn.submitter, cost);
        self.stats.steps += steps;
        if nothing && cost >= config.fruitless_steps_min {
            self.remember_fruitless(&turn, serve);
        }
        let short = found.gave_up && steps_max < config.steps_max;
        Served { gang: found.gang, gave_up: found.gave_up, short }
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
        let root = Shown { key: common.then_some(key), head, place: root, roots: &mut self.roots, ads: &pool.ads };
        let is_new = self.agreed.is_new(root, rows, &mut self.table);
        if is_new == Some(false) {
            return true;
        }
        self.stats.looks += 1;
        let holds = is_new.is_some() && checker.agrees(gang, self.agreed.news()) || checker.holds(gang);
        if holds {
            self.agreed.remember(rows, &self.table);
        }
        holds
    }

    fn gang(&mut self, root: AdId, score: Score, rows: &[u32], ports: &[usize], domains: &[Domain]) -> Gang {
        let mut members = Members::with_capacity(rows.len() + 1);
        members.push(Member { ad: root, bond: None, ask: Default::default() });
        for (port, (row, domain)) in rows.iter().zip(ports).enumerate() {
            let (Some(row), Some(domain)) = (self.table.rows.get(as_usize(*row)), domains.get(*domain)) else {
                continue;
            };
            let (place, via) = (row.place(), row.via());
            let ask = self.stock.take_of(domain.ask, place).map(|take| take.ask.clone()).unwrap_or_default();
            members.push(Member { ad: AdId(place), bond: Some(Bond::new(0, port, via)), ask });
        }
        Gang { members, score }
    }
}

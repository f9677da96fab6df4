//! One root into its best gang as things are now.

use super::prepare::{Indexed, OfKey};
use super::{Engine, Ledger};
use crate::cycle::{Cycle, Turn};
use crate::gang::{Bond, Gang, Member, Members};
use crate::model::{AdId, Config, Snapshot};
use crate::naive;
use crate::ports::Rules;
use crate::score::Score;
use crate::search::agreed::Shown;
use crate::search::check::Checker;
use crate::search::domain::Domain;
use crate::search::guided::{self, Choices};
use crate::search::list::Star;
use crate::table::as_usize;

impl Engine {
    /// The best gang of a root as things are now.
    #[expect(clippy::too_many_arguments, reason = "what the cycle is made of")]
    pub(super) fn best(
        &mut self,
        indexed: &mut Indexed,
        ledger: &mut Ledger,
        turn: Turn<'_>,
        config: &Config,
        now: i64,
        cycle: &mut Cycle,
        checker: &mut Checker<'_>,
    ) -> naive::Found {
        let Turn { number, ad, excludes, root } = turn;
        let nothing = naive::Found { gang: None, gave_up: false };
        let Some((key, of_key)) = indexed.key(number) else { return nothing };
        let offers = indexed.offers.get(number);
        let Indexed { classes, domains, spokes, admitted, .. } = indexed;
        let Some(class) = classes.get_mut(as_usize(of_key.class)) else { return nothing };
        if class.dead {
            return naive::Found { gang: None, gave_up: class.gave_up };
        }
        self.stats.questions += 1;
        let itself = offers.then(|| self.table.first_row(ad.place())).flatten();
        let meets_itself = itself.filter(|row| admitted.get(as_usize(*row))).is_some_and(|row| {
            let may = |port: &usize| domains.get(*port).is_some_and(|domain| domain.may.get(as_usize(row)));
            class.ports.iter().any(may)
        });
        if class.star && !excludes && !meets_itself {
            let mut known = self.known();
            let counted = config.rules == Rules::Product;
            let mut star = Star { domains, spokes, ports: &class.ports, counted };
            let before = class.progress.steps;
            let score = star.best(&mut class.progress, &mut known);
            let doubt = known.doubt;
            self.stats.steps += class.progress.steps - before;
            if !doubt {
                let Some(score) = score else {
                    class.dead = true;
                    return nothing;
                };
                let rows = &class.progress.rows;
                let gang = self.gang(ad, score, rows, &class.ports, domains);
                if !config.second_look || self.holds(&gang, (key, of_key), rows, ledger.ads(), checker) {
                    self.bound.extend_from_slice(rows);
                    return naive::Found { gang: Some(gang), gave_up: false };
                }
                cycle.disagreements.push(ad);
                return naive::best(ledger.after(&cycle.gangs), ad, &root.exclusions, config, now);
            }
            // From here on the evaluator has the last word on every edge of this class.
            class.star = false;
        }
        let choices = class.choices.get_or_insert_with(|| Choices::of(&class.ports, domains, &mut self.known()));
        let spent = self.spent.entry(root.submitter.clone()).or_default();
        let steps_max = config.steps_max.min(config.submitter_steps_max.saturating_sub(*spent));
        if steps_max == 0 {
            return naive::Found { gang: None, gave_up: true };
        }
        let pool = ledger.after(&cycle.gangs);
        let (found, steps) = guided::best(pool, ad, &root.exclusions, config, now, choices, steps_max);
        *spent = spent.saturating_add(steps);
        self.stats.steps += steps;
        let whole = steps_max == config.steps_max || !found.gave_up;
        if found.gang.is_none() && whole && !excludes && !class.reflective && !meets_itself {
            class.dead = true;
            class.gave_up = found.gave_up;
        }
        found
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

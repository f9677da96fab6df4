//! Roots that are searched together, and in which way.

use std::collections::BTreeSet;

use matchmaker::{AdId, Config, Round, Turn};

use super::Indexed;
use super::run::{Class, Run};
use crate::index::plan::OfferSide;
use crate::search::candidates::Candidates;
use crate::search::join_partitions::JoinedPort;
use crate::search::star_join::Progress;
use crate::table::as_usize;

impl Indexed {
    /// The class of roots whose ports have these candidate sets.
    pub(super) fn class(&mut self, ports: Vec<usize>, is_whole: bool, config: &Config, run: &mut Run<'_>) -> Class {
        let room = ports.len() < config.members_max && config.depth_max >= 1 && !ports.is_empty();
        let star = room && !is_whole && self.is_star(&ports, run);
        let of = |port: &usize| run.candidate_sets.get(*port);
        let reflective = ports.iter().filter_map(of).any(|candidates| candidates.reflective);
        // An expression that reads `Members` may read the root's own name, two ports away.
        let deep = |candidates: &Candidates| {
            candidates.plan.theirs.iter().any(|theirs| {
                self.tables.table.offer_classes.list.get(theirs.offer_class).is_some_and(|offer_class| offer_class.deep)
            })
        };
        let readers = &run.making.readers;
        let told = readers.members && ports.iter().filter_map(of).any(deep);
        let exhausted = ports.iter().filter_map(of).any(|candidates| !candidates.may.any());
        if !star && !exhausted {
            self.stats.guided += 1;
        }
        let progress = Progress::default();
        Class {
            ports,
            star,
            reflective: reflective || told || readers.anything,
            exhausted,
            budget_exceeded: false,
            progress,
            choices: None,
        }
    }

    /// The ads that the index leaves for each port of a root; `None` if it does not know.
    pub(super) fn candidates_of(
        &mut self,
        run: &mut Run<'_>,
        turn: &Turn<'_>,
        round: &Round<'_>,
    ) -> Option<Vec<Vec<AdId>>> {
        if run.aside(turn.number).is_some() {
            return None;
        }
        let (_, of_key) = run.key(turn.number)?;
        let class = run.classes.get(as_usize(of_key.class))?;
        self.tables.table.words.meter.begin(round.config.steps_max);
        let mut known = self.tables.known();
        let mut ads_of = |port: &usize| {
            let candidates = run.candidate_sets.get(*port)?;
            let passing: Vec<u32> = candidates.may.iter().filter(|row| candidates.passes(*row, &mut known)).collect();
            let place = |row: &u32| known.table.rows.get(as_usize(*row)).map(|row| AdId::at(row.place()));
            let mut ads: Vec<AdId> = passing.iter().filter_map(place).collect();
            ads.sort_unstable();
            ads.dedup();
            Some(ads)
        };
        let ads = class.ports.iter().map(&mut ads_of).collect();
        self.tables.table.words.meter.end();
        ads
    }

    /// Whether every port of a class stands alone or hangs on port 0, and nothing is left to the evaluator. Makes the
    /// joined ports.
    fn is_star(&mut self, ports: &[usize], run: &mut Run<'_>) -> bool {
        let Some((first, rest)) = ports.split_first() else { return false };
        let mut columns = BTreeSet::new();
        for (number, port) in ports.iter().enumerate() {
            let Some(candidates) = run.candidate_sets.get(*port) else { return false };
            let allowed = 1u64 | 1u64 << (number & 63);
            let theirs = candidates.plan.theirs.iter().flat_map(|theirs| &theirs.demand.joins);
            for join in candidates.plan.own.joins.iter().chain(theirs) {
                if number == 0 || join.vars() & !allowed != 0 {
                    return false;
                }
                join.reads(&mut |var, column| {
                    if var == 0 {
                        columns.insert(column);
                    }
                });
            }
        }
        if let Some(hub) = run.candidate_sets.get_mut(*first) {
            for column in columns {
                hub.open_cells(column, &self.tables.table);
            }
        }
        if is_open(ports, run) {
            return false;
        }
        if !self.are_apart(ports, run) {
            // Conditions that are asked row by row may tell the ports' candidates apart.
            for port in ports {
                if let Some(candidates) = run.candidate_sets.get_mut(*port) {
                    candidates.decide(&mut self.tables.known());
                }
            }
            if is_open(ports, run) || !self.are_apart(ports, run) {
                return false;
            }
        }
        for port in rest {
            let (Some(candidates), Some(joined_port)) =
                (run.candidate_sets.get_mut(*port), run.joined_ports.get_mut(*port))
            else {
                return false;
            };
            if joined_port.is_none() {
                *joined_port = Some(JoinedPort::of(candidates, &mut run.hash_indexes, &mut self.tables.known()));
            }
        }
        true
    }

    /// Whether no ad can be bound to two of some ports.
    fn are_apart(&self, ports: &[usize], run: &Run<'_>) -> bool {
        let candidate_sets: Vec<&Candidates> = ports.iter().filter_map(|port| run.candidate_sets.get(*port)).collect();
        // A row has one offer class, and ads with several rows are left to the evaluator.
        candidate_sets.iter().enumerate().all(|(number, one)| {
            candidate_sets.iter().skip(number + 1).all(|other| {
                let among =
                    |theirs: &OfferSide| other.plan.theirs.iter().any(|own| own.offer_class == theirs.offer_class);
                !one.plan.theirs.iter().any(among) || !one.may.meets(&other.may)
            })
        })
    }
}

/// Whether something of some ports' candidate sets is left to the evaluator.
fn is_open(ports: &[usize], run: &Run<'_>) -> bool {
    ports.iter().any(|port| run.candidate_sets.get(*port).is_none_or(|candidates| candidates.open.any()))
}

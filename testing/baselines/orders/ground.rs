//! A pool into answers: which live ads can fill a port, given what is bound.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use matchmaker::{AdId, Ask, Config, PoolAd, Root, Snapshot};

use super::Unknown;
use super::joins::{JoinId, Joins, Links};
use crate::index::availability::Availability;
use crate::index::plan::{PlanCache, Planner, PortPlan};
use crate::index::preds::Preds;
use crate::index::ranks::Ranks;
use crate::search::candidates::{Candidates, Known};
use crate::table::{Bits, Table, as_u32, as_usize};

/// The index over one pool, and who of it is left.
pub(super) struct Ground {
    table: Table,
    preds: Preds,
    ranks: Ranks,
    availability: Availability,
    /// Rows whose seats may be shared.
    shared: Bits,
    /// By namespace: its number, and the rows that it may meet.
    admitted: HashMap<String, (u32, Bits), RandomState>,
    candidate_sets: Vec<PortCandidates>,
    made: PlanCache,
    ids: HashMap<PortPlan, usize, RandomState>,
    joins: Joins,
    /// Rows that nobody has taken and the root at hand may have.
    live: Bits,
    /// What was taken out of them for this root only.
    aside: Vec<u32>,
}

/// What may fill a port while nothing is bound.
struct PortCandidates {
    candidates: Candidates,
    rows: Bits,
    /// Those of them that only the evaluator knows.
    open: Bits,
    links: Links,
}

/// Conditions are answered for all rows at once.
const USES: usize = 1024;

impl Ground {
    pub(super) fn new(snapshot: &Snapshot, config: &Config) -> Ground {
        let mut table = Table::new(config.limits);
        table.sync(snapshot, &Snapshot::default());
        let mut availability = Availability::default();
        availability.count(snapshot, None);
        let shared = availability.shared(&table);
        let live = table.live.clone();
        Ground {
            table,
            preds: Preds::default(),
            ranks: Ranks::default(),
            availability,
            shared,
            admitted: HashMap::default(),
            candidate_sets: Vec::new(),
            made: PlanCache::default(),
            ids: HashMap::default(),
            joins: Joins::default(),
            live,
            aside: Vec::new(),
        }
    }

    /// The candidates of each port of an asking ad, by number; equal ones are made once.
    pub(super) fn ports(&mut self, root: &PoolAd) -> Vec<usize> {
        let resources = self.availability.resources();
        let next = crate::table::as_u32(self.admitted.len());
        let (table, name) = (&self.table, &root.key.namespace);
        let namespace =
            self.admitted.entry(name.clone()).or_insert_with(|| (next, self.availability.admitted(table, name)));
        let (number, admitted) = (namespace.0, namespace.1.clone());
        let offer_classes: Vec<usize> = self.table.offer_classes.used().map(|(id, _)| id).collect();
        let mut ports = Vec::new();
        for port in 0..root.ports.list.len() {
            let (table, preds, ranks, made) = (&mut self.table, &mut self.preds, &mut self.ranks, &mut self.made);
            let mut planner = Planner {
                table,
                preds,
                ranks,
                made,
                resources: &resources,
                offer_classes: &offer_classes,
                seen: None,
                roots: USES,
            };
            let plan = planner.port(&root.ports, port, number);
            let next = self.candidate_sets.len();
            let id = *self.ids.entry(plan.clone()).or_insert(next);
            if id == next {
                let candidates = self.candidates(plan, &admitted);
                self.candidate_sets.push(candidates);
            }
            ports.push(id);
        }
        ports
    }

    fn candidates(&mut self, plan: PortPlan, admitted: &Bits) -> PortCandidates {
        let links = self.joins.links(&plan);
        let (table, preds, ranks, availability) =
            (&mut self.table, &mut self.preds, &mut self.ranks, &mut self.availability);
        let mut known = Known { table, preds, ranks, availability, full: &Bits::default(), doubt: false };
        let candidates = Candidates::of(plan, admitted, &self.shared, &mut known);
        let (mut rows, mut open) = (Bits::clone(&candidates.may), candidates.open.clone());
        for row in candidates.may.iter() {
            let unknown = open.get(as_usize(row));
            let fits = unknown || known.has_room(row, &candidates);
            known.doubt = false;
            rows.set(as_usize(row), fits && candidates.passes(row, &mut known));
            open.set(as_usize(row), unknown || known.doubt);
        }
        PortCandidates { candidates, rows, open, links }
    }

    /// The live rows that can fill a port beside what is bound.
    pub(super) fn probe(&mut self, ports: &[usize], bound: &[Option<u32>], port: usize) -> Result<Bits, Unknown> {
        let mut there = 1u64 << (port & 63);
        for (number, row) in bound.iter().enumerate() {
            there |= u64::from(row.is_some()) << (number & 63);
        }
        let Some(own) = ports.get(port).and_then(|id| self.candidate_sets.get(*id)) else { return Ok(Bits::default()) };
        let mut rows = own.rows.clone();
        rows.and(&self.live);
        for row in bound.iter().flatten() {
            rows.set(as_usize(*row), false);
        }
        if let Some(row) = first_of_both(&rows, &own.open) {
            return Err(Unknown { row, port });
        }
        let mut asked = Probe { joins: &mut self.joins, table: &mut self.table, bound, port, there };
        for join in &own.links.own {
            asked.narrow(*join, &mut rows)?;
        }
        if own.links.theirs.iter().any(|(_, joins)| !joins.is_empty()) {
            let mut allowed = Bits::none(rows.len());
            for (offer_class, joins) in &own.links.theirs {
                let Some(known) = asked.table.offer_classes.list.get(*offer_class) else { continue };
                let mut part = known.rows.clone();
                part.and(&rows);
                for join in joins {
                    asked.narrow(*join, &mut part)?;
                }
                allowed.or(&part);
            }
            rows = allowed;
        }
        // What was asked by those who are bound already, and could not be answered then.
        for (id, row) in ports.iter().zip(bound) {
            let (Some(other), Some(row)) = (self.candidate_sets.get(*id), row) else { continue };
            let offer_class = asked.table.rows.get(as_usize(*row)).map_or(usize::MAX, |row| row.offer_class());
            for join in other.links.of(offer_class) {
                if asked.joins.reads(*join, port) {
                    asked.narrow(*join, &mut rows)?;
                }
            }
        }
        Ok(rows)
    }

    /// Leaves out, until [`Ground::part`], what a root must not be given: itself, and who refused it.
    pub(super) fn meet(&mut self, snapshot: &Snapshot, root: &Root) {
        let excluded = root.exclusions.iter().filter_map(|key| snapshot.find(key));
        for id in excluded.chain([root.ad]).collect::<Vec<_>>() {
            for row in self.rows_of(id) {
                if self.live.get(as_usize(row)) {
                    self.live.set(as_usize(row), false);
                    self.aside.push(row);
                }
            }
        }
    }

    /// Takes back what [`Ground::meet`] did.
    pub(super) fn part(&mut self) {
        for row in std::mem::take(&mut self.aside) {
            self.live.set(as_usize(row), true);
        }
    }

    /// Takes an ad whole.
    pub(super) fn use_up(&mut self, id: AdId) {
        for row in self.rows_of(id) {
            self.live.set(as_usize(row), false);
        }
    }

    /// The ad of a row, and the port that it is bound through.
    pub(super) fn who(&self, row: u32) -> (AdId, usize) {
        self.table
            .rows
            .get(as_usize(row))
            .map_or((AdId::at(usize::MAX), 0), |row| (AdId::at(row.place()), row.child_port()))
    }

    /// What a port takes of an ad.
    pub(super) fn ask(&mut self, candidates: usize, ad: AdId) -> Ask {
        let ask = self.candidate_sets.get(candidates).map_or(u32::MAX, |candidates| candidates.candidates.ask);
        self.availability.take_of(ask, ad.place()).map(|take| take.ask.clone()).unwrap_or_default()
    }

    fn rows_of(&self, id: AdId) -> Vec<u32> {
        self.table.rows_of(id.place()).map(as_u32).collect()
    }
}

/// A probe on its way to its answer.
struct Probe<'a> {
    joins: &'a mut Joins,
    table: &'a mut Table,
    bound: &'a [Option<u32>],
    port: usize,
    /// The ports whose partners are known, this one included, as bits.
    there: u64,
}

impl Probe<'_> {
    /// Takes out of `rows` what a join refuses, if all that it reads is known.
    fn narrow(&mut self, join: JoinId, rows: &mut Bits) -> Result<(), Unknown> {
        if !self.joins.within(join, self.there) {
            return Ok(());
        }
        let Some(answer) = self.joins.answer(join, self.port, self.bound, self.table) else { return Ok(()) };
        let unknown = answer.open.as_ref().and_then(|open| first_of_both(rows, open));
        rows.and(&answer.yes);
        unknown.map_or(Ok(()), |row| Err(Unknown { row, port: self.port }))
    }
}

fn first_of_both(one: &Bits, other: &Bits) -> Option<u32> {
    if !one.meets(other) {
        return None;
    }
    one.iter().find(|row| other.get(as_usize(*row)))
}

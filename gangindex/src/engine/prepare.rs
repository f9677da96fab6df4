//! Prepares a cycle for a snapshot: brings tables up to date and groups roots.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use classad::Expr;
use foldhash::fast::RandomState;
use matchmaker::{AdId, Ahead, Config, Root, Round, SIDE_SHARE, Snapshot};
use smallvec::SmallVec;

use super::run::{Admitted, Example, Making, OfKey, Planned, Run, UNREAD};
use super::{Indexed, PORT_BYTES, Stats, Tables};
use crate::index::asks::Resources;
use crate::index::classes::{Asker, KeyOf, Readers};
use crate::index::memo::JobView;
use crate::index::plan::{Planner, PortPlan};
use crate::index::ranks::Rank;
use crate::search::candidates::Candidates;
use crate::table::{Bits, Changes, Number, ROWS_OF_A_STEP, Table, as_u32, as_u64, as_usize, room_of_all};

impl Indexed {
    /// Makes the tables those of the snapshot, and puts roots together.
    pub(super) fn prepare<'s>(&mut self, round: &mut Round<'s>) -> Run<'s> {
        let (snapshot, config, now) = (round.snapshot, round.config, round.now);
        if self.is_time_to_forget(snapshot.len()) || self.limits != Some(config.limits) {
            // Which roots were explained is no answer.
            let explained = std::mem::take(&mut self.explained);
            let (limits, tables) = (Some(config.limits), Tables::new(config.limits));
            *self = Indexed { limits, tables, explained, ..Indexed::new() };
        }
        if self.answers_bytes() > config.answers_bytes_max {
            self.forget_answers();
        }
        let changes = self.bring_up_to_date(snapshot, config, now);
        if let Some(kept) = &changes.kept {
            self.plans.key_of_place = kept.carry(&self.plans.key_of_place, snapshot.len());
            self.plans.roots.moved(kept, snapshot.len());
        }
        self.tables.availability.count(snapshot, changes.kept.as_ref());
        self.tables.full = self.tables.availability.full_rows(&self.tables.table);
        self.stats = Stats::default();
        let mut run = Run::of(round);
        self.classify(round, &mut run);
        if round.ahead == Ahead::Restarts {
            run.keep(self.tables.table.rows.len());
        }
        self.stats.classes = as_u64(run.classes.len());
        self.stats.conditions = as_u64(self.tables.preds.len());
        run
    }

    /// Makes rows, conditions and ranks those of the snapshot.
    fn bring_up_to_date(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Changes {
        let Tables { table, preds, ranks, .. } = &mut self.tables;
        if table.context.now != now {
            table.context.now = now;
            preds.another_time();
            ranks.another_time();
        }
        let changes = table.sync(snapshot, &self.before);
        if !self.fruitless.is_empty() {
            self.fruitless.begin(snapshot, &self.before, &changes, table);
        }
        self.before = snapshot.without_roots();
        table.words.meter.stop = config.stop.clone();
        table.words.meter.begin(config.cycle_steps_max / SIDE_SHARE);
        preds.refresh(&changes.rows, table);
        if !changes.rows.is_empty() || changes.gone {
            ranks.refresh(&changes.rows, table);
        }
        if table.words.meter.end().1 {
            // The first search that needs them makes them, and is charged.
            preds.forget_answers();
            ranks.forget_values();
        }
        changes
    }

    /// Whether so much is kept of ads that are gone that everything is better made again. What ads that are there take is no
    /// reason: it would be made again in every cycle.
    fn is_time_to_forget(&mut self, ads: usize) -> bool {
        self.cycles = self.cycles.saturating_add(1);
        let bytes = self.tables.table.bytes() + self.plans.roots.bytes();
        // After the first cycle, what is kept is of ads that are there.
        if self.tables_bytes == 0 {
            self.tables_bytes = bytes;
        }
        let most = TABLES_MIN.max(TABLES_PER_AD * ads).max(2 * self.tables_bytes);
        // Columns that were made while there were few rows take more now.
        let columns = self.tables.table.column_bytes(ads).max(self.plans.roots.column_bytes(ads));
        let short = [&self.tables.table.account.room, &self.tables.ranks.room, &self.plans.roots.room]
            .iter()
            .any(|room| room.is_short);
        bytes > most || columns > room_of_all(ads) || short && self.cycles > CYCLES_SHORT
    }

    /// Puts roots together.
    fn classify(&mut self, round: &mut Round<'_>, run: &mut Run<'_>) {
        let resources = self.tables.availability.resources();
        let readers = readers(&self.tables.table, self.tables.availability.shared_by(), &resources);
        if self.plans.keys.read_by(&readers) {
            self.plans.key_of_place.clear();
            self.agreed.forget_keys();
            self.plans.list.clear();
        }
        if self.plans.resources != resources {
            self.tables.forget_answers();
            self.plans.forget();
            self.plans.resources = resources;
        }
        let examples = self.keys_of(round, run);
        run.making = self.making(round.snapshot, &examples, readers);
        run.admitted = Bits::none(self.tables.table.rows.len());
        run.making.admitted_to.iter().flatten().for_each(|admitted| run.admitted.or(&admitted.rows));
        self.drop_plans(&run.making);
        // Before a condition is looked at it is known how many ask for it.
        for (id, example) in &examples {
            if round.shares.left(example.submitter) > 0 && !round.config.stop.is_set() {
                self.plan(*id, *example, &run.making, round);
            }
        }
        for (id, example) in examples {
            if !self.settle(id, example, run, round) {
                run.making.aside.insert(id, example);
            }
        }
    }

    /// Forgets the plans of those that other offer classes admit now.
    fn drop_plans(&mut self, making: &Making) {
        for plan in &mut self.plans.list {
            let admitted = plan.as_ref().and_then(|plan| making.admitted(plan.namespace));
            if let (Some(planned), Some(admitted)) = (&*plan, admitted)
                && planned.offer_classes != admitted.offer_classes.id()
            {
                *plan = None;
            }
        }
    }

    /// What is kept of plans and conditions takes in memory, about.
    fn bytes_made(&self) -> usize {
        self.plans.made.bytes() + self.tables.preds.bytes_without_answers() + PORT_BYTES * self.plans.ports.len()
    }

    /// What candidate sets and classes are made of.
    fn making(&mut self, snapshot: &Snapshot, examples: &[(u32, Example)], readers: Readers) -> Making {
        let mut namespaces: BTreeMap<u32, &str> = BTreeMap::new();
        for ad in examples.iter().filter_map(|(_, example)| snapshot.ad(example.root)) {
            namespaces.insert(self.plans.roots.namespace(&ad.key.namespace), &ad.key.namespace);
        }
        let mut alike: HashMap<Vec<bool>, Arc<Admitted>, RandomState> = HashMap::default();
        let mut admitted_to = Vec::new();
        for (number, name) in namespaces {
            let admits = self.tables.availability.admits(name);
            let admitted = alike.entry(admits).or_insert_with_key(|admits| {
                let offer_classes = self
                    .plans
                    .made
                    .offer_classes(self.tables.availability.offer_classes_where(&self.tables.table, admits));
                let rows = self.tables.availability.admitted_where(&self.tables.table, admits);
                Arc::new(Admitted { rows, offer_classes })
            });
            admitted_to.resize(as_usize(number) + 1, None);
            admitted_to.last_mut().into_iter().for_each(|own| *own = Some(Arc::clone(admitted)));
        }
        let none = Bits::none(self.tables.table.rows.len());
        Making::of(readers, admitted_to, none, self.tables.availability.shared(&self.tables.table))
    }

    /// Prepares a key that was set aside, if its submitter has steps for that now.
    pub(super) fn prepare_late(&mut self, id: u32, run: &mut Run<'_>, round: &mut Round<'_>) -> bool {
        if id == UNREAD {
            return false;
        }
        let Some(example) = run.making.aside.get(&id).copied() else { return true };
        if round.shares.left(example.submitter) == 0 || round.config.stop.is_set() {
            return false;
        }
        self.plan(id, example, &run.making, round);
        let settled = self.settle(id, example, run, round);
        if settled {
            run.making.aside.remove(&id);
        }
        settled
    }

    /// Puts the roots with a key into a class. False if their submitter has not steps enough for that.
    fn settle(&mut self, id: u32, example: Example, run: &mut Run<'_>, round: &mut Round<'_>) -> bool {
        let left = round.shares.left(example.submitter);
        let planned = self.plans.list.get(as_usize(id)).cloned().flatten();
        let Some(planned) = planned.filter(|_| left > 0) else { return false };
        self.tables.table.words.meter.begin(left);
        let candidate_sets = run.candidate_sets.len();
        let ports = self.candidate_sets(&planned, run);
        let class = ports.map(|ports| self.class_of((id, example), ports, planned.is_whole, round.config, run));
        let (steps, dry) = self.tables.table.words.meter.end();
        if dry {
            self.tables.preds.forget_doubtful();
        }
        let rows_looked_at = (run.candidate_sets.len() - candidate_sets).saturating_mul(self.tables.table.rows.len());
        round.shares.pay(example.submitter, steps + as_u64(rows_looked_at / ROWS_OF_A_STEP));
        let Some(class) = class else { return false };
        if let Some(class) = run.classes.get_mut(class).filter(|_| dry) {
            // From here on the evaluator has the last word on every edge of this class.
            class.star = false;
        }
        let of_key = OfKey { class: as_u32(class), head: self.plans.keys.head_of(id), common: example.roots > 1 };
        if run.roots.of_key.len() <= as_usize(id) {
            run.roots.of_key.resize(as_usize(id) + 1, None);
        }
        run.roots.of_key.get_mut(as_usize(id)).into_iter().for_each(|own| *own = Some(of_key));
        true
    }

    /// The number of the class of roots with a key.
    fn class_of(
        &mut self,
        (id, example): (u32, Example),
        ports: Vec<usize>,
        is_whole: bool,
        config: &Config,
        run: &mut Run<'_>,
    ) -> usize {
        let next = run.classes.len();
        // Where the evaluator has a say, it may tell roots apart whose plans are equal.
        let open =
            ports.iter().any(|port| run.candidate_sets.get(*port).is_some_and(|candidates| candidates.open.any()));
        let alone = Some(id).filter(|_| open || is_whole || example.reads_all);
        let class = *run.making.class_ids.entry((ports.clone(), alone)).or_insert(next);
        if class == next {
            let mut class = self.class(ports, is_whole, config, run);
            class.reflective |= example.reads_all;
            run.classes.push(class);
        }
        class
    }

    /// The keys of all roots, and an example of each. Roots that are new are not read once their
    /// submitter has no steps left, or the cycle is to end.
    fn keys_of(&mut self, round: &mut Round<'_>, run: &mut Run<'_>) -> Vec<(u32, Example)> {
        let snapshot = round.snapshot;
        self.plans.key_of_place.resize(snapshot.len(), None);
        let mut examples: Vec<Option<Example>> = Vec::new();
        run.roots.key_of.reserve(snapshot.roots.len());
        run.roots.offers = Bits::none(snapshot.roots.len());
        // What was read of offers is charged to no root.
        self.stats.read += self.tables.table.exprs.charge();
        // Roots of one submitter mostly stand together.
        let mut last: Option<(&Arc<str>, usize)> = None;
        for (number, root) in snapshot.roots.iter().enumerate() {
            let known = last.filter(|(name, _)| Arc::ptr_eq(name, &root.submitter)).map(|(_, submitter)| submitter);
            let submitter = known.unwrap_or_else(|| round.shares.number(&root.submitter));
            last = Some((&root.submitter, submitter));
            if self.tables.table.first_row(root.ad.place()).is_some() {
                run.roots.offers.set(number, true);
            }
            let known = self.plans.key_of_place.get(root.ad.place()).copied().flatten();
            let key = match known {
                Some(key) => Some(key),
                None => self.read((number, root), submitter, run, round),
            };
            let Some(key) = key else {
                run.roots.key_of.push(None);
                continue;
            };
            if let Some(own) = self.plans.key_of_place.get_mut(root.ad.place()) {
                *own = Some(key);
            }
            let id = key.id();
            if examples.len() <= as_usize(id) {
                examples.resize(as_usize(id) + 1, None);
            }
            if let Some(example) = examples.get_mut(as_usize(id)) {
                let of = || Example { root: root.ad, roots: 0, reads_all: key.is_reflective(), submitter };
                example.get_or_insert_with(of).roots += 1;
            }
            run.roots.key_of.push(Some(Number::of(id)));
        }
        let found = |(id, example): (usize, Option<Example>)| Some((as_u32(id), example?));
        examples.into_iter().enumerate().filter_map(found).collect()
    }

    /// The key of a root that was not read before, on account of its submitter.
    fn read(
        &mut self,
        (number, root): (usize, &Root),
        submitter: usize,
        run: &mut Run<'_>,
        round: &mut Round<'_>,
    ) -> Option<KeyOf> {
        if round.shares.left(submitter) == 0 || round.config.stop.is_set() {
            run.roots.unread.insert(number);
            return None;
        }
        self.tables.table.account.submitter = Arc::clone(&root.submitter);
        let key = self.key_of_root(round.snapshot, root.ad);
        let steps = self.tables.table.exprs.charge();
        self.stats.read += steps;
        round.shares.pay(submitter, steps);
        key
    }

    /// The key of a root; none if its ports are not in order.
    fn key_of_root(&mut self, snapshot: &Snapshot, root: AdId) -> Option<KeyOf> {
        let row = match self.plans.roots.row_at(root.place()) {
            Some(row) => row,
            None => {
                let ad = snapshot.ad(root).filter(|ad| ad.ports.problem.is_none())?;
                self.plans.roots.row(root.place(), ad, snapshot.len(), &mut self.tables.table)
            }
        };
        let asker = Asker { place: root.place(), row, ads: snapshot.list() };
        self.plans.keys.of(&mut self.tables.table, &mut self.plans.roots, &asker)
    }

    /// The candidate sets of a key's ports; none if there is not fuel enough to make them.
    fn candidate_sets(&mut self, planned: &Planned, run: &mut Run<'_>) -> Option<Vec<usize>> {
        let mut ports = Vec::with_capacity(planned.ports.len());
        for plan in planned.ports.iter().map(|plan| as_usize(*plan)) {
            let next = run.candidate_sets.len();
            let known = run.making.candidates_of.get(&plan).copied();
            if known.is_none()
                && let Some(port) = self.plans.ports.get(plan).cloned()
            {
                self.work_out_ranks(&port);
                if self.tables.table.words.meter.is_dry() {
                    return None;
                }
                let making = &run.making;
                let admitted = making.admitted_to(port.namespace);
                let candidates = Candidates::of(port, admitted, &making.shared, &mut self.tables.known());
                // What is half known would be in the way of others that ask for the same.
                if self.tables.table.words.meter.is_dry() {
                    return None;
                }
                run.candidate_sets.push(candidates);
                run.joined_ports.push(None);
                run.making.candidates_of.insert(plan, next);
            }
            ports.push(known.unwrap_or(next));
        }
        Some(ports)
    }

    /// Computes the ranks that count at a port.
    fn work_out_ranks(&mut self, port: &PortPlan) {
        for rank in port.theirs.iter().map(|theirs| theirs.rank).chain([port.rank]) {
            if let Rank::By(id) = rank {
                self.tables.ranks.compute(id, &mut self.tables.table);
            }
        }
        if let Rank::By(id) = port.rank {
            self.tables.ranks.sort(id, &self.tables.table);
        }
    }

    /// Plans the ports of roots with a key, unless that was done before.
    fn plan(&mut self, id: u32, example: Example, making: &Making, round: &mut Round<'_>) {
        let snapshot = round.snapshot;
        if self.plans.list.len() <= as_usize(id) {
            self.plans.list.resize(as_usize(id) + 1, None);
        }
        if self.plans.list.get(as_usize(id)).is_some_and(Option::is_some) {
            return;
        }
        let Some(ad) = snapshot.ad(example.root) else { return };
        // Plans are kept: they are made to the end.
        self.tables.table.words.meter.begin(u64::MAX);
        let namespace = self.plans.roots.namespace(&ad.key.namespace);
        self.stats.planned += 1;
        let Some(offer_classes) = making.admitted(namespace).map(|admitted| &admitted.offer_classes) else { return };
        self.tables.table.account.submitter = round.shares.name(example.submitter);
        let bytes = self.bytes_made();
        let Tables { table, preds, ranks, .. } = &mut self.tables;
        let made = &mut self.plans.made;
        let row = self.plans.roots.row(example.root.place(), ad, snapshot.len(), table);
        let seen = Some(JobView { roots: &mut self.plans.roots, row, ads: snapshot.list() });
        let (resources, roots) = (&self.plans.resources, example.roots);
        let mut planner = Planner { table, preds, ranks, made, resources, offer_classes, seen, roots };
        let mut ports = SmallVec::with_capacity(ad.ports.list.len());
        for port in 0..ad.ports.list.len() {
            let plan = planner.port(&ad.ports, port, namespace);
            let next = self.plans.ports.len();
            let number = *self.plans.ids.entry(plan).or_insert_with_key(|plan| {
                self.plans.ports.push(plan.clone());
                next
            });
            ports.push(as_u32(number));
        }
        let (steps, _) = self.tables.table.words.meter.end();
        let templates_looked_at = as_u64(ports.len().saturating_mul(offer_classes.len()) / TEMPLATES_OF_A_STEP);
        let bytes_made = as_u64(self.bytes_made().saturating_sub(bytes) / BYTES_OF_A_STEP);
        round.shares.pay(example.submitter, steps + as_u64(ports.len()) + templates_looked_at + bytes_made);
        let is_whole = ad.ports.body.get("GangRank").is_some() || ad.ports.has_sets();
        let planned = Planned { ports, is_whole, namespace, offer_classes: offer_classes.id() };
        if let Some(own) = self.plans.list.get_mut(as_usize(id)) {
            *own = Some(planned);
        }
    }
}

/// How many offer classes are asked what they want in about the time of a step.
const TEMPLATES_OF_A_STEP: usize = 32;

/// How many bytes that are kept count as a step, so that a cycle cannot make very many.
pub(super) const BYTES_OF_A_STEP: usize = 512;

/// How many bytes strings, expressions and rows may take for each ad, beyond which everything is forgotten: what ads had
/// that are gone.
const TABLES_PER_AD: usize = 32 << 10;
/// So many they may always take.
const TABLES_MIN: usize = 64 << 20;
/// After so many cycles everything is dropped if a table lacks room, which ads that are gone may have taken.
const CYCLES_SHORT: u64 = 1000;

/// The names that any ad of the pool reads of a root: in constraints and ranks, as a resource, or to find the share key.
fn readers(table: &Table, shared_by: &[Expr], resources: &Resources) -> Readers {
    let mut readers = Readers::default();
    for (_, offer_class) in table.offer_classes.used() {
        readers.names.extend(offer_class.reads.iter().cloned());
        readers.members |= offer_class.members;
    }
    readers.names.extend(resources.iter().map(|(name, _)| name.clone()));
    for expr in shared_by {
        for path in classad::references(expr) {
            readers.members |= path.iter().any(|name| name == "members");
            readers.anything |= path.len() == 1;
            readers.names.extend(path.get(1).cloned());
        }
        readers.anything |= classad::is_reflective(expr);
    }
    readers
}

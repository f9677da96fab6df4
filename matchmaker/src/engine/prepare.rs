//! A snapshot into what a cycle searches in: tables brought up to date, roots put together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use classad::Expr;
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::class::{Class, OfKey};
use super::{Engine, PORT_BYTES, SIDE_SHARE, Stats, as_u64};
use crate::budget::{Accounts, Owners};
use crate::index::asks::Resources;
use crate::index::classes::{Asker, KeyOf, Readers};
use crate::index::memo::{Kept, Seen};
use crate::index::plan::{Planner, PortPlan};
use crate::index::ranks::Rank;
use crate::model::{AdId, Config, Prefer, Root, Snapshot};
use crate::ports::Rules;
use crate::search::domain::Domain;
use crate::search::finders::Finders;
use crate::search::lanes::Spoke;
use crate::table::{Bits, Number, Table, as_u32, as_usize, room_of_all};

/// One of the roots with a key.
#[derive(Clone, Copy)]
pub(super) struct Example {
    pub(super) root: AdId,
    /// How many there are.
    roots: usize,
    /// Their expressions can read more than the key tells.
    reads_all: bool,
    /// The number of its submitter.
    pub(super) submitter: usize,
}

impl Engine {
    /// Makes the tables those of the snapshot, and puts roots together.
    pub(super) fn prepare(
        &mut self,
        snapshot: &Snapshot,
        config: &Config,
        now: i64,
        accounts: &mut Accounts,
    ) -> Indexed {
        if self.is_time_to_forget(snapshot.len()) || self.settings.as_ref().is_none_or(|known| !alike(known, config)) {
            // Who is left out in this cycle is said already.
            let owners = std::mem::replace(&mut self.owners, Owners::new(0));
            let (settings, table) = (Some(config.clone()), Table::new(config.limits));
            *self = Engine { settings, table, owners, ..Engine::new() };
        }
        if self.answers_bytes() > config.answers_bytes_max {
            self.forget_answers();
        }
        if self.table.context.now != now {
            self.table.context.now = now;
            self.preds.another_time();
            self.ranks.another_time();
        }
        let changes = self.table.sync(snapshot, &self.before, config.rules);
        if !self.fruitless.is_empty() {
            self.fruitless.begin(snapshot, &self.before, &changes, &self.table);
        }
        self.before = snapshot.without_roots();
        self.table.words.meter.stop = config.stop.clone();
        self.table.words.meter.begin(config.cycle_steps_max / SIDE_SHARE);
        self.preds.refresh(&changes.rows, &mut self.table);
        if !changes.rows.is_empty() || changes.gone {
            self.ranks.refresh(&changes.rows, config.rank_of, &mut self.table);
        }
        if self.table.words.meter.end().1 {
            // Whoever needs them works them out, and pays.
            self.preds.forget_answers();
            self.ranks.forget_values();
        }
        if let Some(kept) = &changes.kept {
            self.key_of_place = kept.carry(&self.key_of_place, snapshot.len());
            self.roots.moved(kept, snapshot.len());
        }
        self.stock.count(snapshot, changes.kept.as_ref());
        self.full = self.stock.full_rows(&self.table);
        self.stats = Stats::default();
        let mut indexed = Indexed::default();
        self.classify(snapshot, config, &mut indexed, accounts);
        self.stats.classes = indexed.classes.len() as u64;
        self.stats.conditions = self.preds.len() as u64;
        indexed
    }

    /// Whether so much is kept of ads that are gone that everything is better made again. What ads that are there take is no
    /// reason: it would be made again in every cycle.
    fn is_time_to_forget(&mut self, ads: usize) -> bool {
        self.cycles = self.cycles.saturating_add(1);
        let bytes = self.table.bytes() + self.roots.bytes();
        // After the first cycle, what is kept is of ads that are there.
        if self.tables_bytes == 0 {
            self.tables_bytes = bytes;
        }
        let most = TABLES_MIN.max(TABLES_PER_AD * ads).max(2 * self.tables_bytes);
        // Columns that were made while there were few rows take more now.
        let columns = self.table.column_bytes(ads).max(self.roots.column_bytes(ads));
        let short = [&self.table.room, &self.ranks.room, &self.roots.room].iter().any(|room| room.is_short);
        bytes > most || columns > room_of_all(ads) || short && self.cycles > CYCLES_SHORT
    }

    /// Puts roots together.
    fn classify(&mut self, snapshot: &Snapshot, config: &Config, indexed: &mut Indexed, accounts: &mut Accounts) {
        let resources = self.stock.resources();
        let readers = readers(&self.table, self.stock.shared_by(), &resources);
        if self.keys.read_by(&readers) {
            self.key_of_place.clear();
            self.agreed.forget_keys();
            self.plans.clear();
        }
        if self.planned_for != resources {
            self.forget_plans();
            self.planned_for = resources;
        }
        let examples = self.keys_of(snapshot, config, indexed, accounts);
        indexed.making = self.making(snapshot, &examples, readers, config);
        indexed.admitted = Bits::none(self.table.rows.len());
        indexed.making.admitted_to.iter().flatten().for_each(|admitted| indexed.admitted.or(&admitted.rows));
        self.drop_plans(&indexed.making);
        self.look_ahead(snapshot, &examples, &indexed.making, config, accounts);
        // Before a condition is looked at it is known how many ask for it.
        for (id, example) in &examples {
            if accounts.left(example.submitter) > 0 && !config.stop.is_set() {
                self.plan(*id, *example, snapshot, &indexed.making, config, accounts);
            }
        }
        for (id, example) in examples {
            if !self.settle(id, example, config, indexed, accounts) {
                indexed.making.aside.insert(id, example);
            }
        }
    }

    /// Forgets the plans of those that other templates admit now.
    fn drop_plans(&mut self, making: &Making) {
        for plan in &mut self.plans {
            let admitted = plan.as_ref().and_then(|plan| making.admitted(plan.namespace));
            if let (Some(planned), Some(admitted)) = (&*plan, admitted)
                && planned.templates != admitted.templates.id()
            {
                *plan = None;
            }
        }
    }

    /// What is kept of plans and conditions takes in memory, about.
    fn bytes_made(&self) -> usize {
        self.made.bytes() + self.preds.bytes_without_answers() + PORT_BYTES * self.ports.len()
    }

    /// What domains and classes are made of.
    fn making(
        &mut self,
        snapshot: &Snapshot,
        examples: &[(u32, Example)],
        readers: Readers,
        config: &Config,
    ) -> Making {
        let mut namespaces: BTreeMap<u32, &str> = BTreeMap::new();
        for ad in examples.iter().filter_map(|(_, example)| snapshot.ad(example.root)) {
            namespaces.insert(self.roots.namespace(&ad.key.namespace), &ad.key.namespace);
        }
        let mut alike: HashMap<Vec<bool>, Arc<Admitted>, RandomState> = HashMap::default();
        let mut admitted_to = Vec::new();
        for (number, name) in namespaces {
            let admits = if config.rules == Rules::Paper { Vec::new() } else { self.stock.admits(name) };
            let admitted = alike.entry(admits).or_insert_with_key(|admits| {
                let templates = self.made.templates(self.stock.templates_where(&self.table, admits));
                let rows = match config.rules {
                    Rules::Paper => self.table.live.clone(),
                    Rules::Product => self.stock.admitted_where(&self.table, admits),
                };
                Arc::new(Admitted { rows, templates })
            });
            admitted_to.resize(as_usize(number) + 1, None);
            admitted_to.last_mut().into_iter().for_each(|own| *own = Some(Arc::clone(admitted)));
        }
        Making {
            readers,
            admitted_to,
            nobody: Bits::none(self.table.rows.len()),
            shared: self.stock.shared(&self.table),
            domain_of: HashMap::default(),
            class_ids: HashMap::default(),
            aside: BTreeMap::new(),
        }
    }

    /// Prepares a key that was set aside, if its submitter has steps for that now.
    pub(super) fn prepare_late(
        &mut self,
        id: u32,
        snapshot: &Snapshot,
        config: &Config,
        indexed: &mut Indexed,
        accounts: &mut Accounts,
    ) -> bool {
        if id == UNREAD {
            return false;
        }
        let Some(example) = indexed.making.aside.get(&id).copied() else { return true };
        if accounts.left(example.submitter) == 0 || config.stop.is_set() {
            return false;
        }
        self.plan(id, example, snapshot, &indexed.making, config, accounts);
        let settled = self.settle(id, example, config, indexed, accounts);
        if settled {
            indexed.making.aside.remove(&id);
        }
        settled
    }

    /// Puts the roots with a key into a class. False if their submitter has not steps enough for that.
    fn settle(
        &mut self,
        id: u32,
        example: Example,
        config: &Config,
        indexed: &mut Indexed,
        accounts: &mut Accounts,
    ) -> bool {
        let left = accounts.left(example.submitter);
        let Some(planned) = self.plans.get(as_usize(id)).cloned().flatten().filter(|_| left > 0) else { return false };
        self.table.words.meter.begin(left);
        let domains = indexed.domains.len();
        let ports = self.domains(&planned, config, indexed);
        let class = ports.map(|ports| self.class_of(id, example, ports, planned.gang_rank, config, indexed));
        let (steps, dry) = self.table.words.meter.end();
        if dry {
            self.preds.forget_doubtful();
        }
        let rows_looked_at = (indexed.domains.len() - domains).saturating_mul(self.table.rows.len());
        accounts.pay(example.submitter, steps + as_u64(rows_looked_at / ROWS_OF_A_STEP));
        let Some(class) = class else { return false };
        if let Some(class) = indexed.classes.get_mut(class).filter(|_| dry) {
            // From here on the evaluator has the last word on every edge of this class.
            class.star = false;
        }
        let of_key = OfKey { class: as_u32(class), head: self.keys.head_of(id), common: example.roots > 1 };
        if indexed.of_key.len() <= as_usize(id) {
            indexed.of_key.resize(as_usize(id) + 1, None);
        }
        indexed.of_key.get_mut(as_usize(id)).into_iter().for_each(|own| *own = Some(of_key));
        true
    }

    /// The number of the class of roots with a key.
    fn class_of(
        &mut self,
        id: u32,
        example: Example,
        ports: Vec<usize>,
        gang_rank: bool,
        config: &Config,
        indexed: &mut Indexed,
    ) -> usize {
        let ranked = config.rules == Rules::Product && config.prefer == Prefer::Best;
        let gang_rank = ranked && gang_rank;
        let next = indexed.classes.len();
        // Where the evaluator has a say, it may tell roots apart whose plans are equal.
        let open = ports.iter().any(|port| indexed.domains.get(*port).is_some_and(|domain| domain.open.any()));
        let alone = Some(id).filter(|_| open || gang_rank || example.reads_all);
        let class = *indexed.making.class_ids.entry((ports.clone(), alone)).or_insert(next);
        if class == next {
            let mut class = self.class(ports, gang_rank, config, indexed);
            class.reflective |= example.reads_all;
            indexed.classes.push(class);
        }
        class
    }

    /// The keys of all roots, and an example of each. Roots that are new are not read once their
    /// submitter has no steps left, or the cycle is to end.
    fn keys_of(
        &mut self,
        snapshot: &Snapshot,
        config: &Config,
        indexed: &mut Indexed,
        accounts: &mut Accounts,
    ) -> Vec<(u32, Example)> {
        self.key_of_place.resize(snapshot.len(), None);
        let mut examples: Vec<Option<Example>> = Vec::new();
        indexed.key_of.reserve(snapshot.roots.len());
        indexed.offers = Bits::none(snapshot.roots.len());
        // What was read of offers is nobody's.
        self.stats.read += self.table.exprs.charge();
        for (number, root) in snapshot.roots.iter().enumerate() {
            if self.table.first_row(root.ad.place()).is_some() {
                indexed.offers.set(number, true);
            }
            let known = self.key_of_place.get(root.ad.place()).copied().flatten();
            let key = match known {
                Some(key) => Some(key),
                None => self.read(number, root, snapshot, config, indexed, accounts),
            };
            let Some(key) = key else {
                indexed.key_of.push(None);
                continue;
            };
            if let Some(own) = self.key_of_place.get_mut(root.ad.place()) {
                *own = Some(key);
            }
            let id = key.id();
            if examples.len() <= as_usize(id) {
                examples.resize(as_usize(id) + 1, None);
            }
            if let Some(example) = examples.get_mut(as_usize(id)) {
                let of = || Example {
                    root: root.ad,
                    roots: 0,
                    reads_all: key.is_reflective(),
                    submitter: accounts.number(&root.submitter),
                };
                example.get_or_insert_with(of).roots += 1;
            }
            indexed.key_of.push(Some(Number::of(id)));
        }
        let found = |(id, example): (usize, Option<Example>)| Some((as_u32(id), example?));
        examples.into_iter().enumerate().filter_map(found).collect()
    }

    /// The key of a root that was not read before, on account of its submitter.
    fn read(
        &mut self,
        number: usize,
        root: &Root,
        snapshot: &Snapshot,
        config: &Config,
        indexed: &mut Indexed,
        accounts: &mut Accounts,
    ) -> Option<KeyOf> {
        let submitter = accounts.number(&root.submitter);
        if accounts.left(submitter) == 0 || config.stop.is_set() {
            indexed.unread.insert(number);
            return None;
        }
        self.table.submitter = Arc::clone(&root.submitter);
        let key = self.key_of_root(snapshot, root.ad);
        let steps = self.table.exprs.charge();
        self.stats.read += steps;
        accounts.pay(submitter, steps);
        key
    }

    /// The key of a root; none if its ports are not in order.
    fn key_of_root(&mut self, snapshot: &Snapshot, root: AdId) -> Option<KeyOf> {
        let row = match self.roots.row_at(root.place()) {
            Some(row) => row,
            None => {
                let ad = snapshot.ad(root).filter(|ad| ad.ports.problem.is_none())?;
                self.roots.row(root.place(), ad, snapshot.len(), &mut self.table)
            }
        };
        let asker = Asker { place: root.place(), row, ads: &snapshot.ads };
        self.keys.of(&mut self.table, &mut self.roots, &asker)
    }

    /// The domains of a key's ports; none if there is not fuel enough to make them.
    fn domains(&mut self, planned: &Planned, config: &Config, indexed: &mut Indexed) -> Option<Vec<usize>> {
        let mut ports = Vec::with_capacity(planned.ports.len());
        for plan in planned.ports.iter().map(|plan| as_usize(*plan)) {
            let next = indexed.domains.len();
            let known = indexed.making.domain_of.get(&plan).copied();
            if known.is_none()
                && let Some(port) = self.ports.get(plan).cloned()
            {
                self.work_out_ranks(&port, config);
                if self.table.words.meter.is_dry() {
                    return None;
                }
                let making = &indexed.making;
                let admitted = making.admitted_to(port.namespace);
                let domain = Domain::of(port, admitted, &making.shared, &mut self.known());
                // What is half known would be in the way of others that ask for the same.
                if self.table.words.meter.is_dry() {
                    return None;
                }
                indexed.domains.push(domain);
                indexed.spokes.push(None);
                indexed.making.domain_of.insert(plan, next);
            }
            ports.push(known.unwrap_or(next));
        }
        Some(ports)
    }

    /// Computes the ranks that count at a port.
    fn work_out_ranks(&mut self, port: &PortPlan, config: &Config) {
        for rank in port.theirs.iter().map(|theirs| theirs.rank).chain([port.rank]) {
            if let Rank::By(id) = rank {
                self.ranks.compute(id, config.rank_of, &mut self.table);
            }
        }
        if let Rank::By(id) = port.rank {
            self.ranks.sort(id, &self.table);
        }
    }

    /// Plans the ports of roots with a key, unless that was done before.
    fn plan(
        &mut self,
        id: u32,
        example: Example,
        snapshot: &Snapshot,
        making: &Making,
        config: &Config,
        accounts: &mut Accounts,
    ) {
        if self.plans.len() <= as_usize(id) {
            self.plans.resize(as_usize(id) + 1, None);
        }
        if self.plans.get(as_usize(id)).is_some_and(Option::is_some) {
            return;
        }
        let Some(ad) = snapshot.ad(example.root) else { return };
        // Plans are kept: they are made to the end.
        self.table.words.meter.begin(u64::MAX);
        let namespace = self.roots.namespace(&ad.key.namespace);
        self.stats.planned += 1;
        let Some(templates) = making.admitted(namespace).map(|admitted| &admitted.templates) else { return };
        self.table.submitter = accounts.name(example.submitter);
        let bytes = self.bytes_made();
        let (table, preds, ranks, made) = (&mut self.table, &mut self.preds, &mut self.ranks, &mut self.made);
        let row = self.roots.row(example.root.place(), ad, snapshot.len(), table);
        let seen = Some(Seen { roots: &mut self.roots, row, ads: &snapshot.ads });
        let (resources, roots) = (&self.planned_for, example.roots);
        let mut planner = Planner { table, preds, ranks, made, config, resources, templates, seen, roots };
        let mut ports = SmallVec::with_capacity(ad.ports.list.len());
        for port in 0..ad.ports.list.len() {
            let plan = planner.port(&ad.ports, port, namespace);
            let next = self.ports.len();
            let number = *self.plan_ids.entry(plan).or_insert_with_key(|plan| {
                self.ports.push(plan.clone());
                next
            });
            ports.push(as_u32(number));
        }
        let (steps, _) = self.table.words.meter.end();
        let templates_looked_at = as_u64(ports.len().saturating_mul(templates.len()) / TEMPLATES_OF_A_STEP);
        let bytes_made = as_u64(self.bytes_made().saturating_sub(bytes) / BYTES_OF_A_STEP);
        accounts.pay(example.submitter, steps + as_u64(ports.len()) + templates_looked_at + bytes_made);
        let gang_rank = ad.ports.body.get("GangRank").is_some();
        let planned = Planned { ports, gang_rank, namespace, templates: templates.id() };
        if let Some(own) = self.plans.get_mut(as_usize(id)) {
            *own = Some(planned);
        }
    }
}

/// Stands for the key of a root that was not read.
const UNREAD: u32 = u32::MAX;

/// How many templates are asked what they want in about the time of a step.
const TEMPLATES_OF_A_STEP: usize = 32;

/// How many bytes that are kept count as a step, so that a cycle cannot make very many.
pub(super) const BYTES_OF_A_STEP: usize = 512;

/// How many rows are looked at for a domain in about the time of a step.
const ROWS_OF_A_STEP: usize = 4096;

/// What domains and classes are made of, and what became of them.
#[derive(Default)]
pub(super) struct Making {
    pub(super) readers: Readers,
    /// By the number of a namespace: what its roots may be bound to. Namespaces that are admitted to the same share it.
    pub(super) admitted_to: Vec<Option<Arc<Admitted>>>,
    nobody: Bits,
    /// The rows whose seats may be shared.
    shared: Bits,
    /// By the number of a plan.
    domain_of: HashMap<usize, usize, RandomState>,
    class_ids: HashMap<(Vec<usize>, Option<u32>), usize, RandomState>,
    /// Keys that are not prepared: their submitters had no steps left.
    aside: BTreeMap<u32, Example>,
}

impl Making {
    /// The rows that roots of a namespace may be bound to.
    pub(super) fn admitted_to(&self, namespace: u32) -> &Bits {
        self.admitted(namespace).map_or(&self.nobody, |admitted| &admitted.rows)
    }

    /// What roots of a namespace may be bound to.
    fn admitted(&self, namespace: u32) -> Option<&Arc<Admitted>> {
        self.admitted_to.get(as_usize(namespace))?.as_ref()
    }
}

/// What roots of some namespaces may be bound to.
pub(super) struct Admitted {
    /// The rows that can be taken now.
    rows: Bits,
    /// The templates with rows that admit them, whether they can be taken now or not.
    pub(super) templates: Kept<Vec<usize>>,
}

/// What roots with one key come to.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// The number of the plan of each port.
    ports: SmallVec<[u32; 2]>,
    gang_rank: bool,
    /// Who they are, and the number of the templates that admitted them.
    namespace: u32,
    templates: u32,
}

/// How many bytes strings, expressions and rows may take for each ad, beyond which everything is forgotten: what ads had
/// that are gone.
const TABLES_PER_AD: usize = 32 << 10;
/// So many they may always take.
const TABLES_MIN: usize = 64 << 20;
/// After so many cycles everything is forgotten if somebody lacks room, which may have been taken for ads that are gone.
const CYCLES_SHORT: u64 = 1000;

/// What one cycle searches in.
#[derive(Default)]
pub(super) struct Indexed {
    /// By the number of the root: what it shows of itself.
    key_of: Vec<Option<Number>>,
    /// Roots by number whose submitters had no steps left to read them.
    unread: HashSet<usize, RandomState>,
    of_key: Vec<Option<OfKey>>,
    /// The roots, by number, that may be bound themselves.
    pub(super) offers: Bits,
    pub(super) classes: Vec<Class>,
    pub(super) domains: Vec<Domain>,
    /// The rows that some root may be bound to now.
    pub(super) admitted: Bits,
    pub(super) spokes: Vec<Option<Spoke>>,
    pub(super) finders: Finders,
    pub(super) making: Making,
    /// How many choices are listed for its classes.
    pub(super) choices_held: usize,
}

impl Indexed {
    /// The number of what a root shows of itself, if it was set aside before it was looked at; none that is in use, if that
    /// was before it was read.
    pub(super) fn aside(&self, number: usize) -> Option<u32> {
        if self.unread.contains(&number) {
            return Some(UNREAD);
        }
        let key = self.key_of.get(number).copied().flatten()?.get();
        self.making.aside.contains_key(&key).then_some(key)
    }

    /// What a root shows of itself, by the root's number.
    pub(super) fn key(&self, number: usize) -> Option<(u32, OfKey)> {
        let key = self.key_of.get(number).copied().flatten()?.get();
        Some((key, self.of_key.get(as_usize(key)).copied().flatten()?))
    }

    /// What a root shows of itself, as a number, and whether anybody can see more of it.
    pub(super) fn shows(&self, number: usize) -> (Option<u32>, bool) {
        let known = self.key(number);
        let class = known.and_then(|(_, of_key)| self.classes.get(as_usize(of_key.class)));
        (known.map(|(key, _)| key), class.is_none_or(|class| class.reflective))
    }
}

/// Whether what was computed under one configuration holds under another.
fn alike(one: &Config, other: &Config) -> bool {
    one.rules == other.rules
        && one.limits == other.limits
        && one.prefer == other.prefer
        && std::ptr::fn_addr_eq(one.rank_of, other.rank_of)
}

/// The names that anybody in the pool reads of a root: in constraints and ranks, as a resource, or to tell who shares a seat.
fn readers(table: &Table, shared_by: &[Expr], resources: &Resources) -> Readers {
    let mut readers = Readers::default();
    for (_, template) in table.templates.used() {
        readers.names.extend(template.reads.iter().cloned());
        readers.members |= template.members;
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

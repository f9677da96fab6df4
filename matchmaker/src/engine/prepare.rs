//! A snapshot into what a cycle searches in: tables brought up to date, roots put together.

use std::collections::{BTreeMap, HashMap};

use classad::Expr;
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::class::Class;
use super::{Engine, Stats};
use crate::index::asks::Resources;
use crate::index::classes::{Asker, KeyOf, Readers};
use crate::index::memo::Seen;
use crate::index::plan::Planner;
use crate::model::{AdId, Config, PoolAd, Prefer, Snapshot};
use crate::ports::Rules;
use crate::search::domain::Domain;
use crate::search::finders::Finders;
use crate::search::lanes::Spoke;
use crate::table::{Bits, Number, Table, as_u32, as_usize};

/// One of the roots with a key, how many there are, and whether their expressions can read more than the key tells.
pub(super) type Example = (AdId, usize, bool);

impl Engine {
    /// Makes the tables those of the snapshot, and puts roots together.
    pub(super) fn prepare(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Indexed {
        let too_much = self.table.bytes() + self.roots.bytes() > TABLES_MIN.max(TABLES_PER_AD * snapshot.len());
        if too_much || self.settings.as_ref().is_none_or(|known| !alike(known, config)) {
            *self = Engine { settings: Some(config.clone()), table: Table::new(config.limits), ..Engine::new() };
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
        self.before = snapshot.without_roots();
        self.preds.refresh(&changes.rows, &mut self.table);
        if !changes.rows.is_empty() || changes.gone {
            self.ranks.refresh(&changes.rows, config.rank_of, &mut self.table);
        }
        self.ranks.recompute(config.rank_of, &mut self.table);
        if let Some(kept) = &changes.kept {
            self.key_of_place = kept.carry(&self.key_of_place, snapshot.len());
            self.roots.moved(kept, snapshot.len());
        }
        self.stock.count(snapshot, changes.kept.as_ref());
        self.full = self.stock.full_rows(&self.table);
        self.stats = Stats::default();
        self.spent.clear();
        let mut indexed = Indexed::default();
        self.classify(snapshot, config, &mut indexed);
        self.stats.classes = indexed.classes.len() as u64;
        self.stats.conditions = self.preds.len() as u64;
        indexed
    }

    /// Puts roots together.
    fn classify(&mut self, snapshot: &Snapshot, config: &Config, indexed: &mut Indexed) {
        let resources = self.stock.resources();
        let readers = readers(&self.table, self.stock.shared_by(), &resources);
        if self.keys.read_by(&readers) {
            self.key_of_place.clear();
            self.agreed.forget_keys();
            self.plans.clear();
        }
        let planned_for = (self.table.templates.version, resources);
        if self.planned_for != planned_for {
            self.forget_plans();
            self.planned_for = planned_for;
        }
        let examples = self.keys_of(snapshot, indexed);
        self.look_ahead(snapshot, &examples, config);
        let templates: Vec<usize> = self.table.templates.used().map(|(id, _)| id).collect();
        let mut namespaces: BTreeMap<u32, &str> = BTreeMap::new();
        for (id, (example, roots, _)) in &examples {
            let Some(ad) = snapshot.ad(*example) else { continue };
            let namespace = self.roots.namespace(&ad.key.namespace);
            namespaces.insert(namespace, &ad.key.namespace);
            self.plan(*id, (*example, ad), snapshot, namespace, *roots, &templates, config);
        }
        let ports_of = self.domains(config, &examples, &namespaces, indexed);
        let mut class_ids: HashMap<(Vec<usize>, Option<u32>), usize, RandomState> = HashMap::default();
        for ((id, (_, roots, reads_all)), ports) in examples.iter().zip(ports_of) {
            let ranked = config.rules == Rules::Product && config.prefer == Prefer::Best;
            let planned = self.plans.get(as_usize(*id)).and_then(Option::as_ref);
            let gang_rank = ranked && planned.is_some_and(|planned| planned.gang_rank);
            let next = indexed.classes.len();
            // Where the evaluator has a say, it may tell roots apart whose plans are equal.
            let open = ports.iter().any(|port| indexed.domains.get(*port).is_some_and(|domain| domain.open.any()));
            let alone = Some(*id).filter(|_| open || gang_rank || *reads_all);
            let class = *class_ids.entry((ports.clone(), alone)).or_insert(next);
            if class == next {
                let mut class = self.class(ports, gang_rank, &readers, config, indexed);
                class.reflective |= reads_all;
                indexed.classes.push(class);
            }
            let of_key = OfKey { class: as_u32(class), head: self.keys.head_of(*id), common: *roots > 1 };
            indexed.of_key.resize(as_usize(*id), None);
            indexed.of_key.push(Some(of_key));
        }
    }

    /// The keys of all roots, and an example of each.
    fn keys_of(&mut self, snapshot: &Snapshot, indexed: &mut Indexed) -> Vec<(u32, Example)> {
        self.key_of_place.resize(snapshot.len(), None);
        let mut examples: Vec<Option<Example>> = Vec::new();
        indexed.key_of.reserve(snapshot.roots.len());
        indexed.offers = Bits::none(snapshot.roots.len());
        for (number, root) in snapshot.roots.iter().enumerate() {
            if self.table.first_row(root.ad.place()).is_some() {
                indexed.offers.set(number, true);
            }
            let known = self.key_of_place.get(root.ad.place()).copied().flatten();
            let Some(key) = known.or_else(|| self.key_of_root(snapshot, root.ad)) else {
                indexed.key_of.push(None);
                continue;
            };
            if let Some(own) = self.key_of_place.get_mut(root.ad.place()) {
                *own = Some(key);
            }
            let (id, reflective) = (key.id(), key.is_reflective());
            if examples.len() <= as_usize(id) {
                examples.resize(as_usize(id) + 1, None);
            }
            if let Some(example) = examples.get_mut(as_usize(id)) {
                example.get_or_insert((root.ad, 0, reflective)).1 += 1;
            }
            indexed.key_of.push(Some(Number::of(id)));
        }
        let found = |(id, example): (usize, Option<Example>)| Some((as_u32(id), example?));
        examples.into_iter().enumerate().filter_map(found).collect()
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

    /// The domains of each key's ports, in the order of the keys.
    fn domains(
        &mut self,
        config: &Config,
        examples: &[(u32, Example)],
        namespaces: &BTreeMap<u32, &str>,
        indexed: &mut Indexed,
    ) -> Vec<Vec<usize>> {
        let nobody = Bits::none(self.table.rows.len());
        let shared = self.stock.shared(&self.table);
        let admit = |name: &str| self.stock.admitted(&self.table, name, config.rules);
        let admitted_to: BTreeMap<u32, Bits> = namespaces.iter().map(|(number, name)| (*number, admit(name))).collect();
        indexed.admitted = Bits::none(self.table.rows.len());
        admitted_to.values().for_each(|admitted| indexed.admitted.or(admitted));
        let mut domain_of: HashMap<usize, usize, RandomState> = HashMap::default();
        let mut ports_of = Vec::with_capacity(examples.len());
        for (id, _) in examples {
            let planned = self.plans.get(as_usize(*id)).cloned().flatten();
            let plans = planned.as_ref().map(|planned| planned.ports.as_slice()).unwrap_or_default();
            let mut ports = Vec::with_capacity(plans.len());
            for plan in plans.iter().map(|plan| as_usize(*plan)) {
                let next = indexed.domains.len();
                let domain = *domain_of.entry(plan).or_insert(next);
                if domain == next
                    && let Some(port) = self.ports.get(plan).cloned()
                {
                    let admitted = admitted_to.get(&port.namespace).unwrap_or(&nobody);
                    let domain = Domain::of(port, admitted, &shared, &mut self.known());
                    indexed.domains.push(domain);
                    indexed.spokes.push(None);
                }
                ports.push(domain);
            }
            ports_of.push(ports);
        }
        ports_of
    }

    /// Plans the ports of roots with a key, of which `ad` is one, unless that was done before.
    #[expect(clippy::too_many_arguments, reason = "what a plan is made of")]
    fn plan(
        &mut self,
        id: u32,
        (example, ad): (AdId, &PoolAd),
        snapshot: &Snapshot,
        namespace: u32,
        roots: usize,
        templates: &[usize],
        config: &Config,
    ) {
        if self.plans.len() <= as_usize(id) {
            self.plans.resize(as_usize(id) + 1, None);
        }
        if self.plans.get(as_usize(id)).is_some_and(Option::is_some) {
            return;
        }
        let (table, preds, ranks, made) = (&mut self.table, &mut self.preds, &mut self.ranks, &mut self.made);
        let row = self.roots.row(example.place(), ad, snapshot.len(), table);
        let seen = Some(Seen { roots: &mut self.roots, row, ads: &snapshot.ads });
        let resources = &self.planned_for.1;
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
        let planned = Planned { ports, gang_rank: ad.ports.body.get("GangRank").is_some() };
        if let Some(own) = self.plans.get_mut(as_usize(id)) {
            *own = Some(planned);
        }
    }
}

/// What roots with one key come to.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// The number of the plan of each port.
    ports: SmallVec<[u32; 2]>,
    gang_rank: bool,
}

/// How many bytes strings, expressions and rows may take for each ad, beyond which everything is forgotten: what ads had
/// that are gone.
const TABLES_PER_AD: usize = 32 << 10;
/// So many they may always take.
const TABLES_MIN: usize = 64 << 20;

/// What roots with one key have in common.
#[derive(Clone, Copy)]
pub(super) struct OfKey {
    pub(super) class: u32,
    /// The number of their texts.
    pub(super) head: u32,
    /// There are several.
    pub(super) common: bool,
}

/// What one cycle searches in.
#[derive(Default)]
pub(super) struct Indexed {
    /// By the number of the root: what it shows of itself.
    key_of: Vec<Option<Number>>,
    of_key: Vec<Option<OfKey>>,
    /// The roots, by number, that may be bound themselves.
    pub(super) offers: Bits,
    pub(super) classes: Vec<Class>,
    pub(super) domains: Vec<Domain>,
    /// The rows that some root may be bound to now.
    pub(super) admitted: Bits,
    pub(super) spokes: Vec<Option<Spoke>>,
    pub(super) finders: Finders,
}

impl Indexed {
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

//! The engine: what it knows of a pool, kept from one cycle to the next, and the cycle itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::cycle::{Cycle, Queue};
use crate::explain::{Unmatched, explain};
use crate::gang::{Bond, Gang, Member};
use crate::index::asks::{Resources, Stock};
use crate::index::classes::{Readers, RootKeys};
use crate::index::plan::{Planner, PortPlan};
use crate::index::preds::Preds;
use crate::index::ranks::Ranks;
use crate::model::{AdId, Config, PoolAd, Prefer, Root, Search, Snapshot};
use crate::naive;
use crate::ports::Rules;
use crate::score::Score;
use crate::search::check::Checker;
use crate::search::domain::{Domain, Known};
use crate::search::guided::{self, Choices};
use crate::search::lanes::Spoke;
use crate::search::list::{Progress, Star};
use crate::table::{Bits, Table, admitted, as_usize};

/// Negotiates, and remembers between cycles what depends on the ads alone. What it remembers never changes an answer.
#[derive(Debug)]
pub struct Engine {
    table: Table,
    preds: Preds,
    ranks: Ranks,
    stock: Stock,
    keys: RootKeys,
    /// By the number of a root's key: what its ports come to.
    plans: Vec<Option<Arc<Planned>>>,
    plan_ids: HashMap<PortPlan, usize, RandomState>,
    /// The plans by number.
    ports: Vec<PortPlan>,
    /// What plans were made for: the templates, and the resources of the pool.
    planned_for: (u64, Resources),
    /// By place in the snapshot before: the number of a root's key, and whether its expressions read more than that tells.
    key_of_place: Vec<Option<(u32, bool)>>,
    before: Snapshot,
    settings: Option<Config>,
    /// What the last cycle did.
    pub stats: Stats,
}

/// Counts of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Groups of roots that nothing can tell apart.
    pub classes: u64,
    /// How often a class was asked for its best gang.
    pub questions: u64,
    /// Rows that were looked at for port 0, and candidates that were tried by the evaluator.
    pub steps: u64,
    /// Classes whose gangs needed the evaluator to be found.
    pub guided: u64,
    /// Conditions on one partner.
    pub conditions: u64,
}

/// A cycle before anybody has asked why.
struct Run {
    cycle: Cycle,
    /// Roots without a gang by number, and whether the search was cut short.
    failed: Vec<(usize, bool)>,
    /// The snapshot with what the cycle took.
    pool: Snapshot,
    indexed: Option<Indexed>,
}

/// Roots that are searched together.
struct Class {
    /// The domain of each port.
    ports: Vec<usize>,
    /// Every port stands alone or hangs on port 0, and the index knows everything.
    star: bool,
    /// Some candidate can tell roots of the class apart.
    reflective: bool,
    /// Nothing is left for it in this cycle.
    dead: bool,
    gave_up: bool,
    progress: Progress,
    choices: Option<Choices>,
}

impl Default for Engine {
    fn default() -> Engine {
        Engine::new()
    }
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new() -> Engine {
        let config = Config::product();
        Engine {
            table: Table::new(config.limits),
            preds: Preds::default(),
            ranks: Ranks::default(),
            stock: Stock::default(),
            keys: RootKeys::default(),
            plans: Vec::new(),
            plan_ids: HashMap::default(),
            ports: Vec::new(),
            planned_for: (0, Vec::new()),
            key_of_place: Vec::new(),
            before: Snapshot::default(),
            settings: None,
            stats: Stats::default(),
        }
    }

    /// Forgets every answer, and keeps the ads in their columns: for benchmarks of what a cycle costs from there on.
    pub fn forget_answers(&mut self) {
        self.forget_plans();
        self.keys.forget();
        self.key_of_place.clear();
    }

    fn forget_plans(&mut self) {
        self.preds = Preds::default();
        self.ranks = Ranks::default();
        self.plans.clear();
        self.plan_ids.clear();
        self.ports.clear();
    }

    /// One cycle, see [`crate::negotiate`].
    pub fn negotiate(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        let mut run = self.run(snapshot, config, now);
        for (number, gave_up) in std::mem::take(&mut run.failed) {
            let Some(root) = snapshot.roots.get(number).filter(|root| !run.pool.consumed.contains(&root.ad)) else {
                continue;
            };
            let why = explained(run.indexed.as_mut(), number, &run.pool, root, gave_up, config, now);
            run.cycle.unmatched.push(why);
        }
        run.cycle
    }

    /// The same without a word on the roots that stay without a gang.
    pub fn gangs(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        self.run(snapshot, config, now).cycle
    }

    fn run(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Run {
        let mut pool = snapshot.clone();
        pool.taken.clear();
        let mut cycle = Cycle::default();
        let mut failed = Vec::new();
        let mut queue = Queue::of(snapshot);
        let mut checker = Checker::new(snapshot, config, now);
        let mut indexed = match config.search {
            Search::Indexed => Some(self.prepare(snapshot, config)),
            Search::Naive => None,
        };
        while let Some((number, root)) = queue.next() {
            if pool.consumed.contains(&root.ad) {
                continue;
            }
            let found = match &mut indexed {
                Some(indexed) => self.best(indexed, &pool, number, root, config, now, &mut cycle, &mut checker),
                None => naive::best(&pool, root.ad, &root.exclusions, config, now),
            };
            let Some(gang) = found.gang else {
                failed.push((number, found.gave_up));
                continue;
            };
            if found.gave_up {
                cycle.cut_short.push(root.ad);
            }
            for member in &gang.members {
                pool.take(member.ad, &member.ask);
                self.stock.recount(&pool, member.ad);
                if config.rules == Rules::Paper {
                    pool.consumed.insert(member.ad);
                    self.stock.consume(member.ad.place());
                }
            }
            queue.charge(&root.submitter);
            cycle.gangs.push(gang);
        }
        Run { cycle, failed, pool, indexed }
    }

    /// Makes the tables those of the snapshot, and puts roots together.
    fn prepare(&mut self, snapshot: &Snapshot, config: &Config) -> Indexed {
        let remembered = self.table.words.len() + self.table.exprs.len() + self.table.rows.len();
        let too_much = remembered > REMEMBERED_MIN && remembered > REMEMBERED_PER_AD * snapshot.len();
        if too_much || self.settings.as_ref().is_none_or(|known| !alike(known, config)) {
            *self = Engine { settings: Some(config.clone()), table: Table::new(config.limits), ..Engine::new() };
        }
        let changes = self.table.sync(snapshot, &self.before, config.rules);
        self.before = Snapshot { roots: Vec::new(), ..snapshot.clone() };
        self.preds.refresh(&changes.rows, &mut self.table);
        if !changes.rows.is_empty() || changes.gone {
            self.ranks.refresh(&changes.rows, config.rank_of, &mut self.table);
        }
        let known = std::mem::take(&mut self.key_of_place);
        let old = changes.same.iter().map(|place| known.get((*place)?).copied().flatten());
        self.key_of_place = old.collect();
        self.stock.count(snapshot);
        self.stats = Stats::default();
        let mut indexed = Indexed::default();
        self.classify(snapshot, config, &mut indexed);
        self.stats.classes = indexed.classes.len() as u64;
        self.stats.conditions = self.preds.len() as u64;
        indexed
    }

    fn classify(&mut self, snapshot: &Snapshot, config: &Config, indexed: &mut Indexed) {
        let resources = self.stock.resources();
        let readers = readers(&self.table, snapshot, &resources);
        if self.keys.read_by(&readers) {
            self.key_of_place.clear();
            self.plans.clear();
        }
        let planned_for = (self.table.templates.version, resources);
        if self.planned_for != planned_for || self.preds.len() > CONDITIONS_MAX {
            self.forget_plans();
            self.planned_for = planned_for;
        }
        self.key_of_place.resize(snapshot.len(), None);
        let mut key_of = Vec::with_capacity(snapshot.roots.len());
        let mut examples: BTreeMap<u32, (AdId, usize, bool)> = BTreeMap::new();
        for root in &snapshot.roots {
            let Some(ad) = snapshot.ad(root.ad).filter(|ad| ad.ports.problem.is_none()) else {
                key_of.push(None);
                continue;
            };
            let known = self.key_of_place.get(root.ad.place()).copied().flatten();
            let (id, reflective) = known.unwrap_or_else(|| self.keys.of(&mut self.table, ad));
            if let Some(own) = self.key_of_place.get_mut(root.ad.place()) {
                *own = Some((id, reflective));
            }
            let (_, roots, _) = examples.entry(id).or_insert((root.ad, 0, reflective));
            *roots += 1;
            key_of.push(Some(id));
        }
        let mut namespaces: BTreeMap<u32, &str> = BTreeMap::new();
        for (id, (example, roots, _)) in &examples {
            let Some(ad) = snapshot.ad(*example) else { continue };
            let namespace = self.keys.namespace(&ad.key.namespace);
            namespaces.insert(namespace, &ad.key.namespace);
            self.plan(*id, ad, namespace, *roots, config);
        }
        let shared = Bits::of(self.table.rows.len(), |row| {
            let place = self.table.rows.get(row).map_or(usize::MAX, |row| row.place);
            snapshot.ad_at(place).and_then(PoolAd::offer).is_some_and(|offer| offer.shared_by.is_some())
        });
        let mut admitted_to: HashMap<u32, Bits, RandomState> = HashMap::default();
        for (number, name) in &namespaces {
            admitted_to.insert(*number, admitted(&self.table, snapshot, name, config.rules));
        }
        let mut domain_of: Vec<Option<usize>> = vec![None; self.ports.len()];
        let mut class_ids: HashMap<(Vec<usize>, Option<u32>), usize, RandomState> = HashMap::default();
        let mut class_of_key: HashMap<u32, usize, RandomState> = HashMap::default();
        for (id, (_, _, reads_all)) in &examples {
            let Some(planned) = self.plans.get(as_usize(*id)).cloned().flatten() else { continue };
            let mut ports = Vec::with_capacity(planned.ports.len());
            for plan in &planned.ports {
                let known = domain_of.get(*plan).copied().flatten();
                let domain = match known {
                    Some(domain) => domain,
                    None => {
                        let Some(port) = self.ports.get(*plan).cloned() else { continue };
                        let nobody = Bits::none(self.table.rows.len());
                        let admitted = admitted_to.get(&port.namespace).unwrap_or(&nobody);
                        let domain = Domain::of(port, admitted, &shared, &mut self.known());
                        indexed.domains.push(domain);
                        indexed.spokes.push(None);
                        indexed.domains.len() - 1
                    }
                };
                if let Some(own) = domain_of.get_mut(*plan) {
                    *own = Some(domain);
                }
                ports.push(domain);
            }
            let ranked = config.rules == Rules::Product && config.prefer == Prefer::Best;
            let gang_rank = ranked && planned.gang_rank;
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
            class_of_key.insert(*id, class);
        }
        let class_of = |key: &Option<u32>| class_of_key.get(&(*key)?).copied();
        indexed.class_of = key_of.iter().map(class_of).collect();
        indexed.key_of = key_of;
    }

    /// Plans the ports of roots with a key, of which `ad` is one, unless that was done before.
    fn plan(&mut self, id: u32, ad: &PoolAd, namespace: u32, roots: usize, config: &Config) {
        if self.plans.len() <= as_usize(id) {
            self.plans.resize(as_usize(id) + 1, None);
        }
        if self.plans.get(as_usize(id)).is_some_and(Option::is_some) {
            return;
        }
        let (table, preds, ranks) = (&mut self.table, &mut self.preds, &mut self.ranks);
        let mut planner = Planner { table, preds, ranks, config, resources: &self.planned_for.1, roots };
        let mut ports = Vec::with_capacity(ad.ports.list.len());
        for port in 0..ad.ports.list.len() {
            let plan = planner.port(&ad.ports, port, namespace);
            let next = self.ports.len();
            let number = *self.plan_ids.entry(plan).or_insert_with_key(|plan| {
                self.ports.push(plan.clone());
                next
            });
            ports.push(number);
        }
        let planned = Planned { ports, gang_rank: ad.ports.body.get("GangRank").is_some() };
        if let Some(own) = self.plans.get_mut(as_usize(id)) {
            *own = Some(Arc::new(planned));
        }
    }

    fn class(
        &mut self,
        ports: Vec<usize>,
        gang_rank: bool,
        readers: &Readers,
        config: &Config,
        indexed: &mut Indexed,
    ) -> Class {
        let room = ports.len() < config.members_max && config.depth_max >= 1 && !ports.is_empty();
        let star = room && !gang_rank && self.is_star(&ports, indexed);
        let of = |port: &usize| indexed.domains.get(*port);
        let reflective = ports.iter().filter_map(of).any(|domain| domain.reflective);
        // Who reads which members were bound where may read the root's own name, two ports away.
        let deep = |domain: &Domain| {
            domain
                .plan
                .theirs
                .iter()
                .any(|theirs| self.table.templates.list.get(theirs.template).is_some_and(|template| template.deep))
        };
        let told = readers.members && ports.iter().filter_map(of).any(deep);
        let dead = ports.iter().filter_map(of).any(|domain| !domain.may.any());
        if !star && !dead {
            self.stats.guided += 1;
        }
        let progress = Progress::default();
        Class {
            ports,
            star,
            reflective: reflective || told || readers.anything,
            dead,
            gave_up: false,
            progress,
            choices: None,
        }
    }

    /// Whether every port of a class stands alone or hangs on port 0, and nothing is left to the evaluator. Makes the
    /// spokes.
    fn is_star(&mut self, ports: &[usize], indexed: &mut Indexed) -> bool {
        let Some((first, rest)) = ports.split_first() else { return false };
        let mut columns = BTreeSet::new();
        for (number, port) in ports.iter().enumerate() {
            let Some(domain) = indexed.domains.get(*port) else { return false };
            let allowed = 1u64 | 1u64 << (number & 63);
            let theirs = domain.plan.theirs.iter().flat_map(|theirs| &theirs.demand.joins);
            for join in domain.plan.own.joins.iter().chain(theirs) {
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
        if let Some(hub) = indexed.domains.get_mut(*first) {
            for column in columns {
                hub.open_cells(column, &self.table);
            }
        }
        let mut seen: Option<Bits> = None;
        for port in ports {
            let Some(domain) = indexed.domains.get(*port) else { return false };
            if domain.open.any() || seen.as_ref().is_some_and(|seen| seen.meets(&domain.may)) {
                return false;
            }
            match &mut seen {
                Some(seen) => seen.or(&domain.may),
                None => seen = Some(domain.may.clone()),
            }
        }
        for port in rest {
            let (Some(domain), Some(spoke)) = (indexed.domains.get_mut(*port), indexed.spokes.get_mut(*port)) else {
                return false;
            };
            if spoke.is_none() {
                *spoke = Some(Spoke::of(domain, &mut self.known()));
            }
        }
        true
    }

    fn known(&mut self) -> Known<'_> {
        let (table, preds, ranks, stock) = (&mut self.table, &mut self.preds, &mut self.ranks, &mut self.stock);
        Known { table, preds, ranks, stock, doubt: false }
    }

    /// The best gang of a root as things are now.
    #[expect(clippy::too_many_arguments, reason = "what the cycle is made of")]
    fn best(
        &mut self,
        indexed: &mut Indexed,
        pool: &Snapshot,
        number: usize,
        root: &Root,
        config: &Config,
        now: i64,
        cycle: &mut Cycle,
        checker: &mut Checker<'_>,
    ) -> naive::Found {
        let nothing = naive::Found { gang: None, gave_up: false };
        let Some(id) = indexed.class_of.get(number).copied().flatten() else { return nothing };
        let Indexed { classes, domains, spokes, .. } = indexed;
        let Some(class) = classes.get_mut(id) else { return nothing };
        if class.dead {
            return naive::Found { gang: None, gave_up: class.gave_up };
        }
        self.stats.questions += 1;
        let itself = self.table.first_row.get(root.ad.place()).copied().flatten();
        let meets_itself = itself.is_some_and(|row| {
            let may = |port: &usize| domains.get(*port).is_some_and(|domain| domain.may.get(as_usize(row)));
            class.ports.iter().any(may)
        });
        if class.star && root.exclusions.is_empty() && !meets_itself {
            let mut known = self.known();
            let counted = config.rules == Rules::Product;
            let mut star = Star { domains, spokes, ports: &class.ports, counted };
            let before = class.progress.steps;
            let rows = star.best(&mut class.progress, &mut known);
            let doubt = known.doubt;
            self.stats.steps += class.progress.steps - before;
            if !doubt {
                let Some((score, rows)) = rows else {
                    class.dead = true;
                    return nothing;
                };
                let gang = self.gang(root.ad, score, &rows, &class.ports, domains);
                if checker.holds(&gang) {
                    return naive::Found { gang: Some(gang), gave_up: false };
                }
                cycle.disagreements.push(root.ad);
                return naive::best(pool, root.ad, &root.exclusions, config, now);
            }
            // From here on the evaluator has the last word on every edge of this class.
            class.star = false;
        }
        let choices = class.choices.get_or_insert_with(|| Choices::of(&class.ports, domains, &mut self.known()));
        let (found, steps) = guided::best(pool, root.ad, &root.exclusions, config, now, choices);
        self.stats.steps += steps;
        if found.gang.is_none() && root.exclusions.is_empty() && !class.reflective && !meets_itself {
            class.dead = true;
            class.gave_up = found.gave_up;
        }
        found
    }

    fn gang(&mut self, root: AdId, score: Score, rows: &[u32], ports: &[usize], domains: &[Domain]) -> Gang {
        let mut members = vec![Member { ad: root, bond: None, ask: Default::default() }];
        for (port, (row, domain)) in rows.iter().zip(ports).enumerate() {
            let (Some(row), Some(domain)) = (self.table.rows.get(as_usize(*row)), domains.get(*domain)) else {
                continue;
            };
            let (place, via) = (row.place, row.via);
            let ask = self.stock.take_of(domain.ask, place).map(|take| take.ask.clone()).unwrap_or_default();
            members.push(Member { ad: AdId(place), bond: Some(Bond { parent: 0, port, via }), ask });
        }
        Gang { members, score }
    }
}

/// What roots with one key come to.
#[derive(Debug)]
struct Planned {
    /// The number of the plan of each port.
    ports: Vec<usize>,
    gang_rank: bool,
}

/// How many strings, expressions and rows are remembered for each ad, beyond which everything is forgotten: what ads had
/// that are gone.
const REMEMBERED_PER_AD: usize = 200;
/// So many are always remembered.
const REMEMBERED_MIN: usize = 1_000_000;

/// How many conditions are remembered before all are forgotten.
const CONDITIONS_MAX: usize = 200_000;

/// What one cycle searches in.
#[derive(Default)]
struct Indexed {
    /// By the number of the root: what it shows of itself.
    key_of: Vec<Option<u32>>,
    class_of: Vec<Option<usize>>,
    /// Why roots that show the same have no gang.
    whys: HashMap<u32, Unmatched, RandomState>,
    classes: Vec<Class>,
    domains: Vec<Domain>,
    spokes: Vec<Option<Spoke>>,
}

/// Whether what was computed under one configuration holds under another.
fn alike(one: &Config, other: &Config) -> bool {
    one.rules == other.rules
        && one.limits == other.limits
        && one.prefer == other.prefer
        && std::ptr::fn_addr_eq(one.rank_of, other.rank_of)
}

/// The names that anybody in the pool reads of a root.
fn readers(table: &Table, snapshot: &Snapshot, resources: &Resources) -> Readers {
    let mut readers = Readers::default();
    for (_, template) in table.templates.used() {
        readers.names.extend(template.reads.iter().cloned());
        readers.members |= template.members;
    }
    readers.names.extend(resources.iter().map(|(name, _)| name.clone()));
    let mut last = None;
    for (_, ad) in snapshot.ads() {
        let Some(expr) = ad.offer().and_then(|offer| offer.shared_by.as_ref()) else { continue };
        if last.replace(expr).is_some_and(|last| last == expr) {
            continue;
        }
        for path in classad::references(expr) {
            readers.members |= path.iter().any(|name| name == "members");
            readers.anything |= path.len() == 1;
            readers.names.extend(path.get(1).cloned());
        }
        readers.anything |= classad::is_reflective(expr);
    }
    readers
}

/// Why a root has no gang: the same for all roots of a class that nothing tells apart.
fn explained(
    search: Option<&mut Indexed>,
    number: usize,
    pool: &Snapshot,
    root: &Root,
    gave_up: bool,
    config: &Config,
    now: i64,
) -> Unmatched {
    let shared = search.filter(|_| root.exclusions.is_empty() && config.rules == Rules::Product).and_then(|indexed| {
        let class = indexed.class_of.get(number).copied().flatten()?;
        let key = indexed.key_of.get(number).copied().flatten()?;
        indexed.classes.get(class).filter(|class| !class.reflective).map(|_| indexed.whys.entry(key))
    });
    let Some(shared) = shared else { return explain(pool, root, gave_up, config, now) };
    let why = shared.or_insert_with(|| explain(pool, root, gave_up, config, now));
    Unmatched { root: root.ad, ..why.clone() }
}

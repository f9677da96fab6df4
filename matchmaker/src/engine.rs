//! The engine: what it knows of a pool, kept from one cycle to the next, and the cycle itself.

mod ahead;
mod class;
mod explain;
mod fruitless;
mod prepare;
mod serve;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::budget::{Accounts, Owners};
use crate::cycle::{Cycle, Queue};
use crate::gang::Gang;
use crate::index::asks::Resources;
use crate::index::classes::{KeyOf, RootKeys};
use crate::index::plan::{Made, PortPlan};
use crate::index::preds::Preds;
use crate::index::ranks::Ranks;
use crate::index::roots::Roots;
use crate::index::stock::Stock;
use crate::model::{AdKey, Config, Search, Snapshot};
use crate::naive;
use crate::ports::Rules;
use crate::search::agreed::Agreed;
use crate::search::check::Checker;
use crate::search::domain::Known;
use crate::table::{Bits, Table, as_u32, as_usize};
use fruitless::Fruitless;
use prepare::{Indexed, Planned};

/// Negotiates, and remembers between cycles what depends on the ads alone. What it remembers never changes an answer.
#[derive(Debug)]
pub struct Engine {
    table: Table,
    preds: Preds,
    ranks: Ranks,
    stock: Stock,
    /// Rows of which nothing is left for anybody.
    full: Bits,
    roots: Roots,
    keys: RootKeys,
    /// By the number of a root's key: what its ports come to.
    plans: Vec<Option<Planned>>,
    made: Made,
    plan_ids: HashMap<PortPlan, usize, RandomState>,
    /// The plans by number.
    ports: Vec<PortPlan>,
    /// The resources of the pool that plans were made for.
    planned_for: Resources,
    /// By place in the snapshot before: the number of a root's key, and whether its expressions read more than that tells.
    key_of_place: Vec<Option<KeyOf>>,
    agreed: Agreed,
    fruitless: Fruitless,
    /// The rows of the gang found last, by port, if it was found by rows.
    bound: Vec<u32>,
    /// What the expressions of offers have cost in this cycle.
    owners: Owners,
    /// The root that was explained last, of submitters for whose roots there was not time enough.
    explained: BTreeMap<Arc<str>, AdKey>,
    before: Snapshot,
    /// How many gangs there were in the cycle before: about as many as there will be.
    gangs_before: usize,
    settings: Option<Config>,
    /// How many cycles there were since everything was forgotten, and what the tables took in memory after the first one.
    cycles: u64,
    tables_bytes: usize,
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
    /// Searches that were not made again: they had found nothing before, and nothing that matters has changed since.
    pub fruitless: u64,
    /// Gangs that the evaluator was asked about: those with a condition that it had not found true of the same values.
    pub looks: u64,
    /// Conditions on one partner.
    pub conditions: u64,
    /// What it took to read expressions that were not known before, in steps.
    pub read: u64,
    /// Groups of roots whose ports were planned anew.
    pub planned: u64,
    /// What everything that is kept for the next cycle, and could be worked out again, takes in memory, about.
    pub answers_bytes: usize,
}

/// A cycle before anybody has asked why.
struct Run {
    cycle: Cycle,
    failed: Vec<Failed>,
    ledger: Ledger,
    indexed: Option<Indexed>,
}

/// What roots are served with.
struct Serve<'s> {
    snapshot: &'s Snapshot,
    config: &'s Config,
    now: i64,
    checker: Checker<'s>,
    accounts: Accounts,
    /// What is not found now is not found in this cycle.
    last: bool,
}

/// A root without a gang.
#[derive(Clone, Copy)]
struct Failed {
    /// Its number.
    root: u32,
    /// The number of its submitter.
    submitter: u32,
    /// The search was cut short.
    gave_up: bool,
}

/// A cycle's snapshot with what its gangs have taken: most searches do without it, so it is only brought up to date for those
/// that read it.
struct Ledger {
    pool: Snapshot,
    rules: Rules,
    /// How many gangs have been counted.
    counted: usize,
}

impl Ledger {
    fn of(snapshot: &Snapshot, rules: Rules) -> Ledger {
        let mut pool = snapshot.without_roots();
        pool.taken.clear();
        Ledger { pool, rules, counted: 0 }
    }

    /// The snapshot after all gangs of the cycle so far.
    fn after(&mut self, gangs: &[Gang]) -> &Snapshot {
        for member in gangs.iter().skip(self.counted).flat_map(|gang| &gang.members) {
            self.pool.take(member.ad, &member.ask);
            if self.rules == Rules::Paper {
                self.pool.consumed.insert(member.ad);
            }
        }
        self.counted = gangs.len();
        &self.pool
    }

    /// The ads alone.
    fn ads(&self) -> &Snapshot {
        &self.pool
    }
}

/// What the plan of a port takes in memory, about, beside what it shares with others.
const PORT_BYTES: usize = 3 * size_of::<PortPlan>();

impl Default for Engine {
    fn default() -> Engine {
        Engine::new()
    }
}

/// What part of a cycle's steps may go, each, into reading new ads into the index and into explanations.
const SIDE_SHARE: u64 = 4;

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new() -> Engine {
        let config = Config::product();
        Engine {
            table: Table::new(config.limits),
            preds: Preds::default(),
            ranks: Ranks::default(),
            stock: Stock::default(),
            full: Bits::default(),
            roots: Roots::default(),
            keys: RootKeys::default(),
            plans: Vec::new(),
            made: Made::default(),
            plan_ids: HashMap::default(),
            ports: Vec::new(),
            planned_for: Vec::new(),
            key_of_place: Vec::new(),
            agreed: Agreed::default(),
            fruitless: Fruitless::default(),
            bound: Vec::new(),
            owners: Owners::new(config.owner_steps_max),
            explained: BTreeMap::new(),
            before: Snapshot::default(),
            gangs_before: 0,
            settings: None,
            cycles: 0,
            tables_bytes: 0,
            stats: Stats::default(),
        }
    }

    /// Forgets every answer, and keeps the ads in their columns: for benchmarks of what a cycle costs from there on.
    pub fn forget_answers(&mut self) {
        self.forget_plans();
        self.keys.forget();
        self.agreed = Agreed::default();
        self.fruitless = Fruitless::default();
        self.key_of_place.clear();
        self.table.words.forget_said();
    }

    /// What everything that could be worked out again takes in memory, about.
    fn answers_bytes(&self) -> usize {
        let index = self.preds.bytes() + self.ranks.bytes() + self.made.bytes() + self.keys.bytes();
        let plans = self.plans.len() * size_of::<Option<Planned>>() + self.ports.len() * PORT_BYTES;
        index + plans + self.agreed.bytes() + self.fruitless.bytes() + self.table.words.said_bytes()
    }

    fn forget_plans(&mut self) {
        self.preds = Preds::default();
        self.ranks = Ranks::default();
        self.plans.clear();
        self.made = Made::default();
        self.plan_ids.clear();
        self.ports.clear();
    }

    /// One cycle, see [`crate::negotiate`].
    pub fn negotiate(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        let run = self.run(snapshot, config, now);
        self.explain(run, snapshot, config, now)
    }

    /// The same without a word on the roots that stay without a gang.
    pub fn gangs(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        self.run(snapshot, config, now).cycle
    }

    fn run(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Run {
        let ledger = Ledger::of(snapshot, config.rules);
        // At first all may get one.
        let roots = snapshot.roots.len();
        let likely = Some(self.gangs_before).filter(|gangs| *gangs > 0).unwrap_or(roots).min(roots);
        let cycle = Cycle { gangs: Vec::with_capacity(likely), ..Cycle::default() };
        let failed = Vec::with_capacity(roots - likely);
        let mut queue = Queue::of(snapshot);
        let mut accounts = Accounts::of(queue.names(), &snapshot.frugal, config.cycle_steps_max);
        self.owners = Owners::new(config.owner_steps_max);
        snapshot.barred.iter().for_each(|namespace| self.owners.bar(namespace));
        let checker = Checker::new(snapshot, config, now);
        let indexed = match config.search {
            Search::Indexed => Some(self.prepare(snapshot, config, now, &mut accounts)),
            Search::Naive => None,
        };
        let mut run = Run { cycle, failed, ledger, indexed };
        let mut serve = Serve { snapshot, config, now, checker, accounts, last: false };
        self.serve(&mut queue, &mut run, &mut serve);
        // What others have left, for those that need more.
        let among = queue.again();
        serve.accounts.share_rest(among.into_iter());
        serve.last = true;
        self.serve(&mut queue, &mut run, &mut serve);
        if config.stop.is_set() {
            serve.accounts.exceed_most();
        }
        run.cycle.over_budget = serve.accounts.exceeded();
        run.cycle.barred = std::mem::replace(&mut self.owners, Owners::new(0)).into_barred();
        if run.indexed.is_some() && !self.fruitless.is_empty() {
            self.fruitless.end(run.ledger.after(&run.cycle.gangs));
        }
        self.stats.answers_bytes = self.answers_bytes();
        self.gangs_before = run.cycle.gangs.len();
        run
    }

    /// Serves the roots of a queue. Those whose submitters have no steps left are put aside, unless it is the last time.
    fn serve(&mut self, queue: &mut Queue<'_>, run: &mut Run, serve: &mut Serve<'_>) {
        let (config, now) = (serve.config, serve.now);
        while let Some(turn) = queue.next() {
            let Run { cycle, failed, ledger, indexed } = run;
            if config.stop.is_set() {
                cycle.skipped.push(turn.ad);
                continue;
            }
            if config.rules == Rules::Paper && ledger.after(&cycle.gangs).consumed.contains(&turn.ad) {
                continue;
            }
            let found = match indexed {
                Some(indexed) => {
                    self.bound.clear();
                    self.best(indexed, ledger, turn, serve, cycle)
                }
                None => naive::best(ledger.after(&cycle.gangs), turn.ad, &turn.root.exclusions, config, now).into(),
            };
            if config.stop.is_set() && found.gave_up && cycle.ended_at.is_none() {
                cycle.ended_at = Some(turn.ad);
            } else if found.short && !serve.last {
                queue.put_aside(&turn);
                continue;
            }
            if found.short {
                serve.accounts.exceed(turn.submitter);
            }
            let Some(gang) = found.gang else {
                let (root, submitter) = (as_u32(turn.number), as_u32(turn.submitter));
                failed.push(Failed { root, submitter, gave_up: found.gave_up });
                continue;
            };
            if found.gave_up {
                cycle.cut_short.push(turn.ad);
            }
            queue.charge();
            cycle.gangs.push(gang);
            self.charge(ledger, &cycle.gangs, config.rules);
        }
    }

    /// Takes what the last gang takes.
    fn charge(&mut self, ledger: &mut Ledger, gangs: &[Gang], rules: Rules) {
        for (number, member) in gangs.last().map_or(&[][..], |gang| &gang.members).iter().enumerate() {
            if !self.stock.charge(member.ad, &member.ask) {
                self.stock.recount(ledger.after(gangs), member.ad);
            }
            if rules == Rules::Paper {
                self.stock.consume(member.ad.place());
            }
            if self.stock.is_full(member.ad.place()) {
                self.fill_up(number, member.ad.place());
            }
        }
    }

    /// Marks the rows of an ad, a member of the last gang, of which nothing is left.
    fn fill_up(&mut self, number: usize, place: usize) {
        match number.checked_sub(1).and_then(|port| self.bound.get(port)) {
            Some(row) => self.table.rows_with(*row).for_each(|row| self.full.set(as_usize(row), true)),
            None => self.table.rows_of(place).for_each(|row| self.full.set(row, true)),
        }
    }

    fn known(&mut self) -> Known<'_> {
        let (table, preds, ranks, stock) = (&mut self.table, &mut self.preds, &mut self.ranks, &mut self.stock);
        Known { table, preds, ranks, stock, full: &self.full, doubt: false }
    }
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

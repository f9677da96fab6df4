//! The index as a finder of gangs: what it knows of a pool, kept from one cycle to the next, and what it is asked in a cycle.

mod class;
mod fruitless;
mod listing;
mod prepare;
mod run;
mod serve;
mod variety;

use std::collections::{BTreeMap, HashMap};

use classad::Limits;
use foldhash::fast::RandomState;
use matchmaker::{
    AdId, Ahead, Answer, Asked, Collective, Config, Cycle, Explained, Finder, Found, Listed, Needs, Plain, Round,
    Snapshot, Together, Turn, negotiate_together,
};

use crate::index::asks::Resources;
use crate::index::availability::Availability;
use crate::index::classes::{KeyOf, RootKeys};
use crate::index::job_columns::JobColumns;
use crate::index::plan::{PlanCache, PortPlan};
use crate::index::preds::Preds;
use crate::index::ranks::Ranks;
use crate::search::candidates::Known;
use crate::search::verified::VerifiedCache;
use crate::table::{Bits, Table, as_usize};
use fruitless::Fruitless;
use run::{Planned, Run};

/// Finds gangs by indexes over all ads, and remembers between cycles what depends on the ads alone. What it remembers never
/// changes an answer.
#[derive(Debug)]
pub struct Indexed {
    tables: Tables,
    plans: Plans,
    agreed: VerifiedCache,
    fruitless: Fruitless,
    explained: Explained,
    before: Snapshot,
    limits: Option<Limits>,
    /// How many cycles there were since everything was forgotten, and what the tables took in memory after the first one.
    cycles: u64,
    tables_bytes: usize,
    /// What the last cycle did.
    pub stats: Stats,
}

/// What is known of offers.
#[derive(Debug)]
struct Tables {
    table: Table,
    preds: Preds,
    ranks: Ranks,
    availability: Availability,
    /// Rows with no free amounts.
    full: Bits,
}

/// What is known of roots, and what their ports come to.
#[derive(Debug, Default)]
struct Plans {
    roots: JobColumns,
    keys: RootKeys,
    /// By place in the snapshot before: the number of a root's key, and whether its expressions read more than that tells.
    key_of_place: Vec<Option<KeyOf>>,
    /// By the number of a root's key: what its ports come to.
    list: Vec<Option<Planned>>,
    made: PlanCache,
    ids: HashMap<PortPlan, usize, RandomState>,
    /// The plans by number.
    ports: Vec<PortPlan>,
    /// The resources of the pool that plans were made for.
    resources: Resources,
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

/// What the plan of a port takes in memory, about, beside what it shares with others.
const PORT_BYTES: usize = 3 * size_of::<PortPlan>();

/// One cycle by an index that knows nothing yet, see [`matchmaker::negotiate`].
pub fn negotiate(snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
    Indexed::new().negotiate(snapshot, config, now)
}

impl Default for Indexed {
    fn default() -> Indexed {
        Indexed::new()
    }
}

impl Indexed {
    /// An index that knows nothing yet.
    pub fn new() -> Indexed {
        Indexed {
            tables: Tables::new(Config::product().limits),
            plans: Plans::default(),
            agreed: VerifiedCache::default(),
            fruitless: Fruitless::default(),
            explained: Explained::default(),
            before: Snapshot::default(),
            limits: None,
            cycles: 0,
            tables_bytes: 0,
            stats: Stats::default(),
        }
    }

    /// One cycle, see [`matchmaker::negotiate`].
    pub fn negotiate(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        matchmaker::negotiate(snapshot, config, now, self)
    }

    /// The same without a word on the roots that stay without a gang.
    pub fn gangs(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        matchmaker::negotiate(snapshot, &Config { explains: false, ..config.clone() }, now, self)
    }

    /// Forgets every answer, and keeps the ads in their columns.
    pub fn forget_answers(&mut self) {
        self.tables.forget_answers();
        self.plans.forget();
        self.plans.keys.forget();
        self.plans.key_of_place.clear();
        self.agreed = VerifiedCache::default();
        self.fruitless = Fruitless::default();
        self.tables.table.words.forget_said();
    }

    /// What everything that could be worked out again takes in memory, about.
    fn answers_bytes(&self) -> usize {
        let index = self.tables.preds.bytes() + self.tables.ranks.bytes() + self.plans.bytes();
        index + self.agreed.bytes() + self.fruitless.bytes() + self.tables.table.words.said_bytes()
    }
}

impl Tables {
    fn new(limits: Limits) -> Tables {
        Tables {
            table: Table::new(limits),
            preds: Preds::default(),
            ranks: Ranks::default(),
            availability: Availability::default(),
            full: Bits::default(),
        }
    }

    fn known(&mut self) -> Known<'_> {
        let Tables { table, preds, ranks, availability, full } = self;
        Known { table, preds, ranks, availability, full, doubt: false }
    }

    fn forget_answers(&mut self) {
        self.preds = Preds::default();
        self.ranks = Ranks::default();
    }
}

impl Plans {
    fn forget(&mut self) {
        self.list.clear();
        self.made = PlanCache::default();
        self.ids.clear();
        self.ports.clear();
    }

    fn bytes(&self) -> usize {
        let plans = self.list.len() * size_of::<Option<Planned>>() + self.ports.len() * PORT_BYTES;
        self.made.bytes() + self.keys.bytes() + plans
    }
}

impl Finder for Indexed {
    type Run<'s> = Run<'s>;

    fn begin<'s>(&mut self, round: &mut Round<'s>) -> Run<'s> {
        self.prepare(round)
    }

    fn candidates<'s>(&mut self, run: &mut Run<'s>, turn: &Turn<'s>, round: &mut Round<'s>) -> Option<Vec<Vec<AdId>>> {
        self.candidates_of(run, turn, round)
    }

    fn alike<'s>(&mut self, run: &mut Run<'s>, turns: &[Turn<'s>], round: &mut Round<'s>) -> BTreeMap<AdId, AdId> {
        self.alike_of(run, turns, round)
    }

    fn list<'s>(&mut self, run: &mut Run<'s>, turn: &Turn<'s>, round: &mut Round<'s>, cap: usize) -> Option<Listed> {
        self.list_of(run, turn, round, cap)
    }

    fn kind<'s>(&mut self, run: &mut Run<'s>, turn: &Turn<'s>, round: &mut Round<'s>) -> Option<usize> {
        self.kind_of(run, turn, round)
    }

    fn needs<'s>(&mut self, run: &mut Run<'s>, turn: &Turn<'s>, round: &mut Round<'s>) -> Option<Needs> {
        self.needs_of(run, turn, round)
    }

    fn best<'s>(&mut self, run: &mut Run<'s>, turn: &Turn<'_>, round: &mut Round<'s>) -> Found {
        run.bound.clear();
        self.serve(run, turn, round)
    }

    fn restart<'s>(&mut self, run: &mut Run<'s>, round: &mut Round<'s>) {
        self.fruitless.restart();
        if !run.restart() {
            round.ahead = Ahead::Restarts;
            *run = self.prepare(round);
            return;
        }
        self.tables.availability.restart();
        self.tables.full = self.tables.availability.full_rows(&self.tables.table);
    }

    fn took(&mut self, run: &mut Run<'_>, round: &mut Round<'_>) {
        let Tables { table, availability, full, .. } = &mut self.tables;
        for (number, member) in round.cycle.gangs.last().map_or(&[][..], |gang| &gang.members).iter().enumerate() {
            let place = member.ad.place();
            let is_full = availability.charge(member.ad, &member.ask).unwrap_or_else(|| {
                availability.recount(round.left.after(&round.cycle.gangs), member.ad);
                availability.is_full(place)
            });
            if is_full {
                match number.checked_sub(1).and_then(|port| run.bound.get(port)) {
                    Some(row) => table.rows_with(*row).for_each(|row| full.set(as_usize(row), true)),
                    None => table.rows_of(place).for_each(|row| full.set(row, true)),
                }
            }
        }
    }

    fn end(&mut self, _: &mut Run<'_>, round: &mut Round<'_>) {
        if !self.fruitless.is_empty() {
            self.fruitless.end(round.pool());
        }
        self.stats.answers_bytes = self.answers_bytes();
    }

    fn why(&mut self, run: &mut Run<'_>, asked: &Asked<'_>, round: &mut Round<'_>) -> Answer {
        let (key, reflective) = run.shows(asked.number);
        run.whys.why(asked, key, reflective, round, &mut self.tables.known())
    }

    fn explained(&mut self) -> &mut Explained {
        &mut self.explained
    }
}

/// The finder that an operator chooses. Both find the same gangs; the plain one is slow, and for diagnosis.
#[derive(Debug)]
pub enum Engine {
    /// By indexes over all ads.
    Indexed(Box<Indexed>),
    /// One ad after the other.
    Plain(Plain),
}

impl Default for Engine {
    fn default() -> Engine {
        Engine::Indexed(Box::default())
    }
}

impl Engine {
    /// One cycle, see [`matchmaker::negotiate`].
    pub fn negotiate(&mut self, snapshot: &Snapshot, config: &Config, now: i64) -> Cycle {
        match self {
            Engine::Indexed(finder) => finder.negotiate(snapshot, config, now),
            Engine::Plain(finder) => matchmaker::negotiate(snapshot, config, now, finder),
        }
    }

    /// The same for roots that are placed together, see [`matchmaker::negotiate_together`].
    pub fn negotiate_together(
        &mut self,
        snapshot: &Snapshot,
        config: &Config,
        now: i64,
        collective: &Collective,
    ) -> Together {
        match self {
            Engine::Indexed(finder) => negotiate_together(snapshot, config, now, &mut **finder, collective),
            Engine::Plain(finder) => negotiate_together(snapshot, config, now, finder, collective),
        }
    }
}

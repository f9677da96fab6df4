//! The interface between a cycle and a search for gangs. Every search gives the same results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::budget::{CycleCosts, Owners, StepShares};
use policy::Amount;

use crate::capacity::Ask;
use crate::charges::MemberCharges;
use crate::cycle::Ahead;
use crate::gang::Gang;
use crate::model::{AdId, AdKey, Config, Root, Snapshot};
use crate::plain::{Found, Listed};
use crate::why_not::{Unmatched, Verdict, WhyNot};

/// Finds the best gang of a root, given what the cycle has taken so far. [`Plain`](crate::Plain) defines the result; any other
/// finder must find the same, but may be faster.
pub trait Finder {
    /// Its data for one cycle.
    type Run<'s>;

    /// Prepares a cycle, on account of the submitters.
    fn begin<'s>(&mut self, round: &mut Round<'s>) -> Self::Run<'s>;

    /// The ads that may be bound to each port of a root, in order: all that can be, and perhaps others. `None`: every ad may be. To be asked
    /// before any root has been searched.
    fn candidates<'s>(&mut self, _: &mut Self::Run<'s>, _: &Turn<'s>, _: &mut Round<'s>) -> Option<Vec<Vec<AdId>>> {
        None
    }

    /// Offers that are alike for these roots, each with the first one that is like it. They have as much free, each root takes the same amounts
    /// of them, and a gang of these roots keeps its score if one takes the place of another. To be asked before any root has been searched;
    /// [`Finder::list`] knows it then.
    fn alike<'s>(&mut self, _: &mut Self::Run<'s>, _: &[Turn<'s>], _: &mut Round<'s>) -> BTreeMap<AdId, AdId> {
        BTreeMap::new()
    }

    /// Up to so many gangs of a root, of what the cycle has left. Of gangs that differ only in offers that are
    /// [alike](Finder::alike), the one with the first offers is listed. `None` if only the evaluator knows them.
    fn list<'s>(&mut self, _: &mut Self::Run<'s>, _: &Turn<'s>, _: &mut Round<'s>, _: usize) -> Option<Listed> {
        None
    }

    /// The number of a root's kind, if it has one. Roots of one kind have the same gangs, each with its own root: it suffices to
    /// [list](Finder::list) those of one of them.
    fn kind<'s>(&mut self, _: &mut Self::Run<'s>, _: &Turn<'s>, _: &mut Round<'s>) -> Option<usize> {
        None
    }

    /// What every gang of a root needs, whatever is taken: for each port to which only few offers can be bound, those offers and what the
    /// gang takes of one of them. `None` if that is not known. May be asked until the next cycle begins.
    fn needs<'s>(&mut self, _: &mut Self::Run<'s>, _: &Turn<'s>, _: &mut Round<'s>) -> Option<Needs> {
        None
    }

    /// The best gang of a root as things are now.
    fn best<'s>(&mut self, run: &mut Self::Run<'s>, turn: &Turn<'_>, round: &mut Round<'s>) -> Found;

    /// Begins a cycle again that was begun with [`Ahead::Restarts`]: nothing has been searched, nothing is taken, and the submitters have new
    /// shares.
    fn restart<'s>(&mut self, run: &mut Self::Run<'s>, round: &mut Round<'s>) {
        *run = self.begin(round);
    }

    /// Is called when a gang has been added to the cycle: the last one.
    fn took(&mut self, run: &mut Self::Run<'_>, round: &mut Round<'_>);

    /// Is called when every root has been searched.
    fn end(&mut self, run: &mut Self::Run<'_>, round: &mut Round<'_>);

    /// Why a root has no gang.
    fn why(&mut self, run: &mut Self::Run<'_>, asked: &Asked<'_>, round: &mut Round<'_>) -> Answer;

    /// What is kept of explanations until the next cycle.
    fn explained(&mut self) -> &mut Explained;
}

/// Lists of offers, each with what is taken of it: of each list one offer is needed.
pub type Needs = Vec<Vec<(AdId, Ask)>>;

/// A root that is to be searched.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'s> {
    /// Its number among the snapshot's roots.
    pub number: usize,
    /// Its ad.
    pub ad: AdId,
    /// The number of its submitter.
    pub submitter: usize,
    /// Some offers are excluded.
    pub excludes: bool,
    /// The root itself; the fields above are copies, which are faster to read.
    pub root: &'s Root,
}

/// The result of one cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// The gangs found, in the order in which their roots were served.
    pub gangs: Vec<Gang>,
    /// What the members of these gangs cost, each with its root; nothing without accounts.
    pub charges: Vec<(AdId, MemberCharges)>,
    /// The other roots and the reasons, as things are after the cycle, except for those below.
    pub unmatched: Vec<Unmatched>,
    /// Roots whose gang may not be the best one: the search ran out of steps before it had tried all gangs.
    pub cut_short: Vec<AdId>,
    /// Roots without a gang whose search was cut short.
    pub gave_up: Vec<AdId>,
    /// What the cycle has cost, and which namespaces cost too much.
    pub costs: CycleCosts,
    /// Roots that were not searched, because the cycle was ended from outside.
    pub skipped: Vec<AdId>,
    /// The root that was being searched when the cycle was ended from outside.
    pub ended_at: Option<AdId>,
    /// Roots without a gang and without a reason, for want of steps; later cycles find it.
    pub unexplained: Vec<AdId>,
    /// Roots with a gang of the index that the evaluator did not confirm, which is a defect of the index. The plain search served
    /// them.
    pub disagreements: Vec<AdId>,
}

impl Cycle {
    /// The roots without a gang that may have one once others have ended: those of which that is known, and those that were searched to the
    /// end and whose reason is not known, because it takes more steps than there were for it.
    pub fn short_of_capacity(&self) -> BTreeSet<AdId> {
        let gave_up: BTreeSet<AdId> = self.gave_up.iter().copied().collect();
        let with = |is: fn(&Verdict) -> bool| self.unmatched.iter().filter(move |own| is(&own.why.verdict));
        let unknown = with(|why| *why == Verdict::GaveUp).map(|own| &own.root).chain(&self.unexplained);
        let unknown = unknown.filter(|root| !gave_up.contains(root)).copied();
        with(|why| *why == Verdict::WaitingForCapacity).map(|own| own.root).chain(unknown).collect()
    }

    /// The same, and those that would exceed a quota.
    pub fn short_of_capacity_or_quota(&self) -> BTreeSet<AdId> {
        let exceeds = |own: &&Unmatched| matches!(own.why.verdict, Verdict::QuotaExceeded(_));
        let mut short = self.short_of_capacity();
        short.extend(self.unmatched.iter().filter(exceeds).map(|own| own.root));
        short
    }

    /// The gangs of which it is known what their members cost, with that.
    pub(crate) fn charged(&self) -> impl Iterator<Item = (&Gang, &[Amount])> {
        let charges: BTreeMap<AdId, &[Amount]> = self.charges.iter().map(|(root, own)| (*root, &**own)).collect();
        self.gangs.iter().filter_map(move |gang| Some((gang, *charges.get(&gang.root()?)?)))
    }
}

/// A cycle in progress: its input, what it may cost, and its result so far.
#[derive(Debug)]
pub struct Round<'s> {
    /// The pool at the start.
    pub snapshot: &'s Snapshot,
    /// The settings of the operator.
    pub config: &'s Config,
    /// The time, in seconds since 1970.
    pub now: i64,
    /// What each submitter may spend.
    pub shares: StepShares,
    /// What the expressions of offers have cost others.
    pub owners: Owners,
    /// There will be no other search in this cycle.
    pub last: bool,
    /// Whether the cycle may be begun again.
    pub ahead: Ahead,
    /// The result so far.
    pub cycle: Cycle,
    /// What is left in the pool.
    pub left: Left,
}

impl<'s> Round<'s> {
    /// A cycle that begins.
    pub(crate) fn of<'n>(
        snapshot: &'s Snapshot,
        config: &'s Config,
        now: i64,
        submitters: impl Iterator<Item = &'n Arc<str>>,
    ) -> Round<'s> {
        let shares = StepShares::of(submitters, &snapshot.frugal, config.cycle_steps_max);
        let mut owners = Owners::new(config.owner_steps_max);
        snapshot.barred.iter().for_each(|namespace| owners.bar(namespace));
        let counting = snapshot.accounts.iter().flat_map(|accounts| &accounts.counting);
        counting.chain(&snapshot.owners_fuel).for_each(|(namespace, fuel)| owners.pay(namespace, *fuel));
        let left = Left { pool: snapshot.as_it_began(), counted: 0 };
        let (last, ahead, cycle) = (false, Ahead::Nothing, Cycle::default());
        Round { snapshot, config, now, shares, owners, last, ahead, cycle, left }
    }

    /// Records the submitters and the namespaces that have cost too much.
    pub(crate) fn end(&mut self) {
        if self.config.stop.is_set() {
            self.shares.exceed_most();
        }
        let costs = &mut self.cycle.costs;
        costs.over_budget = self.shares.exceeded();
        (costs.barred, costs.owners_fuel) = (self.owners.barred().clone(), self.owners.paid().clone());
    }

    /// The pool as the gangs so far have left it.
    pub fn pool(&mut self) -> &Snapshot {
        self.left.after(&self.cycle.gangs)
    }
}

/// The pool and what the gangs of a cycle have taken. Most searches do not need it, so it is updated when it is read.
#[derive(Debug)]
pub struct Left {
    pool: Snapshot,
    /// How many gangs are subtracted.
    counted: usize,
}

impl Left {
    /// The pool after these gangs, which are all gangs of the cycle so far.
    pub fn after(&mut self, gangs: &[Gang]) -> &Snapshot {
        gangs.iter().skip(self.counted).flat_map(Gang::asks).for_each(|(ad, ask)| self.pool.take(ad, ask));
        self.counted = gangs.len();
        &self.pool
    }
}

/// A root without a gang that is to be explained, and what the explanation may cost.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The root.
    pub root: &'a Root,
    /// Its number among the snapshot's roots.
    pub number: usize,
    /// The search for a gang was cut short.
    pub gave_up: bool,
    /// How many steps the explanation may take.
    pub steps_max: u64,
    /// There will be no more steps later: an incomplete explanation counts.
    pub last: bool,
}

/// A reason and its cost.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Why there is no gang; `None` if that takes more steps.
    pub why: Option<Arc<WhyNot>>,
    /// How many steps that took.
    pub steps: u64,
}

impl Answer {
    /// The answer if there are no steps for it.
    pub fn for_nothing(asked: &Asked<'_>) -> Answer {
        Answer { why: asked.gave_up.then(|| Arc::new(WhyNot::of(Verdict::GaveUp))), steps: 0 }
    }
}

/// By submitter with roots that were not explained for want of steps: the root that was explained last.
pub type Explained = BTreeMap<Arc<str>, AdKey>;

//! What a cycle asks of a search for gangs: whatever the way, the same answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::{Accounts, Owners};
use crate::cycle::Cycle;
use crate::gang::Gang;
use crate::model::{AdId, AdKey, Config, Root, Snapshot};
use crate::why_not::{Verdict, WhyNot};

/// Finds the best gang of a root, given what the cycle has taken so far. [`Plain`](crate::Plain) defines the answer; any other
/// finder must give the same one sooner.
pub trait Finder {
    /// What it keeps for the length of one cycle.
    type Run<'s>;

    /// Gets ready for a cycle. What that takes is paid from the accounts of the submitters.
    fn begin<'s>(&mut self, round: &mut Round<'s>) -> Self::Run<'s>;

    /// The best gang of a root as things are now.
    fn best<'s>(&mut self, run: &mut Self::Run<'s>, turn: &Turn<'s>, round: &mut Round<'s>) -> Found;

    /// The last gang of the cycle was just taken.
    fn took(&mut self, run: &mut Self::Run<'_>, round: &mut Round<'_>);

    /// Every root has had its turn.
    fn end(&mut self, run: &mut Self::Run<'_>, round: &mut Round<'_>);

    /// Why a root has no gang.
    fn why(&mut self, run: &mut Self::Run<'_>, asked: &Asked<'_>, round: &mut Round<'_>) -> Answer;

    /// What is to be remembered of explanations until the next cycle.
    fn explained(&mut self) -> &mut Explained;
}

/// A root whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'s> {
    /// Its number among the snapshot's roots.
    pub number: usize,
    /// Its ad.
    pub ad: AdId,
    /// The number of its submitter.
    pub submitter: usize,
    /// Some offers are not to be asked.
    pub excludes: bool,
    /// Itself; what is said above is known without looking there.
    pub root: &'s Root,
}

/// What a search for the best gang came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The best gang seen.
    pub gang: Option<Gang>,
    /// The steps ran out: a better one, or the only one, may have been missed.
    pub gave_up: bool,
    /// They were those of its submitter: with more of them there may be another answer.
    pub short: bool,
    /// The evaluator did not find the gang to be one that was found first; this is the plain search's.
    pub disagreed: bool,
}

/// A cycle under way: what it is given, what it may cost, and what it has come to so far.
#[derive(Debug)]
pub struct Round<'s> {
    /// The pool at the start.
    pub snapshot: &'s Snapshot,
    /// What the operator has decided.
    pub config: &'s Config,
    /// The time, in seconds since 1970.
    pub now: i64,
    /// What each submitter may spend.
    pub accounts: Accounts,
    /// What the expressions of offers have cost others.
    pub owners: Owners,
    /// What is not found now is not found in this cycle.
    pub last: bool,
    /// What was found so far.
    pub cycle: Cycle,
    /// What is left in the pool.
    pub left: Left,
}

impl<'s> Round<'s> {
    /// A cycle that has just begun.
    pub(crate) fn of<'n>(
        snapshot: &'s Snapshot,
        config: &'s Config,
        now: i64,
        submitters: impl Iterator<Item = &'n Arc<str>>,
    ) -> Round<'s> {
        let accounts = Accounts::of(submitters, &snapshot.frugal, config.cycle_steps_max);
        let mut owners = Owners::new(config.owner_steps_max);
        snapshot.barred.iter().for_each(|namespace| owners.bar(namespace));
        let left = Left { pool: snapshot.as_it_began(), counted: 0 };
        Round { snapshot, config, now, accounts, owners, last: false, cycle: Cycle::default(), left }
    }

    /// Notes who has cost too much.
    pub(crate) fn end(&mut self) {
        if self.config.stop.is_set() {
            self.accounts.exceed_most();
        }
        self.cycle.over_budget = self.accounts.exceeded();
        self.cycle.barred = self.owners.barred().clone();
    }

    /// The pool as the gangs so far have left it.
    pub fn pool(&mut self) -> &Snapshot {
        self.left.after(&self.cycle.gangs)
    }
}

/// A pool with what the gangs of a cycle have taken. Most searches do without it: it is brought up to date when it is read.
#[derive(Debug)]
pub struct Left {
    pool: Snapshot,
    /// How many gangs have been counted.
    counted: usize,
}

impl Left {
    /// The pool after these gangs, which are all of the cycle so far.
    pub fn after(&mut self, gangs: &[Gang]) -> &Snapshot {
        for member in gangs.iter().skip(self.counted).flat_map(|gang| &gang.members) {
            self.pool.take(member.ad, &member.ask);
        }
        self.counted = gangs.len();
        &self.pool
    }
}

/// A root without a gang that is to be told why, and what the answer may cost.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The root.
    pub root: &'a Root,
    /// Its number among the snapshot's roots.
    pub number: usize,
    /// The search for a gang was cut short.
    pub gave_up: bool,
    /// How many steps the answer may take.
    pub steps_max: u64,
    /// Later there will be no more steps: what is known then is the answer.
    pub last: bool,
}

/// A reason, and its cost.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Why there is no gang; none if it takes more steps to say so.
    pub why: Option<Arc<WhyNot>>,
    /// What it took to find out.
    pub steps: u64,
}

impl Answer {
    /// The answer to a question for which there are no steps.
    pub fn for_nothing(asked: &Asked<'_>) -> Answer {
        Answer { why: asked.gave_up.then(|| Arc::new(WhyNot::of(Verdict::GaveUp))), steps: 0 }
    }
}

/// By submitter for whose roots there were not steps enough: the root that was explained last.
pub type Explained = BTreeMap<Arc<str>, AdKey>;

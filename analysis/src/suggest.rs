//! Looks for the smallest changes of a root's ad that give it a gang: one or two conjuncts that are left out or that ask for something
//! else, or a smaller request. Every change that is suggested was tried: a search has found the gang.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use classad::Expr;
use matchmaker::{AdId, Config, Finder, Misfit, PoolAd, Ports, Root, Snapshot, negotiate};

use crate::inspect::{Inspected, Pair};

mod edit;
mod nearer;
mod unknown;

pub use edit::with_changes;
pub use unknown::{Unknown, Word, unknown};

/// One change of a root's ad.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A conjunct is left out.
    Drop {
        /// The number of the port.
        port: usize,
        /// The number of the conjunct.
        conjunct: usize,
    },
    /// A conjunct is replaced.
    Replace {
        /// The number of the port.
        port: usize,
        /// The number of the conjunct.
        conjunct: usize,
        /// What to write instead.
        with: Expr,
    },
    /// Less of a resource is requested.
    Request {
        /// The number of the port.
        port: usize,
        /// The resource.
        resource: String,
        /// The amount.
        amount: i64,
    },
}

impl Change {
    /// The number of the port that it changes.
    pub fn port(&self) -> usize {
        match self {
            Change::Drop { port, .. } | Change::Replace { port, .. } | Change::Request { port, .. } => *port,
        }
    }
}

/// Changes that together give a gang.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The changes: one or two.
    pub changes: Vec<Change>,
    /// How many open offers then agree at the port of the first change. None where that also depends on other partners.
    pub offers: Option<u64>,
    /// The partners of the gang that was found.
    pub gang: Vec<AdId>,
    /// There is a gang now. If not, there is one when nothing is taken.
    pub now: bool,
}

/// How many ways are kept of a port, how many changes are tried, and how many are returned.
const WAYS_MAX: usize = 6;
const TRIED_MAX: usize = 24;
const TOLD_MAX: usize = 4;
/// How many changes there may be at a time.
const CHANGES_MAX: usize = 2;

/// What is asked: a root without a gang, and what was found of it pair by pair.
pub struct Question<'q> {
    /// The pool as it is left for the root: nothing is taken of it in addition to what its offers say.
    pub pool: &'q Snapshot,
    /// The root.
    pub root: &'q Root,
    /// Of each port.
    pub inspected: &'q [Inspected],
    /// Whether the reader may see the values of an offer.
    pub may_tell: &'q dyn Fn(AdId) -> bool,
    /// The settings of the search.
    pub config: &'q Config,
    /// The time, in seconds since 1970.
    pub now: i64,
}

/// The smallest changes, the best first.
pub fn suggest<F: Finder>(question: &Question<'_>, finder: &mut F) -> Vec<Suggestion> {
    let Some(ad) = question.pool.ad(question.root.ad).filter(|ad| !ad.ports.has_sets()) else { return Vec::new() };
    let mut trials = Trials { question, ad, free: question.pool.emptied(), tried: Vec::new(), found: Vec::new() };
    for unknown in unknown(question.pool, question.root.ad, question.may_tell) {
        if let Some(change) = unknown.correction(question.inspected) {
            trials.attempt(vec![change], finder);
        }
    }
    for most in 1..=CHANGES_MAX {
        for way in ways(question.inspected, most) {
            let replaced = way.iter().map(|obstacle| trials.replaced(*obstacle)).collect::<Option<Vec<Change>>>();
            let changes = replaced.filter(|changes| trials.attempt(changes.clone(), finder));
            let dropped = way.iter().map(|obstacle| obstacle.dropped()).collect::<Option<Vec<Change>>>();
            if changes.is_none() || most == 1 {
                dropped.into_iter().for_each(|changes| _ = trials.attempt(changes, finder));
            }
        }
        if !trials.found.is_empty() {
            break;
        }
    }
    trials.finished(finder)
}

/// One thing of the root's own that stands against an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    Conjunct(usize, usize),
    Request(usize),
}

impl Obstacle {
    fn dropped(self) -> Option<Change> {
        match self {
            Obstacle::Conjunct(port, conjunct) => Some(Change::Drop { port, conjunct }),
            Obstacle::Request(_) => None,
        }
    }
}

/// What of its own a root has against an offer at a port, if its owner and its state allow it.
fn own_obstacles(port: usize, pair: &Pair) -> Option<BTreeSet<Obstacle>> {
    if !pair.admitted || !pair.open || !pair.theirs.is_empty() {
        return None;
    }
    let request = match pair.misfit {
        None => None,
        Some(Misfit::TooMuch) => Some(Obstacle::Request(port)),
        Some(_) => return None,
    };
    Some(pair.own.iter().map(|conjunct| Obstacle::Conjunct(port, *conjunct)).chain(request).collect())
}

/// Sets of exactly so many obstacles that stand between the root and a gang, as far as pairs alone tell;
/// other conjuncts of the root come into question where pairs have nothing against each other.
fn ways(inspected: &[Inspected], size: usize) -> Vec<Vec<Obstacle>> {
    let mut ways: Vec<BTreeSet<Obstacle>> = vec![BTreeSet::new()];
    for (port, found) in inspected.iter().enumerate() {
        let smallest = smallest(port, found, size);
        let longer = |way: &BTreeSet<Obstacle>| {
            let joined: Vec<_> = smallest.iter().map(|set| way.union(set).copied().collect()).collect();
            joined.into_iter().filter(|set: &BTreeSet<Obstacle>| set.len() <= size)
        };
        ways = ways.iter().flat_map(longer).take(TRIED_MAX).collect();
    }
    // Where pairs have nothing against each other, any conjunct may be what keeps partners apart.
    let is_apart = ways.iter().any(BTreeSet::is_empty);
    let joint: Vec<Obstacle> =
        inspected.iter().enumerate().flat_map(|(port, found)| apart(port, found, is_apart)).collect();
    let mut all: Vec<Vec<Obstacle>> = Vec::new();
    for way in ways {
        for more in combinations(&joint, size - way.len()) {
            let set: BTreeSet<Obstacle> = way.iter().copied().chain(more).collect();
            all.extend(Some(set.into_iter().collect::<Vec<_>>()).filter(|set| set.len() == size));
        }
    }
    all.sort();
    all.dedup();
    all.truncate(TRIED_MAX);
    all
}

/// The conjuncts of a port that may keep partners at several ports apart: those that read other partners first, and all others if pairs
/// alone tell of nothing.
fn apart(port: usize, found: &Inspected, all: bool) -> Vec<Obstacle> {
    let kind = found.wanted_type().map(|(conjunct, _)| conjunct);
    let others = (0..found.conjuncts.len()).filter(|place| all && !found.joint.contains(place) && Some(*place) != kind);
    found.joint.iter().copied().chain(others).map(|conjunct| Obstacle::Conjunct(port, conjunct)).collect()
}

/// All sets of so many of these: none, one or two.
fn combinations(all: &[Obstacle], size: usize) -> Vec<Vec<Obstacle>> {
    match size {
        0 => vec![Vec::new()],
        1 => all.iter().map(|one| vec![*one]).collect(),
        _ => all
            .iter()
            .enumerate()
            .flat_map(|(place, one)| all.iter().skip(place + 1).map(|other| vec![*one, *other]))
            .collect(),
    }
}

/// The smallest sets of obstacles at one port, those of most offers first.
fn smallest(port: usize, found: &Inspected, size_max: usize) -> Vec<BTreeSet<Obstacle>> {
    let mut counts: BTreeMap<BTreeSet<Obstacle>, usize> = BTreeMap::new();
    // An ad of another kind is nothing that the author could have meant.
    let kind = found.wanted_type().map(|(conjunct, _)| Obstacle::Conjunct(port, conjunct));
    let is_meant = |set: &BTreeSet<Obstacle>| kind.is_none_or(|kind| !set.contains(&kind));
    for set in found.offers.iter().filter_map(|pair| own_obstacles(port, pair)).filter(is_meant) {
        *counts.entry(set).or_default() += 1;
    }
    let is_smallest = |set: &BTreeSet<Obstacle>| !counts.keys().any(|other| other != set && other.is_subset(set));
    let mut sets: Vec<(usize, BTreeSet<Obstacle>)> = counts
        .iter()
        .filter(|(set, _)| set.len() <= size_max && is_smallest(set))
        .map(|(set, count)| (*count, set.clone()))
        .collect();
    sets.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    sets.into_iter().take(WAYS_MAX).map(|(_, set)| set).collect()
}

/// What was tried, and what of it gave a gang with everything free.
struct Trials<'t, 'q> {
    question: &'t Question<'q>,
    ad: &'q PoolAd,
    free: Snapshot,
    tried: Vec<Vec<Change>>,
    found: Vec<Suggestion>,
}

impl Trials<'_, '_> {
    /// Whether these changes give a gang with everything free.
    fn attempt<F: Finder>(&mut self, changes: Vec<Change>, finder: &mut F) -> bool {
        if self.tried.contains(&changes) || self.tried.len() >= TRIED_MAX {
            return false;
        }
        self.tried.push(changes.clone());
        let Some(ports) = with_changes(&self.ad.ports, &changes) else { return false };
        let ports = Arc::new(ports);
        let Some(gang) = self.gang(&self.free, &ports, finder) else { return false };
        let offers = nearer::agreeing(self.question, &self.free, &ports, &changes);
        self.found.push(Suggestion { changes, offers, gang, now: false });
        true
    }

    /// The partners of the gang that a root with these ports has in a pool.
    fn gang<F: Finder>(&self, pool: &Snapshot, ports: &Arc<Ports>, finder: &mut F) -> Option<Vec<AdId>> {
        let root = Root { exclusions: BTreeSet::new(), ..self.question.root.clone() };
        let mut varied = pool.with_ports(root.ad, ports);
        varied.roots = vec![root];
        let config = Config { explains: false, ..self.question.config.clone() };
        let cycle = negotiate(&varied, &config, self.question.now, finder);
        let gang = cycle.gangs.into_iter().next()?;
        Some(gang.members.iter().skip(1).map(|member| member.ad).collect())
    }

    fn replaced(&self, obstacle: Obstacle) -> Option<Change> {
        match obstacle {
            Obstacle::Conjunct(port, conjunct) => {
                let with = nearer::nearer(self.question, &self.free, port, conjunct)?;
                Some(Change::Replace { port, conjunct, with })
            }
            Obstacle::Request(port) => nearer::less(self.question, port),
        }
    }

    /// The changes that are returned, with what they give now.
    fn finished<F: Finder>(self, finder: &mut F) -> Vec<Suggestion> {
        let mut found = self.found.clone();
        found.sort_by_key(|one| (one.changes.len(), std::cmp::Reverse(one.offers)));
        found.truncate(TOLD_MAX);
        for one in &mut found {
            let ports = with_changes(&self.ad.ports, &one.changes).map(Arc::new);
            if let Some(gang) = ports.and_then(|ports| self.gang(self.question.pool, &ports, finder)) {
                (one.gang, one.now) = (gang, true);
            }
        }
        found
    }
}

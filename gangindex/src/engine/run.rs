//! The data of one cycle: keys and classes of roots, candidate sets, joined ports.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;
use matchmaker::{AdId, Round};
use smallvec::SmallVec;

use crate::index::classes::Readers;
use crate::index::memo::Interned;
use crate::search::branch_and_bound::Choices;
use crate::search::candidates::Candidates;
use crate::search::check::Checker;
use crate::search::hash_index::HashIndexes;
use crate::search::join_partitions::JoinedPort;
use crate::search::star_join::Progress;
use crate::table::{Bits, Number, as_usize};
use crate::why::Whys;

/// What one cycle searches.
pub struct Run<'s> {
    /// The keys of the roots.
    pub(super) roots: RunRoots,
    /// The classes of roots.
    pub(super) classes: Vec<Class>,
    /// The candidates of ports; classes share them.
    pub(super) candidate_sets: Vec<Candidates>,
    /// The rows that some root may be bound to now.
    pub(super) admitted: Bits,
    /// By candidate set: its candidates by what they have in common with port 0, if some class joins them.
    pub(super) joined_ports: Vec<Option<JoinedPort>>,
    /// The hash indexes of columns that joins read.
    pub(super) hash_indexes: HashIndexes,
    /// Inputs and intermediate results of the preparation.
    pub(super) making: Making,
    /// How many choices are listed for all classes.
    pub(super) choices_held: usize,
    /// Verifies gangs.
    pub(super) checker: Checker<'s>,
    /// The rows of the last gang, by port, if the star join found it.
    pub(super) bound: Vec<u32>,
    /// The reasons found so far.
    pub(super) whys: Whys,
    /// Rows that are like another one, which is listed for them.
    pub(super) likewise: Bits,
}

/// What a search changes, as it was before. Without this, a cycle that places jobs together is prepared again after they were served in turn: placing over `modern --machines 10000 --jobs 20000` takes 834 instead of 688 million instructions.
struct Fresh {
    candidate_sets: Vec<Candidates>,
    joined_ports: Vec<Option<JoinedPort>>,
    /// Which classes are stars.
    stars: Vec<bool>,
}

/// If candidate sets have more rows than this together, they are not kept.
const KEPT_MAX: usize = 100_000_000;

/// The keys of the roots of a cycle.
#[derive(Default)]
pub(super) struct RunRoots {
    /// By the number of the root.
    pub(super) key_of: Vec<Option<Number>>,
    /// The numbers of roots that were not read, because their submitters had no steps left.
    pub(super) unread: HashSet<usize, RandomState>,
    /// By key.
    pub(super) of_key: Vec<Option<OfKey>>,
    /// The roots, by number, that may be bound themselves.
    pub(super) offers: Bits,
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Run").field("classes", &self.classes.len()).finish_non_exhaustive()
    }
}

impl<'s> Run<'s> {
    /// A cycle without classes yet.
    pub(super) fn of(round: &Round<'s>) -> Run<'s> {
        Run {
            roots: RunRoots::default(),
            classes: Vec::new(),
            candidate_sets: Vec::new(),
            admitted: Bits::default(),
            joined_ports: Vec::new(),
            hash_indexes: HashIndexes::default(),
            making: Making::default(),
            choices_held: 0,
            checker: Checker::new(round.snapshot, round.config, round.now),
            bound: Vec::new(),
            whys: Whys::default(),
            likewise: Bits::none(0),
        }
    }
}

impl Run<'_> {
    /// Keeps what the cycle has begun with, unless that is too much.
    pub(super) fn keep(&mut self, rows: usize) {
        if self.candidate_sets.len().saturating_mul(rows) > KEPT_MAX {
            return;
        }
        let (candidate_sets, joined_ports) = (self.candidate_sets.clone(), self.joined_ports.clone());
        let stars = self.classes.iter().map(|class| class.star).collect();
        self.making.fresh = Some(Fresh { candidate_sets, joined_ports, stars });
    }

    /// Begins again with what was kept. False if it was not, or if there are roots that were not read or prepared for want of steps.
    pub(super) fn restart(&mut self) -> bool {
        let is_whole = self.making.aside.is_empty() && self.roots.unread.is_empty();
        let Some(fresh) = self.making.fresh.take().filter(|fresh| is_whole && fresh.stars.len() == self.classes.len())
        else {
            return false;
        };
        self.candidate_sets.clone_from(&fresh.candidate_sets);
        self.joined_ports.clone_from(&fresh.joined_ports);
        for (class, star) in self.classes.iter_mut().zip(&fresh.stars) {
            let of_port = class.ports.iter().filter_map(|port| self.candidate_sets.get(*port));
            class.exhausted = of_port.into_iter().any(|candidates| !candidates.may.any());
            (class.progress, class.choices, class.budget_exceeded) = (Progress::default(), None, false);
            class.star = *star;
        }
        (self.choices_held, self.whys, self.likewise) = (0, Whys::default(), Bits::none(0));
        self.bound.clear();
        self.making.fresh = Some(fresh);
        true
    }

    /// The key of a root that was put aside before it was prepared; [`UNREAD`] if it was put aside before it was read.
    pub(super) fn aside(&self, number: usize) -> Option<u32> {
        if self.roots.unread.contains(&number) {
            return Some(UNREAD);
        }
        let key = self.roots.key_of.get(number).copied().flatten()?.get();
        self.making.aside.contains_key(&key).then_some(key)
    }

    /// The key of a root, by the root's number.
    pub(super) fn key(&self, number: usize) -> Option<(u32, OfKey)> {
        let key = self.roots.key_of.get(number).copied().flatten()?.get();
        Some((key, self.roots.of_key.get(as_usize(key)).copied().flatten()?))
    }

    /// The key of a root, and whether some ad can read more of the root than the key contains.
    pub(super) fn shows(&self, number: usize) -> (Option<u32>, bool) {
        let known = self.key(number);
        let class = known.and_then(|(_, of_key)| self.classes.get(as_usize(of_key.class)));
        (known.map(|(key, _)| key), class.is_none_or(|class| class.reflective))
    }
}

/// Roots that are searched together.
#[derive(Debug)]
pub(super) struct Class {
    /// The number of the candidate set of each port.
    pub(super) ports: Vec<usize>,
    /// Every port is independent or is joined to port 0 only, and nothing is unknown.
    pub(super) star: bool,
    /// Some candidate can distinguish roots of the class.
    pub(super) reflective: bool,
    /// It has no gang any more in this cycle.
    pub(super) exhausted: bool,
    /// The search that found nothing was cut short.
    pub(super) budget_exceeded: bool,
    /// Of the star join.
    pub(super) progress: Progress,
    /// Of branch and bound, while they are cached.
    pub(super) choices: Option<Choices>,
}

/// The class of the roots with one key.
#[derive(Clone, Copy)]
pub(super) struct OfKey {
    /// The number of the class.
    pub(super) class: u32,
    /// The number of the texts of its ports.
    pub(super) head: u32,
    /// Several roots have the key.
    pub(super) common: bool,
}

/// In place of the key of a root that was not read.
pub(super) const UNREAD: u32 = u32::MAX;

/// The first root with a key.
#[derive(Clone, Copy)]
pub(super) struct Example {
    /// Its ad.
    pub(super) root: AdId,
    /// How many roots have the key.
    pub(super) roots: usize,
    /// Their expressions can read more than the key contains.
    pub(super) reads_all: bool,
    /// The number of its submitter.
    pub(super) submitter: usize,
}

/// Inputs and intermediate results of the preparation of a cycle.
#[derive(Default)]
pub(super) struct Making {
    /// The names that offers read of roots.
    pub(super) readers: Readers,
    /// By the number of a namespace: what its roots may be bound to. Namespaces that the same offers admit share it.
    pub(super) admitted_to: Vec<Option<Arc<Admitted>>>,
    /// No row.
    pub(super) none: Bits,
    /// The rows with seats that may be shared.
    pub(super) shared: Bits,
    /// By the number of a plan: the number of the candidate set.
    pub(super) candidates_of: HashMap<usize, usize, RandomState>,
    /// By candidate sets and, if its roots are searched alone, key: the number of the class.
    pub(super) class_ids: HashMap<(Vec<usize>, Option<u32>), usize, RandomState>,
    /// Keys that are not prepared, because their submitters had no steps left.
    pub(super) aside: BTreeMap<u32, Example>,
    /// What the cycle has begun with, if it may be begun again.
    fresh: Option<Fresh>,
}

impl Making {
    /// Nothing is made yet. `none`: no row.
    pub(super) fn of(readers: Readers, admitted_to: Vec<Option<Arc<Admitted>>>, none: Bits, shared: Bits) -> Making {
        Making { readers, admitted_to, none, shared, ..Making::default() }
    }

    /// The rows that roots of a namespace may be bound to.
    pub(super) fn admitted_to(&self, namespace: u32) -> &Bits {
        self.admitted(namespace).map_or(&self.none, |admitted| &admitted.rows)
    }

    /// What roots of a namespace may be bound to.
    pub(super) fn admitted(&self, namespace: u32) -> Option<&Arc<Admitted>> {
        self.admitted_to.get(as_usize(namespace))?.as_ref()
    }
}

/// What roots of some namespaces may be bound to.
pub(super) struct Admitted {
    /// The rows that can be taken now.
    pub(super) rows: Bits,
    /// The offer classes with rows that admit them, whether they can be taken now or not.
    pub(super) offer_classes: Interned<Vec<usize>>,
}

/// The plans of roots with one key.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// The number of the plan of each port.
    pub(super) ports: SmallVec<[u32; 2]>,
    /// The ad has a `GangRank`, or a counted port: its gangs are judged as a whole.
    pub(super) is_whole: bool,
    /// The number of its namespace.
    pub(super) namespace: u32,
    /// The number of the list of offer classes that admitted the namespace.
    pub(super) offer_classes: u32,
}

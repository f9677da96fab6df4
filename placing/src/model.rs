//! The input: roots with their columns, and what is free of each resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::objective::Score;

/// What is placed together.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// In the order of their turns.
    pub roots: Vec<Root>,
    /// How much is free of each resource: rows of a class of equal offers, or units of one resource of one offer.
    pub free: Vec<u64>,
    /// Seats that several gangs hold together.
    pub seats: Vec<Seat>,
    /// Whether each submitter gets at least what it gets in turn: for each band, submitter and priority p, the roots of at least p that are
    /// placed have at least the weight that they have in turn, and a pinned root that has a gang in turn has one. Always so in the product;
    /// the benchmarks of the contract set it to false, in `testing/conformance/src/optimum.rs`.
    pub fair: bool,
}

/// A root that wants a gang.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// What its gang counts in the objective, at least 1.
    pub weight: u64,
    /// The number of its submitter.
    pub submitter: usize,
    /// Among the roots of one submitter, more important ones have a larger priority.
    pub priority: i64,
    /// Roots of a higher band come before all others.
    pub band: i64,
    /// It has waited for so long that it is not passed over.
    pub pinned: bool,
    /// The gangs that it may have; of columns of equal score the first is preferred. Roots with the same columns may have one list.
    pub columns: Arc<Vec<Column>>,
    /// It may have other gangs, which are not listed.
    pub has_more: bool,
    /// What every gang of the root takes, also one that is not listed: a column of each of these lists. The bound knows nothing else of gangs
    /// that are not listed: without such lists it counts the root as placed.
    pub needs: Vec<Arc<Vec<Column>>>,
    /// The column that it gets in turn.
    pub in_turn: Choice,
}

/// A column by its number, or none.
pub type Choice = Option<usize>;

/// A gang that a root may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// What it takes, each resource at most once.
    pub takes: Vec<Take>,
    /// How good it is; larger is better, the first level counts most.
    pub score: Score,
}

/// Something that a gang takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Take {
    /// So many units of a resource.
    Units {
        /// The number of the resource.
        resource: usize,
        /// How many units.
        amount: u64,
    },
    /// A seat, by its number.
    Seat(usize),
}

/// A seat: what it takes is taken once, however many gangs hold it.
#[derive(Clone, Debug, Default)]
pub struct Seat {
    /// Resources and amounts.
    pub takes: Vec<(usize, u64)>,
}

impl Window {
    /// The column that a root has by this choice.
    pub(crate) fn column(&self, root: usize, choice: Choice) -> Option<&Column> {
        self.roots.get(root)?.columns.get(choice?)
    }

    /// Which roots have the same columns.
    pub(crate) fn lists(&self) -> Lists {
        let (mut of, mut needs, mut all) = (Vec::new(), Vec::new(), Vec::new());
        // most equal lists are one, and are not compared
        let mut known: BTreeMap<*const Vec<Column>, usize> = BTreeMap::new();
        let mut equal: BTreeMap<&[Column], usize> = BTreeMap::new();
        for root in &self.roots {
            let mut number = |columns| {
                *known.entry(Arc::as_ptr(columns)).or_insert_with(|| {
                    let next = all.len();
                    let list = *equal.entry(columns).or_insert(next);
                    if list == next {
                        all.push(Arc::clone(columns));
                    }
                    list
                })
            };
            of.push(number(&root.columns));
            needs.push(root.needs.iter().map(number).collect());
        }
        Lists { of, needs, all }
    }

    /// How many columns all roots have.
    pub(crate) fn columns(&self) -> usize {
        self.roots.iter().map(|root| root.columns.len()).sum()
    }

    /// The most that a column takes of each resource, at least 1.
    pub(crate) fn typical(&self) -> Vec<u64> {
        let mut typical = vec![1; self.free.len()];
        let lists = self.lists();
        for (resource, amount) in lists.all.iter().flat_map(|columns| columns.iter()).flat_map(Column::units) {
            if let Some(typical) = typical.get_mut(resource) {
                *typical = amount.max(*typical);
            }
        }
        typical
    }
}

/// The lists of columns of a window, each once.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    /// By root: the number of its list.
    pub(crate) of: Vec<usize>,
    /// By root: the numbers of the lists of what all its gangs need.
    pub(crate) needs: Vec<Vec<usize>>,
    /// In the order of the first roots that have them.
    pub(crate) all: Vec<Arc<Vec<Column>>>,
}

impl Root {
    /// What it counts.
    pub(crate) fn counts(&self) -> u64 {
        self.weight.max(1)
    }

    /// Whether it may have a gang at all.
    pub(crate) fn can_have(&self) -> bool {
        self.has_more || !self.columns.is_empty()
    }
}

impl Column {
    /// The units that it takes of resources, without seats.
    pub(crate) fn units(&self) -> impl Iterator<Item = (usize, u64)> {
        self.takes.iter().filter_map(|take| match *take {
            Take::Units { resource, amount } => Some((resource, amount)),
            Take::Seat(_) => None,
        })
    }

    /// Whether it holds a seat.
    pub(crate) fn holds(&self, seat: usize) -> bool {
        self.takes.contains(&Take::Seat(seat))
    }
}

//! Roots that no ad can tell apart, put together.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Kind, Name};
use foldhash::fast::RandomState;
use matchmaker::{PoolAd, Ports};
use smallvec::SmallVec;

use super::job_columns::{JobColumns, TERMS};
use crate::table::{Number, ReadsId, Table, as_u32, as_usize};

/// What offer classes and owners' terms read of a root: the names that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readers {
    /// The attributes of a root that some ad reads.
    pub(crate) names: BTreeSet<Name>,
    /// Some ad reads `Members`.
    pub(crate) members: bool,
    /// Some owner's terms can read anything.
    pub(crate) anything: bool,
}

/// Roots by what others can read of them: roots of one key have the same value in every edge, unless an ad reads all of them.
#[derive(Debug, Default)]
pub(crate) struct RootKeys {
    ids: HashMap<Box<[u32]>, u32, RandomState>,
    /// By key: the number of the texts of its roots.
    heads: Vec<u32>,
    readers: Readers,
    /// By the number of a root's texts: what of its own attributes must be looked at.
    wanted: Vec<Option<Arc<Wanted>>>,
    /// The same by what the ports read.
    wanted_by: HashMap<PortsRead, Arc<Wanted>, RandomState>,
    key: Vec<u32>,
}

/// What the expressions of a root's ports read, and whether `GangRank` matters.
type PortsRead = (SmallVec<[ReadsId; 8]>, bool);

/// The number of a root's key, and whether its own expressions can read more than the key tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyOf(Number);

impl KeyOf {
    fn new(id: u32, reflective: bool) -> KeyOf {
        KeyOf(Number::of(id << 1 | u32::from(reflective)))
    }

    /// The key: equal numbers are one class.
    pub(crate) fn id(self) -> u32 {
        self.0.get() >> 1
    }

    /// Whether the root has an expression that can read any of its attributes.
    pub(crate) fn is_reflective(self) -> bool {
        self.0.get() & 1 == 1
    }
}

/// The names that matter in roots with the same ports.
#[derive(Debug)]
struct Wanted {
    names: Vec<Name>,
    columns: Vec<u32>,
    /// The root's own expressions can read more than is written in them.
    reflective: bool,
}

/// The root to be classified, and what it is classified by.
pub(crate) struct Asker<'a> {
    /// Its place among all ads.
    pub(crate) place: usize,
    /// Its row among the roots.
    pub(crate) row: u32,
    /// All ads of the snapshot.
    pub(crate) ads: &'a [Arc<PoolAd>],
}

/// What a key takes beside its codes, about.
const KEY_BYTES: usize = 40;

impl RootKeys {
    /// Makes ready for another snapshot. If other names matter now, all keys are forgotten, and that is said.
    pub(crate) fn read_by(&mut self, readers: &Readers) -> bool {
        let other = self.readers != *readers;
        if other {
            self.forget();
            self.wanted.clear();
            self.wanted_by.clear();
            self.readers = readers.clone();
        }
        other
    }

    /// What keys take in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.ids.len() * (4 * self.key.len() + KEY_BYTES) + size_of::<u32>() * self.heads.len()
    }

    /// Forgets all keys.
    pub(crate) fn forget(&mut self) {
        self.ids.clear();
        self.heads.clear();
    }

    /// The number of the texts of a key's roots.
    pub(crate) fn head_of(&self, key: u32) -> u32 {
        self.heads.get(as_usize(key)).copied().unwrap_or(u32::MAX)
    }

    /// The key of a root; none if there is no such ad. Where there is no room for what matters in it, it has a key of its own.
    pub(crate) fn of(&mut self, table: &mut Table, roots: &mut JobColumns, asker: &Asker<'_>) -> Option<KeyOf> {
        let (head, namespace) = roots.head_of(asker.row);
        if self.wanted.get(as_usize(head)).is_none_or(Option::is_none) {
            let is_known = self.want(head, table, roots, asker)?;
            if !is_known {
                return Some(self.alone(head));
            }
        }
        let RootKeys { ids, heads, wanted, key, .. } = self;
        let wanted = wanted.get(as_usize(head))?.as_deref()?;
        key.clear();
        key.extend([head, roots.list_of(asker.row), namespace]);
        let mut more: Vec<Name> = Vec::new();
        let mut reflective = wanted.reflective;
        if !roots.show_all(&wanted.columns, asker.row, key) {
            for column in &wanted.columns {
                reflective |= reads(*column, asker.row, table, roots, &mut more);
            }
        }
        // What expressions read in turn. Few roots have any.
        let mut seen: BTreeSet<Name> = BTreeSet::new();
        while let Some(name) = more.pop() {
            if wanted.names.binary_search(&name).is_err() && seen.insert(name.clone()) {
                let Some(column) = roots.column(&(None, name), asker.ads, table) else { return Some(self.alone(head)) };
                key.push(roots.shows(column, asker.row).0.0);
                reflective |= reads(column, asker.row, table, roots, &mut more);
            }
        }
        let id = match ids.get(key.as_slice()) {
            Some(id) => *id,
            None => {
                let next = as_u32(heads.len());
                ids.insert(key.as_slice().into(), next);
                heads.push(head);
                next
            }
        };
        Some(KeyOf::new(id, reflective))
    }

    /// A key that no other root has.
    fn alone(&mut self, head: u32) -> KeyOf {
        let id = as_u32(self.heads.len());
        self.heads.push(head);
        KeyOf::new(id, true)
    }

    /// Works out what must be looked at in roots with some texts; false if there is no room for it.
    fn want(&mut self, head: u32, table: &mut Table, roots: &mut JobColumns, asker: &Asker<'_>) -> Option<bool> {
        let ports = &asker.ads.get(asker.place)?.ports;
        let read = ports_read(table, ports);
        let wanted = match self.wanted_by.get(&read) {
            Some(wanted) => Arc::clone(wanted),
            None => {
                let (names, reflective) = wanted(table, &read, &self.readers);
                let Some(columns) = roots.columns(&names, asker.ads, table) else { return Some(false) };
                Arc::clone(self.wanted_by.entry(read).or_insert(Arc::new(Wanted { names, columns, reflective })))
            }
        };
        if self.wanted.len() <= as_usize(head) {
            self.wanted.resize(as_usize(head) + 1, None);
        }
        if let Some(own) = self.wanted.get_mut(as_usize(head)) {
            *own = Some(wanted);
        }
        Some(true)
    }
}

/// What an expression that a root shows in a column reads. Says whether it can read more than is written in it.
fn reads(column: u32, row: u32, table: &Table, roots: &JobColumns, more: &mut Vec<Name>) -> bool {
    let Some(expr) = roots.shows(column, row).1 else { return false };
    let reads = table.exprs.reads(expr);
    more.extend(reads.bare.iter().cloned());
    more.extend(reads.selected.iter().map(|(base, _)| base.clone()));
    reads.reflective
}

/// What the expressions of a root's ports read, or those that stand for them in an ad without.
fn ports_read(table: &mut Table, ports: &Ports) -> PortsRead {
    let implicit = TERMS.iter().filter(|_| ports.implicit).filter_map(|name| ports.body.get(name));
    let explicit = ports.list.iter().filter(|_| !ports.implicit);
    let explicit = explicit.flat_map(|port| port.attributes.iter().map(|(_, expr)| expr));
    let exprs = implicit.chain(explicit).filter(|expr| !matches!(expr.kind(), Kind::Literal(_)));
    let mut read = SmallVec::new();
    for expr in exprs {
        let id = table.exprs.id(expr);
        read.extend(table.exprs.reads_id(id));
    }
    (read, ports.body.get("GangRank").is_some() || !ports.implicit)
}

/// The names that matter in the attributes of roots: those that others read, and those that the root's ports do. And whether
/// the ports can read more than is written in them.
fn wanted(table: &Table, (read, gang_rank): &PortsRead, readers: &Readers) -> (Vec<Name>, bool) {
    let mut names = readers.names.clone();
    let mut reflective = false;
    for reads in read.iter().map(|id| table.exprs.reads_of(*id)) {
        reflective |= reads.reflective;
        names.extend(reads.bare.iter().cloned());
        names.extend(reads.selected.iter().map(|(base, _)| base.clone()));
    }
    if *gang_rank {
        names.insert(Name::new("GangRank"));
    }
    (names.into_iter().collect(), reflective)
}

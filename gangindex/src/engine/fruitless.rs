//! Memory of costly searches that found nothing: none is made again until an offer that could matter has gained. Without it, a job that asks for two of
//! sixty machines that do not exist together takes 47 instead of 0.03 million instructions, again in every cycle: the memory bounds what jobs without a
//! gang cost others.
//!
//! Whatever a root could be bound to now, it could have been bound to when its search failed, unless some offer has *gained*
//! since: it is new, its ad or its owner's terms are others, it was opened, or less of it is taken. What gangs take in a cycle
//! is no gain, not even of a seat that is shared: what would fit beside the others now would have fitted before them. So the
//! start of a cycle is compared with the end of the cycle before, and only where something is another or was taken.
//!
//! Ads that read the clock or chance may say something else in every cycle. Their own searches are not remembered, and as
//! offers they count as having gained all the time. An offer is only judged when a search is asked for that could come to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use matchmaker::{AdId, AdKey, Config, Owners, PoolAd, Snapshot, Taken, Usage};

use crate::table::{Bits, Changes, ROWS_OF_A_STEP, SnapshotDiff, Table, as_usize};

/// How many searches are remembered.
const SEARCHES_MAX: usize = 16_384;

/// For how many cycles an unused entry is kept.
const CYCLES_MAX: u64 = 16;

/// Of how many ads it is determined whether they read the clock, in about the time of a step.
pub(super) const ADS_OF_A_STEP: usize = 8;
const ROWS_OF_AN_AD: usize = ROWS_OF_A_STEP / ADS_OF_A_STEP;

/// What a search that is remembered takes in memory, about.
const SEARCH_BYTES: usize = 512;

/// Searches that found nothing, and which offers have gained since.
#[derive(Debug, Default)]
pub(super) struct Fruitless {
    /// By the root.
    searches: BTreeMap<AdKey, Search>,
    /// The number of the cycle.
    cycle: u64,
    /// By the cycle at whose start they had gained: rows of offers.
    gains: Vec<(u64, Bits)>,
    /// By place in the snapshot: ads whose searches are remembered.
    roots: Bits,
    /// Rows of offers of which it is known whether they read the clock or chance, and those that do.
    judged: Bits,
    timely: Bits,
    /// What was taken at the end of the last cycle, of offers of which its gangs took something.
    taken: Arc<Taken>,
    /// Which offers these are, by place.
    touched: Bits,
}

/// A search that found nothing.
#[derive(Debug)]
struct Search {
    root: Arc<PoolAd>,
    exclusions: BTreeSet<AdKey>,
    /// Namespaces whose offers were left out.
    barred: BTreeSet<String>,
    /// How large and how deep gangs could be.
    room: (usize, usize),
    /// It found nothing in this cycle, or would have found nothing.
    cycle: u64,
    /// The cycle in which it was made.
    made: u64,
}

impl Search {
    /// Whether an ad is the root that was searched for, in all that others can see of it.
    fn is_of(&self, ad: &Arc<PoolAd>) -> bool {
        Arc::ptr_eq(&self.root, ad) || self.root.looks_like(ad)
    }
}

impl Fruitless {
    /// Whether no search is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.searches.is_empty()
    }

    /// Whether a search of a root is remembered, whatever has gained since.
    pub(super) fn remembers(&self, root: AdId) -> bool {
        self.roots.get(root.place())
    }

    /// What is remembered takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let gains: usize = self.gains.iter().map(|(_, rows)| rows.bytes()).sum();
        self.searches.len() * SEARCH_BYTES + gains + self.judged.bytes() + self.timely.bytes()
    }

    /// Finds out what has gained since the end of the cycle before. `table` is that of the new snapshot.
    pub(super) fn begin(&mut self, snapshot: &Snapshot, before: &Snapshot, changes: &Changes, table: &Table) {
        self.cycle += 1;
        let oldest = self.cycle.saturating_sub(CYCLES_MAX);
        self.gains.retain(|(cycle, _)| *cycle > oldest);
        self.roots = Bits::none(snapshot.len());
        self.searches.retain(|key, search| {
            let id = snapshot.find(key).filter(|_| search.cycle >= oldest);
            let id = id.filter(|id| snapshot.shared(*id).is_some_and(|ad| search.is_of(ad)));
            id.into_iter().for_each(|id| self.roots.set(id.place(), true));
            id.is_some()
        });
        if self.is_empty() {
            return;
        }
        let rows = table.rows.len();
        let mut gained = Bits::none(rows);
        self.timely.grow(rows);
        self.judged.grow(rows);
        for row in changes.rows.iter().map(|row| as_usize(*row)) {
            gained.set(row, true);
            self.judged.set(row, false);
        }
        let mut compare = |was: usize, is: usize| {
            let (Some(old), Some(new)) = (before.ad(AdId::at(was)), snapshot.ad(AdId::at(is))) else { return };
            if gains(old, self.taken.get(&AdId::at(was)), new) {
                table.rows_of(is).for_each(|row| gained.set(row, true));
            }
        };
        let all = SnapshotDiff::all(snapshot.len());
        for run in changes.kept.as_ref().unwrap_or(&all).runs() {
            let (was, is) = (run.before(), run.now());
            if run.whole {
                self.touched.each_among(was.clone(), |place| compare(place, place - was.start + is.start));
                continue;
            }
            for (was, is) in was.zip(is) {
                compare(was, is);
                table.rows_of(is).for_each(|row| self.judged.set(row, false));
            }
        }
        if gained.any() {
            self.gains.push((self.cycle, gained));
        }
    }

    /// Nothing is taken in the cycle any more: what was searched in it since then may find something.
    pub(super) fn restart(&mut self) {
        self.searches.retain(|_, search| search.made != self.cycle);
    }

    /// Notes what is taken at the end of a cycle.
    pub(super) fn end(&mut self, pool: &Snapshot) {
        self.taken = Arc::clone(pool.taken());
        self.touched = Bits::none(pool.len());
        self.taken.keys().for_each(|id| self.touched.set(id.place(), true));
    }

    /// Whether a search is known to find nothing among some offers, which are all that it could come to; and how many rows
    /// were looked at to find out, or as much work.
    pub(super) fn knows(
        &mut self,
        root: &Arc<PoolAd>,
        Less { exclusions, owners, config }: &Less<'_>,
        reach: &[&Bits],
        (snapshot, table): (&Snapshot, &Table),
    ) -> (bool, usize) {
        let Some(search) = self.searches.get_mut(&root.key) else { return (false, 0) };
        let less = search.exclusions.is_subset(exclusions) && search.barred.iter().all(|barred| owners.bars(barred));
        if !less || search.room != room(config) || !search.is_of(root) {
            return (false, 0);
        }
        let mut since = self.gains.iter().filter(|(cycle, _)| *cycle > search.cycle).map(|(_, rows)| rows);
        let mut looked = 0;
        let mut matters = since.any(|gained| {
            looked += gained.len().saturating_mul(reach.len());
            reach.iter().any(|offers| offers.meets(gained))
        });
        if !matters {
            for offers in reach {
                let mut new = Bits::clone(offers);
                new.and_not(&self.judged);
                for row in new.iter().map(as_usize) {
                    let ad = table.rows.get(row).and_then(|row| snapshot.ad(AdId::at(row.place())));
                    self.timely.set(row, ad.is_some_and(PoolAd::is_timely));
                    looked += ROWS_OF_AN_AD;
                }
                self.judged.or(&new);
            }
            looked += self.timely.len().saturating_mul(reach.len());
            matters = reach.iter().any(|offers| offers.meets(&self.timely));
        }
        if !matters {
            search.cycle = self.cycle;
        }
        (!matters, looked)
    }

    /// Remembers a search that found nothing though nothing was left out but what is said here.
    pub(super) fn remember(
        &mut self,
        id: AdId,
        Less { exclusions, owners, config }: &Less<'_>,
        snapshot: &Snapshot,
        table: &Table,
    ) {
        let Some(root) = snapshot.shared(id).filter(|root| !root.is_timely()) else { return };
        if self.searches.len() >= SEARCHES_MAX && !self.remembers(id) {
            return;
        }
        if self.is_empty() {
            let rows = table.rows.len();
            (self.judged, self.timely) = (Bits::none(rows), Bits::none(rows));
            self.roots = Bits::none(snapshot.len());
        }
        let (exclusions, barred) = ((*exclusions).clone(), owners.barred().clone());
        let search = Search {
            root: Arc::clone(root),
            exclusions,
            barred,
            room: room(config),
            cycle: self.cycle,
            made: self.cycle,
        };
        self.searches.insert(root.key.clone(), search);
        self.roots.set(id.place(), true);
    }
}

/// What a search leaves out.
pub(super) struct Less<'a> {
    /// Excluded offers.
    pub(super) exclusions: &'a BTreeSet<AdKey>,
    /// Offers of namespaces that cost too much.
    pub(super) owners: &'a Owners,
    /// Gangs that are too large or too deep.
    pub(super) config: &'a Config,
}

fn room(config: &Config) -> (usize, usize) {
    (config.members_max, config.depth_max)
}

/// Whether an ad may be bound in a way in which it could not before, when `used` was taken of it, or what it says of itself.
fn gains(old: &PoolAd, used: Option<&Usage>, new: &PoolAd) -> bool {
    // A closed one gains when it is opened.
    let Some(is) = new.offer().filter(|offer| offer.open) else { return false };
    let Some(was) = old.offer().filter(|offer| offer.open && old.looks_like(new)) else { return true };
    let used = used.unwrap_or(&was.usage);
    let freed = match &is.shared_by {
        // Which claims hold a seat decides which others may share it.
        Some(_) => *used != is.usage,
        None => is.capacity.keys().any(|name| is.usage.used(name) < used.used(name)),
    };
    freed || !was.has_terms_of(is)
}

//! The order of roots in a pool without accounts: the highest band first, then the submitter with the fewest gangs (fair share), then priority,
//! age and name.
//!
//! It is decided from the roots of the snapshot and from how many gangs each submitter holds; a gang that is found counts at once.
//! `line.rs` asks for the next root. With accounts, `account_queue.rs` takes the place of this file.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::casts::{as_u32, as_u64, as_usize};
use crate::finder::Turn;
use crate::model::{AdId, Root, Snapshot};

/// The roots that wait, by submitter, and what each submitter holds.
#[derive(Clone)]
pub(crate) struct Queue<'s> {
    roots: &'s [Root],
    /// Sorted by name.
    submitters: Vec<Submitter>,
    /// The submitters with waiting roots: the band of the next one, the highest first, how many gangs the submitter holds, its number.
    order: BTreeSet<(Reverse<i32>, u64, usize)>,
    /// The band of the root served last, and the number of its submitter.
    last: (i32, usize),
    /// Roots that come once more when all others are done, with the numbers of their submitters.
    postponed: Vec<(usize, Waiting)>,
}

#[derive(Clone)]
struct Submitter {
    name: Arc<str>,
    /// Gangs that are held or were given in this cycle.
    gangs: u64,
    /// Sorted so that the next one to serve is the last.
    waiting: Vec<Waiting>,
}

/// A waiting root. A root that is served sooner is larger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    band: i32,
    priority: i32,
    since: Reverse<i64>,
    ad: Reverse<AdId>,
    /// Its number among the snapshot's roots.
    number: u32,
    /// It has exclusions: offers that refused it lately.
    excludes: bool,
}

impl<'s> Queue<'s> {
    /// The roots of a snapshot.
    pub(crate) fn of(snapshot: &'s Snapshot) -> Queue<'s> {
        let mut named: Vec<(&Arc<str>, Vec<Waiting>)> = Vec::new();
        let (mut places, mut last): (HashMap<&str, usize, RandomState>, usize) = (HashMap::default(), 0);
        for (number, root) in snapshot.roots.iter().enumerate() {
            let Root { ad, priority, since, .. } = *root;
            // Roots of one submitter mostly stand together.
            if !named.get(last).is_some_and(|(name, _)| is_same(name, &root.submitter)) {
                last = *places.entry(&root.submitter).or_insert(named.len());
                if last == named.len() {
                    named.push((&root.submitter, Vec::new()));
                }
            }
            let (since, ad, excludes) = (Reverse(since), Reverse(ad), !root.exclusions.is_empty());
            let band = snapshot.bands.get(&ad.0).copied().unwrap_or(0);
            if let Some((_, waiting)) = named.get_mut(last) {
                waiting.push(Waiting { band, priority, since, ad, number: as_u32(number), excludes });
            }
        }
        named.sort_unstable_by_key(|(name, _)| *name);
        let submitter = |(name, mut waiting): (&Arc<str>, Vec<Waiting>)| {
            waiting.sort_unstable();
            let gangs = snapshot.held.get(&**name).copied().unwrap_or(0);
            Submitter { name: Arc::clone(name), gangs, waiting }
        };
        let submitters = named.into_iter().map(submitter).collect();
        let (order, last, postponed) = (BTreeSet::new(), (0, 0), Vec::new());
        let mut queue = Queue { roots: &snapshot.roots, submitters, order, last, postponed };
        queue.put_in_order();
        queue
    }

    /// The submitters in the order of their numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.submitters.iter().map(|submitter| &submitter.name)
    }

    /// Takes out the roots at these places among the ads, as if they had been served.
    pub(crate) fn leave_out(&mut self, is_served: &[bool]) {
        for submitter in &mut self.submitters {
            let before = submitter.waiting.len();
            submitter.waiting.retain(|root| !is_served.get(root.ad.0.place()).copied().unwrap_or(false));
            let served = as_u64(before - submitter.waiting.len());
            submitter.gangs = submitter.gangs.saturating_add(served);
        }
        self.put_in_order();
    }

    fn put_in_order(&mut self) {
        let submitters = self.submitters.iter().enumerate();
        self.order = submitters.filter_map(|(number, submitter)| submitter.place(number)).collect();
    }

    /// Postpones the root that was served last: it comes once more when all others are done.
    pub(crate) fn postpone(&mut self, turn: &Turn<'_>) {
        self.postponed.push((turn.submitter, Waiting::of(turn, self.last.0)));
    }

    /// Begins again with the postponed roots. Returns the numbers of their submitters.
    pub(crate) fn begin_postponed(&mut self) -> BTreeSet<usize> {
        for (number, waiting) in std::mem::take(&mut self.postponed).into_iter().rev() {
            if let Some(submitter) = self.submitters.get_mut(number) {
                submitter.waiting.push(waiting);
            }
        }
        self.put_in_order();
        self.order.iter().map(|(_, _, number)| *number).collect()
    }

    /// The root that is served next.
    pub(crate) fn next(&mut self) -> Option<Turn<'s>> {
        let first = *self.order.first()?;
        let submitter = self.submitters.get_mut(first.2)?;
        let Waiting { band, number, ad, excludes, .. } = submitter.waiting.pop()?;
        self.last = (band, first.2);
        let next = submitter.place(first.2);
        // A submitter that is the only one left is compared with no other: its place is not kept up to date.
        let is_last = next.is_some() && self.order.len() == 1;
        if next != Some(first) && !is_last {
            self.order.remove(&first);
            self.order.extend(next);
        }
        let number = as_usize(number);
        let submitter = first.2;
        self.roots.get(number).map(|root| Turn { number, ad: ad.0, submitter, excludes, root })
    }

    /// Counts one more gang for the submitter of the root that was served last.
    pub(crate) fn count_gang(&mut self) {
        let number = self.last.1;
        let Some(submitter) = self.submitters.get_mut(number) else { return };
        let before = submitter.place(number);
        submitter.gangs = submitter.gangs.saturating_add(1);
        if self.order.len() > 1 && before.is_some_and(|before| self.order.remove(&before)) {
            self.order.extend(submitter.place(number));
        }
    }
}

impl Waiting {
    /// The root of a turn, of this band.
    fn of(turn: &Turn<'_>, band: i32) -> Waiting {
        let Turn { number, ad, excludes, root, .. } = *turn;
        let (priority, since, ad) = (root.priority, Reverse(root.since), Reverse(ad));
        Waiting { band, priority, since, ad, number: as_u32(number), excludes }
    }
}

impl Submitter {
    /// Its place in the order of submitters, if roots of it wait.
    fn place(&self, number: usize) -> Option<(Reverse<i32>, u64, usize)> {
        self.waiting.last().map(|next| (Reverse(next.band), self.gangs, number))
    }
}

fn is_same(one: &Arc<str>, other: &Arc<str>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

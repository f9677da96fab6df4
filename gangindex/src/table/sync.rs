//! A snapshot into rows: what is as it was before stays where it is.

use std::sync::Arc;

use matchmaker::{PoolAd, Snapshot};

use super::{Column, Number, OWN_WORK_MAX, Row, SnapshotDiff, Table, as_u32, as_usize};

/// What is not as it was in the snapshot before.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Rows of ads that are new or have changed.
    pub(crate) rows: Vec<u32>,
    /// Some rows stand for no ad any more.
    pub(crate) gone: bool,
    /// The ads that are as they were; none if nothing is another or elsewhere.
    pub(crate) kept: Option<SnapshotDiff>,
}

/// What a walk through two snapshots comes to.
#[derive(Default)]
struct DiffWalk {
    first_row: Vec<Option<Number>>,
    kept: SnapshotDiff,
    /// Ads that are new or have changed by place, with their rows if they stay in them.
    fresh: Vec<(usize, Option<u32>)>,
    /// Some rows were emptied, for good or for what their ad is now.
    emptied: bool,
    /// Some rows were given up.
    given_up: bool,
}

impl Table {
    /// Makes the rows those of the snapshot; what is the same as `before` stays as it is.
    pub(crate) fn sync(&mut self, snapshot: &Snapshot, before: &Snapshot) -> Changes {
        if Arc::ptr_eq(snapshot.list(), before.list()) && self.first_row.len() == snapshot.len() {
            return Changes::default();
        }
        let DiffWalk { mut first_row, kept, fresh, emptied, given_up } = self.walk(snapshot, before);
        let (mut rows, mut reordered) = (Vec::new(), given_up);
        for (place, own) in fresh {
            let Some(ad) = snapshot.ad_at(place).filter(|ad| takes_part(ad)) else { continue };
            reordered |= own.is_none();
            let first = self.place_rows(ad, place, own, &mut rows);
            if let Some(own) = first_row.get_mut(place) {
                *own = Some(Number::of(first));
            }
        }
        self.first_row = first_row;
        self.fill(&rows);
        if reordered {
            self.number();
        }
        Changes { rows, gone: emptied || given_up, kept: Some(kept) }
    }

    /// Goes through both snapshots together. Ads are in the order of their keys, unless their order is all that there is.
    fn walk(&mut self, snapshot: &Snapshot, before: &Snapshot) -> DiffWalk {
        let firsts = std::mem::take(&mut self.first_row);
        let mut walk = DiffWalk { first_row: Vec::with_capacity(snapshot.len()), ..DiffWalk::default() };
        let mut at = 0;
        while let Some(ad) = snapshot.list().get(walk.first_row.len()) {
            let now = walk.first_row.len();
            let old = before.list().get(at..).unwrap_or_default();
            // Most ads are the same, in long runs.
            let pairs = old.iter().zip(snapshot.list().iter().skip(now));
            let same = pairs.take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
            let first = firsts.get(at).copied().flatten();
            match old.first() {
                Some(_) if same > 0 => {
                    let firsts = firsts.get(at..at + same).unwrap_or_default();
                    if at != now {
                        firsts.iter().zip(now..).for_each(|(first, place)| self.move_to(*first, place));
                    }
                    walk.first_row.extend_from_slice(firsts);
                    walk.kept.note(at, now, same, true);
                    at += same;
                }
                Some(gone) if gone.key < ad.key => {
                    walk.given_up |= self.forget(gone, first);
                    at += 1;
                }
                Some(known) if known.key == ad.key => {
                    self.again((at, known, first), (now, ad), &mut walk);
                    at += 1;
                }
                _ => {
                    walk.fresh.push((now, None));
                    walk.first_row.push(None);
                }
            }
        }
        for (gone, first) in before.list().iter().zip(&firsts).skip(at) {
            walk.given_up |= self.forget(gone, *first);
        }
        walk
    }

    /// Another ad with the key of one that was there.
    fn again(
        &mut self,
        (at, known, first): (usize, &PoolAd, Option<Number>),
        (now, ad): (usize, &PoolAd),
        walk: &mut DiffWalk,
    ) {
        let takes_part = takes_part(ad);
        if Arc::ptr_eq(&known.ports, &ad.ports) && first.is_some() == takes_part {
            self.move_to(first, now);
            walk.first_row.push(first);
            walk.kept.note(at, now, 1, false);
            return;
        }
        walk.first_row.push(None);
        // What has changed stays in its rows, if it needs as many: then rows stay in the order of their ads.
        match first.filter(|_| takes_part && known.ports.list.len() == ad.ports.list.len()) {
            Some(first) => {
                self.empty(first.get());
                walk.emptied = true;
                walk.fresh.push((now, Some(first.get())));
            }
            None => {
                walk.given_up |= self.forget(known, first);
                walk.fresh.push((now, None));
            }
        }
    }

    /// Frees the rows of an ad; says whether it had any.
    fn forget(&mut self, gone: &PoolAd, first: Option<Number>) -> bool {
        let Some(first) = first.map(Number::get) else { return false };
        self.free.entry(gone.ports.list.len()).or_default().push(first);
        self.empty(first);
        true
    }

    /// Empties the rows of an ad.
    fn empty(&mut self, first: u32) {
        for row in self.rows_with(first).map(as_usize) {
            self.live.set(row, false);
            self.offer_classes.leave(self.rows.get(row).map_or(usize::MAX, |row| row.offer_class()), row);
        }
    }

    fn move_to(&mut self, first: Option<Number>, place: usize) {
        let Some(first) = first.map(Number::get) else { return };
        for row in self.rows_with(first).map(as_usize) {
            self.rows.get_mut(row).into_iter().for_each(|row| row.place = as_u32(place));
        }
    }

    /// Gives an ad rows: its own, others that are free, or new ones.
    fn place_rows(&mut self, ad: &PoolAd, place: usize, own: Option<u32>, changed: &mut Vec<u32>) -> u32 {
        let count = ad.ports.list.len();
        let spare = own.or_else(|| self.free.get_mut(&count).and_then(Vec::pop));
        let first = spare.unwrap_or_else(|| as_u32(self.rows.len()));
        for via in 0..count {
            let number = as_usize(first) + via;
            let offer_class = as_u32(self.offer_classes.of(ad, via, number, &mut self.exprs));
            let row = Row { place: as_u32(place), offer_class, via: as_u32(via), ways: as_u32(count) };
            match self.rows.get_mut(number).zip(self.texts.get_mut(number)) {
                Some((free, texts)) => (*free, *texts) = (row, Arc::clone(&ad.ports)),
                None => {
                    self.rows.push(row);
                    self.texts.push(Arc::clone(&ad.ports));
                }
            }
            changed.push(as_u32(number));
        }
        first
    }

    /// Fills the columns of changed rows.
    fn fill(&mut self, changed: &[u32]) {
        self.live.grow(self.rows.len());
        self.offer_classes.grow(self.rows.len());
        self.row_work.resize(self.rows.len(), OWN_WORK_MAX);
        for number in changed {
            self.live.set(as_usize(*number), true);
        }
        self.columns.list.iter_mut().for_each(Column::forget_shape);
        for number in changed {
            let own = self.rows.get(as_usize(*number)).zip(self.texts.get(as_usize(*number)));
            let Some((row, ports)) = own else { continue };
            let mut work = OWN_WORK_MAX;
            for column in &mut self.columns.list {
                column.put(as_usize(*number), (ports, row.child_port()), &mut self.words, &self.context, &mut work);
            }
            if let Some(own) = self.row_work.get_mut(as_usize(*number)) {
                *own = work;
            }
        }
    }

    /// Puts the rows in order.
    fn number(&mut self) {
        let mut positions = vec![u32::MAX; self.rows.len()];
        let mut by_position = Vec::with_capacity(self.rows.len());
        let (mut before, mut in_order) = (None, true);
        for row in self.first_row.iter().flatten().flat_map(|first| self.rows_with(first.get())) {
            in_order &= before.replace(row).is_none_or(|before| before < row);
            if let Some(position) = positions.get_mut(as_usize(row)) {
                *position = as_u32(by_position.len());
            }
            by_position.push(row);
        }
        (self.positions, self.by_position, self.in_order) = (positions, by_position, in_order);
    }
}

/// Whether an ad can be bound at all: what does not change while its text is the same.
fn takes_part(ad: &PoolAd) -> bool {
    ad.offer().is_some() && ad.ports.problem.is_none() && !ad.ports.list.is_empty()
}

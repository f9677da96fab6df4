//! The rows of a new snapshot: what has not changed since the snapshot before stays as it is.

use std::sync::Arc;

use matchmaker::{AdId, PoolAd, Snapshot};

use super::{Column, Number, OWN_WORK_MAX, Row, RowOrder, RowText, SnapshotDiff, Table, as_u32, as_usize};

/// The differences from the snapshot before.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Rows of ads that are new or have changed.
    pub(crate) rows: Vec<u32>,
    /// Some rows have no ad any more.
    pub(crate) gone: bool,
    /// The ads that have not changed; `None` if no ad has changed or moved.
    pub(crate) kept: Option<SnapshotDiff>,
}

/// The result of a walk through two snapshots.
#[derive(Default)]
struct DiffWalk {
    first_row: Vec<Option<Number>>,
    kept: SnapshotDiff,
    /// Ads that are new or have changed by place, with their rows if they stay in them.
    fresh: Vec<(usize, Option<u32>)>,
    /// Some rows were emptied, for good or for the new text of their ad.
    emptied: bool,
    /// Some rows were given up.
    given_up: bool,
}

impl Table {
    /// Makes the rows those of the snapshot, given the snapshot before.
    pub(crate) fn sync(&mut self, snapshot: &Snapshot, before: &Snapshot) -> Changes {
        if Arc::ptr_eq(snapshot.list(), before.list()) && self.places.first_row.len() == snapshot.len() {
            return Changes::default();
        }
        let DiffWalk { mut first_row, kept, fresh, emptied, given_up } = self.walk(snapshot, before);
        let (mut rows, mut reordered) = (Vec::new(), given_up);
        for (place, own) in fresh {
            let Some(ad) = snapshot.ad(AdId::at(place)).filter(|ad| takes_part(ad)) else { continue };
            reordered |= own.is_none();
            let first = self.place_rows(ad, place, own, &mut rows);
            if let Some(own) = first_row.get_mut(place) {
                *own = Some(Number::of(first));
            }
        }
        self.places.first_row = first_row;
        self.fill(&rows);
        if reordered {
            self.number();
        }
        Changes { rows, gone: emptied || given_up, kept: Some(kept) }
    }

    /// Walks through both snapshots together, in the order of the keys.
    fn walk(&mut self, snapshot: &Snapshot, before: &Snapshot) -> DiffWalk {
        let firsts = std::mem::take(&mut self.places.first_row);
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

    /// Handles another ad with the key of one that was there.
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
        // A changed ad keeps its rows if it needs as many: then rows stay in the order of their ads.
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

    /// Frees the rows of an ad; returns whether it had any.
    fn forget(&mut self, gone: &PoolAd, first: Option<Number>) -> bool {
        let Some(first) = first.map(Number::get) else { return false };
        self.places.free.entry(gone.ports.list.len()).or_default().push(first);
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

    /// Assigns rows to an ad: its own, free ones, or new ones. Returns the first.
    fn place_rows(&mut self, ad: &PoolAd, place: usize, own: Option<u32>, changed: &mut Vec<u32>) -> u32 {
        let count = ad.ports.list.len();
        let spare = own.or_else(|| self.places.free.get_mut(&count).and_then(Vec::pop));
        let first = spare.unwrap_or_else(|| as_u32(self.rows.len()));
        for via in 0..count {
            let number = as_usize(first) + via;
            let offer_class = as_u32(self.offer_classes.of(ad, via, number, &mut self.exprs));
            let row = Row { place: as_u32(place), offer_class, via: as_u32(via), ways: as_u32(count) };
            let text = RowText { ports: Arc::clone(&ad.ports), work: OWN_WORK_MAX };
            match self.rows.get_mut(number).zip(self.texts.get_mut(number)) {
                Some(free) => (*free.0, *free.1) = (row, text),
                None => {
                    self.rows.push(row);
                    self.texts.push(text);
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
        for number in changed {
            self.live.set(as_usize(*number), true);
        }
        self.columns.list.iter_mut().for_each(Column::forget_shape);
        for number in changed.iter().map(|number| as_usize(*number)) {
            let Some((row, text)) = self.rows.get(number).zip(self.texts.get_mut(number)) else { continue };
            for column in &mut self.columns.list {
                let seen = (&*text.ports, row.child_port());
                column.put(number, seen, &mut self.words, &self.context, &mut text.work);
            }
        }
    }

    /// Puts the rows in order.
    fn number(&mut self) {
        let mut positions = vec![u32::MAX; self.rows.len()];
        let mut by_position = Vec::with_capacity(self.rows.len());
        let (mut before, mut shuffled) = (None, false);
        for row in self.places.first_row.iter().flatten().flat_map(|first| self.rows_with(first.get())) {
            shuffled |= before.replace(row).is_some_and(|before| before >= row);
            if let Some(position) = positions.get_mut(as_usize(row)) {
                *position = as_u32(by_position.len());
            }
            by_position.push(row);
        }
        self.order = RowOrder { positions, by_position, shuffled };
    }
}

/// Whether an ad can be bound at all, which does not change while its text is the same.
fn takes_part(ad: &PoolAd) -> bool {
    ad.offer().is_some() && ad.ports.problem.is_none() && !ad.ports.list.is_empty()
}

//! Joins by equal texts: which rows of two sides show a text that some row of the other side shows. Without this, a cycle with reasons over
//! `gang --n 4000 --density 1 --selectivity 8` takes 258 instead of 179 million instructions, and over `gang --n 8000 --host-locked` 3,717 instead of 406.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::RandomState;

use crate::search::candidates::Known;
use crate::table::{Bits, Cell, Symbol, as_usize};

/// What a value of a column is to a join by equal texts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Texts that differ only in the case of their letters are equal.
    Text(Symbol),
    /// Equal to nothing.
    Nothing,
    /// It may be equal in other ways.
    Other,
}

/// By column, and by code: what is shown. Computed once for all reasons of a cycle.
#[derive(Default)]
pub(crate) struct ShownTexts(RefCell<HashMap<u32, Rc<Vec<Shown>>, RandomState>>);

impl ShownTexts {
    /// A column, to look up what its rows show.
    pub(crate) fn column<'t>(&self, column: u32, known: &'t Known<'_>) -> Option<TextColumn<'t>> {
        let own = known.table.columns.get(column)?;
        let shown = |cell: &Cell| match cell {
            Cell::Text(id) => Shown::Text(known.table.words.folded(*id)),
            Cell::Undefined => Shown::Nothing,
            _ => Shown::Other,
        };
        let mut all = self.0.borrow_mut();
        let by_code = all.entry(column).or_insert_with(|| Rc::new(own.cells().iter().map(shown).collect()));
        Some(TextColumn { by_code: Rc::clone(by_code), codes: own.codes(), texts: known.table.words.texts() })
    }
}

/// What the rows show in a column.
pub(crate) struct TextColumn<'t> {
    by_code: Rc<Vec<Shown>>,
    codes: &'t [u32],
    /// How many texts there are in all.
    texts: usize,
}

impl TextColumn<'_> {
    fn shown(&self, row: u32) -> Shown {
        let code = self.codes.get(as_usize(row)).map_or(usize::MAX, |code| as_usize(*code));
        self.by_code.get(code).copied().unwrap_or(Shown::Other)
    }

    fn text(&self, row: u32) -> Option<Symbol> {
        match self.shown(row) {
            Shown::Text(text) => Some(text),
            Shown::Nothing | Shown::Other => None,
        }
    }

    /// By text: whether a row of this set shows it. None if some row shows what may be equal in other ways.
    pub(crate) fn texts_of(&self, rows: &Bits) -> Option<Vec<bool>> {
        let mut texts = vec![false; self.texts];
        for row in rows.iter() {
            match self.shown(row) {
                Shown::Text(text) => texts.get_mut(text.place()).into_iter().for_each(|own| *own = true),
                Shown::Nothing => {}
                Shown::Other => return None,
            }
        }
        Some(texts)
    }

    /// Whether no row of a set shows what may be equal in other ways.
    pub(crate) fn has_only_texts(&self, rows: &Bits) -> bool {
        rows.iter().all(|row| self.shown(row) != Shown::Other)
    }

    /// The rows of a set that show one of these texts.
    pub(crate) fn rows_with(&self, texts: &[bool], set: &Bits) -> Bits {
        let mut rows = set.clone();
        rows.keep(|row| {
            let text = self.codes.get(row).and_then(|code| self.by_code.get(as_usize(*code)));
            matches!(text, Some(Shown::Text(text)) if texts.get(text.place()) == Some(&true))
        });
        rows
    }

    /// By text: how many rows of a set show it.
    fn counts(&self, set: &Bits) -> Vec<u32> {
        let mut counts = vec![0; self.texts];
        for text in set.iter().filter_map(|row| self.text(row)) {
            counts.get_mut(text.place()).into_iter().for_each(|count| *count += 1);
        }
        counts
    }
}

/// Takes out of both sides of a join the rows that agree with themselves only: an ad cannot be bound twice.
///
/// Each side is a column, the rows that were asked, and those of them that agree.
pub(crate) fn without_themselves(
    (hub, hubs, good_hubs): (&TextColumn<'_>, &Bits, &mut Bits),
    (own, rows, good_rows): (&TextColumn<'_>, &Bits, &mut Bits),
) {
    let mut both = hubs.clone();
    both.and(rows);
    if !both.any() {
        return;
    }
    let (hubs_with, rows_with) = (hub.counts(hubs), own.counts(rows));
    for row in both.iter() {
        let Some(text) = hub.text(row).filter(|text| own.text(row) == Some(*text)) else { continue };
        let is_alone = |counts: &[u32]| counts.get(text.place()).is_some_and(|count| *count < 2);
        if is_alone(&rows_with) {
            good_hubs.set(as_usize(row), false);
        }
        if is_alone(&hubs_with) {
            good_rows.set(as_usize(row), false);
        }
    }
}

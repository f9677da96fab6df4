//! Who has a value: the rows of each value of a column that has too many to keep their rows.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::table::{Cell, Table, TextId, Words, as_u32, as_usize};
use crate::term::number;

/// Values that `==` may find equal have equal keys; what they find is looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Text(TextId),
    Number(u64),
    Other(Cell),
}

/// The key of a value; what is undefined or an error is equal to nothing.
pub(crate) fn key(cell: Cell, words: &Words) -> Option<Key> {
    match cell {
        Cell::Text(id) => Some(Key::Text(words.folded(id))),
        Cell::Undefined | Cell::Error | Cell::Open => None,
        // Times are compared in their own ways; one list for all of them is never wrong.
        Cell::Whole(_) => Some(Key::Other(Cell::Undefined)),
        // Zero has two signs.
        other => number(other).map(|number| Key::Number((number + 0.0).to_bits())),
    }
}

/// The rows of each value, by column; those of a column are put together when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct Finders(HashMap<u32, Finder, RandomState>);

#[derive(Debug)]
struct Finder {
    last: HashMap<Key, u32, RandomState>,
    /// By row: the one before with the same key, or itself.
    before: Vec<u32>,
}

impl Finders {
    /// Calls `see` with the rows whose value in a column has a key.
    pub(crate) fn each(&mut self, column: u32, key: &Key, table: &Table, mut see: impl FnMut(usize)) {
        let finder = self.0.entry(column).or_insert_with(|| Finder::of(column, table));
        let mut next = finder.last.get(key).copied();
        while let Some(row) = next {
            see(as_usize(row));
            next = finder.before.get(as_usize(row)).copied().filter(|before| *before != row);
        }
    }
}

impl Finder {
    fn of(column: u32, table: &Table) -> Finder {
        let (mut last, mut before): (HashMap<Key, u32, RandomState>, _) = (HashMap::default(), Vec::new());
        for row in 0..table.rows.len() {
            let number = as_u32(row);
            let key = key(table.columns.cell(column, row), &table.words).filter(|_| table.live.get(row));
            before.push(key.and_then(|key| last.insert(key, number)).unwrap_or(number));
        }
        Finder { last, before }
    }
}

//! Memory that the expressions of one submitter, or of one owner, may take for all rows, so that none can take it all.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

/// How many bytes were taken on whose account. Nothing is given back but all at once: what is kept is of use to others, too.
#[derive(Debug, Default)]
pub(crate) struct Room {
    of: HashMap<Arc<str>, usize, RandomState>,
    taken: usize,
    /// A request for room was refused.
    pub(crate) is_short: bool,
}

/// One account may take so many bytes, and so many more for each row of the pool.
const OF_ONE: usize = 16 << 20;
const OF_ONE_A_ROW: usize = 512;

/// All accounts together may take as much as so many of them.
const ACCOUNTS: usize = 4;

impl Room {
    /// Takes so many bytes for a pool of so many rows; false if that is more than the account may take, or all may.
    pub(crate) fn take(&mut self, account: &Arc<str>, bytes: usize, rows: usize) -> bool {
        let of_one = OF_ONE + OF_ONE_A_ROW * rows;
        let own = self.of.get(account).copied().unwrap_or_default();
        let fits = own + bytes <= of_one && self.taken + bytes <= room_of_all(rows);
        if fits {
            self.of.insert(Arc::clone(account), own + bytes);
            self.taken += bytes;
        }
        self.is_short |= !fits;
        fits
    }
}

/// How many bytes all accounts together may take for a pool of so many rows.
pub(crate) fn room_of_all(rows: usize) -> usize {
    ACCOUNTS * (OF_ONE + OF_ONE_A_ROW * rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_account_leaves_room_for_others() {
        let mut room = Room::default();
        let accounts = ["a", "b", "c", "d", "e"].map(Arc::from);
        assert!(room.take(&accounts[0], 16 << 20, 0) && !room.is_short);
        assert!(!room.take(&accounts[0], 1, 0) && room.is_short);
        assert!(room.take(&accounts[0], 512, 1), "a larger pool has more room");
        for account in &accounts[1..4] {
            assert!(room.take(account, 15 << 20, 0));
        }
        assert!(!room.take(&accounts[4], 16 << 20, 0), "all together are limited, too");
        assert!(room.take(&accounts[4], 1 << 20, 0));
    }
}

//! Which gangs of a root are listed if there are too many: different ones, of which each brings rows that few of the others have.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use matchmaker::Score;
use smallvec::SmallVec;

/// The rows of a gang, by port.
pub(super) type Rows = SmallVec<[u32; 4]>;

/// So many gangs have each scarce row, if there are so many.
const OF_A_ROW: usize = 2;
/// So many gangs are listed of each of the best rows of port 0, if any row is scarce.
const OF_A_HUB: usize = 2;
/// The best rows of port 0 are so large a part of the gangs that may be listed.
const PART_OF_HUBS: usize = 8;
/// The search for gangs with rows that are still missing ends after so many rows of port 0 that bring none.
const FRUITLESS_MAX: usize = 64;

/// The gangs that are chosen so far.
#[derive(Default)]
pub(super) struct Variety {
    pub(super) gangs: Vec<(Score, Rows)>,
    /// The rows of ports that few rows can be bound to, each list with the number of what is asked of them.
    pub(super) needed: Vec<(u32, Vec<u32>)>,
    /// How many may be chosen.
    cap: usize,
    /// By scarce row: how many of them have it.
    scarce: HashMap<u32, usize, RandomState>,
    /// How many scarce rows are in too few gangs.
    missing: usize,
    /// How many of the best rows of port 0 are still to be taken, whatever else is in their gangs.
    hubs: usize,
    /// How many gangs each of these has.
    of_a_hub: usize,
    /// How many rows of port 0 in a row have brought nothing.
    fruitless: usize,
}

impl Variety {
    /// No gangs yet, of at most `cap`. The rows that are `needed` are scarce.
    pub(super) fn of(needed: Vec<(u32, Vec<u32>)>, cap: usize) -> Variety {
        let scarce: HashMap<u32, usize, RandomState> =
            needed.iter().flat_map(|(_, rows)| rows.iter().map(|row| (*row, 0))).collect();
        // if nothing is scarce, the best ones are as good as others
        let (hubs, of_a_hub) = if scarce.is_empty() { (cap, cap) } else { ((cap / PART_OF_HUBS).max(1), OF_A_HUB) };
        Variety { needed, cap, missing: scarce.len(), scarce, hubs, of_a_hub, ..Variety::default() }
    }

    /// Whether a row is scarce and in too few gangs.
    fn is_missing(&self, row: u32) -> bool {
        self.scarce.get(&row).is_some_and(|count| *count < OF_A_ROW)
    }

    /// Leaves of the rows that may be bound to a port those that are missing, or only the first one.
    pub(super) fn choose(&self, rows: &mut Vec<u32>) {
        if rows.iter().any(|row| self.is_missing(*row)) {
            rows.retain(|row| self.is_missing(*row));
        } else {
            rows.truncate(1);
        }
    }

    /// Takes those gangs with one row of port 0 that bring something.
    pub(super) fn add(&mut self, gangs: impl IntoIterator<Item = (Score, Rows)>) {
        let before = self.gangs.len();
        for (score, rows) in gangs {
            let is_of_best = self.hubs > 0 && self.gangs.len() < before.saturating_add(self.of_a_hub);
            if self.gangs.len() >= self.cap || !is_of_best && !rows.iter().any(|row| self.is_missing(*row)) {
                continue;
            }
            for row in &rows {
                if let Some(count) = self.scarce.get_mut(row) {
                    *count += 1;
                    self.missing -= usize::from(*count == OF_A_ROW);
                }
            }
            self.gangs.push((score, rows));
        }
        self.hubs = self.hubs.saturating_sub(1);
        self.fruitless = if self.gangs.len() > before { 0 } else { self.fruitless + 1 };
    }

    /// Whether there is nothing more to look for.
    pub(super) fn is_done(&self) -> bool {
        self.missing == 0 && self.hubs == 0 || self.fruitless > FRUITLESS_MAX || self.gangs.len() >= self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gang(rows: &[u32]) -> (Score, Rows) {
        (Score::default(), rows.iter().copied().collect())
    }

    #[test]
    fn gangs_with_scarce_rows_are_chosen_before_others() {
        let mut variety = Variety::of(vec![(0, vec![7, 8])], 8);
        // the best row of port 0 has two gangs, and one more with what is scarce
        variety.add([gang(&[1, 5]), gang(&[1, 6]), gang(&[1, 4]), gang(&[1, 7])]);
        variety.add([gang(&[2, 5]), gang(&[2, 7])]);
        variety.add([gang(&[3, 7]), gang(&[3, 8])]);
        let chosen: Vec<&[u32]> = variety.gangs.iter().map(|(_, rows)| rows.as_slice()).collect();
        assert_eq!(chosen, [&[1, 5][..], &[1, 6], &[1, 7], &[2, 7], &[3, 8]]);
        assert!(!variety.is_done());
        variety.add([gang(&[4, 8])]);
        assert!(variety.is_done());
    }

    #[test]
    fn no_more_gangs_are_chosen_than_may_be() {
        let mut variety = Variety::of(vec![(0, (0..100).collect())], 16);
        variety.add((0..100).map(|row| gang(&[200, row])));
        assert_eq!((variety.gangs.len(), variety.is_done()), (16, true));
    }
}

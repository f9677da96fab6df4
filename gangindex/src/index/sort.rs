//! Stable sorting of rows by rank.

use matchmaker::FixedPoint;

use crate::table::as_usize;

/// Sorts rows by what is thought of them; equal ones stay in their order.
pub(crate) fn stable_sort<S: RankKey>(rows: &mut [u32], worth: impl Fn(u32) -> S) {
    RankPass::default().stable_sort(rows, &worth);
}

/// What rows are sorted by, as a number: larger ones come first.
pub(crate) trait RankKey: Ord + Copy {
    /// In the same order as the worths themselves, and not near the ends of the numbers.
    fn number(self) -> i128;
}

impl RankKey for FixedPoint {
    fn number(self) -> i128 {
        self.bits()
    }
}

impl RankKey for Option<u8> {
    fn number(self) -> i128 {
        self.map_or(-1, i128::from)
    }
}

/// The places of worths, the largest first, of equal ones in order. Numbers are made as small as they can be: most ranks are
/// integers, or differ in few bits.
fn descending<S: RankKey>(worths: &[S]) -> Vec<u32> {
    let most = worths.iter().map(|worth| worth.number()).max().unwrap_or_default();
    let less = |worth: &S| (most - worth.number()).unsigned_abs();
    let bits = worths.iter().fold(0, |bits, worth| bits | less(worth));
    let (low, high) = (bits.trailing_zeros().min(127), 128 - bits.leading_zeros());
    let for_place = usize::BITS - worths.len().leading_zeros();
    let keys = worths.iter().map(|worth| less(worth) >> low);
    if high.saturating_sub(low) + for_place <= u64::BITS {
        let mask = (1u64 << for_place) - 1;
        let key = |(place, key): (u64, u128)| u64::try_from(key).unwrap_or(u64::MAX) << for_place | place;
        let mut all: Vec<u64> = (0..).zip(keys).map(key).collect();
        all.sort_unstable();
        return all.into_iter().map(|key| u32::try_from(key & mask).unwrap_or(u32::MAX)).collect();
    }
    let mut all: Vec<(u128, u32)> = keys.zip(0..).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, place)| place).collect()
}

/// Room for sorting one list after the other.
pub(crate) struct RankPass<S> {
    /// What the rows are worth.
    worth: Vec<S>,
    levels: Vec<S>,
    sorted: Vec<u32>,
}

impl<S> Default for RankPass<S> {
    fn default() -> RankPass<S> {
        RankPass { worth: Vec::new(), levels: Vec::new(), sorted: Vec::new() }
    }
}

/// How many different worths are sorted by looking for each in turn: owners mostly know friends and others.
const LEVELS_MAX: usize = 4;

impl<S: RankKey> RankPass<S> {
    /// Sorts rows by their worth, largest first; equal ones keep their order.
    pub(crate) fn stable_sort(&mut self, rows: &mut [u32], worth: &impl Fn(u32) -> S) {
        if rows.len() < 2 {
            return;
        }
        self.worth.clear();
        self.worth.extend(rows.iter().map(|row| worth(*row)));
        if !self.worth.is_sorted_by(|one, other| one >= other) {
            self.sort(rows);
        }
    }

    fn sort(&mut self, run: &mut [u32]) {
        self.levels.clear();
        for worth in &self.worth {
            if !self.levels.contains(worth) {
                self.levels.push(*worth);
                if self.levels.len() > LEVELS_MAX {
                    break;
                }
            }
        }
        self.sorted.clear();
        if self.levels.len() > LEVELS_MAX {
            self.sorted.extend(descending(&self.worth).into_iter().filter_map(|place| run.get(as_usize(place))));
        } else {
            self.levels.sort_unstable_by(|one, other| other.cmp(one));
            for level in &self.levels {
                let rows = run.iter().zip(&self.worth).filter(|(_, worth)| *worth == level);
                self.sorted.extend(rows.map(|(row, _)| *row));
            }
        }
        run.copy_from_slice(&self.sorted);
    }
}

#[cfg(test)]
mod tests {
    use classad::Value;

    use super::*;

    #[test]
    fn rows_are_sorted_whatever_their_worths_are() {
        // Integers, few bits, all bits, both ends, many equal ones.
        let worths: [&dyn Fn(u32) -> f64; 5] = [
            &|row| f64::from(row * 7919 % 1009),
            &|row| f64::from(row % 17) / 8.0 - 1.0,
            &|row| f64::from(row * 31 % 101).sin() * 1e3,
            &|row| [1e30, -1e30, 0.0, 1e-9, f64::NAN][as_usize(row % 5)],
            &|row| -f64::from(row / 64).sqrt(),
        ];
        for worth in worths {
            let of = |row: u32| FixedPoint::of(&Value::Real(worth(row)));
            let mut rows: Vec<u32> = (0..1000).collect();
            let mut expected = rows.clone();
            expected.sort_by_key(|row| std::cmp::Reverse(of(*row)));
            stable_sort(&mut rows, of);
            assert_eq!(rows, expected);
        }
    }
}

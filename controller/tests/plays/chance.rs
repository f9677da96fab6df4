//! A seed into as many random numbers as are wanted, the same ones each time.

/// Chance.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// Starts from a seed.
    pub(crate) fn new(seed: u64) -> Chance {
        let mut chance = Chance(seed ^ 0x6a09_e667_f3bc_c908);
        chance.draw();
        chance
    }

    /// The next number (splitmix64).
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if there is none.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.draw().checked_rem(limit).unwrap_or(0)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True this often in a thousand.
    pub(crate) fn permille(&mut self, often: u64) -> bool {
        self.below(1000) < often
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn number(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.below(u64::try_from(high - low).unwrap() + 1)).unwrap()
    }

    /// A place in a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap())).unwrap()
    }
}

//! How often something may happen: a bucket of tokens that fills up with time.

/// Tokens, in thousandths, so that whole numbers of milliseconds fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    most: u64,
    per_second: u64,
    held: u64,
    filled_ms: u64,
}

impl Bucket {
    /// A full bucket that holds so many tokens and gets so many each second.
    pub(crate) fn full(most: u64, per_second: u64, now_ms: u64) -> Bucket {
        let most = most.saturating_mul(1000);
        Bucket { most, per_second, held: most, filled_ms: now_ms }
    }

    /// Takes a token; false if there is none.
    pub(crate) fn take(&mut self, now_ms: u64) -> bool {
        self.take_many(1, now_ms)
    }

    /// Takes so many tokens; false, and takes none, if there are fewer.
    pub(crate) fn take_many(&mut self, wanted: u64, now_ms: u64) -> bool {
        let passed = now_ms.saturating_sub(self.filled_ms);
        self.filled_ms = now_ms.max(self.filled_ms);
        self.held = self.held.saturating_add(passed.saturating_mul(self.per_second)).min(self.most);
        let wanted = wanted.saturating_mul(1000);
        let is_there = self.held >= wanted;
        self.held = self.held.saturating_sub(if is_there { wanted } else { 0 });
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_at_once_and_then_so_many_each_second() {
        let mut bucket = Bucket::full(3, 2, 1_000);
        assert_eq!([(); 4].map(|()| bucket.take(1_000)), [true, true, true, false]);
        assert_eq!([1_400, 1_500, 1_600, 2_000].map(|now| bucket.take(now)), [false, true, false, true]);
        assert_eq!([(); 4].map(|()| bucket.take(100_000)), [true, true, true, false], "no more than fit");
        assert_eq!([2, 3].map(|wanted| bucket.take_many(wanted, 101_000)), [true, false]);
        assert!(!bucket.take(0), "a clock that goes back fills nothing");
    }
}

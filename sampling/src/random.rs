//! A seed into random numbers.

/// The increment of SplitMix64.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A source of random numbers: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). The same
/// seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A source of its own for one purpose, so that one more draw for one purpose changes no other: the seed, mixed with FNV-1a of the
    /// name.
    ///
    /// ```
    /// let mut arrivals = sampling::Random::stream(1, "arrival");
    /// let mut services = sampling::Random::stream(1, "service");
    /// assert_ne!(arrivals.draw(), services.draw());
    /// ```
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> Random {
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Random(hash ^ seed.wrapping_mul(INCREMENT))
    }

    /// The next number, any of 2^64.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A whole number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        let product = u128::from(self.draw()) * u128::from(end);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A whole number from `low` to `high`, both included; `low` if `high` is smaller.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(i128::from(high) - i128::from(low)).unwrap_or(0).saturating_add(1);
        low.saturating_add_unsigned(self.below(span))
    }

    /// A place in a list of this length; 0 if it is empty.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    /// One of these; none of an empty list.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.index(all.len()))
    }

    /// True in this many of a thousand cases.
    pub fn happens(&mut self, in_thousand: u64) -> bool {
        self.below(1000) < in_thousand
    }

    /// A real number, at least 0 and below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exactly what a double holds")]
    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// A real number, at least `low` and below `high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A real number of the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// A real number of the normal distribution (Box and Muller 1958); it draws twice.
    pub fn gaussian(&mut self, mean: f64, deviation: f64) -> f64 {
        let (radius, angle) = (1.0 - self.unit(), self.unit());
        mean + deviation * libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(2.0 * std::f64::consts::PI * angle)
    }

    /// Puts a list into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            let other = self.index(end + 1);
            list.swap(end, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_numbers() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.draw(), 6_457_827_717_110_365_317);
        assert_eq!(random.draw(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_within_their_bounds() {
        let mut random = Random::new(7);
        for _ in 0..10_000 {
            assert!(random.below(10) < 10);
            assert!((-3..=3).contains(&random.between(-3, 3)));
            assert!((0.0..1.0).contains(&random.unit()));
            assert!(random.exponential(5.0) >= 0.0);
        }
        assert_eq!(random.below(0), 0);
        assert_eq!(random.between(4, 4), 4);
        assert_eq!(random.pick::<u8>(&[]), None);
    }

    #[test]
    fn means_are_near_what_was_asked_for() {
        let mut random = Random::stream(3, "means");
        let exponential: Vec<f64> = (0..20_000).map(|_| random.exponential(60.0)).collect();
        let gaussian: Vec<f64> = (0..20_000).map(|_| random.gaussian(10.0, 2.0)).collect();
        assert!((crate::mean(&exponential) - 60.0).abs() < 2.0);
        assert!((crate::mean(&gaussian) - 10.0).abs() < 0.1);
        assert!((crate::deviation(&gaussian) - 2.0).abs() < 0.1);
    }

    #[test]
    fn a_shuffle_keeps_every_element() {
        let mut list: Vec<u32> = (0..100).collect();
        Random::new(5).shuffle(&mut list);
        assert_ne!(list, (0..100).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..100).collect::<Vec<_>>());
    }
}

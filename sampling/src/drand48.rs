//! The generator of the C library, for experiments that were published with it.

/// The states of `drand48` (POSIX): a linear congruential generator of 48 bits that visits every state once before it repeats one.
#[derive(Clone, Debug)]
pub struct Drand48(u64);

impl Drand48 {
    /// Starts as `srand48` does: the seed is the upper 32 bits of the state.
    #[must_use]
    pub fn new(seed: u32) -> Drand48 {
        Drand48(u64::from(seed) << 16 | 0x330e)
    }

    /// The next state, all 48 bits of it.
    ///
    /// ```
    /// // `drand48()` after `srand48(0)` is 0.1708280361062897, that is, this state by 2^48.
    /// assert_eq!(sampling::Drand48::new(0).state(), 48_083_817_484_545);
    /// ```
    pub fn state(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        self.0
    }
}

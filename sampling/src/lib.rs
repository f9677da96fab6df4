//! Random numbers from a seed, and statistics of samples.
//!
//! Every experiment and simulation of this repository draws from [`Random`], so that a seed gives the same run everywhere: the logarithm and
//! the cosine come from `libm` and not from the platform.

mod drand48;
mod random;
mod statistics;

pub use drand48::Drand48;
pub use random::Random;
pub use statistics::{deviation, mean, percentile, standard_error};

//! Conversions between numbers of which none is ever too large.

/// Places in a gang, numbers of roots and numbers of rows are kept in 32 bits; on every machine that this is built for a `usize` has at least as
/// many.
#[inline]
#[must_use]
pub fn as_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The other way; a pool of more than 2^32 ads does not fit into memory.
#[inline]
#[must_use]
pub fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A count as a number of steps; on every machine that this is built for it has no more than 64 bits.
#[inline]
#[must_use]
pub fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

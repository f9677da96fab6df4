//! What operations cost: steps of fuel, of which the dearest takes some 40 ns, and bytes of memory.

/// Steps of a call, beside those of its function.
pub(crate) const CALL: usize = 4;
/// Steps of a value that needs its own allocation.
pub(crate) const ALLOCATION: usize = 2;
/// Bytes that are copied in one step.
pub(crate) const COPIED: usize = 64;
/// Bytes that are read one by one in one step.
pub(crate) const READ: usize = 16;
/// Bytes that are printed in one step: a real takes longer than its digits.
pub(crate) const PRINTED: usize = 2;
/// Steps of an ad that a function makes, with as many attributes as a time has.
pub(crate) const MADE_AD: usize = 64;

/// About how many bytes an entry of the memo takes.
pub(crate) const SLOT_BYTES: usize = 128;
/// About how many bytes a scope takes.
pub(crate) const SCOPE_BYTES: usize = 64;
/// About how many bytes a string takes, beside its letters.
pub(crate) const STRING_BYTES: usize = 48;
/// About how many bytes an ad takes that a function makes.
pub(crate) const MADE_AD_BYTES: usize = 3072;

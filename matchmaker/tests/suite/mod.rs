//! What every finder must pass: `negotiate` at the root of the test program asks the one at hand, and
//! `PLAIN` says whether it is the plain search, which has no budget but that of a single search.

pub(crate) mod accounts;
mod gangs;
mod introduce;
mod laws;
pub(crate) mod pools;

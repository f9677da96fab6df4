//! What every finder must pass: `negotiate` at the root of the test program asks the one at hand, and
//! `TRIES_EACH` says whether it looks at candidates one by one.

mod gangs;
mod laws;
pub(crate) mod pools;

//! The laws of accounts, quotas, the order and preemption, each on random worlds, and each with a mistake that it finds.
//!
//! The definition of every operation is written out once more in `oracle`, as plainly as possible. The crate must agree with it. Every mistake
//! is a variant of the oracle that is wrong in one place; the law named with it must find it.

#[cfg(test)]
mod decay;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod order;
#[cfg(test)]
mod preemption;
#[cfg(test)]
mod quotas;
#[cfg(test)]
mod shares;
#[cfg(test)]
mod worlds;

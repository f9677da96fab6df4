//! Claims: what the objects show of each, why it should end, which writes that means, and who makes them.

mod check;
mod decide;
mod drive;
mod due;
mod free;
mod leave;
mod offers;
mod refusal;
mod reserve;
mod restore;
#[cfg(test)]
mod tests;
mod view;
mod writes;

pub(crate) use drive::Driver;
pub(crate) use due::due;
pub(crate) use restore::wiped;

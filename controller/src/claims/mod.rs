//! Claims: what the objects show of each, why it should end, which writes that means, and who makes them.

mod drive;
mod due;
mod leave;
mod refusal;
mod view;
mod writes;

pub(crate) use drive::Driver;
pub(crate) use due::due;

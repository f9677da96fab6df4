//! Claims: what the objects show of each, why it should end, which writes that means, and who makes them.

#[cfg(test)]
mod agent_tests;
mod agents;
mod check;
mod decide;
mod drive;
mod due;
mod free;
mod group;
mod leave;
mod offers;
mod prove;
mod refusal;
mod registers;
mod reserve;
mod restore;
mod stop;
#[cfg(test)]
mod tests;
mod view;
mod work;
#[cfg(test)]
mod work_tests;
mod writes;

pub(crate) use drive::Driver;
pub(crate) use due::{Moment, due, newest_epoch};
pub(crate) use group::Groups;
pub(crate) use restore::wiped;
pub(crate) use view::View;

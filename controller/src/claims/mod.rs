//! Claims: what the objects show of each, why it should end, which writes that means, and who makes them.

#[cfg(test)]
mod agent_tests;
mod agents;
mod attention;
#[cfg(test)]
mod attention_tests;
mod check;
mod decide;
mod drive;
mod due;
mod force;
mod free;
mod group;
mod leave;
mod offers;
mod prove;
mod refusal;
mod registers;
mod reserve;
mod restore;
mod stalls;
mod stop;
#[cfg(test)]
mod tests;
mod view;
mod work;
#[cfg(test)]
mod work_tests;
mod writes;

pub(crate) use attention::Attention;
pub(crate) use drive::Driver;
pub(crate) use due::{Known, newest_epoch, newest_epoch_of};
pub(crate) use group::Groups;
pub(crate) use restore::wiped;
pub(crate) use view::View;

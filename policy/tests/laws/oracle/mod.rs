//! Each operation as its definition reads, with no regard for cost.

mod forest;
pub(crate) mod order;
mod quotas;
mod shares;
mod victims;

pub(crate) use forest::Forest;
pub(crate) use order::{OrderMistake, Outcome, outcome};
pub(crate) use quotas::{QuotaMistake, Rooms};
pub(crate) use shares::{ShareMistake, shares};
pub(crate) use victims::{VictimMistake, choose};

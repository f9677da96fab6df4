//! Accounts, usage, quotas and preemption: who is served next, and who has to make room.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod account;
mod amounts;
mod charge;
mod fixed_point;
mod order;
mod quota;
mod serve;
mod shares;
mod tree;
mod usage;
mod victims;

pub use account::{Account, Quota};
pub use amounts::{Amount, Amounts, CHARGE, Counter, GANGS, LEAST_CHARGE, taken_by_gang};
pub use charge::{Claim, MemberCharge, charge};
pub use order::{Order, Pass, Turn, Waiting};
pub use quota::Quotas;
pub use serve::{Served, Unserved, serve};
pub use shares::shares;
pub use tree::{Misplaced, Node, Tree};
pub use usage::Usage;
pub use victims::{Candidate, Choice, ClaimedGang, GangMember, Mode, Permitted, Preemption, Preemptor, Refusal};

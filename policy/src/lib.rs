//! Fair share, quotas and preemption: which job is served next, how much each account may hold, and which gangs have to end for another one.
//!
//! Every operation is a function from values to values. It knows accounts, amounts and gangs by name, and neither ads nor Kubernetes nor the clock.
//! All arithmetic is on integers, and on 64 binary places for usage; nothing uses floating point. Amounts of charge are in micros.
//!
//! # How it decides
//!
//! **Usage** ([`Usage`]). An account is charged while its claims are held ([`charge()`]). Its usage approaches what it holds, and half of the
//! distance is left after each half-life: `usage(t) = held + (usage(t0) - held) * 2^-((t - t0) / half_life)`. This is HTCondor's real user
//! priority in closed form (HTCondor Manual, *User Priorities and Negotiation*; Slurm's multifactor plugin decays its raw usage likewise).
//! Three numbers store it, and nothing has to be written while nothing changes. A new leader reconstructs it from them and the known claims
//! ([`Usage::taken_over`]).
//!
//! **Tree** ([`Tree`]). Accounts form a tree below the pool. An account may have gangs of its own and accounts below it: its own gangs
//! are then held at one more child, its *leaf*, with the empty name and the weight 1000. The usage of a node is the sum of what is below it.
//!
//! **Quotas** ([`Quotas`]). Per account and counter, `min` is guaranteed, `max` is never exceeded, and `lend` is how much of what is
//! guaranteed others may use meanwhile; Kueue says nominal quota, borrowing limit and lending limit. Of one counter:
//!
//! ```text
//! wanted(n)    = min(max(min(n), sum of wanted below n), max(n))
//! grant(n)     = wanted(n), or its part of the parent's grant in proportion to that; the pool's grant is what there is
//! aside(n)     = max(grant(n) - lend(n) - held(n), sum of aside below n)             what is kept from all others
//! available(a) = the least of max(n) - held(n) at a and above it, and of what is left in the pool beside all that is set aside for others
//! ```
//!
//! **Order** ([`Order`]). The next job is found from the pool down: the child with the smallest normalized usage, `(usage + held) / weight`,
//! then the smaller name; in the account the highest priority, then the oldest job. What a gang takes counts at once. So the slices of
//! HTCondor's negotiator are approached one gang at a time. First come accounts that do not hold what is guaranteed to them, with gangs that
//! are guaranteed ([`Pass::Guarantee`]), then all.
//!
//! **Shares** ([`shares()`]). What an account deserves is the weighted max-min fair part of the pool: water-filling (Bertsekas and Gallager,
//! *Data Networks*, section 6.5.2), with grants as floors and what is asked for as ceilings. It is for display; the order does not use it.
//!
//! **Victims** ([`Preemption`]). A gang may be preempted by rank (every offer in question prefers the newcomer), to reclaim what is
//! guaranteed, by share, or by priority within one account ([`Mode`]). Victims are whole gangs, chosen in one visit of a fixed order. Those
//! that are not needed after all are spared, and nothing is preempted unless the whole gang then fits and is within its quotas. As in
//! HTCondor, offers decide by their rank, and the administrator by `requirements` and `rank` (`PREEMPTION_REQUIREMENTS`, `PREEMPTION_RANK`).
//! Each time that a job is preempted, it is left alone for twice as long when it runs again, so that preemption ends even where ranks are
//! circular. With the modes Rank and Priority, victims are found whenever some would do; with Reclaim and Share a set may be missed.
//!
//! # Laws and their tests
//!
//! Each law is tested on random worlds, together with a mistake that it finds. Each operation is also compared with its definition, which
//! is written out once more in `tests/laws/oracle`.
//!
//! | law | function in `tests/laws`, run by the test `the_laws_hold` |
//! |---|---|
//! | D1 decay in one step is decay in any steps | `decay.rs::one_step_is_many` |
//! | D2 usage lies between where it was and what is held | `decay.rs::lies_between` |
//! | D3 the usage of a sum is the sum of usages | `decay.rs::sums_are_usages_of_sums` |
//! | D4 time never goes back | `decay.rs::time_never_goes_back` |
//! | D5 no floating point | `decay.rs::no_source_uses_floating_point` |
//! | A3 storing and taking over loses nothing; a Match that is gone costs a bounded error | `decay.rs::storing_at_any_time_changes_nothing`, `decay.rs::errs_by_no_more` |
//! | Q1 the grants of children are within the grant of their parent | `quotas.rs::grants_are_within_the_grant_above` |
//! | Q2 what is available is not below 0 | `quotas.rs::nothing_is_below_0` |
//! | Q3 no maximum is exceeded | `quotas.rs::no_maximum_is_exceeded` |
//! | Q4 nothing is taken that is not there | `quotas.rs::nothing_is_taken_that_is_not_there` |
//! | Q5 what is available never grows within a cycle | `quotas.rs::a_room_never_grows` |
//! | Q6 what is set aside stays there | `quotas.rs::what_is_set_aside_stays_there` |
//! | Q7 in a flat pool that lends nothing, each account can have its grant | `quotas.rs::each_account_can_have_its_grant` |
//! | an update along one path is what a recomputation gives | `quotas.rs::updates_are_recomputations` |
//! | S1 shares sum to no more than there is | `shares.rs::no_more_than_there_is` |
//! | S2 no share exceeds what is asked for | `shares.rs::no_more_than_asked_for` |
//! | S3 no share is below the grant, or what is asked for | `shares.rs::no_less_than_granted` |
//! | S4 nothing is left over while an account asks for more | `shares.rs::nothing_left_over` |
//! | S5 between floor and demand, shares are by weight | `shares.rs::by_weight` |
//! | O1 the order of the input does not matter | `order.rs::listing_does_not_matter` |
//! | O2 each job is served, or there is a reason why not | `order.rs::every_job_is_accounted_for` |
//! | O3 a job that is served has room | `order.rs::a_job_that_is_served_has_room` |
//! | O4 a job that waits has none | `order.rs::a_job_that_waits_has_none` |
//! | O5 within an account no job passes one that takes the same | `order.rs::no_job_passes_an_equal_one` |
//! | O6 the order is that of the definition | `order.rs::is_that_of_the_definition` |
//! | V1 the whole gang fits once the victims are gone | `preemption.rs::the_whole_gang_then_fits` |
//! | V2 no victim could be spared | `preemption.rs::no_victim_could_be_spared` |
//! | V3 no victim is too young | `preemption.rs::no_victim_is_too_young` |
//! | V4 with Rank and Priority, victims are found if there are any | `preemption.rs::victims_are_found_if_there_are_any` |
//! | V5 no maximum is exceeded | `preemption.rs::no_maximum_is_exceeded` |
//! | V6 two gangs never preempt each other by share | `preemption.rs::no_ping_pong_by_share` |
//! | V7 preemption by share ends | `preemption.rs::preemption_by_share_ends` |
//! | V8 a job is preempted a bounded number of times | `preemption.rs::the_doubling_is_a_bound` |
//!
//! A turn of the order costs the logarithm of the number of accounts: `src/order/tests.rs` counts comparisons.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod account;
mod amounts;
mod charge;
mod eviction_budget;
mod evictions;
mod fixed_point;
mod model_cycle;
mod order;
mod preemption;
mod proportion;
mod quota;
mod shares;
mod tree;
mod usage;

pub use account::{Account, Quota};
pub use amounts::{Amount, Amounts, CHARGE, Counter, GANGS, LEAST_CHARGE, NumberedAmounts, taken_by_gang};
pub use charge::{Claim, MemberCharge, charge};
pub use eviction_budget::EvictionBudget;
pub use evictions::Evictions;
pub use fixed_point::rounded_micros;
pub use model_cycle::{Served, Unserved, serve};
pub use order::{AccountTurn, Order, Pass, Waiting};
pub use preemption::{
    Candidate, Choice, ChoiceCost, ClaimedGang, GangMember, Mode, NoVictims, Permitted, Preemption, Preemptor,
};
pub use quota::{Bound, Quotas};
pub use shares::shares;
pub use tree::{Misplaced, Node, Tree};
pub use usage::Usage;

//! The definition of a gang, of the order in which roots are served, and of the reasons for "no gang": an unchanging [`Snapshot`] of ads into
//! a [`Cycle`] of gangs, with a reason for every other root.
//!
//! Its entry points are [`negotiate`] (in turn) and [`negotiate_together`], over a [`Finder`] of gangs. It knows ClassAds, and nothing of
//! Kubernetes, claims or the clock: the snapshot contains what it needs of those. A gang is a tree of ads in which every port is bound,
//! every edge is a bilateral match and every request fits (R. Raman, M. Livny, M. Solomon, *Policy Driven Heterogeneous Resource Co-Allocation with
//! Gangmatching*, sections 4.1 and 4.2); the best gang of a root is the one with the largest [`Score`].
//!
//! [`Plain`] defines what is found: it tries all gangs, one after the other. The crate `gangindex` finds the same by indexes, and the
//! crate `analysis` says more about a root without a gang than its reason.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod account_queue;
mod assembly;
mod budget;
mod by_ad;
mod capacity;
mod casts;
mod charges;
mod collective;
mod consent;
mod cycle;
mod early;
mod explain;
mod explanations;
mod finder;
mod gang;
mod introduce;
mod lack;
mod left_over;
mod line;
mod model;
pub mod plain;
mod plain_finder;
mod ports;
mod preemption;
mod queue;
mod quota_explanation;
mod reservation;
mod root_accounts;
mod score;
mod sentences;
mod sets;
mod share;
mod timely;
mod verify;
mod why_not;
mod within_quotas;

pub use assembly::{Assembly, BoundMember, EdgeOutcome};
pub use budget::{CycleCosts, FUEL_OF_A_STEP, Owners, SIDE_SHARE, StepShares, Stop};
pub use by_ad::ByAd;
pub use capacity::{Ask, Misfit, Res, Unfit, Usage, default_amount};
pub use casts::{as_u32, as_u64, as_usize};
pub use charges::{
    Accounts, COUNTER_FUEL, CountedOffer, GangCharge, MemberCharges, Prices, Seats, charge_by_weights, own_context,
    own_value,
};
pub use collective::{Charged, Collective, Reached, Spent, Together, Weight, negotiate_together, overdue};
pub use consent::Consent;
pub use cycle::{Ahead, negotiate};
pub use explain::{Shortage, bar, shortage, structural, tried};
pub use finder::{Answer, Asked, Cycle, Explained, Finder, Left, Needs, Round, Turn};
pub use gang::{Edge, Gang, Member, Members, Place, place};
pub use introduce::{introduce, read_by_root};
pub use lack::Lack;
pub use left_over::{FindGangs, SideSearches};
pub use line::service_order;
pub use model::{AdId, AdKey, Config, Offer, PoolAd, Role, Root, Snapshot, Taken};
pub use plain::{Found, Listed};
pub use plain_finder::Plain;
pub use ports::{Port, Ports};
pub use preemption::{
    HeldGang, NotPreempted, PREEMPTION_ROOTS_MAX, Preempting, PreemptionTerms, Preemptions, Proposal, is_still_right,
    preempt,
};
pub use quota_explanation::QuotaExplanation;
pub use reservation::{
    Backfilled, HeldGangs, HeldOffers, Reservation, Reservations, Reserving, StoredReservation, backfill, free_at,
    held_for_others, may_keep, reserve,
};
pub use root_accounts::RootAccounts;
pub use score::{FixedPoint, Score};
pub use sentences::{hint, resource_meant, summary, why};
pub use sets::{MemberAttribute, SET_MAX, SetSizes, SetTerms, identity};
pub use share::{NoSeat, share_key};
pub use verify::{Disagreement, evaluate, verified, verify};
pub use why_not::{
    CONJUNCTS_MAX, ConjunctCount, EXCERPT_MAX, JoinWhy, Limit, Misfits, Nearest, OfferRefusals, OwnerCount, PortCount,
    QuotaExceeded, Relaxation, Relaxed, SetCount, Unmatched, Verdict, WhyNot,
};

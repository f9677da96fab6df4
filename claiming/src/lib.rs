//! The two-phase claim: turns what is known of one gang's claim, and one event, into the next claim and the writes to make.
//!
//! [`step`] is a total, pure function: no clock, no client, no knowledge of ads. A caller executes each [`Action`] and
//! reports what came of it as an [`Event`]; it may stop at any moment and begin again from what the cluster shows
//! ([`Claim::seen`]), since nothing is remembered here that the cluster does not hold.
//!
//! ```
//! use claiming::{Action, Claim, Event, step};
//! let (claim, actions) = step(Claim::new(2, 30_000), Event::Tick, 0);
//! assert_eq!(actions, [Action::CreateMatch]);
//! let (_, actions) = step(claim, Event::MatchCreated, 5);
//! assert_eq!(actions, [Action::ReserveRoot, Action::Reserve(0), Action::Reserve(1)]);
//! ```
//!
//! First phase: the Match is written, then the root and all offers are reserved at once; each reserve is refused by the
//! API server itself if the object changed or has no room. Second phase: the gang is verified on what the reserves
//! returned, and one decision, which is written once, says Committed or Aborted (section 4.4 of the gangmatching paper; the
//! stored decision instead of a coordinator is that of Gray and Lamport, *Consensus on Transaction Commit*). Nothing is given
//! back before the server has said that the claim is over.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod apply;
mod claim;
mod digest;
mod event;
mod leg;
mod next_actions;
mod nomination;
mod reason;
mod step;

pub use claim::{Claim, Epochs};
pub use digest::Digest;
pub use event::{Action, Decision, Event, Work};
pub use leg::{Activity, Agent, Hold, Leg, Vote};
pub use nomination::{
    NominatedSeats, Nomination, NominationEnd, NominationKind, NominationStep, Nominee, VictimClaim, nomination_steps,
};
pub use reason::Reason;
pub use step::step;

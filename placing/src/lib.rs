//! Collective placing: which roots of a window get which gangs, if they are not served one after the other but together.
//!
//! It works on numbers. A [`Window`] has roots in the order of their turns; each has *columns*, the gangs that it may have, and each column
//! says how much it takes of which resources. [`place`] chooses at most one column for each root, so that no resource is overdrawn and
//! the objective is as large as it can find: band by band the sum of the weights of the roots that are placed, then the sum of the scores.
//! No submitter gets less than in turn ([`Window::fair`]).
//!
//! The steps, from the result in turn: prices of the resources, which give an upper bound; a walk that displaces one gang by another; the order
//! of the roots by the prices, and a walk from there; an exchange of gangs between roots for the scores. A small window is
//! solved exactly, too, and of a window that is a flow the largest number of roots is found at once. The module of each step names the source of its algorithm.
//!
//! Every step only replaces the best result so far by a better one, and nothing depends on the clock, so that the same window gives the same
//! result everywhere, and more steps never give a worse one.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod best;
mod classes;
mod exact;
mod exchange;
mod fairness;
mod fixed;
mod flow;
mod model;
mod objective;
mod place;
mod presolve;
mod prices;
mod settle;
mod state;
mod walk;

pub use model::{Choice, Column, Root, Seat, Take, Window};
pub use objective::{SCORE_MAX, Score};
pub use place::{Effort, Placed, place};
pub use presolve::{Presolved, presolve};
pub use prices::bound_at;

//! Jobs that wait for clusters, matched a window at a time: the algorithms FCFS, SRFM and LBM of the thesis *Matchmaking for grids: two
//! heuristics and the simulator GridCAM* (chapters 1 to 5), and its simulator.
//!
//! A [`Window`] holds what waits and what is free; a [`Scheme`] turns it into an [`Assignment`]. [`Laws`] and a seed become a list of
//! [`Arrival`]s; [`simulate`] takes them through windows, and [`Metrics`] says how it went. Nothing here knows ClassAds, files or the clock:
//! all times are milliseconds of the simulation.
//!
//! ```
//! use gridcam::{Amounts, Request, Scheme, Window};
//!
//! let cpus = |cpus| Amounts { cpus, ..Amounts::default() };
//! let jobs = [5, 5, 20].map(|wanted| Request::of(cpus(wanted))).to_vec();
//! // Figure 1.1: the scarce cluster of 20 processors goes to the one job that needs it.
//! let window = Window { jobs, free: vec![cpus(20), cpus(10)] };
//! assert_eq!(Scheme::Srfm.place(&window).clusters, [Some(1), Some(1), Some(0)]);
//! ```
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod arrivals;
mod distribution;
mod metrics;
mod model;
mod schemes;
mod simulation;
mod summary;

pub use arrivals::{Arrival, Laws, arrivals};
pub use distribution::{Distribution, Law};
pub use metrics::{Freeze, Metrics, freeze};
pub use model::{Amounts, Assignment, Request, Window};
pub use schemes::{Pick, Relaxation, Scheme, best, relaxation};
pub use simulation::{Grid, Outcome, State, simulate};
pub use summary::{Estimate, Summary};

/// A count as a real number.
#[expect(clippy::cast_precision_loss, reason = "no count or time of a simulation reaches 2^53")]
pub(crate) fn real(count: u64) -> f64 {
    count as f64
}

/// The length of a list as a count.
pub(crate) fn count<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}

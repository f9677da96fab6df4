//! The algorithms that match a window.

mod exact;
mod fcfs;
mod filling;
mod lbm;
mod relaxation;
mod srfm;

pub use exact::best;
pub use fcfs::Pick;
pub use relaxation::{Relaxation, relaxation};

use crate::model::{Assignment, Window};

/// How a window is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// First come, first served: each job in order gets one of the clusters that it fits.
    Fcfs {
        /// Which of them.
        pick: Pick,
        /// Whether a job that fits no cluster ends the window. If not, it is skipped.
        blocked: bool,
    },
    /// Scarce resource first (thesis, section 4.4), with the ranking before the matching.
    Srfm,
    /// Scarce resource first exactly as figure 4.2 prints it.
    SrfmPrinted,
    /// Linear programming (thesis, section 4.5): the relaxation, rounded.
    Lbm,
    /// Not of the thesis: as many processors of each cluster as possible are filled, after the jobs that have waited long.
    Filling {
        /// A job that has waited so long, in milliseconds, is placed before clusters are filled.
        max_wait: u64,
    },
}

impl Scheme {
    /// Matches one window. The same window gives the same assignment.
    #[must_use]
    pub fn place(self, window: &Window<'_>) -> Assignment {
        match self {
            Scheme::Fcfs { pick, blocked } => fcfs::place(window, pick, blocked),
            Scheme::Srfm => srfm::place(window),
            Scheme::SrfmPrinted => srfm::place_as_printed(window),
            Scheme::Lbm => lbm::place(window),
            Scheme::Filling { max_wait } => filling::place(window, max_wait),
        }
    }
}

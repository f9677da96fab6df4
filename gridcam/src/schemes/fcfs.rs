//! First come, first served.

use std::cmp::Reverse;

use crate::model::{Assignment, Placing, Window};

/// Which of the clusters that it fits a job gets. Among equals the first wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The one with the most free processors: the choice in figure 1.1.
    #[default]
    MostFree,
    /// The first.
    First,
    /// The one with the fewest free processors.
    BestFit,
}

/// Assigns each job in order; a job that fits no cluster ends the window if `blocked`, and is skipped if not.
pub(crate) fn place(window: &Window<'_>, pick: Pick, blocked: bool) -> Assignment {
    let mut placing = Placing::new(window);
    for job in window.order() {
        match pick.of(&placing, job) {
            Some(cluster) => placing.assign(job, cluster),
            None if blocked => break,
            None => {}
        }
    }
    placing.done()
}

impl Pick {
    /// The cluster that a job gets now, if it fits one.
    pub(crate) fn of(self, placing: &Placing<'_>, job: usize) -> Option<usize> {
        let free = |cluster: &usize| placing.free(*cluster).cpus;
        match self {
            Pick::First => placing.fitting(job).next(),
            Pick::MostFree => placing.fitting(job).min_by_key(|cluster| Reverse(free(cluster))),
            Pick::BestFit => placing.fitting(job).min_by_key(free),
        }
    }
}

//! As many jobs as possible, by trying everything.

use crate::model::{Assignment, Placing, Window};
use crate::schemes::relaxation;

/// An assignment that places as many jobs as possible, by branch and bound. It takes exponential time: for a dozen jobs, as a yardstick.
#[must_use]
pub fn best(window: &Window<'_>) -> Assignment {
    let mut order = window.order();
    order.sort_by_key(|job| window.jobs.get(*job).map(|job| job.amounts.cpus));
    let bound = whole_part(relaxation(window).value);
    let mut search = Search { placing: Placing::new(window), order, bound, most: None };
    search.descend(0, 0);
    let clusters = search.most.map(|(_, clusters)| clusters).unwrap_or_default();
    Assignment { clusters, raised: Vec::new() }
}

struct Search<'w> {
    placing: Placing<'w>,
    /// Jobs with few processors first: most of them are in a good assignment.
    order: Vec<usize>,
    /// No assignment places more.
    bound: usize,
    /// The best assignment so far, and how many jobs it places.
    most: Option<(usize, Vec<Option<usize>>)>,
}

impl Search<'_> {
    /// Tries every cluster, and none, for the jobs from `place` of the order on, when `placed` of those before have one.
    fn descend(&mut self, place: usize, placed: usize) {
        let hope = (placed + self.order.len() - place).min(self.bound);
        if self.most.as_ref().is_some_and(|(most, _)| hope <= *most) {
            return;
        }
        let Some(&job) = self.order.get(place) else {
            self.most = Some((placed, self.placing.clusters().to_vec()));
            return;
        };
        let clusters: Vec<usize> = self.placing.fitting(job).collect();
        for cluster in clusters {
            self.placing.assign(job, cluster);
            self.descend(place + 1, placed + 1);
            self.placing.withdraw(job);
        }
        self.descend(place + 1, placed);
    }
}

/// The largest count that is not above a value, but for the error of its sum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value of a relaxation is a number of jobs"
)]
fn whole_part(value: f64) -> usize {
    (value + 1e-6).floor() as usize
}

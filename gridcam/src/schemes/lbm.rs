//! Matchmaking by linear programming (thesis, section 4.5).

use crate::model::{Assignment, Placing, Window};
use crate::schemes::relaxation;

/// Takes the requests of the relaxation by descending r, rounded to nine places, then in the order of the jobs, then of the clusters: each
/// if the job has no cluster yet and still fits. Requests with r = 0 come last.
pub(crate) fn place(window: &Window<'_>) -> Assignment {
    let mut requests: Vec<(u64, usize, usize)> = Vec::new();
    for (job, cluster, share) in relaxation(window).requests {
        requests.push((billionths(share), job, cluster));
    }
    requests.retain(|(share, ..)| *share > 0);
    // A stable sort: the requests are in the order of the jobs already.
    requests.sort_by_key(|(share, ..)| std::cmp::Reverse(*share));
    let mut placing = Placing::new(window);
    for (_, job, cluster) in requests {
        placing.assign(job, cluster);
    }
    for job in placing.waiting() {
        let first = placing.fitting(job).next();
        if let Some(cluster) = first {
            placing.assign(job, cluster);
        }
    }
    placing.raising()
}

/// A number from 0 to 1, rounded to nine decimal places.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 1")]
fn billionths(share: f64) -> u64 {
    (share * 1e9).round() as u64
}

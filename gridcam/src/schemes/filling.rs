//! Filling: the batch algorithm that uses most processors, and not the one that starts most jobs.

use std::collections::BTreeMap;

use crate::model::{Assignment, Placing, Window};
use crate::schemes::Pick;

/// How many of the waiting jobs are looked at for one cluster: the first in order.
const JOBS_MAX: usize = 40;

/// Jobs that have waited `max_wait` go first, in order, each where the fewest processors are free. Then the clusters, the fewest free
/// processors first: each gets those of the waiting jobs that together use most of its processors. Then whatever still fits.
pub(crate) fn place(window: &Window<'_>, max_wait: u64) -> Assignment {
    let mut placing = Placing::new(window);
    for job in window.order() {
        if placing.job(job).waited >= max_wait
            && let Some(cluster) = Pick::BestFit.of(&placing, job)
        {
            placing.assign(job, cluster);
        }
    }
    let mut clusters: Vec<usize> = (0..window.free.len()).collect();
    clusters.sort_by_key(|cluster| placing.free(*cluster).cpus);
    for cluster in clusters {
        let waiting = placing.waiting();
        let jobs: Vec<usize> = waiting.into_iter().filter(|job| placing.fits(*job, cluster)).take(JOBS_MAX).collect();
        let wanted: Vec<u64> = jobs.iter().map(|job| placing.job(*job).amounts.cpus).collect();
        for place in fullest(&wanted, placing.free(cluster).cpus) {
            // Disk and memory are no part of the sum: a job for which they have run out waits.
            if let Some(job) = jobs.get(place) {
                placing.assign(*job, cluster);
            }
        }
    }
    for job in placing.waiting() {
        if let Some(cluster) = Pick::BestFit.of(&placing, job) {
            placing.assign(job, cluster);
        }
    }
    placing.done()
}

/// The places of the numbers whose sum is the largest that does not exceed `limit`. Of several such sets it is one whose last place is
/// the earliest. Dynamic programming over all sums (Bellman 1957): its memory is a word for each sum up to `limit`.
fn fullest(numbers: &[u64], limit: u64) -> Vec<usize> {
    let limit = limit.min(numbers.iter().copied().fold(0, u64::saturating_add));
    // For each sum that some of the numbers so far have: the last of them and the sum without it.
    let mut reached: BTreeMap<u64, Option<(usize, u64)>> = BTreeMap::from([(0, None)]);
    for (place, number) in numbers.iter().enumerate() {
        let before: Vec<u64> = reached.keys().copied().collect();
        for rest in before {
            if let Some(sum) = rest.checked_add(*number).filter(|sum| *sum <= limit) {
                reached.entry(sum).or_insert(Some((place, rest)));
            }
        }
    }
    let mut chosen = Vec::new();
    let mut last = reached.last_key_value().and_then(|(_, last)| *last);
    while let Some((place, rest)) = last {
        chosen.push(place);
        last = reached.get(&rest).copied().flatten();
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sum_wins_and_of_equal_ones_the_earliest() {
        for (numbers, limit, chosen) in [
            (&[5, 6, 4][..], 10, &[1, 2][..]),
            (&[5, 5, 5], 10, &[0, 1]),
            (&[3, 7, 7, 3], 10, &[0, 1]),
            (&[4, 4], 3, &[]),
            (&[4, 2, 6, 4], 8, &[1, 2]),
            (&[0, 2], 2, &[1]),
            (&[], 9, &[]),
        ] {
            assert_eq!(fullest(numbers, limit), chosen, "{numbers:?} into {limit}");
        }
    }
}

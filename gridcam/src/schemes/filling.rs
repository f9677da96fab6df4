//! Filling: the batch algorithm that uses most processors, and not the one that starts most jobs.

use crate::model::{Assignment, Placing, Window};
use crate::schemes::Pick;

/// How many of the waiting jobs are looked at for one cluster: the first in order.
const JOBS_MAX: usize = 40;

/// Jobs that have waited `max_wait` go first, in order, each where the fewest processors are free. Then the clusters, the fewest free
/// processors first: each gets those of the waiting jobs that together use most of its processors.
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
    placing.done()
}

/// The places of the numbers whose sum is the largest that does not exceed `limit`; of several such sets the one with the earliest places.
/// Dynamic programming over all sums (Bellman 1957): its memory is `limit` bytes for each number.
fn fullest(numbers: &[u64], limit: u64) -> Vec<usize> {
    let limit = limit.min(numbers.iter().copied().fold(0, u64::saturating_add));
    // For each place, the sums that the numbers from there on can have.
    let mut sums: Vec<Sums> = vec![Sums::zero(limit)];
    for number in numbers.iter().rev() {
        let later = sums.last().map_or_else(|| Sums::zero(limit), |later| later.with(*number));
        sums.push(later);
    }
    let mut left = sums.last().and_then(|all| (0..=limit).rev().find(|sum| all.has(*sum))).unwrap_or(0);
    let mut chosen = Vec::new();
    for ((place, number), later) in numbers.iter().enumerate().zip(sums.iter().rev().skip(1)) {
        if let Some(rest) = left.checked_sub(*number)
            && later.has(rest)
        {
            chosen.push(place);
            left = rest;
        }
    }
    chosen
}

/// A set of sums from 0 to a limit.
struct Sums(Vec<bool>);

impl Sums {
    /// The sum of no numbers.
    fn zero(limit: u64) -> Sums {
        let length = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(1);
        Sums((0..length).map(|sum| sum == 0).collect())
    }

    /// These sums, and each with this number added to it.
    fn with(&self, number: u64) -> Sums {
        let shift = usize::try_from(number).unwrap_or(usize::MAX);
        let shifted = std::iter::repeat_n(&false, shift.min(self.0.len())).chain(&self.0);
        Sums(self.0.iter().zip(shifted).map(|(without, with)| *without || *with).collect())
    }

    fn has(&self, sum: u64) -> bool {
        usize::try_from(sum).ok().and_then(|sum| self.0.get(sum)).copied().unwrap_or(false)
    }
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
            (&[0, 2], 2, &[0, 1]),
            (&[], 9, &[]),
        ] {
            assert_eq!(fullest(numbers, limit), chosen, "{numbers:?} into {limit}");
        }
    }
}

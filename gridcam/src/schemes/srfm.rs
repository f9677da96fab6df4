//! Scarce resource first matchmaking (thesis, section 4.4).
//!
//! The text and figure 4.2 differ: the text ranks all jobs and then matches them; by the braces of the figure a job with one cluster takes
//! it while later jobs are still being ranked, and of a job with several only the last cluster is remembered. [`place`] is the text,
//! [`place_as_printed`] the figure.

use std::cmp::Ordering;

use crate::model::{Amounts, Assignment, Placing, Window};

/// The desire of a job for a cluster (formula 4): the product of asked over free of the three resources, an exact fraction. Nothing asked
/// of nothing free counts 1.
struct Desire {
    asked: [u64; 3],
    free: [u64; 3],
}

impl Desire {
    fn of(asked: Amounts, free: Amounts) -> Desire {
        let pairs = [(asked.cpus, free.cpus), (asked.disk, free.disk), (asked.memory, free.memory)];
        let pairs = pairs.map(|pair| if pair == (0, 0) { (1, 1) } else { pair });
        Desire { asked: pairs.map(|(asked, _)| asked), free: pairs.map(|(_, free)| free) }
    }

    /// The order of two fractions: that of their cross products.
    fn cmp(&self, other: &Desire) -> Ordering {
        product(&self.asked, &other.free).cmp(&product(&other.asked, &self.free))
    }
}

/// The product of six numbers, in digits of 64 bits, the highest first.
fn product(one: &[u64; 3], other: &[u64; 3]) -> [u64; 6] {
    let mut digits: [u64; 6] = [0, 0, 0, 0, 0, 1];
    for factor in one.iter().chain(other) {
        let mut carry = 0;
        for digit in digits.iter_mut().rev() {
            (*digit, carry) = digit.carrying_mul(*factor, carry);
        }
    }
    digits
}

/// Jobs that fit one cluster first; then all pairs of the others, the greatest desire first. Maximal: no job that still fits is left.
pub(crate) fn place(window: &Window<'_>) -> Assignment {
    let mut placing = Placing::new(window);
    let mut pairs: Vec<(Desire, usize, usize)> = Vec::new();
    let mut single: Vec<(usize, usize)> = Vec::new();
    for job in window.order() {
        let clusters: Vec<usize> = placing.fitting(job).collect();
        match clusters.as_slice() {
            [only] => single.push((job, *only)),
            several => {
                let desire = |cluster: usize| Desire::of(placing.job(job).amounts, placing.free(cluster));
                pairs.extend(several.iter().map(|cluster| (desire(*cluster), job, *cluster)));
            }
        }
    }
    for (job, cluster) in single {
        placing.assign(job, cluster);
    }
    // A stable sort: of equal pairs the first in order stays first.
    pairs.sort_by(|(one, ..), (other, ..)| other.cmp(one));
    for (_, job, cluster) in pairs {
        placing.assign(job, cluster);
    }
    placing.raising()
}

/// Figure 4.2 to the letter: one pass on what is free at that moment; then each job with several clusters on the last of them, or on none.
pub(crate) fn place_as_printed(window: &Window<'_>) -> Assignment {
    let mut placing = Placing::new(window);
    let mut queue: Vec<(Desire, usize, usize)> = Vec::new();
    for job in window.order() {
        let clusters: Vec<usize> = placing.fitting(job).collect();
        match clusters.as_slice() {
            [] => {}
            [only] => placing.assign(job, *only),
            [.., last] => queue.push((Desire::of(placing.job(job).amounts, placing.free(*last)), job, *last)),
        }
    }
    queue.sort_by(|(one, ..), (other, ..)| other.cmp(one));
    for (_, job, cluster) in queue {
        placing.assign(job, cluster);
    }
    placing.raising()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(cpus: u64, disk: u64, memory: u64) -> Amounts {
        Amounts { cpus, disk, memory }
    }

    #[test]
    fn desires_are_compared_exactly_however_large() {
        let huge = amounts(u64::MAX, u64::MAX, u64::MAX);
        let less = amounts(u64::MAX, u64::MAX, u64::MAX - 1);
        assert_eq!(Desire::of(less, huge).cmp(&Desire::of(huge, huge)), Ordering::Less);
        assert_eq!(Desire::of(less, huge).cmp(&Desire::of(less, huge)), Ordering::Equal);
    }

    #[test]
    fn nothing_of_nothing_is_one_and_nothing_of_something_is_zero() {
        let whole = Desire::of(amounts(4, 0, 0), amounts(4, 0, 0));
        assert_eq!(whole.cmp(&Desire::of(amounts(1, 1, 1), amounts(1, 1, 1))), Ordering::Equal);
        let none = Desire::of(amounts(4, 0, 1), amounts(4, 9, 1));
        assert_eq!(none.cmp(&whole), Ordering::Less);
    }
}

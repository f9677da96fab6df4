//! Samples into their statistics. Of an empty sample every statistic is 0.

/// The arithmetic mean.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "no sample has 2^53 elements")]
pub fn mean(sample: &[f64]) -> f64 {
    if sample.is_empty() { 0.0 } else { sample.iter().sum::<f64>() / sample.len() as f64 }
}

/// The standard deviation of the population: the root of the mean squared distance from the mean.
#[must_use]
pub fn deviation(sample: &[f64]) -> f64 {
    let mean = mean(sample);
    let squares: Vec<f64> = sample.iter().map(|value| (value - mean) * (value - mean)).collect();
    libm::sqrt(self::mean(&squares))
}

/// The standard error of the mean: how far it may be from the true one. 0 of a single value.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "no sample has 2^53 elements")]
pub fn standard_error(sample: &[f64]) -> f64 {
    if sample.len() < 2 { 0.0 } else { deviation(sample) / libm::sqrt((sample.len() - 1) as f64) }
}

/// The smallest value that at least this share of the sample (0 to 1) does not exceed.
///
/// ```
/// assert_eq!(sampling::percentile(&[4.0, 1.0, 3.0, 2.0], 0.75), 3.0);
/// ```
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place in the sample"
)]
pub fn percentile(sample: &[f64], share: f64) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (libm::ceil(share.clamp(0.0, 1.0) * sorted.len() as f64) as usize).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_a_small_sample() {
        let sample = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&sample), 5.0);
        assert_eq!(deviation(&sample), 2.0);
        assert!((standard_error(&sample) - 2.0 / 7.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(percentile(&sample, 0.5), 4.0);
        assert_eq!(percentile(&sample, 1.0), 9.0);
    }

    #[test]
    fn statistics_of_nothing_are_0() {
        assert_eq!((mean(&[]), deviation(&[]), standard_error(&[]), percentile(&[], 0.5)), (0.0, 0.0, 0.0, 0.0));
        assert_eq!(standard_error(&[3.0]), 0.0);
    }
}

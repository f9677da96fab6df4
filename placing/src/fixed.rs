//! Exponentials and logarithms of fixed-point numbers: the same on every machine.

/// One, as a number with 30 fractional bits.
pub(crate) const ONE: u64 = 1 << 30;
const BITS: u32 = 30;
/// The natural logarithm of 2, with 30 fractional bits.
const LN_2: i128 = 744_261_118;
/// 2^(-1/256), with 62 fractional bits.
const ROOT: u128 = 4_599_216_278_082_138_665;
const PARTS: usize = 256;

/// Powers of 2 from 2^0 down to 2^-1.
#[derive(Debug)]
pub(crate) struct Exponential(Vec<u64>);

impl Exponential {
    pub(crate) fn new() -> Exponential {
        let powers = std::iter::successors(Some(1u128 << 62), |power| Some((power * ROOT) >> 62));
        Exponential(powers.take(PARTS).map(|power| u64::try_from(power >> 32).unwrap_or(ONE)).collect())
    }

    /// e^(-x / scale) as a number with 30 fractional bits, within 0.3 %. Both have the same unit; 0 for a scale of 0.
    pub(crate) fn falling(&self, x: u64, scale: u64) -> u64 {
        // x / (scale ln 2), with 8 fractional bits; 2^-30 and less is nothing
        if x / 32 >= scale || x >> 34 != 0 {
            return 0;
        }
        let over = u64::try_from((u128::from(scale) * LN_2.unsigned_abs()) >> 8).unwrap_or(u64::MAX);
        let Some(power) = (x << BITS).checked_div(over) else { return 0 };
        let whole = u32::try_from(power >> 8).unwrap_or(u32::MAX);
        let part = usize::try_from(power & 0xff).unwrap_or(0);
        self.0.get(part).and_then(|part| part.checked_shr(whole)).unwrap_or(0)
    }
}

/// The natural logarithm of `x / y`, with 30 fractional bits, of which 16 are right; both are at least 1.
pub(crate) fn log_ratio(x: u128, y: u128) -> i64 {
    let binary = i128::from(log2(x)) - i128::from(log2(y));
    i64::try_from((binary * LN_2) >> 16).unwrap_or(0)
}

/// The logarithm to base 2, with 16 fractional bits: squared once for each bit.
fn log2(x: u128) -> u32 {
    let whole = 127 - x.max(1).leading_zeros();
    // between 1 and 2, with 62 fractional bits
    let mut rest = if whole > 62 { x >> (whole - 62) } else { x.max(1) << (62 - whole) };
    let mut bits = whole;
    for _ in 0..16 {
        rest = (rest * rest) >> 62;
        bits <<= 1;
        if rest >= 1 << 63 {
            rest >>= 1;
            bits |= 1;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_near_those_of_the_platform() {
        let exponential = Exponential::new();
        for x in [0u64, 1, 10, 100, 1_000, 5_000] {
            let want = (-(x as f64) / 700.0).exp();
            let got = exponential.falling(x, 700) as f64 / ONE as f64;
            assert!((got - want).abs() <= 0.004 * want + 1e-6, "{x}: {got}, not {want}");
        }
        assert_eq!(exponential.falling(5, 0), 0);
        assert_eq!(exponential.falling(u64::MAX, 1), 0);
    }

    #[test]
    fn logarithms_are_near_those_of_the_platform() {
        for (x, y) in [(1u128, 1u128), (3, 7), (1 << 100, 5), (1, 1 << 90), (1_000_003, 999_983)] {
            let want = (x as f64 / y as f64).ln();
            let got = log_ratio(x, y) as f64 / ONE as f64;
            assert!((got - want).abs() < 1e-4, "{x} over {y}: {got}, not {want}");
        }
    }
}

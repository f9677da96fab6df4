//! Exact sums of rank values: the same total in whatever order the ranks are added.

use classad::Value;

/// A rank as a fixed-point number with 64 fractional bits.
///
/// Integers and finite reals keep their value, cut at 2^56 in size and at 2^-64 in precision; every other value counts
/// 0. Addition is exact and associative, so two searches that add the same ranks in another order agree to the last bit,
/// which floating-point sums do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FixedPoint(i128);

const POINT: u32 = 64;
const CUT: i64 = 1 << 56;

impl FixedPoint {
    /// The number that a rank expression's value stands for.
    pub fn of(value: &Value) -> FixedPoint {
        match value {
            Value::Integer(i) => FixedPoint(i128::from((*i).clamp(-CUT, CUT)) << POINT),
            Value::Real(r) if r.is_finite() => FixedPoint::of_real(*r),
            _ => FixedPoint(0),
        }
    }

    fn of_real(real: f64) -> FixedPoint {
        let real = real.clamp(-(CUT as f64), CUT as f64);
        let bits = real.to_bits();
        let exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
        let fraction = i128::from(bits & ((1 << 52) - 1));
        // real = mantissa * 2^shift, with the hidden bit of normal numbers put back
        let (mantissa, shift) = if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) };
        let shift = shift + i64::from(POINT);
        let size = match u32::try_from(shift.unsigned_abs()) {
            Ok(by) if by < 127 && shift >= 0 => mantissa << by,
            Ok(by) if by < 127 => mantissa >> by,
            _ => 0,
        };
        FixedPoint(if real.is_sign_negative() { -size } else { size })
    }

    /// The number as a multiple of 2^-64.
    #[inline]
    pub fn bits(self) -> i128 {
        self.0
    }

    /// The nearest real, for output and for the `rank` field of a Match.
    pub fn to_real(self) -> f64 {
        self.0 as f64 / 2f64.powi(64)
    }
}

impl std::ops::AddAssign for FixedPoint {
    #[inline]
    fn add_assign(&mut self, other: FixedPoint) {
        // A gang has at most 64 members: 126 terms of at most 2^120 cannot overflow.
        self.0 = self.0.saturating_add(other.0);
    }
}

/// How good a gang is, compared field by field in this order, larger first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score {
    /// The preference of the root: the sum of its ports' ranks, or its `GangRank` alone.
    pub own: FixedPoint,
    /// The preference of its partners: the sum of their ports' ranks of the root.
    pub partners: FixedPoint,
    /// Both sides' ranks on every edge that does not touch the root.
    pub deeper: FixedPoint,
    /// How many members counted ports have bound.
    pub members: u32,
}

impl Score {
    /// The sum, field by field. The order of scores does not change if the same is added to both, so a sum is largest where each of its
    /// parts is.
    #[inline]
    pub fn plus(&self, other: &Score) -> Score {
        let mut sum = *self;
        sum.own += other.own;
        sum.partners += other.partners;
        sum.deeper += other.deeper;
        sum.members = sum.members.saturating_add(other.members);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(r: f64) -> FixedPoint {
        FixedPoint::of(&Value::Real(r))
    }

    #[test]
    fn integers_and_reals_agree() {
        for i in [-3i64, -1, 0, 1, 7, 1 << 40] {
            assert_eq!(FixedPoint::of(&Value::Integer(i)), real(i as f64), "{i}");
        }
        assert_eq!(real(0.5).to_real(), 0.5);
        assert_eq!(real(-0.1).to_real(), -0.1);
    }

    #[test]
    fn sums_do_not_depend_on_their_order() {
        let terms = [1e16, 1.0, -1e16, 0.1, 0.2, 0.3, 1e-5];
        let sum = |order: &[f64]| {
            order.iter().fold(FixedPoint::default(), |mut acc, r| {
                acc += real(*r);
                acc
            })
        };
        let mut backwards = terms;
        backwards.reverse();
        assert_eq!(sum(&terms), sum(&backwards));
    }

    #[test]
    fn what_is_no_finite_number_counts_nothing() {
        for value in [
            Value::Undefined,
            Value::Error,
            Value::Boolean(true),
            Value::Real(f64::NAN),
            Value::Real(f64::INFINITY),
            Value::Real(5e-324),
        ] {
            assert_eq!(FixedPoint::of(&value), FixedPoint::default(), "{value:?}");
        }
        assert_eq!(real(1e300), FixedPoint::of(&Value::Integer(i64::MAX)), "both are cut at 2^56");
    }
}

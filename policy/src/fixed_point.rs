//! Numbers with 64 binary places, and what is left of them after some half-lives.

use crate::amounts::Amount;

/// A charge, or a usage, with 64 binary places. It holds whole charges below 2^63; no operation here uses floating point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FixedPoint(i128);

/// How many micros one charge has.
const MICROS: i128 = 1_000_000;

/// The largest value in micros: 13 digits before the point, as accounts store it.
const MOST: i128 = 10_000_000_000_000_000_000;

/// A number with 64 binary places in micros, rounded half to even. Its size is below 2^107.
#[must_use]
pub fn rounded_micros(bits: Amount) -> Amount {
    let whole = bits >> 64;
    let scaled = (bits - (whole << 64)) * MICROS;
    let (floor, rest) = (scaled >> 64, scaled & ((1 << 64) - 1));
    let up = rest > 1 << 63 || (rest == 1 << 63 && floor & 1 == 1);
    whole * MICROS + floor + Amount::from(up)
}

impl FixedPoint {
    /// The nearest number below so many micros, which are cut to 0..10^19.
    pub(crate) fn of_micros(micros: i128) -> FixedPoint {
        let micros = micros.clamp(0, MOST);
        FixedPoint(((micros / MICROS) << 64) + ((micros % MICROS) << 64) / MICROS)
    }

    /// The number in micros, rounded half to even.
    pub(crate) fn to_micros(self) -> i128 {
        rounded_micros(self.0)
    }

    /// The usage after `elapsed` seconds in which `held` was held, by the closed formula `held + (usage - held) * 2^-(elapsed / half_life)`.
    /// The product is rounded towards 0, so that the result lies between the usage and what is held.
    pub(crate) fn decayed(self, held: FixedPoint, elapsed: i128, half_life: i128) -> FixedPoint {
        let distance = self.0 - held.0;
        let left = remaining(distance.unsigned_abs(), elapsed.max(0), half_life.max(1));
        FixedPoint(held.0 + left * distance.signum())
    }
}

/// `2^62 * 2^-(2^-i)` for i from 1 to 32, rounded: each is the square root of the one before it.
const ROOTS: [u128; 32] = [
    0x2d41_3ccc_fe77_9921,
    0x35d1_3f32_b5a7_5abd,
    0x3ab0_31b9_f749_0e4c,
    0x3d49_5f45_4921_b30b,
    0x3ea0_ecb6_dc8a_80cf,
    0x3f4f_8303_3d21_b05d,
    0x3fa7_8457_1ee3_e213,
    0x3fd3_b2d6_5447_b229,
    0x3fe9_d594_8723_6bb4,
    0x3ff4_e9d4_703d_f843,
    0x3ffa_74ac_bdf6_c9d5,
    0x3ffd_3a46_ffc6_e30f,
    0x3ffe_9d1f_a801_0199,
    0x3fff_4e8e_de05_3ad5,
    0x3fff_a747_3183_76ac,
    0x3fff_d3a3_8961_e6ff,
    0x3fff_e9d1_c0d8_fd14,
    0x3fff_f4e8_df76_80c5,
    0x3fff_fa74_6f7d_c0ec,
    0x3fff_fd3a_37af_8098,
    0x3fff_fe9d_1bd3_e854,
    0x3fff_ff4e_8de8_fe2c,
    0x3fff_ffa7_46f4_4197,
    0x3fff_ffd3_a37a_116b,
    0x3fff_ffe9_d1bd_04de,
    0x3fff_fff4_e8de_8179,
    0x3fff_fffa_746f_407f,
    0x3fff_fffd_3a37_a030,
    0x3fff_fffe_9d1b_d014,
    0x3fff_ffff_4e8d_e809,
    0x3fff_ffff_a746_f404,
    0x3fff_ffff_d3a3_7a02,
];

/// `distance * 2^-(elapsed / half_life)`, rounded down, with a relative error below 3e-10; 0 after 64 half-lives.
///
/// The exponent is cut to 32 binary places; the power is the product of the roots at the places that are 1.
fn remaining(distance: u128, elapsed: i128, half_life: i128) -> i128 {
    let (whole, part) = (elapsed / half_life, elapsed % half_life);
    let Some(shift) = u32::try_from(whole).ok().filter(|shift| *shift < 64) else { return 0 };
    let exponent = (part << 32) / half_life;
    let bits = (0..32).rev().map(|place| (exponent >> place) & 1 == 1);
    let factor = ROOTS
        .iter()
        .zip(bits)
        .filter(|(_, is_set)| *is_set)
        .fold(1_u128 << 62, |product, (root, _)| (product * root) >> 62);
    // 128 bits by 62 bits: the upper and the lower half apart. The result is no larger than `distance`.
    let (upper, lower) = (distance >> 64, distance & u128::from(u64::MAX));
    let product = ((upper * factor) << 2) + ((lower * factor) >> 62);
    i128::try_from(product >> shift).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_root_is_the_root_of_the_one_before_it() {
        let mut square: u128 = 1 << 123; // One half, in units of 2^-124.
        for root in ROOTS {
            // Both are rounded by at most a half.
            assert!((root * root).abs_diff(square) <= (1 << 62) + (1 << 61) + 1, "{root:x}");
            square = root << 62;
        }
    }

    #[test]
    fn micros_are_read_back() {
        for micros in [0, 1, 999_999, 1_000_000, 12_375_283, MOST - 1, MOST] {
            assert_eq!(FixedPoint::of_micros(micros).to_micros(), micros);
        }
        assert_eq!(FixedPoint::of_micros(-5).to_micros(), 0);
        assert_eq!(FixedPoint::of_micros(i128::MAX).to_micros(), MOST);
    }

    #[test]
    fn a_half_micro_is_rounded_to_even() {
        // 2^-7 charges are 7812.5 micros, and 3 * 2^-7 are 23437.5.
        assert_eq!(FixedPoint(1 << 57).to_micros(), 7812);
        assert_eq!(FixedPoint(3 << 57).to_micros(), 23438);
        assert_eq!(FixedPoint((1 << 57) + 1).to_micros(), 7813);
    }

    #[test]
    fn whole_half_lives_are_exact() {
        let usage = FixedPoint(1 << 120);
        for lives in 0..64 {
            assert_eq!(usage.decayed(FixedPoint(0), lives * 3600, 3600), FixedPoint(1 << (120 - lives)));
        }
        assert_eq!(usage.decayed(FixedPoint(0), 64 * 3600, 3600), FixedPoint(0));
        assert_eq!(usage.decayed(FixedPoint(0), i128::from(i64::MAX), 1), FixedPoint(0));
    }
}

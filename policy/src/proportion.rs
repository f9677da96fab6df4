//! Amounts divided into whole parts.

use crate::amounts::Amount;

/// The parts of an amount that is less than what is wanted together, in whole units and in proportion to what each wants. The units that rounding
/// leaves go one each to the largest remainders, and of equal ones to the first.
pub(crate) fn in_proportion(wanted: &[Amount], amount: Amount) -> Vec<Amount> {
    let sum: Amount = wanted.iter().sum();
    let parts: Vec<(Amount, Amount)> = wanted.iter().map(|own| scaled(*own, amount, sum)).collect();
    round_up_largest(&parts, amount)
}

/// Whole parts with remainders into parts with this sum: one more for the largest remainders, of equal ones for the first.
pub(crate) fn round_up_largest(parts: &[(Amount, Amount)], sum: Amount) -> Vec<Amount> {
    let rest = sum - parts.iter().map(|(whole, _)| whole).sum::<Amount>();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    by_remainder.sort_by_key(|index| std::cmp::Reverse(parts.get(*index).map_or(0, |(_, remainder)| *remainder)));
    let mut rounded: Vec<Amount> = parts.iter().map(|(whole, _)| *whole).collect();
    for index in by_remainder.into_iter().take(usize::try_from(rest).unwrap_or(0)) {
        if let Some(part) = rounded.get_mut(index) {
            *part += 1;
        }
    }
    rounded
}

/// Quotient and remainder of `value * numerator / denominator`, all at least 0, the numerator below the denominator. It is exact even where
/// the product has more than 128 bits: schoolbook division, bit by bit.
fn scaled(value: Amount, numerator: Amount, denominator: Amount) -> (Amount, Amount) {
    let (mut quotient, mut remainder) = (0, 0);
    for place in (0..128 - value.leading_zeros()).rev() {
        (quotient, remainder) = (quotient * 2, remainder * 2 + ((value >> place) & 1) * numerator);
        quotient += remainder / denominator;
        remainder %= denominator;
    }
    (quotient, remainder)
}

//! Charges as decimal text, and the same in micros, millionths of a charge.

/// How many micros a charge has.
const CHARGE: i128 = 1_000_000;

/// A charge in micros as a text with six places.
///
/// ```
/// assert_eq!(crds::charge_text(12_375_283), "12.375283");
/// assert_eq!(crds::charge_text(-1), "0.000000");
/// ```
#[must_use]
pub fn charge_text(micros: i128) -> String {
    let micros = micros.max(0);
    format!("{}.{:06}", micros / CHARGE, micros % CHARGE)
}

/// The micros of a decimal text: digits, and a point with digits. Of more than six places, the rest is rounded half to even.
///
/// ```
/// assert_eq!(crds::charge_micros("12.375283"), Some(12_375_283));
/// assert_eq!(crds::charge_micros("0.0000005"), Some(0));
/// assert_eq!(crds::charge_micros("-1"), None);
/// ```
#[must_use]
pub fn charge_micros(text: &str) -> Option<i128> {
    let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| (1..=20).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(places) {
        return None;
    }
    // So many digits fit: 10^20 * 10^6.
    let whole = whole.parse::<i128>().ok()?.checked_mul(CHARGE)?;
    let (kept, rest) = places.split_at(places.len().min(6));
    let micros = kept.parse::<i128>().ok()? * 10_i128.pow(u32::try_from(6 - kept.len()).ok()?);
    let half = format!("{:0<width$}", "5", width = rest.len());
    let up = match rest {
        "" => false,
        rest => rest > half.as_str() || (rest == half && micros % 2 == 1),
    };
    Some(whole + micros + i128::from(up))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for micros in [0, 1, 999_999, 1_000_000, 9_999_999_999_999_999_999] {
            assert_eq!(charge_micros(&charge_text(micros)), Some(micros));
        }
    }

    #[test]
    fn a_half_is_rounded_to_even_and_other_text_is_refused() {
        for (text, micros) in
            [("1", 1_000_000), ("0.5", 500_000), ("0.0000015", 2), ("0.0000025", 2), ("0.00000251", 3)]
        {
            assert_eq!(charge_micros(text), Some(micros), "{text}");
        }
        for text in ["", ".", "1.", ".5", "1e3", "+1", "1.5.5", "0x1", "123456789012345678901"] {
            assert_eq!(charge_micros(text), None, "{text}");
        }
    }
}

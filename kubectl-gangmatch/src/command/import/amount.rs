//! Amounts of memory and disk in HTCondor's units into whole numbers.

/// What a number without a unit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Kibibytes,
    Mebibytes,
}

/// An amount such as `4`, `8 GB` or `1.5G`, in a unit and rounded up; a text of another form as it is, since it may be an expression.
pub(super) fn whole(text: &str, unit: Unit) -> String {
    read(text, unit).map_or_else(|| text.to_owned(), |amount| amount.to_string())
}

fn read(text: &str, unit: Unit) -> Option<i128> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text.get(digits.len()..)?.to_ascii_uppercase();
    let letter = suffix.strip_suffix("IB").or_else(|| suffix.strip_suffix('B')).unwrap_or(&suffix);
    let one: i128 = match unit {
        Unit::Kibibytes => 1 << 10,
        Unit::Mebibytes => 1 << 20,
    };
    let bytes: i128 = match letter {
        "" if suffix.is_empty() => one,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    let (before, after) = digits.trim().split_once('.').unwrap_or((digits.trim(), ""));
    let all = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !all(before) || !all(after) || after.len() > 6 {
        return None;
    }
    let number: i128 = format!("{before}{after}").parse::<i64>().ok()?.into();
    let parts = one.checked_mul(10_i128.checked_pow(u32::try_from(after.len()).ok()?)?)?;
    let rounded_up = number.checked_mul(bytes)?.checked_add(parts - 1)?.checked_div(parts)?;
    (rounded_up <= i128::from(i64::MAX)).then_some(rounded_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_htcondor() {
        let of = |text: &str| (whole(text, Unit::Mebibytes), whole(text, Unit::Kibibytes));
        for (text, memory, disk) in [
            ("512", "512", "512"),
            ("8 GB", "8192", "8388608"),
            ("2g", "2048", "2097152"),
            ("1.5G", "1536", "1572864"),
            ("1500K", "2", "1500"),
            ("1TiB", "1048576", "1073741824"),
            ("2 * MemoryUsage", "2 * MemoryUsage", "2 * MemoryUsage"),
            ("4 gigs", "4 gigs", "4 gigs"),
            ("99999999999999 T", "99999999999999 T", "99999999999999 T"),
            ("", "", ""),
        ] {
            assert_eq!(of(text), (memory.to_owned(), disk.to_owned()), "{text}");
        }
    }
}

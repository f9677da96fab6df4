//! Turns quantities of Kubernetes (`64Gi`, `1500m`) into whole amounts: memory in MiB, everything else in pieces.

use std::fmt;

/// A quantity as Kubernetes writes it, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    /// In thousand millionths of its unit.
    nanos: i128,
}

/// One unit, in thousand millionths.
const ONE: i128 = 1_000_000_000;
/// The bytes of a MiB.
const MIB: i128 = 1024 * 1024;

/// What a resource is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// MiB, of which a quantity gives the bytes.
    Mebibytes,
    /// Pieces: cpus, seats, devices.
    Pieces,
}

impl Unit {
    /// That of the resource of this name. Case is ignored.
    #[must_use]
    pub fn of(resource: &str) -> Unit {
        match resource.to_ascii_lowercase().as_str() {
            "memory" | "ephemeral-storage" => Unit::Mebibytes,
            name if name.starts_with("hugepages-") => Unit::Mebibytes,
            _ => Unit::Pieces,
        }
    }

    /// How many of the quantity's own units it has.
    const fn size(self) -> i128 {
        match self {
            Unit::Mebibytes => MIB,
            Unit::Pieces => 1,
        }
    }
}

impl Quantity {
    /// Reads `1500m`, `2`, `64Gi`, `1.5G`, `3e3`; none if it is no quantity, or not exact in thousand millionths.
    #[must_use]
    pub fn parse(text: &str) -> Option<Quantity> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end)?;
        let (before, after) = number.split_once('.').unwrap_or((number, ""));
        let digits: i128 = format!("{before}{after}").parse().ok()?;
        let scale = 10_i128.checked_pow(u32::try_from(after.len()).ok()?)?;
        let of = |base: i128, power: u32| base.checked_pow(power)?.checked_mul(ONE);
        let factor = match suffix {
            "n" => Some(1),
            "u" => Some(1000),
            "m" => Some(1_000_000),
            "" => Some(ONE),
            "k" => of(1000, 1),
            "M" => of(1000, 2),
            "G" => of(1000, 3),
            "T" => of(1000, 4),
            "P" => of(1000, 5),
            "E" => of(1000, 6),
            "Ki" => of(1024, 1),
            "Mi" => of(1024, 2),
            "Gi" => of(1024, 3),
            "Ti" => of(1024, 4),
            "Pi" => of(1024, 5),
            "Ei" => of(1024, 6),
            _ => {
                let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
                let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
                if exponent >= 0 {
                    power.checked_mul(ONE)
                } else {
                    ONE.checked_div(power).filter(|nanos| nanos * power == ONE)
                }
            }
        }?;
        let scaled = digits.checked_mul(factor)?;
        (scaled.checked_rem(scale)? == 0).then_some(Quantity { nanos: scaled.checked_div(scale)? })
    }

    /// The amount of this resource, rounded down.
    #[must_use]
    pub fn floor(self, unit: Unit) -> Option<i64> {
        i64::try_from(self.nanos.checked_div(ONE * unit.size())?).ok()
    }

    /// The amount of this resource, rounded up.
    #[must_use]
    pub fn ceil(self, unit: Unit) -> Option<i64> {
        let one = ONE * unit.size();
        i64::try_from(self.nanos.checked_add(one - 1)?.checked_div(one)?).ok()
    }

    /// The amount of this resource, if it is a whole number.
    #[must_use]
    pub fn exact(self, unit: Unit) -> Option<i64> {
        self.floor(unit).filter(|amount| self.ceil(unit) == Some(*amount))
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Quantity) -> Quantity {
        Quantity { nanos: self.nanos.saturating_add(other.nanos) }
    }

    /// So many times as much.
    #[must_use]
    pub fn times(self, count: i64) -> Quantity {
        Quantity { nanos: self.nanos.saturating_mul(i128::from(count)) }
    }

    /// Nothing.
    pub const ZERO: Quantity = Quantity { nanos: 0 };
}

/// An amount that is written as a quantity, and is none of its resource: what is wrong, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotWhole(String);

impl fmt::Display for NotWhole {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The amount of a resource that is written as a quantity with a suffix, such as `4Gi` or `2000m`; none if the text is no such quantity.
///
/// # Errors
/// If it is no whole number in the unit of the resource, or if it is not known what the suffix means for the resource.
pub fn amount(resource: &str, text: &str) -> Option<Result<i64, NotWhole>> {
    let text = text.trim();
    let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let unit = Unit::of(resource);
    let is_suffix = match unit {
        Unit::Mebibytes => ["m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"].contains(&suffix),
        Unit::Pieces => ["m", "Ki", "Mi", "Gi", "Ti", "Pi"].contains(&suffix),
    };
    if !is_suffix || suffix.len() == text.len() {
        return None;
    }
    let quantity = Quantity::parse(text)?;
    let whole = |unit| quantity.exact(unit).filter(|amount| *amount > 0);
    Some(match unit {
        Unit::Pieces if suffix != "m" => Err(NotWhole(format!(
            "found {text}, but only memory, ephemeral-storage and hugepages are counted in bytes; write a whole number in the unit of \
             the capacity"
        ))),
        Unit::Pieces => whole(unit).ok_or_else(|| {
            let up = quantity.ceil(unit).unwrap_or(1).max(1);
            NotWhole(format!("found {text}, which is not a whole number; write {up}"))
        }),
        Unit::Mebibytes => whole(unit).ok_or_else(|| {
            let up = quantity.ceil(unit).unwrap_or(1).max(1);
            NotWhole(format!("found {text}, which is not a whole number of MiB; write {up} or {up}Mi"))
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (resource, text, down, up) in [
            ("cpu", "16", 16, 16),
            ("cpu", "15900m", 15, 16),
            ("cpu", "1.5", 1, 2),
            ("cpu", "100u", 0, 1),
            ("memory", "64Gi", 65536, 65536),
            ("Memory", "65843508Ki", 64300, 64301),
            ("memory", "1G", 953, 954),
            ("memory", "134217728", 128, 128),
            ("ephemeral-storage", "1e9", 953, 954),
            ("nvidia.com/gpu", "4", 4, 4),
        ] {
            let (quantity, unit) = (Quantity::parse(text).unwrap(), Unit::of(resource));
            assert_eq!((quantity.floor(unit), quantity.ceil(unit)), (Some(down), Some(up)), "{resource} {text}");
            assert_eq!(quantity.exact(unit), (down == up).then_some(down), "{resource} {text}");
        }
        for none in ["", "many", "4GiB", "Gi", "1.0000000001", "99999999999999999999999999999999999999999"] {
            assert_eq!(Quantity::parse(none), None, "{none}");
        }
    }

    #[test]
    fn m10_amounts_with_a_suffix_are_exact_or_refused_with_what_to_write() {
        let said = |resource: &str, text: &str| {
            amount(resource, text)
                .map(|found| found.map_err(|wrong| wrong.to_string().split("; ").last().unwrap().to_owned()))
        };
        assert_eq!(said("memory", "4Gi"), Some(Ok(4096)));
        assert_eq!(said("memory", "1.5Gi"), Some(Ok(1536)));
        assert_eq!(said("memory", "1048576Ki"), Some(Ok(1024)));
        assert_eq!(said("memory", "4G"), Some(Err("write 3815 or 3815Mi".to_owned())));
        assert_eq!(said("cpus", "2000m"), Some(Ok(2)));
        assert_eq!(said("cpus", "500m"), Some(Err("write 1".to_owned())));
        assert_eq!(said("memory", "0Gi"), Some(Err("write 1 or 1Mi".to_owned())));
        assert!(said("seats", "4Gi").unwrap().is_err());
        for expression in ["4096", "ImageSize / 1024", "4", "", "m", "Mi"] {
            assert_eq!(said("memory", expression), None, "{expression}");
        }
        assert_eq!(said("seats", "2M"), None, "a number of the language");
    }
}

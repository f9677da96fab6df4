//! Amounts of resources and counts of things into words.

use crds::quantity::Unit;

/// Amounts in words, without those that are 0.
pub(crate) fn in_words<'r>(all: impl IntoIterator<Item = (&'r String, &'r i64)>) -> String {
    let one = |(name, amount): (&String, &i64)| match (amount, name.as_str()) {
        (1, "seats" | "slots" | "cpus" | "gpus") => format!("1 {}", name.trim_end_matches('s')),
        _ => format!("{amount} {name}"),
    };
    all.into_iter().filter(|(_, amount)| **amount != 0).map(one).collect::<Vec<_>>().join(", ")
}

/// One amount in words, with its unit: `64 cpus`, `40960 MiB of memory`.
pub(crate) fn amount(name: &str, amount: i64) -> String {
    match (amount, Unit::of(name)) {
        (_, Unit::Mebibytes) => format!("{amount} MiB of {name}"),
        (1, Unit::Pieces) if ["seats", "slots", "cpus", "gpus"].contains(&name) => {
            format!("1 {}", name.trim_end_matches('s'))
        }
        (_, Unit::Pieces) => format!("{amount} {name}"),
    }
}

/// `1 machine`, `2 machines`
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `1 is`, `2 are`
pub(crate) fn verb(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

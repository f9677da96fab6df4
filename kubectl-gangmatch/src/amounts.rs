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

/// `a`, `a and b`, `a, b and c`
pub(crate) fn listed<T: AsRef<str>>(all: &[T]) -> String {
    listed_with(all, "and")
}

/// The same with another word before the last one: `a, b or c`.
pub(crate) fn listed_with<T: AsRef<str>>(all: &[T], word: &str) -> String {
    let texts: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    match texts.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} {word} {last}", first.join(", ")),
        all => all.join(""),
    }
}

/// `1 is`, `2 are`
pub(crate) fn verb(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::{listed, listed_with};

    #[test]
    fn the_last_of_a_list_stands_after_a_word() {
        assert_eq!([listed(&["a"; 0]), listed(&["a"]), listed(&["a", "b"])], ["", "a", "a and b"]);
        assert_eq!(listed_with(&["a", "b", "c"], "or"), "a, b or c");
    }
}

//! Numbers into ads that cost as much as a tenant can make them cost, and match nothing.

use crds::Job;
use serde_json::{Map, Value, json};

use crate::ads::object;

/// Ads that are accepted and never matched; what they cost is somewhere between reading and looking for partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costly {
    /// Lists that name the one before so many times, on so many levels: 1 KB for a tree of `width ^ levels`.
    Lists {
        /// How often each names the one before.
        width: usize,
        /// How many there are.
        levels: usize,
    },
    /// A list of so many ads, evaluated in each of its own elements.
    EachInEach {
        /// How many.
        elements: usize,
    },
    /// So many ports with one condition on all of them together.
    Gang {
        /// How many, 8 at most.
        ports: usize,
    },
    /// Texts that are the one before twice, on so many levels.
    Texts {
        /// How many.
        levels: usize,
    },
    /// Sums of the one before and itself, on so many levels.
    Sums {
        /// How many.
        levels: usize,
    },
    /// Patterns that other engines take exponential time for, on so many letters.
    Patterns {
        /// How many.
        letters: usize,
    },
    /// An attribute of so many bytes.
    Large {
        /// How many.
        bytes: usize,
    },
    /// A constraint that no other job shares.
    Plain,
}

impl Costly {
    /// The ad. Ads of different numbers differ.
    #[must_use]
    pub fn ad(self, name: &str, number: usize) -> Job {
        let spec = match self {
            Costly::Lists { width, levels } => {
                let list = |before: &str| format!("{{{}}}", vec![before; width].join(", "));
                chained(levels, "1", list, &format!("size(s{levels}) > other.Memory + {number}"))
            }
            Costly::EachInEach { elements } => {
                let list = (0..elements).map(|at| format!("[a={}]", at % 9)).collect::<Vec<_>>().join(",");
                let each = format!("evalInEachContext(other.Memory + countMatches(a > {}, L), L)", number % 7);
                json!({"expressions": {"L": format!("{{{list}}}")}, "constraint": format!("size({each}) > 100000 + other.Memory")})
            }
            Costly::Gang { ports } => gang(ports, number),
            Costly::Texts { levels } => {
                let twice = |before: &str| format!("strcat({before}, {before})");
                chained(levels, "\"x\"", twice, &format!("size(s{levels}) > other.Memory + {number}"))
            }
            Costly::Sums { levels } => {
                let sum = |before: &str| format!("{before} + {before}");
                chained(levels, "1", sum, &format!("s{levels} > (other.Memory + {number}) * 1E30"))
            }
            Costly::Patterns { letters } => {
                let patterns = ["(x+x+)+y", "((x{50}){50}){20}", ".*.*.*.*.*y", "(x|xx)*y"];
                let pattern = patterns.get(number % patterns.len()).copied().unwrap_or("x");
                json!({"attributes": {"Long": "x".repeat(letters)},
                    "constraint": format!("regexp(\"{pattern}\", strcat(Long, string(other.Memory + {number})))")})
            }
            Costly::Large { bytes } => {
                let attributes: Map<String, Value> = (0..bytes.div_ceil(4096))
                    .map(|at| (format!("Blob{at}"), json!(format!("{number}{}", "x".repeat(4080)))))
                    .collect();
                json!({"attributes": attributes, "constraint": format!("other.Memory > 1000000 + {number}")})
            }
            Costly::Plain => json!({"constraint": format!("other.Memory > 1000000 + {number}")}),
        };
        object("Job", name, &spec)
    }
}

/// Attributes `s0` to `sN`, each made of the one before, and a constraint on the last.
fn chained(levels: usize, first: &str, next: impl Fn(&str) -> String, constraint: &str) -> Value {
    let mut expressions = Map::from_iter([("s0".to_owned(), json!(first))]);
    for level in 1..=levels {
        expressions.insert(format!("s{level}"), json!(next(&format!("s{}", level - 1))));
    }
    json!({"expressions": expressions, "constraint": constraint})
}

/// Machines whose memories together would have to be negative.
fn gang(ports: usize, number: usize) -> Value {
    let sum = (0..ports).map(|at| format!("p{at}.Memory")).collect::<Vec<_>>().join(" + ");
    let port = |at: usize| {
        let all = if at + 1 == ports { format!(" && {sum} < -{number}") } else { String::new() };
        json!({"label": format!("p{at}"), "constraint": format!("p{at}.Type == \"Machine\"{all}")})
    };
    json!({"ports": (0..ports).map(port).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ads_have_the_sizes_that_their_words_say() {
        let length = |costly: Costly| serde_json::to_string(&costly.ad("j", 3).spec).unwrap().len();
        assert!(length(Costly::Lists { width: 4, levels: 39 }) < 2000, "a small ad");
        assert!(length(Costly::EachInEach { elements: 800 }) < 16384);
        let large = length(Costly::Large { bytes: 256 * 1024 });
        assert!((250 * 1024..300 * 1024).contains(&large), "{large}");
        assert_eq!(Costly::Gang { ports: 8 }.ad("j", 0).spec.ad.ports.map_or(0, |ports| ports.len()), 8);
        assert_ne!(Costly::Plain.ad("j", 1), Costly::Plain.ad("j", 2));
    }
}

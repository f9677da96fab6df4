//! What a truth may come to, and the four-valued tables over all pairs of that.

use crate::values::Values;

/// One outcome where a truth is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    False,
    True,
    Undefined,
    /// ERROR, and whatever is neither a boolean nor a number.
    Error,
}

const ALL: [Truth; 4] = [Truth::False, Truth::True, Truth::Undefined, Truth::Error];

/// A set of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes([bool; 4]);

impl Outcomes {
    /// Of a comparison or a condition that has a value: whether it may be true, and whether it may be false.
    pub(crate) fn of(may_hold: bool, may_fail: bool) -> Outcomes {
        Outcomes::default().and_if(Truth::True, may_hold).and_if(Truth::False, may_fail)
    }

    /// The same and one more, if it is possible.
    pub(crate) fn and_if(mut self, truth: Truth, possible: bool) -> Outcomes {
        for (place, one) in self.0.iter_mut().zip(ALL) {
            *place |= one == truth && possible;
        }
        self
    }

    /// What values count as.
    pub(crate) fn of_values(values: &Values) -> Outcomes {
        let numbers = values.numbers.as_ref();
        let zero = crate::real::Real::of(0.0);
        let has_zero = numbers.is_some_and(|numbers| zero.is_some_and(|zero| numbers.contains(zero)));
        let has_nonzero = numbers.is_some_and(crate::numbers::Numbers::has_nonzero);
        Outcomes::default()
            .and_if(Truth::True, values.any || has_nonzero || values.bools.contains(&true))
            .and_if(Truth::False, values.any || has_zero || values.bools.contains(&false))
            .and_if(Truth::Undefined, values.may_be_undefined())
            .and_if(Truth::Error, values.may_be_error() || values.texts.is_some())
    }

    /// Whether one of them is this.
    pub(crate) fn contains(self, truth: Truth) -> bool {
        self.iter().any(|one| one == truth)
    }

    /// What `self && other` or `self || other` may come to; `absorbing` is the truth that decides: false or true.
    pub(crate) fn combined(self, other: Outcomes, absorbing: Truth) -> Outcomes {
        let mut both = Outcomes::default();
        for left in self.iter() {
            for right in other.iter() {
                both = both.and_if(combined(left, right, absorbing), true);
            }
        }
        both
    }

    /// What `!self` may come to.
    pub(crate) fn negated(self) -> Outcomes {
        let kept = |truth| self.contains(truth);
        Outcomes::of(kept(Truth::False), kept(Truth::True))
            .and_if(Truth::Undefined, kept(Truth::Undefined))
            .and_if(Truth::Error, kept(Truth::Error))
    }

    fn iter(self) -> impl Iterator<Item = Truth> {
        ALL.into_iter().zip(self.0).filter(|(_, possible)| *possible).map(|(truth, _)| truth)
    }
}

/// The tables of the language: an ERROR on the left wins, `undefined` on the left only gives way to what decides and to ERROR.
fn combined(left: Truth, right: Truth, absorbing: Truth) -> Truth {
    match (left, right) {
        (Truth::Error, _) => Truth::Error,
        (left, _) if left == absorbing => absorbing,
        (Truth::Undefined, right) if right != absorbing && right != Truth::Error => Truth::Undefined,
        (_, right) => right,
    }
}

impl From<Outcomes> for Values {
    fn from(outcomes: Outcomes) -> Values {
        let truths = [(Truth::False, false), (Truth::True, true)];
        Values {
            undefined: outcomes.contains(Truth::Undefined),
            error: outcomes.contains(Truth::Error),
            bools: truths.into_iter().filter(|(truth, _)| outcomes.contains(*truth)).map(|(_, truth)| truth).collect(),
            ..Values::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use classad::{Dialect, Value, constant, parse_expr};

    use super::*;

    #[test]
    fn tables_are_those_of_the_language() {
        let words = ["false", "true", "undefined", "error"];
        for (left, one) in words.iter().zip(ALL) {
            for (right, two) in words.iter().zip(ALL) {
                for (symbol, absorbing) in [("&&", Truth::False), ("||", Truth::True)] {
                    let text = format!("{left} {symbol} {right}");
                    let value = match constant(&parse_expr(&text, Dialect::Gangmatch).unwrap()).unwrap() {
                        Value::Boolean(truth) => ALL[usize::from(truth)],
                        Value::Undefined => Truth::Undefined,
                        _ => Truth::Error,
                    };
                    assert_eq!(combined(one, two, absorbing), value, "{text}");
                }
            }
        }
    }
}

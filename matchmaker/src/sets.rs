//! Counted ports: a port that binds a set of different ads instead of one.
//!
//! In the port's constraint, rank and request the label is one member, and every member is a bilateral match of its own. The set as a
//! whole has conditions and a rank, in which the label is the list of members in the order of their keys, as it is in later ports.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use classad::{Ad, Expr, Kind, Name, Span, Value};

use crate::share::{TEXT_MAX, digest};

/// The most ads that one port binds: with the root, the most members of a gang.
pub const SET_MAX: usize = 63;

/// The most attributes that `Same` or `Distinct` can name.
const NAMES_MAX: usize = 4;
/// The longest of these names, in bytes.
const NAME_LENGTH_MAX: usize = 63;

static COUNT: LazyLock<Name> = LazyLock::new(|| Name::new("Count"));
static MIN_COUNT: LazyLock<Name> = LazyLock::new(|| Name::new("MinCount"));
static MAX_COUNT: LazyLock<Name> = LazyLock::new(|| Name::new("MaxCount"));
static SAME: LazyLock<Name> = LazyLock::new(|| Name::new("Same"));
static DISTINCT: LazyLock<Name> = LazyLock::new(|| Name::new("Distinct"));
static GROUP_CONSTRAINT: LazyLock<Name> = LazyLock::new(|| Name::new("GroupConstraint"));
static GROUP_RANK: LazyLock<Name> = LazyLock::new(|| Name::new("GroupRank"));

/// What a counted port says of its set of partners.
#[derive(Clone, Debug)]
pub struct SetTerms {
    /// The fewest members; an expression over the ad and the labels of earlier ports.
    pub least: Expr,
    /// The most members.
    pub most: Expr,
    /// Attributes that have one value in all members.
    pub same: Vec<MemberAttribute>,
    /// Attributes that have a value of its own in each member.
    pub distinct: Vec<MemberAttribute>,
    /// Must be true of the set.
    pub constraint: Option<Expr>,
    /// How much a set is preferred; it replaces the sum of the members' ranks.
    pub rank: Option<Expr>,
}

/// An attribute of each member that the set is judged by.
#[derive(Clone, Debug)]
pub struct MemberAttribute {
    /// Its name.
    pub name: Name,
    /// `label.name`, where the label is one member.
    pub of_member: Expr,
}

/// How many members a set may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSizes {
    /// The fewest.
    pub least: usize,
    /// The most.
    pub most: usize,
}

impl SetTerms {
    /// The terms of a port with these attributes; none if it has no count.
    ///
    /// # Errors
    /// What is wrong with them, and what to write instead.
    pub(crate) fn of(label: &Name, attributes: &Ad) -> Result<Option<SetTerms>, String> {
        let given = |name: &Name| attributes.get_name(name).cloned();
        let (least, most) = match (given(&COUNT), given(&MIN_COUNT), given(&MAX_COUNT)) {
            (None, None, None) => return Ok(None),
            (Some(count), None, None) => (count.clone(), count),
            (None, Some(least), Some(most)) => (least, most),
            (Some(_), ..) => {
                return Err(
                    "`Count` stands beside `MinCount` or `MaxCount`; write `Count` alone, or the other two".into()
                );
            }
            (None, Some(_), None) => return Err("`MinCount` needs `MaxCount`; write both, or `Count` alone".into()),
            (None, None, Some(_)) => return Err("`MaxCount` needs `MinCount`; write both, or `Count` alone".into()),
        };
        let listed = |name: &Name| given(name).map_or(Ok(Vec::new()), |expr| member_attributes(name, &expr, label));
        Ok(Some(SetTerms {
            least,
            most,
            same: listed(&SAME)?,
            distinct: listed(&DISTINCT)?,
            constraint: given(&GROUP_CONSTRAINT),
            rank: given(&GROUP_RANK),
        }))
    }

    /// The fewest members, if that is written as a number.
    pub fn least_written(&self) -> Option<usize> {
        size(self.least.as_literal()?)
    }

    /// The most members, if that is written as a number.
    pub fn most_written(&self) -> Option<usize> {
        size(self.most.as_literal()?)
    }
}

impl SetSizes {
    /// The sizes that two values stand for; none if they are no integers from 1 to [`SET_MAX`], or the first is larger.
    pub(crate) fn of(least: &Value, most: &Value) -> Option<SetSizes> {
        let (least, most) = (size(least)?, size(most)?);
        (least <= most).then_some(SetSizes { least, most })
    }
}

fn size(value: &Value) -> Option<usize> {
    match value {
        Value::Integer(size) => usize::try_from(*size).ok().filter(|size| (1..=SET_MAX).contains(size)),
        _ => None,
    }
}

/// The attributes that `Same` or `Distinct` names: a list of texts.
fn member_attributes(field: &Name, expr: &Expr, label: &Name) -> Result<Vec<MemberAttribute>, String> {
    let problem = || {
        format!(
            "`{field}` is `{expr}`; write a list of 1 to {NAMES_MAX} names of attributes: `{field} = {{ \"Rack\" }}`"
        )
    };
    let entries = expr.as_list().filter(|list| (1..=NAMES_MAX).contains(&list.len())).ok_or_else(problem)?;
    let named = |entry: &Expr| match entry.as_literal() {
        Some(Value::String(text)) if (1..=NAME_LENGTH_MAX).contains(&text.len()) => Some(Name::new(text.clone())),
        _ => None,
    };
    let attribute = |name: Name| {
        let base = Expr::attribute(label.clone());
        MemberAttribute { of_member: Expr::new(Kind::Select { base, name: name.clone() }, Span::default()), name }
    };
    entries.iter().map(|entry| named(entry).map(attribute).ok_or_else(problem)).collect()
}

/// Strings that are longer are told apart by their digests.
const IDENTITY_MAX: usize = 64;
/// How the identities of these begin. No canonical text does.
pub(crate) const HASHED: &str = "sha256 ";

/// A short text for a value, equal for values that are the same in the sense of `is`. None for what is no value of a member here: undefined,
/// an error, a list, an ad, what is no number, and a text of more than 4096 bytes.
pub fn identity(value: &Value) -> Option<String> {
    match value {
        Value::Undefined | Value::Error | Value::List(_) | Value::Ad(_) => None,
        Value::Real(real) if real.is_nan() => None,
        Value::String(text) if text.len() > TEXT_MAX => None,
        Value::Real(real) if *real == 0.0 => Some(Value::Real(0.0).canonical()),
        // No canonical text begins with a letter that is no keyword.
        Value::String(text) if text.len() > IDENTITY_MAX => Some(format!("{HASHED}{}", digest(text))),
        other => Some(other.canonical()),
    }
}

/// Whether the members of a set have one identity.
pub(crate) fn all_same(identities: &[Option<String>]) -> bool {
    identities.iter().all(|own| own.is_some() && identities.first() == Some(own))
}

/// Whether the members of a set have identities of their own.
pub(crate) fn all_distinct(identities: &[Option<String>]) -> bool {
    let mut seen = BTreeSet::new();
    identities.iter().all(|own| own.as_ref().is_some_and(|own| seen.insert(own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use classad::{Dialect, parse_ad};

    fn terms(text: &str) -> Result<Option<SetTerms>, String> {
        SetTerms::of(&Name::new("node"), &parse_ad(text, Dialect::Gangmatch).unwrap())
    }

    #[test]
    fn f21_identities_are_short_and_those_of_long_texts_differ() {
        let of = |text: String| identity(&Value::string(text.as_str())).unwrap();
        let (one, other) = ("x".repeat(TEXT_MAX), format!("{}y", "x".repeat(TEXT_MAX - 1)));
        assert!(of(one.clone()).len() < 100);
        assert_eq!(of(one.clone()), of(one.clone()));
        assert_ne!(of(one.clone()), of(other));
        assert_ne!(of(one.clone()), of(of(one)), "no text has the identity of a longer one");
        assert_eq!(identity(&Value::string("x".repeat(TEXT_MAX + 1))), None, "what would take long to tell apart");
    }

    #[test]
    fn a_port_without_a_count_binds_one() {
        assert!(terms("[Same = 3; GroupRank = 1]").unwrap().is_none());
    }

    #[test]
    fn a_count_is_both_bounds() {
        let set = terms("[Count = 8; Same = { \"Rack\" }]").unwrap().unwrap();
        assert_eq!((set.least_written(), set.most_written()), (Some(8), Some(8)));
        assert_eq!(set.same[0].of_member.to_string(), "node.Rack");
        let set = terms("[MinCount = 2; MaxCount = N]").unwrap().unwrap();
        assert_eq!((set.least_written(), set.most_written()), (Some(2), None));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for text in [
            "[Count = 1; MinCount = 1]",
            "[MinCount = 1]",
            "[MaxCount = 1]",
            "[Count = 1; Same = \"Rack\"]",
            "[Count = 1; Distinct = {}]",
            "[Count = 1; Distinct = { Rack }]",
        ] {
            assert!(terms(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_integers_in_order() {
        let of = |least: i64, most: i64| SetSizes::of(&Value::Integer(least), &Value::Integer(most)).is_some();
        assert!(of(1, 63) && of(8, 8) && !of(0, 1) && !of(1, 64) && !of(3, 2));
        assert!(SetSizes::of(&Value::Real(2.0), &Value::Integer(3)).is_none());
    }

    #[test]
    fn values_are_compared_as_they_are_written() {
        let of = |values: &[Value]| values.iter().map(identity).collect::<Vec<_>>();
        let text = |text: &str| Value::string(text);
        assert!(all_same(&of(&[text("a"), text("a")])) && !all_same(&of(&[text("a"), text("A")])));
        assert!(all_distinct(&of(&[text("a"), text("A")])) && !all_distinct(&of(&[text("a"), text("a")])));
        assert!(!all_same(&of(&[Value::Undefined])) && !all_distinct(&of(&[Value::Undefined])));
        assert!(
            !all_same(&of(&[Value::Integer(1), Value::Real(1.0)])) && !all_same(&of(&[text("1"), Value::Integer(1)]))
        );
        assert!(all_same(&of(&[Value::Real(0.0), Value::Real(-0.0)])));
    }
}

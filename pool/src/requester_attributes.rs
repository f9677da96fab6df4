//! A Match and its members into the attributes of the requester that the agent of a member gets with the claim; attributes into JSON.

use std::collections::BTreeMap;

use classad::{Name, Value};
use crds::Match;
use matchmaker::{Config, introduce};
use serde_json::Value as Json;

use crate::objects::Objects;
use crate::recorded_gang::gang_of;

/// The most attributes, and the most bytes of one value and of all of them, as they are written: the rest is left out. A ledger with 256
/// claims has to fit into one object of 1.5 MB.
const ATTRIBUTES_MAX: usize = 32;
const LENGTH_MAX: usize = 1024;
const LENGTHS_MAX: usize = 2048;

/// The attributes of the requester that the ad of a member reads, in HTCondor's JSON form: scalars as they are, everything else, and
/// scalars that JSON would change, as `"/Expr(...)/"`. Private attributes are left out. `member` is its index among the members of
/// the Match, of which the root has index 0.
pub fn requester_attributes(
    found: &Match,
    objects: &Objects,
    member: usize,
    config: &Config,
    now: i64,
) -> BTreeMap<String, Json> {
    let Some(recalled) = gang_of(found, objects) else { return BTreeMap::new() };
    bounded(introduce(&recalled.snapshot, &recalled.gang, config, now, member))
}

/// Attributes in HTCondor's JSON form, as many as an object of the API may contain of them.
pub(crate) fn bounded(attributes: Vec<(Name, Value)>) -> BTreeMap<String, Json> {
    let attributes = attributes.into_iter().map(|(name, value)| (name.as_str().to_owned(), json(&value)));
    let mut left = LENGTHS_MAX;
    let mut fits = |name: &str, json: &Json| {
        let length = json.to_string().len();
        let all = length.saturating_add(name.len());
        let fits = length <= LENGTH_MAX && all <= left;
        left = left.saturating_sub(if fits { all } else { 0 });
        fits
    };
    attributes.filter(|(name, json)| fits(name, json)).take(ATTRIBUTES_MAX).collect()
}

fn json(value: &Value) -> Json {
    match value {
        Value::Boolean(flag) => Json::Bool(*flag),
        Value::Integer(number) => Json::from(*number),
        // The API server stores `1.0` as `1`.
        Value::Real(number) if number.is_finite() && number.fract() != 0.0 => Json::from(*number),
        Value::Real(number) if number.is_finite() => Json::from(format!("/Expr({number:?})/")),
        Value::String(text) if !text.starts_with("/Expr(") => Json::from(text.as_ref()),
        other => Json::from(format!("/Expr({})/", other.canonical())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_what_they_were() {
        let values = [
            Value::Boolean(true),
            Value::Integer(7),
            Value::Real(1.0),
            Value::Real(0.25),
            Value::string("a \"b\" \\ c"),
            Value::string("/Expr(1)/"),
            Value::list([Value::Integer(1), Value::string("x")]),
            Value::ad([(Name::new("Name"), Value::string("foo"))]),
        ];
        for value in values {
            let text = serde_json::json!({"A": json(&value)}).to_string();
            let ad = classad::parse_json(&text, classad::Dialect::Gangmatch).unwrap();
            let read = classad::constant(ad.get("A").unwrap());
            assert_eq!(read, Some(value), "{text}");
        }
    }

    #[test]
    fn f22_attributes_are_counted_as_they_are_written() {
        let control = "\u{1}".repeat(300);
        let all = (0..32).map(|n| (Name::new(format!("A{n}").as_str()), Value::string(control.as_str())));
        let all = bounded(all.collect());
        let written = serde_json::to_string(&all).unwrap().len();
        assert!(written <= LENGTHS_MAX + 32 * 4, "{written} bytes of {} attributes", all.len());
    }
}

//! What was measured into what the owner has declared: a value of that type, and only if it has moved far enough.

use std::collections::BTreeMap;

use classad::{Dialect, Value, constant, parse_expr};
use crds::{DynamicAttribute, DynamicType, ExprText};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

/// A measured value, before its declared type is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    /// A number.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// Seconds since 1970.
    Instant(i64),
    /// What a command has printed.
    Text(String),
}

/// The declared attributes that are to be published now, under the names that were declared: those that were measured, are of
/// their type, and differ from what is `known` by their step at least.
pub(crate) fn to_publish(
    declared: &[DynamicAttribute],
    known: &BTreeMap<String, Json>,
    measured: &BTreeMap<String, Raw>,
) -> BTreeMap<String, Json> {
    let fresh = fresh(declared, measured);
    let moved = |declared: &DynamicAttribute, value: &Json| {
        known.get(&declared.name).is_none_or(|known| far_enough(declared, known, value))
    };
    let all = declared.iter().filter_map(|declared| Some((declared, fresh.get(&declared.name)?)));
    all.filter(|(declared, value)| moved(declared, value))
        .map(|(declared, value)| (declared.name.clone(), value.clone()))
        .collect()
}

/// All declared attributes that were measured and are of their type.
pub(crate) fn fresh(declared: &[DynamicAttribute], measured: &BTreeMap<String, Raw>) -> BTreeMap<String, Json> {
    let found = |name: &str| measured.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, raw)| raw);
    let all = declared
        .iter()
        .filter_map(|declared| Some((declared.name.clone(), typed(declared.type_, found(&declared.name)?)?)));
    all.collect()
}

fn typed(type_: DynamicType, raw: &Raw) -> Option<Json> {
    match (type_, raw) {
        (DynamicType::Real, Raw::Number(number)) => Some(json!(number)),
        (DynamicType::Real, Raw::Whole(number)) => Some(json!(number)),
        (DynamicType::Integer, Raw::Whole(number)) => Some(json!(number)),
        #[expect(clippy::cast_possible_truncation, reason = "a measured number is rounded, and saturates")]
        (DynamicType::Integer, Raw::Number(number)) if number.is_finite() => Some(json!(number.round() as i64)),
        (DynamicType::Time, Raw::Instant(seconds) | Raw::Whole(seconds)) => {
            Timestamp::from_second(*seconds).ok().map(|instant| json!(instant.to_string()))
        }
        (_, Raw::Text(text)) => said(type_, text.trim()),
        _ => None,
    }
}

/// What a command has printed, as the type that was declared.
fn said(type_: DynamicType, text: &str) -> Option<Json> {
    match type_ {
        DynamicType::String => Some(json!(text)),
        DynamicType::Boolean => text.to_ascii_lowercase().parse::<bool>().ok().map(|flag| json!(flag)),
        DynamicType::Integer => text.parse::<i64>().ok().map(|number| json!(number)),
        DynamicType::Real => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| json!(number)),
        DynamicType::Time => match text.parse::<i64>() {
            Ok(seconds) => typed(type_, &Raw::Instant(seconds)),
            Err(_) => text.parse::<Timestamp>().ok().map(|instant| json!(instant.to_string())),
        },
    }
}

/// Whether a value has moved by its step. Without one every change counts; so does a value of another type.
fn far_enough(declared: &DynamicAttribute, known: &Json, value: &Json) -> bool {
    let step = declared.min_change.as_ref().and_then(step);
    match (step, measure(known), measure(value)) {
        (Some(step), Some(known), Some(value)) => (value - known).abs() >= step && value != known,
        (_, Some(known), Some(value)) => known != value,
        _ => known != value,
    }
}

fn step(text: &ExprText) -> Option<f64> {
    let value = constant(&parse_expr(&text.text(), Dialect::Gangmatch).ok()?)?;
    if let Value::RelTime(seconds) = value { Some(seconds) } else { value.as_number() }
}

/// A number, or an instant in seconds.
fn measure(value: &Json) -> Option<f64> {
    let seconds = || value.as_str()?.parse::<Timestamp>().ok().map(|instant| instant.as_second());
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact in a double")]
    value.as_f64().or_else(|| seconds().map(|seconds| seconds as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str, type_: DynamicType, min_change: Option<&str>) -> DynamicAttribute {
        let min_change = min_change.map(|min_change| serde_json::from_value(json!(min_change)).unwrap());
        DynamicAttribute { name: name.to_owned(), type_, min_change }
    }

    #[test]
    fn values_are_published_in_their_declared_type_and_under_their_declared_name() {
        let all = [
            declared("loadavg", DynamicType::Real, None),
            declared("FreeMemory", DynamicType::Integer, None),
            declared("LastInput", DynamicType::Time, None),
            declared("Site", DynamicType::String, None),
            declared("Docked", DynamicType::Boolean, None),
            declared("Temperature", DynamicType::Integer, None),
            declared("Unknown", DynamicType::Integer, None),
        ];
        let measured = BTreeMap::from([
            ("LoadAvg".to_owned(), Raw::Number(0.25)),
            ("FreeMemory".to_owned(), Raw::Number(12.6)),
            ("LastInput".to_owned(), Raw::Instant(1_795_000_000)),
            ("Site".to_owned(), Raw::Text(" north\n".to_owned())),
            ("Docked".to_owned(), Raw::Text("True\n".to_owned())),
            ("Temperature".to_owned(), Raw::Text("warm".to_owned())),
            ("Undeclared".to_owned(), Raw::Number(1.0)),
        ]);
        assert_eq!(
            json!(to_publish(&all, &BTreeMap::new(), &measured)),
            json!({"Docked": true, "FreeMemory": 13, "LastInput": "2026-11-18T11:06:40Z", "Site": "north", "loadavg": 0.25})
        );
    }

    #[test]
    fn only_what_has_moved_by_its_step_is_published() {
        let table = [
            (DynamicType::Real, Some("0.1"), json!(0.25), Raw::Number(0.30), false),
            (DynamicType::Real, Some("0.1"), json!(0.25), Raw::Number(0.36), true),
            (DynamicType::Real, None, json!(0.25), Raw::Number(0.26), true),
            (DynamicType::Real, None, json!(1), Raw::Number(1.0), false),
            (DynamicType::Time, Some("60"), json!("2026-11-18T11:06:40Z"), Raw::Instant(1_795_000_059), false),
            (DynamicType::Time, Some("60"), json!("2026-11-18T11:06:40Z"), Raw::Instant(1_795_000_060), true),
            (DynamicType::String, Some("1"), json!("a"), Raw::Text("b".to_owned()), true),
            (DynamicType::Integer, Some("5"), json!("what?"), Raw::Whole(3), true),
        ];
        for (type_, step, known, raw, is_published) in table {
            let known = BTreeMap::from([("A".to_owned(), known)]);
            let measured = BTreeMap::from([("A".to_owned(), raw)]);
            let found = to_publish(&[declared("A", type_, step)], &known, &measured);
            assert_eq!(!found.is_empty(), is_published, "{known:?} {measured:?}");
        }
    }
}

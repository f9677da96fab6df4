//! Turns the schema of a field, as the API server has it, into random values that it allows, and values that it forbids.

use std::collections::BTreeMap;

use sampling::Random;
use serde_json::{Map, Value, json};
use testbed::Requests;

/// The schemas of our kinds, by kind: with `spec` and `status` below `properties`.
pub(crate) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// Those that the API server has.
    pub(crate) fn read(requests: &Requests) -> Schemas {
        let all = requests.list("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").unwrap();
        let ours = all.iter().filter(|found| found["spec"]["group"] == "gangmatch.dev");
        let schema = |found: &Value| found["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        Schemas(
            ours.map(|found| (found["spec"]["names"]["kind"].as_str().unwrap().to_owned(), schema(found))).collect(),
        )
    }

    /// That of `spec` or `status` of a kind.
    pub(crate) fn of(&self, kind: &str, part: &str) -> &Value {
        &self.0[kind]["properties"][part]
    }
}

/// Whole numbers at which something might go wrong, as far as they are between these two.
fn whole(random: &mut Random, low: i64, high: i64) -> i64 {
    let known = [low, high, 0, 1, i64::from(i32::MAX), 1 << 40].into_iter().filter(|one| (low..=high).contains(one));
    let mut all: Vec<i64> = known.collect();
    all.push(random.between(low, high));
    all.push(random.between(low.max(-9), high.min(99)).clamp(low, high));
    *random.pick(&all).unwrap()
}

fn range(schema: &Value) -> (i64, i64) {
    let (low, high) =
        if schema["format"] == "int32" { (i32::MIN.into(), i32::MAX.into()) } else { (i64::MIN, i64::MAX) };
    (
        schema["minimum"].as_f64().map_or(low, |low| low as i64),
        schema["maximum"].as_f64().map_or(high, |high| high as i64),
    )
}

fn limit(schema: &Value, name: &str, otherwise: u64) -> u64 {
    schema[name].as_u64().unwrap_or(otherwise)
}

/// Text of so many characters, not all of one byte.
pub(crate) fn text(random: &mut Random, length: u64) -> String {
    let letters = ['a', 'b', 'Z', '7', ' ', '"', '\\', '\n', 'ß', '漢', '🙂', '/', '{'];
    (0..length).map(|_| *random.pick(&letters).unwrap()).collect()
}

/// A name such as that of an attribute.
fn word(random: &mut Random) -> String {
    let letters = ["a", "b", "Memory", "x", "_", "App", "q", "Z"];
    (0..=random.below(3)).map(|_| *random.pick(&letters).unwrap()).collect()
}

/// Any JSON of some depth. No real without a fraction: the API server keeps it as a whole number.
pub(crate) fn free(random: &mut Random, depth: u64) -> Value {
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.happens(500)),
        2 => json!(whole(random, i64::MIN, i64::MAX)),
        3 => json!(random.unit() + 0.125),
        4 => json!(*random.pick(&[0.1, -2.5e-7, 1.5e300, 1e21]).unwrap()),
        5 => {
            let length = random.below(9);
            json!(text(random, length))
        }
        6 => (0..random.below(4)).map(|_| free(random, depth - 1)).collect(),
        _ => Value::Object((0..random.below(4)).map(|_| (word(random), free(random, depth - 1))).collect()),
    }
}

/// A value that the schema allows. The rules in CEL are not considered.
pub(crate) fn valid(schema: &Value, random: &mut Random) -> Value {
    if let Some(all) = schema["enum"].as_array() {
        return random.pick(all).unwrap().clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return if random.happens(300) { json!(whole(random, i64::MIN, i64::MAX)) } else { string(schema, random) };
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, random),
        Some("array") => array(schema, random),
        Some("string") => string(schema, random),
        Some("boolean") => json!(random.happens(500)),
        Some("integer") => {
            let (low, high) = range(schema);
            json!(whole(random, low, high))
        }
        _ => free(random, 2),
    }
}

fn object(schema: &Value, random: &mut Random) -> Value {
    let mut all = Map::new();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&json!(name)) || random.happens(400) {
            all.insert(name.clone(), valid(field, random));
        }
    }
    let (least, most) = (limit(schema, "minProperties", 0), limit(schema, "maxProperties", 3).min(3));
    let count = least.max(random.below(most + 1));
    while schema["properties"].is_null() && (all.len() as u64) < count {
        let inner = &schema["additionalProperties"];
        // A null in a map of free values is dropped by the API server, unlike one in a free object.
        let value = match if inner.is_object() { valid(inner, random) } else { free(random, 2) } {
            Value::Null if inner.is_object() => json!(1),
            value => value,
        };
        all.insert(word(random), value);
    }
    Value::Object(all)
}

fn array(schema: &Value, random: &mut Random) -> Value {
    let (least, most) = (limit(schema, "minItems", 0), limit(schema, "maxItems", 3));
    let count = least.max(random.below(most.min(3) + 1));
    let mut all: Vec<Value> = Vec::new();
    for _ in 0..count {
        let item = valid(&schema["items"], random);
        let is_same = |known: &Value| match schema["x-kubernetes-list-type"].as_str() {
            Some("set") => *known == item,
            Some("map") => schema["x-kubernetes-list-map-keys"].as_array().unwrap().iter().all(|key| {
                let key = key.as_str().unwrap();
                known[key] == item[key]
            }),
            _ => false,
        };
        if !all.iter().any(is_same) {
            all.push(item);
        }
    }
    Value::Array(all)
}

fn string(schema: &Value, random: &mut Random) -> Value {
    if schema["format"] == "date-time" {
        return json!(*random.pick(&["2026-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2999-12-31T23:59:59Z"]).unwrap());
    }
    if schema["pattern"].as_str().is_some_and(|pattern| pattern.starts_with("^[0-9]")) {
        return json!(format!("{}.{:06}", random.below(1000), random.below(1_000_000)));
    }
    if !schema["pattern"].is_null() {
        return json!(format!("a{}", word(random).replace('_', "b")));
    }
    let (least, most) = (limit(schema, "minLength", 0), limit(schema, "maxLength", 300));
    let length = if random.happens(60) { most } else { (least + random.below(12)).min(most) };
    json!(text(random, length))
}

/// A value that the schema forbids, and what is wrong with it; none if it allows everything.
pub(crate) fn invalid(schema: &Value, random: &mut Random) -> Option<(Value, String)> {
    let mut all: Vec<(Value, String)> = Vec::new();
    let mut wrong = |value: Value, why: &str| all.push((value, why.to_owned()));
    if schema["x-kubernetes-int-or-string"] == true {
        wrong(json!(true), "a boolean as an expression");
        wrong(json!(0.5), "a fraction as an expression");
        wrong(json!([]), "a list as an expression");
    }
    if schema["enum"].is_array() {
        wrong(json!("NoSuchWord"), "not in the enum");
    }
    if !schema["pattern"].is_null() {
        wrong(json!("1 x"), "not of the pattern");
    }
    match schema["type"].as_str() {
        Some("integer") => {
            let (low, high) = range(schema);
            wrong(json!("7"), "text for a number");
            wrong(json!(1.5), "a fraction for a whole number");
            low.checked_sub(1).into_iter().for_each(|below| wrong(json!(below), "too small"));
            high.checked_add(1).into_iter().for_each(|above| wrong(json!(above), "too large"));
        }
        Some("string") => wrong(json!(7), "a number for text"),
        Some("boolean") => wrong(json!("true"), "text for a boolean"),
        Some("array") => wrong(json!({"a": 1}), "a map for a list"),
        Some("object") => wrong(json!([1]), "a list for a map"),
        _ => {}
    }
    if let Some(most) = schema["maxLength"].as_u64() {
        wrong(json!("x".repeat(usize::try_from(most + 1).unwrap())), "too long");
    }
    if schema["minLength"].as_u64().is_some_and(|least| least > 0) {
        wrong(json!(""), "too short");
    }
    if let Some(most) = schema["maxItems"].as_u64() {
        wrong((0..=most).map(|_| valid(&schema["items"], random)).collect(), "too many items");
    }
    if let Some(most) = schema["maxProperties"].as_u64() {
        let inner = &schema["additionalProperties"];
        let value = if inner.is_object() { valid(inner, random) } else { json!(1) };
        let many = (0..=most).map(|number| (format!("k{number}"), value.clone()));
        wrong(Value::Object(many.collect()), "too many properties");
    }
    all.extend(inside(schema, random));
    random.pick(&all).cloned()
}

/// A value with something forbidden in a field, an item or an entry; and one without a field that is required.
fn inside(schema: &Value, random: &mut Random) -> Vec<(Value, String)> {
    let mut all = Vec::new();
    let fields: Vec<(&String, &Value)> = schema["properties"].as_object().into_iter().flatten().collect();
    for _ in 0..fields.len().min(3) {
        let (name, field) = *random.pick(&fields).unwrap();
        if let Some((value, why)) = invalid(field, random) {
            let mut whole = valid(schema, random);
            whole[name] = value;
            all.push((whole, format!("{name}: {why}")));
        }
    }
    if let Some(name) = schema["required"].as_array().and_then(|all| random.pick(all)).and_then(Value::as_str) {
        let mut whole = valid(schema, random);
        whole.as_object_mut().unwrap().remove(name);
        all.push((whole, format!("{name} is missing")));
    }
    if schema["items"].is_object()
        && let Some((value, why)) = invalid(&schema["items"], random)
    {
        all.push((json!([value]), format!("[0]: {why}")));
    }
    if schema["additionalProperties"].is_object()
        && let Some((value, why)) = invalid(&schema["additionalProperties"], random)
    {
        all.push((json!({"k": value}), format!("k: {why}")));
    }
    all
}

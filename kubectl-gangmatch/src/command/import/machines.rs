//! Ads of machines, as `condor_status -long` prints them, into Machines.

use classad::{Ad, Dialect, Expr, Severity, Value, read_ads};
use serde_json::{Map, Value as Json, json};

use super::{Imported, names, scope};

/// Attributes of the moment, or of HTCondor's own daemons: by how their names begin.
const LEFT_OUT: [&str; 18] = [
    "Activity",
    "AddressV1",
    "Authenticated",
    "ChildName",
    "Daemon",
    "Entered",
    "LastHeardFrom",
    "LastUpdate",
    "Monitor",
    "MyAddress",
    "MyCurrentTime",
    "Recent",
    "SlotID",
    "Start_",
    "StarterAbility",
    "State",
    "TargetType",
    "Update",
];
/// Attributes that are written elsewhere in a Machine, or that the system has.
const ELSEWHERE: [&str; 6] = ["Requirements", "Rank", "MyType", "Name", "Machine", "CurrentRank"];

/// The Machines of a text.
pub(super) fn machines(name: &str, text: &str) -> Result<Imported, String> {
    let reading = read_ads(text, Dialect::Gangmatch);
    let Some(ads) = reading.read.filter(|ads| !ads.is_empty()) else {
        let first = reading.diagnostics.iter().find(|found| found.severity == Severity::Error);
        let why = first.map_or_else(|| "the file has no ad and no line `queue`".to_owned(), ToString::to_string);
        return Err(format!("{name}: {why}"));
    };
    let mut imported = Imported::default();
    for (number, ad) in ads.iter().enumerate() {
        let called =
            string(ad, "Name").or_else(|| string(ad, "Machine")).unwrap_or_else(|| format!("machine-{number}"));
        if string(ad, "SlotType").is_some_and(|kind| kind.eq_ignore_ascii_case("dynamic")) {
            imported.notes.push(format!("{name}: {called}: left out: a dynamic slot is part of a partitionable one"));
            continue;
        }
        imported.manifests.push(machine(text, ad, &called));
    }
    Ok(imported)
}

fn machine(source: &str, ad: &Ad, called: &str) -> Json {
    let own = |name: &str| ad.get(name).is_some();
    let scoped = |expr: &Expr| scope::scoped(source, expr, "other", own);
    let (mut attributes, mut expressions) = (Map::new(), Map::new());
    for (name, expr) in ad.iter() {
        let begins = |list: &[&str]| list.iter().any(|left| begins_with(name.as_str(), left));
        let elsewhere = ELSEWHERE.iter().any(|other| other.eq_ignore_ascii_case(name.as_str()));
        if elsewhere || begins(&LEFT_OUT) {
            continue;
        }
        match literal(expr) {
            Some(value) => attributes.insert(name.to_string(), value),
            None => expressions.insert(name.to_string(), json!(scoped(expr))),
        };
    }
    let host = string(ad, "Machine").unwrap_or_else(|| called.to_owned());
    attributes.insert("Name".to_owned(), json!(host));
    let mut spec =
        Map::from_iter([("capacity".to_owned(), capacity(ad)), ("attributes".to_owned(), Json::Object(attributes))]);
    if !expressions.is_empty() {
        spec.insert("expressions".to_owned(), Json::Object(expressions));
    }
    for (from, to) in [("Requirements", "constraint"), ("Rank", "rank")] {
        if let Some(expr) = ad.get(from) {
            spec.insert(to.to_owned(), json!(scoped(expr)));
        }
    }
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": names::object(called)}, "spec": spec})
}

fn begins_with(name: &str, start: &str) -> bool {
    name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

/// Cores and MiB of the whole slot, not of what is left of it.
fn capacity(ad: &Ad) -> Json {
    let amount = |names: [&str; 2]| {
        names.iter().find_map(|name| match ad.get(name)?.as_literal()? {
            Value::Integer(amount) => Some(*amount),
            _ => None,
        })
    };
    let pairs = [("cpus", amount(["TotalSlotCpus", "Cpus"])), ("memory", amount(["TotalSlotMemory", "Memory"]))];
    let known: Map<String, Json> =
        pairs.into_iter().filter_map(|(name, amount)| Some((name.to_owned(), json!(amount?)))).collect();
    if known.is_empty() { json!({"slots": 1}) } else { Json::Object(known) }
}

fn string(ad: &Ad, name: &str) -> Option<String> {
    match ad.get(name)?.as_literal()? {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    }
}

/// As a literal of a manifest; a real is none there, since `1.0` would become a whole number.
fn literal(expr: &Expr) -> Option<Json> {
    match expr.as_literal()? {
        Value::Integer(number) => Some(json!(number)),
        Value::Boolean(truth) => Some(json!(truth)),
        Value::String(text) => Some(json!(text.as_ref())),
        _ => None,
    }
}

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
/// Attributes that change all the time, with the type of their values: what a dump says of them holds for a moment only.
const OF_THE_MOMENT: [(&str, &str); 14] = [
    ("LoadAvg", "Real"),
    ("CondorLoadAvg", "Real"),
    ("TotalLoadAvg", "Real"),
    ("TotalCondorLoadAvg", "Real"),
    ("KeyboardIdle", "Integer"),
    ("ConsoleIdle", "Integer"),
    ("ClockMin", "Integer"),
    ("ClockDay", "Integer"),
    ("VirtualMemory", "Integer"),
    ("TotalVirtualMemory", "Integer"),
    ("TotalTimeClaimedBusy", "Integer"),
    ("TotalTimeUnclaimedIdle", "Integer"),
    ("LastBenchmark", "Integer"),
    ("CpuBusyTime", "Integer"),
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
        let (machine, dynamic) = machine(text, ad, &called);
        imported.manifests.push(machine);
        if !dynamic.is_empty() {
            imported.notes.push(format!(
                "{name}: {called}: left to an agent, because the values change all the time: {}; they are declared in dynamicAttributes, \
                 and UNDEFINED until the agent of the Machine publishes them",
                dynamic.join(", ")
            ));
        }
    }
    Ok(imported)
}

/// The Machine of an ad, and the names of its attributes that an agent has to publish.
fn machine(source: &str, ad: &Ad, called: &str) -> (Json, Vec<String>) {
    let own = |name: &str| ad.get(name).is_some();
    let scoped = |expr: &Expr| scope::scoped(source, expr, "other", own);
    let (mut attributes, mut expressions) = (Map::new(), Map::new());
    let mut dynamic: Vec<(String, &str)> = Vec::new();
    for (name, expr) in ad.iter() {
        let moment = OF_THE_MOMENT.iter().find(|(own, _)| own.eq_ignore_ascii_case(name.as_str()));
        if let Some((_, kind)) = moment.filter(|_| expr.as_literal().is_some()) {
            dynamic.push((name.to_string(), kind));
            continue;
        }
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
    if !dynamic.is_empty() {
        let declared = dynamic.iter().map(|(name, kind)| json!({"name": name, "type": kind})).collect();
        spec.insert("dynamicAttributes".to_owned(), Json::Array(declared));
    }
    for (from, to) in [("Requirements", "constraint"), ("Rank", "rank")] {
        if let Some(expr) = ad.get(from) {
            spec.insert(to.to_owned(), json!(scoped(expr)));
        }
    }
    let metadata = json!({"name": names::object(called)});
    let machine =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": metadata, "spec": spec});
    (machine, dynamic.into_iter().map(|(name, _)| name).collect())
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
    let pairs = [
        ("cpus", amount(["TotalSlotCpus", "Cpus"])),
        ("memory", amount(["TotalSlotMemory", "Memory"])),
        ("gpus", amount(["TotalSlotGPUs", "GPUs"]).filter(|gpus| *gpus > 0)),
    ];
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

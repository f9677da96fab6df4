//! Ads of machines, as `condor_status -long` prints them, into Machines.

use std::collections::BTreeSet;

use classad::{Ad, Dialect, Expr, Name, Severity, Value, constant, read_ads};
use gangindex::never_satisfied;
use matchmaker::{Config, Ports};
use serde_json::{Map, Value as Json, json};

use super::scope::{self, Inlined, ScopeRules, Scoped};
use super::{Imported, names, rank};

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
const ELSEWHERE: [&str; 5] = ["Requirements", "Rank", "MyType", "Name", "CurrentRank"];

/// When HTCondor ends a claim. Here, policies are evaluated when a claim is made.
const POLICIES: [&str; 9] = [
    "CONTINUE",
    "KILL",
    "PREEMPT",
    "SUSPEND",
    "WANT_HOLD",
    "WANT_HOLD_REASON",
    "WANT_HOLD_SUBCODE",
    "WANT_SUSPEND",
    "WANT_VACATE",
];
/// What a slot says of itself whenever a job is matched with it: an offer is asked only while it has something left.
const WHILE_FREE: [(&str, &str); 2] = [("State", "Unclaimed"), ("Activity", "Idle")];
/// What a partitionable slot has left; the whole of it is in attributes that begin with `TotalSlot`.
const DIVIDED: [&str; 4] = ["Cpus", "Disk", "GPUs", "Memory"];
/// What every ad of a machine has at least one of; settings such as `START = true` alone are a configuration.
const NAMING: [&str; 3] = ["MyType", "Name", "Machine"];

/// What becomes of an attribute.
enum AttributeFate {
    Kept,
    /// An agent has to publish it, as a value of this type.
    OfTheMoment(&'static str),
    Policy,
    LeftOut,
    /// It is written elsewhere in a Machine, or the system has it.
    Elsewhere,
}

impl AttributeFate {
    fn of(name: &str, expr: &Expr) -> AttributeFate {
        let is_in = |list: &[&str]| list.iter().any(|own| own.eq_ignore_ascii_case(name));
        let moment = OF_THE_MOMENT.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        match moment.filter(|_| expr.as_literal().is_some()) {
            Some((_, kind)) => AttributeFate::OfTheMoment(kind),
            None if is_in(&ELSEWHERE) => AttributeFate::Elsewhere,
            None if is_in(&POLICIES) => AttributeFate::Policy,
            None if is_left_out(name) => AttributeFate::LeftOut,
            None => AttributeFate::Kept,
        }
    }
}

/// Whether Machines do not have this attribute.
pub(super) fn is_left_out(name: &str) -> bool {
    LEFT_OUT.iter().any(|start| name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start)))
}

/// What has to be known of Machines, each once with the machines that it is true of.
#[derive(Default)]
struct Notes(Vec<(String, Vec<String>)>);

impl Notes {
    fn add(&mut self, called: &str, text: String) {
        match self.0.iter_mut().find(|(known, _)| *known == text) {
            Some((_, machines)) => machines.push(called.to_owned()),
            None => self.0.push((text, vec![called.to_owned()])),
        }
    }

    fn lines(self, file: &str) -> Vec<String> {
        let of = |machines: &[String]| match machines {
            [one] => one.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => String::new(),
        };
        self.0.iter().map(|(text, machines)| format!("{file}: {}: {text}", of(machines))).collect()
    }
}

/// The Machines of a text.
pub(super) fn machines(name: &str, text: &str) -> Result<Imported, String> {
    let reading = read_ads(text, Dialect::Gangmatch);
    let Some(ads) = reading.read.filter(|ads| !ads.is_empty()) else {
        let first = reading.diagnostics.iter().find(|found| found.severity == Severity::Error);
        let why = first.map_or_else(|| "the file has no ad and no line `queue`".to_owned(), ToString::to_string);
        return Err(format!("{name}: {why}"));
    };
    let (mut manifests, mut notes) = (Vec::new(), Notes::default());
    for (number, ad) in ads.iter().enumerate() {
        if !NAMING.iter().any(|name| ad.get(name).is_some()) {
            return Err(format!(
                "{name}: ad {} has none of MyType, Name and Machine, so it is no ad of a machine; write ads as \
                 `condor_status -long` prints them (a configuration is not read)",
                number + 1
            ));
        }
        if let Some(kind) = string(ad, "MyType").filter(|kind| !is_machine(kind)) {
            let text =
                format!("left out: MyType is \"{kind}\", and only ads of machines become manifests{}", instead(&kind));
            notes.add(&format!("ad {}", number + 1), text);
            continue;
        }
        let called =
            string(ad, "Name").or_else(|| string(ad, "Machine")).unwrap_or_else(|| format!("machine-{number}"));
        if is_of_kind(ad, "Dynamic") {
            notes.add(&called, "left out: a dynamic slot is part of a partitionable one".to_owned());
            continue;
        }
        manifests.push(machine(text, ad, &called, &mut |note| notes.add(&called, note)));
    }
    Ok(Imported { manifests, notes: notes.lines(name) })
}

/// Whether ads of this type are those of machines: newer versions of HTCondor have ads of slots.
fn is_machine(kind: &str) -> bool {
    ["Machine", "Slot"].iter().any(|own| own.eq_ignore_ascii_case(kind))
}

/// What is imported in the place of ads of this type.
fn instead(kind: &str) -> &'static str {
    if kind.eq_ignore_ascii_case("Job") { ": import the submit file of the job" } else { "" }
}

/// The Machine of an ad. What has to be known of it goes to `note`.
fn machine(source: &str, ad: &Ad, called: &str, note: &mut dyn FnMut(String)) -> Json {
    let (is_own, inlined) = (|name: &str| ad.get(name).is_some(), Inlined::new());
    let rules = ScopeRules { partner: "other", is_own: &is_own, inlined: &inlined };
    let scoped = |expr: &Expr| scope::scoped(source, expr, rules);
    let (mut attributes, mut expressions) = (Map::new(), Map::new());
    let (mut dynamic, mut policies) = (Vec::new(), Vec::new());
    for (name, expr) in ad.iter() {
        match AttributeFate::of(name.as_str(), expr) {
            AttributeFate::OfTheMoment(kind) => dynamic.push((name.to_string(), kind)),
            AttributeFate::Policy => policies.push(name.to_string()),
            AttributeFate::LeftOut | AttributeFate::Elsewhere => {}
            AttributeFate::Kept => {
                let expr = whole(ad, name.as_str()).unwrap_or(expr);
                match literal(expr) {
                    Some(value) => attributes.insert(name.to_string(), value),
                    None => expressions.insert(name.to_string(), json!(scoped(expr).text)),
                };
            }
        }
    }
    let host = string(ad, "Machine").unwrap_or_else(|| called.to_owned());
    if !host.eq_ignore_ascii_case(called) {
        note("the attribute Name is the name of the host, as Machine is: conditions that compare Name with SLOT@HOST are false".to_owned());
    }
    attributes.insert("Name".to_owned(), json!(host));
    attributes.extend(kept_for_policy(ad, &scoped, note));
    let has_lost_gpus = whole(ad, "GPUs").is_some_and(|all| ad.get("GPUs").is_some_and(|left| left != all));
    if has_lost_gpus && ad.get("AvailableGPUs").is_some() {
        note("`AvailableGPUs` lists only the GPUs that were left, but `GPUs` counts all of the slot; add the others to the list, each with its attributes".to_owned());
    }
    if !policies.is_empty() {
        note(format!(
            "left out: {}: policies are evaluated when a claim is made, and stopPolicy ends claims",
            policies.join(", ")
        ));
    }
    let mut spec =
        Map::from_iter([("capacity".to_owned(), capacity(ad)), ("attributes".to_owned(), Json::Object(attributes))]);
    if !expressions.is_empty() {
        spec.insert("expressions".to_owned(), Json::Object(expressions));
    }
    if !dynamic.is_empty() {
        let names: Vec<&str> = dynamic.iter().map(|(name, _)| name.as_str()).collect();
        note(format!(
            "left to an agent, because the values change all the time: {}; they are declared in dynamicAttributes, \
             and UNDEFINED until the agent of the Machine publishes them",
            names.join(", ")
        ));
        let declared = dynamic.iter().map(|(name, kind)| json!({"name": name, "type": kind})).collect();
        spec.insert("dynamicAttributes".to_owned(), Json::Array(declared));
    }
    match constraint(ad, &scoped, note) {
        Some(constraint) if constraint == "false" || is_never_true(ad) => {
            note("its condition is never true, so it accepts no job: stopPolicy is Hold; when it is to accept jobs, write a condition into spec.constraint, and None into spec.stopPolicy".to_owned());
            spec.insert("stopPolicy".to_owned(), json!("Hold"));
        }
        Some(constraint) => drop(spec.insert("constraint".to_owned(), json!(constraint))),
        None => {}
    }
    if let Some(expr) = ad.get("Rank") {
        spec.insert("rank".to_owned(), json!(rank::counted(scoped(expr).text)));
    }
    let metadata = json!({"name": names::object(called)});
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": metadata, "spec": spec})
}

/// What is left out of other Machines, but kept here because the policy reads it.
fn kept_for_policy(ad: &Ad, scoped: &dyn Fn(&Expr) -> Scoped, note: &mut dyn FnMut(String)) -> Map<String, Json> {
    let mut kept = Map::new();
    for (reader, name) in left_out_of_policy(ad, scoped) {
        let free = WHILE_FREE.iter().find(|(own, _)| own.eq_ignore_ascii_case(&name));
        match free {
            Some((own, value)) => {
                kept.insert((*own).to_owned(), json!(value));
                note(format!(
                    "`{reader}` reads `{name}`, which is kept as \"{value}\": a Machine is asked only while some of it is free"
                ));
            }
            None => note(format!(
                "`{reader}` reads `{name}`, which is left out and so UNDEFINED; change the condition, or let an agent publish the attribute"
            )),
        }
    }
    kept
}

/// The condition of a machine. Without Requirements it is START, of which HTCondor makes them.
fn constraint(ad: &Ad, scoped: &dyn Fn(&Expr) -> Scoped, note: &mut dyn FnMut(String)) -> Option<String> {
    match (ad.get("Requirements"), ad.entry("START")) {
        (Some(expr), _) => Some(condition(expr).unwrap_or_else(|| scoped(expr).text)),
        (None, Some((start, _))) => Some(start.to_string()),
        (None, None) => {
            note("there are no Requirements and no START, so the offer accepts every job; write a condition into spec.constraint".to_owned());
            None
        }
    }
}

/// Whether no job satisfies the condition of a machine, as far as the attributes tell that it keeps. A Machine with a constraint of which that
/// is seen in the text is not accepted.
fn is_never_true(ad: &Ad) -> bool {
    let is_kept = |name: &Name, expr: &Expr| matches!(AttributeFate::of(name.as_str(), expr), AttributeFate::Kept);
    let mut kept: Ad =
        ad.iter().filter(|(name, expr)| is_kept(name, expr)).map(|(name, expr)| (name.clone(), expr.clone())).collect();
    if let Some(condition) = ad.get("Requirements").or_else(|| ad.get("START")) {
        kept.insert(Name::new("Requirements"), condition.clone());
    }
    never_satisfied(&Ports::of(&kept), &Config::product()).is_some()
}

/// The truth that a constant number stands for in a condition.
fn condition(expr: &Expr) -> Option<String> {
    match constant(expr)? {
        Value::Integer(number) => Some((number != 0).to_string()),
        Value::Real(number) => Some((number != 0.0).to_string()),
        _ => None,
    }
}

/// The attributes that are left out although `Requirements` or `Rank` needs them, each with the attribute that reads it.
fn left_out_of_policy(ad: &Ad, scoped: &dyn Fn(&Expr) -> Scoped) -> Vec<(String, String)> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    let condition = if ad.get("Requirements").is_some() { "Requirements" } else { "START" };
    let mut pending = vec![condition.to_owned(), "Rank".to_owned()];
    while let Some(reader) = pending.pop() {
        let Some(expr) = ad.get(&reader) else { continue };
        for name in scoped(expr).own {
            let Some(expr) = ad.get(&name).filter(|_| known.insert(name.to_ascii_lowercase())) else { continue };
            match AttributeFate::of(&name, expr) {
                AttributeFate::LeftOut | AttributeFate::Policy => found.push((reader.clone(), name)),
                AttributeFate::Kept => pending.push(name),
                AttributeFate::OfTheMoment(_) | AttributeFate::Elsewhere => {}
            }
        }
    }
    found
}

/// The value of an attribute for the whole of a partitionable slot, if it says what is left of the slot.
fn whole<'a>(ad: &'a Ad, name: &str) -> Option<&'a Expr> {
    let is_divided = is_of_kind(ad, "Partitionable") && DIVIDED.iter().any(|own| own.eq_ignore_ascii_case(name));
    ad.get(&format!("TotalSlot{name}")).filter(|whole| is_divided && whole.as_literal().is_some())
}

fn is_of_kind(ad: &Ad, kind: &str) -> bool {
    string(ad, "SlotType").is_some_and(|own| own.eq_ignore_ascii_case(kind))
}

/// Cores and MiB of the whole slot, not of what is left of it.
fn capacity(ad: &Ad) -> Json {
    let amount = |names: [&str; 2]| names.iter().find_map(|name| whole_number(ad.get(name)?.as_literal()?));
    let pairs = [
        ("cpus", amount(["TotalSlotCpus", "Cpus"])),
        ("memory", amount(["TotalSlotMemory", "Memory"])),
        ("gpus", amount(["TotalSlotGPUs", "GPUs"]).filter(|gpus| *gpus > 0)),
    ];
    let known: Map<String, Json> =
        pairs.into_iter().filter_map(|(name, amount)| Some((name.to_owned(), json!(amount?)))).collect();
    if known.is_empty() { json!({"slots": 1}) } else { Json::Object(known) }
}

/// A number without what is behind its point, or 1 for a part of one.
fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        // A part of a core is offered as one: an offer has whole amounts.
        Value::Real(number) if *number > 0.0 && *number < 1.0 => Some(1),
        Value::Real(number) => format!("{:.0}", number.trunc()).parse().ok(),
        _ => None,
    }
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

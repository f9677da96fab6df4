//! The columns of a kind's table: from the printer columns of a CRD, or, for Kubernetes' own kinds, as kube-apiserver prints them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::age::since;
use crate::object::meta;

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    kind: String,
    format: String,
    description: String,
    /// 0 is always shown, 1 with `-o wide`.
    priority: i64,
    cell: Cell,
}

/// Where a cell comes from.
#[derive(Clone, Debug)]
enum Cell {
    Path(String),
    Own(fn(&Value, Timestamp) -> Value),
}

impl Column {
    /// As a table defines it.
    pub(crate) fn definition(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "format": self.format, "description": self.description,
            "priority": self.priority})
    }

    /// The cell of an object.
    pub(crate) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let path = match &self.cell {
            Cell::Own(cell) => return cell(object, now),
            Cell::Path(path) => path,
        };
        let Some(found) = found(object, path) else { return Value::Null };
        match (self.kind.as_str(), found) {
            ("date", found) => json!(since(found.as_str().unwrap_or_default(), now)),
            ("string", Value::String(text)) => json!(text),
            ("string", other) => json!(other.to_string()),
            (_, other) => other.clone(),
        }
    }
}

/// What a JSONPath of a CRD leads to: names, places in lists, and the item whose `type` is given.
fn found<'o>(object: &'o Value, path: &str) -> Option<&'o Value> {
    let mut place = object;
    let mut rest = path.strip_prefix('.')?;
    while !rest.is_empty() {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if !name.is_empty() {
            place = place.get(name)?;
        }
        rest = after.strip_prefix('.').unwrap_or(after);
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
            let wanted = inside.strip_prefix("?(@.type==\"").and_then(|inside| inside.strip_suffix("\")"));
            place = match wanted {
                Some(wanted) => place.as_array()?.iter().find(|item| item.get("type") == Some(&json!(wanted)))?,
                None => place.get(inside.parse::<usize>().ok()?)?,
            };
            rest = after.strip_prefix('.').unwrap_or(after);
        }
    }
    Some(place).filter(|found| !found.is_null())
}

/// The columns that a version of a CRD defines, after the name.
pub(crate) fn of_definition(version: &Value) -> Vec<Column> {
    let all = version.get("additionalPrinterColumns").and_then(Value::as_array).into_iter().flatten();
    let own = all.map(|column| {
        let text = |name: &str| column.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = text("jsonPath");
        let description = match text("description") {
            said if said.is_empty() => format!("Custom resource definition column (in JSONPath format): {path}"),
            said => said,
        };
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or(0);
        Column {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description,
            priority,
            cell: Cell::Path(path),
        }
    });
    std::iter::once(name()).chain(own).collect()
}

/// The columns of one of Kubernetes' own kinds.
pub(crate) fn builtin(plural: &str) -> Vec<Column> {
    let age = || own("Age", |object, now| json!(since(meta(object, "creationTimestamp"), now)));
    match plural {
        "namespaces" => vec![name(), own("Status", |_, _| json!("Active")), age()],
        "nodes" => vec![
            name(),
            own("Status", node_status),
            own("Roles", |_, _| json!("<none>")),
            age(),
            own("Version", |node, _| text(node, "/status/nodeInfo/kubeletVersion")),
            wide("Internal-IP", |_, _| json!("<none>")),
            wide("External-IP", |_, _| json!("<none>")),
            wide("OS-Image", |_, _| json!("<unknown>")),
            wide("Kernel-Version", |_, _| json!("<unknown>")),
            wide("Container-Runtime", |_, _| json!("<unknown>")),
        ],
        "pods" => vec![
            name(),
            own("Ready", |pod, _| json!(format!("0/{}", containers(pod, "").len()))),
            own("Status", |pod, _| if ending(pod) { json!("Terminating") } else { text(pod, "/status/phase") }),
            own("Restarts", |_, _| json!("0")),
            age(),
            wide("IP", |pod, _| or_none(text(pod, "/status/podIP"))),
            wide("Node", |pod, _| or_none(text(pod, "/spec/nodeName"))),
            wide("Nominated Node", |pod, _| or_none(text(pod, "/status/nominatedNodeName"))),
            wide("Readiness Gates", |_, _| json!("<none>")),
        ],
        "jobs" => vec![
            name(),
            own("Status", batch_status),
            own("Completions", |job, _| {
                json!(format!("{}/{}", number(job, "/status/succeeded", 0), number(job, "/spec/completions", 1)))
            }),
            own("Duration", |job, now| match text(job, "/status/startTime") {
                Value::String(begun) if !begun.is_empty() => json!(since(&begun, now)),
                _ => json!(""),
            }),
            age(),
            wide("Containers", |job, _| json!(containers(job, "/spec/template").join(","))),
            wide("Images", |job, _| json!(images(job).join(","))),
            wide("Selector", |job, _| json!(format!("batch.kubernetes.io/controller-uid={}", meta(job, "uid")))),
        ],
        "leases" => vec![name(), own("Holder", |lease, _| text(lease, "/spec/holderIdentity")), age()],
        "events" => events(),
        _ => vec![
            name(),
            Column {
                kind: "date".to_owned(),
                ..own("Created At", |object, _| json!(meta(object, "creationTimestamp")))
            },
        ],
    }
}

fn events() -> Vec<Column> {
    let last = |event: &Value, now| json!(since(&happened(event), now));
    vec![
        own("Last Seen", last),
        own("Type", |event, _| text(event, "/type")),
        own("Reason", |event, _| text(event, "/reason")),
        own("Object", |event, _| {
            let about = either(event, "/involvedObject", "/regarding");
            let part = |name: &str| about.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            json!(format!("{}/{}", part("kind").to_lowercase(), part("name")))
        }),
        wide("Subobject", |_, _| json!("")),
        wide("Source", |event, _| either(event, "/reportingComponent", "/reportingController").clone()),
        own("Message", |event, _| json!(either(event, "/message", "/note").as_str().unwrap_or_default().trim())),
        wide("First Seen", last),
        Column { kind: "integer".to_owned(), ..wide("Count", |_, _| json!(1)) },
        Column { priority: 1, ..name() },
    ]
}

fn happened(event: &Value) -> String {
    let series = event.pointer("/series/lastObservedTime").and_then(Value::as_str);
    let own = event.get("eventTime").and_then(Value::as_str);
    series.or(own).unwrap_or_else(|| meta(event, "creationTimestamp")).to_owned()
}

fn either<'o>(object: &'o Value, first: &str, second: &str) -> &'o Value {
    object.pointer(first).or_else(|| object.pointer(second)).unwrap_or(&Value::Null)
}

fn node_status(node: &Value, _: Timestamp) -> Value {
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|one| one.get("type") == Some(&json!("Ready")));
    let said = match ready.map(|ready| ready.get("status") == Some(&json!("True"))) {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    };
    let is_cordoned = node.pointer("/spec/unschedulable") == Some(&json!(true));
    json!(if is_cordoned { format!("{said},SchedulingDisabled") } else { said.to_owned() })
}

fn batch_status(job: &Value, _: Timestamp) -> Value {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    let holds = |type_: &str| {
        let is = |one: &&Value| one.get("type") == Some(&json!(type_)) && one.get("status") == Some(&json!("True"));
        conditions.into_iter().flatten().any(|one| is(&one))
    };
    let said = ["Complete", "Failed", "Suspended"].into_iter().find(|type_| holds(type_));
    let is_suspended = job.pointer("/spec/suspend") == Some(&json!(true));
    json!(said.unwrap_or(match (ending(job), is_suspended) {
        (true, _) => "Terminating",
        (false, true) => "Suspended",
        (false, false) => "Running",
    }))
}

fn ending(object: &Value) -> bool {
    crate::object::is_ending(object)
}

fn containers(object: &Value, below: &str) -> Vec<String> {
    listed(object, below, "name")
}

fn images(job: &Value) -> Vec<String> {
    listed(job, "/spec/template", "image")
}

fn listed(object: &Value, below: &str, field: &str) -> Vec<String> {
    let all = object.pointer(&format!("{below}/spec/containers")).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| one.get(field)?.as_str()).map(str::to_owned).collect()
}

fn number(object: &Value, path: &str, default: i64) -> i64 {
    object.pointer(path).and_then(Value::as_i64).unwrap_or(default)
}

fn text(object: &Value, path: &str) -> Value {
    json!(object.pointer(path).and_then(Value::as_str).unwrap_or_default())
}

fn or_none(text: Value) -> Value {
    if text == json!("") { json!("<none>") } else { text }
}

fn name() -> Column {
    Column { format: "name".to_owned(), ..own("Name", |object, _| json!(meta(object, "name"))) }
}

fn own(name: &str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column {
        name: name.to_owned(),
        kind: "string".to_owned(),
        format: String::new(),
        description: format!("{name} of the object."),
        priority: 0,
        cell: Cell::Own(cell),
    }
}

fn wide(name: &str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column { priority: 1, ..own(name, cell) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_our_printer_columns_are_followed() {
        let object = json!({"spec": {"members": [{"name": "a"}], "n": 3}, "status": {"conditions": [
            {"type": "Ready", "reason": "Full"}], "none": null}});
        let at = |path: &str| found(&object, path).cloned();
        assert_eq!(at(".spec.members[0].name"), Some(json!("a")));
        assert_eq!(at(".status.conditions[?(@.type==\"Ready\")].reason"), Some(json!("Full")));
        assert_eq!(at(".spec.n"), Some(json!(3)));
        assert_eq!((at(".status.none"), at(".spec.members[1].name"), at(".x.y")), (None, None, None));
    }
}

//! A submit file into Jobs.

use std::collections::BTreeMap;
use std::path::Path;

use classad::{Dialect, Severity, read_expr};
use serde_json::{Map, Value as Json, json};

use super::queue::{Variables, expanded, queued, variables};
use super::{Imported, names, scope};

/// One command, and its line.
type Commands = BTreeMap<String, (usize, String)>;

/// Fields of a manifest.
type Fields = Map<String, Json>;

/// Commands that mean nothing in a cluster that brings its own files and logs: nothing is said of them.
const SILENT: [&str; 9] = [
    "universe",
    "log",
    "output",
    "error",
    "getenv",
    "notification",
    "should_transfer_files",
    "when_to_transfer_output",
    "batch_name",
];
/// Commands that are taken over.
const KNOWN: [&str; 13] = [
    "executable",
    "arguments",
    "environment",
    "requirements",
    "rank",
    "request_cpus",
    "request_gpus",
    "request_memory",
    "machine_count",
    "priority",
    "concurrency_limits",
    "container_image",
    "docker_image",
];

/// Whether a text is a submit file: it has a line `queue`.
pub(super) fn is_submit_file(text: &str) -> bool {
    text.lines().any(|line| queued(line).is_some())
}

/// The Jobs of a submit file.
pub(super) fn jobs(name: &str, text: &str, image: Option<&str>) -> Result<Imported, String> {
    let (mut commands, mut imported) = (Commands::new(), Imported::default());
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("job");
    let base = names::object(stem);
    let mut process = 0_u32;
    let mut lines = joined(text).into_iter();
    while let Some((number, line)) = lines.next() {
        let place = format!("{name}:{number}");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(statement) = queued(&line) {
            let mut statement = statement.to_owned();
            while statement.contains('(') && !statement.contains(')') {
                let Some((_, more)) = lines.next() else { break };
                statement.push('\n');
                statement.push_str(&more);
            }
            for variables in variables(&statement).map_err(|why| format!("{place}: {why}"))? {
                let commands = filled(&commands, &variables, process);
                imported.manifests.push(job(name, &base, process, &commands, image, &mut imported.notes)?);
                process += 1;
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("{place}: found `{line}`; write `command = value`, or `queue`"));
        };
        commands.insert(key.trim().to_ascii_lowercase(), (number, value.trim().to_owned()));
    }
    imported.notes.dedup();
    Ok(imported)
}

/// The commands of one job: with the values of its variables. A command that others use as a variable is left away.
fn filled(commands: &Commands, variables: &Variables, process: u32) -> Commands {
    let value = |name: &str| match name {
        "process" | "procid" => Some(process.to_string()),
        _ => variables.get(name).cloned().or_else(|| commands.get(name).map(|(_, text)| text.clone())),
    };
    let is_used = |key: &str| {
        let word = format!("$({key})");
        !is_known(key) && commands.values().any(|(_, text)| text.to_ascii_lowercase().contains(&word))
    };
    let all = commands.iter().filter(|(key, _)| !is_used(key));
    all.map(|(key, (line, text))| (key.clone(), (*line, expanded(text, &value)))).collect()
}

/// Lines with their numbers; one that ends with a backslash goes on in the next.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.lines().enumerate() {
        let open = line.trim_end().strip_suffix('\\');
        let part = open.unwrap_or(line).trim();
        match all.last_mut().filter(|_| goes_on) {
            Some((_, before)) => {
                before.push(' ');
                before.push_str(part);
            }
            None => all.push((number + 1, part.to_owned())),
        }
        goes_on = open.is_some();
    }
    all
}

fn job(
    name: &str,
    base: &str,
    process: u32,
    commands: &Commands,
    image: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Json, String> {
    let value = |key: &str| commands.get(key).map(|(_, text)| text.trim_matches('"').to_owned());
    let (attributes, expressions) = attributes(name, commands)?;
    if process == 0 {
        for (key, (line, _)) in commands.iter().filter(|(key, _)| !is_known(key)) {
            notes.push(format!("{name}:{line}: `{key}` is left out"));
        }
    }
    let is_own = |wanted: &str| {
        let has = |map: &Map<String, Json>| map.keys().any(|known| known.eq_ignore_ascii_case(wanted));
        has(&attributes) || has(&expressions)
    };
    let expression = |key: &str| -> Result<Option<String>, String> {
        let Some((line, text)) = commands.get(key) else { return Ok(None) };
        let expr = read(&format!("{name}:{line}"), text)?;
        Ok(Some(scope::scoped(text, &expr, "machine", is_own)))
    };
    let kind = "machine.Type == \"Machine\"";
    let constraint = expression("requirements")?.map_or_else(|| kind.to_owned(), |own| format!("{kind} && ({own})"));
    let mut request = json!({
        "cpus": value("request_cpus").unwrap_or_else(|| "1".to_owned()),
        "memory": mib(&value("request_memory").unwrap_or_else(|| "128".to_owned())),
    });
    if let (Some(gpus), Some(request)) = (value("request_gpus"), request.as_object_mut()) {
        request.insert("gpus".to_owned(), json!(gpus));
    }
    let mut machine = json!({"label": "machine", "constraint": constraint, "request": request});
    if let (Some(rank), Some(port)) = (expression("rank")?, machine.as_object_mut()) {
        port.insert("rank".to_owned(), json!(rank));
    }
    let count = value("machine_count");
    if let (Some(count), Some(port)) = (&count, machine.as_object_mut()) {
        port.insert("count".to_owned(), json!(count));
        if has_one_group(commands) {
            port.insert("same".to_owned(), json!([SCHEDULING_GROUP]));
        }
    }
    let mut ports = vec![machine];
    ports.extend(limits(&value("concurrency_limits").unwrap_or_default(), count.is_some()));
    let mut spec = Map::from_iter([("ports".to_owned(), Json::Array(ports))]);
    for (field, map) in [("attributes", &attributes), ("expressions", &expressions)] {
        if !map.is_empty() {
            spec.insert(field.to_owned(), Json::Object(map.clone()));
        }
    }
    if let Some(priority) = value("priority").and_then(|text| text.parse::<i32>().ok()) {
        spec.insert("priority".to_owned(), json!(priority.clamp(-1000, 1000)));
    }
    let image = value("container_image").or_else(|| value("docker_image")).or_else(|| image.map(str::to_owned));
    match (image, value("executable")) {
        (Some(image), Some(executable)) => {
            let image = image.trim_start_matches("docker://").to_owned();
            let workload = workload(&image, &executable, value("arguments"), value("environment"));
            spec.insert("workload".to_owned(), workload);
        }
        _ if process == 0 => {
            notes.push(format!(
                "{name}: no image or no executable, so no workload: use --image, or write container_image"
            ));
        }
        _ => {}
    }
    let metadata = json!({"name": format!("{base}-{process}")});
    Ok(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}))
}

/// The attribute by which machines say to which group they belong, and the one by which a job asks for machines of one group.
const SCHEDULING_GROUP: &str = "ParallelSchedulingGroup";
const WANTS_ONE_GROUP: &str = "WantParallelSchedulingGroups";

fn has_one_group(commands: &Commands) -> bool {
    let wants = |key: &String| attribute(key).is_some_and(|name| name.eq_ignore_ascii_case(WANTS_ONE_GROUP));
    commands.iter().any(|(key, (_, text))| wants(key) && text.eq_ignore_ascii_case("true"))
}

fn is_known(key: &str) -> bool {
    KNOWN.contains(&key) || SILENT.contains(&key) || attribute(key).is_some()
}

/// The name of an attribute that a command sets: `+Project`, `My.Project`.
fn attribute(key: &str) -> Option<&str> {
    key.strip_prefix('+').or_else(|| key.strip_prefix("my.")).map(str::trim)
}

/// What the file says of the job itself, literals and expressions.
fn attributes(name: &str, commands: &Commands) -> Result<(Fields, Fields), String> {
    let (mut literals, mut expressions) = (Map::new(), Map::new());
    if let Some((_, executable)) = commands.get("executable") {
        literals.insert("Cmd".to_owned(), json!(executable));
    }
    for (key, (line, text)) in commands {
        let Some(attribute) = attribute(key) else { continue };
        read(&format!("{name}:{line}"), text)?;
        match serde_json::from_str::<Json>(text) {
            Ok(value) if !value.is_f64() && !value.is_null() => literals.insert(attribute.to_owned(), value),
            _ => expressions.insert(attribute.to_owned(), json!(text)),
        };
    }
    Ok((literals, expressions))
}

fn read(place: &str, text: &str) -> Result<classad::Expr, String> {
    let reading = read_expr(text, Dialect::Gangmatch);
    reading.read.ok_or_else(|| {
        let first = reading.diagnostics.iter().find(|found| found.severity == Severity::Error);
        format!("{place}: {}", first.map_or_else(|| "not an expression".to_owned(), ToString::to_string))
    })
}

/// An amount of memory in MiB; a unit after a number, or an expression as it is.
fn mib(text: &str) -> String {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or("").to_ascii_uppercase();
    let factor = match unit.as_str() {
        "" | "M" | "MB" => 1,
        "G" | "GB" => 1024,
        "T" | "TB" => 1024 * 1024,
        _ => return text.to_owned(),
    };
    match digits.trim().parse::<i64>() {
        Ok(number) => number.saturating_mul(factor).to_string(),
        Err(_) => text.to_owned(),
    }
}

/// A port for each licence that is counted by name: `vcs:2, spice`. HTCondor counts it for each machine.
fn limits(text: &str, has_set: bool) -> Vec<Json> {
    let named = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    let port = |one: &str| {
        let (app, seats) = one.split_once(':').unwrap_or((one, "1"));
        let label = names::label(app);
        let seats = if has_set { format!("{seats} * size(machine)") } else { seats.to_owned() };
        json!({"label": label, "constraint": format!("{label}.Type == \"License\" && {label}.App == \"{app}\""),
            "request": {"seats": seats}})
    };
    named.map(port).collect()
}

fn workload(image: &str, executable: &str, arguments: Option<String>, environment: Option<String>) -> Json {
    let mut container = json!({"name": "main", "image": image, "command": [executable]});
    if let Some(fields) = container.as_object_mut() {
        if let Some(arguments) = arguments {
            fields.insert("args".to_owned(), json!(arguments.split_whitespace().collect::<Vec<_>>()));
        }
        if let Some(environment) = environment {
            let pairs = environment.split([';', ' ']).filter_map(|pair| pair.split_once('='));
            let all: Vec<Json> =
                pairs.map(|(name, value)| json!({"name": name.trim(), "value": value.trim()})).collect();
            fields.insert("env".to_owned(), Json::Array(all));
        }
    }
    json!({"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}})
}

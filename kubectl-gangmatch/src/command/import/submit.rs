//! A submit file into Jobs.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use classad::{Dialect, Severity, never_true, read_expr};
use serde_json::{Map, Value as Json, json};

use super::amount::{self, Unit};
use super::conditionals::Conditionals;
use super::queue::{JOBS_MAX, Variables, queued, variables};
use super::scope::{Inlined, ScopeRules, Scoped, scoped};
use super::words::{stored, unquoted, words};
use super::{Imported, commands, job_names, machines, macros, names, rank};

mod limits;

/// One command, and its line.
type Commands = BTreeMap<String, (usize, String)>;

/// Fields of a manifest.
type Fields = Map<String, Json>;

/// The Jobs of a submit file.
pub(super) fn jobs(name: &str, text: &str, image: Option<&str>) -> Result<Imported, String> {
    let (mut commands, mut manifests) = (Commands::new(), Vec::new());
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("job");
    let mut file =
        SubmitFile { name, base: names::object(stem), image, queued: BTreeSet::new(), notes: BTreeSet::new() };
    let mut lines = joined(text).into_iter();
    let mut conditionals = Conditionals::default();
    while let Some((number, line)) = lines.next() {
        let place = format!("{name}:{number}");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let value = |name: &str| written(&commands, name);
        if !conditionals.take((number, &line), &value).map_err(|why| format!("{place}: {why}"))? {
            continue;
        }
        if let Some(statement) = queued(&line) {
            let mut statement = file.statement(number, statement, &commands)?;
            while is_open(&statement) {
                let Some((_, more)) = lines.next() else { break };
                statement.push('\n');
                statement.push_str(&more);
                file.queued.extend(macros::variables(&more));
                if more.starts_with(')') {
                    break;
                }
            }
            let queued = variables(&statement).map_err(|why| format!("{place}: {why}"))?;
            if manifests.len() + queued.len() > JOBS_MAX {
                return Err(format!("{place}: the file queues more than {JOBS_MAX} jobs; divide it"));
            }
            let used = file.used_in_others(&commands);
            for variables in queued {
                let commands = file.filled(&commands, &used, &variables, manifests.len())?;
                manifests.push(file.job(manifests.len(), &commands)?);
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("{place}: found `{line}`; write `command = value`, or `queue`"));
        };
        let key = commands::canonical(key);
        let earlier = commands.get(&key).map(|(_, text)| text.as_str());
        let value = macros::with_earlier(value.trim(), |name| commands::canonical(name) == key, earlier);
        commands.insert(key, (number, value));
    }
    if let Some(line) = conditionals.open_at() {
        return Err(format!("{name}:{line}: `if` without an `endif`; write `endif` after the lines that depend on it"));
    }
    let place = |line: usize| if line == usize::MAX { name.to_owned() } else { format!("{name}:{line}") };
    let notes = file.notes.iter().map(|(line, note)| format!("{}: {note}", place(*line))).collect();
    Ok(Imported { manifests, notes })
}

/// What is written for a command or variable.
fn written(commands: &Commands, name: &str) -> Option<String> {
    commands.get(&commands::canonical(name)).map(|(_, text)| text.clone())
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

/// Whether a queue statement has a list that goes on in the next line.
fn is_open(statement: &str) -> bool {
    statement.matches('(').count() > statement.matches(')').count()
}

/// A submit file, and what has to be known of its Jobs.
struct SubmitFile<'a> {
    name: &'a str,
    /// How the names of its Jobs begin.
    base: String,
    image: Option<&'a str>,
    /// The variables that its queue statements use, in lower case.
    queued: BTreeSet<String>,
    /// By line; those of no line come last.
    notes: BTreeSet<(usize, String)>,
}

impl SubmitFile<'_> {
    fn note(&mut self, line: usize, text: String) {
        self.notes.insert((line, text));
    }

    /// A queue statement with the values of its variables; what has none can be a variable of each job in a list.
    fn statement(&mut self, line: usize, statement: &str, commands: &Commands) -> Result<String, String> {
        self.queued.extend(macros::variables(statement));
        let filled = macros::expanded(statement, &|name| written(commands, name));
        let is_in_list = filled.text.split_once("$(").is_some_and(|(before, _)| before.contains('('));
        match filled.unknown.filter(|_| !is_in_list) {
            Some(unknown) => Err(self.no_value(line, &unknown)),
            None => Ok(filled.text),
        }
    }

    fn no_value(&self, line: usize, unknown: &str) -> String {
        format!("{}:{line}: `$({unknown})` has no value; write a line `{unknown} = VALUE` before `queue`", self.name)
    }

    /// The commands that others, or the queue statements, use as variables.
    fn used_in_others(&self, commands: &Commands) -> BTreeSet<String> {
        let in_others: BTreeSet<String> = commands.values().flat_map(|(_, text)| macros::variables(text)).collect();
        let is_used =
            |key: &&String| !commands::is_known(key) && (self.queued.contains(*key) || in_others.contains(*key));
        commands.keys().filter(is_used).cloned().collect()
    }

    /// The commands of one job: with the values of its variables. A command that others use as a variable is left away, and one without
    /// a value counts as not written.
    fn filled(
        &mut self,
        commands: &Commands,
        used: &BTreeSet<String>,
        variables: &Variables,
        process: usize,
    ) -> Result<Commands, String> {
        let (base, has_cluster) = (self.base.clone(), Cell::new(false));
        let value = |name: &str| match name {
            "process" | "procid" => Some(process.to_string()),
            "dollar" => Some("$".to_owned()),
            "cluster" | "clusterid" => {
                has_cluster.set(true);
                Some(base.clone())
            }
            _ => variables.get(name).cloned().or_else(|| written(commands, name)),
        };
        let mut all = Commands::new();
        for (key, (line, text)) in commands.iter().filter(|(key, _)| !used.contains(*key)) {
            has_cluster.set(false);
            let filled = macros::expanded(text, &value);
            if commands::is_taken_over(key) {
                if let Some(unknown) = filled.unknown {
                    return Err(self.no_value(*line, &unknown));
                }
                if has_cluster.get() {
                    self.note(*line, format!("`$(Cluster)` becomes `{base}`, since Jobs have no cluster number"));
                }
                for kept in filled.kept {
                    self.note(
                        *line,
                        format!("`{kept}` stays as it is; write the value, or a variable of the container"),
                    );
                }
            }
            if !filled.text.trim().is_empty() {
                all.insert(key.clone(), (*line, filled.text));
            }
        }
        Ok(all)
    }

    fn job(&mut self, process: usize, commands: &Commands) -> Result<Json, String> {
        for (key, (line, _)) in commands.iter().filter(|(key, _)| !commands::is_known(key)) {
            self.note(*line, commands::left_out(key));
        }
        let workload = self.workload(commands);
        let (attributes, expressions) = self.attributes(commands, workload.is_none())?;
        let has = |wanted: &str| {
            let in_map = |map: &Fields| map.keys().any(|known| known.eq_ignore_ascii_case(wanted));
            in_map(&attributes) || in_map(&expressions)
        };
        let is_own = |name: &str| has(name) || job_names::is_of_every_job(name);
        let inlined = reading_machine(commands, &is_own);
        let rules = ScopeRules { partner: "machine", is_own: &is_own, inlined: &inlined };
        let requirements = self.expression(commands, "requirements", &has, rules)?;
        let rank = self.expression(commands, "rank", &has, rules)?;
        self.note_unread(commands, &inlined, &[&requirements, &rank]);
        let mut constraint = "machine.Type == \"Machine\"".to_owned();
        let reads_disk = requirements.as_ref().is_some_and(|own| own.reads_of_partner("Disk"));
        if commands.contains_key("request_disk") && !reads_disk {
            // as condor_submit adds it
            constraint.push_str(" && machine.Disk >= RequestDisk");
        }
        if let Some(own) = &requirements {
            constraint.push_str(&format!(" && ({})", own.text));
        }
        self.check_amounts(commands)?;
        let mut machine = json!({"label": "machine", "constraint": constraint, "request": request(commands)});
        let count = value(commands, "machine_count");
        if let Some(port) = machine.as_object_mut() {
            if let Some(rank) = rank {
                port.insert("rank".to_owned(), json!(rank::counted(rank.text)));
            }
            if let Some(count) = &count {
                port.insert("count".to_owned(), json!(count));
            }
            if count.is_some() && has_one_group(commands) {
                port.insert("same".to_owned(), json!([SCHEDULING_GROUP]));
            }
        }
        let mut ports = vec![machine];
        ports.extend(self.limits(commands, count.is_some())?);
        let mut spec = Map::from_iter([("ports".to_owned(), Json::Array(ports))]);
        for (field, map) in [("attributes", attributes), ("expressions", expressions)] {
            if !map.is_empty() {
                spec.insert(field.to_owned(), Json::Object(map));
            }
        }
        if let Some(priority) = self.priority(commands) {
            spec.insert("priority".to_owned(), json!(priority));
        }
        if let Some(workload) = workload {
            spec.insert("workload".to_owned(), workload);
        }
        let metadata = json!({"name": format!("{}-{process}", self.base)});
        Ok(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}))
    }

    /// The batch Job of a job, if there is an image for it.
    fn workload(&mut self, commands: &Commands) -> Option<Json> {
        let value = |key: &str| value(commands, key);
        let image =
            value("container_image").or_else(|| value("docker_image")).or_else(|| self.image.map(str::to_owned));
        if let (Some(image), Some(executable)) = (image, value("executable")) {
            let image = image.trim_start_matches("docker://");
            let raw = |key: &str| commands.get(key).map(|(_, text)| text.as_str());
            return Some(workload(image, &executable, raw("arguments"), raw("environment")));
        }
        let kept = commands.get("arguments").map(|(_, text)| arguments(text).0);
        let kept = kept.map_or_else(String::new, |name| format!("; the arguments are in the attribute {name}"));
        let note = format!("no image or no executable, so no workload: use --image, or write container_image{kept}");
        self.note(usize::MAX, note);
        None
    }

    /// What is said of the job itself, literals and expressions: what HTCondor would say of it, since the policies of machines read
    /// that, and what the file adds.
    fn attributes(&mut self, commands: &Commands, has_args: bool) -> Result<(Fields, Fields), String> {
        let added = |name: &str| {
            commands.keys().any(|key| commands::attribute(key).is_some_and(|own| own.eq_ignore_ascii_case(name)))
        };
        let (mut literals, mut expressions) = (Map::new(), Map::new());
        let of = |name: &'static str, key: &str| Some((name, value(commands, key)?));
        let texts = [
            of("Cmd", "executable"),
            commands.get("arguments").filter(|_| has_args).map(|(_, text)| arguments(text)),
            of("AcctGroup", "accounting_group"),
        ];
        let texts = texts.into_iter().flatten().filter(|(name, _)| !added(name));
        literals.extend(texts.map(|(name, text)| (name.to_owned(), json!(text))));
        if let Some((line, _)) = commands.get("accounting_group") {
            let note = "`accounting_group` becomes the attribute AcctGroup; for shares and quotas, write an Account for the namespace (docs/policy.md)";
            self.note(*line, note.to_owned());
        }
        let mut amounts = vec![("JobUniverse", "universe", self.universe(commands).to_string())];
        amounts.extend([
            ("RequestCpus", "request_cpus", cpus(commands)),
            ("RequestMemory", "request_memory", memory(commands)),
            ("RequestDisk", "request_disk", disk(commands)),
        ]);
        amounts.extend(value(commands, "request_gpus").map(|gpus| ("RequestGPUs", "request_gpus", gpus)));
        amounts.extend(priority(commands).map(|priority| ("JobPrio", "priority", priority.to_string())));
        let own = amounts.into_iter().filter(|(name, _, _)| !added(name));
        let own = own.map(|(name, key, text)| (name, commands.get(key).map_or(0, |(line, _)| *line), text));
        let further =
            commands.iter().filter_map(|(key, (line, text))| Some((commands::attribute(key)?, *line, text.clone())));
        for (name, line, text) in own.chain(further) {
            self.read(line, &text)?;
            match serde_json::from_str::<Json>(&text) {
                Ok(value) if !value.is_f64() && !value.is_null() => literals.insert(name.to_owned(), value),
                _ => expressions.insert(name.to_owned(), json!(text)),
            };
        }
        Ok((literals, expressions))
    }

    /// The number by which machines know the universe of a job.
    fn universe(&mut self, commands: &Commands) -> i64 {
        let Some((line, name)) = commands.get("universe") else { return job_names::VANILLA };
        job_names::universe(name).unwrap_or_else(|| {
            let note = format!("the universe `{name}` has no counterpart; the Job asks for a machine, as in `vanilla`");
            self.note(*line, note);
            job_names::VANILLA
        })
    }

    /// A command whose value is an expression over the job, which `has` attributes, and its machine.
    fn expression(
        &mut self,
        commands: &Commands,
        key: &str,
        has: &dyn Fn(&str) -> bool,
        rules: ScopeRules<'_>,
    ) -> Result<Option<Scoped>, String> {
        let Some((line, text)) = commands.get(key) else { return Ok(None) };
        let expr = self.read(*line, text)?;
        let found = scoped(text, &expr, rules);
        for name in found.own.iter().filter(|name| !has(name) && !job_names::is_of_system(name)) {
            let value = if name.eq_ignore_ascii_case("ProcId") { "$(Process)" } else { "VALUE" };
            let note =
                format!("`{key}` reads `{name}` of the job, which is UNDEFINED here; write a line +{name} = {value}");
            self.note(*line, note);
        }
        for name in found.partner.iter().filter(|name| machines::is_left_out(name)) {
            let note = format!(
                "`{key}` reads `{name}` of the machine, which `import` leaves out of Machines; remove the condition, or add the attribute"
            );
            self.note(*line, note);
        }
        if key == "requirements" && never_true(&expr).is_some() {
            self.note(*line, "`requirements` can never be true, so the job will not be accepted; correct it, or write `suspend: true` into spec instead".to_owned());
        }
        if found.reads_of_partner("Name") && text.contains('@') {
            let note = format!(
                "`{key}` compares `Name` with the name of a slot; Name of an imported Machine is that of its host, as in Machine"
            );
            self.note(*line, note);
        }
        Ok(Some(found))
    }

    /// Notes the attributes that read the machine although neither `requirements` nor `rank` reads them.
    fn note_unread(&mut self, commands: &Commands, inlined: &Inlined, read: &[&Option<Scoped>]) {
        let is_read = |name: &str| {
            read.iter().copied().flatten().flat_map(|scoped| &scoped.own).any(|own| own.eq_ignore_ascii_case(name))
        };
        for (key, (line, _)) in commands {
            let Some(name) = commands::attribute(key).filter(|name| !is_read(name)) else { continue };
            let Some(of_machine) = inlined.get(name).and_then(|scoped| scoped.partner.first()) else { continue };
            let note = format!(
                "`{name}` reads `{of_machine}`, which the job does not have; of the machine it is seen only in `requirements` and `rank`, and UNDEFINED elsewhere"
            );
            self.note(*line, note);
        }
    }

    fn read(&self, line: usize, text: &str) -> Result<classad::Expr, String> {
        let reading = read_expr(text, Dialect::Gangmatch);
        reading.read.ok_or_else(|| {
            let first = reading.diagnostics.iter().find(|found| found.severity == Severity::Error);
            let why = first.map_or_else(|| "not an expression".to_owned(), ToString::to_string);
            format!("{}:{line}: {why}", self.name)
        })
    }
}

/// The longest expression of an attribute that is written in its place, and how deep such attributes may stand in each other.
const INLINED_MAX: usize = 1 << 14;
const DEPTH_MAX: usize = 32;

/// The attributes of a job that read its machine, with the expressions that a port writes in their place: it sees the machine, and an
/// attribute does not.
fn reading_machine(commands: &Commands, is_own: &dyn Fn(&str) -> bool) -> Inlined {
    let definitions = commands.iter().filter_map(|(key, (_, text))| {
        let expr = read_expr(text, Dialect::Gangmatch).read?;
        Some((commands::attribute(key)?.to_ascii_lowercase(), text, expr))
    });
    let definitions: Vec<_> = definitions.collect();
    let mut inlined = Inlined::new();
    for _ in 0..DEPTH_MAX {
        let rules = ScopeRules { partner: "machine", is_own, inlined: &inlined };
        let all = definitions.iter().map(|(name, text, expr)| (name.clone(), scoped(text, expr, rules)));
        let next: Inlined =
            all.filter(|(_, found)| !found.partner.is_empty() && found.text.len() <= INLINED_MAX).collect();
        if next == inlined {
            break;
        }
        inlined = next;
    }
    inlined
}

fn value(commands: &Commands, key: &str) -> Option<String> {
    commands.get(key).map(|(_, text)| unquoted(text).unwrap_or(text).to_owned())
}

/// The attribute that holds the arguments of a job in HTCondor: their form decides which.
fn arguments(text: &str) -> (&'static str, String) {
    stored(text).map_or_else(|| ("Args", text.to_owned()), |text| ("Arguments", text))
}

fn priority(commands: &Commands) -> Option<i32> {
    value(commands, "priority")?.parse().ok()
}

/// What the port of the machine requests.
fn request(commands: &Commands) -> Json {
    let mut request = json!({"cpus": cpus(commands), "memory": memory(commands)});
    let gpus = value(commands, "request_gpus").filter(|gpus| gpus.trim() != "0");
    if let (Some(gpus), Some(request)) = (gpus, request.as_object_mut()) {
        request.insert("gpus".to_owned(), json!(gpus));
    }
    request
}

fn cpus(commands: &Commands) -> String {
    value(commands, "request_cpus").unwrap_or_else(|| "1".to_owned())
}

/// In MiB; without a request, the default of HTCondor.
fn memory(commands: &Commands) -> String {
    amount::whole(&value(commands, "request_memory").unwrap_or_else(|| "128".to_owned()), Unit::Mebibytes)
}

/// In KiB; without a request, a little, since machines refuse a job that says nothing of it.
fn disk(commands: &Commands) -> String {
    amount::whole(&value(commands, "request_disk").unwrap_or_else(|| "1024".to_owned()), Unit::Kibibytes)
}

/// The attribute by which machines say to which group they belong, and the one by which a job asks for machines of one group.
const SCHEDULING_GROUP: &str = "ParallelSchedulingGroup";
const WANTS_ONE_GROUP: &str = "WantParallelSchedulingGroups";

fn has_one_group(commands: &Commands) -> bool {
    let wants = |key: &String| commands::attribute(key).is_some_and(|name| name.eq_ignore_ascii_case(WANTS_ONE_GROUP));
    commands.iter().any(|(key, (_, text))| wants(key) && text.eq_ignore_ascii_case("true"))
}

fn workload(image: &str, executable: &str, arguments: Option<&str>, environment: Option<&str>) -> Json {
    let mut container = json!({"name": "main", "image": image, "command": [executable]});
    if let Some(fields) = container.as_object_mut() {
        if let Some(arguments) = arguments {
            fields.insert("args".to_owned(), json!(words(arguments, char::is_whitespace)));
        }
        if let Some(environment) = environment {
            let words = words(environment, |letter| letter == ';');
            let pairs = words.iter().filter_map(|pair| pair.split_once('='));
            let all: Vec<Json> = pairs.map(|(name, value)| json!({"name": name, "value": value})).collect();
            fields.insert("env".to_owned(), Json::Array(all));
        }
    }
    json!({"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}})
}

//! Numbers of a submit file that a Job restricts: the priority, the amounts that are requested, and the licences that are counted by name.

use classad::{Dialect, Value, constant, is_language_word, parse_expr};
use serde_json::{Value as Json, json};

use super::{Commands, SubmitFile, cpus, memory, names, value};

/// The largest priority of a Job; the smallest is as far below 0.
const PRIORITY_MAX: i64 = 1000;
/// The most machines of a counted port.
const COUNT_MAX: i64 = 63;
/// The most licences of a Job: it has at most 8 ports, and one is for the machine.
const LIMITS_MAX: usize = 7;

impl SubmitFile<'_> {
    /// The priority of a job; what a Job cannot have is noted.
    pub(super) fn priority(&mut self, commands: &Commands) -> Option<i64> {
        let (line, _) = commands.get("priority")?;
        let text = value(commands, "priority")?;
        let Ok(number) = text.trim().parse::<i64>() else {
            let most = PRIORITY_MAX;
            self.note(*line, format!("`priority = {text}` is left out; write a whole number from -{most} to {most}"));
            return None;
        };
        let nearest = number.clamp(-PRIORITY_MAX, PRIORITY_MAX);
        if nearest != number {
            let limit = if number < 0 { "smallest" } else { "largest" };
            self.note(*line, format!("`priority = {number}` becomes {nearest}, the {limit} priority of a Job"));
        }
        Some(nearest)
    }

    /// Whether the amounts that a job requests are such that an offer can have them.
    ///
    /// # Errors
    /// The count of machines can be none.
    pub(super) fn check_amounts(&mut self, commands: &Commands) -> Result<(), String> {
        let requests = [
            ("request_cpus", Some(cpus(commands))),
            ("request_memory", Some(memory(commands))),
            ("request_gpus", value(commands, "request_gpus").filter(|gpus| gpus.trim() != "0")),
        ];
        for (key, text) in requests {
            let (Some((line, _)), Some(text)) = (commands.get(key), text) else { continue };
            if !could_be(&text, i64::MAX) {
                let note =
                    format!("`{key} = {text}` is no amount that a machine has; write a whole number of at least 1");
                self.note(*line, note);
            }
        }
        let count = commands.get("machine_count").zip(value(commands, "machine_count"));
        match count.filter(|(_, text)| !could_be(text, COUNT_MAX)) {
            Some(((line, _), text)) => Err(format!(
                "{}:{line}: found `machine_count = {text}`; write a whole number from 1 to {COUNT_MAX}",
                self.name
            )),
            None => Ok(()),
        }
    }

    /// A port for each licence that is counted by name: `vcs:2, spice`. HTCondor counts it for each machine.
    ///
    /// # Errors
    /// There are too many, or not a whole number of one.
    pub(super) fn limits(&mut self, commands: &Commands, has_set: bool) -> Result<Vec<Json>, String> {
        let Some((line, _)) = commands.get("concurrency_limits") else { return Ok(Vec::new()) };
        let text = value(commands, "concurrency_limits").unwrap_or_default();
        let named: Vec<&str> = text.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
        let place = format!("{}:{line}", self.name);
        if named.len() > LIMITS_MAX {
            return Err(format!(
                "{place}: found {} limits; write at most {LIMITS_MAX}: a Job has at most 8 ports, one of them for the machine",
                named.len()
            ));
        }
        let mut labels = vec!["machine".to_owned()];
        let mut ports = Vec::new();
        for one in named {
            let (app, seats) = one.split_once(':').map_or((one, "1"), |(app, seats)| (app.trim(), seats.trim()));
            if !could_be(seats, i64::MAX) {
                return Err(format!("{place}: found `{one}`; write a whole number of at least 1, such as {app}:2"));
            }
            let label = free_label(app, &labels);
            let seats = if has_set { format!("{seats} * size(machine)") } else { seats.to_owned() };
            ports.push(
                json!({"label": label, "constraint": format!("{label}.Type == \"License\" && {label}.App == \"{app}\""),
                "request": {"seats": seats}}),
            );
            labels.push(label);
        }
        Ok(ports)
    }
}

/// Whether a text may give a whole number from 1 to `most`: what is no constant may.
fn could_be(text: &str, most: i64) -> bool {
    let Ok(expr) = parse_expr(text, Dialect::Gangmatch) else { return false };
    match constant(&expr) {
        Some(Value::Integer(amount)) => (1..=most).contains(&amount),
        Some(_) => false,
        None => true,
    }
}

/// The name of a licence as a label that no other port has: case is ignored, and words of the language are none.
fn free_label(app: &str, taken: &[String]) -> String {
    let label = names::label(app);
    let is_free = |label: &String| !is_language_word(label) && !taken.iter().any(|own| own.eq_ignore_ascii_case(label));
    let others = (2..).map(|number| format!("{label}_{number}"));
    std::iter::once(label.clone()).chain(others).find(is_free).unwrap_or_else(|| label.clone())
}

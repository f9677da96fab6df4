//! `describe`: one job, machine or license in detail, as text or as data.

mod ad;
mod events;
mod job;
mod offer;

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use crds::OfferKind;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pool::ObjectKey;
use serde::Serialize;
use serde_json::Value;

use crate::ages::{age, instant};
use crate::cluster::{Kind, NamespaceSource, Pool};
use crate::command::evaluated::evaluate;
use crate::output::{self, Format, OutputOptions};
use crate::screen::Screen;
use crate::subject::{AD_KINDS, Subject, meant, no_such, subjects};
use crate::table::{one_line, table};
use events::EventLine;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Of a job: its ad and ports, which members it holds, why it waits, which offers refused it, and its recent Events.
Of a machine or license: its ad and terms, and which jobs hold how much of it, since when and until when.
With -f, a negotiation cycle is computed here.

Examples:
  kubectl gangmatch describe job/sim
  kubectl gangmatch describe license/vcs -n eda
  kubectl gangmatch describe machine foo -o yaml

Exit status:
  0  the object was printed
  1  there is no such object
  2  an option is wrong, the cluster cannot be read, or a file does not exist";

/// What to describe, and how to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct DescribeArguments {
    /// The object: job/NAME, machine/NAME or license/NAME, or the kind and the name as two words.
    #[arg(value_name = "KIND/NAME", required = true, num_args = 1..)]
    object: Vec<String>,

    #[command(flatten)]
    output: OutputOptions,

    #[command(flatten)]
    source: NamespaceSource,
}

/// What there is to say of an object.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Facts {
    /// As `-o name` prints it.
    #[serde(skip)]
    name: String,
    /// Short facts, each with its name.
    #[serde(skip)]
    facts: Vec<(&'static str, String)>,
    /// Longer parts, each with its heading: tables or lines.
    #[serde(skip)]
    parts: Vec<(&'static str, String)>,
    #[serde(flatten)]
    data: serde_json::Map<String, Value>,
}

impl Facts {
    /// Adds a fact to the text and to the data, if there is one.
    fn fact(&mut self, heading: &'static str, field: &str, text: Option<String>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.say(heading, &text);
            self.put(field, text);
        }
    }

    /// Adds an instant, if there is one: with its age to the text.
    fn instant(&mut self, heading: &'static str, field: &str, time: Option<Timestamp>, now: Timestamp) {
        if let Some(time) = time {
            self.say(heading, &since(time, now));
            self.put(field, instant(time));
        }
    }

    /// Adds a fact to the text only.
    fn say(&mut self, heading: &'static str, text: &str) {
        self.facts.push((heading, one_line(text).into_owned()));
    }

    /// Adds a value to the data only.
    fn put(&mut self, field: &str, value: impl Into<Value>) {
        self.data.insert(field.to_owned(), value.into());
    }

    /// Adds a table to the text, if it has rows, and its rows to the data.
    fn table<R: Serialize>(
        &mut self,
        heading: &'static str,
        field: &str,
        headings: &[&str],
        rows: &[R],
        cells: impl Fn(&R) -> Vec<String>,
    ) -> anyhow::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let all: Vec<Vec<String>> = rows.iter().map(cells).collect();
        self.parts.push((heading, table(headings, &all, 2)));
        self.data.insert(field.to_owned(), serde_json::to_value(rows)?);
        Ok(())
    }

    /// Adds lines to the text, if there are any, and a value to the data.
    fn lines(&mut self, heading: &'static str, field: &str, lines: &[String], value: Value) {
        if lines.is_empty() {
            return;
        }
        self.parts.push((heading, lines.iter().map(|line| format!("  {}\n", one_line(line))).collect()));
        self.data.insert(field.to_owned(), value);
    }

    /// The text.
    fn text(&self) -> String {
        let width = self.facts.iter().map(|(heading, _)| heading.len()).max().unwrap_or(0) + 3;
        let mut text = String::new();
        for (heading, said) in &self.facts {
            let _ = writeln!(text, "{:<width$}{said}", format!("{heading}:"));
        }
        for (heading, part) in &self.parts {
            let _ = write!(text, "{heading}:\n{part}");
        }
        text
    }
}

/// Prints the description.
pub(crate) fn run(arguments: &DescribeArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let DescribeArguments { object, output, source } = arguments;
    let subjects = subjects(object, &AD_KINDS)?;
    let kinds = [Kind::Job, Kind::Machine, Kind::License, Kind::Match, Kind::Account, Kind::PoolPolicy];
    let mut pool = source.read(&kinds)?;
    let (kubectl, namespace) = (source.kubectl(), source.namespace());
    if kubectl.is_none() {
        evaluate(&mut pool, source.time());
    }
    let mut fine = true;
    let mut described = Vec::new();
    for subject in &subjects {
        let subject = &meant(subject, &namespace, pool.names(subject.kind));
        let key = ObjectKey::new(&namespace, &subject.name);
        let events = kubectl.as_ref().map(|kubectl| events::read(kubectl, subject.kind, &key)).unwrap_or_default();
        match description(&pool, subject, &key, &events, source.time())? {
            Some(description) => described.push(description),
            None => {
                output::refuse(&no_such(subject, &namespace, pool.names(subject.kind)))?;
                fine = false;
            }
        }
    }
    match (output.output, described.as_slice()) {
        (Format::Json, [one]) => output::json(out, one)?,
        (Format::Yaml, [one]) => output::yaml(out, one)?,
        (Format::Json, all) => output::json(out, &serde_json::json!({"items": all}))?,
        (Format::Yaml, all) => output::yaml(out, &serde_json::json!({"items": all}))?,
        (Format::Name, all) => all.iter().try_for_each(|one| writeln!(out, "{}", one.name))?,
        (Format::Table | Format::Wide, all) => {
            let texts: Vec<String> = all.iter().map(Facts::text).collect();
            write!(Screen(&mut *out), "{}", texts.join("\n\n"))?;
        }
    }
    output::remarks(&pool)?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What there is to say of an object; `None` if there is none of that name.
fn description(
    pool: &Pool,
    subject: &Subject,
    key: &ObjectKey,
    events: &[EventLine],
    now: Timestamp,
) -> anyhow::Result<Option<Facts>> {
    let found = match subject.kind {
        Kind::Job => pool.objects.jobs.get(key).map(|held| job::describe(pool, key, held, now)).transpose()?,
        Kind::Machine => {
            pool.objects.offer(OfferKind::Machine, key).map(|of| offer::describe(pool, of, now)).transpose()?
        }
        _ => pool.objects.offer(OfferKind::License, key).map(|of| offer::describe(pool, of, now)).transpose()?,
    };
    let Some(mut found) = found else { return Ok(None) };
    found.name = subject.kind.full_name(&subject.name);
    let cells = |event: &EventLine| {
        let time = event.time.map_or("-".to_owned(), |time| age(time, now));
        vec![time, event.type_.clone(), event.reason.clone(), event.message.clone()]
    };
    found.table("Events", "events", &["AGE", "TYPE", "REASON", "MESSAGE"], events, cells)?;
    Ok(Some(found))
}

/// One condition, with its reason in words.
#[derive(Clone, Debug, Serialize)]
struct ConditionLine {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    since: Timestamp,
    reason: String,
    message: String,
}

/// Adds the conditions; where the controller has left the message empty, the reason in words.
fn conditions(description: &mut Facts, all: &[Condition], now: Timestamp) -> anyhow::Result<()> {
    let line = |condition: &Condition| ConditionLine {
        type_: condition.type_.clone(),
        status: condition.status.clone(),
        since: condition.last_transition_time.0,
        reason: condition.reason.clone(),
        message: match condition.message.as_str() {
            "" => ad::reason(&condition.reason).to_owned(),
            message => message.to_owned(),
        },
    };
    let rows: Vec<ConditionLine> = all.iter().map(line).collect();
    let cells = |row: &ConditionLine| {
        vec![row.type_.clone(), row.status.clone(), age(row.since, now), row.reason.clone(), row.message.clone()]
    };
    description.table("Conditions", "conditions", &["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"], &rows, cells)
}

/// An instant, and how long ago it is.
fn since(time: Timestamp, now: Timestamp) -> String {
    format!("{} ({} ago)", instant(time), age(time, now))
}

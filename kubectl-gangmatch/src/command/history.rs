//! `history`: claims that have ended, from their Matches.

use std::io::Write;
use std::process::ExitCode;

use crds::{Decision, Match};
use jiff::Timestamp;
use pool::ObjectKey;
use serde::Serialize;
use serde_json::json;

use crate::ages::{age, instant};
use crate::cluster::{Kind, NamespacesSource, Pool, Shown};
use crate::output::{self, Listing, OutputOptions};
use crate::subject::{Subject, meant, no_such, no_such_anywhere, subjects};
use crate::table::Table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Newest first. A job keeps its last ended Matches, three by default (spec.matchHistoryLimit), and they are deleted with the job.

Examples:
  kubectl gangmatch history
  kubectl gangmatch history sim --aborted
  kubectl gangmatch history -A -o json

Exit status:
  0  the history was printed, even if it is empty
  1  there is no such job
  2  an option is wrong, the cluster cannot be read, or a file does not exist";

/// Whose claims to print, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct HistoryArguments {
    /// A job. Default: all jobs.
    #[arg(value_name = "JOB")]
    job: Option<String>,

    /// Also print attempts that were aborted: nothing was claimed.
    #[arg(long)]
    aborted: bool,

    #[command(flatten)]
    output: OutputOptions,

    #[command(flatten)]
    source: NamespacesSource,
}

/// A claim that has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ended {
    pub(crate) namespace: String,
    pub(crate) job: String,
    #[serde(rename = "match")]
    pub(crate) match_name: String,
    pub(crate) attempt: i32,
    pub(crate) members: String,
    pub(crate) decision: Decision,
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
    pub(crate) held_seconds: Option<i64>,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Prints the history.
pub(crate) fn run(arguments: &HistoryArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let HistoryArguments { job, aborted, output, source } = arguments;
    let words: Vec<String> = job.iter().cloned().collect();
    let subject = subjects(&words, &[Kind::Job])?.into_iter().next();
    let (pool, shown) = source.read(&[Kind::Job, Kind::Match])?;
    let mut rows = ended(&pool, *aborted);
    rows.retain(|row| shown.has(&row.namespace));
    // Among all namespaces, a name means a job of any of them.
    let names = || pool.names(Kind::Job).map(|(of, name)| (shown.only().map_or("", |_| of), name));
    let subject = subject.map(|subject| meant(&subject, shown.only().unwrap_or(""), names()));
    if let Some(subject) = &subject {
        rows.retain(|row| row.job == subject.name);
        let is_it = |key: &ObjectKey| key.name == subject.name && shown.has(&key.namespace);
        if rows.is_empty() && !pool.objects.jobs.iter().any(|(key, _)| is_it(key)) {
            return output::refuse(&match shown.only() {
                Some(namespace) => no_such(subject, namespace, pool.names(Kind::Job)),
                None => no_such_anywhere(subject, pool.names(Kind::Job).map(|(_, name)| name)),
            });
        }
    }
    output.print(out, &listing(&rows, &shown, subject.as_ref()))?;
    output::remarks(&pool)?;
    Ok(ExitCode::SUCCESS)
}

/// The claims that have ended, newest first.
pub(crate) fn ended(pool: &Pool, aborted: bool) -> Vec<Ended> {
    let wanted =
        |found: &&Match| found.decision() == Decision::Released || aborted && found.decision() == Decision::Aborted;
    let mut rows: Vec<(Option<Timestamp>, Ended)> = pool.matches.values().filter(wanted).map(row).collect();
    rows.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.match_name.cmp(&b.match_name)));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// A Match as a row, and by when it is sorted.
fn row(found: &Match) -> (Option<Timestamp>, Ended) {
    let status = found.status.clone().unwrap_or_default();
    let [from, to] = [&status.committed_at, &status.released_at].map(|time| time.as_ref().map(|time| time.0));
    let created = found.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let key = ObjectKey::of(found);
    let row = Ended {
        job: found.spec.members.first().map(|root| root.name.clone()).unwrap_or_default(),
        namespace: key.namespace,
        match_name: key.name,
        attempt: found.spec.attempt,
        members: found.spec.summary.clone(),
        decision: status.decision,
        from,
        to,
        held_seconds: from.zip(to).map(|(from, to)| to.as_second().saturating_sub(from.as_second())),
        reason: status.reason.unwrap_or_default(),
        message: status.message.unwrap_or_default(),
    };
    (to.or(created), row)
}

fn listing(rows: &[Ended], shown: &Shown, job: Option<&Subject>) -> Listing {
    let time = |time: Option<Timestamp>| time.map_or("-".to_owned(), instant);
    let cells = |row: &Ended| {
        let held = row.from.zip(row.to).map_or("-".to_owned(), |(from, to)| age(from, to));
        let mut cells: Vec<String> = shown.column(&row.namespace).into_iter().collect();
        cells.extend([
            row.job.clone(),
            row.match_name.clone(),
            row.attempt.to_string(),
            time(row.from),
            time(row.to),
            held,
            row.reason.clone(),
            row.message.clone(),
            row.members.clone(),
        ]);
        cells
    };
    let mut headings: Vec<&str> = shown.column(&"NAMESPACE").into_iter().collect();
    headings.extend(["JOB", "(MATCH)", "(ATTEMPT)", "FROM", "TO", "HELD", "REASON", "(MESSAGE)", "MEMBERS"]);
    let whose = job.map_or(String::new(), |job| format!(" of job {}", job.name));
    Listing {
        table: Table::of(headings, rows.iter().map(cells).collect()),
        names: rows.iter().map(|row| Kind::Match.full_name(&row.match_name)).collect(),
        data: json!({"items": rows}),
        nothing: format!("No claim{whose} has ended{}.", shown.place()),
    }
}

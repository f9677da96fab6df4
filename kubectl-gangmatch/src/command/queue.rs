//! `queue`: the jobs that wait, in the order in which they are served.

use std::io::Write;
use std::process::ExitCode;

use crds::Job;
use crds::conditions::{find, reasons, types};
use jiff::Timestamp;
use matchmaker::service_order;
use pool::{CycleInputs, ObjectKey, Objects, snapshot};
use serde::Serialize;
use serde_json::json;

use crate::ages::{age, instant};
use crate::cluster::{Kind, NamespacesSource, Shown};
use crate::command::accounts;
use crate::command::evaluated::evaluate;
use crate::output::{self, Listing, OutputOptions};
use crate::table::Table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Jobs are served by the namespace that holds the fewest gangs; in a namespace by priority, then by age. Each job counts as if it got
its gang when its turn comes. With a PoolPolicy, and the right to read it and the accounts, the account with the smallest normalized usage
comes first, and each gang counts as one charge. Positions are those among all namespaces that you may read. Jobs that are suspended or whose ad is not
accepted do not wait, and have no position. With -f, a negotiation cycle is computed here.

Examples:
  kubectl gangmatch queue
  kubectl gangmatch queue -A -o wide
  kubectl gangmatch queue -o json

Exit status:
  0  the queue was printed, even if no job waits
  2  an option is wrong, the cluster cannot be read, or a file does not exist";

/// Whose jobs to print, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct QueueArguments {
    #[command(flatten)]
    output: OutputOptions,

    #[command(flatten)]
    source: NamespacesSource,
}

/// A job that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Waiting {
    pub(crate) position: usize,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) priority: i32,
    /// When it began to wait.
    pub(crate) since: Option<Timestamp>,
    pub(crate) reason: String,
    pub(crate) why: String,
}

/// Prints the queue.
pub(crate) fn run(arguments: &QueueArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let QueueArguments { output, source } = arguments;
    let now = source.time();
    let (mut pool, shown) = source.read(&[Kind::Job, Kind::Match, Kind::Account, Kind::PoolPolicy])?;
    if source.kubectl().is_none() {
        evaluate(&mut pool, now);
    }
    let mut rows = waiting(&pool.objects, now);
    rows.retain(|row| shown.has(&row.namespace));
    if source.kubectl().is_some() {
        for row in rows.iter_mut().filter(|row| row.why.is_empty() && row.reason == reasons::PENDING_EVALUATION) {
            row.why = "no negotiation cycle has evaluated it yet; see kubectl gangmatch status".to_owned();
        }
    }
    output.print(out, &listing(&rows, &shown, now))?;
    output::remarks(&pool)?;
    Ok(ExitCode::SUCCESS)
}

/// All jobs that wait, in the order in which they are served.
pub(crate) fn waiting(objects: &Objects, now: Timestamp) -> Vec<Waiting> {
    let mut pool = snapshot(objects, &CycleInputs::of(objects));
    accounts::add(&mut pool, objects, now);
    let keys = service_order(&pool).into_iter().filter_map(|ad| pool.ad(ad)).map(|ad| &ad.key);
    let keys: Vec<ObjectKey> = keys.map(|key| ObjectKey::new(&key.namespace, &key.name)).collect();
    let jobs = keys.iter().filter_map(|key| objects.jobs.get(key));
    let row = |(place, held): (usize, &pool::Cached<Job>)| row(place + 1, &held.object);
    jobs.enumerate().map(row).collect()
}

fn row(position: usize, job: &Job) -> Waiting {
    let status = job.status.as_ref();
    let matched = status.and_then(|status| find(&status.conditions, types::MATCHED));
    let why = status.and_then(|status| status.why.clone());
    let since =
        status.and_then(|status| status.waiting_since.clone()).or_else(|| job.metadata.creation_timestamp.clone());
    let key = ObjectKey::of(job);
    Waiting {
        position,
        namespace: key.namespace,
        name: key.name,
        priority: job.spec.priority,
        since: since.map(|time| time.0),
        reason: matched.map_or(reasons::PENDING_EVALUATION, |matched| matched.reason.as_str()).to_owned(),
        why: why.or_else(|| matched.map(|matched| matched.message.clone())).unwrap_or_default(),
    }
}

fn listing(rows: &[Waiting], shown: &Shown, now: Timestamp) -> Listing {
    let cells = |row: &Waiting| {
        let mut cells = vec![row.position.to_string()];
        cells.extend(shown.column(&row.namespace));
        cells.extend([
            row.name.clone(),
            row.priority.to_string(),
            row.since.map_or("-".to_owned(), |since| age(since, now)),
            row.since.map_or("-".to_owned(), instant),
            row.reason.clone(),
            row.why.clone(),
        ]);
        cells
    };
    let mut headings = vec!["POSITION"];
    headings.extend(shown.column(&"NAMESPACE"));
    headings.extend(["NAME", "PRIORITY", "WAITING", "(WAITING SINCE)", "REASON", "WHY"]);
    Listing {
        table: Table::of(headings, rows.iter().map(cells).collect()),
        names: rows.iter().map(|row| Kind::Job.full_name(&row.name)).collect(),
        data: json!({"items": rows}),
        nothing: format!("No job waits{}.", shown.place()),
    }
}

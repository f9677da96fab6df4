//! `match`: manifests into the Matches that would be made, and the reason why every other job waits.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use crds::Match;
use gangindex::Engine;
use kube::ResourceExt;
use matchmaker::{Config, Cycle, Plain, Snapshot, Unmatched, hint, why};
use pool::{CycleInputs, Objects, Occasion, record, snapshot};

use crate::command::verdicts;
use crate::manifests;
use crate::offline::{Loaded, Stamp, load};
use crate::screen::{Screen, shown};
use crate::table::table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Exit status:
  0  all manifests were read, whether jobs matched or not
  1  there is a mistake in the manifests; the other manifests were matched
  2  an option is wrong, a file does not exist, or there is no manifest

Matches and reasons are printed to standard output; errors and warnings are printed to standard error, with file and line.";

/// What to read and how to print.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file or folder with manifests; - means standard input. Can be repeated.
    #[arg(short, long = "filename", value_name = "PATH", required = true)]
    filename: Vec<PathBuf>,

    /// Also read folders inside folders.
    #[arg(short = 'R', long)]
    recursive: bool,

    /// The namespace of objects that have none.
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// The user who creates the objects, which a cluster would record as `Owner`.
    #[arg(long = "as", value_name = "USER", default_value = "you")]
    owner: String,

    /// The value of `time()`, RFC 3339. Default: the current time.
    #[arg(long, value_name = "TIME")]
    now: Option<jiff::Timestamp>,

    /// A summary of another pool, as `summary -o json` prints it. Can be repeated. No gang is searched; what each summary says of
    /// each job is printed: Cannot (that pool has no gang for it), Full (it may have one, but none that is free) or Now.
    #[arg(long, value_name = "FILE")]
    summary: Vec<PathBuf>,

    /// How to search for gangs. Both ways find the same gangs; the plain search is slow, and is meant for diagnosis.
    #[arg(long, value_enum, default_value_t = SearchBy::Index)]
    search: SearchBy,

    /// The form of the output: a table, or the Matches in JSON or YAML.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SearchBy {
    /// With indexes over all ads.
    Index,
    /// One ad after the other.
    Plain,
}

impl From<SearchBy> for Engine {
    fn from(search: SearchBy) -> Engine {
        match search {
            SearchBy::Index => Engine::default(),
            SearchBy::Plain => Engine::Plain(Plain::default()),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    Table,
    Json,
    Yaml,
}

/// Runs one cycle over the manifests, or reads summaries. 0: all was read, whether it matched or not; 1: something in the manifests is
/// wrong.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let (documents, mut problems) = manifests::read(&arguments.filename, arguments.recursive)?;
    let stamp = Stamp { namespace: &arguments.namespace, owner: &arguments.owner };
    let Loaded { objects, problems: wrong, warnings } = load(documents, &stamp);
    problems.extend(wrong);
    problems.sort();
    let pool = snapshot(&objects, &CycleInputs::default());
    if arguments.summary.is_empty() {
        negotiate(arguments, &objects, &pool, out)?;
    } else {
        let answers = verdicts::answers(&pool, &verdicts::read(&arguments.summary)?);
        match arguments.output {
            Output::Table => verdicts::print(&mut Screen(out), &answers)?,
            Output::Json => writeln!(out, "{}", serde_json::to_string_pretty(&verdicts::list(&answers))?)?,
            Output::Yaml => write!(out, "{}", serde_saphyr::to_string(&verdicts::list(&answers))?)?,
        }
    }
    for problem in &problems {
        writeln!(std::io::stderr(), "error: {}", shown(&problem.to_string()))?;
    }
    for warning in &warnings {
        writeln!(std::io::stderr(), "warning: {}", shown(&warning.to_string()))?;
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one cycle over a pool and prints what came of it.
fn negotiate(arguments: &Arguments, objects: &Objects, pool: &Snapshot, out: &mut impl Write) -> anyhow::Result<()> {
    let now = arguments.now.unwrap_or_else(jiff::Timestamp::now);
    let cycle = Engine::from(arguments.search).negotiate(pool, &Config::product(), now.as_second());
    let occasion = Occasion { cycle: "offline".to_owned(), time: now, seed: 0, epoch: 0 };
    let matches: Vec<Match> = cycle.gangs.iter().filter_map(|gang| record(objects, pool, gang, &occasion)).collect();
    match arguments.output {
        Output::Table => print(&mut Screen(out), objects, pool, &cycle, &matches)?,
        Output::Json => writeln!(out, "{}", serde_json::to_string_pretty(&list(&matches))?)?,
        Output::Yaml => write!(out, "{}", serde_saphyr::to_string(&list(&matches))?)?,
    }
    Ok(())
}

fn list(matches: &[Match]) -> serde_json::Value {
    serde_json::json!({"apiVersion": "v1", "kind": "List", "items": matches})
}

fn print(
    out: &mut impl Write,
    objects: &Objects,
    pool: &Snapshot,
    cycle: &Cycle,
    matches: &[Match],
) -> anyhow::Result<()> {
    let row = |found: &Match| {
        let job = found.spec.members.first().map(|root| format!("{}/{}", root.namespace, root.name));
        let rank: f64 = found.spec.rank.parse().unwrap_or(0.0);
        vec![job.unwrap_or_default(), found.name_any(), found.spec.summary.clone(), format!("{rank:.3}")]
    };
    let rows: Vec<Vec<String>> = matches.iter().map(row).collect();
    if !rows.is_empty() {
        write!(out, "{}", table(&["JOB", "MATCH", "MEMBERS", "RANK"], &rows, 0))?;
        writeln!(out)?;
    }
    for unmatched in &cycle.unmatched {
        waiting(out, pool, unmatched)?;
    }
    let (jobs, offers) = (objects.jobs.iter().count(), objects.offers().count());
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    writeln!(out, "{} of {} matched, with {}.", matches.len(), count(jobs, "job"), count(offers, "offer"))?;
    Ok(())
}

fn waiting(out: &mut impl Write, pool: &Snapshot, unmatched: &Unmatched) -> anyhow::Result<()> {
    let key = pool.ad(unmatched.root).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name)).unwrap_or_default();
    writeln!(out, "{key} waits: {}", why(unmatched))?;
    let rows: Vec<Vec<String>> = unmatched
        .ports
        .iter()
        .map(|port| {
            let counts = [port.candidates, port.refused_by_job, port.refused_by_offer, port.too_small, port.busy];
            std::iter::once(port.label.clone()).chain(counts.iter().map(u64::to_string)).collect()
        })
        .collect();
    if !rows.is_empty() {
        let headings = ["PORT", "ADS", "REFUSED BY JOB", "REFUSED BY OWNER", "TOO SMALL", "TAKEN"];
        write!(out, "{}", table(&headings, &rows, 2))?;
    }
    for port in &unmatched.ports {
        for part in port.conjuncts.iter().filter(|part| part.rejects > 0) {
            writeln!(out, "    {}: `{}` is not true of {}", port.label, part.text, part.rejects)?;
        }
    }
    let hint = hint(unmatched);
    if !hint.is_empty() {
        writeln!(out, "  hint: {hint}")?;
    }
    writeln!(out)?;
    Ok(())
}

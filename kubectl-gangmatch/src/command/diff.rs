//! `diff`: two pools into which jobs run in one and not in the other.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use jiff::Timestamp;
use matchmaker::summary;
use pool::{JobState, ObjectKey, job_state, matched_reason};
use serde::Serialize;

use crate::cluster::{FileOptions, NamespaceOption, NowOption, Pool, read_files};
use crate::offline::{READER, Stamp};
use crate::output::{self, AnswerOptions};
use crate::snapshot::{self, is_snapshot};
use crate::table::table;
use crate::why::Case;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
A and B are snapshots, or files or folders with manifests. One negotiation cycle is computed for each, and the jobs that are in both are
compared. A job runs if a Match holds it or if the cycle finds a gang for it. The cycle of a snapshot is that of the time at which it was
taken, unless --now names another.

Exit status:
  0  both were read
  1  there is a mistake in the manifests; the others were compared
  2  an option is wrong, or a file does not exist";

/// How many jobs are listed in words.
const LISTED_MAX: usize = 50;

/// What to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArguments {
    /// A snapshot, or a file or folder with manifests.
    #[arg(value_name = "A")]
    a: std::path::PathBuf,

    /// What to compare it with.
    #[arg(value_name = "B")]
    b: std::path::PathBuf,

    /// Also read folders inside folders.
    #[arg(short = 'R', long)]
    recursive: bool,

    #[command(flatten)]
    namespace: NamespaceOption,

    /// The user who creates the objects of manifests.
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,

    #[command(flatten)]
    now: NowOption,

    #[command(flatten)]
    output: AnswerOptions,
}

/// What becomes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fate {
    runs: bool,
    /// Its partners, or why it has none.
    text: String,
}

/// A job that fares differently.
#[derive(Clone, Debug, Serialize)]
struct Changed {
    job: String,
    a: String,
    b: String,
}

/// How many jobs there are, and how many run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Totals {
    jobs: usize,
    run: usize,
}

/// What differs.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    /// In A, and in B.
    totals: [Totals; 2],
    /// Jobs that run in B only.
    gain: Vec<Changed>,
    /// Jobs that run in A only.
    lose: Vec<Changed>,
    /// Jobs that run with other partners.
    r#move: Vec<Changed>,
    /// Jobs that wait in both, for another reason.
    other_reason: Vec<Changed>,
    only_in_a: Vec<String>,
    only_in_b: Vec<String>,
}

/// Prints what differs.
pub(crate) fn run(arguments: &DiffArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let now = arguments.now.time();
    let [a, b] = [&arguments.a, &arguments.b].map(|path| side(path, arguments, now));
    let ((a, a_time), (b, b_time)) = (a?, b?);
    let found = difference(&fates(&a, a_time), &fates(&b, b_time));
    arguments.output.print(out, &text(&found), &found)?;
    let (first, second) = (output::remarks(&a)?, output::remarks(&b)?);
    Ok(if first == ExitCode::SUCCESS { second } else { first })
}

fn side(path: &Path, arguments: &DiffArguments, now: Timestamp) -> anyhow::Result<(Pool, Timestamp)> {
    let text = || std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    if path.is_file() && is_snapshot(&text()?) {
        return snapshot::read(path).map(|saved| (saved.pool, arguments.now.time_of_snapshot(saved.time)));
    }
    let files = FileOptions { filename: vec![path.to_owned()], recursive: arguments.recursive };
    let namespace = arguments.namespace.namespace.as_deref().unwrap_or("default");
    let owner = arguments.user.as_deref().unwrap_or(READER);
    Ok((read_files(&files, &Stamp { namespace, owner })?, now))
}

/// What becomes of the jobs of a pool that have not finished.
fn fates(pool: &Pool, now: Timestamp) -> BTreeMap<ObjectKey, Fate> {
    let case = Case::of(pool, now);
    let mut all = BTreeMap::new();
    for (key, held) in pool.objects.jobs.iter() {
        let waits = |text: &str| Fate { runs: false, text: text.to_owned() };
        let fate = match job_state(held, &pool.objects) {
            JobState::Finished => continue,
            JobState::NotAccepted => waits("NotAccepted"),
            JobState::Suspended => waits("Suspended"),
            JobState::Held => {
                let uid = held.object.metadata.uid.as_deref().unwrap_or("");
                let mut open = pool.objects.matches.of_root(uid).filter(|(_, found)| !found.decision().is_terminal());
                let members = open.next().map(|(_, found)| found.spec.summary.clone());
                Fate { runs: true, text: members.unwrap_or_default() }
            }
            JobState::Waits => {
                let root = case.root(key).map(|root| root.ad);
                let gang = root.and_then(|root| case.gang(root));
                let reason = root.and_then(|root| case.unmatched(root)).map(|found| matched_reason(&found.verdict));
                match gang {
                    Some(gang) => Fate { runs: true, text: summary(&case.snapshot, gang) },
                    None => waits(reason.unwrap_or("SearchBudgetExhausted")),
                }
            }
        };
        all.insert(key.clone(), fate);
    }
    all
}

fn difference(a: &BTreeMap<ObjectKey, Fate>, b: &BTreeMap<ObjectKey, Fate>) -> Difference {
    let totals = |all: &BTreeMap<ObjectKey, Fate>| Totals {
        jobs: all.len(),
        run: all.values().filter(|fate| fate.runs).count(),
    };
    let mut found = Difference { totals: [totals(a), totals(b)], ..Difference::default() };
    let keys: BTreeSet<&ObjectKey> = a.keys().chain(b.keys()).collect();
    for key in keys {
        let (before, after) = match (a.get(key), b.get(key)) {
            (Some(before), Some(after)) => (before, after),
            (Some(_), None) => {
                found.only_in_a.push(key.to_string());
                continue;
            }
            _ => {
                found.only_in_b.push(key.to_string());
                continue;
            }
        };
        let changed = Changed { job: key.to_string(), a: before.text.clone(), b: after.text.clone() };
        match (before.runs, after.runs) {
            _ if before == after => {}
            (false, true) => found.gain.push(changed),
            (true, false) => found.lose.push(changed),
            (true, true) => found.r#move.push(changed),
            (false, false) => found.other_reason.push(changed),
        }
    }
    found
}

fn text(found: &Difference) -> String {
    let jobs = |count: usize, than: &str| match count {
        1 => format!("With B, 1 {than} job runs"),
        _ => format!("With B, {count} {than} jobs run"),
    };
    let [a, b] = found.totals;
    let mut text = match b.run.cmp(&a.run) {
        std::cmp::Ordering::Greater => jobs(b.run - a.run, "more"),
        std::cmp::Ordering::Less => jobs(a.run - b.run, "fewer"),
        std::cmp::Ordering::Equal => "As many jobs run with B as with A".to_owned(),
    };
    text.push_str(&format!(": {} of {} with A, {} of {} with B.\n", a.run, a.jobs, b.run, b.jobs));
    for (what, list) in [
        ("run with B only", &found.gain),
        ("run with A only", &found.lose),
        ("run elsewhere", &found.r#move),
        ("wait for another reason", &found.other_reason),
    ] {
        if list.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{} {what}:\n", list.len()));
        let row = |one: &Changed| vec![one.job.clone(), one.a.clone(), one.b.clone()];
        let rows: Vec<Vec<String>> = list.iter().take(LISTED_MAX).map(row).collect();
        text.push_str(&table(&["JOB", "A", "B"], &rows, 2));
        if list.len() > LISTED_MAX {
            text.push_str(&format!("  and {} more; all of them with -o json\n", list.len() - LISTED_MAX));
        }
    }
    for (what, list) in [("A", &found.only_in_a), ("B", &found.only_in_b)] {
        if !list.is_empty() {
            let jobs = if list.len() == 1 { "job" } else { "jobs" };
            text.push_str(&format!("\n{} {jobs} in {what} only.\n", list.len()));
        }
    }
    text
}

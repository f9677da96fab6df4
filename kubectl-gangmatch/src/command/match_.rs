//! `match`: manifests into the Matches that would be made, and the reason why every other job waits.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use crds::Match;
use crds::conditions::reasons;
use gangindex::Engine;
use kube::ResourceExt;
use matchmaker::{AdId, Config, Cycle, Gang, Plain, Snapshot, Unmatched, Verdict};
use pool::{
    CycleInputs, Explanation, JobState, Objects, Obstacle, Obstacles, Provenance, SnapshotBuilder, Unavailable,
    explained, job_state, record,
};

use crate::amounts::counted;
use crate::cluster::{ManifestOptions, Pool, read_files};
use crate::command::accounts;
use crate::command::placing::{self, Method, Placed};
use crate::command::preemption;
use crate::command::together::{self, Placement};
use crate::command::verdicts::{self, Given};
use crate::offline::{READER, Stamp};
use crate::output::{self, AnswerOptions};
use crate::screen::{Screen, shown};
use crate::snapshot::{self, Saved};
use crate::table::table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Exit status:
  0  all manifests and summaries were read, whether jobs matched or not
  1  there is a mistake in the manifests, or a summary cannot be read; the others were matched
  2  an option is wrong, a file with manifests does not exist, or there is no manifest

With -o json or yaml, Matches are the items of a List, and the jobs that wait stand beside them in its field `waiting`.

Matches and reasons are printed to standard output; errors and warnings are printed to standard error, with file and line.";

/// What to read and how to print.
#[derive(Debug, clap::Args)]
pub(crate) struct MatchArguments {
    #[command(flatten)]
    manifests: ManifestOptions,

    /// Match the pool that `snapshot save` has written to this file, at the time at which it was written.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "filename"])]
    snapshot: Option<PathBuf>,

    /// The namespace of objects that have none.
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// The user who creates the objects, which a cluster would record as `Owner`.
    #[arg(long = "as", value_name = "USER", default_value = READER)]
    owner: String,

    /// The value of `time()`, RFC 3339. Default: the current time.
    #[arg(long, value_name = "TIME")]
    now: Option<jiff::Timestamp>,

    /// A summary of another pool, as `summary -o json` prints it. Can be repeated. No gang is searched; what each summary says of
    /// each job is printed: Cannot (that pool has no gang for it), Full (it may have one, but none that is free), Now, or Unreadable
    /// (the file is no summary, so nothing is known).
    #[arg(long, value_name = "FILE")]
    summary: Vec<PathBuf>,

    /// How to search for gangs. Both ways find the same gangs; the plain search is slow, and is meant for diagnosis.
    #[arg(long, value_enum, default_value_t = SearchBy::Index)]
    search: SearchBy,

    #[command(flatten)]
    placing: placing::Options,

    #[command(flatten)]
    output: AnswerOptions,
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

/// Reads the manifests, or a snapshot; with the time that counts as now.
fn read(arguments: &MatchArguments) -> anyhow::Result<(Pool, jiff::Timestamp)> {
    if let Some(file) = &arguments.snapshot {
        let Saved { pool, time } = snapshot::read(file)?;
        output::notes(&pool.notes)?;
        return Ok((pool, arguments.now.unwrap_or(time)));
    }
    let stamp = Stamp { namespace: &arguments.namespace, owner: &arguments.owner };
    let pool = read_files(&arguments.manifests.files(), &stamp)?;
    Ok((pool, arguments.now.unwrap_or_else(jiff::Timestamp::now)))
}

/// Runs one cycle over the manifests, or reads summaries. 0: all was read, whether it matched or not; 1: something in the manifests is
/// wrong.
pub(crate) fn run(arguments: &MatchArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    if arguments.summary.is_empty() {
        // What is wrong with the options is said before anything is read.
        arguments.placing.method()?;
    }
    let (Pool { objects, problems, warnings, .. }, now) = read(arguments)?;
    let mut builder = SnapshotBuilder::default();
    let pool = builder.build(&objects, &CycleInputs::of(&objects));
    let unavailable = builder.unavailable(&objects);
    let refused = if arguments.summary.is_empty() {
        negotiate(arguments, &objects, (&pool, &unavailable), now, out)?
    } else {
        let given: Vec<Given> = arguments.summary.iter().map(|file| Given::read(file)).collect();
        let answers = verdicts::answers(&pool, &given);
        match arguments.output.is_text() {
            true => verdicts::print(&mut Screen(out), &answers)?,
            false => arguments.output.print(out, "", &verdicts::list(&answers))?,
        }
        given.iter().filter_map(Given::problem).collect()
    };
    let problems: Vec<String> = problems.into_iter().chain(refused).collect();
    output::problems(&problems)?;
    for warning in &warnings {
        writeln!(std::io::stderr(), "warning: {}", shown(warning))?;
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints what a cycle, or `--placing`, makes of the manifests. What `--placing` cannot take.
fn negotiate(
    arguments: &MatchArguments,
    objects: &Objects,
    (pool, unavailable): (&Snapshot, &[Unavailable]),
    now: jiff::Timestamp,
    out: &mut impl Write,
) -> anyhow::Result<Vec<String>> {
    let config = Config::product();
    let method = arguments.placing.method()?;
    let mut pool = pool.clone();
    match method {
        Method::InTurn => accounts::add(&mut pool, objects, now),
        _ if objects.accounts.policy().is_some() => {
            writeln!(std::io::stderr(), "warning: with --placing, accounts and the PoolPolicy do not count")?;
        }
        _ => {}
    }
    let pool = &pool;
    let mut preemptions = Vec::new();
    let outcome = match method {
        Method::InTurn if objects.accounts.policy().is_some() => {
            let (cycle, found) = preemption::cycle(objects, pool, arguments.search, (&config, now.as_second()));
            preemptions = found;
            Outcome::Cycle(Box::new(cycle))
        }
        Method::InTurn => {
            Outcome::Cycle(Box::new(Engine::from(arguments.search).negotiate(pool, &config, now.as_second())))
        }
        Method::Collective(settings) => {
            Outcome::Together(Box::new(together::place(pool, settings, &config, now.as_second())))
        }
        Method::Window(scheme) => match placing::place(pool, scheme, &config, now.as_second()) {
            Ok(placed) => Outcome::Placed(placed),
            Err(refused) => return Ok(refused),
        },
    };
    print(out, arguments.output, &Printed { objects, pool, unavailable, outcome: &outcome, preemptions, now })?;
    Ok(Vec::new())
}

/// The Matches, as kubectl prints several objects; and beside them, the jobs that wait, each with its reason.
fn list(matches: &[Match], printed: &Printed<'_>) -> serde_json::Value {
    serde_json::json!({"apiVersion": "v1", "kind": "List", "items": matches, "waiting": waiting_list(printed)})
}

fn waiting_list(printed: &Printed<'_>) -> Vec<serde_json::Value> {
    let said = |job: AdId, reason: &str, message: &str, hint: &str| {
        let key = printed.pool.ad(job).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name));
        let mut said = serde_json::json!({"job": key, "reason": reason, "message": message});
        if let Some(fields) = said.as_object_mut().filter(|_| !hint.is_empty()) {
            fields.insert("hint".to_owned(), hint.into());
        }
        said
    };
    let mut obstacles = Obstacles::of(printed.pool, printed.unavailable).naming_all();
    let mut explain = |unmatched: &Unmatched| {
        let obstacles = obstacles.find(unmatched, &Config::product(), printed.now.as_second());
        let Explanation { reason, why, hint } = explained(unmatched, obstacles.as_deref().unwrap_or_default());
        said(unmatched.root, reason, &why, &hint)
    };
    match printed.outcome {
        Outcome::Cycle(cycle) => cycle.unmatched.iter().map(explain).collect(),
        Outcome::Together(placement) => {
            let passed_over = placement.together.passed_over.iter().filter_map(Gang::root);
            let why = |job: AdId| placement.passed_over(printed.pool, job).unwrap_or_default();
            let passed_over = passed_over.map(|job| said(job, reasons::WAITING_FOR_TURN, &why(job), ""));
            passed_over.chain(placement.others_unmatched().map(&mut explain)).collect()
        }
        Outcome::Placed(placed) => {
            let of = |(job, offers): &(AdId, usize)| {
                let reason = if *offers == 0 { reasons::NO_CANDIDATES } else { reasons::WAITING_FOR_CAPACITY };
                said(*job, reason, &fits(*offers), "")
            };
            placed.waiting.iter().map(of).collect()
        }
    }
}

/// What was made of the manifests: by a negotiation cycle, or by `--placing`.
enum Outcome {
    Cycle(Box<Cycle>),
    Together(Box<Placement>),
    Placed(Placed),
}

/// What is printed.
struct Printed<'p> {
    objects: &'p Objects,
    pool: &'p Snapshot,
    unavailable: &'p [Unavailable],
    outcome: &'p Outcome,
    /// What preemption would do for which jobs, in sentences.
    preemptions: Vec<String>,
    now: jiff::Timestamp,
}

fn print(out: &mut impl Write, output: AnswerOptions, printed: &Printed<'_>) -> anyhow::Result<()> {
    let provenance = Provenance { cycle: "offline".to_owned(), time: printed.now, seed: 0, epoch: 0 };
    let config = Config::product();
    let gangs = match printed.outcome {
        Outcome::Cycle(cycle) => &cycle.gangs,
        Outcome::Together(placement) => &placement.together.cycle.gangs,
        Outcome::Placed(placed) => &placed.gangs,
    };
    let matches = gangs
        .iter()
        .filter_map(|gang| record(printed.objects, printed.pool, gang, &config, &provenance, None))
        .collect::<Vec<Match>>();
    match output.is_text() {
        true => print_table(&mut Screen(out), printed, &matches),
        false => output.print(out, "", &list(&matches, printed)),
    }
}

fn print_table(out: &mut impl Write, printed: &Printed<'_>, matches: &[Match]) -> anyhow::Result<()> {
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
    match printed.outcome {
        Outcome::Cycle(cycle) => {
            waiting(out, printed, cycle.unmatched.iter())?;
            for said in &printed.preemptions {
                writeln!(out, "{said}\n")?;
            }
        }
        Outcome::Together(placement) => {
            together::print_passed_over(out, printed.pool, placement)?;
            waiting(out, printed, placement.others_unmatched())?;
        }
        Outcome::Placed(placed) => left_over(out, printed.pool, placed)?,
    }
    let offers = printed.objects.offers().count();
    let states: Vec<JobState> = printed.objects.jobs.iter().map(|(_, held)| job_state(held, printed.objects)).collect();
    let of = |state: JobState| states.iter().filter(|found| **found == state).count();
    let others: Vec<String> = [
        (JobState::Held, "claimed already"),
        (JobState::Suspended, "suspended"),
        (JobState::Finished, "finished"),
        (JobState::NotAccepted, "not accepted"),
    ]
    .into_iter()
    .filter(|(state, _)| of(*state) > 0)
    .map(|(state, what)| format!("{} {what}", of(state)))
    .collect();
    let others = if others.is_empty() { String::new() } else { format!(" Other jobs: {}.", others.join(", ")) };
    let (jobs, offers) = (counted(of(JobState::Waits), "job"), counted(offers, "offer"));
    writeln!(out, "{} of {jobs} matched, with {offers}.{others}", matches.len())?;
    let classes = printed.objects.classes.len();
    if classes > 0 && printed.objects.nodes.is_none() {
        let classes = if classes == 1 {
            "The MachineClass makes".to_owned()
        } else {
            format!("The {classes} MachineClasses make")
        };
        writeln!(out, "{classes} no Machines without Node manifests: add the output of kubectl get nodes -o yaml.")?;
    }
    if let Outcome::Together(placement) = printed.outcome {
        together::print_objective(out, &placement.together)?;
    }
    Ok(())
}

/// Of a job that `--placing` left without an offer: how many it fits.
fn fits(offers: usize) -> String {
    match offers {
        0 => "it fits no offer".to_owned(),
        offers => format!("it fits {} before others are placed", counted(offers, "offer")),
    }
}

/// The jobs that `--placing` left without an offer.
fn left_over(out: &mut impl Write, pool: &Snapshot, placed: &Placed) -> anyhow::Result<()> {
    for (job, offers) in &placed.waiting {
        let key = pool.ad(*job).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name)).unwrap_or_default();
        writeln!(out, "{key} waits: {}", fits(*offers))?;
    }
    if !placed.waiting.is_empty() {
        writeln!(out)?;
    }
    if let Some(bound) = placed.bound {
        writeln!(out, "The relaxation comes to {bound:.3}: no assignment matches more jobs.")?;
    }
    Ok(())
}

/// The jobs of which the same is to be said, those of the first job first.
fn by_reason<'u>(printed: &Printed<'_>, all: impl Iterator<Item = &'u Unmatched>) -> Vec<(String, Vec<String>)> {
    let mut obstacles = Obstacles::of(printed.pool, printed.unavailable).naming_all();
    let (mut groups, mut places) = (Vec::<(String, Vec<String>)>::new(), BTreeMap::new());
    for unmatched in all {
        let key = printed.pool.ad(unmatched.root).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name));
        let obstacles = obstacles.find(unmatched, &Config::product(), printed.now.as_second());
        let reason = reason(unmatched, obstacles.as_deref().unwrap_or_default());
        let place = *places.entry(reason.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((reason, Vec::new()));
        }
        if let Some((_, jobs)) = groups.get_mut(place) {
            jobs.extend(key);
        }
    }
    groups
}

fn waiting<'u>(
    out: &mut impl Write,
    printed: &Printed<'_>,
    all: impl Iterator<Item = &'u Unmatched>,
) -> anyhow::Result<()> {
    for (reason, jobs) in by_reason(printed, all) {
        let named = jobs.iter().take(JOBS_NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        match jobs.len() {
            1 => write!(out, "{named} waits: {reason}")?,
            all if all > JOBS_NAMED_MAX => {
                write!(out, "{all} jobs wait ({named} and {} more): {reason}", all - JOBS_NAMED_MAX)?;
            }
            all => write!(out, "{all} jobs wait ({named}): {reason}")?,
        }
        writeln!(out)?;
    }
    Ok(())
}

/// How many jobs are named of those that wait for the same reason.
const JOBS_NAMED_MAX: usize = 5;

/// Why a job waits, with a table and a hint.
fn reason(unmatched: &Unmatched, obstacles: &[Obstacle]) -> String {
    use std::fmt::Write;
    let said = explained(unmatched, obstacles);
    let mut text = format!("{}\n", said.why);
    let told_of = match unmatched.verdict {
        Verdict::NoCandidates { port } | Verdict::RefusedByOffers { port } => Some(port),
        _ => None,
    };
    let rows: Vec<Vec<String>> = unmatched
        .ports
        .iter()
        .enumerate()
        .map(|(place, port)| {
            let counts =
                [port.candidates, port.refused_by_job, port.refused_by_offer.ads, port.too_small.ads, port.busy];
            // No offer was looked at for a port if nothing fits before it, or if its own text says enough.
            let is_looked_at = told_of == Some(place) || port.is_reached();
            let shown = |count: &u64| if is_looked_at { count.to_string() } else { "-".to_owned() };
            std::iter::once(port.label.clone()).chain(counts.iter().map(shown)).collect()
        })
        .collect();
    if !rows.is_empty() {
        let headings = ["PORT", "OPEN", "REFUSED BY JOB", "REFUSED BY OWNER", "TOO SMALL", "TAKEN"];
        text.push_str(&table(&headings, &rows, 2));
    }
    for port in &unmatched.ports {
        for part in port.conjuncts.iter().filter(|part| part.rejects > 0) {
            let _ = writeln!(text, "    {}: `{}` is not true of {}", port.label, part.text, part.rejects);
        }
    }
    if !said.hint.is_empty() {
        let _ = writeln!(text, "  hint: {}", said.hint);
    }
    text
}

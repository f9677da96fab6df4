//! The input file: YAML into a [`SimulationPlan`], and everything that is wrong with it into messages that say where.

use std::path::{Path, PathBuf};

use gridcam::{Amounts, Arrival, Distribution, Law, Laws, Pick, Scheme};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::durations::{Milliseconds, short};
use super::plan::{Cluster, JOBS_MAX, JobSource, Named, SimulationPlan};
use crate::locate;
use crate::manifests::yaml_problem;
use crate::texts::{self, Text};

/// The largest cluster: filling looks at every number of processors.
const CPUS_MAX: u64 = 1_000_000;
/// The most windows of a run.
const WINDOWS_MAX: u64 = 100_000_000;
/// How long a job waits before `Collective` places it first, if the file does not say.
const MAX_WAIT: Milliseconds = Milliseconds(1_800_000);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Description {
    #[serde(default)]
    name: String,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default = "one")]
    runs: u64,
    until: Milliseconds,
    timeout: Option<Milliseconds>,
    arrival: Option<Drawn<Milliseconds>>,
    service: Option<Drawn<Milliseconds>>,
    #[serde(default)]
    clusters: Vec<ClusterEntry>,
    job: Option<JobEntry>,
    #[serde(default)]
    never_fits: f64,
    trace: Option<PathBuf>,
    schemes: Vec<SchemeEntry>,
}

/// The fields of a file of manifests, which are not simulated.
#[derive(Default, Deserialize)]
struct ManifestFields {
    offers: Option<IgnoredAny>,
    jobs: Option<IgnoredAny>,
}

impl ManifestFields {
    /// The first of them that is there.
    fn first(&self) -> Option<&'static str> {
        self.offers.map(|_| "offers").or(self.jobs.map(|_| "jobs"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterEntry {
    name: String,
    cpus: u64,
    #[serde(default)]
    disk: u64,
    #[serde(default)]
    memory: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JobEntry {
    cpus: Drawn<f64>,
    disk: Option<Drawn<f64>>,
    memory: Option<Drawn<f64>>,
}

/// A distribution of durations, or of amounts.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
enum Drawn<T> {
    Constant {
        value: T,
        min: Option<T>,
        max: Option<T>,
    },
    Exponential {
        mean: T,
        min: Option<T>,
        max: Option<T>,
    },
    Uniform {
        from: T,
        to: T,
        #[serde(default)]
        whole: bool,
        min: Option<T>,
        max: Option<T>,
    },
    Gaussian {
        mean: T,
        sigma: T,
        min: Option<T>,
        max: Option<T>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SchemeEntry {
    name: String,
    placing: PlacingEntry,
    window: Milliseconds,
    blocked: Option<bool>,
    pick: Option<PickEntry>,
    weight: Option<Weight>,
    max_wait: Option<Milliseconds>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum PlacingEntry {
    Fcfs,
    Srfm,
    SrfmPrinted,
    Lbm,
    Collective,
    InTurn,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PickEntry {
    MostFree,
    First,
    BestFit,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
enum Weight {
    One,
    Charge,
}

/// One line of a trace: times in seconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceLine {
    arrival: f64,
    service: f64,
    #[serde(default)]
    cpus: u64,
    #[serde(default)]
    disk: u64,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    priority: i64,
    manifest: Option<IgnoredAny>,
}

fn one() -> u64 {
    1
}

/// The plan of a file.
///
/// # Errors
/// What is wrong with it, each with file and line.
pub(super) fn read(text: &Text, path: &Path) -> Result<SimulationPlan, Vec<String>> {
    let mut reader = Reader { text, problems: Vec::new() };
    let manifests: ManifestFields = serde_saphyr::from_str(&text.text).unwrap_or_default();
    if let Some(field) = manifests.first() {
        reader.wrong(field, "manifests are not simulated; write `clusters`, and `job` or `trace`");
        return Err(reader.problems);
    }
    let description: Description = serde_saphyr::from_str(&text.text).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        vec![format!("{}:{line}: column {column}: {}", text.name, yaml_problem(&error.to_string()))]
    })?;
    let plan = reader.plan(description, path);
    match plan {
        Some(plan) if reader.problems.is_empty() => Ok(plan),
        _ => Err(reader.problems),
    }
}

struct Reader<'t> {
    text: &'t Text,
    problems: Vec<String>,
}

impl Reader<'_> {
    /// Notes what is wrong with the field at this path, such as `schemes[0].window`.
    fn wrong(&mut self, path: &str, what: &str) {
        let line = locate::field(&self.text.text, path, 1).map_or(1, |line| line + 1);
        self.problems.push(format!("{}:{line}: {path}: {what}", self.text.name));
    }

    fn plan(&mut self, from: Description, path: &Path) -> Option<SimulationPlan> {
        if from.until.0 == 0 {
            self.wrong("until", "found 0; write a duration such as 24h");
        }
        if !(1..=10_000).contains(&from.runs) {
            self.wrong("runs", &format!("found {}; write a number from 1 to 10000", from.runs));
        }
        if !(0.0..=1.0).contains(&from.never_fits) {
            self.wrong("neverFits", &format!("found {}; write a share from 0 to 1", from.never_fits));
        }
        let source = self.source(&from, path);
        let schemes = self.schemes(&from.schemes);
        for (number, scheme) in
            schemes.iter().enumerate().filter(|(_, scheme)| from.until.0 / scheme.window.max(1) > WINDOWS_MAX)
        {
            let until = short(from.until.0);
            self.wrong(
                &format!("schemes[{number}].window"),
                &format!("`{}` has more than {WINDOWS_MAX} windows in {until}; write a longer one", scheme.name),
            );
        }
        self.check_names("clusters", from.clusters.iter().map(|cluster| cluster.name.as_str()).collect());
        for (number, cluster) in from.clusters.iter().enumerate().filter(|(_, cluster)| cluster.cpus > CPUS_MAX) {
            self.wrong(
                &format!("clusters[{number}].cpus"),
                &format!("found {}; write at most {CPUS_MAX}", cluster.cpus),
            );
        }
        let cluster = |entry: ClusterEntry| {
            let ClusterEntry { name, cpus, disk, memory } = entry;
            Cluster { name, amounts: Amounts { cpus, disk, memory } }
        };
        Some(SimulationPlan {
            name: from.name,
            seed: from.seed,
            runs: from.runs,
            until: from.until.0,
            timeout: from.timeout.map(|timeout| timeout.0),
            clusters: from.clusters.into_iter().map(cluster).collect(),
            source: source?,
            schemes,
        })
    }

    /// Notes an empty list, and a name that two of its entries have.
    fn check_names(&mut self, list: &str, names: Vec<&str>) {
        if names.is_empty() {
            self.wrong(list, "there is none; write at least one");
        }
        for (number, name) in names.iter().enumerate() {
            if names.iter().take(number).any(|before| before == name) {
                self.wrong(&format!("{list}[{number}].name"), &format!("`{name}` is there twice; rename one of them"));
            }
        }
    }

    fn source(&mut self, from: &Description, path: &Path) -> Option<JobSource> {
        let drawn =
            [("arrival", from.arrival.is_some()), ("service", from.service.is_some()), ("job", from.job.is_some())];
        if let Some(trace) = &from.trace {
            if let Some((field, _)) = drawn.into_iter().find(|(_, there)| *there) {
                self.wrong(field, "the trace says this already; leave it out, or the trace");
            }
            if from.runs > 1 {
                self.wrong("runs", "a trace has one run, because nothing is drawn; leave it out");
            }
            let file = path.parent().unwrap_or(Path::new("")).join(trace);
            return self.trace(&file).map(JobSource::Trace);
        }
        if let Some((field, _)) = drawn.into_iter().find(|(_, there)| !there) {
            self.wrong(field, "is missing; write arrival, service and job, or a trace");
        }
        let (arrival, service, job) = (from.arrival?, from.service?, from.job.as_ref()?);
        let laws = Laws {
            arrival: self.duration("arrival", arrival),
            service: self.duration("service", service),
            cpus: self.amount("job.cpus", job.cpus),
            disk: job.disk.map(|disk| self.amount("job.disk", disk)),
            memory: job.memory.map(|memory| self.amount("job.memory", memory)),
            never_fits: from.never_fits,
        };
        if gridcam::arrivals(&laws, from.seed, from.until.0, JOBS_MAX).len() == JOBS_MAX {
            self.wrong(
                "arrival",
                &format!("{JOBS_MAX} jobs or more arrive in {}; write a longer time between them", short(from.until.0)),
            );
        }
        Some(JobSource::Laws(Box::new(laws)))
    }

    fn duration(&mut self, field: &str, drawn: Drawn<Milliseconds>) -> Distribution {
        let seconds = |duration: Milliseconds| std::time::Duration::from_millis(duration.0).as_secs_f64();
        self.distribution(field, drawn.map(seconds))
    }

    fn amount(&mut self, field: &str, drawn: Drawn<f64>) -> Distribution {
        self.distribution(field, drawn)
    }

    fn distribution(&mut self, field: &str, drawn: Drawn<f64>) -> Distribution {
        let (law, min, max) = match drawn {
            Drawn::Constant { value, min, max } => (Law::Constant(value), min, max),
            Drawn::Exponential { mean, min, max } => (Law::Exponential(mean), min, max),
            Drawn::Uniform { from, to, whole, min, max } => {
                if to < from {
                    self.wrong(field, &format!("`to` is less than `from`: {to} < {from}"));
                }
                match (whole, integer(from), integer(to)) {
                    (false, ..) => (Law::Uniform(from, to), min, max),
                    (true, Some(from), Some(to)) => (Law::Whole(from, to), min, max),
                    (true, ..) => {
                        self.wrong(field, "`whole` needs whole numbers in `from` and `to`");
                        (Law::Constant(0.0), min, max)
                    }
                }
            }
            Drawn::Gaussian { mean, sigma, min, max } => (Law::Gaussian(mean, sigma), min, max),
        };
        Distribution { law, min, max }
    }

    fn schemes(&mut self, entries: &[SchemeEntry]) -> Vec<Named> {
        self.check_names("schemes", entries.iter().map(|scheme| scheme.name.as_str()).collect());
        let mut schemes = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            let path = |field: &str| format!("schemes[{number}].{field}");
            if entry.window.0 == 0 {
                self.wrong(&path("window"), "found 0; write a duration such as 1s");
            }
            let unused = [
                ("blocked", entry.blocked.is_some(), PlacingEntry::Fcfs),
                ("pick", entry.pick.is_some(), PlacingEntry::Fcfs),
                ("weight", entry.weight.is_some(), PlacingEntry::Collective),
                ("maxWait", entry.max_wait.is_some(), PlacingEntry::Collective),
            ];
            for (field, _, of) in unused.into_iter().filter(|(_, there, of)| *there && *of != entry.placing) {
                self.wrong(&path(field), &format!("has an effect on `placing: {of:?}` only; leave it out"));
            }
            let pick = match entry.pick {
                None | Some(PickEntry::MostFree) => Pick::MostFree,
                Some(PickEntry::First) => Pick::First,
                Some(PickEntry::BestFit) => Pick::BestFit,
            };
            let scheme = match entry.placing {
                PlacingEntry::Fcfs => Scheme::Fcfs { pick, blocked: entry.blocked.unwrap_or(false) },
                PlacingEntry::Srfm => Scheme::Srfm,
                PlacingEntry::SrfmPrinted => Scheme::SrfmPrinted,
                PlacingEntry::Lbm => Scheme::Lbm,
                PlacingEntry::Collective if entry.weight == Some(Weight::Charge) => {
                    Scheme::Filling { max_wait: entry.max_wait.unwrap_or(MAX_WAIT).0 }
                }
                PlacingEntry::Collective => {
                    self.wrong(&path("placing"), "Collective of clusters counts processors; write `weight: Charge`");
                    continue;
                }
                PlacingEntry::InTurn => {
                    self.wrong(&path("placing"), "InTurn is for manifests, which are not simulated; write Fcfs");
                    continue;
                }
            };
            schemes.push(Named { name: entry.name.clone(), scheme, window: entry.window.0 });
        }
        schemes
    }

    /// The jobs of a trace, one JSON object a line.
    fn trace(&mut self, file: &Path) -> Option<Vec<Arrival>> {
        let text = match texts::read(file) {
            Ok(Ok(text)) => text,
            Ok(Err(problem)) => {
                self.problems.push(problem);
                return None;
            }
            Err(error) => {
                self.wrong("trace", &format!("{error:#}"));
                return None;
            }
        };
        let mut jobs = Vec::new();
        for (number, line) in text.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<TraceLine>(line).map_err(|error| error.to_string()).and_then(arrival) {
                Ok(job) => jobs.push(job),
                Err(problem) => self.problems.push(format!("{}:{}: {problem}", text.name, number + 1)),
            }
        }
        Some(jobs)
    }
}

fn arrival(line: TraceLine) -> Result<Arrival, String> {
    let TraceLine { arrival, service, cpus, disk, memory, priority, manifest } = line;
    if manifest.is_some() {
        return Err("manifest: manifests are not simulated; write cpus, disk and memory".to_owned());
    }
    let milliseconds = |name: &str, seconds: f64| {
        let duration = std::time::Duration::try_from_secs_f64(seconds);
        let milliseconds = duration.ok().and_then(|duration| u64::try_from(duration.as_millis()).ok());
        milliseconds.ok_or_else(|| format!("{name}: found {seconds}; write seconds, 0 or more"))
    };
    Ok(Arrival {
        at: milliseconds("arrival", arrival)?,
        service: milliseconds("service", service)?,
        amounts: Amounts { cpus, disk, memory },
        priority,
        accepts: None,
    })
}

impl<T> Drawn<T> {
    /// The same distribution in another unit.
    fn map<U>(self, unit: impl Fn(T) -> U) -> Drawn<U> {
        let bound = |bound: Option<T>| bound.map(&unit);
        match self {
            Drawn::Constant { value, min, max } => {
                Drawn::Constant { value: unit(value), min: bound(min), max: bound(max) }
            }
            Drawn::Exponential { mean, min, max } => {
                Drawn::Exponential { mean: unit(mean), min: bound(min), max: bound(max) }
            }
            Drawn::Uniform { from, to, whole, min, max } => {
                Drawn::Uniform { from: unit(from), to: unit(to), whole, min: bound(min), max: bound(max) }
            }
            Drawn::Gaussian { mean, sigma, min, max } => {
                Drawn::Gaussian { mean: unit(mean), sigma: unit(sigma), min: bound(min), max: bound(max) }
            }
        }
    }
}

/// The whole number that a real one is, if it is.
fn integer(value: f64) -> Option<i64> {
    let text = format!("{value:.0}");
    text.parse().ok().filter(|_| value.fract() == 0.0)
}

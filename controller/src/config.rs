//! Flags and environment into everything that the operator's surroundings decide.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, ValueEnum};
use gangindex::Engine;
use matchmaker::Plain;
use pool::{OwnerTrust, WorkloadScope};
use sha2::{Digest, Sha256};

use crate::cycle::placing::PlacingFlags;
use crate::leader::Timing;

/// Finds gangs of Jobs, Machines and Licenses, and claims them.
#[derive(Clone, Debug, Parser)]
#[command(name = "gangmatch-controller", version)]
pub struct Config {
    /// The kubeconfig file. Default: that of the pod or of the user.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) serving: ServingFlags,

    #[command(flatten)]
    pub(crate) cycle: CycleFlags,

    #[command(flatten)]
    pub(crate) placing: PlacingFlags,

    /// How long a workload may take to stop after its claim has ended, in seconds. After that, its pods are deleted,
    /// and a workload without pods counts as stopped, whatever its own controller reports.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    stop_timeout_seconds: u64,

    /// Whether `spec.owner` can be trusted, because the admission policy of the chart sets or checks it.
    #[arg(long, value_enum, default_value_t = Owners::Stamped)]
    pub(crate) owner_trust: Owners,

    #[command(flatten)]
    pub(crate) election: ElectionFlags,

    /// The name of this process in the Lease; a unique suffix is added.
    #[arg(long, value_name = "NAME", env = "POD_NAME", default_value = "gangmatch-controller")]
    name: String,

    #[command(flatten)]
    workloads: WorkloadFlags,

    /// How to search for gangs. Both ways find the same gangs; the plain search is slow, and is meant for diagnosis.
    #[arg(long, value_enum, default_value_t = SearchBy::Index)]
    pub(crate) search: SearchBy,

    /// The format of log lines.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

// What is served for people and for monitoring. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServingFlags {
    /// The address on which /livez, /readyz and /metrics are served.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    pub(crate) listen: SocketAddr,

    /// The address on which a page for people is served. It shows each viewer what that viewer may list, and needs the
    /// rights to create TokenReviews and SubjectAccessReviews. Default: no page.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) page: Option<SocketAddr>,

    /// The namespaces whose Licenses have metrics of their own, with namespace and name as labels. Default: none.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    pub(crate) license_metrics: Vec<String>,
}

// When cycles begin and end, and how much they do. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
pub(crate) struct CycleFlags {
    /// The longest time between two negotiation cycles, in seconds. A change of an ad starts a cycle immediately.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    cycle_seconds: u64,

    /// How long changes are collected before a cycle, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 50)]
    debounce_milliseconds: u64,

    /// The budget of a negotiation cycle, in steps of the evaluator; a million steps take some seconds. All
    /// namespaces have equal shares. Other namespaces can use the steps that a namespace does not need.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..))]
    pub(crate) cycle_steps_max: u64,

    /// The longest time of a negotiation cycle, in seconds. After that, it ends with the gangs found so far.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=60))]
    cycle_limit_seconds: u64,

    /// The largest number of gangs that are claimed at the same time, from the Match to its decision. Other gangs
    /// wait. Claims that are ending do not count.
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    pub(crate) claims_max: usize,
}

// How a leader is elected. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
pub(crate) struct ElectionFlags {
    /// Whether controllers elect a leader with a Lease, while the others write nothing. If false, there must be only
    /// one controller.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub(crate) leader_elect: bool,

    /// The namespace of the Lease. Default: the namespace of the pod or of the kubeconfig.
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    pub(crate) lease_namespace: Option<String>,

    /// How long a leader may be silent before another replica takes over, in seconds. It stops writing after two
    /// thirds of that time.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..=300))]
    lease_seconds: u64,
}

// Where workloads are started. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
pub(crate) struct WorkloadFlags {
    /// Whether workloads (batch Jobs, JobSets and Pods) are started. If false, the controller does not read any, and
    /// a Job with a workload is not accepted.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    workloads: bool,

    /// The namespaces in which workloads are started. Default: all namespaces.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    workload_namespaces: Vec<String>,
}

/// Which part of the cluster guarantees `spec.owner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Owners {
    /// The admission policy of the chart.
    Stamped,
    /// Nothing: `Owner` is undefined in every ad.
    None,
}

impl From<Owners> for OwnerTrust {
    fn from(owners: Owners) -> OwnerTrust {
        match owners {
            Owners::Stamped => OwnerTrust::Stamped,
            Owners::None => OwnerTrust::None,
        }
    }
}

/// How gangs are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SearchBy {
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

/// The form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object on each line.
    Json,
}

impl Config {
    /// The longest time between two negotiation cycles.
    pub(crate) fn cycle_every(&self) -> Duration {
        Duration::from_secs(self.cycle.cycle_seconds.max(1))
    }

    /// How long the workload of a claim may take to stop, in milliseconds.
    pub(crate) fn stop_timeout_ms(&self) -> u64 {
        self.stop_timeout_seconds.saturating_mul(1000)
    }

    /// The longest time of a negotiation cycle.
    pub(crate) fn cycle_limit(&self) -> Duration {
        Duration::from_secs(self.cycle.cycle_limit_seconds)
    }

    /// How long a Lease counts.
    pub(crate) fn lease(&self) -> Timing {
        Timing { lease_ms: self.election.lease_seconds.saturating_mul(1000) }
    }

    /// A name that no other process has, nor this one after a restart: a new leader waits for the Lease to run out, even if its pod has
    /// the same name.
    pub(crate) fn identity(&self, process: u32, started: jiff::Timestamp) -> String {
        let mark = Sha256::digest(format!("{} {process} {}", self.name, started.as_nanosecond()));
        format!("{}_{mark:.8x}", self.name)
    }

    /// Where workloads are started.
    pub(crate) fn workload_scope(&self) -> WorkloadScope {
        match (self.workloads.workloads, self.workloads.workload_namespaces.as_slice()) {
            (false, _) => WorkloadScope::In(BTreeSet::new()),
            (true, []) => WorkloadScope::Everywhere,
            (true, namespaces) => WorkloadScope::In(namespaces.iter().cloned().collect()),
        }
    }

    /// How long changes are collected before a cycle.
    pub(crate) fn debounce(&self) -> Duration {
        Duration::from_millis(self.cycle.debounce_milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_started_everywhere_or_where_it_says() {
        let scope = |flags: &[&str]| {
            let all = ["gangmatch-controller"].iter().chain(flags);
            Config::try_parse_from(all).unwrap().workload_scope()
        };
        assert_eq!(scope(&[]), WorkloadScope::Everywhere);
        let two = scope(&["--workload-namespaces=eda,web"]);
        assert_eq!(["eda", "web", "other"].map(|name| two.includes(name)), [true, true, false]);
        assert!(!scope(&["--workloads=false", "--workload-namespaces=eda"]).includes("eda"));
    }

    #[test]
    fn a_process_has_another_name_after_a_restart() {
        let config = Config::try_parse_from(["gangmatch-controller", "--name=pod-a"]).unwrap();
        let at = |second| jiff::Timestamp::from_second(second).unwrap();
        let names = [config.identity(1, at(0)), config.identity(1, at(1)), config.identity(2, at(0))];
        assert!(names.iter().all(|name| name.starts_with("pod-a_") && name.len() == "pod-a_".len() + 8));
        assert!(names[0] != names[1] && names[0] != names[2]);
    }
}

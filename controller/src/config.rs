//! Flags and environment into everything that the operator's surroundings decide.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};
use gangindex::Engine;
use matchmaker::Plain;
use pool::{OwnerTrust, Reach};
use sha2::{Digest, Sha256};

use crate::leader::Timing;

/// Finds gangs of Jobs, Machines and Licenses, and claims them.
#[derive(Clone, Debug, Parser)]
#[command(name = "gangmatch-controller", version)]
pub struct Config {
    /// The kubeconfig to use; without it the one of the pod, or of the user.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Where /livez and /readyz are served.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    pub(crate) listen: SocketAddr,

    /// The longest time between two negotiation cycles, in seconds; a change of an ad starts one at once.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    cycle_seconds: u64,

    /// How long changes are gathered before a cycle, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 50)]
    debounce_milliseconds: u64,

    /// What a negotiation cycle may cost, in steps of the evaluator: a million take some seconds. Namespaces have equal shares; what
    /// some do not need is for the others.
    #[arg(long, value_name = "COUNT", default_value_t = 250_000, value_parser = clap::value_parser!(u64).range(1000..))]
    pub(crate) cycle_steps_max: u64,

    /// After how many seconds a negotiation cycle is ended with what it has found.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=60))]
    cycle_limit_seconds: u64,

    /// The most gangs that are being claimed at the same time, from the Match to its decision; others wait. The ends of claims are not
    /// counted.
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    pub(crate) claims_max: usize,

    /// How long the work of a claim that has ended is given to stop, in seconds: then its pods are deleted, and without any it is taken
    /// for stopped, whatever its own controller says.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    stop_timeout_seconds: u64,

    /// Whether `spec.owner` is what the API server's policy has stamped, or anybody's word and so not to be believed.
    #[arg(long, value_enum, default_value_t = Owners::Stamped)]
    pub(crate) owner_trust: Owners,

    /// Whether controllers elect one of them by a Lease, and the others write nothing. Without it there must be only one.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub(crate) leader_elect: bool,

    /// Where the Lease is; without it the namespace of the pod, or of the kubeconfig.
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE")]
    pub(crate) lease_namespace: Option<String>,

    /// How long a leader may be silent, in seconds: then another one takes over. It writes nothing any more after two thirds
    /// of that.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(3..=300))]
    lease_seconds: u64,

    /// What this process is called in the Lease; a mark of its own is added.
    #[arg(long, value_name = "NAME", env = "POD_NAME", default_value = "gangmatch-controller")]
    name: String,

    /// Whether workloads are started: batch Jobs, JobSets and Pods. Without it none is looked at, and a Job that wants one is not
    /// accepted.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    workloads: bool,

    /// The only namespaces in which they are; without it, all.
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',')]
    workload_namespaces: Vec<String>,

    /// How gangs are searched for. Both ways find the same ones; the plain one is slow, and for diagnosis.
    #[arg(long, value_enum, default_value_t = SearchBy::Index)]
    pub(crate) search: SearchBy,

    /// How log lines are written.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

/// Who vouches for `spec.owner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Owners {
    /// The admission policy of the chart.
    Stamped,
    /// Nobody: `Owner` is undefined in every ad.
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
    /// By indexes over all ads.
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
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Config {
    pub(crate) fn cycle_every(&self) -> Duration {
        Duration::from_secs(self.cycle_seconds.max(1))
    }

    pub(crate) fn stop_timeout_ms(&self) -> u64 {
        self.stop_timeout_seconds.saturating_mul(1000)
    }

    pub(crate) fn cycle_limit(&self) -> Duration {
        Duration::from_secs(self.cycle_limit_seconds)
    }

    pub(crate) fn lease(&self) -> Timing {
        Timing { lease_ms: self.lease_seconds.saturating_mul(1000) }
    }

    /// A name that no other process has, nor this one after a restart: whoever takes over waits, even from its namesake.
    pub(crate) fn identity(&self, process: u32, started: jiff::Timestamp) -> String {
        let mark = Sha256::digest(format!("{} {process} {}", self.name, started.as_nanosecond()));
        let mark: String = mark.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{}_{mark}", self.name)
    }

    /// Where workloads are started.
    pub(crate) fn reach(&self) -> Reach {
        match (self.workloads, self.workload_namespaces.as_slice()) {
            (false, _) => Reach::In(BTreeSet::new()),
            (true, []) => Reach::Everywhere,
            (true, namespaces) => Reach::In(namespaces.iter().cloned().collect()),
        }
    }

    pub(crate) fn debounce(&self) -> Duration {
        Duration::from_millis(self.debounce_milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_started_everywhere_or_where_it_says() {
        let reach = |flags: &[&str]| {
            let all = ["gangmatch-controller"].iter().chain(flags);
            Config::try_parse_from(all).unwrap().reach()
        };
        assert_eq!(reach(&[]), Reach::Everywhere);
        let two = reach(&["--workload-namespaces=eda,web"]);
        assert_eq!(["eda", "web", "other"].map(|name| two.includes(name)), [true, true, false]);
        assert!(!reach(&["--workloads=false", "--workload-namespaces=eda"]).includes("eda"));
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

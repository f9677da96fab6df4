//! Flags and environment into everything that the operator's surroundings decide.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use pool::OwnerTrust;

/// Finds gangs of Jobs, Machines and Licenses, and claims them.
#[derive(Clone, Debug, Parser)]
#[command(name = "gangmatch-controller", version)]
pub(crate) struct Config {
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

    /// The most claims that are driven at the same time; gangs beyond it wait for the next cycle.
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    pub(crate) claims_max: usize,

    /// Whether `spec.owner` is what the API server's policy has stamped, or anybody's word and so not to be believed.
    #[arg(long, value_enum, default_value_t = Owners::Stamped)]
    pub(crate) owner_trust: Owners,

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

    pub(crate) fn debounce(&self) -> Duration {
        Duration::from_millis(self.debounce_milliseconds)
    }
}

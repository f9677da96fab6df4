//! Flags into everything that the agent's surroundings decide.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use regex::Regex;

use crate::lmstat;

/// Acts for one Machine or License: publishes attributes, votes on claims, and runs the work of claims.
#[derive(Clone, Debug, Parser)]
#[command(name = "gangmatch-agent", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Config {
    /// The kind of the offer.
    #[arg(long, value_enum, default_value_t = Kind::Machine)]
    pub(crate) kind: Kind,

    /// The namespace of the offer. Default: the namespace of the pod or of the kubeconfig.
    #[arg(long, env = "POD_NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// The name of the offer.
    #[arg(long, env = "OFFER_NAME", default_value = "")]
    pub(crate) name: String,

    /// The kubeconfig file. Default: that of the pod or of the user. Its user must be the one in `spec.agent.username`.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// How many seconds before its token expires the agent renews it. Default: half of its lifetime.
    #[arg(long, value_name = "SECONDS", hide = true)]
    renew_token_before: Option<u64>,

    /// How often values are measured, in seconds. They are also measured before each vote.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,

    /// An attribute, and a command that prints its value. Can be repeated. Default: values from /proc.
    #[arg(long, value_name = "NAME=COMMAND", value_parser = attribute)]
    pub(crate) attribute: Vec<(String, String)>,

    #[command(flatten)]
    pub(crate) license: LicenseFlags,

    /// The command that does the work of a claim. It runs while the claim lasts, and the work ends when the command ends.
    /// Default: no command; the work lasts until the job ends the claim.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,

    /// How long the work may take to stop after SIGTERM, in seconds, before it is killed.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    stop_seconds: u64,

    /// The folder with the kernel's files about the host.
    #[arg(long, value_name = "FOLDER", default_value = "/proc", hide = true)]
    pub(crate) proc: PathBuf,

    #[command(subcommand)]
    pub(crate) guard: Option<Command>,
}

// How the seats of a License that are in use are measured. Not a doc comment: clap would take it for the description of the program.
#[derive(Clone, Debug, Args)]
pub(crate) struct LicenseFlags {
    /// A command that prints the state of a licence server, such as `lmutil lmstat -a -c 27000@host`; needs --feature.
    #[arg(long, value_name = "COMMAND", requires = "feature")]
    pub(crate) lmstat: Option<String>,

    /// The feature of the licence server; needs --lmstat.
    #[arg(long, value_name = "NAME", requires = "lmstat")]
    pub(crate) feature: Option<String>,

    /// The names under which the licence server knows the hosts of the cluster: seats of claims are on these; `*` matches any text. Can be
    /// repeated. Default: all. All seats in use count as external, except for as many as claims hold and are in use on these hosts.
    #[arg(long, value_name = "PATTERN", value_parser = lmstat::hosts, requires = "lmstat")]
    pub(crate) inside_host: Vec<Regex>,

    /// A command that prints how many seats are used outside the cluster, for licence servers without lmstat.
    #[arg(long, value_name = "COMMAND", conflicts_with = "lmstat")]
    pub(crate) external_usage: Option<String>,
}

/// What this program does instead, for itself.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a command that ends when the other end of its standard input is closed.
    #[command(hide = true)]
    Guard {
        /// The command.
        command: String,
    },
}

/// What it speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A Machine.
    Machine,
    /// A License.
    License,
}

impl Config {
    /// How often values are measured.
    pub(crate) fn every(&self) -> Duration {
        Duration::from_secs(self.every)
    }

    /// How long before its token expires the agent renews it; `None`: after half of its lifetime.
    pub(crate) fn renew_token_before(&self) -> Option<Duration> {
        self.renew_token_before.map(Duration::from_secs)
    }

    /// How long the work may take to stop, before it is killed.
    pub(crate) fn stop(&self) -> Duration {
        Duration::from_secs(self.stop_seconds)
    }
}

/// # Errors
/// There is no `=` in it, or nothing before it.
fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() => Ok((name.to_owned(), command.to_owned())),
        _ => Err(format!("`{text}` is not of the form NAME=COMMAND; write for example Site='cat /etc/site'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read() {
        let read = |flags: &[&str]| Config::try_parse_from([&["gangmatch-agent", "--name=foo"], flags].concat());
        let config = read(&["--attribute", "Site=cat /etc/site", "--every=3"]).unwrap();
        assert_eq!(config.attribute, [("Site".to_owned(), "cat /etc/site".to_owned())]);
        assert_eq!((config.every(), config.kind), (Duration::from_secs(3), Kind::Machine));
        assert!(read(&["--attribute", "Site"]).unwrap_err().to_string().contains("write for example"));
        assert!(read(&["--lmstat", "lmutil lmstat -a"]).is_err(), "which feature?");
        assert!(read(&["--every=0"]).is_err());
    }
}

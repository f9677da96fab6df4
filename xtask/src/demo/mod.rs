//! Turns an empty machine into a job that has claimed a machine and a license, shows it, and takes everything down again.

mod cluster;
mod embedded;
mod manifests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde_json::Value;
use testbed::Access;
use testbed::cluster::Choice;

use crate::output::line;

/// The promise: from `kubectl apply` to the claim.
const CLAIMED_MAX: Duration = Duration::from_secs(5);
const EXAMPLE: &str = "examples/quickstart";
/// How often a demonstration that stays looks whether its processes run.
const LOOK: Duration = Duration::from_millis(500);

/// On what it is shown, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// What plays the cluster.
    #[arg(long, value_enum, default_value_t = DemoCluster::Embedded)]
    cluster: DemoCluster,
    /// Stay until Ctrl-C, and print what to try.
    #[arg(long)]
    keep: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DemoCluster {
    /// An API server in one process, which is built in a minute or two. It does not check rights, and nothing runs pods.
    Embedded,
    /// A real control plane of local processes. It is built from Go modules the first time, which takes about 10 minutes.
    Local,
    /// A kind cluster, which needs Docker and kind.
    Kind,
}

/// The whole demonstration. Ctrl-C at any point leaves nothing running either.
pub(crate) fn run(demo: &Demo) -> Result<()> {
    match demo.cluster {
        DemoCluster::Embedded => embedded::run(demo.keep),
        DemoCluster::Local => cluster::run(&Choice::Processes, demo.keep),
        DemoCluster::Kind => cluster::run(&Choice::Kind, demo.keep),
    }
}

/// What a reader can type next. Each works after the ones before it.
const TRY: [(&str, &str); 12] = [
    ("kubectl get gmj,gmm,gml,gmatch -A", "jobs, machines, licenses, and the gang that was found"),
    ("kubectl describe gmj sim", "its ad, its conditions, its events"),
    ("kubectl explain gmj.spec.ports", "every field is documented"),
    ("kubectl apply -f examples/counted", "three jobs for two seats"),
    ("kubectl get gmj", "one of them waits: see WHY"),
    ("kubectl gangmatch why run-3", "the plugin says what it waits for, and who has it"),
    ("kubectl gangmatch why license/solver", "who holds its seats, and who waits for them"),
    (
        r#"kubectl patch gmj run-1 --type merge -p '{"spec":{"done":true}}'"#,
        "run-1 is done, and the job that waits gets its seat",
    ),
    (
        r#"kubectl patch gmm foo --type merge -p '{"spec":{"stopPolicy":"HoldAndDrain"}}'"#,
        "the owner of the machine takes it back: the claim of sim ends",
    ),
    ("kubectl get gmj,gmm", "sim waits, and foo is drained"),
    ("kubectl apply -f examples/owners", "a machine whose owner does not accept every job"),
    ("kubectl get gmj long intruder", "WHY says that the owner refuses them"),
];

/// Prints what to try, and returns when something has ended.
fn stay(kubeconfig: &Path, plugin: &Path, what_runs: impl Fn() -> Result<()>) -> Result<()> {
    let folder = alone(plugin)?;
    line(format_args!("\nIn another terminal, in this folder:\n\nexport KUBECONFIG={}", kubeconfig.display()));
    line(format_args!("export PATH={}:$PATH\n", folder.display()));
    for (command, what) in TRY {
        line(format_args!("{command}\n    # {what}"));
    }
    line(format_args!("\nCtrl-C ends everything; so does, from elsewhere, kill -TERM {}", std::process::id()));
    loop {
        what_runs()?;
        std::thread::sleep(LOOK);
    }
}

/// A folder in which the plugin is alone, for PATH: kubectl takes other files beside it for plugins, too.
fn alone(plugin: &Path) -> Result<PathBuf> {
    let folder = plugin.with_file_name("plugin");
    let link = folder.join("kubectl-gangmatch");
    let made = std::fs::create_dir_all(&folder).and_then(|()| {
        if link.is_symlink() {
            std::fs::remove_file(&link)?;
        }
        std::os::unix::fs::symlink(plugin, &link)
    });
    made.with_context(|| format!("cannot make {}", link.display()))?;
    Ok(folder)
}

/// The members of the first job that holds its claim, of a list of jobs.
fn claimed(jobs: &Value) -> Option<String> {
    let claims = ["Claimed", "Running", "Succeeded"];
    jobs.get("items").and_then(Value::as_array)?.iter().find_map(|job| {
        let text = |path: &str| job.pointer(path).and_then(Value::as_str);
        text("/status/phase").filter(|phase| claims.contains(phase))?;
        text("/status/members").map(str::to_owned)
    })
}

/// The same, asked by kubectl.
fn claimed_on(access: &Access) -> Result<Option<String>> {
    Ok(claimed(&access.kubectl_json(&["get", "gmj", "--all-namespaces"])?))
}

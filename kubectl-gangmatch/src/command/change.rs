//! What the verbs that write have in common: which objects they are about, the dry run, and what they print.

use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::{ClusterOptions, Failure, Kind, Kubectl, NamespaceOption, Scope};
use crate::output;
use crate::screen::shown;
use crate::subject::{Subject, is_made_for, no_such};

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// Print what would be changed, without asking the API server to change it.
    Client,
    /// Let the API server check the change, without keeping it.
    Server,
}

/// The options of a verb that writes.
#[derive(Debug, clap::Args)]
pub(crate) struct ChangeOptions {
    /// Change nothing: client prints what would be changed; server also lets the API server check it.
    #[arg(long, value_enum, value_name = "MODE")]
    dry_run: Option<DryRun>,

    #[command(flatten)]
    namespace: NamespaceOption,

    #[command(flatten)]
    cluster: ClusterOptions,
}

/// Which jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct JobsArguments {
    /// The jobs: NAME or job/NAME.
    #[arg(value_name = "JOB", required = true)]
    pub(crate) jobs: Vec<String>,

    #[command(flatten)]
    pub(crate) options: ChangeOptions,
}

/// What is to be done with one object.
pub(crate) enum Action {
    /// Merge this patch into it.
    Patch { patch: Value, done: String },
    /// Delete another object: its Match.
    DeleteMatch { name: String, done: String },
    /// Nothing, because it is so already.
    Nothing(String),
    /// Nothing, because it would be wrong.
    Refuse(String),
}

/// Does what `plan` says with each object that is named.
///
/// # Errors
/// The words name no objects, or the cluster cannot be asked.
pub(crate) fn each<K: DeserializeOwned>(
    options: &ChangeOptions,
    named: &[Subject],
    out: &mut impl Write,
    plan: &impl Fn(&K) -> Action,
) -> anyhow::Result<bool> {
    each_or(options, named, out, plan, &|_| None)
}

/// The same; of a workload whose job is not named, `instead` says what to write about the workload itself, given the job.
///
/// # Errors
/// Those of [`each`].
pub(crate) fn each_or<K: DeserializeOwned>(
    options: &ChangeOptions,
    named: &[Subject],
    out: &mut impl Write,
    plan: &impl Fn(&K) -> Action,
    instead: &dyn Fn(&Value) -> Option<String>,
) -> anyhow::Result<bool> {
    let kubectl = Kubectl::of(&options.cluster);
    let namespace = options.namespace.namespace.clone().unwrap_or_else(|| kubectl.current_namespace());
    let mut fine = true;
    for subject in named {
        let Some(found) = kubectl.get(subject.kind.resource(), &namespace, &subject.name)? else {
            output::problems(&[missing(&kubectl, subject, &namespace, instead)])?;
            fine = false;
            continue;
        };
        let name = subject.kind.full_name(&subject.name);
        fine &= match plan(&serde_json::from_value::<K>(found)?) {
            Action::Patch { patch, done } => {
                let text = patch.to_string();
                let patch = ["patch", subject.kind.resource(), &subject.name, "--type=merge", "--patch", &text];
                write(&kubectl, options, &namespace, &patch, &format!("{name} {done}"), out)?
            }
            Action::DeleteMatch { name: found, done } => {
                let delete = ["delete", Kind::Match.resource(), &found, "--wait=false"];
                write(&kubectl, options, &namespace, &delete, &format!("{name} {done}"), out)?
            }
            Action::Nothing(why) => {
                writeln!(out, "{name} {}", shown(&why))?;
                true
            }
            Action::Refuse(why) => {
                output::problems(&[format!("{name}: {why}")])?;
                false
            }
        };
    }
    Ok(fine)
}

/// Writes one change, or checks it.
fn write(
    kubectl: &Kubectl<'_>,
    options: &ChangeOptions,
    namespace: &str,
    arguments: &[&str],
    done: &str,
    out: &mut impl Write,
) -> anyhow::Result<bool> {
    let mut all = arguments.to_vec();
    all.extend(["--namespace", namespace, "--output=name"]);
    let note = match options.dry_run {
        Some(DryRun::Client) => " (dry run)",
        Some(DryRun::Server) => {
            all.push("--dry-run=server");
            " (server dry run)"
        }
        None => "",
    };
    if options.dry_run != Some(DryRun::Client)
        && let Err(failure) = kubectl.run(&all)
    {
        return match failure {
            // The API server's own words: a rule or an admission policy refuses it.
            Failure::Other(_) | Failure::Forbidden(_) => {
                output::problems(&[failure.to_string()])?;
                Ok(false)
            }
            other => Err(other.into()),
        };
    }
    writeln!(out, "{}{note}", shown(done))?;
    Ok(true)
}

fn missing(
    kubectl: &Kubectl<'_>,
    subject: &Subject,
    namespace: &str,
    instead: &dyn Fn(&Value) -> Option<String>,
) -> String {
    let resource = [subject.kind.resource()];
    let everywhere = kubectl.list(&resource, Scope::All, &[]).unwrap_or_default();
    let listed = match everywhere.items.is_empty() {
        true => kubectl.list(&resource, Scope::One(namespace), &[]).unwrap_or_default(),
        false => everywhere,
    };
    let text = |item: &Value, path: &str| item.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
    let keys: Vec<(String, String)> =
        listed.items.iter().map(|item| (text(item, "/metadata/namespace"), text(item, "/metadata/name"))).collect();
    let error = no_such(subject, namespace, keys.iter().map(|(namespace, name)| (namespace.as_str(), name.as_str())));
    let is_made = |item: &&Value| {
        text(item, "/metadata/namespace") == namespace && is_made_for(&text(item, "/metadata/name"), &subject.name)
    };
    let instead = listed.items.iter().find(is_made).and_then(instead);
    instead.map_or_else(|| error.to_string(), |instead| format!("{error}; {instead}"))
}

/// The exit status.
pub(crate) fn code(fine: bool) -> ExitCode {
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

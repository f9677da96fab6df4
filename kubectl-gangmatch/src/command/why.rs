//! `why`: a job, a machine or a license into why it waits, or who uses it.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use clap::ValueEnum;
use crds::OfferKind;
use pool::ObjectKey;
use serde::Serialize;

use crate::cluster::{self, ClusterOptions, FileOptions, Kind, Kubectl, NamespaceOption, NowOption, Pool};
use crate::screen::{Screen, shown};
use crate::subject::{AD_KINDS, Subject, no_such, subjects};
use crate::why::{Case, job_answer, job_text, offer_answer, offer_text};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Examples:
  kubectl gangmatch why sim
  kubectl gangmatch why license/cad -n eda
  kubectl gangmatch why job/sim -f examples/counted -o json

A cluster is read with your rights. If you may not list the offers of other namespaces, the answer is what the controller has found.

Exit status:
  0  there is an answer
  1  there is a mistake in the manifests; the others were read
  2  an option is wrong, there is no such object, or the cluster cannot be read";

/// What is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArguments {
    /// The job, as NAME or job/NAME, or machine/NAME or license/NAME.
    #[arg(value_name = "OBJECT", required = true, num_args = 1..=2)]
    object: Vec<String>,

    #[command(flatten)]
    files: FileOptions,

    /// The form of the answer: words, or data.
    #[arg(short, long, value_enum, default_value_t = AnswerForm::Text)]
    output: AnswerForm,

    #[command(flatten)]
    cluster: ClusterOptions,

    #[command(flatten)]
    namespace: NamespaceOption,

    #[command(flatten)]
    now: NowOption,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerForm {
    /// Words.
    Text,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

impl AnswerForm {
    /// Prints an answer: `text` if words are wanted, else `data`.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn print(self, out: &mut impl Write, text: &str, data: &impl Serialize) -> anyhow::Result<()> {
        match self {
            AnswerForm::Text => write!(Screen(out), "{text}")?,
            AnswerForm::Json => writeln!(out, "{}", serde_json::to_string_pretty(data)?)?,
            AnswerForm::Yaml => write!(out, "{}", serde_saphyr::to_string(data)?)?,
        }
        Ok(())
    }
}

/// What is read of a cluster.
pub(crate) const KINDS: [Kind; 5] = [Kind::Job, Kind::Machine, Kind::License, Kind::Match, Kind::Namespace];

/// Prints the answer.
pub(crate) fn run(arguments: &WhyArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let WhyArguments { files, cluster, namespace, .. } = arguments;
    let subject = subject(&arguments.object)?;
    let pool = cluster::read(files, cluster, namespace.namespace.as_deref(), &KINDS)?;
    let namespace = match &namespace.namespace {
        Some(namespace) => namespace.clone(),
        None if files.filename.is_empty() => Kubectl::of(cluster).current_namespace(),
        None => "default".to_owned(),
    };
    let key = ObjectKey::new(&namespace, &subject.name);
    let mut case = Case::of(&pool, arguments.now.time());
    let offer = match subject.kind {
        Kind::Machine => Some(OfferKind::Machine),
        Kind::License => Some(OfferKind::License),
        _ => None,
    };
    let answered = match offer {
        Some(kind) => {
            offer_answer(&case, kind, &key).map(|answer| arguments.output.print(out, &offer_text(&answer), &answer))
        }
        None => job_answer(&mut case, &key).map(|answer| arguments.output.print(out, &job_text(&answer), &answer)),
    };
    match answered {
        Some(printed) => printed?,
        None => return Err(no_such(&subject, &namespace, names(&pool, subject.kind))),
    }
    tell(&pool, |warning| warning.to_lowercase().contains(&format!("{} {key}:", subject.kind.word())))
}

/// The object that is meant: a word alone is a job.
fn subject(words: &[String]) -> anyhow::Result<Subject> {
    let found = match words {
        [word] if !word.contains('/') => subjects(words, &[Kind::Job])?,
        words => subjects(words, &AD_KINDS)?,
    };
    match found.as_slice() {
        [only] => Ok(only.clone()),
        _ => bail!("write one object, such as job/sim"),
    }
}

/// The objects of a kind, by namespace and name.
fn names(pool: &Pool, kind: Kind) -> Box<dyn Iterator<Item = (&str, &str)> + '_> {
    fn both(key: &ObjectKey) -> (&str, &str) {
        (key.namespace.as_str(), key.name.as_str())
    }
    match kind {
        Kind::Machine => Box::new(pool.objects.machines.iter().map(|(key, _)| both(key))),
        Kind::License => Box::new(pool.objects.licenses.iter().map(|(key, _)| both(key))),
        _ => Box::new(pool.objects.jobs.iter().map(|(key, _)| both(key))),
    }
}

/// Says what is wrong with the objects, and what could not be read; of warnings, those that `concerns` accepts. The exit status: 1 if
/// something is wrong.
pub(crate) fn tell(pool: &Pool, concerns: impl Fn(&str) -> bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stderr();
    for problem in &pool.problems {
        writeln!(out, "error: {}", shown(problem))?;
    }
    for warning in pool.warnings.iter().filter(|warning| concerns(warning)) {
        writeln!(out, "warning: {}", shown(warning))?;
    }
    crate::output::notes(&pool.notes)?;
    Ok(if pool.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

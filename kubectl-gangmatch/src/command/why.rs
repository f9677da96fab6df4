//! `why`: a job, a machine or a license into why it waits, or which jobs use it.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use crds::OfferKind;
use pool::ObjectKey;

use crate::cluster::{Kind, NamespaceSource, Pool};
use crate::output::{self, AnswerOptions};
use crate::subject::{AD_KINDS, Subject, meant, no_such, subjects};
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
    output: AnswerOptions,

    #[command(flatten)]
    source: NamespaceSource,
}

/// What is read of a cluster.
pub(crate) const KINDS: [Kind; 7] =
    [Kind::Job, Kind::Machine, Kind::License, Kind::Match, Kind::Namespace, Kind::Account, Kind::PoolPolicy];

/// Prints the answer.
pub(crate) fn run(arguments: &WhyArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let WhyArguments { object, output, source } = arguments;
    let subject = subject(object)?;
    let (pool, namespace) = (source.read(&KINDS)?, source.namespace());
    let subject = meant(&subject, &namespace, pool.names(subject.kind));
    let key = ObjectKey::new(&namespace, &subject.name);
    let mut case = Case::next(&pool, source.time());
    let offer = match subject.kind {
        Kind::Machine => Some(OfferKind::Machine),
        Kind::License => Some(OfferKind::License),
        _ => None,
    };
    let answered = match offer {
        Some(kind) => offer_answer(&case, kind, &key).map(|answer| output.print(out, &offer_text(&answer), &answer)),
        None => job_answer(&mut case, &key).map(|answer| output.print(out, &job_text(&answer), &answer)),
    };
    match answered {
        Some(printed) => printed?,
        None => return Err(not_there(&pool, &subject, &namespace)),
    }
    Ok(output::remarks_on(&pool, |warning| {
        warning.to_lowercase().contains(&format!("{} {key}:", subject.kind.word()))
    })?)
}

/// What is said of an object that is not there: that there is an offer of that name, if so.
fn not_there(pool: &Pool, subject: &Subject, namespace: &str) -> anyhow::Error {
    let error = no_such(subject, namespace, pool.names(subject.kind));
    let has = |kind: &Kind| pool.names(*kind).any(|name| name == (namespace, subject.name.as_str()));
    match [Kind::Machine, Kind::License].iter().find(|kind| **kind != subject.kind && has(kind)) {
        Some(kind) => anyhow!("{error}; there is a {0} of that name, write {0}/{1}", kind.word(), subject.name),
        None => error,
    }
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

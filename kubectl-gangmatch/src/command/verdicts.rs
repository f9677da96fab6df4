//! `match --summary`: jobs and summaries of pools into what each summary says of each job.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use matchmaker::{Ports, Snapshot};
use pool::verdict;
use serde_json::{Value, json};
use summary::{Summary, Verdict};

use crate::table::table;

/// The largest summary that is read, in bytes: far more than one that is published.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What one summary says of one job.
pub(crate) struct Answer {
    job: String,
    file: String,
    verdict: &'static str,
    port: Option<String>,
    conjunct: Option<String>,
}

/// The summaries in these files, as `summary -o json` or `-o yaml` prints them.
///
/// # Errors
/// One of them cannot be read, or is no summary: of such a pool nothing is known.
pub(crate) fn read(files: &[PathBuf]) -> anyhow::Result<Vec<(String, Summary)>> {
    let one = |file: &PathBuf| Ok((file.display().to_string(), read_one(file)?));
    files.iter().map(one).collect()
}

fn read_one(file: &Path) -> anyhow::Result<Summary> {
    let name = file.display();
    let meta = std::fs::metadata(file).with_context(|| format!("cannot read {name}"))?;
    if meta.len() > FILE_BYTES_MAX {
        bail!("{name} is larger than {} KiB, so it is no summary", FILE_BYTES_MAX / 1024);
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    serde_saphyr::from_str(&text)
        .map_err(|error| anyhow::anyhow!("{}", error.to_string().lines().next().unwrap_or("").to_owned()))
        .with_context(|| format!("{name} is no summary; write one with `kubectl gangmatch summary -o json`"))
}

/// What each summary says of each job of a pool.
pub(crate) fn answers(pool: &Snapshot, summaries: &[(String, Summary)]) -> Vec<Answer> {
    let jobs = pool.ads().filter(|(_, ad)| ad.offer().is_none());
    let answers = |(_, ad)| {
        let of = move |(file, summary): &(String, Summary)| answer(ad, file, verdict(&ad.ports, summary));
        summaries.iter().map(of).collect::<Vec<Answer>>()
    };
    jobs.flat_map(answers).collect()
}

fn answer(ad: &matchmaker::PoolAd, file: &str, verdict: Verdict) -> Answer {
    let label = |ports: &Ports, port: usize| ports.list.get(port).map(|port| port.label.to_string());
    let (verdict, port, conjunct) = match verdict {
        Verdict::Cannot { port, conjunct } => ("Cannot", label(&ad.ports, port), conjunct),
        Verdict::Full { port } => ("Full", label(&ad.ports, port), None),
        Verdict::Now => ("Now", None, None),
    };
    let job = format!("{}/{}", ad.key.namespace, ad.key.name);
    Answer { job, file: file.to_owned(), verdict, port, conjunct }
}

/// The answers as a table.
pub(crate) fn print(out: &mut impl Write, answers: &[Answer]) -> std::io::Result<()> {
    let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let row = |one: &Answer| {
        vec![one.job.clone(), one.file.clone(), one.verdict.to_owned(), cell(&one.port), cell(&one.conjunct)]
    };
    let rows: Vec<Vec<String>> = answers.iter().map(row).collect();
    write!(out, "{}", table(&["JOB", "SUMMARY", "VERDICT", "PORT", "CONJUNCT"], &rows, 0))
}

/// The answers as a list of maps.
pub(crate) fn list(answers: &[Answer]) -> Value {
    let item = |one: &Answer| {
        let always = [("job", one.job.as_str()), ("summary", &one.file), ("verdict", one.verdict)];
        let sometimes = [("port", &one.port), ("conjunct", &one.conjunct)];
        let sometimes = sometimes.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)));
        always.into_iter().chain(sometimes).map(|(name, text)| (name.to_owned(), json!(text))).collect::<Value>()
    };
    json!({"items": answers.iter().map(item).collect::<Vec<Value>>()})
}

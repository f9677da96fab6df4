//! `match --summary`: jobs and summaries of pools into what each summary says of each job.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use matchmaker::{PoolAd, Ports, Snapshot};
use pool::verdict;
use serde::Serialize;
use serde_json::{Value, json};
use summary::{Limits, Summary, Verdict};

use crate::table::table;

/// The largest summary that is read, in bytes: far more than one that is published.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What one summary says of one job.
#[derive(Serialize)]
pub(crate) struct Answer {
    job: String,
    #[serde(rename = "summary")]
    file: String,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conjunct: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// A file that was given as a summary: the summary, or why there is none.
pub(crate) struct Given {
    file: String,
    summary: Result<Summary, String>,
}

impl Given {
    /// What is in a file, as `summary -o json` or `-o yaml` prints it.
    pub(crate) fn read(file: &Path) -> Given {
        let summary = read(file).map_err(|error| format!("{error:#}"));
        Given { file: file.display().to_string(), summary }
    }

    /// Why there is no summary, with the name of the file.
    pub(crate) fn problem(&self) -> Option<String> {
        self.summary.as_ref().err().map(|problem| format!("{}: {problem}", self.file))
    }
}

fn read(file: &Path) -> anyhow::Result<Summary> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    let bytes = read.context("cannot be read")?;
    if u64::try_from(bytes).is_ok_and(|bytes| bytes > FILE_BYTES_MAX) {
        bail!("larger than {} KiB, so it is no summary", FILE_BYTES_MAX / 1024);
    }
    let refused = |why: String| anyhow!("no summary, as `kubectl gangmatch summary -o json` writes it: {why}");
    let first_line = |text: String| text.lines().next().unwrap_or("").trim_start_matches("error: ").to_owned();
    let summary: Summary = serde_saphyr::from_str(&text).map_err(|error| refused(first_line(error.to_string())))?;
    summary.check(&Limits::default()).map_err(|problem| refused(problem.to_string()))?;
    Ok(summary)
}

/// What each summary says of each job of a pool. Of a pool whose summary cannot be read nothing is known.
pub(crate) fn answers(pool: &Snapshot, given: &[Given]) -> Vec<Answer> {
    let jobs = pool.ads().filter(|(_, ad)| ad.offer().is_none());
    let answers = |(_, ad)| given.iter().map(move |given| answer(ad, given)).collect::<Vec<Answer>>();
    jobs.flat_map(answers).collect()
}

fn answer(ad: &PoolAd, given: &Given) -> Answer {
    let label = |ports: &Ports, port: usize| ports.list.get(port).map(|port| port.label.to_string());
    let mut answer = Answer {
        job: format!("{}/{}", ad.key.namespace, ad.key.name),
        file: given.file.clone(),
        verdict: "Unreadable",
        port: None,
        conjunct: None,
        problem: None,
    };
    match given.summary.as_ref().map(|summary| verdict(&ad.ports, summary)) {
        Ok(Verdict::Cannot { port, conjunct }) => {
            (answer.verdict, answer.port, answer.conjunct) = ("Cannot", label(&ad.ports, port), conjunct);
        }
        Ok(Verdict::Full { port }) => (answer.verdict, answer.port) = ("Full", label(&ad.ports, port)),
        Ok(Verdict::Now) => answer.verdict = "Now",
        Err(problem) => answer.problem = Some(problem.clone()),
    }
    answer
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
    json!({"items": answers})
}

//! `import`: submit files and dumps of `condor_status -long` into manifests.

mod machines;
mod names;
mod scope;
mod submit;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;

use crate::texts::{self, Text};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
A file with a line `queue` is a submit file; anything else is taken for ads, as `condor_status -long` prints them.
What cannot be taken over is said on standard error, with the line.

  submit file                       becomes
  queue N                           N Jobs
  requirements, rank                constraint and rank of the port `machine`: names that the job does not have are the machine's
  request_cpus, request_memory      the request of that port
  concurrency_limits = vcs:2        a port `vcs` for a License with App == \"vcs\", 2 seats of it
  +Attribute, My.Attribute          an attribute
  executable, arguments, environment, container_image, docker_image
                                    a workload, if there is an image: one of these two, or --image

  ad of a machine                   becomes
  Cpus, Memory of the whole slot    the capacity
  Requirements, Rank                constraint and rank: names that the machine does not have are the job's
  what is of the moment             nothing: addresses, counters, times of the last update

Examples:
  condor_status -long | kubectl gangmatch import - > machines.yaml
  kubectl gangmatch import --image example.org/sim:1 sim.sub > jobs.yaml

Exit status:
  0  everything was taken over, or said to be left out
  1  a file cannot be read as either; nothing is printed then
  2  a wrong option, no such file";

/// What to import.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The image in which the executables of submit files run; without it, and if the file names none, Jobs have no workload.
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Say nothing of what is left out.
    #[arg(long)]
    quiet: bool,

    /// Submit files, and files with ads; - for standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// What was read of a file: manifests, and what was left out.
#[derive(Debug, Default)]
struct Imported {
    manifests: Vec<Value>,
    notes: Vec<String>,
}

/// Prints the manifests of all files, or what is wrong with them.
pub(crate) fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut err = std::io::stderr();
    let (mut all, mut fine) = (Vec::new(), true);
    for file in &arguments.files {
        let Text { name, text } = match texts::read(file)? {
            Ok(read) => read,
            Err(problem) => {
                writeln!(err, "error: {problem}")?;
                fine = false;
                continue;
            }
        };
        let imported = match submit::is_submit_file(&text) {
            true => submit::jobs(&name, &text, arguments.image.as_deref()),
            false => machines::machines(&name, &text),
        };
        match imported {
            Ok(imported) => {
                let mut notes = imported.notes.iter().filter(|_| !arguments.quiet);
                notes.try_for_each(|note| writeln!(err, "note: {note}"))?;
                all.extend(imported.manifests);
            }
            Err(problem) => {
                writeln!(err, "error: {problem}")?;
                fine = false;
            }
        }
    }
    if !fine {
        return Ok(ExitCode::FAILURE);
    }
    for (number, manifest) in all.iter().enumerate() {
        if number > 0 {
            writeln!(out, "---")?;
        }
        writeln!(out, "{}", serde_saphyr::to_string(manifest)?.trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

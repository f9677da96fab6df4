//! `import`: submit files and dumps of `condor_status -long` into manifests.

mod amount;
mod commands;
mod conditionals;
mod job_names;
mod machines;
mod macros;
mod names;
pub(crate) mod queue;
mod rank;
mod scope;
mod submit;
mod words;

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use serde_json::Value;

use crate::text_kind::TextKind;
use crate::texts::{self, Text, TextOptions};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
A file with a line `queue` is a submit file. Any other file must contain ads, as `condor_status -long` prints them.
Parts that cannot be converted are reported on standard error, with their lines.

  submit file                       becomes
  queue N, queue X in (...), queue X, Y from (...)
                                    Jobs; $(X) and $(Process) are replaced by their values, $(Cluster) by the name of the file
  requirements, rank                constraint and rank of the port `machine`; names that the file does not define, and that not every
                                    job of HTCondor has, refer to the machine. An attribute of the file that reads the machine is replaced
                                    by its expression, and a rank that is true or false by `(RANK) ? 1 : 0`
  request_cpus, request_memory, request_gpus
                                    the request of that port, and attributes such as RequestMemory, which policies of machines read
  request_disk                      the condition machine.Disk >= RequestDisk, both in KiB
  concurrency_limits = vcs:2        a port `vcs` for 2 seats of a License with App == \"vcs\"
  +Attribute, My.Attribute          an attribute
  executable, arguments, environment, container_image, docker_image
                                    a workload, if an image is given by one of the last two or by --image; else the attributes Cmd and Args,
                                    or Arguments if they are in double quotes
  if, elif, else, endif             the lines whose conditions are true; of `version`, the newest
  max_retries, periodic_remove and the like
                                    nothing; a note says what to write

  ad of a machine                   becomes
  Cpus, Memory, GPUs of the whole slot
                                    the capacity
  LoadAvg, KeyboardIdle and the like
                                    dynamicAttributes, which an agent has to publish: their values are those of the moment
  Requirements, Rank                constraint and rank, as for submit files; names that the machine does not define refer to the job.
                                    Without Requirements, START is the constraint. If it is never true, stopPolicy is Hold instead
  Name                              the name of the host, as Machine
  Cpus, Memory, Disk of a partitionable slot
                                    those of the whole slot
  State, Activity                   \"Unclaimed\" and \"Idle\", if the constraint or rank reads them
  SUSPEND, PREEMPT and the like     nothing
  addresses, counters, times        nothing

Examples:
  condor_status -long | kubectl gangmatch import - > machines.yaml
  kubectl gangmatch import --image example.org/sim:1 sim.sub > jobs.yaml

Exit status:
  0  every part was converted, or reported as left out
  1  a file is neither a submit file nor contains ads, uses a variable that has no value, or lists jobs in a way that is not supported;
     the others were converted
  2  an option is wrong, or a file does not exist";

/// What to import.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArguments {
    /// The image for the executables of submit files. Without it, a Job has a workload only if its submit file names an image.
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Do not report what is left out.
    #[arg(long)]
    quiet: bool,

    #[command(flatten)]
    texts: TextOptions,
}

/// What was read of a file: manifests, and what was left out.
#[derive(Debug, Default)]
struct Imported {
    manifests: Vec<Value>,
    notes: Vec<String>,
}

/// Prints the manifests of all files, or what is wrong with them.
pub(crate) fn run(arguments: &ImportArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut err = std::io::stderr();
    let (mut all, mut fine) = (Vec::new(), true);
    let files = arguments.texts.files();
    if files.is_empty() {
        bail!("no file is named; write submit files or files with ads, or - for standard input");
    }
    for file in &files {
        let Some(Text { name, text }) = texts::read_or_report(file)? else {
            fine = false;
            continue;
        };
        let imported = match TextKind::of(&text) {
            Some(TextKind::SubmitFile) => submit::jobs(&name, &text, arguments.image.as_deref()),
            Some(TextKind::Manifest) => Err(format!("{name}: {}", TextKind::MANIFEST)),
            Some(TextKind::Dump) | None => machines::machines(&name, &text),
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
    for (number, manifest) in all.iter().enumerate() {
        if number > 0 {
            writeln!(out, "---")?;
        }
        writeln!(out, "{}", serde_saphyr::to_string(manifest)?.trim_end())?;
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! `snapshot save`: the objects of a cluster as one file.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::why::KINDS;
use crate::cluster::ClusterSource;
use crate::output;
use crate::snapshot;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
The file has the jobs, machines, licenses and Matches that you may list, and the labels of namespaces. It has everything that is in
these objects, private attributes included: give it only to people who may read them, too.

  kubectl gangmatch snapshot save pool.json
  kubectl gangmatch match --snapshot pool.json

Exit status:
  0  the file was written
  1  some objects could not be read; the others were written
  2  an option is wrong, the file cannot be written, or the cluster cannot be read";

/// What to do with a snapshot.
#[derive(Debug, clap::Args)]
pub(crate) struct SnapshotArguments {
    #[command(subcommand)]
    verb: SnapshotVerb,
}

#[derive(Debug, clap::Subcommand)]
enum SnapshotVerb {
    /// Write the objects of the cluster to a file.
    #[command(after_help = AFTER_HELP)]
    Save(SaveArguments),
}

/// What to read, and where to write it.
#[derive(Debug, clap::Args)]
struct SaveArguments {
    /// The file; - means standard output.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    source: ClusterSource,
}

/// Writes the snapshot.
pub(crate) fn run(arguments: &SnapshotArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let SnapshotVerb::Save(SaveArguments { file, source }) = &arguments.verb;
    let pool = source.read(&KINDS)?;
    let text = snapshot::text(&pool, source.time())?;
    match file.as_os_str() == "-" {
        true => write!(out, "{text}")?,
        false => std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?,
    }
    Ok(output::remarks(&pool)?)
}

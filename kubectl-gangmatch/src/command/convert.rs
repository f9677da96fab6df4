//! `convert`: ads in any form into the same ads in another.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use classad::{Ad, Dialect, Form, Severity, has_comments, read_ads, render, write_ads};

use crate::command::eval::colour;
use crate::text_kind::TextKind;
use crate::texts::{self, Text, TextOptions};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Without a file, standard input is read. The beginning of the input decides its form: `[ Name` and `{ [` mean brackets, `{ \"` and `[ {` mean JSON, and anything
else means the long form. Ads keep their number and order. Comments are lost, which is reported on standard error.

Examples:
  condor_status -long | kubectl gangmatch convert --to classad
  kubectl gangmatch convert --to json machine.ad

Exit status:
  0  all ads were converted
  1  a text cannot be parsed, has no ad, or cannot be written in that form; nothing is printed
  2  an option is wrong, or a file does not exist";

/// What to convert, and into what.
#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArguments {
    /// The form of the output.
    #[arg(long, value_enum, value_name = "FORM")]
    to: Target,

    #[command(flatten)]
    texts: TextOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    /// A JSON object; for several ads, a list of objects.
    Json,
    /// One attribute on each line, and an empty line between ads.
    Long,
    /// In brackets, formatted as by `fmt`.
    Classad,
}

/// Prints all ads of all files, or what is wrong with them.
pub(crate) fn run(arguments: &ConvertArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut ads = Vec::new();
    let mut fine = true;
    for file in arguments.texts.or_stdin() {
        match one(&file)? {
            Some(found) => ads.extend(found),
            None => fine = false,
        }
    }
    if !fine {
        return Ok(ExitCode::FAILURE);
    }
    let form = match arguments.to {
        Target::Json => Form::Json,
        Target::Long => Form::Long,
        Target::Classad => Form::Brackets,
    };
    let plain: Vec<Ad> = ads.iter().map(|(_, ad)| ad.clone()).collect();
    match write_ads(&plain, form) {
        Ok(text) => write!(out, "{text}")?,
        Err(stop) => {
            let place = ads.get(stop.ad).map_or("", |(place, _)| place);
            writeln!(std::io::stderr(), "error: {place}: {stop}; write --to classad or --to json")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The ads of a file, each with the file's name; none if they cannot be read, which has been said.
fn one(file: &Path) -> anyhow::Result<Option<Vec<(String, Ad)>>> {
    let Some(Text { name, text }) = texts::read_or_report(file)? else { return Ok(None) };
    let reading = read_ads(&text, Dialect::Gangmatch);
    if reading.read.is_none()
        && let Some(instead) = TextKind::of(&text).and_then(TextKind::instead_of_ad)
    {
        texts::report(&format!("{name}: {instead}"));
        return Ok(None);
    }
    write!(std::io::stderr(), "{}", render(&reading.diagnostics, &text, &name, colour()))?;
    let Some(ads) = reading.read else { return Ok(None) };
    if ads.is_empty() {
        writeln!(std::io::stderr(), "error: {name}: the file has no ad")?;
        return Ok(None);
    }
    debug_assert!(reading.diagnostics.iter().all(|one| one.severity == Severity::Warning), "errors leave no ads");
    if has_comments(&text) {
        writeln!(std::io::stderr(), "note: {name}: comments are not kept")?;
    }
    Ok(Some(ads.into_iter().map(|ad| (name.clone(), ad)).collect()))
}

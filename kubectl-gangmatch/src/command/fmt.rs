//! `fmt`: ClassAd text into the same text laid out for people.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use classad::{Dialect, format, render};

use crate::command::eval::colour;
use crate::text_kind::TextKind;
use crate::texts::{self, Text, TextOptions};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
A file has an ad in any form, or an expression; without a file, standard input is read. Comments are kept. Formatting a formatted text changes nothing.

Exit status:
  0  all texts were formatted; with --check: no text would change
  1  a text cannot be parsed; with --check: a text would change
  2  an option is wrong, or a file does not exist";

/// What to lay out, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct FmtArguments {
    #[command(flatten)]
    texts: TextOptions,

    /// Change the files instead of printing the formatted text.
    #[arg(short, long, conflicts_with = "check")]
    write: bool,

    /// Print only the names of files that would change.
    #[arg(long)]
    check: bool,
}

/// Prints the texts laid out, one after the other.
pub(crate) fn run(arguments: &FmtArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut fine = true;
    for file in arguments.texts.or_stdin() {
        fine &= one(arguments, &file, out)?;
    }
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn one(arguments: &FmtArguments, file: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let input = file.as_os_str() == "-";
    let Some(Text { name, text }) = texts::read_or_report(file)? else { return Ok(false) };
    let laid_out = match format(&text, Dialect::Gangmatch) {
        Ok(laid_out) => laid_out,
        Err(wrong) => {
            if let Some(instead) = TextKind::of(&text).and_then(TextKind::instead_of_ad) {
                texts::report(&format!("{name}: {instead}"));
                return Ok(false);
            }
            write!(std::io::stderr(), "{}", render(&wrong.into_vec(), &text, &name, colour()))?;
            return Ok(false);
        }
    };
    if arguments.check {
        if laid_out != text {
            writeln!(out, "{name}")?;
        }
        return Ok(laid_out == text);
    }
    if arguments.write && !input {
        if laid_out != text {
            fs::write(file, laid_out).with_context(|| format!("cannot write {}", file.display()))?;
        }
    } else {
        write!(out, "{laid_out}")?;
    }
    Ok(true)
}

//! `eval`: an expression and the ads around it into its value.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use classad::{Ad, Colour, Context, Dialect, Env, Form, Output, Reading, eval, read_ad, read_expr, render};

use crate::texts::{self, Text};

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Examples:
  kubectl gangmatch eval '28Mi / 1024'
  kubectl gangmatch eval 'other.Memory >= Size' --ad job.ad --target machine.ad

Exit status:
  0  the expression has a value, which may be undefined or error
  1  the expression or an ad cannot be parsed, or the evaluation exceeds a limit
  2  an option is wrong, or a file does not exist";

/// What to evaluate, and among which ads.
#[derive(Debug, clap::Args)]
pub(crate) struct EvalArguments {
    /// The expression; - means standard input.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    expr: String,

    /// A file with the ad in which the expression is evaluated, in any form: brackets, long form or JSON.
    #[arg(long, visible_alias = "my", value_name = "FILE")]
    ad: Option<PathBuf>,

    /// A file with the ad of the partner, to which `other` and `TARGET` refer.
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,

    /// The value of `time()`, RFC 3339. Default: the current time.
    #[arg(long, value_name = "TIME")]
    now: Option<jiff::Timestamp>,

    /// The form of the value: as in the language, or HTCondor's JSON.
    #[arg(short, long, value_enum, default_value_t = TextOrJson::Text)]
    output: TextOrJson,
}

/// The form of a value.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TextOrJson {
    Text,
    Json,
}

/// Prints the value. Warnings on the expression go to standard error.
pub(crate) fn run(arguments: &EvalArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let text = match arguments.expr.as_str() {
        "-" => match texts::read_or_report(Path::new("-"))? {
            Some(read) => read.text,
            None => return Ok(ExitCode::FAILURE),
        },
        text => text.to_owned(),
    };
    let own = read_file(arguments.ad.as_deref())?;
    let target = read_file(arguments.target.as_deref())?;
    let Some(expr) = told(read_expr(&text, Dialect::Gangmatch), &text, "expression")? else {
        return Ok(ExitCode::FAILURE);
    };
    let (Some(own), Some(target)) = (own, target) else { return Ok(ExitCode::FAILURE) };
    let mut env = Env::new();
    let frame = env.frame(&own, None);
    if arguments.target.is_some() {
        let other = env.frame(&target, None);
        env.partner(frame, other);
        env.partner(other, frame);
    }
    let now = arguments.now.unwrap_or_else(jiff::Timestamp::now).as_second();
    match eval(&expr, &env, frame, &Context { now, ..Context::default() }) {
        Ok(value) => match arguments.output {
            TextOrJson::Text => writeln!(out, "{value}")?,
            TextOrJson::Json => {
                let ad: Ad = [("value".into(), classad::Expr::literal(value))].into_iter().collect();
                writeln!(out, "{}", ad.to_json())?;
            }
        },
        Err(stop) => {
            let place = stop.span.position(&text);
            writeln!(std::io::stderr(), "error: line {}, column {}: {stop}", place.line, place.column)?;
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The ad of a file; an empty one without a file, none if it cannot be understood.
fn read_file(path: Option<&Path>) -> anyhow::Result<Option<Ad>> {
    let Some(path) = path else { return Ok(Some(Ad::new())) };
    match texts::read_or_report(path)? {
        Some(Text { name, text }) => told(read_ad(&text, Dialect::Gangmatch, Form::Any), &text, &name),
        None => Ok(None),
    }
}

/// What was read, after its remarks have gone to standard error.
fn told<T>(reading: Reading<T>, source: &str, name: &str) -> anyhow::Result<Option<T>> {
    write!(std::io::stderr(), "{}", render(&reading.diagnostics, source, name, colour()))?;
    Ok(reading.read)
}

/// Colours for what goes to standard error.
pub(crate) fn colour() -> Colour {
    let output = if std::io::stderr().is_terminal() { Output::Terminal } else { Output::File };
    Colour::wanted(std::env::var_os("NO_COLOR").as_deref(), output)
}

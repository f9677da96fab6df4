//! Turns the arguments of the workload generator into files of ads, and a file into the figures of the bench program.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use e2e::repository;
use serde_json::Value;

/// The generator is no part of this repository; it stands beside it.
const GENERATOR: &str = "../shared/bench/gen.py";

/// The file that the generator writes for these arguments; written once, then kept.
pub(super) fn file(arguments: &str) -> Result<PathBuf> {
    let folder = repository::root().join("target/bench");
    let file = folder.join(format!("{}.jsonl", arguments.replace("--", "").replace(' ', "")));
    if file.exists() {
        return Ok(file);
    }
    std::fs::create_dir_all(&folder)?;
    let generator = repository::root().join(GENERATOR);
    if !generator.exists() {
        bail!("there is no {}, which makes the workloads", generator.display());
    }
    let unfinished = file.with_extension("unfinished");
    let mut command = Command::new("python3");
    command.arg(generator).args(arguments.split(' ')).arg("--out").arg(&unfinished);
    if !command.env("PYTHONDONTWRITEBYTECODE", "1").status().context("python3 does not start")?.success() {
        bail!("gen.py {arguments} failed");
    }
    std::fs::rename(unfinished, &file)?;
    Ok(file)
}

/// What the bench program prints about the workload of these arguments.
pub(super) fn measured(arguments: &str, options: &[&str]) -> Result<Value> {
    let file = file(arguments)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--release", "--package", "matchmaker", "--example", "bench", "--"]);
    command.arg(file).args(options).current_dir(repository::root()).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("the bench program failed on {arguments}");
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A number of a measured line; NaN where there is none.
pub(super) fn number(line: &Value, name: &str) -> f64 {
    line.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

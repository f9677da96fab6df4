//! Turns the arguments of the workload generator into files of ads, and a file into the figures of the bench program.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testbed::repository;

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

/// An example program of the engine, built for speed.
pub(super) struct Program(PathBuf);

impl Program {
    pub(super) fn build(example: &str) -> Result<Program> {
        let mut command = repository::cargo();
        command.args(["build", "--quiet", "--release", "--package", "baselines", "--example", example]);
        command.arg("--message-format=json-render-diagnostics");
        let output = command.stderr(Stdio::inherit()).output().context("cargo does not start")?;
        let lines = output.stdout.split(|byte| *byte == b'\n');
        let built = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let found = built.filter_map(|line| Some(PathBuf::from(line.get("executable")?.as_str()?))).next_back();
        found.map(Program).with_context(|| format!("`cargo build --example {example}` failed"))
    }

    /// What the program prints about the workload of these arguments.
    pub(super) fn measured(&self, arguments: &str, options: &[&str]) -> Result<Value> {
        let file = file(arguments)?;
        let lines = self.lines(&[&[&*file.to_string_lossy()], options].concat())?;
        lines.into_iter().next().with_context(|| format!("nothing was printed about {arguments}"))
    }

    /// What the program prints.
    pub(super) fn lines(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        let mut command = Command::new(&self.0);
        let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("{} {} failed", self.0.display(), arguments.join(" "));
        }
        let text = String::from_utf8(output.stdout)?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}

/// A number of a measured line; NaN where there is none.
pub(super) fn number(line: &Value, name: &str) -> f64 {
    line.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

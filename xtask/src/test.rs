//! Turns `cargo test` into a stream of its output, and one closing line that counts all of it.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::num::NonZero;
use std::process::{ExitCode, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use testbed::repository;

use crate::output::{line, noisy_step};
use crate::plane;

/// Tests that start control planes of their own run side by side, at half a gigabyte each.
const THREADS_MAX: usize = 4;

/// The environment of a thorough run: every fault at every write, longer random histories, more random pools, objects and edits. Where a test reads one of these variables, a comment says what it does without it.
const THOROUGH: [(&str, &str); 12] = [
    ("EDITS", "500"),
    ("GANGMATCH_CASES", "all"),
    ("GANGMATCH_FAIRNESS", "all"),
    ("GANGMATCH_FAULTS", "all"),
    ("GANGMATCH_HISTORIES", "1000"),
    ("GANGMATCH_PLAYS", "all"),
    ("GANGMATCH_SET", "32"),
    ("GANGMATCH_SIMULATED", "100000"),
    ("GANGMATCH_TAKEOVER", "2000"),
    ("OLDEST_KUBERNETES", "1"),
    ("REGRESSION", "200"),
    ("ROUND_TRIPS", "500"),
];

/// How much is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of the workspace; builds the control plane if need be.
    Everything,
    /// The same, with the product on the cluster that this variable of the environment names.
    On(&'static str, OsString),
    /// All but what needs a control plane.
    WithoutControlPlane,
}

/// The sum of all `test result:` lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

/// Runs the tests; the exit code says whether all passed.
pub(crate) fn run(scope: &Scope, is_thorough: bool) -> Result<ExitCode> {
    let mut tally = Tally::default();
    let everything = (|| {
        if *scope != Scope::WithoutControlPlane {
            plane::build()?;
        }
        let duration = if is_thorough { "hours" } else { "about 30 minutes on 2 cores" };
        let variables: &[_] = if is_thorough { &THOROUGH } else { &[] };
        noisy_step("cargo test", duration, || cargo_test(scope, variables, &mut tally))
    })();
    let succeeded = *everything.as_ref().unwrap_or(&false);
    // A test program that does not compile, or dies, has no line of its own.
    if !succeeded && tally.failed == 0 {
        tally.failed = 1;
    }
    if let Err(error) = everything {
        line(format_args!("{error:#}"));
    }
    line(format_args!("{} passed, {} failed", tally.passed, tally.failed));
    Ok(if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cargo_test(scope: &Scope, variables: &[(&str, &str)], tally: &mut Tally) -> Result<bool> {
    let mut command = repository::cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]).envs(variables.iter().copied());
    match scope {
        Scope::Everything => {}
        Scope::On(variable, value) => drop(command.env(variable, value)),
        Scope::WithoutControlPlane => {
            command.args(["--exclude", "e2e", "--exclude", "stress-tests", "--exclude", "apiserver-tests"]);
        }
    }
    let threads = available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    command.env("RUST_TEST_THREADS", threads.to_string());
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().context("cargo has no stdout")?;
    for text in BufReader::new(stdout).split(b'\n') {
        let text = text?;
        let text = String::from_utf8_lossy(&text);
        line(&text);
        if let Some(result) = result_of(&text) {
            tally.passed += result.passed;
            tally.failed += result.failed;
        }
    }
    Ok(child.wait()?.success())
}

/// What one line of the test harness adds: `test result: ok. 3 passed; 0 failed; 0 ignored; ...`.
fn result_of(text: &str) -> Option<Tally> {
    let counts = text.trim().strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |word: &str| {
        counts.split(';').find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok()).unwrap_or_default()
    };
    Some(Tally { passed: count("passed"), failed: count("failed") })
}

#[cfg(test)]
mod tests {
    use super::{Tally, result_of};

    #[test]
    fn the_harness_lines_are_counted_and_nothing_else_is() {
        let ok = "test result: ok. 10 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s";
        assert_eq!(result_of(ok), Some(Tally { passed: 10, failed: 0 }));
        let failed = "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.5s";
        assert_eq!(result_of(failed), Some(Tally { passed: 1, failed: 3 }));
        assert_eq!(result_of("test result_of ... ok"), None);
    }
}

//! Turns steps into lines on stdout: what is done, and how long it took.

use std::io::Write as _;
use std::time::Instant;

use anyhow::Result;

/// Prints one line. A reader who has gone away is no reason to stop.
pub(crate) fn line(text: impl std::fmt::Display) {
    print(format_args!("{text}\n"));
}

/// Does a step that prints nothing by itself: one line, completed when the step is done.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    print(format_args!("{what} ... "));
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f32();
    line(format_args!("{}{seconds:.1} s", if result.is_ok() { "" } else { "failed after " }));
    result
}

/// Does a step that prints by itself: a line before, with what the first time costs, and a line after.
pub(crate) fn noisy_step<T>(what: &str, first_time: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    line(format_args!("{what} (the first time: {first_time})"));
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f32();
    line(format_args!("{what}: {}{seconds:.1} s", if result.is_ok() { "" } else { "failed after " }));
    result
}

fn print(text: std::fmt::Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_fmt(text).and_then(|()| stdout.flush()).ok();
}

//! Conformance requests, one JSON object a line on standard input, into answers on standard output.
//!
//! `cargo xtask conformance` builds this program and prints its path.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str::<Value>(&line?) {
            Ok(request) => conformance::answer(&request),
            Err(error) => json!({ "unsupported": error.to_string() }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

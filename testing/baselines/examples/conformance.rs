//! Conformance requests, one JSON object a line on standard input, into answers on standard output.
//!
//! Expressions, parsing and bilateral matches are the language's to answer; gangs are answered here, by the plain search
//! under the rules of the paper.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

#[path = "conformance/answers.rs"]
mod answers;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str::<Value>(&line?) {
            Ok(request) if request.get("op").is_some_and(|op| op == "gang") => answers::gangs(&request),
            Ok(request) => classad::protocol::answer(&request),
            Err(error) => json!({"unsupported": error.to_string()}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

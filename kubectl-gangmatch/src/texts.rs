//! Files and standard input into ClassAd text, or the reason why they have none.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::screen::shown;

/// The largest text that is read, in bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A text and what to call it in messages.
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Files, as arguments or with -f.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct TextOptions {
    /// Files with ads or expressions; - means standard input.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The same as FILE. Can be repeated.
    #[arg(short, long = "filename", value_name = "FILE")]
    filename: Vec<PathBuf>,
}

impl TextOptions {
    /// All of them.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.filename).cloned().collect()
    }

    /// All of them; standard input, if there are none.
    pub(crate) fn or_stdin(&self) -> Vec<PathBuf> {
        let files = self.files();
        if files.is_empty() { vec![PathBuf::from("-")] } else { files }
    }
}

/// The text of a file, as [`read`] gives it. If it has none, standard error says why.
///
/// # Errors
/// The file cannot be opened or read.
pub(crate) fn read_or_report(file: &Path) -> anyhow::Result<Option<Text>> {
    Ok(read(file)?.map_err(|problem| report(&problem)).ok())
}

/// Writes an error to standard error.
pub(crate) fn report(problem: &str) {
    // Nothing is left to be told if standard error is closed.
    let _ = writeln!(std::io::stderr(), "error: {}", shown(problem));
}

/// The text of a file; of standard input if it is called `-`. A mark at the beginning that some editors write is left out.
///
/// # Errors
/// The file cannot be opened or read. What it holds may be no text all the same, which the inner result says.
pub(crate) fn read(file: &Path) -> anyhow::Result<Result<Text, String>> {
    let mut bytes = Vec::new();
    let (name, read) = if file.as_os_str() == "-" {
        ("standard input".to_owned(), std::io::stdin().take(BYTES_MAX + 1).read_to_end(&mut bytes))
    } else {
        let open = std::fs::File::open(file).and_then(|open| open.take(BYTES_MAX + 1).read_to_end(&mut bytes));
        (file.display().to_string(), open)
    };
    read.with_context(|| format!("cannot read {name}"))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > BYTES_MAX {
        return Ok(Err(format!("{name} is larger than {} MiB", BYTES_MAX / 1024 / 1024)));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned);
            Ok(Text { name, text })
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..at).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(format!("{name}:{line}: byte {} of the file is not UTF-8; save it as UTF-8", at + 1))
        }
    })
}

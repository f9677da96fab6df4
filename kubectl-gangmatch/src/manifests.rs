//! Files and folders of YAML into documents, and everything that is wrong with them into messages that say where.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cluster::FileOptions;
use crate::locate;
use crate::text_kind::TextKind;
use crate::yaml::{self, ReadOtherwise};

/// The largest file that is read, in bytes: no API server takes a manifest of more than a few MiB.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One YAML document.
pub(crate) struct Document {
    pub(crate) source: Source,
    pub(crate) value: Value,
    /// What in it is read as something else than it seems; of a List, all of it is with the first item.
    pub(crate) otherwise: Vec<Problem>,
}

/// Where a document stands, and its text, so that a field of it can be pointed at.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: Arc<Path>,
    /// The number of the file among those read.
    order: usize,
    /// The line that its first key stands on, from 1.
    first: usize,
    /// The line that `text` begins on.
    begin: usize,
    text: Arc<str>,
    /// The number of the object among the items of a List, if it is one of them.
    item: Option<usize>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    order: usize,
    line: usize,
    file: Arc<Path>,
}

/// Something wrong, and where. Ordered by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    pub(crate) text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.to_str() {
            Some("-") => write!(out, "<stdin>")?,
            _ => write!(out, "{}", self.file.display())?,
        }
        if self.line > 0 { write!(out, ":{}", self.line) } else { Ok(()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.text)
    }
}

impl Source {
    /// Where the document begins.
    pub(crate) fn start(&self) -> Place {
        let line = match self.item {
            None => self.first,
            Some(_) => locate::field(&self.text, &self.in_list(""), 1).map_or(self.first, |line| self.begin + line),
        };
        Place { order: self.order, line, file: self.file.clone() }
    }

    /// The path of a field of this object in the whole document.
    fn in_list(&self, path: &str) -> String {
        match self.item {
            None => path.to_owned(),
            Some(number) if path.is_empty() => format!("items[{number}]"),
            Some(number) => format!("items[{number}].{path}"),
        }
    }

    /// Where a field stands, such as `spec.ports[0].constraint`; `line` is a line inside its text, from 1. If the field is not
    /// written, where the innermost one around it stands.
    pub(crate) fn field(&self, path: &str, line: usize) -> Place {
        let at = locate::field(&self.text, &self.in_list(path), line).map_or(self.first, |line| self.begin + line);
        Place { line: at, ..self.start() }
    }
}

/// All documents of these files and folders, in the order given; folders by file name, as `kubectl apply` takes them:
/// `.yaml`, `.yml` and `.json`, and with `recursive` the folders below. A text that is no YAML is a problem, not an error.
///
/// # Errors
/// There is no path, one does not exist, or none of them holds a manifest.
pub(crate) fn read(files: &FileOptions) -> anyhow::Result<(Vec<Document>, Vec<Problem>)> {
    let FileOptions { filename: paths, recursive } = files;
    if paths.is_empty() {
        bail!("no file is named; write a file or folder with manifests, or - for standard input");
    }
    let mut listing = FileList { recursive: *recursive, files: Vec::new(), folders_left_out: 0 };
    for path in paths {
        listing.add(path, true)?;
    }
    if listing.files.is_empty() {
        let left_out = listing.folders_left_out > 0;
        let hint = if left_out { ", only folders; use -R to read them" } else { "" };
        bail!("no .yaml, .yml or .json file in {}{hint}", join(paths));
    }
    let (mut documents, mut problems) = (Vec::new(), Vec::new());
    for (order, file) in listing.files.iter().enumerate() {
        let whole = Place { order, line: 0, file: Arc::from(file.as_path()) };
        match text_of(file) {
            Ok(text) => split(&whole, &text, &mut documents, &mut problems),
            Err(problem) => problems.push(Problem { place: whole, text: problem }),
        }
    }
    if documents.is_empty() && problems.is_empty() {
        bail!("no manifest in {}; a manifest begins with apiVersion and kind", join(paths));
    }
    Ok((documents, problems))
}

fn join(paths: &[PathBuf]) -> String {
    let name = |path: &PathBuf| match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    paths.iter().map(name).collect::<Vec<_>>().join(", ")
}

struct FileList {
    recursive: bool,
    files: Vec<PathBuf>,
    folders_left_out: usize,
}

impl FileList {
    fn add(&mut self, path: &Path, named: bool) -> anyhow::Result<()> {
        if path.as_os_str() == "-" {
            self.files.push(path.to_owned());
            return Ok(());
        }
        // A link to nothing counts if it has the name of a manifest: then it is told as a file that cannot be read, beside the others.
        let is_folder = match fs::metadata(path) {
            Ok(meta) => meta.is_dir(),
            Err(_) if !named => false,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        if is_folder {
            if !named && !self.recursive {
                self.folders_left_out += 1;
                return Ok(());
            }
            let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
            let mut entries: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
            entries.sort();
            return entries.iter().try_for_each(|entry| self.add(entry, false));
        }
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if named || ["yaml", "yml", "json"].contains(&extension) {
            self.files.push(path.to_owned());
        }
        Ok(())
    }
}

/// The text of a file, or why it has none.
fn text_of(file: &Path) -> Result<String, String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read = match file.as_os_str() == "-" {
        true => std::io::stdin().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes),
        false => fs::File::open(file).and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|error| format!("cannot be read: {error}"))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        return Err(format!("is larger than {} MiB, the limit for a manifest", FILE_BYTES_MAX / 1024 / 1024));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("is not text: byte {at} is not UTF-8; pass the manifest itself, not an archive")
    })
}

/// The documents of one text, split at `---` lines so that a broken one does not hide the others.
fn split(file: &Place, text: &str, documents: &mut Vec<Document>, problems: &mut Vec<Problem>) {
    let (mut begin, mut part) = (1, String::new());
    let mut parts = Vec::new();
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        match line.strip_prefix("---") {
            Some(rest) if rest.trim_end().is_empty() => {
                parts.push((begin, std::mem::take(&mut part)));
                begin = number + 2;
            }
            // The document begins on this line; blanks keep its columns.
            Some(rest) if rest.starts_with([' ', '\t']) => {
                parts.push((begin, std::mem::replace(&mut part, format!("   {rest}\n"))));
                begin = number + 1;
            }
            _ => {
                part.push_str(line);
                part.push('\n');
            }
        }
    }
    parts.push((begin, part));
    for (begin, part) in parts {
        let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
        if part.lines().all(blank) {
            continue;
        }
        let first = begin + part.lines().take_while(|line| blank(line)).count();
        let text: Arc<str> = Arc::from(part.as_str());
        let source = Source { file: file.file.clone(), order: file.order, first, begin, text, item: None };
        document(source, &part, documents, problems);
    }
}

fn document(source: Source, part: &str, documents: &mut Vec<Document>, problems: &mut Vec<Problem>) {
    let place = source.start();
    let foreign = || TextKind::of(part).and_then(TextKind::instead_of_manifest);
    let told = |all: Vec<ReadOtherwise>| all.into_iter().map(|one| read_otherwise(&source, one)).collect();
    match yaml::read(part) {
        Ok((Value::Object(mut map), otherwise)) if map.get("kind").is_some_and(|kind| kind == "List") => {
            match map.remove("items") {
                Some(Value::Array(items)) => {
                    let mut otherwise: Vec<Problem> = told(otherwise);
                    let item = |(number, value)| {
                        let source = Source { item: Some(number), ..source.clone() };
                        Document { source, value, otherwise: std::mem::take(&mut otherwise) }
                    };
                    documents.extend(items.into_iter().enumerate().map(item));
                }
                _ => problems.push(Problem { place, text: "a List has items; write `items: [...]`".to_owned() }),
            }
        }
        Ok((value @ Value::Object(_), otherwise)) => {
            let otherwise = told(otherwise);
            documents.push(Document { source, value, otherwise });
        }
        Ok(_) | Err(_) if foreign().is_some() => {
            problems.push(Problem { place, text: foreign().unwrap_or_default().to_owned() });
        }
        Ok((other, _)) => {
            let text =
                format!("found {}, which is not an object; a manifest begins with apiVersion and kind", kind(&other));
            problems.push(Problem { place, text });
        }
        Err(error) => {
            let line = error.location().and_then(|at| usize::try_from(at.line()).ok()).unwrap_or(1);
            let column = error.location().map_or(1, |at| at.column());
            let place = Place { line: source.begin + line.saturating_sub(1), ..place };
            let what = yaml_problem(&error.to_string());
            problems.push(Problem { place, text: format!("invalid YAML: column {column}: {what}") });
        }
    }
}

/// That a scalar is read as something else than it seems, and what to write instead.
fn read_otherwise(source: &Source, ReadOtherwise { line, written, read }: ReadOtherwise) -> Problem {
    let place = Place { line: source.begin + line.saturating_sub(1), ..source.start() };
    let text =
        format!("`{written}` is read as `{read}`, here and by kubectl; write `\"{written}\"` if a text is meant");
    Problem { place, text }
}

/// A word for what a value is.
pub(crate) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(flag) => format!("`{flag}`, a boolean"),
        Value::Number(number) if number.is_f64() => format!("{number}, a fraction"),
        Value::Number(number) => format!("{number}, a number"),
        Value::String(text) => {
            let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            format!("the text `{shown}`")
        }
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
    }
}

/// The reader's message without its own place, and what to write instead where that is known.
pub(crate) fn yaml_problem(message: &str) -> String {
    let first = message.lines().next().unwrap_or("");
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let what = match first.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((_, what)) => what,
        None => first,
    };
    if let Some(key) = what.strip_prefix("duplicate mapping key: ") {
        let key = key.split(',').next().unwrap_or(key);
        return format!("`{key}` is written twice; remove one of them");
    }
    let hints = [
        ("mapping values are not allowed", "put a text with `: ` in it between single quotes"),
        ("trailing content after", "put a text with `\"` in it between single quotes"),
        ("scanning a tag", "put a text that begins with `!` between single quotes"),
        ("tab", "indent with spaces, not with tabs"),
        ("block mapping", "keys of one map begin in the same column"),
        ("unknown anchor", "put a text that begins with `*` between quotes"),
        ("multiline quoted", "the closing quote may be missing above"),
    ];
    match hints.iter().find(|(found, _)| what.contains(found)) {
        Some((_, hint)) => format!("{what}; {hint}"),
        None => what.to_owned(),
    }
}

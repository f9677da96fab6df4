//! `lint`: manifests into everything that is wrong or probably not meant, with file and line.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use classad::{
    Ad, Colour, Diagnostic, Dialect, Form, Name, Output, Severity, lint, lint_ad, parse_expr, read_ad, render,
};
use serde_json::{Value, json};

use crate::cluster::ManifestOptions;
use crate::manifests::{self, Problem, Source};
use crate::offline::{Loaded, READER, Stamp, load};
use crate::output::AnswerOptions;
use crate::screen::shown;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
In addition to mistakes that the controller refuses, it finds conditions that are never true, pairs of conditions that
exclude each other, comparisons with undefined, and names that look misspelled. kubectl accepts some of what this refuses:
of a key that is written twice, it takes the last one.

Exit status:
  0  there are no findings
  1  there are findings
  2  an option is wrong, a file does not exist, or there is no manifest";

/// Remarks of the reader, which the objects' own warnings tell already.
const TOLD: [&str; 3] = ["unsupported-regex", "bad-regex", "regex-end"];

/// Names that the system gives to ads, and words of ads as text.
const SYSTEM: [&str; 18] = [
    "Type",
    "MyType",
    "Name",
    "Namespace",
    "Owner",
    "Uid",
    "Labels",
    "Members",
    "Capacity",
    "Free",
    "NodeName",
    "Requirements",
    "Constraint",
    "Rank",
    "Ports",
    "Label",
    "Request",
    "requester",
];

/// What to read and how to print.
#[derive(Debug, clap::Args)]
pub(crate) struct LintArguments {
    #[command(flatten)]
    manifests: ManifestOptions,

    #[command(flatten)]
    output: AnswerOptions,
}

/// The remarks on one field.
struct FieldRemarks {
    place: String,
    object: String,
    field: String,
    source: String,
    remarks: Vec<Diagnostic>,
}

/// Prints all findings.
pub(crate) fn run(arguments: &LintArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let (documents, mut problems) = manifests::read(&arguments.manifests.files())?;
    let read: Vec<(Source, Value)> =
        documents.iter().map(|document| (document.source.clone(), document.value.clone())).collect();
    let Loaded { problems: wrong, warnings, .. } = load(documents, &Stamp { namespace: "default", owner: READER });
    // The findings say the same of a constraint that is never true, and show where.
    problems.extend(wrong.into_iter().filter(|problem| !problem.text.contains("the constraint can never be true: ")));
    problems.sort();
    let mut known: BTreeSet<Name> = SYSTEM.into_iter().map(Name::from).collect();
    for (_, value) in &read {
        learn(value, &mut known);
    }
    let known: Vec<Name> = known.into_iter().collect();
    let findings: Vec<FieldRemarks> = read.iter().flat_map(|(source, value)| object(source, value, &known)).collect();
    match arguments.output.is_text() {
        true => text(out, &problems, &warnings, &findings)?,
        false => arguments.output.print(out, "", &data(&problems, &warnings, &findings))?,
    }
    let nothing = problems.is_empty() && warnings.is_empty() && findings.is_empty();
    Ok(if nothing { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names that a manifest gives: keys of attributes and the like, labels.
fn learn(value: &Value, known: &mut BTreeSet<Name>) {
    let Some(spec) = value.get("spec") else { return };
    let ports = spec.get("ports").and_then(Value::as_array).into_iter().flatten();
    for part in std::iter::once(spec).chain(ports) {
        for field in ["attributes", "expressions"] {
            let names = part.get(field).and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys);
            known.extend(names.map(|name| Name::from(name.as_str())));
        }
        known.extend(part.get("label").and_then(Value::as_str).map(Name::from));
    }
    let text = spec.get("classad").and_then(Value::as_str).unwrap_or("");
    let ad = read_ad(text, Dialect::Gangmatch, Form::Any).read;
    known.extend(ad.iter().flat_map(names));
}

/// The names of an ad and of its ports.
fn names(ad: &Ad) -> Vec<Name> {
    let mut found = Vec::new();
    for (name, expr) in ad.iter() {
        found.push(name.clone());
        for port in expr.as_list().into_iter().flatten().filter_map(classad::Expr::as_ad) {
            found.extend(port.iter().map(|(name, _)| name.clone()));
        }
    }
    found
}

/// The remarks on every expression of an object.
fn object(source: &Source, value: &Value, known: &[Name]) -> Vec<FieldRemarks> {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or("");
    if !text("/apiVersion").starts_with("gangmatch.dev/") {
        return Vec::new();
    }
    let object = format!("{} {}", text("/kind"), text("/metadata/name"));
    let Some(spec) = value.get("spec") else { return Vec::new() };
    let mut fields = expressions("spec", spec);
    for (index, port) in spec.get("ports").and_then(Value::as_array).into_iter().flatten().enumerate() {
        fields.extend(expressions(&format!("spec.ports[{index}]"), port));
    }
    let mut findings = Vec::new();
    for (field, text) in fields {
        let mut remarks = remarks(&field, &text, known);
        remarks.retain(|one| !TOLD.contains(&one.code));
        if let Some(first) = remarks.first() {
            let place = source.field(&field, first.position.line).to_string();
            findings.push(FieldRemarks { place, object: object.clone(), field, source: text, remarks });
        }
    }
    findings
}

/// The expressions of a spec or of a port, each with its path.
fn expressions(path: &str, part: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for field in ["classad", "constraint", "rank", "gangRank", "groupConstraint", "groupRank", "sharedBy"] {
        found.extend(part.get(field).and_then(Value::as_str).map(|text| (format!("{path}.{field}"), text.to_owned())));
    }
    for field in ["expressions", "request"] {
        for (name, text) in part.get(field).and_then(Value::as_object).into_iter().flatten() {
            found.extend(text.as_str().map(|text| (format!("{path}.{field}.{name}"), text.to_owned())));
        }
    }
    found
}

/// The remarks on one expression; none if it cannot be read, which the object's own message tells.
fn remarks(field: &str, text: &str, known: &[Name]) -> Vec<Diagnostic> {
    if field.ends_with(".classad") {
        let ad = read_ad(text, Dialect::Gangmatch, Form::Any).read;
        return ad.map(|ad| lint_ad(&ad, text, known)).unwrap_or_default();
    }
    let Ok(expr) = parse_expr(text, Dialect::Gangmatch) else { return Vec::new() };
    if field.ends_with(".constraint") || field.ends_with(".groupConstraint") {
        lint(&expr, text, known)
    } else {
        let ad: Ad = [(Name::from("Rank"), expr)].into_iter().collect();
        lint_ad(&ad, text, known)
    }
}

fn text(
    out: &mut impl Write,
    problems: &[Problem],
    warnings: &[Problem],
    findings: &[FieldRemarks],
) -> anyhow::Result<()> {
    for problem in problems {
        writeln!(out, "error: {}", shown(&problem.to_string()))?;
    }
    for warning in warnings {
        writeln!(out, "warning: {}", shown(&warning.to_string()))?;
    }
    let output = if std::io::IsTerminal::is_terminal(&std::io::stdout()) { Output::Terminal } else { Output::File };
    let colour = Colour::wanted(std::env::var_os("NO_COLOR").as_deref(), output);
    for finding in findings {
        let name = format!("{} {} {}", finding.place, finding.object, finding.field);
        write!(out, "{}", render(&finding.remarks, &finding.source, &shown(&name), colour))?;
    }
    let count = problems.len() + warnings.len() + findings.iter().map(|one| one.remarks.len()).sum::<usize>();
    if count > 0 {
        writeln!(out, "{count} finding{}.", if count == 1 { "" } else { "s" })?;
    }
    Ok(())
}

fn data(problems: &[Problem], warnings: &[Problem], findings: &[FieldRemarks]) -> Vec<Value> {
    let plain = |severity: &'static str| move |one: &Problem| json!({"severity": severity, "place": one.place.to_string(), "message": one.text});
    let mut list: Vec<Value> = problems.iter().map(plain("error")).collect();
    list.extend(warnings.iter().map(plain("warning")));
    for finding in findings {
        for one in &finding.remarks {
            let severity = if one.severity == Severity::Error { "error" } else { "warning" };
            let mut value = json!({
                "severity": severity, "place": finding.place, "object": finding.object, "field": finding.field,
                "code": one.code, "line": one.position.line, "column": one.position.column, "message": one.message,
            });
            if let (Some(hint), Some(fields)) = (&one.hint, value.as_object_mut()) {
                fields.insert("hint".to_owned(), json!(hint));
            }
            if let (Some(other), Some(fields)) = (&one.related, value.as_object_mut()) {
                let place = json!({"line": other.position.line, "column": other.position.column});
                fields.insert("related".to_owned(), place);
            }
            list.push(value);
        }
    }
    list
}

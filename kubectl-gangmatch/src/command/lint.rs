//! `lint`: manifests into everything that is wrong or probably not meant, with file and line.

mod fields;
mod members;
mod never;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use classad::{
    Ad, Colour, Diagnostic, Dialect, Expr, Form, Name, Output, Position, Reading, Severity, Span, constant, lint,
    lint_ad, parse_expr, read_ad, render,
};
use crds::quantity;
use matchmaker::PreemptionTerms;
use pool::node_attribute_names;
use serde_json::{Value, json};

use self::fields::{Field, Role, items, keys};

use crate::cluster::ManifestOptions;
use crate::manifests::{self, Place, Problem, Source};
use crate::offline::{Loaded, READER, Stamp, load};
use crate::output::AnswerOptions;
use crate::screen::shown;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
In addition to mistakes that the controller refuses, it finds requests that no offer can meet, conditions that are
never true, pairs of conditions that exclude each other, comparisons with undefined, and names that look misspelled.
kubectl accepts some of what this refuses: of a key that is written twice, it takes the last one.

Exit status:
  0  there are no findings
  1  there are findings
  2  an option is wrong, a file does not exist, or there is no manifest";

/// Remarks of the reader, which the objects' own warnings tell already.
const TOLD: [&str; 3] = ["unsupported-regex", "bad-regex", "regex-end"];

/// Remarks that a condition is never true.
const NEVER: [&str; 3] = ["never-true", "contradiction", "impossible-comparison"];

/// Names that the system gives to ads, and words of ads as text.
const SYSTEM: [&str; 19] = [
    "Type",
    "MyType",
    "Name",
    "Namespace",
    "Owner",
    "Uid",
    "Labels",
    "Members",
    "Capacity",
    "Allocation",
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
    /// Where the field begins.
    begin: Place,
    place: String,
    object: String,
    field: String,
    source: String,
    remarks: Vec<Diagnostic>,
}

impl FieldRemarks {
    /// Whether they say what a problem says: that the same condition is never true.
    fn say_never(&self, problem: &Problem) -> bool {
        self.begin == problem.place && self.remarks.iter().any(|one| NEVER.contains(&one.code))
    }
}

/// Prints all findings.
pub(crate) fn run(arguments: &LintArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let (documents, mut problems) = manifests::read(&arguments.manifests.files())?;
    let read: Vec<(Source, Value)> =
        documents.iter().map(|document| (document.source.clone(), document.value.clone())).collect();
    let Loaded { objects, sources, problems: wrong, mut warnings } =
        load(documents, &Stamp { namespace: "default", owner: READER });
    problems.extend(wrong);
    problems.sort();
    let mut known: BTreeSet<Name> = SYSTEM.into_iter().map(Name::from).collect();
    for (_, value) in &read {
        learn(value, &mut known);
    }
    let known: Vec<Name> = known.into_iter().collect();
    let findings: Vec<FieldRemarks> =
        read.iter().flat_map(|(source, value)| object(source, value, &known, &problems)).collect();
    // These findings say the same, and show where.
    let is_said = |problem: &Problem| {
        problem.text.contains("constraint can never be true: ") && findings.iter().any(|one| one.say_never(problem))
    };
    problems.retain(|problem| !is_said(problem));
    let mut never = never::never(&objects, &sources);
    never.retain(|one| {
        !findings.iter().any(|own| own.say_never(one)) && !warnings.iter().any(|own| own.place == one.place)
    });
    warnings.extend(never);
    warnings.extend(read.iter().flat_map(|(source, value)| odd_resources(source, value)));
    warnings.sort();
    match arguments.output.is_text() {
        true => text(out, &problems, &warnings, &findings)?,
        false => arguments.output.print(out, "", &data(&problems, &warnings, &findings))?,
    }
    let nothing = problems.is_empty() && warnings.is_empty() && findings.is_empty();
    Ok(if nothing { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names that a manifest gives to attributes.
fn learn(value: &Value, known: &mut BTreeSet<Name>) {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or("");
    if ["MachineClass", "Node"].contains(&kind) {
        known.extend(node_attribute_names().into_iter().map(Name::from));
    }
    let Some(spec) = value.get("spec") else { return };
    for part in std::iter::once(spec).chain(items(spec, "ports").map(|(_, port)| port)) {
        for field in ["attributes", "expressions"] {
            known.extend(keys(part, field).map(|(name, _)| Name::from(name.as_str())));
        }
    }
    let declared = items(spec, "dynamicAttributes").filter_map(|(_, declared)| declared.get("name")?.as_str());
    known.extend(declared.map(Name::from));
    let text = spec.get("classad").and_then(Value::as_str).unwrap_or("");
    let ad = read_ad(text, Dialect::Gangmatch, Form::Any).read;
    known.extend(ad.iter().flat_map(names));
}

/// Capacities with names that are nearly those that offers usually have: a request has to name them as they are written.
fn odd_resources(source: &Source, value: &Value) -> Vec<Problem> {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or("");
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let Some(spec) = value.get("spec").filter(|_| text("/apiVersion").starts_with("gangmatch.dev/")) else {
        return Vec::new();
    };
    let odd = |(resource, _): (&String, &Value)| {
        let meant = matchmaker::resource_meant(resource)?;
        let path = format!("spec.capacity.{resource}");
        let text = format!(
            "{kind} {name}: {path}: did you mean `{meant}`? Jobs have to request a resource by the name that is written here"
        );
        Some(Problem { place: source.field(&path, 1), text })
    };
    keys(spec, "capacity").filter_map(odd).collect()
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

/// The remarks on every expression of an object, without the mistakes that `problems` tell already.
fn object(source: &Source, value: &Value, known: &[Name], problems: &[Problem]) -> Vec<FieldRemarks> {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or("");
    if !text("/apiVersion").starts_with("gangmatch.dev/") {
        return Vec::new();
    }
    let object = format!("{} {}", text("/kind"), text("/metadata/name"));
    let Some(spec) = value.get("spec") else { return Vec::new() };
    // Only the ad itself knows the labels of its ports.
    let labels = items(spec, "ports").filter_map(|(_, port)| port.get("label")?.as_str()).map(Name::from);
    let own: Vec<Name> = labels.chain(known.iter().cloned()).collect();
    let read = PreemptionTerms::JOBS.into_iter().chain(PreemptionTerms::NAMES).map(Name::from);
    let of_preemption: Vec<Name> = read.chain(known.iter().cloned()).collect();
    let mut findings = Vec::new();
    for Field { path: field, text, role } in fields::of(spec) {
        let known = if field.starts_with("spec.preemption.") { &of_preemption } else { &own };
        let mut remarks = remarks(&role, &text, known);
        remarks.retain(|one| !TOLD.contains(&one.code));
        let Some(first) = remarks.first() else { continue };
        let place = source.field(&field, first.position.line);
        let is_told = |problem: &Problem| problem.place == place && problem.text.contains(&format!(": {field}: "));
        if first.severity == Severity::Error && problems.iter().any(is_told) {
            continue;
        }
        let (begin, place, object) = (source.field(&field, 1), place.to_string(), object.clone());
        findings.push(FieldRemarks { begin, place, object, field, source: text, remarks });
    }
    findings
}

/// The remarks on one field: if it cannot be read, the mistakes in it.
fn remarks(role: &Role, text: &str, known: &[Name]) -> Vec<Diagnostic> {
    if *role == Role::Ad {
        let Reading { read, diagnostics } = read_ad(text, Dialect::Gangmatch, Form::Any);
        let of_members = |ad: &Ad| ad.iter().flat_map(|(_, expr)| members::unknown(expr, text)).collect::<Vec<_>>();
        return read.map_or(diagnostics, |ad| [lint_ad(&ad, text, known), of_members(&ad)].concat());
    }
    let expr = match parse_expr(text, Dialect::Gangmatch) {
        Ok(expr) => expr,
        Err(mistakes) => {
            return mistakes.into_vec().into_iter().filter(|one| one.severity == Severity::Error).collect();
        }
    };
    let mut found = members::unknown(&expr, text);
    found.extend(match role {
        Role::Condition => lint(&expr, text, known),
        Role::Amount(resource) if quantity::amount(resource, text).is_none() => {
            let ad: Ad = [(Name::from("Request"), expr.clone())].into_iter().collect();
            no_amount(resource, text, &expr).into_iter().chain(lint_ad(&ad, text, known)).collect()
        }
        Role::Amount(_) => Vec::new(),
        Role::Ad | Role::Expression => {
            let ad: Ad = [(Name::from("Rank"), expr)].into_iter().collect();
            lint_ad(&ad, text, known)
        }
    });
    found
}

/// A constant request that no offer can meet.
fn no_amount(resource: &str, text: &str, expr: &Expr) -> Option<Diagnostic> {
    let value = constant(expr)?;
    let is_amount = matches!(value, classad::Value::Integer(amount) if amount >= 1);
    (!is_amount).then(|| Diagnostic {
        severity: Severity::Warning,
        code: "no-amount",
        span: Span::new(0, text.len()),
        position: Position { line: 1, column: 1 },
        message: format!("the request of {resource} is `{value}`, which is no amount: no offer has it"),
        hint: Some("write a whole number of at least 1".to_owned()),
        related: None,
    })
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

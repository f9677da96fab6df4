//! Case files into cases, and answers into verdicts: the rules of the checker that comes with the cases.

use std::path::Path;

use conformance::answer;
use serde_json::{Map, Value as Json, json};

/// One line of a case file.
pub(crate) struct Case {
    kind: &'static str,
    fields: Json,
}

impl Case {
    fn new(fields: Json) -> Option<Self> {
        let kinds = [("expr", "eval"), ("text", "parse"), ("left", "match")];
        let (_, kind) = kinds.into_iter().find(|(field, _)| fields.get(field).is_some())?;
        Some(Self { kind, fields })
    }

    /// As in `eval/lookup`.
    pub(crate) fn group(&self) -> String {
        format!("{}/{}", self.kind, self.fields["group"].as_str().unwrap_or_default())
    }

    /// Whether a group pins down accidents of the reference, which do not count.
    pub(crate) fn is_quirk(group: &str) -> bool {
        group.contains("/quirk_")
    }

    /// The case's own name.
    pub(crate) fn id(&self) -> &str {
        self.fields["id"].as_str().unwrap_or_default()
    }

    /// The expression of a case whose value is not ERROR.
    pub(crate) fn meaningful(&self) -> Option<&str> {
        let error = self.fields["want"].get("error").is_some() || self.fields["want"].get("parse_error").is_some();
        self.fields["expr"].as_str().filter(|_| !error)
    }

    /// What the case asks.
    pub(crate) fn summary(&self) -> String {
        let field = |name: &str| self.fields[name].as_str().unwrap_or_default();
        match self.kind {
            "eval" => format!("{} in {}", field("expr"), field("ad")),
            "parse" => format!("{:?}", field("text")),
            _ => format!("{} || {}", field("left"), field("right")),
        }
    }
}

/// The cases of this repository.
pub(crate) fn own_cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|found| found == "jsonl")).collect();
    paths.sort();
    paths.iter().flat_map(|path| read(path)).collect()
}

fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| Case::new(serde_json::from_str(line).unwrap()).unwrap()).collect()
}

/// All shared cases but the gangs; none, with a word on standard error, where they are not at hand.
pub(crate) fn shared_cases() -> Option<Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/visible");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no conformance cases at {}", folder.display());
        return None;
    }
    let files = ["eval", "parse", "match", "upstream_eval", "upstream_parse", "upstream_match"];
    Some(files.into_iter().flat_map(|file| read(&folder.join(format!("{file}.jsonl")))).collect())
}

/// Whether the answer to a case is right, or what is wrong with it.
pub(crate) fn judge(case: &Case) -> Result<(), String> {
    let mut request = case.fields.clone();
    request["op"] = json!(case.kind);
    let got = answer(&request);
    let want = &case.fields;
    match case.kind {
        "eval" => judge_eval(&want["want"], &got),
        "parse" => judge_parse(want, &got),
        _ => judge_match(want, &got),
    }
}

fn judge_eval(want: &Json, got: &Json) -> Result<(), String> {
    if want.is_null() || *want == json!({ "parse_error": true }) {
        return expect(got.get("value").is_none(), "want a parse error".to_owned());
    }
    expect(same(want, &got["value"]), format!("got {got}, want {want}"))
}

fn judge_parse(want: &Json, got: &Json) -> Result<(), String> {
    if want["either"] == json!(true) {
        return expect(got["ok"].is_boolean(), "no verdict".to_owned());
    }
    expect(got["ok"] == want["ok"], format!("got {}, want {}", got["ok"], want["ok"]))?;
    let canonical = want["ok"] == json!(true) && !want["canonical"].is_null();
    expect(
        !canonical || got["canonical"] == want["canonical"],
        format!("got {}, want {}", got["canonical"], want["canonical"]),
    )
}

fn judge_match(want: &Json, got: &Json) -> Result<(), String> {
    for field in ["left_ok", "right_ok", "match"] {
        expect(got[field] == want[field], format!("{field} is {}, want {}", got[field], want[field]))?;
    }
    for field in ["left_rank", "right_rank"] {
        expect(same(&want[field], &got[field]), format!("{field} is {}, want {}", got[field], want[field]))?;
    }
    Ok(())
}

fn expect(holds: bool, otherwise: String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// Values are the same if they agree exactly, but reals to nine digits and attribute names in any case.
fn same(want: &Json, got: &Json) -> bool {
    let one = |value: &Json| {
        value
            .as_object()
            .filter(|fields| fields.len() == 1)
            .and_then(|fields| fields.iter().next().map(|(kind, value)| (kind.clone(), value.clone())))
    };
    let (Some((kind, want)), Some((got_kind, got))) = (one(want), one(got)) else { return false };
    if kind != got_kind {
        return false;
    }
    match kind.as_str() {
        "undefined" | "error" => true,
        "real" | "reltime" => close(&want, &got),
        "list" => match (want.as_array(), got.as_array()) {
            (Some(want), Some(got)) => {
                want.len() == got.len() && want.iter().zip(got).all(|(want, got)| same(want, got))
            }
            _ => false,
        },
        "ad" => {
            let lower = |value: &Json| -> Option<Map<String, Json>> {
                Some(value.as_object()?.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect())
            };
            match (lower(&want), lower(&got)) {
                (Some(want), Some(got)) => {
                    want.len() == got.len()
                        && want.iter().all(|(name, value)| got.get(name).is_some_and(|got| same(value, got)))
                }
                _ => false,
            }
        }
        _ => want == got,
    }
}

fn close(want: &Json, got: &Json) -> bool {
    const TOLERANCE: f64 = 1e-9;
    let number = |value: &Json| match value.as_str().map(str::to_ascii_uppercase).as_deref() {
        Some("INF") => Some(f64::INFINITY),
        Some("-INF") => Some(f64::NEG_INFINITY),
        Some("NAN") => Some(f64::NAN),
        _ => value.as_f64(),
    };
    match (number(want), number(got)) {
        (Some(want), Some(got)) if want.is_nan() || got.is_nan() => want.is_nan() && got.is_nan(),
        (Some(want), Some(got)) if want.is_infinite() || got.is_infinite() => want.to_bits() == got.to_bits(),
        (Some(want), Some(got)) => (want - got).abs() <= TOLERANCE * want.abs().max(got.abs()),
        _ => false,
    }
}

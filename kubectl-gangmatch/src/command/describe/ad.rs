//! An ad into the lines of a description, and reasons into words.

use classad::Expr;
use crds::conditions::reasons;
use pool::Prepared;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Facts;

/// Attributes that other lines of a description show.
const SHOWN_ELSEWHERE: [&str; 13] = [
    "Type",
    "MyType",
    "Namespace",
    "Owner",
    "Uid",
    "Labels",
    "Ports",
    "Constraint",
    "Requirements",
    "Rank",
    "Request",
    "Capacity",
    "NodeName",
];

/// One port.
#[derive(Clone, Debug, Serialize)]
struct PortLine {
    label: String,
    constraint: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    rank: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    request: String,
    /// What is said of the set of partners: names of attributes and their expressions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    set: Vec<(&'static str, String)>,
}

/// Adds the attributes and ports of an ad.
pub(super) fn add(description: &mut Facts, ad: &Prepared) -> anyhow::Result<()> {
    let own = |name: &str| !SHOWN_ELSEWHERE.iter().any(|known| known.eq_ignore_ascii_case(name));
    let attributes: Vec<(String, String)> = ad
        .ports
        .body
        .shown()
        .filter(|(name, _)| own(name.as_str()))
        .map(|(name, expr)| (name.as_str().to_owned(), expr.to_string()))
        .collect();
    let lines: Vec<String> = attributes.iter().map(|(name, text)| format!("{name} = {text}")).collect();
    let data: Map<String, Value> = attributes.into_iter().map(|(name, text)| (name, Value::String(text))).collect();
    description.lines("Attributes", "attributes", &lines, Value::Object(data));
    let text = |expr: &Option<Expr>| expr.as_ref().map(ToString::to_string).unwrap_or_default();
    let ports: Vec<PortLine> = ad
        .ports
        .list
        .iter()
        .map(|port| PortLine {
            label: port.label.as_str().to_owned(),
            constraint: text(&port.constraint),
            rank: text(&port.rank),
            request: text(&port.request),
            set: if port.set.is_some() { of_set(&port.attributes) } else { Vec::new() },
        })
        .collect();
    let mut lines = Vec::new();
    for port in &ports {
        lines.push(format!("{}:", port.label));
        let parts = [("constraint", &port.constraint), ("rank", &port.rank), ("request", &port.request)];
        let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
        lines.extend(parts.map(|(name, text)| format!("  {name:<12}{text}")));
        lines.extend(port.set.iter().map(|(name, text)| format!("  {name:<12}{text}")));
    }
    description.lines("Ports", "ports", &lines, serde_json::to_value(&ports)?);
    description.lines("Warnings", "warnings", &ad.warnings, serde_json::to_value(&ad.warnings)?);
    Ok(())
}

/// What a counted port says of its set.
fn of_set(port: &classad::Ad) -> Vec<(&'static str, String)> {
    let names = [
        ("Count", "count"),
        ("MinCount", "minCount"),
        ("MaxCount", "maxCount"),
        ("Same", "same"),
        ("Distinct", "distinct"),
        ("GroupConstraint", "groupConstraint"),
        ("GroupRank", "groupRank"),
    ];
    names.into_iter().filter_map(|(name, field)| Some((field, port.get(name)?.to_string()))).collect()
}

/// A reason of a condition in words; empty for one that is not known.
pub(super) fn reason(reason: &str) -> &'static str {
    match reason {
        reasons::ACCEPTED => "the ad is accepted",
        reasons::PENDING_EVALUATION => "no negotiation cycle has evaluated the job yet",
        reasons::GANG_FOUND => "a gang was found",
        reasons::COMMITTED => "all members are claimed",
        reasons::RESERVING => "members are being reserved",
        reasons::AWAITING_VOTES => "some agents have not voted yet",
        reasons::WORKLOAD_STARTED => "the workload was started",
        reasons::WORKLOAD_PENDING => "the workload is being created or started",
        reasons::COMPLETED => "the workload succeeded",
        reasons::WORKLOAD_FAILED => "the workload failed",
        reasons::DONE => "spec.done was set",
        reasons::CLAIM_EXPIRED => "the claim was held for activeDeadlineSeconds",
        reasons::SUSPENDED => "spec.suspend is true",
        reasons::EVICTED => "an owner ended the claim with stopPolicy: HoldAndDrain",
        reasons::MEMBER_LOST => "an offer was deleted",
        reasons::MATCH_DELETED => "the Match was deleted",
        reasons::START_TIMED_OUT => "no pod was ready or finished in time",
        reasons::AVAILABLE => "nothing of it is taken",
        reasons::CLAIMED => "some of it is taken",
        reasons::FULL => "all of it is taken",
        reasons::DRAINING => "its owner accepts no new claims",
        reasons::EVICTING => "its owner is ending the claims",
        reasons::NODE_NOT_READY => "its node is not ready",
        reasons::NODE_CORDONED => "its node is cordoned",
        reasons::NODE_MISSING => "its node does not exist",
        reasons::AGENT_LOST => "its agent is silent",
        reasons::LEASE_RENEWED => "its agent renews its Lease",
        reasons::WITHIN_CAPACITY => "the claims fit the capacity",
        _ => "",
    }
}

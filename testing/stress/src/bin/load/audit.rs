//! The API server's audit log into what the controller wrote, and what was refused.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::stage::LoadStage;

/// What the controller wrote in a namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audited {
    /// All writes.
    pub(crate) writes: usize,
    /// Of these, refused with 409 or 422.
    pub(crate) conflicts: usize,
    /// By verb and resource.
    pub(crate) by_kind: BTreeMap<String, usize>,
}

/// Everything since the log began.
pub(crate) fn read(stage: &LoadStage, namespace: &str) -> Result<Audited> {
    since(stage, namespace, 0)
}

/// How long the log is, in bytes.
pub(crate) fn length(stage: &LoadStage) -> Result<usize> {
    Ok(usize::try_from(std::fs::metadata(stage.plane.audit_log())?.len())?)
}

/// Everything since the log was so long.
pub(crate) fn since(stage: &LoadStage, namespace: &str, length: usize) -> Result<Audited> {
    let log = std::fs::read(stage.plane.audit_log())?;
    let log = String::from_utf8_lossy(log.get(length..).unwrap_or_default());
    let mut audited = Audited::default();
    for entry in log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = |path: &str| entry.pointer(path).and_then(Value::as_str).unwrap_or("");
        let by_controller = text("/userAgent").starts_with("gangmatch-controller");
        let writes = ["create", "update", "patch", "delete"].contains(&text("/verb"));
        if !by_controller || !writes || text("/objectRef/namespace") != namespace {
            continue;
        }
        audited.writes += 1;
        let code = entry.pointer("/responseStatus/code").and_then(Value::as_u64);
        audited.conflicts += usize::from(matches!(code, Some(409 | 422)));
        let kind = format!("{} {} {}", text("/verb"), text("/objectRef/resource"), text("/objectRef/subresource"));
        *audited.by_kind.entry(kind.trim_end().to_owned()).or_default() += 1;
    }
    Ok(audited)
}

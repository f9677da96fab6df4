//! An Event as `events.k8s.io` has it, into the same as the core group has it, which is the one that kubectl reads.

use serde_json::{Value, json};

/// The same event in the form of the core group.
pub(crate) fn core_event(event: &Value) -> Value {
    let of = |name: &str| event.get(name).cloned();
    let mut core = json!({
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": of("metadata"),
        "involvedObject": of("regarding").unwrap_or_else(|| json!({})),
        "reason": of("reason"),
        "message": of("note"),
        "source": of("deprecatedSource").unwrap_or_else(|| json!({})),
        "firstTimestamp": of("deprecatedFirstTimestamp"),
        "lastTimestamp": of("deprecatedLastTimestamp"),
        "count": of("deprecatedCount"),
        "type": of("type"),
        "eventTime": of("eventTime"),
        "series": of("series"),
        "action": of("action"),
        "related": of("related"),
        "reportingComponent": of("reportingController").unwrap_or_else(|| json!("")),
        "reportingInstance": of("reportingInstance").unwrap_or_else(|| json!("")),
    });
    if let Some(fields) = core.as_object_mut() {
        let stays = ["firstTimestamp", "lastTimestamp", "eventTime"];
        fields.retain(|name, value| !value.is_null() || stays.contains(&name.as_str()));
    }
    core
}

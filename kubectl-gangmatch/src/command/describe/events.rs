//! The recent Events of an object.

use jiff::Timestamp;
use pool::ObjectKey;
use serde::Serialize;
use serde_json::Value;

use crate::cluster::{Kind, Kubectl, Scope};

/// How many are shown.
const SHOWN_MAX: usize = 10;

/// One Event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EventLine {
    pub(crate) time: Option<Timestamp>,
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// The last Events of an object, newest last; none if the user may not list them.
pub(crate) fn read(kubectl: &Kubectl<'_>, kind: Kind, key: &ObjectKey) -> Vec<EventLine> {
    let selector = format!("--field-selector=involvedObject.kind={},involvedObject.name={}", kind.name(), key.name);
    let listed = kubectl.list(&["events"], Scope::One(&key.namespace), &[&selector]).unwrap_or_default();
    lines(&listed.items)
}

fn lines(items: &[Value]) -> Vec<EventLine> {
    let text = |item: &Value, path: &str| item.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
    // A batch Job of the same name has Events, too.
    let ours = items.iter().filter(|item| text(item, "/involvedObject/apiVersion").starts_with(crds::GROUP));
    let line = |item: &Value| EventLine {
        time: ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"]
            .iter()
            .find_map(|path| text(item, path).parse().ok()),
        type_: text(item, "/type"),
        reason: text(item, "/reason"),
        message: text(item, "/message"),
    };
    let mut all: Vec<EventLine> = ours.map(line).collect();
    all.sort_by_key(|event| event.time);
    let first = all.len().saturating_sub(SHOWN_MAX);
    all.split_off(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m11_events_are_those_of_the_job_and_not_of_a_batch_job_of_its_name() {
        let event = |api: &str, reason: &str, time: &str| {
            serde_json::json!({"involvedObject": {"apiVersion": api, "kind": "Job", "name": "sim"}, "type": "Normal",
                "reason": reason, "message": "m", "eventTime": time, "lastTimestamp": null})
        };
        let items = [
            event("gangmatch.dev/v1alpha1", "Claimed", "2026-11-21T14:00:02.000000Z"),
            event("batch/v1", "SuccessfulCreate", "2026-11-21T14:00:03.000000Z"),
            event("gangmatch.dev/v1alpha1", "Matched", "2026-11-21T14:00:01.000000Z"),
        ];
        let reasons: Vec<String> = lines(&items).into_iter().map(|event| event.reason).collect();
        assert_eq!(reasons, ["Matched", "Claimed"]);
    }
}

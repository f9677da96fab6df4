//! What an agent writes: its votes and activities, each with the test that it stands on, and what it publishes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Casts a vote, if none is cast yet: a no with its reason, or else a yes. The ballot is a random word: the notification of the commit has to repeat it.
pub(crate) fn vote(claim: &str, refusal: Option<&str>, ballot: &str) -> Value {
    let mut patch = vec![
        json!({"op": "test", "path": path(claim, "vote"), "value": "Pending"}),
        json!({"op": "add", "path": path(claim, "ballot"), "value": ballot}),
    ];
    match refusal {
        None => patch.push(json!({"op": "replace", "path": path(claim, "vote"), "value": "Accepted"})),
        Some(why) => {
            patch.push(json!({"op": "replace", "path": path(claim, "vote"), "value": "Rejected"}));
            patch.push(json!({"op": "add", "path": path(claim, "voteReason"), "value": why}));
            patch.push(json!({"op": "add", "path": path(claim, "retry"), "value": "Retry"}));
        }
    }
    Value::from(patch)
}

/// Says that the work begins, if the claim stands.
pub(crate) fn begin(claim: &str) -> Value {
    json!([
        {"op": "test", "path": path(claim, "committed"), "value": true},
        {"op": "add", "path": path(claim, "activity"), "value": "Active"},
    ])
}

/// Says that the work goes on, if it was not marked as lost. The patch has to change something: a controller that takes this agent for lost
/// has read the object before, and must notice.
pub(crate) fn resume(claim: &str, now: &str) -> Value {
    json!([
        {"op": "test", "path": path(claim, "activity"), "value": "Active"},
        {"op": "add", "path": path(claim, "voteReason"), "value": format!("continued at {now}, after an interruption of the agent")},
    ])
}

/// Says that the work has ended.
pub(crate) fn end(claim: &str) -> Value {
    json!([
        {"op": "test", "path": path(claim, "activity"), "value": "Active"},
        {"op": "replace", "path": path(claim, "activity"), "value": "Ended"},
    ])
}

/// Publishes values; `None` if there is nothing to publish.
pub(crate) fn publish(attributes: &BTreeMap<String, Value>, external_usage: Option<i64>) -> Option<Value> {
    let mut status = serde_json::Map::new();
    if !attributes.is_empty() {
        status.insert("attributes".to_owned(), json!(attributes));
    }
    if let Some(seats) = external_usage {
        status.insert("externalUsage".to_owned(), json!({"seats": seats}));
    }
    (!status.is_empty()).then(|| json!({"status": status}))
}

fn path(claim: &str, register: &str) -> String {
    format!("/status/claims/{claim}/{register}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_says_why_and_asks_to_be_asked_again() {
        let patch = vote("u", Some("`LoadAvg < 0.3` is false"), "b");
        let at = |register: &str| {
            let ops = patch.as_array().unwrap();
            ops.iter().find(|op| op["path"] == path("u", register) && op["op"] != "test").unwrap()["value"].clone()
        };
        assert_eq!((at("vote"), at("retry"), at("ballot")), (json!("Rejected"), json!("Retry"), json!("b")));
        assert_eq!(at("voteReason"), "`LoadAvg < 0.3` is false");
    }

    #[test]
    fn nothing_is_published_if_nothing_has_changed() {
        assert_eq!(publish(&BTreeMap::new(), None), None);
        let load = BTreeMap::from([("LoadAvg".to_owned(), json!(0.5))]);
        let both = json!({"status": {"attributes": {"LoadAvg": 0.5}, "externalUsage": {"seats": 3}}});
        assert_eq!(publish(&load, Some(3)), Some(both));
    }
}

//! What is watched is read as it was sent, but for what nobody here looks at.

use crds::{Job, License, Machine, Match};
use k8s_openapi::api::batch::v1::Job as Batch;
use pool::{Lean, Sent};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{PAUSE_MAX, PAUSE_MIN, Pauses};
use crate::testing::fixtures::world;
use kube::runtime::utils::Backoff;

fn sent<K: Lean + DeserializeOwned + PartialEq>(mut object: Value) {
    let plain: K = serde_json::from_value(object.clone()).unwrap();
    let metadata = json!({
        "annotations": {"gangmatch.dev/match": "b"}, "creationTimestamp": "2026-11-21T14:00:00Z", "deletionGracePeriodSeconds": 3,
        "deletionTimestamp": "2026-11-21T14:00:03Z", "finalizers": ["f"], "generateName": "g", "generation": 4,
        "labels": {"l": "m"}, "name": "n", "namespace": "ns", "resourceVersion": "5", "selfLink": "s", "uid": "u",
        "ownerReferences": [{"apiVersion": "v1", "kind": "k", "name": "o", "uid": "v"}]});
    object["metadata"] = metadata.clone();
    let mut whole: K = serde_json::from_value(object.clone()).unwrap();
    assert!(whole != plain, "they have other metadata");
    object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
    object["metadata"]["annotations"]["gangmatch.dev/a"] = json!("{}");
    object["metadata"]["managedFields"] = json!([{"manager": "gangmatch", "fieldsV1": {"f:status": {}}}]);
    whole.meta_mut().managed_fields = None;
    let Sent(found) = serde_json::from_value::<Sent<K>>(object).unwrap();
    assert!(found == whole, "{found:?}\n{whole:?}");
    assert_eq!(serde_json::to_value(found.meta()).unwrap(), metadata, "all that metadata can say");
}

#[test]
fn what_is_sent_is_read_but_for_who_has_managed_it() {
    let objects = world(&json!({"decision": "Committed"}));
    objects.jobs.iter().for_each(|(_, held)| sent::<Job>(json!(held.object.as_ref())));
    objects.machines.iter().for_each(|(_, held)| sent::<Machine>(json!(held.object.as_ref())));
    objects.licenses.iter().for_each(|(_, held)| sent::<License>(json!(held.object.as_ref())));
    objects.matches.values().for_each(|found| sent::<Match>(json!(found.as_ref())));
    sent::<Batch>(json!({"metadata": {}, "spec": {"suspend": true, "template": {}}, "status": {"active": 1}}));
    sent::<Batch>(json!({"metadata": {}}));
}

#[test]
fn a_watch_never_pauses_for_long() {
    let mut pauses = Pauses(PAUSE_MIN);
    assert!(pauses.by_ref().take(100).all(|pause| pause <= PAUSE_MAX));
    pauses.reset();
    assert_eq!(pauses.next(), Some(PAUSE_MIN));
}

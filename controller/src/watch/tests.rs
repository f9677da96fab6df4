//! Watches: objects are read as they were sent, without unused fields; a list that is never answered is made again.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use apiserver::{Kinds, Server};
use axum::http::{Request, Response};
use crds::{Job, License, Machine, Match};
use http_body_util::{BodyExt, StreamBody};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job as Batch;
use kube::Client;
use kube::client::Body;
use kube::runtime::utils::Backoff;
use pool::{OwnerTrust, ReadTrimmed, Trimmed, WorkloadScope};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::{ServiceExt, service_fn};

use super::{PAUSE_MAX, PAUSE_MIN, Pauses, start};
use crate::cache::Cache;
use crate::testing::fixtures::world;
use crate::write::layers::{LIST_DEADLINE, is_watch, read_only};

fn sent<K: ReadTrimmed + DeserializeOwned + PartialEq>(mut object: Value) {
    let plain: K = serde_json::from_value(object.clone()).unwrap();
    let metadata = json!({
        "annotations": {"gangmatch.dev/match": "b"}, "creationTimestamp": "2026-11-21T14:00:00Z", "deletionGracePeriodSeconds": 3,
        "deletionTimestamp": "2026-11-21T14:00:03Z", "finalizers": ["f"], "generateName": "g", "generation": 4,
        "labels": {"l": "m"}, "name": "n", "namespace": "ns", "resourceVersion": "5", "uid": "u",
        "ownerReferences": [{"apiVersion": "v1", "kind": "k", "name": "o", "uid": "v"}]});
    object["metadata"] = metadata.clone();
    let mut whole: K = serde_json::from_value(object.clone()).unwrap();
    assert!(whole != plain, "they have other metadata");
    object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
    object["metadata"]["annotations"]["gangmatch.dev/a"] = json!("{}");
    object["metadata"]["managedFields"] = json!([{"manager": "gangmatch", "fieldsV1": {"f:status": {}}}]);
    whole.meta_mut().managed_fields = None;
    let Trimmed(found) = serde_json::from_value::<Trimmed<K>>(object).unwrap();
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

/// A server that never answers the first list of Jobs: neither its head, nor, if `has_head`, its body.
fn silent_once(has_head: bool) -> Client {
    let server = Server::new(Arc::new(Kinds::new()), Timestamp::UNIX_EPOCH).service();
    let was_asked = Arc::new(AtomicBool::new(false));
    let service = service_fn(move |request: Request<Body>| {
        let is_list = request.uri().path() == "/apis/gangmatch.dev/v1alpha1/jobs" && !is_watch(&request);
        let is_silent = is_list && !was_asked.swap(true, Ordering::Relaxed);
        let server = server.clone();
        async move {
            match (is_silent, has_head) {
                (true, false) => std::future::pending().await,
                (true, true) => {
                    Ok::<_, Infallible>(Response::new(StreamBody::new(futures::stream::pending()).boxed_unsync()))
                }
                (false, _) => server.oneshot(request).await,
            }
        }
    });
    Client::new(service, "ns")
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_never_answered_is_made_again_in_time() {
    for has_head in [false, true] {
        let cache = Arc::new(Cache::new(OwnerTrust::Stamped, WorkloadScope::Everywhere));
        let client = read_only(&silent_once(has_head));
        let begun = Instant::now();
        start(&client, &cache, &WorkloadScope::Everywhere, &Arc::default()).await;
        let took = begun.elapsed();
        assert!(took >= LIST_DEADLINE && took < LIST_DEADLINE + PAUSE_MAX, "{took:?}");
    }
}

//! What Kubernetes' own controllers delete: objects whose owners are gone, and all that is in a deleted namespace.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::answer::Answer;
use crate::call::Verb;
use crate::controllers::request;
use crate::object::{is_ending, meta};
use crate::serve::Server;
use crate::store::StoredKey;

impl Server {
    /// Deletes every object that has owners, none of which is there any more. Its own objects go with the next call.
    pub fn collect_garbage(&self) {
        let uids: BTreeSet<String> =
            self.look(|store| store.all().map(|(_, object)| meta(object, "uid").to_owned()).collect());
        self.end(|_, object| {
            let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            owners.is_some_and(|owners| {
                let is_there =
                    |owner: &Value| owner.get("uid").and_then(Value::as_str).is_some_and(|uid| uids.contains(uid));
                !owners.is_empty() && !owners.iter().any(is_there)
            })
        });
    }

    /// Deletes everything in namespaces that are no more.
    pub fn empty_namespaces(&self) {
        let there: BTreeSet<String> =
            self.look(|store| store.list("namespaces", "").into_iter().map(|(key, _)| key.name.clone()).collect());
        self.end(|key, _| !key.namespace.is_empty() && !there.contains(&key.namespace));
    }

    /// Deletes objects as a request does.
    fn end(&self, ends: impl Fn(&StoredKey, &Value) -> bool) {
        for kind in self.kinds.all().filter(|kind| !kind.is_read_only) {
            let keys: Vec<StoredKey> = self.look(|store| {
                let all = store.list(&kind.storage(), "").into_iter();
                let due = all.filter(|(key, object)| !is_ending(object) && ends(key, object));
                due.map(|(key, _)| key.clone()).collect()
            });
            for key in keys {
                // What is refused is tried again after the next change.
                let _: Answer = self.answer(&request(Verb::Delete, kind, key));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http::Method;
    use serde_json::json;

    use super::*;
    use crate::{Call, Kinds};

    fn ask(server: &Server, method: &Method, path: &str, body: &Value) -> u16 {
        let body = Bytes::from(body.to_string());
        let call = Call::of(method, &path.parse().unwrap(), "application/merge-patch+json", body).unwrap();
        server.answer(&call).code
    }

    #[test]
    fn what_has_lost_its_owners_goes_and_what_is_in_a_deleted_namespace() {
        let server = Server::new(Arc::new(Kinds::new()), jiff::Timestamp::UNIX_EPOCH);
        let pods = "/api/v1/namespaces/n/pods";
        assert_eq!(ask(&server, &Method::POST, "/api/v1/namespaces", &json!({"metadata": {"name": "n"}})), 201);
        let pod = |name: &str, owner: Value| {
            let owners: Vec<Value> = if owner.is_null() { Vec::new() } else { vec![json!({"uid": owner})] };
            json!({"metadata": {"name": name, "ownerReferences": owners, "finalizers": ["example.org/wait"]}})
        };
        assert_eq!(ask(&server, &Method::POST, pods, &pod("free", Value::Null)), 201);
        assert_eq!(ask(&server, &Method::POST, pods, &pod("owned", json!("gone"))), 201);
        let has = |name: &str| ask(&server, &Method::GET, &format!("{pods}/{name}"), &Value::Null) == 200;
        server.collect_garbage();
        assert!(has("free") && has("owned"), "a finalizer holds it");
        let free = |name: &str| {
            let path = format!("{pods}/{name}");
            ask(&server, &Method::PATCH, &path, &json!({"metadata": {"finalizers": null}}))
        };
        free("owned");
        assert!(has("free") && !has("owned"));
        assert_eq!(ask(&server, &Method::DELETE, "/api/v1/namespaces/n", &Value::Null), 200);
        server.empty_namespaces();
        free("free");
        assert!(!has("free"));
    }
}

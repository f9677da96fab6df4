//! What is there in a new cluster: namespaces, and the definitions of our kinds.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kinds::DEFINITIONS;
use crate::object::{set_meta, time};
use crate::serve::Server;
use crate::store::StoredKey;

const NAMESPACES: [&str; 5] = ["default", "gangmatch-system", "kube-node-lease", "kube-public", "kube-system"];

impl Server {
    /// Stores what is there in a new cluster with gangmatch installed.
    pub fn seed(&self) {
        let (group, plural, _) = DEFINITIONS;
        let named = NAMESPACES.map(|name| {
            let labels = json!({"kubernetes.io/metadata.name": name});
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
            ("namespaces".to_owned(), name.to_owned(), object)
        });
        let defined = crds::definitions().into_iter().filter_map(|definition| {
            let mut object = json!(definition);
            let name = definition.metadata.name?;
            let fields = object.as_object_mut()?;
            fields.insert("status".to_owned(), status(&json!(definition.spec.names)));
            Some((format!("{plural}.{group}"), name, object))
        });
        let all: Vec<(String, String, Value)> = named.into_iter().chain(defined).collect();
        self.change(|store, _, now| {
            for (resource, name, mut object) in all {
                set_meta(&mut object, "uid", json!(store.new_uid()));
                set_meta(&mut object, "creationTimestamp", time(now));
                let _: Arc<Value> = store.put(StoredKey { resource, namespace: String::new(), name }, object);
            }
        });
    }
}

fn status(names: &Value) -> Value {
    let condition = |type_: &str| json!({"type": type_, "status": "True", "reason": "Embedded", "message": "always"});
    json!({"acceptedNames": names, "conditions": [condition("NamesAccepted"), condition("Established")],
        "storedVersions": ["v1alpha1"]})
}

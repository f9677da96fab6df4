//! The controllers of Kubernetes that run beside this server: [garbage collection](crate::garbage), and what is said of
//! [batch Jobs](crate::batch).

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::call::{Call, Verb};
use crate::kinds::Kind;
use crate::serve::Server;
use crate::store::StoredKey;

impl Server {
    /// Does after every change what the controllers do, for ever.
    pub async fn run_controllers(&self) {
        let mut newest = self.newest.subscribe();
        while newest.changed().await.is_ok() {
            newest.borrow_and_update();
            self.empty_namespaces();
            self.collect_garbage();
            self.tell_batch_jobs();
        }
    }
}

/// A request of a controller, without a body.
pub(crate) fn request(verb: Verb, kind: &Kind, key: StoredKey) -> Call {
    Call {
        verb,
        group: kind.group.clone(),
        version: kind.version.clone(),
        plural: kind.plural.clone(),
        namespace: key.namespace,
        name: key.name,
        subresource: String::new(),
        query: BTreeMap::new(),
        content_type: String::new(),
        body: Bytes::new(),
        accept: String::new(),
        user: String::new(),
    }
}

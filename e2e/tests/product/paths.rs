//! Turns objects, and the short names by which tests speak of them, into the paths at which the API server has them. A kubectl for each
//! request would cost more than what is tested; tests that are about kubectl use it.

use serde_json::Value;

use crate::stage::{name, text};

/// What the resources of our API group have in common.
pub(crate) const GROUP: &str = "/apis/gangmatch.dev/v1alpha1";

/// A kind of objects.
struct Kind {
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    is_namespaced: bool,
    /// What tests call it.
    names: &'static [&'static str],
}

/// A kind whose objects are in namespaces.
const fn kind(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    names: &'static [&'static str],
) -> Kind {
    Kind { api_version, kind, plural, is_namespaced: true, names }
}

/// Those that tests use most.
const KINDS: [Kind; 21] = [
    kind("gangmatch.dev/v1alpha1", "Job", "jobs", &["gmj"]),
    kind("gangmatch.dev/v1alpha1", "Machine", "machines", &["gmm"]),
    kind("gangmatch.dev/v1alpha1", "License", "licenses", &["gml"]),
    kind("gangmatch.dev/v1alpha1", "Match", "matches", &["gmatch"]),
    kind("gangmatch.dev/v1alpha1", "MachineClass", "machineclasses", &["machineclass"]).of_cluster(),
    kind("gangmatch.dev/v1alpha1", "PoolPolicy", "poolpolicies", &["gmp"]).of_cluster(),
    kind("gangmatch.dev/v1alpha1", "Account", "accounts", &["gma"]).of_cluster(),
    kind("v1", "Pod", "pods", &["pod", "pods"]),
    kind("v1", "ResourceQuota", "resourcequotas", &[]),
    kind("v1", "ServiceAccount", "serviceaccounts", &[]),
    kind("v1", "ConfigMap", "configmaps", &[]),
    kind("v1", "Namespace", "namespaces", &["namespace"]).of_cluster(),
    kind("v1", "Node", "nodes", &["node"]).of_cluster(),
    kind("events.k8s.io/v1", "Event", "events", &["events.events.k8s.io"]),
    kind("batch/v1", "Job", "jobs", &["job.batch", "jobs.batch"]),
    kind("apps/v1", "ReplicaSet", "replicasets", &["replicaset"]),
    kind("jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", &["jobset.jobset.x-k8s.io", "jobsets.jobset.x-k8s.io"]),
    kind("coordination.k8s.io/v1", "Lease", "leases", &["lease"]),
    kind("rbac.authorization.k8s.io/v1", "Role", "roles", &["role"]),
    kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", &["rolebinding"]),
    kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", &["clusterrolebinding"])
        .of_cluster(),
];

impl Kind {
    /// The same kind, if its objects are in no namespace.
    const fn of_cluster(self) -> Kind {
        Kind { is_namespaced: false, ..self }
    }

    /// Where all of a namespace are, or all there are.
    fn path(&self, namespace: &str) -> String {
        let api = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let within = if self.is_namespaced { format!("/namespaces/{namespace}") } else { String::new() };
        format!("{api}/{}{within}/{}", self.api_version, self.plural)
    }
}

fn kind_of(object: &Value) -> Option<&'static Kind> {
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    KINDS.iter().find(|known| known.api_version == api_version && known.kind == kind)
}

/// Where an object is created: in the namespace that it names, or else in this one.
pub(crate) fn collection_of(namespace: &str, object: &Value) -> Option<String> {
    let own = text(object, "/metadata/namespace");
    Some(kind_of(object)?.path(if own.is_empty() { namespace } else { &own }))
}

/// Where an object is.
pub(crate) fn place_of(namespace: &str, object: &Value) -> Option<String> {
    let collection = collection_of(namespace, object)?;
    Some(format!("{collection}/{}", name(object))).filter(|_| !name(object).is_empty())
}

/// Where an object such as `gmj/j` is, or all of a kind.
pub(crate) fn path_of(namespace: &str, object: &str) -> Option<String> {
    let (kind, name) = object.split_once('/').map_or((object, ""), |(kind, name)| (kind, name));
    let of_kind = KINDS.iter().find(|known| known.names.contains(&kind))?.path(namespace);
    Some(if name.is_empty() { of_kind } else { format!("{of_kind}/{name}") })
}

/// A manifest's objects, those of lists one by one; nothing, if it is none.
pub(crate) fn objects_of(manifest: &str) -> Vec<Value> {
    // JSON may have characters that YAML refuses.
    let as_json = serde_json::from_str(manifest).map(|object: Value| vec![object]);
    let documents = as_json.unwrap_or_else(|_| serde_saphyr::from_multiple(manifest).unwrap_or_default());
    let items = |object: Value| match object {
        Value::Null => Vec::new(),
        list if list["kind"] == "List" => list["items"].as_array().cloned().unwrap_or_default(),
        object => vec![object],
    };
    documents.into_iter().flat_map(items).collect()
}

//! The nodes of the cluster, as far as ads depend on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::quantity::{Quantity, Unit};
use k8s_openapi::api::core::v1::{Node, NodeSystemInfo};
use kube::ResourceExt;

/// What is read of a node. Heartbeats are not: they change all the time, and nothing depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its condition Ready is True.
    pub ready: bool,
    /// It is not cordoned, and not being deleted.
    pub schedulable: bool,
    /// Facts about its system, by the name of the attribute.
    pub system: BTreeMap<&'static str, String>,
    /// What pods may use of it, by resource: cpu in cores, memory and storage in MiB, rounded down.
    pub allocatable: BTreeMap<String, i64>,
    /// Its taints, each as key, value and effect.
    pub taints: Vec<[String; 3]>,
    /// Its conditions except `Ready`, without those whose status is Unknown.
    pub conditions: BTreeMap<String, bool>,
}

/// The name of an attribute, and its value in `status.nodeInfo`.
pub type SystemFact = (&'static str, fn(&NodeSystemInfo) -> &str);

impl NodeFacts {
    /// The facts about a node's system.
    pub const SYSTEM: [SystemFact; 6] = [
        ("Arch", |info| &info.architecture),
        ("OpSys", |info| &info.operating_system),
        ("KernelVersion", |info| &info.kernel_version),
        ("OsImage", |info| &info.os_image),
        ("KubeletVersion", |info| &info.kubelet_version),
        ("ContainerRuntime", |info| &info.container_runtime_version),
    ];

    /// What is read of a Node.
    pub fn of(node: &Node) -> NodeFacts {
        let status = node.status.clone().unwrap_or_default();
        let spec = node.spec.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let known = conditions.iter().filter(|found| found.type_ != "Ready");
        let truth = |status: &str| match status {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        };
        let info = status.node_info.unwrap_or_default();
        let system = NodeFacts::SYSTEM.map(|(name, value)| (name, value(&info).to_owned()));
        let amounts = status.allocatable.unwrap_or_default().into_iter();
        NodeFacts {
            name: node.name_any(),
            labels: node.labels().clone(),
            ready: conditions.iter().any(|found| found.type_ == "Ready" && found.status == "True"),
            schedulable: spec.unschedulable != Some(true) && node.metadata.deletion_timestamp.is_none(),
            system: system.into_iter().filter(|(_, text)| !text.is_empty()).collect(),
            allocatable: amounts
                .filter_map(|(name, text)| Some((name.clone(), Quantity::parse(&text.0)?.floor(Unit::of(&name))?)))
                .collect(),
            taints: taints(spec.taints.unwrap_or_default()),
            conditions: known.filter_map(|found| Some((found.type_.clone(), truth(&found.status)?))).collect(),
        }
    }
}

/// The taints without those of Kubernetes itself, which only repeat conditions and cordons.
fn taints(all: Vec<k8s_openapi::api::core::v1::Taint>) -> Vec<[String; 3]> {
    let own = all.into_iter().filter(|taint| !taint.key.starts_with("node.kubernetes.io/"));
    own.map(|taint| [taint.key, taint.value.unwrap_or_default(), taint.effect]).collect()
}

/// The nodes, by name.
pub type Nodes = BTreeMap<String, Arc<NodeFacts>>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Objects;

    #[test]
    fn facts_about_the_system_are_those_of_node_info() {
        let info = r#"{"architecture": "amd64", "operatingSystem": "linux", "kernelVersion": "6.1.0", "osImage": "Debian 12",
            "kubeletVersion": "v1.36.4", "containerRuntimeVersion": "containerd://2.0", "bootID": "b", "machineID": "m",
            "kubeProxyVersion": "", "systemUUID": "s"}"#;
        let text = format!(r#"{{"metadata": {{"name": "n"}}, "status": {{"nodeInfo": {info}}}}}"#);
        let held = NodeFacts::of(&serde_json::from_str(&text).unwrap());
        let expected = [
            ("Arch", "amd64"),
            ("OpSys", "linux"),
            ("KernelVersion", "6.1.0"),
            ("OsImage", "Debian 12"),
            ("KubeletVersion", "v1.36.4"),
            ("ContainerRuntime", "containerd://2.0"),
        ];
        assert_eq!(held.system, expected.map(|(name, value)| (name, value.to_owned())).into());
    }

    #[test]
    fn a_heartbeat_is_nothing_new() {
        let node = |beat: &str, ready: &str| -> NodeFacts {
            let text = format!(
                r#"{{"metadata": {{"name": "n", "labels": {{"pool": "lab"}}}},
                "spec": {{"taints": [{{"key": "lab", "effect": "NoSchedule"}}, {{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}}]}},
                "status": {{"allocatable": {{"cpu": "4"}}, "nodeInfo": {{"architecture": "amd64"}}, "conditions": [
                  {{"type": "Ready", "status": "{ready}", "lastHeartbeatTime": "{beat}"}},
                  {{"type": "DiskPressure", "status": "False"}}, {{"type": "Odd", "status": "Unknown"}}]}}}}"#
            );
            NodeFacts::of(&serde_json::from_str(&text).unwrap())
        };
        let mut objects = Objects::default();
        assert!(objects.put_node(node("2026-11-21T14:00:00Z", "True")));
        assert!(!objects.put_node(node("2026-11-21T15:00:00Z", "True")));
        assert!(objects.put_node(node("2026-11-21T15:00:00Z", "Unknown")));
        let held = objects.nodes.as_ref().unwrap()["n"].clone();
        assert!(!held.ready && held.schedulable);
        assert_eq!(held.taints, [["lab", "", "NoSchedule"].map(str::to_owned)]);
        assert_eq!(held.conditions, BTreeMap::from([("DiskPressure".to_owned(), false)]));
        objects.retain_nodes(|_| false);
        assert!(objects.nodes.unwrap().is_empty());
    }
}

//! The namespaces in which the controller starts workloads.

use std::collections::BTreeSet;

use crds::ad::NotAccepted;
use crds::conditions::reasons;

/// The namespaces in which workloads are started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkloadScope {
    /// In all namespaces.
    #[default]
    Everywhere,
    /// In these; if there are none, nowhere.
    In(BTreeSet<String>),
}

impl WorkloadScope {
    /// Whether workloads are started in this namespace.
    #[must_use]
    pub fn includes(&self, namespace: &str) -> bool {
        match self {
            WorkloadScope::Everywhere => true,
            WorkloadScope::In(namespaces) => namespaces.contains(namespace),
        }
    }

    /// Why a Job with a workload is not accepted in this namespace, if it is not.
    pub(crate) fn refusal(&self, namespace: &str) -> Option<NotAccepted> {
        let found = format!("spec.workload: found a workload in the namespace {namespace}, and gangmatch");
        let message = match self {
            _ if self.includes(namespace) => return None,
            WorkloadScope::In(namespaces) if !namespaces.is_empty() => format!(
                "{found} has no right to start any there: add `{namespace}` to the chart's value workloads.namespaces"
            ),
            _ => format!(
                "{found} is installed without the right to start any: set the chart's value workloads.enabled to true"
            ),
        };
        Some(NotAccepted::new(reasons::WORKLOADS_DISABLED, &message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectKey, Objects};

    #[test]
    fn a_job_with_a_workload_is_not_accepted_where_none_may_be_started() {
        let job = |namespace: &str, workload: &str| {
            let text = format!(
                r#"{{"metadata": {{"name": "j", "namespace": "{namespace}", "uid": "u"}}, "spec": {{"constraint": "true"{workload}}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let template = r#", "workload": {"workloadRef": {"name": "nightly"}}"#;
        let said = |scope: &WorkloadScope, namespace: &str, workload: &str| {
            let mut objects = Objects::default().with_workloads_in(scope.clone());
            objects.jobs.put(job(namespace, workload));
            let held = objects.jobs.get(&ObjectKey::new(namespace, "j")).unwrap();
            held.ad.as_ref().err().map(|problem| (problem.reason, problem.message.clone()))
        };
        let one = WorkloadScope::In(["eda".to_owned()].into());
        assert_eq!(said(&one, "eda", template), None);
        assert_eq!(said(&one, "web", ""), None, "it wants none");
        let (reason, message) = said(&one, "web", template).unwrap();
        assert_eq!(reason, "WorkloadsDisabled");
        assert!(message.ends_with("add `web` to the chart's value workloads.namespaces"), "{message}");
        let (_, message) = said(&WorkloadScope::In(BTreeSet::new()), "web", template).unwrap();
        assert!(message.ends_with("set the chart's value workloads.enabled to true"), "{message}");
    }
}

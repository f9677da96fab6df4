//! Why pods have not started: what the scheduler or a kubelet writes into their statuses.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;
use pool::has_finished;

/// What kubelets write into the status of a container that is merely on its way.
const ON_THE_WAY: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// What keeps the first pod, by name, of which it is known: ``pod `j-x`: container `sim` waits: ErrImagePull: ...``.
pub(crate) fn why_not_started(pods: &[Pod]) -> Option<String> {
    let mut waiting: Vec<&Pod> = pods.iter().filter(|pod| !has_finished(pod)).collect();
    waiting.sort_by_key(|pod| pod.name_any());
    waiting.into_iter().find_map(|pod| Some(format!("pod `{}`: {}", pod.name_any(), why(pod)?)))
}

fn why(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    containers.into_iter().find_map(why_container).or_else(|| {
        let is_unscheduled = |condition: &&_| {
            let condition: &k8s_openapi::api::core::v1::PodCondition = condition;
            condition.type_ == "PodScheduled" && condition.status == "False"
        };
        let unscheduled = status.conditions.iter().flatten().find(is_unscheduled)?;
        joined(unscheduled.reason.as_deref(), unscheduled.message.as_deref())
    })
}

fn why_container(container: &ContainerStatus) -> Option<String> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    if ON_THE_WAY.contains(&waiting.reason.as_deref().unwrap_or_default()) {
        return None;
    }
    let why = joined(waiting.reason.as_deref(), waiting.message.as_deref())?;
    Some(format!("container `{}` waits: {why}", container.name))
}

/// Reason and message, as far as they are there.
fn joined(reason: Option<&str>, message: Option<&str>) -> Option<String> {
    let parts: Vec<&str> = [reason, message].into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, status: &Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": name}, "status": status})).unwrap()
    }

    fn container(reason: &str, message: &str) -> Value {
        json!({"name": "sim", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": reason, "message": message}}})
    }

    #[test]
    fn a_container_that_waits_and_a_pod_without_a_node_say_why() {
        let no_image = pod("b", &json!({"containerStatuses": [container("ErrImageNeverPull", "not present")]}));
        let on_the_way = pod("a", &json!({"containerStatuses": [container("ContainerCreating", "")]}));
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available"});
        let nowhere = pod("c", &json!({"conditions": [condition]}));
        let finished = pod("0", &json!({"phase": "Failed", "containerStatuses": [container("Error", "")]}));
        let image = "pod `b`: container `sim` waits: ErrImageNeverPull: not present";
        let node = "pod `c`: Unschedulable: 0/1 nodes are available";
        for (pods, expected) in [
            (vec![&nowhere, &no_image, &on_the_way], Some(image)),
            (vec![&nowhere], Some(node)),
            (vec![&on_the_way, &finished], None),
            (vec![], None),
        ] {
            let pods: Vec<Pod> = pods.into_iter().cloned().collect();
            assert_eq!(why_not_started(&pods).as_deref(), expected);
        }
    }
}

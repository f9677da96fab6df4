//! What the pods of a Job's template request of their node into the default request of the Job, and into what contradicts its own request.

use std::collections::BTreeMap;

use classad::{Ad, Expr, Name, Value, constant, equated};
use serde_json::Value as Json;

use super::NotAccepted;
use super::draft::Draft;
use crate::Job;
use crate::conditions::reasons;
use crate::quantity::{Quantity, Unit};

/// A resource of pods, the same as it is called in the capacity of Machines, and the attribute that requests it.
const RESOURCES: [(&str, &str, &str); 2] = [("cpu", "cpus", "RequestCpus"), ("memory", "memory", "RequestMemory")];
/// A request of more than so many times what the pods request is probably a mistake.
const FAR: i64 = 4;

/// Writes what the template requests into the ad, as `RequestCpus` and `RequestMemory`, unless the ad defines these attributes itself.
///
/// # Errors
/// If the template requests more of its nodes than the ad does.
pub(super) fn apply(job: &Job, draft: &mut Draft) -> Result<(), NotAccepted> {
    let Some(template) = job.spec.workload.as_ref().and_then(|workload| workload.job_template.as_ref()) else {
        return Ok(());
    };
    for (resource, name, attribute) in RESOURCES {
        let machines = machines(draft);
        let Some(amount) = requested(template, resource, nodes(&machines)) else { continue };
        for (place, expr) in requests(draft, &machines, name, attribute) {
            let Some(Value::Integer(own)) = constant(&expr) else { continue };
            let unit = if Unit::of(name) == Unit::Mebibytes { " MiB" } else { "" };
            let pods = format!("spec.workload.jobTemplate: its pods request {amount}{unit} of {name} on each node");
            if amount > own {
                let message = format!(
                    "{pods}, and {place} only {own}{unit}; write at least {amount} there, or less in the template"
                );
                return Err(NotAccepted::new(reasons::WORKLOAD_INVALID, &message));
            }
            if own > amount.saturating_mul(FAR) {
                draft
                    .warnings
                    .push(format!("{pods}, and {place} {own}{unit}, which others cannot use; write the same in both"));
            }
        }
        if draft.ad().get(attribute).is_none() {
            draft.ad().insert(attribute.into(), Expr::literal(Value::Integer(amount)));
        }
    }
    Ok(())
}

/// The ads of the ports that ask for a machine, each with its place; none for an ad without ports. Where no port names a kind, the first
/// is taken for one.
fn machines(draft: &mut Draft) -> Vec<(String, Ad)> {
    let place = draft.place("Ports").unwrap_or("spec.ports").to_owned();
    let list = draft.ad().get("Ports").and_then(Expr::as_list).map(<[Expr]>::to_vec).unwrap_or_default();
    let ports: Vec<(String, Ad)> = list
        .iter()
        .enumerate()
        .filter_map(|(number, port)| Some((format!("{place}[{number}]"), port.as_ad()?.clone())))
        .collect();
    let is_machine = |(_, port): &&(String, Ad)| {
        let label = port.get("Label").and_then(Expr::as_attribute).cloned().or_else(|| text(port.get("Label")?));
        let constraint = port.get("Constraint").or_else(|| port.get("Requirements"));
        let kind = label.zip(constraint).and_then(|(label, constraint)| equated(constraint, &label, "Type"));
        kind.is_some_and(|(_, kind)| kind.eq_ignore_ascii_case("Machine"))
    };
    let machines: Vec<(String, Ad)> = ports.iter().filter(is_machine).cloned().collect();
    if machines.is_empty() { ports.into_iter().take(1).collect() } else { machines }
}

/// On how many nodes the pods run, as far as that is known: a count that is not written as a number may be more than one.
fn nodes(machines: &[(String, Ad)]) -> usize {
    let of = |(_, port): &(String, Ad)| {
        let count = port.get("Count").or_else(|| port.get("MaxCount"));
        count.map_or(1, |count| match constant(count) {
            Some(Value::Integer(count)) => usize::try_from(count).unwrap_or(1),
            _ => 2,
        })
    };
    machines.iter().map(of).fold(0, usize::saturating_add)
}

fn text(label: &Expr) -> Option<Name> {
    match label.as_literal() {
        Some(Value::String(text)) => Some(Name::new(text.clone())),
        _ => None,
    }
}

/// What the ad itself requests of a resource of its machines, each with its place.
fn requests(draft: &mut Draft, machines: &[(String, Ad)], name: &str, attribute: &str) -> Vec<(String, Expr)> {
    let mut all = Vec::new();
    let named = |ad: &Ad| ad.get("Request").and_then(Expr::as_ad).and_then(|request| request.get(name)).cloned();
    for (place, port) in machines {
        let own = named(port).map(|expr| (format!("{place}.request.{name}"), expr));
        all.extend(own.or_else(|| Some((format!("{place}.{attribute}"), port.get(attribute)?.clone()))));
    }
    if machines.is_empty() {
        all.extend(named(draft.ad()).map(|expr| (format!("spec.request.{name}"), expr)));
    }
    if all.is_empty()
        && let Some(expr) = draft.ad().get(attribute).cloned()
    {
        all.push((draft.place(attribute).unwrap_or(attribute).to_owned(), expr));
    }
    all
}

/// What the pods of a template request on one node, in the unit of the resource, rounded up; none if they request nothing.
fn requested(template: &BTreeMap<String, Json>, resource: &str, nodes: usize) -> Option<i64> {
    let spec = template.get("spec")?;
    let pod = spec.pointer("/template/spec")?;
    let count = |field: &str| spec.get(field).and_then(Json::as_i64);
    // On several nodes, there is one pod on each at a time.
    let pods = match nodes {
        0 | 1 => count("parallelism").unwrap_or(1).min(count("completions").unwrap_or(i64::MAX)).max(1),
        _ => 1,
    };
    let each = of_pod(pod, resource).filter(|amount| *amount > Quantity::ZERO)?;
    each.times(pods).ceil(Unit::of(resource))
}

/// What a pod requests, as the scheduler counts it: all containers together, or one init container with the sidecars that run before it,
/// whichever is more; and its overhead.
fn of_pod(pod: &Json, resource: &str) -> Option<Quantity> {
    let own = |fields: &Json| {
        let amount = |list: &str| fields.pointer(&format!("/resources/{list}/{resource}")).and_then(quantity);
        amount("requests").or_else(|| amount("limits"))
    };
    let list = |name: &str| pod.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
    let (mut sidecars, mut init) = (Quantity::ZERO, Quantity::ZERO);
    for container in list("initContainers") {
        let amount = own(&container).unwrap_or(Quantity::ZERO);
        if container.get("restartPolicy").and_then(Json::as_str) == Some("Always") {
            sidecars = sidecars.plus(amount);
            init = init.max(sidecars);
        } else {
            init = init.max(sidecars.plus(amount));
        }
    }
    let containers = list("containers").iter().filter_map(own).fold(sidecars, Quantity::plus);
    let of_containers = containers.max(init);
    let overhead = pod.pointer(&format!("/overhead/{resource}")).and_then(quantity).unwrap_or(Quantity::ZERO);
    Some(own(pod).unwrap_or(of_containers).plus(overhead))
}

/// A quantity as a manifest has it: text, or a number.
fn quantity(value: &Json) -> Option<Quantity> {
    match value {
        Json::String(text) => Quantity::parse(text),
        Json::Number(number) => Quantity::parse(&number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::ad::job_ad;

    fn job(spec: Json) -> Job {
        serde_json::from_value(json!({"metadata": {"name": "sim", "namespace": "ns"}, "spec": spec})).unwrap()
    }

    fn template(pod: Json, more: Json) -> Json {
        let mut pod = pod;
        pod["restartPolicy"] = json!("Never");
        let mut spec = json!({"template": {"spec": pod}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"jobTemplate": {"spec": spec}})
    }

    fn container(requests: Json) -> Json {
        json!({"name": "c", "image": "i", "resources": {"requests": requests}})
    }

    #[test]
    fn the_machines_of_a_counted_port_have_one_pod_each() {
        let pods = json!({"parallelism": 4, "completions": 4});
        let workload = template(json!({"containers": [container(json!({"cpu": "3"}))]}), pods);
        let (cpus, _) = found(json!({"ports": [{"label": "node", "count": 4}], "workload": workload}));
        assert_eq!(cpus, "3");
        let (cpus, _) = found(json!({"ports": [{"label": "node"}], "workload": workload}));
        assert_eq!(cpus, "12");
    }

    fn found(spec: Json) -> (String, String) {
        let ad = job_ad(&job(spec)).unwrap().ad;
        let of = |name: &str| ad.get(name).map(ToString::to_string).unwrap_or_default();
        (of("RequestCpus"), of("RequestMemory"))
    }

    const MACHINE: &str = "other.Type == \"Machine\"";

    #[test]
    fn m9_what_a_template_requests_is_the_default_request() {
        let sidecar =
            json!({"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": "500m"}}});
        for (pod, expected) in [
            (
                json!({"containers": [container(json!({"cpu": 2, "memory": "1Gi"})), container(json!({"cpu": "1500m"}))]}),
                ("4", "1024"),
            ),
            (json!({"containers": [container(json!({"memory": "1000M"}))]}), ("", "954")),
            (
                json!({"containers": [container(json!({"cpu": 1}))], "initContainers": [container(json!({"cpu": 3}))]}),
                ("3", ""),
            ),
            (json!({"containers": [container(json!({"cpu": 1}))], "initContainers": [sidecar]}), ("2", "")),
            (json!({"containers": [container(json!({}))]}), ("", "")),
            (json!({"containers": [container(json!({"cpu": 1}))], "overhead": {"cpu": "100m"}}), ("2", "")),
        ] {
            let spec = json!({"constraint": MACHINE, "workload": template(pod, json!({}))});
            assert_eq!(found(spec.clone()), (expected.0.to_owned(), expected.1.to_owned()), "{spec}");
        }
    }

    #[test]
    fn m9_pods_that_share_a_node_are_counted_together_and_own_attributes_count_first() {
        let pod = || json!({"containers": [container(json!({"cpu": 2}))]});
        let ports = json!([
            {"label": "a", "constraint": "a.Type == \"Machine\""},
            {"label": "b", "constraint": "b.Type == \"Machine\""},
            {"label": "l", "constraint": "l.Type == \"License\""},
        ]);
        let three = json!({"parallelism": 3, "completions": 9});
        let on_one = json!({"constraint": MACHINE, "workload": template(pod(), three.clone())});
        assert_eq!(found(on_one).0, "6");
        let on_two = json!({"ports": ports, "workload": template(pod(), three)});
        assert_eq!(found(on_two).0, "2", "one pod on each node at a time");
        let one_each = json!({"ports": ports, "workload": template(pod(), json!({}))});
        assert_eq!(found(one_each).0, "2");
        let own =
            json!({"constraint": MACHINE, "attributes": {"RequestCpus": 3}, "workload": template(pod(), json!({}))});
        assert_eq!(found(own).0, "3");
    }

    #[test]
    fn m9_a_template_that_requests_more_than_the_job_is_refused_and_far_less_is_told() {
        let pod = || json!({"containers": [container(json!({"cpu": 40}))]});
        let small = json!({"constraint": MACHINE, "request": {"cpus": 1}, "workload": template(pod(), json!({}))});
        let refused = job_ad(&job(small)).unwrap_err();
        assert_eq!(refused.reason, "WorkloadInvalid");
        assert_eq!(
            refused.message,
            "spec.workload.jobTemplate: its pods request 40 of cpus on each node, and spec.request.cpus only 1; write at least 40 there, \
             or less in the template"
        );
        let port = json!([{"label": "m", "constraint": "m.Type == \"Machine\"", "request": {"cpus": 500}}]);
        let warned = job_ad(&job(json!({"ports": port, "workload": template(pod(), json!({}))}))).unwrap();
        assert!(
            warned.warnings[0].contains("and spec.ports[0].request.cpus 500, which others cannot use"),
            "{:?}",
            warned.warnings
        );
        let equal = json!({"constraint": MACHINE, "request": {"cpus": 40}, "workload": template(pod(), json!({}))});
        assert!(job_ad(&job(equal)).unwrap().warnings.is_empty());
    }
}

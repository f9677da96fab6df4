//! A Match and its members as they are now into what their workload can read: the members, what it holds of them, and the variables
//! that the job asks for.

use std::collections::{BTreeMap, BTreeSet};

use classad::{Expr, Limits, Value};
use crds::{Job, Match, Member, OfferKind, Res};
use jiff::Timestamp;
use kube::ResourceExt;
use matchmaker::{Config as EngineConfig, evaluate};
use pool::{ObjectKey, Objects, gang_of};
use serde_json::Value as Json;

/// The label that says which node a node is.
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";

/// One offer of a gang.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seat {
    /// The labels from the root to it: `cpu`, or `cpu`, `disk`.
    pub(crate) path: Vec<String>,
    /// It is one of a set, at a counted port.
    pub(crate) is_of_a_set: bool,
    pub(crate) kind: String,
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    /// The node that it is.
    pub(crate) node: Option<String>,
    /// What that node says under the label `kubernetes.io/hostname`.
    pub(crate) hostname: Option<String>,
    /// What pods on that node may tolerate, by its owner's leave.
    pub(crate) tolerations: Vec<Json>,
    pub(crate) allocation: Res,
}

/// A gang, as its workload sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gang {
    /// The Match, which also names the batch Job.
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
    /// The job's name.
    pub(crate) job: String,
    /// The user who has created the job.
    pub(crate) owner: Option<String>,
    pub(crate) seats: Vec<Seat>,
    /// The variables that the job asks for.
    pub(crate) asked: Vec<(String, String)>,
}

/// The gang of a Match.
pub(crate) fn gang(found: &Match, job: &Job, objects: &Objects, engine: &EngineConfig, now: Timestamp) -> Gang {
    let members = &found.spec.members;
    let offers = members.iter().filter(|member| member.parent.is_some());
    let counted = counted_labels(job, objects);
    Gang {
        key: ObjectKey::of(found),
        uid: found.uid().unwrap_or_default(),
        job: job.name_any(),
        owner: job.spec.ad.owner.clone(),
        seats: offers
            .map(|member| Seat {
                is_of_a_set: is_of_a_set(member, members, &counted),
                ..seat(member, members, objects)
            })
            .collect(),
        asked: asked(found, job, objects, engine, now),
    }
}

fn seat(member: &Member, members: &[Member], objects: &Objects) -> Seat {
    let key = ObjectKey::new(&member.namespace, &member.name);
    let machine = objects.machines.get(&key).filter(|_| member.kind == OfferKind::Machine.as_str());
    let machine = machine.map(|held| held.object.as_ref()).filter(|found| found.uid().as_ref() == Some(&member.uid));
    let node = machine.and_then(|machine| machine.spec.node_name.clone());
    let allowed = machine.and_then(|machine| machine.spec.ad.attributes.as_ref()).filter(|_| node.is_some());
    let facts = node.as_ref().and_then(|node| objects.nodes.as_ref()?.get(node));
    let hostname = facts.and_then(|facts| facts.labels.get(HOSTNAME)).or(node.as_ref()).cloned();
    Seat {
        path: path(member, members),
        is_of_a_set: false,
        kind: member.kind.clone(),
        uid: member.uid.clone(),
        tolerations: allowed.map(tolerations).unwrap_or_default(),
        allocation: member.allocation.clone().unwrap_or_default(),
        hostname,
        node,
        key,
    }
}

/// The labels of the job's counted ports.
fn counted_labels(job: &Job, objects: &Objects) -> Vec<String> {
    let held = objects.jobs.get(&ObjectKey::of(job));
    let ad = held.and_then(|held| held.ad.as_ref().ok());
    let ports = ad.map_or(&[][..], |ad| &ad.ports.list);
    ports.iter().filter(|port| port.set.is_some()).map(|port| port.label.as_str().to_owned()).collect()
}

/// Whether a member is bound at a counted port: one of the job, or one at which there are others.
fn is_of_a_set(member: &Member, members: &[Member], counted: &[String]) -> bool {
    let label = member.parent_port.as_deref().unwrap_or_default();
    let is_beside = |other: &&Member| other.parent == member.parent && other.parent_port == member.parent_port;
    let of_job = member.parent == Some(0) && counted.iter().any(|counted| counted.eq_ignore_ascii_case(label));
    of_job || members.iter().filter(is_beside).count() > 1
}

fn path(member: &Member, members: &[Member]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    let mut at = Some(member);
    // as many steps up as there are members: a circle is no tree, and ends here too
    for _ in members {
        let Some(here) = at else { break };
        labels.extend(here.parent_port.clone());
        at = members.iter().find(|other| Some(other.id) == here.parent);
    }
    labels.reverse();
    labels
}

/// The attribute `Tolerations` of a machine: a list of ads with Key, Operator, Value, Effect, whatever their case.
fn tolerations(attributes: &BTreeMap<String, Json>) -> Vec<Json> {
    let found = attributes.iter().find(|(name, _)| name.eq_ignore_ascii_case("Tolerations"));
    let list = found.and_then(|(_, value)| value.as_array()).map_or(&[][..], Vec::as_slice);
    let toleration = |ad: &Json| {
        let fields = ad.as_object()?.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        let known = fields.filter(|(name, value)| {
            ["key", "operator", "value", "effect"].contains(&name.as_str()) && value.is_string()
        });
        Some(Json::Object(known.collect()))
    };
    list.iter().filter_map(toleration).collect()
}

/// How long the value of a variable may be, and all of them together, in bytes: each container gets them all.
const VALUE_MAX: usize = 4 * 1024;
const VALUES_MAX: usize = 16 * 1024;
/// What it may cost to work out one of them: they are read by the thread on which all else waits.
const FUEL: u64 = 20_000;
const MEMORY: usize = 256 * 1024;

/// The variables in `workload.env`; what is undefined, cannot be evaluated, or is too long is not set.
fn asked(found: &Match, job: &Job, objects: &Objects, engine: &EngineConfig, now: Timestamp) -> Vec<(String, String)> {
    let Ok(exprs) = crds::ad::environment(job) else { return Vec::new() };
    let Some(recalled) = gang_of(found, objects).filter(|_| !exprs.is_empty()) else { return Vec::new() };
    let Some(root) = recalled.gang.root().and_then(|root| recalled.snapshot.ad(root)) else { return Vec::new() };
    let own: Vec<Expr> = exprs.values().map(|expr| root.ports.body.own_expression(expr)).collect();
    let list: Vec<&Expr> = own.iter().collect();
    let limits = Limits { fuel: FUEL, memory: MEMORY, ..engine.limits };
    let engine = EngineConfig { limits, ..engine.clone() };
    let values = evaluate(&recalled.snapshot, &recalled.gang, &list, &engine, now.as_second());
    let all = exprs.keys().zip(values).filter_map(|(name, value)| Some((name.clone(), text(&value?)?)));
    let mut left = VALUES_MAX;
    let fits = |(name, value): &(String, String)| {
        let size = name.len().saturating_add(value.len());
        let fits = value.len() <= VALUE_MAX && size <= left;
        left = left.saturating_sub(if fits { size } else { 0 });
        if !fits {
            tracing::warn!(r#match = %ObjectKey::of(found), name, bytes = value.len(), "a variable in spec.workload.env is too long and is not set");
        }
        fits
    };
    all.filter(fits).collect()
}

/// A value as that of a variable: the items of a list with commas between them; nothing that is undefined.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Undefined | Value::Error => None,
        Value::String(text) => Some(text.to_string()),
        Value::List(list) => list.iter().map(text).collect::<Option<Vec<String>>>().map(|items| items.join(",")),
        other => Some(other.to_string()),
    }
}

impl Gang {
    /// The seats that are nodes.
    pub(crate) fn nodes(&self) -> Vec<&str> {
        self.seats.iter().filter_map(|seat| seat.node.as_deref()).collect()
    }

    /// The environment: what the job asks for, then the members.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let mut all = self.asked.clone();
        let mut put = |name: String, value: &str| {
            if !all.iter().any(|(known, _)| *known == name) {
                all.push((name, value.to_owned()));
            }
        };
        put("GANGMATCH_JOB".to_owned(), &self.job);
        put("GANGMATCH_MATCH".to_owned(), &self.key.name);
        for (path, seats) in self.by_path() {
            let prefix = format!("GANGMATCH_{}", path.join("_").to_ascii_uppercase());
            let each =
                |value: &dyn Fn(&Seat) -> String| seats.iter().map(|seat| value(seat)).collect::<Vec<_>>().join(",");
            put(format!("{prefix}_NAME"), &each(&|seat| seat.key.name.clone()));
            put(format!("{prefix}_NAMESPACE"), &each(&|seat| seat.key.namespace.clone()));
            if seats.iter().any(|seat| seat.node.is_some()) {
                put(format!("{prefix}_NODE"), &each(&|seat| seat.node.clone().unwrap_or_default()));
            }
            if seats.iter().any(|seat| seat.is_of_a_set) {
                put(format!("{prefix}_COUNT"), &seats.len().to_string());
            }
            let resources: BTreeSet<&String> = seats.iter().flat_map(|seat| seat.allocation.keys()).collect();
            for resource in resources {
                let amount = |seat: &Seat| seat.allocation.get(resource).copied().unwrap_or(0).to_string();
                put(format!("{prefix}_{}", variable(resource)), &each(&amount));
            }
        }
        all
    }

    /// The seats by the labels that lead to them: one, or all of a set.
    fn by_path(&self) -> Vec<(&[String], Vec<&Seat>)> {
        let mut all: Vec<(&[String], Vec<&Seat>)> = Vec::new();
        for seat in &self.seats {
            match all.iter_mut().find(|(path, _)| *path == seat.path.as_slice()) {
                Some((_, seats)) => seats.push(seat),
                None => all.push((&seat.path, vec![seat])),
            }
        }
        all
    }

    /// The offers, for the annotation by which they are known when the Match is gone.
    pub(crate) fn members(&self) -> String {
        let word = |seat: &Seat| format!("{}/{}/{}/{}", seat.kind, seat.key.namespace, seat.key.name, seat.uid);
        self.seats.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// A resource's name as part of a variable's: `nvidia.com/gpu` is `NVIDIA_COM_GPU`.
fn variable(resource: &str) -> String {
    resource.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::{found, job, license, machine};
    use serde_json::json;

    #[test]
    fn f9_variables_take_little_memory_however_large_their_values() {
        let mut env = serde_json::Map::new();
        for number in 0..20 {
            env.insert(format!("LONG{number}"), json!("p.Long"));
            env.insert(format!("MADE{number}"), json!("join(\",\", split(p.Many))"));
            env.insert(format!("HALF{number:02}"), json!("p.Half"));
        }
        env.insert("AT_LAST".to_owned(), json!("\"short\""));
        let long = |bytes: usize| "x ".repeat(bytes / 2);
        let attributes = json!({"Long": long(5000), "Half": long(3000), "Many": long(100_000)});
        let mut objects = Objects::default();
        objects.machines.put(machine(&json!({"attributes": attributes}), &json!({})));
        objects.licenses.put(license(&json!({}), &json!({})));
        let ports = json!([{"label": "p"}, {"label": "q"}]);
        let job = job(&json!({"ports": ports, "workload": {"workloadRef": {"name": "x"}, "env": env}}), &json!({}));
        objects.jobs.put(job.clone());
        let mut found = found(&json!({}));
        found.spec.members[2].parent_port = Some("q".to_owned());
        let asked = gang(&found, &job, &objects, &EngineConfig::product(), Timestamp::UNIX_EPOCH).asked;
        let names: Vec<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["AT_LAST", "HALF00", "HALF01", "HALF02", "HALF03", "HALF04"]);
    }

    #[test]
    fn a_gang_tells_who_is_who_and_what_the_job_asks_for() {
        let mut objects = Objects::default();
        let ports = json!([{"label": "p"}, {"label": "q"}]);
        let workload = json!({"workloadRef": {"name": "x"}, "env": {"SERVER": "q.Server", "SEATS": "q.Capacity.seats * 2",
            "NOTHING": "q.NoSuch", "GANGMATCH_JOB": "p.Name"}});
        let job = job(&json!({"ports": ports, "workload": workload}), &json!({}));
        objects.jobs.put(job.clone());
        let tolerations = json!([{"Key": "lab", "Operator": "Exists", "EFFECT": "NoSchedule", "Other": 1}, 7]);
        objects
            .machines
            .put(machine(&json!({"nodeName": "n1", "attributes": {"tolerations": tolerations}}), &json!({})));
        objects
            .licenses
            .put(license(&json!({"attributes": {"Server": "27000@lic"}, "capacity": {"seats": 3}}), &json!({})));
        let mut found = found(&json!({}));
        found.spec.members[1].parent_port = Some("p".to_owned());
        found.spec.members[2].parent_port = Some("q".to_owned());
        let gang = gang(&found, &job, &objects, &EngineConfig::product(), Timestamp::UNIX_EPOCH);
        assert_eq!(gang.nodes(), ["n1"]);
        assert_eq!(gang.seats[0].tolerations, [json!({"key": "lab", "operator": "Exists", "effect": "NoSchedule"})]);
        assert_eq!(gang.members(), "Machine/ns/machine/u-machine License/ns/license/u-license");
        let environment = gang.environment();
        let said = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        for (name, value) in [
            ("SERVER", Some("27000@lic")),
            ("SEATS", Some("6")),
            ("NOTHING", None),
            ("GANGMATCH_JOB", Some("machine")),
            ("GANGMATCH_MATCH", Some("match")),
            ("GANGMATCH_P_NAME", Some("machine")),
            ("GANGMATCH_P_NODE", Some("n1")),
            ("GANGMATCH_Q_NAMESPACE", Some("ns")),
            ("GANGMATCH_Q_NODE", None),
            ("GANGMATCH_Q_SEATS", Some("1")),
        ] {
            assert_eq!(said(name), value, "{name}");
        }
    }

    #[test]
    fn the_variables_of_a_set_are_lists() {
        let mut objects = Objects::default();
        let ports = json!([{"label": "node", "count": 2}, {"label": "q", "count": 1}]);
        let workload = json!({"workloadRef": {"name": "x"}, "env": {"HOSTS": "node.Name", "LAST": "node[1].Name",
            "SEATS": "node.Speed * 2", "ODD": "{1, undefined}"}});
        let job = job(&json!({"ports": ports, "workload": workload}), &json!({}));
        objects.jobs.put(job.clone());
        let mut found = found(&json!({}));
        let mut second = found.spec.members[1].clone();
        (second.name, second.uid) = ("other".to_owned(), "u-other".to_owned());
        let mut other = machine(&json!({"nodeName": "n2"}), &json!({}));
        (other.metadata.name, other.metadata.uid) = (Some("other".to_owned()), Some("u-other".to_owned()));
        objects.machines.put(machine(&json!({"nodeName": "n1"}), &json!({})));
        objects.machines.put(other);
        objects.licenses.put(license(&json!({}), &json!({})));
        found.spec.members.insert(2, second);
        for (number, label) in [(1, "node"), (2, "node"), (3, "q")] {
            found.spec.members[number].id = i32::try_from(number).unwrap();
            found.spec.members[number].parent_port = Some(label.to_owned());
        }
        let gang = gang(&found, &job, &objects, &EngineConfig::product(), Timestamp::UNIX_EPOCH);
        let environment = gang.environment();
        let said = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        for (name, value) in [
            ("GANGMATCH_NODE_NAME", Some("machine,other")),
            ("GANGMATCH_NODE_NAMESPACE", Some("ns,ns")),
            ("GANGMATCH_NODE_NODE", Some("n1,n2")),
            ("GANGMATCH_NODE_COUNT", Some("2")),
            ("GANGMATCH_NODE_SLOTS", Some("1,1")),
            ("GANGMATCH_Q_NAME", Some("license")),
            ("GANGMATCH_Q_COUNT", Some("1")),
            ("HOSTS", Some("machine,other")),
            ("LAST", Some("other")),
            ("ODD", None),
        ] {
            assert_eq!(said(name), value, "{name}");
        }
    }

    #[test]
    fn a_machine_that_is_no_node_allows_nothing() {
        let mut objects = Objects::default();
        objects.machines.put(machine(&json!({"attributes": {"Tolerations": [{"Operator": "Exists"}]}}), &json!({})));
        let gang = gang(
            &found(&json!({})),
            &job(&json!({}), &json!({})),
            &objects,
            &EngineConfig::product(),
            Timestamp::UNIX_EPOCH,
        );
        assert!(gang.nodes().is_empty() && gang.seats.iter().all(|seat| seat.tolerations.is_empty()));
    }

    #[test]
    fn inner_partners_are_named_by_the_way_to_them() {
        let mut found = found(&json!({}));
        found.spec.members[2].parent = Some(1);
        found.spec.members[2].parent_port = Some("disk".to_owned());
        let members = &found.spec.members;
        assert_eq!(path(&members[2], members), ["p", "disk"]);
        assert_eq!(variable("nvidia.com/gpu"), "NVIDIA_COM_GPU");
    }
}

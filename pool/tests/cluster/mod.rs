//! Objects as an API server would hold them.

use crds::{AdFields, ExprText, Job, JobSpec, License, LicenseSpec, Machine, MachineSpec, Port, Res};
use kube::ResourceExt;
use pool::Objects;

pub(crate) fn expr(text: &str) -> Option<ExprText> {
    Some(ExprText::from(text))
}

pub(crate) fn port(label: &str, constraint: &str) -> Port {
    Port { label: label.to_owned(), constraint: expr(constraint), ..Port::default() }
}

/// Puts an object into a namespace, under a uid made of its name.
pub(crate) fn placed<K: ResourceExt>(mut object: K, namespace: &str) -> K {
    let uid = format!("uid-{}", object.name_any());
    let meta = object.meta_mut();
    meta.namespace = Some(namespace.to_owned());
    meta.uid = Some(uid);
    meta.generation = Some(3);
    object
}

/// A job with these ports; with none, it takes whatever comes.
pub(crate) fn job(name: &str, ports: &[Port]) -> Job {
    let ports = (!ports.is_empty()).then(|| ports.to_vec());
    let attributes = Some([("Any".to_owned(), true.into())].into());
    let ad = AdFields { ports, attributes, ..AdFields::default() };
    placed(Job::new(name, JobSpec { ad, ..JobSpec::default() }), "n")
}

pub(crate) fn machine(name: &str) -> Machine {
    placed(Machine::new(name, MachineSpec::default()), "n")
}

/// A license with so many seats and these ports.
pub(crate) fn license(name: &str, seats: i64, ports: &[Port]) -> License {
    let ports = (!ports.is_empty()).then(|| ports.to_vec());
    let ad = AdFields { ports, ..AdFields::default() };
    let capacity = Res::from([("seats".to_owned(), seats)]);
    placed(License::new(name, LicenseSpec { ad, capacity, ..LicenseSpec::default() }), "n")
}

pub(crate) fn objects(jobs: &[Job], machines: &[Machine], licenses: &[License]) -> Objects {
    let mut objects = Objects::default();
    jobs.iter().for_each(|job| objects.jobs.put(job.clone()));
    machines.iter().for_each(|machine| objects.machines.put(machine.clone()));
    licenses.iter().for_each(|license| objects.licenses.put(license.clone()));
    objects
}

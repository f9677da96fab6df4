//! The ads of a simulated pool. First come those of jobs, then those of machines, so that no ad ever changes its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use classad::{Dialect, parse_ad};
use matchmaker::{AdId, AdKey, Ask, Consent, Offer, PoolAd, Ports, Res, Role, Snapshot, Usage};

use crate::fairness::Machine;

/// The one resource of all machines.
pub(super) const SLOTS: &str = "slots";

/// The ads.
pub(super) struct SimulatedPool {
    ads: Vec<Arc<PoolAd>>,
    jobs: usize,
    /// Of jobs, by their text.
    known: BTreeMap<String, Arc<Ports>>,
}

impl SimulatedPool {
    /// So many jobs, which say nothing yet, and these machines.
    pub(super) fn new(jobs: usize, machines: &[Machine]) -> Result<SimulatedPool> {
        let (mut ads, mut known) = (Vec::new(), BTreeMap::new());
        let silent = ports(&job_text(0, &[]), &mut known)?;
        ads.extend((0..jobs).map(|number| Arc::new(ad("Job", number, &silent, Role::Asks))));
        for (number, machine) in machines.iter().enumerate() {
            let text = format!("[Type = \"Machine\"; Number = {number}; Constraint = true; Rank = {}]", machine.rank);
            let ports = ports(&text, &mut known)?;
            ads.push(Arc::new(ad("Machine", number, &ports, Role::Offers(Box::new(free_slot())))));
        }
        Ok(SimulatedPool { ads, jobs, known })
    }

    /// The place of a machine.
    pub(super) fn machine(&self, number: usize) -> AdId {
        AdId::at(self.jobs + number)
    }

    /// The number of the machine at a place.
    pub(super) fn number(&self, place: AdId) -> Option<usize> {
        place.place().checked_sub(self.jobs)
    }

    /// What a job asks for: a machine for each port, this one or any.
    pub(super) fn set_job(&mut self, job: usize, machines: &[Option<usize>]) -> Result<()> {
        let number = if machines.iter().any(Option::is_some) { job } else { 0 };
        let ports = ports(&job_text(number, machines), &mut self.known)?;
        if let Some(known) = self.ads.get_mut(job) {
            *known = Arc::new(ad("Job", job, &ports, Role::Asks));
        }
        Ok(())
    }

    /// A job asks for so many machines at one port.
    pub(super) fn set_big_job(&mut self, job: usize, machines: usize) -> Result<()> {
        let text = format!(
            "[Type = \"Job\"; Ports = {{[Label = all; Constraint = all.Type == \"Machine\"; Count = {machines}; Number = 0]}}]"
        );
        let ports = ports(&text, &mut self.known)?;
        if let Some(known) = self.ads.get_mut(job) {
            *known = Arc::new(ad("Job", job, &ports, Role::Asks));
        }
        Ok(())
    }

    /// Whether the slot of a machine is taken.
    pub(super) fn set_taken(&mut self, number: usize, taken: bool) {
        let place = self.machine(number).place();
        let Some(known) = self.ads.get_mut(place).map(Arc::make_mut) else { return };
        if let Role::Offers(offer) = &mut known.role {
            offer.usage = Usage::default();
            if taken {
                offer.usage.take(&Ask { allocation: slot(), share: None });
            }
        }
    }

    /// The pool as it is now, without roots.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.ads.clone())
    }
}

fn job_text(number: usize, machines: &[Option<usize>]) -> String {
    let port = |(place, machine): (usize, &Option<usize>)| {
        let pinned = machine.map(|machine| format!(" && p{place}.Number == {machine}")).unwrap_or_default();
        format!("[Label = p{place}; Constraint = p{place}.Type == \"Machine\"{pinned}; Number = {number}]")
    };
    let ports: Vec<String> = machines.iter().enumerate().map(port).collect();
    format!("[Type = \"Job\"; Number = {number}; Ports = {{{}}}]", ports.join(", "))
}

fn ports(text: &str, known: &mut BTreeMap<String, Arc<Ports>>) -> Result<Arc<Ports>> {
    if let Some(ports) = known.get(text) {
        return Ok(ports.clone());
    }
    let ports = Arc::new(Ports::of(&parse_ad(text, Dialect::Gangmatch)?));
    known.insert(text.to_owned(), ports.clone());
    Ok(ports)
}

fn ad(kind: &str, number: usize, ports: &Arc<Ports>, role: Role) -> PoolAd {
    let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: format!("{number:05}") };
    PoolAd { uid: format!("{kind}-{number}"), key, node_name: None, ports: ports.clone(), role }
}

fn slot() -> Res {
    Res::from([(SLOTS.to_owned(), 1)])
}

fn free_slot() -> Offer {
    Offer {
        capacity: slot(),
        default_request: slot(),
        usage: Usage::default(),
        shared_by: None,
        consent: Consent::Everybody,
        open: true,
        disclosed: false,
    }
}

//! JSON lines into a snapshot: machines and licenses are offers of one slot each, jobs are roots in the order of the file.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

use classad::{Dialect, Reader};
use matchmaker::{AdKey, Consent, Offer, PoolAd, Ports, Res, Role, Root, Rules, Snapshot, Usage};
use serde_json::Value;

/// What a file holds.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) ads: Vec<Line>,
}

/// One ad: `machine`, `license` or `job`, and its text.
pub(crate) struct Line {
    kind: String,
    text: String,
}

impl Workload {
    pub(crate) fn read(file: &str) -> Result<Workload, Box<dyn Error>> {
        let mut workload = Workload { name: String::new(), ads: Vec::new() };
        for line in std::fs::read_to_string(file)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            let field = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
            match field("kind").as_str() {
                "workload" => workload.name = line.to_string(),
                "machine" | "license" | "job" => {
                    workload.ads.push(Line { kind: field("kind"), text: field("ad") });
                }
                _ => {}
            }
        }
        Ok(workload)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.ads.iter().map(|line| line.text.len()).sum()
    }

    /// Parses all ads.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Box<dyn Error>> {
        let mut reader = Reader::new(Dialect::Htcondor);
        let (mut ads, slot) = (Vec::with_capacity(self.ads.len()), slot());
        for (number, line) in self.ads.iter().enumerate() {
            ads.push(pool_ad(&mut reader, line, number, &slot)?);
        }
        let mut snapshot = Snapshot::new(ads);
        snapshot.roots = snapshot
            .ads()
            .filter(|(_, ad)| ad.offer().is_none())
            .map(|(id, _)| Root {
                ad: id,
                submitter: String::new(),
                priority: 0,
                since: 0,
                exclusions: BTreeSet::new(),
            })
            .collect();
        Ok(snapshot)
    }
}

/// What every offer has.
fn slot() -> Res {
    Res::from([("slots".to_owned(), 1)])
}

fn pool_ad(reader: &mut Reader, line: &Line, number: usize, slot: &Res) -> Result<PoolAd, Box<dyn Error>> {
    let ad = reader.ad(&line.text)?;
    let kind = match line.kind.as_str() {
        "machine" => "Machine",
        "license" => "License",
        _ => "Job",
    };
    let key = AdKey { kind: kind.to_owned(), namespace: String::new(), name: format!("{number:08}") };
    let role = if kind == "Job" {
        Role::Asks
    } else {
        Role::Offers(Box::new(Offer {
            capacity: slot.clone(),
            default_request: Res::new(),
            usage: Usage::default(),
            shared_by: None,
            consent: Consent::Everybody,
            open: true,
        }))
    };
    let ports = Arc::new(Ports::of(&ad, Rules::Product));
    Ok(PoolAd { key, uid: String::new(), node_name: None, ports, role })
}

/// The snapshot with a share of its ads read anew, as if they had been changed: other ones in each round.
pub(crate) fn replaced(
    workload: &Workload,
    snapshot: &Snapshot,
    share: f64,
    round: usize,
) -> Result<Snapshot, Box<dyn Error>> {
    let (mut reader, slot) = (Reader::new(Dialect::Htcondor), slot());
    let every = (1.0 / share).max(1.0) as usize;
    let mut ads: Vec<Arc<PoolAd>> = snapshot.ads().filter_map(|(id, _)| snapshot.shared(id).cloned()).collect();
    for ad in ads.iter_mut().skip(round).step_by(every) {
        let number: usize = ad.key.name.parse()?;
        let line = workload.ads.get(number).ok_or("an ad that is not in the file")?;
        *ad = Arc::new(pool_ad(&mut reader, line, number, &slot)?);
    }
    let mut next = Snapshot::of(ads);
    next.roots = snapshot.roots.clone();
    Ok(next)
}

//! JSON lines into a snapshot: machines and licenses are offers of one slot each, jobs are roots in the order of the file.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::str::FromStr;
use std::sync::Arc;

use classad::{Dialect, Expr, Reader};
use matchmaker::{AdKey, Consent, Offer, PoolAd, Port, Ports, Res, Role, Root, Snapshot, Usage};
use serde_json::Value;

/// What a file holds.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) ads: Vec<Line>,
}

/// One ad: what it is called in the pool, and its text. Names are numbers, so that ads stay in the order of the file.
pub(crate) struct Line {
    key: AdKey,
    text: String,
}

/// Which of its gangs a root gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefer {
    /// The best one.
    Best,
    /// The first in the order of its members' names: the best one where no ad has a rank.
    FirstFit,
}

impl FromStr for Prefer {
    type Err = String;

    fn from_str(name: &str) -> Result<Prefer, String> {
        match name {
            "best" => Ok(Prefer::Best),
            "first-fit" => Ok(Prefer::FirstFit),
            other => Err(format!("--prefer is best or first-fit, not {other}")),
        }
    }
}

impl Workload {
    pub(crate) fn read(file: &str, prefer: Prefer) -> Result<Workload, Box<dyn Error>> {
        let mut workload = Workload { name: String::new(), ads: Vec::new() };
        for line in std::fs::read_to_string(file)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            let field = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
            match field("kind").as_str() {
                "workload" => workload.name = line.to_string(),
                kind @ ("machine" | "license" | "job") => {
                    let (initial, rest) = kind.split_at(1);
                    let (kind, name) = (initial.to_uppercase() + rest, format!("{:08}", workload.ads.len()));
                    let key = AdKey { kind, namespace: String::new(), name };
                    let text = field("ad");
                    let text = if prefer == Prefer::Best { text } else { without_ranks(&text) };
                    workload.ads.push(Line { key, text });
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
        let mut reading = Reading::new();
        let mut ads = Vec::with_capacity(self.ads.len());
        for line in &self.ads {
            ads.push(Arc::new(reading.pool_ad(&line.key, &line.text)?));
        }
        let mut snapshot = Snapshot::of(ads);
        snapshot.roots = snapshot
            .ads()
            .filter(|(_, ad)| ad.offer().is_none())
            .map(|(id, _)| Root {
                ad: id,
                submitter: Arc::default(),
                priority: 0,
                since: 0,
                exclusions: BTreeSet::new(),
            })
            .collect();
        Ok(snapshot)
    }
}

/// The text of an ad without its ranks, as the generator writes them: `Rank = ...; `.
fn without_ranks(text: &str) -> String {
    let mut parts = text.split("Rank = ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.filter_map(|part| part.split_once(';')).fold(first, |text, (_, rest)| text + rest)
}

/// What every offer has.
fn slot() -> Res {
    Res::from([("slots".to_owned(), 1)])
}

/// What ads that are read together share.
struct Reading {
    reader: Reader,
    /// Lists of ports by the identity of their expression, which is kept so that no other expression gets it.
    lists: HashMap<usize, (Expr, Arc<[Port]>)>,
    slot: Res,
}

impl Reading {
    fn new() -> Reading {
        Reading { reader: Reader::new(Dialect::Htcondor), lists: HashMap::new(), slot: slot() }
    }

    fn pool_ad(&mut self, key: &AdKey, text: &str) -> Result<PoolAd, Box<dyn Error>> {
        let ad = self.reader.ad(text)?;
        let role = if key.kind == "Job" {
            Role::Asks
        } else {
            Role::Offers(Box::new(Offer {
                capacity: self.slot.clone(),
                default_request: Res::new(),
                usage: Usage::default(),
                shared_by: None,
                consent: Consent::Everybody,
                open: true,
                disclosed: false,
            }))
        };
        let mut ports = Ports::of(&ad);
        if let Some(list) = ad.get("Ports") {
            let (_, known) = self.lists.entry(list.id()).or_insert_with(|| (list.clone(), Arc::clone(&ports.list)));
            ports.list = Arc::clone(known);
        }
        Ok(PoolAd { key: key.clone(), uid: String::new(), node_name: None, ports: Arc::new(ports), role })
    }
}

/// The snapshot with a share of its ads replaced: each by what the next one of its kind says. Other ones in each round.
pub(crate) fn replaced(
    workload: &Workload,
    snapshot: &Snapshot,
    share: f64,
    round: usize,
) -> Result<Snapshot, Box<dyn Error>> {
    let mut reading = Reading::new();
    let every = (1.0 / share).max(1.0) as usize;
    let mut ads: Vec<Arc<PoolAd>> = snapshot.ads().filter_map(|(id, _)| snapshot.shared(id).cloned()).collect();
    for ad in ads.iter_mut().skip(round).step_by(every) {
        let number: usize = ad.key.name.parse()?;
        let mut rest = workload.ads.iter().cycle().skip(number + 1).take(workload.ads.len());
        let line = rest.find(|line| line.key.kind == ad.key.kind).ok_or("an ad that is not in the file")?;
        *ad = Arc::new(reading.pool_ad(&ad.key, &line.text)?);
    }
    let mut next = Snapshot::of(ads);
    next.roots = snapshot.roots.clone();
    Ok(next)
}

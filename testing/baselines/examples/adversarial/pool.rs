//! Texts of ads into the snapshots of one set.

use std::collections::BTreeSet;
use std::sync::Arc;

use classad::{Dialect, parse_ad, parse_expr};
use matchmaker::{AdKey, Consent, Offer, PoolAd, Ports, Res, Role, Root, Snapshot, Usage};

/// A pool that is hard on somebody.
#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) ads: Vec<PoolAd>,
    /// Every job is a submitter of its own.
    pub(crate) submitters: bool,
    /// Every job was refused by this machine.
    pub(crate) excluded: Option<String>,
    /// Owners' terms for who shares a seat of a license.
    pub(crate) shared_by: Option<&'static str>,
    /// What does not parse; there should be nothing.
    pub(crate) faults: Vec<String>,
}

/// A place in the order of a kind as a name.
fn name(number: usize) -> String {
    format!("a{number:07}")
}

impl Pool {
    fn put(&mut self, kind: &str, text: &str, unit: Option<&str>) {
        let ad = match parse_ad(text, Dialect::Htcondor) {
            Ok(ad) => ad,
            Err(why) => return self.faults.push(format!("{text}: {why:?}")),
        };
        let of_kind = self.ads.iter().rev().find(|ad| ad.key.kind == kind);
        let number = of_kind.and_then(|ad| ad.key.name.get(1..)?.parse::<usize>().ok()).map_or(0, |last| last + 1);
        let key = AdKey { kind: kind.to_owned(), namespace: String::new(), name: name(number) };
        let shared_by =
            self.shared_by.filter(|_| kind == "License").and_then(|by| parse_expr(by, Dialect::Htcondor).ok());
        let role = unit.map_or(Role::Asks, |unit| {
            Role::Offers(Box::new(Offer {
                capacity: Res::from([(unit.to_owned(), 1)]),
                default_request: Res::new(),
                usage: Usage::default(),
                shared_by,
                consent: Consent::Everybody,
                open: true,
                disclosed: false,
            }))
        });
        let ports = Arc::new(Ports::of(&ad));
        self.ads.push(PoolAd { key, uid: String::new(), node_name: None, ports, role });
    }

    pub(crate) fn machine(&mut self, text: &str) {
        self.put("Machine", text, Some("slots"));
    }

    pub(crate) fn license(&mut self, text: &str) {
        self.put("License", text, Some("seats"));
    }

    pub(crate) fn job(&mut self, text: &str) {
        self.put("Job", text, None);
    }

    /// All of it; every job is a root.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new(self.ads.clone());
        let excluded = self.excluded.as_ref().map(|name| AdKey {
            kind: "Machine".to_owned(),
            namespace: String::new(),
            name: name.clone(),
        });
        let exclusions: BTreeSet<AdKey> = excluded.into_iter().collect();
        let jobs = snapshot.ads().filter(|(_, ad)| ad.offer().is_none());
        let root = |(id, ad): (_, &PoolAd)| Root {
            ad: id,
            submitter: if self.submitters { ad.key.name.as_str().into() } else { Arc::default() },
            priority: 0,
            since: 0,
            exclusions: exclusions.clone(),
        };
        snapshot.roots = jobs.map(root).collect();
        snapshot
    }
}

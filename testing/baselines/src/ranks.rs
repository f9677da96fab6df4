//! Ads without ranks: of gangs that are equally good a root gets the first in the order of their members' names (first fit).

use std::sync::Arc;

use matchmaker::{PoolAd, Ports, Snapshot};

/// The same pool, where no port has a rank.
pub fn without_ranks(snapshot: &Snapshot) -> Snapshot {
    let ads = snapshot.ads().map(|(_, ad)| Arc::new(PoolAd { ports: Arc::new(of_ports(&ad.ports)), ..ad.clone() }));
    let mut without = Snapshot::of(ads.collect());
    (without.roots, without.held) = (snapshot.roots.clone(), snapshot.held.clone());
    without
}

fn of_ports(ports: &Ports) -> Ports {
    let mut ports = ports.clone();
    ports.body.remove("GangRank");
    ports.list = ports.list.iter().cloned().map(|port| matchmaker::Port { rank: None, ..port }).collect();
    ports
}

//! The rules of the paper's own examples, on the product's plain search: any ad with ports can be bound to any port, roots
//! included; an ad without ports is a gang of one and never a candidate; what a gang binds is gone, the root included.

use std::collections::BTreeSet;
use std::sync::Arc;

use classad::{Ad, Dialect, Expr, Name, Value, parse_ad, parse_expr};
use matchmaker::{
    AdId, AdKey, Assembly, Bond, Config, Consent, Fx, Gang, Offer, PoolAd, Port, Ports, Res, Role, Score, Snapshot,
    Usage, plain,
};

/// Ads in the order in which they are tried. An ad has no other name than its place.
pub struct PaperPool {
    snapshot: Snapshot,
    config: Config,
    /// The number that a rank's value counts.
    rank_of: fn(&Value) -> Fx,
    /// Ads that gangs have bound.
    taken: BTreeSet<AdId>,
}

/// Every ad offers one of it, which no ad asks for by name.
const WHOLE: &str = "whole-ad";

impl PaperPool {
    /// A pool of ads that are written in this order.
    ///
    /// # Errors
    /// The first text that is no ad.
    pub fn of<'t>(texts: impl Iterator<Item = &'t str>, rank_of: fn(&Value) -> Fx) -> Result<PaperPool, String> {
        let no_ports = parse_expr("{}", Dialect::Htcondor).map_err(|wrong| wrong.to_string())?;
        let mut ads = Vec::new();
        for text in texts {
            let ad = parse_ad(text, Dialect::Htcondor).map_err(|wrong| wrong.to_string())?;
            ads.push(pool_ad(ads.len(), ad, &no_ports));
        }
        let config = Config {
            members_max: 64,
            depth_max: 64,
            steps_max: u64::MAX,
            cycle_steps_max: u64::MAX,
            owner_steps_max: u64::MAX,
            ..Config::product()
        };
        Ok(PaperPool { snapshot: Snapshot::new(ads), config, rank_of, taken: BTreeSet::new() })
    }

    /// Up to `cap` gangs of a root, of what is left, in the order of the search.
    pub fn gangs(&self, root: AdId, cap: usize) -> Vec<Gang> {
        let gangs = if self.taken.contains(&root) {
            Vec::new()
        } else {
            plain::gangs(&self.snapshot, root, cap, &self.config, 0)
        };
        gangs.into_iter().map(|gang| Gang { score: self.score(&gang).unwrap_or_default(), ..gang }).collect()
    }

    /// The best gang of a root, which is taken.
    pub fn take(&mut self, root: AdId) -> Option<Gang> {
        let better = |best: Gang, next: Gang| if next.beats(&best) { next } else { best };
        let best = self.gangs(root, usize::MAX).into_iter().reduce(better)?;
        self.taken.extend(best.members.iter().map(|member| member.ad));
        let close = |(id, ad): (AdId, &PoolAd)| {
            let mut ad = ad.clone();
            if let Role::Offers(offer) = &mut ad.role {
                offer.open &= !self.taken.contains(&id);
            }
            ad
        };
        self.snapshot = Snapshot::new(self.snapshot.ads().map(close).collect());
        Some(best)
    }

    /// What all ranks of a gang come to.
    fn score(&self, gang: &Gang) -> Option<Score> {
        let mut assembly = Assembly::start(&self.snapshot, gang.root()?, &self.config, 0)?;
        for member in gang.members.iter().skip(1) {
            assembly.seat(member.ad, self.snapshot.ad(member.ad)?, member.bond);
        }
        connect(&mut assembly, gang, 0);
        let mut score = Score::default();
        for (member, bond) in gang.members.iter().enumerate().filter_map(|(place, member)| Some((place, member.bond?)))
        {
            let (parent, child) =
                (self.rank(&assembly, bond.parent(), bond.port()), self.rank(&assembly, member, bond.via()));
            if bond.parent() == 0 {
                score.own += parent;
                score.partners += child;
            } else {
                score.deeper += parent;
                score.deeper += child;
            }
        }
        Some(score)
    }

    fn rank(&self, assembly: &Assembly<'_>, member: usize, port: usize) -> Fx {
        let rank = assembly.port(member, port).and_then(|port| port.rank.as_ref());
        let value = rank.and_then(|rank| assembly.value_at(member, port, rank));
        value.map_or(Fx::default(), |value| (self.rank_of)(&value))
    }
}

fn pool_ad(number: usize, mut ad: Ad, no_ports: &Expr) -> PoolAd {
    if ad.get("Ports").is_none() {
        ad.insert(Name::new("Ports"), no_ports.clone());
    }
    let mut ports = Ports::of(&ad);
    ports.list = ports.list.iter().cloned().map(|port| Port { request: None, ..port }).collect();
    // `Ports = {}` is no implicit port here.
    if ad.get("Ports").and_then(Expr::as_list).is_some_and(<[Expr]>::is_empty) {
        (ports.list, ports.implicit) = (Arc::new([]), false);
    }
    let offer = Offer {
        capacity: Res::from([(WHOLE.to_owned(), 1)]),
        default_request: Res::new(),
        usage: Usage::default(),
        shared_by: None,
        consent: Consent::Everybody,
        open: true,
    };
    let key = AdKey { kind: String::new(), namespace: String::new(), name: format!("{number:08}") };
    let role = Role::Offers(Box::new(offer));
    PoolAd { key, uid: String::new(), node_name: None, ports: Arc::new(ports), role }
}

/// Port by port, as the search binds them.
fn connect(assembly: &mut Assembly<'_>, gang: &Gang, member: usize) {
    let Some(seat) = assembly.seats().get(member) else { return };
    let (ports, via) = (seat.ad.ports.list.len(), seat.bond.map(Bond::via));
    for port in 0..ports {
        if Some(port) == via {
            assembly.connect(member);
            continue;
        }
        let hangs_here = |bond: Bond| bond.parent() == member && bond.port() == port;
        if let Some(child) = gang.members.iter().position(|other| other.bond.is_some_and(hangs_here)) {
            connect(assembly, gang, child);
        }
    }
}

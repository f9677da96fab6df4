//! The rules of the paper's own examples, on the product's plain search: any ad with ports can be bound to any port, roots
//! included; an ad without ports is a gang of one and never a candidate; what a gang binds is gone, the root included.

use std::collections::BTreeSet;
use std::sync::Arc;

use classad::{Ad, Dialect, Expr, Name, parse_ad, parse_expr};
use matchmaker::{
    AdId, AdKey, Config, Consent, Gang, Offer, PoolAd, Port, Ports, Res, Role, Shortage, Snapshot, Usage, plain,
};

/// Ads in the order in which they are tried. An ad has no other name than its place.
pub struct PaperPool {
    snapshot: Snapshot,
    config: Config,
    /// Ads that gangs have bound.
    taken: BTreeSet<AdId>,
}

/// Every ad offers one of it, which no ad asks for by name.
const WHOLE: &str = "whole-ad";

impl PaperPool {
    /// A pool of ads that are written in this order. `rank_of` says what stands for a rank.
    ///
    /// # Errors
    /// The first text that is no ad.
    pub fn of<'t>(texts: impl Iterator<Item = &'t str>, rank_of: fn(&Expr) -> Expr) -> Result<PaperPool, String> {
        let no_ports = parse_expr("{}", Dialect::Htcondor).map_err(|wrong| wrong.to_string())?;
        let mut ads = Vec::new();
        for text in texts {
            let ad = parse_ad(text, Dialect::Htcondor).map_err(|wrong| wrong.to_string())?;
            ads.push(pool_ad(ads.len(), ad, &no_ports, rank_of));
        }
        let config = Config {
            members_max: 64,
            depth_max: 64,
            steps_max: u64::MAX,
            cycle_steps_max: u64::MAX,
            owner_steps_max: u64::MAX,
            ..Config::product()
        };
        Ok(PaperPool { snapshot: Snapshot::new(ads), config, taken: BTreeSet::new() })
    }

    /// Up to `cap` gangs of a root, of what is left, in the order of the search.
    pub fn gangs(&self, root: AdId, cap: usize) -> Vec<Gang> {
        match self.taken.contains(&root) {
            true => Vec::new(),
            false => plain::gangs(&self.snapshot, root, cap, &self.config, 0),
        }
    }

    /// The first counted port of a root that has too few candidates.
    pub fn shortage(&self, root: AdId) -> Option<Shortage> {
        matchmaker::shortage(&self.snapshot, root, &self.config, 0)
    }

    /// The pool in which these ads are jobs, which no other root takes, and the settings of its searches.
    #[must_use]
    pub fn with_jobs(&self, jobs: &BTreeSet<AdId>) -> (Snapshot, &Config) {
        let asks = |(id, ad): (AdId, &PoolAd)| {
            let mut ad = ad.clone();
            if jobs.contains(&id) {
                ad.role = Role::Asks;
            }
            ad
        };
        (Snapshot::new(self.snapshot.ads().map(asks).collect()), &self.config)
    }

    /// The best gang of a root, which is taken.
    pub fn take(&mut self, root: AdId) -> Option<Gang> {
        let nobody = BTreeSet::new();
        let root = Some(root).filter(|root| !self.taken.contains(root))?;
        let best = plain::best(&self.snapshot, root, &nobody, &self.config, 0).gang?;
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
}

fn pool_ad(number: usize, mut ad: Ad, no_ports: &Expr, rank_of: fn(&Expr) -> Expr) -> PoolAd {
    if ad.get("Ports").is_none() {
        ad.insert(Name::new("Ports"), no_ports.clone());
    }
    let mut ports = Ports::of(&ad);
    let as_written = |port: &Port| Port { request: None, rank: port.rank.as_ref().map(rank_of), ..port.clone() };
    ports.list = ports.list.iter().map(as_written).collect();
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
        disclosed: false,
    };
    let key = AdKey { kind: String::new(), namespace: String::new(), name: format!("{number:08}") };
    let role = Role::Offers(Box::new(offer));
    PoolAd { key, uid: String::new(), node_name: None, ports: Arc::new(ports), role }
}

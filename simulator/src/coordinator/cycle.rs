//! What a coordinator has seen into new gangs, by the product's engine, and gangs into claims.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use claiming::Event;
use matchmaker::{
    AdKey, Ask, Config, Consent, Gang, Offer as Terms, PoolAd, Ports, Res, Role, Root, Rules, Snapshot, Usage, negotiate,
};

use crate::coordinator::view::{View, waits};
use crate::coordinator::{Coordinator, Request};
use crate::objects::{Decision, Key, Match, Member, Stored};

/// What an offer is; by its name's number, so that a namesake is the same again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trade {
    /// Takes a job.
    Machine,
    /// Takes a job, and needs a license itself.
    Station,
    /// Is needed by a job, or by a station.
    License,
}

impl Trade {
    /// What the offer of this name is.
    fn of(name: u8) -> Trade {
        [Trade::Machine, Trade::License, Trade::Station, Trade::License].get(usize::from(name % 4)).copied().unwrap_or(Trade::Machine)
    }
}

struct Ads {
    job: std::sync::Arc<Ports>,
    offers: BTreeMap<&'static str, std::sync::Arc<Ports>>,
}

/// Jobs want a machine and a license; a station brings its license along, so a job takes a station instead of both.
static ADS: LazyLock<Option<Ads>> = LazyLock::new(|| {
    let ad = |text: &str| Some(std::sync::Arc::new(Ports::of(&classad::parse_ad(text, classad::Dialect::Gangmatch).ok()?, Rules::Product)));
    let machine = ad(r#"[What = "machine"; Requirements = other.What == "job"; Rank = 1]"#)?;
    let license = ad(r#"[What = "license"; Requirements = other.What == "job" || other.What == "station"]"#)?;
    let station = ad(
        r#"[What = "station"; Ports = {[Label = user; Requirements = user.What == "job"],
            [Label = tool; Requirements = tool.What == "license"]}]"#,
    )?;
    let job = ad(
        r#"[What = "job"; Ports = {[Label = place; Requirements = place.What == "machine" || place.What == "station"],
            [Label = extra; Requirements = extra.What == "license"]}]"#,
    )?;
    Some(Ads { job, offers: BTreeMap::from([("Machine", machine), ("License", license), ("Station", station)]) })
});

/// How much a claim takes of each offer, at most.
const RESOURCE: &str = "seats";

impl Coordinator {
    /// Finds gangs for the jobs that wait and begins to claim them.
    pub(super) fn find_gangs(&mut self, now_ms: u64, requests: &mut Vec<Request>) {
        let waiting: Vec<_> = self.seen.values().filter(|stored| waits(stored, &self.seen)).cloned().collect();
        let under_way = |uid: u64| self.drives.values().any(|drive| drive.view.root.1 == uid);
        let waiting: Vec<_> = waiting.into_iter().filter(|stored| !under_way(stored.uid)).collect();
        let Some(ads) = ADS.as_ref().filter(|_| !waiting.is_empty()) else { return };
        let offers = self.seen.values().filter_map(|stored| self.offer_ad(stored, ads));
        let jobs = waiting.iter().map(|stored| PoolAd {
            key: key("Job", name(stored.key)),
            uid: stored.uid.to_string(),
            node_name: None,
            ports: ads.job.clone(),
            role: Role::Asks,
        });
        let mut snapshot = Snapshot::new(offers.chain(jobs).collect());
        for stored in &waiting {
            let Some(ad) = snapshot.find(&key("Job", name(stored.key))) else { continue };
            let refused = self.refusals.iter().filter(|((uid, _), until)| *uid == stored.uid && **until > now_ms);
            let exclusions: BTreeSet<AdKey> = refused.map(|((_, offer), _)| offer_key(*offer)).collect();
            snapshot.roots.push(Root { ad, submitter: "n".into(), priority: 0, since: 0, exclusions });
        }
        let config = Config { steps_max: 2_000, ..Config::product() };
        for gang in negotiate(&snapshot, &config, 0).gangs {
            if let Some((name, found)) = self.record(&snapshot, &gang) {
                let view = View::of(0, name, &found);
                let claim = self.claim(&view, 0, now_ms);
                self.begin(view, claim, Event::Woke, now_ms, requests);
            }
        }
    }

    /// A job that waits and could have a gang right now, if one does. For somebody who has just seen everything.
    pub fn could_match(&mut self, now_ms: u64) -> Option<u8> {
        self.proven.extend(self.seen.values().map(|stored| stored.uid));
        let mut requests = Vec::new();
        self.find_gangs(now_ms, &mut requests);
        self.drives.values().next().map(|drive| drive.view.root.0)
    }

    fn offer_ad(&self, stored: &Stored, ads: &Ads) -> Option<PoolAd> {
        let offer = stored.offer()?;
        let mut usage = Usage::default();
        for entry in offer.claims.values().filter(|entry| entry.share.is_none()) {
            usage.take(&Ask { takes: Res::from([(RESOURCE.to_owned(), entry.takes)]), share: None });
        }
        for (share, takes) in &offer.shared {
            usage.take(&Ask { takes: Res::from([(RESOURCE.to_owned(), *takes)]), share: Some(share.clone()) });
        }
        for drive in self.drives.values().filter(|drive| !offer.claims.contains_key(&drive.view.uid)) {
            for leg in drive.view.legs.iter().filter(|leg| leg.uid == stored.uid) {
                usage.take(&Ask { takes: Res::from([(RESOURCE.to_owned(), leg.takes)]), share: leg.share.clone() });
            }
        }
        let trade = format!("{:?}", Trade::of(name(stored.key)));
        let share = (Trade::of(name(stored.key)) == Trade::License && offer.capacity > 1).then(|| "\"together\"".to_owned());
        let terms = Terms {
            capacity: Res::from([(RESOURCE.to_owned(), offer.capacity)]),
            default_request: Res::new(),
            usage,
            shared_by: share.and_then(|text| classad::parse_expr(&text, classad::Dialect::Gangmatch).ok()),
            consent: Consent::Everybody,
            open: offer.open && self.proven.contains(&stored.uid),
        };
        Some(PoolAd {
            key: offer_key(name(stored.key)),
            uid: stored.uid.to_string(),
            node_name: None,
            ports: ads.offers.get(trade.as_str())?.clone(),
            role: Role::Offers(Box::new(terms)),
        })
    }

    /// The Match of a gang, under the next attempt's name.
    fn record(&self, snapshot: &Snapshot, gang: &Gang) -> Option<(Key, Match)> {
        let job = self.seen.get(&Key::Job(number(snapshot.ad(gang.root()?)?)?))?;
        let mut members = Vec::new();
        for member in gang.members.iter().skip(1) {
            let offer = number(snapshot.ad(member.ad)?)?;
            let stored = self.seen.get(&Key::Offer(offer))?;
            members.push(Member {
                offer,
                uid: stored.uid,
                generation: stored.generation,
                takes: member.ask.takes.get(RESOURCE).copied().unwrap_or(1),
                share: member.ask.share.clone(),
                agent: stored.offer()?.agent,
                parent: member.bond.and_then(|bond| bond.parent.checked_sub(1)),
            });
        }
        let attempts = self.seen.keys().filter_map(|key| match key {
            Key::Match(uid, attempt) if *uid == job.uid => Some(*attempt),
            _ => None,
        });
        let attempt = attempts.max().unwrap_or(0) + 1;
        let root = (name(job.key), job.uid, job.generation);
        let epoch = self.leads.unwrap_or(0);
        Some((Key::Match(job.uid, attempt), Match { root, members, epoch, decision: Decision::Pending, reason: None }))
    }
}

fn key(kind: &str, name: u8) -> AdKey {
    AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_string() }
}

fn offer_key(name: u8) -> AdKey {
    key(if Trade::of(name) == Trade::License { "License" } else { "Machine" }, name)
}

fn number(ad: &PoolAd) -> Option<u8> {
    ad.key.name.parse().ok()
}

fn name(key: Key) -> u8 {
    match key {
        Key::Job(name) | Key::Offer(name) | Key::Alive(name) => name,
        Key::Match(..) | Key::Batch(..) | Key::Leader => u8::MAX,
    }
}

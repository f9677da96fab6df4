//! What a coordinator has seen into new gangs, by the product's engine, and gangs into claims.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use claiming::Event;
use gangindex::negotiate;
use matchmaker::{AdKey, Ask, Config, Consent, Gang, Offer as Terms, PoolAd, Ports, Res, Role, Root, Snapshot, Usage};

use crate::coordinator::view::{View, waits};
use crate::coordinator::{Coordinator, Drive, Request};
use crate::objects::{Decision, Match, Member, ObjectName, Stored};

/// What an offer is; by its name's number, so that a namesake is the same again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trade {
    /// Takes a job.
    Machine,
    /// Takes a job, and needs a license itself.
    Station,
    /// Is needed by a job, or by a station.
    License,
}

impl Trade {
    /// What the offer of this name is.
    pub(super) fn of(name: u8) -> Trade {
        [Trade::Machine, Trade::License, Trade::Station, Trade::License]
            .get(usize::from(name % 4))
            .copied()
            .unwrap_or(Trade::Machine)
    }
}

struct Ads {
    job: Arc<Ports>,
    offers: BTreeMap<&'static str, Arc<Ports>>,
}

/// Jobs want a machine and a license; a station brings its license along, so a job takes a station instead of both.
static ADS: LazyLock<Option<Ads>> = LazyLock::new(|| {
    let ad = |text: &str| Some(Arc::new(Ports::of(&classad::parse_ad(text, classad::Dialect::Gangmatch).ok()?)));
    let machine = ad(r#"[What = "machine"; Requirements = other.What == "job"; Rank = 1]"#)?;
    let license = ad(r#"[What = "license"; Requirements = other.What == "job" || other.What == "station"]"#)?;
    let station = ad(r#"[What = "station"; Ports = {[Label = user; Requirements = user.What == "job"],
            [Label = tool; Requirements = tool.What == "license"]}]"#)?;
    let job = ad(
        r#"[What = "job"; Ports = {[Label = place; Requirements = place.What == "machine" || place.What == "station"],
            [Label = extra; Requirements = extra.What == "license"]}]"#,
    )?;
    Some(Ads { job, offers: BTreeMap::from([("Machine", machine), ("License", license), ("Station", station)]) })
});

/// The one resource of all offers.
pub(super) const RESOURCE: &str = "seats";

/// Everything that a cycle depends on here, since the ads themselves never change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pool {
    offers: Vec<Shown>,
    /// Jobs that wait, and the offers that they are not to be matched with.
    jobs: Vec<(u8, BTreeSet<u8>)>,
}

/// An offer as the engine sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    pub(super) name: u8,
    open: bool,
    capacity: i64,
    own: i64,
    shared: BTreeMap<String, i64>,
}

/// A gang: the job, and the offers with what is taken of each, the share key, and the one it works for.
pub(super) type Found = (u8, Vec<(u8, i64, Option<String>, Option<usize>)>);

thread_local! {
    /// What the engine has found for each pool that it was asked about: it is a function, so once is enough.
    static FOUND: RefCell<HashMap<Pool, Rc<Vec<Found>>>> = RefCell::default();
}

impl Coordinator {
    /// Finds gangs for the jobs that wait and begins to claim them.
    pub(super) fn find_gangs(&mut self, now_ms: u64, requests: &mut Vec<Request>) {
        let Some(pool) = self.pool(now_ms) else { return };
        let known = FOUND.with_borrow(|found| found.get(&pool).cloned());
        let gangs = known.unwrap_or_else(|| {
            let gangs = Rc::new(gangs(&pool).unwrap_or_default());
            FOUND.with_borrow_mut(|found| found.insert(pool, gangs.clone()));
            gangs
        });
        for gang in gangs.iter() {
            if let Some((name, found)) = self.record(gang) {
                let view = View::of(0, name, &found);
                let claim = self.claim(&view, 0, now_ms);
                self.begin(view, claim, Event::Tick, now_ms, requests);
            }
        }
    }

    /// A job that waits and could have a gang right now, if one does. For somebody who has just seen everything.
    pub fn could_match(&mut self, now_ms: u64) -> Option<u8> {
        self.noted.proven.extend(self.seen.values().map(|stored| stored.uid));
        let mut requests = Vec::new();
        self.find_gangs(now_ms, &mut requests);
        self.drives.values().next().map(|drive| drive.view.root.0)
    }

    fn pool(&self, now_ms: u64) -> Option<Pool> {
        let mut jobs = Vec::new();
        for stored in self.seen.values().filter(|stored| waits(stored, &self.seen)) {
            if self.drives.values().any(|drive| drive.view.root.1 == stored.uid) {
                continue;
            }
            let refused = self.noted.refusals.range((stored.uid, 0)..=(stored.uid, u8::MAX));
            let refused = refused.filter(|(_, until)| **until > now_ms).map(|((_, offer), _)| *offer);
            jobs.push((name(stored.key), refused.collect()));
        }
        let offers = || self.seen.values().filter_map(|stored| self.shown(stored, |_| true)).collect();
        (!jobs.is_empty()).then(|| Pool { offers: offers(), jobs })
    }

    /// An offer as the engine sees it; what these drives take counts as taken, too.
    pub(super) fn shown(&self, stored: &Stored, counts: impl Fn(&Drive) -> bool) -> Option<Shown> {
        let offer = stored.offer()?;
        let mut own = offer.used().saturating_sub(offer.shared.values().sum());
        let mut shared = offer.shared.clone();
        let drives = self.drives.values().filter(|drive| counts(drive));
        for drive in drives.filter(|drive| !offer.claims.contains_key(&drive.view.uid)) {
            for leg in drive.view.legs.iter().filter(|leg| leg.uid == stored.uid) {
                match &leg.share {
                    Some(share) => {
                        shared.entry(share.clone()).or_insert(leg.takes);
                    }
                    None => own = own.saturating_add(leg.takes),
                }
            }
        }
        let open = offer.open && self.noted.proven.contains(&stored.uid);
        Some(Shown { name: name(stored.key), open, capacity: offer.capacity, own, shared })
    }

    /// The Match of a gang, under the next attempt's name.
    pub(super) fn record(&self, (job, legs): &Found) -> Option<(ObjectName, Match)> {
        let job = self.seen.get(&ObjectName::Job(*job))?;
        let mut members = Vec::new();
        for (offer, takes, share, parent) in legs {
            let stored = self.seen.get(&ObjectName::Offer(*offer))?;
            members.push(Member {
                offer: *offer,
                uid: stored.uid,
                generation: stored.generation,
                takes: *takes,
                share: share.clone(),
                agent: stored.offer()?.agent,
                parent: *parent,
            });
        }
        let attempts = self.seen.keys().filter_map(|key| match key {
            ObjectName::Match(uid, attempt) if *uid == job.uid => Some(*attempt),
            _ => None,
        });
        let attempt = attempts.max().unwrap_or(0) + 1;
        let root = (name(job.key), job.uid, job.generation);
        let epoch = self.leads.unwrap_or(0);
        Some((
            ObjectName::Match(job.uid, attempt),
            Match { root, members, epoch, decision: Decision::Pending, reason: None, committed_s: 0 },
        ))
    }
}

/// One cycle of the product's engine.
fn gangs(pool: &Pool) -> Option<Vec<Found>> {
    let ads = ADS.as_ref()?;
    let ports = |offer: &Shown| ads.offers.get(format!("{:?}", Trade::of(offer.name)).as_str()).cloned();
    let offers = pool.offers.iter().filter_map(|offer| offer_ad(offer, ports(offer)?));
    let jobs = pool.jobs.iter().map(|(job, _)| PoolAd {
        key: key("Job", *job),
        uid: job.to_string(),
        node_name: None,
        ports: ads.job.clone(),
        role: Role::Asks,
    });
    let mut snapshot = Snapshot::new(offers.chain(jobs).collect());
    for (job, refused) in &pool.jobs {
        let exclusions = refused.iter().map(|offer| offer_key(*offer)).collect();
        let ad = snapshot.find(&key("Job", *job))?;
        snapshot.roots.push(Root { ad, submitter: "n".into(), priority: 0, since: 0, exclusions });
    }
    let cycle = negotiate(&snapshot, &Config::product(), 0);
    Some(cycle.gangs.iter().filter_map(|gang| found(&snapshot, gang)).collect())
}

/// A gang, by the names of its job and its offers.
pub(super) fn found(snapshot: &Snapshot, gang: &Gang) -> Option<Found> {
    let number = |ad| snapshot.ad(ad)?.key.name.parse::<u8>().ok();
    let mut legs = Vec::new();
    for member in gang.members.iter().skip(1) {
        let takes = member.ask.allocation.get(RESOURCE).copied().unwrap_or(1);
        let parent = member.edge.and_then(|edge| edge.parent().checked_sub(1));
        legs.push((number(member.ad)?, takes, member.ask.share.clone(), parent));
    }
    Some((number(gang.root()?)?, legs))
}

/// The ad of an offer that says this.
pub(super) fn offer_ad(offer: &Shown, ports: Arc<Ports>) -> Option<PoolAd> {
    let amount = |amount: i64| Res::from([(RESOURCE.to_owned(), amount)]);
    let mut usage = Usage::default();
    usage.take(&Ask { allocation: amount(offer.own), share: None });
    for (share, takes) in &offer.shared {
        usage.take(&Ask { allocation: amount(*takes), share: Some(share.clone()) });
    }
    let trade = Trade::of(offer.name);
    let is_shared = trade == Trade::License && offer.capacity > 1;
    let shared_by = || classad::parse_expr("\"together\"", classad::Dialect::Gangmatch).ok();
    let terms = Terms {
        capacity: amount(offer.capacity),
        default_request: Res::new(),
        usage,
        shared_by: if is_shared { shared_by() } else { None },
        consent: Consent::Everybody,
        open: offer.open,
        disclosed: false,
    };
    Some(PoolAd {
        key: offer_key(offer.name),
        uid: offer.name.to_string(),
        node_name: None,
        ports,
        role: Role::Offers(Box::new(terms)),
    })
}

pub(super) fn key(kind: &str, name: u8) -> AdKey {
    AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_string() }
}

pub(super) fn offer_key(name: u8) -> AdKey {
    key(if Trade::of(name) == Trade::License { "License" } else { "Machine" }, name)
}

pub(super) fn name(key: ObjectName) -> u8 {
    match key {
        ObjectName::Job(name) | ObjectName::Offer(name) | ObjectName::Alive(name) => name,
        ObjectName::Match(..) | ObjectName::Batch(..) | ObjectName::Leader => u8::MAX,
    }
}

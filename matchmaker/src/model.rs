//! The input of a cycle: the ads of a pool, the roots among them, what is taken of the offers, and the settings of the operator.
//!
//! Before a cycle, the crate `pool` makes a [`Snapshot`] of the cluster's objects. `cycle.rs` and every finder read it, and change none of it:
//! what gangs of the cycle take is counted in a copy.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use classad::{Ad, Expr, Limits};
use foldhash::fast::RandomState;

use crate::budget::Stop;
use crate::capacity::{Ask, Res, Usage};
use crate::charges::Accounts;
use crate::consent::Consent;
use crate::gang::{Gang, Member};
use crate::ports::Ports;
use crate::timely::reads_clock;

/// The name of an ad in the whole pool; ads are ordered by it, byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AdKey {
    /// `Job`, `Machine` or `License`.
    pub kind: String,
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}

impl fmt::Display for AdKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// The place of an ad in its snapshot: smaller ids have smaller keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AdId(usize);

impl AdId {
    /// The ad at this place of a snapshot.
    #[inline]
    pub fn at(place: usize) -> AdId {
        AdId(place)
    }

    /// The place as a number.
    #[inline]
    pub fn place(self) -> usize {
        self.0
    }
}

/// One ad as the pool holds it.
#[derive(Clone, Debug)]
pub struct PoolAd {
    /// Its name.
    pub key: AdKey,
    /// The uid of the object, which distinguishes it from a deleted object of the same name.
    pub uid: String,
    /// The node it stands for, if any; partners at later ports see it in `Members`.
    pub node_name: Option<String>,
    /// The ad and its ports.
    pub ports: Arc<Ports>,
    /// Its role in this pool.
    pub role: Role,
}

/// The role of an ad.
#[derive(Clone, Debug)]
pub enum Role {
    /// A job: it is never taken by another root.
    Asks,
    /// An offer, which can be taken.
    Offers(Box<Offer>),
}

/// The owner's terms, beside the ad itself.
#[derive(Clone, Debug)]
pub struct Offer {
    /// How much of each resource it has.
    pub capacity: Res,
    /// How much a claim takes of a resource that its request does not name.
    pub default_request: Res,
    /// What is taken now, gangs in flight included.
    pub usage: Usage,
    /// Claims with the same value hold one seat together; reads `requester`.
    pub shared_by: Option<Expr>,
    /// The namespaces of the jobs that may use it.
    pub consent: Consent,
    /// False while nothing new may be taken: draining, lost, not accepted.
    pub open: bool,
    /// Whether explanations to jobs of other namespaces may contain its values; if not, it only counts.
    pub disclosed: bool,
}

/// A root that wants a gang in this cycle.
#[derive(Clone, Debug)]
pub struct Root {
    /// Its ad.
    pub ad: AdId,
    /// Its namespace, which has a share of the cycle's steps. Without accounts, its gangs are counted, and the namespace with the fewest is
    /// served first; with one, the account of the root is charged. Roots of one submitter should share the string.
    pub submitter: Arc<str>,
    /// Roots with a larger priority go first among those of one submitter.
    pub priority: i32,
    /// Since when it waits, in seconds since 1970; older roots go first.
    pub since: i64,
    /// Offers that refused it, and are not tried yet.
    pub exclusions: BTreeSet<AdKey>,
}

/// What is taken of offers, by the offer.
pub type Taken = HashMap<AdId, Usage, RandomState>;

/// The pool at the start of a cycle.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// In the order of their keys.
    ads: Arc<Vec<Arc<PoolAd>>>,
    /// By offer of which gangs of this cycle have taken something: all that is taken of it now. Of other offers, their ads say that.
    taken: Arc<Taken>,
    /// An empty ad, for expressions that are not part of an ad.
    pub(crate) blank: Ad,
    /// The roots, in any order.
    pub roots: Vec<Root>,
    /// The band of each root that has one; of all others it is 0. Without accounts, roots of a higher band are served first. The product sets none;
    /// the benchmarks of the contract do, in `testing/conformance/src/optimum.rs`.
    pub bands: BTreeMap<AdId, i32>,
    /// How many gangs each submitter holds at the start. Without accounts, the submitter with the fewest is served first.
    pub held: BTreeMap<String, u64>,
    /// Accounts, quotas and prices; absent: there is no PoolPolicy.
    pub accounts: Option<Arc<Accounts>>,
    /// Submitters that get a small part of their share of the cycle's steps, because they have exceeded it lately.
    pub frugal: BTreeSet<String>,
    /// Namespaces whose offers are left out for jobs of other namespaces, because their expressions have cost others too much lately.
    pub barred: BTreeSet<String>,
    /// By namespace: what expensive expressions of its offers have cost others in earlier searches of the same cycle, in fuel.
    pub(crate) owners_fuel: BTreeMap<String, u64>,
}

impl Snapshot {
    /// A snapshot of these ads, sorted by key; of two ads with one key the first stays. No roots yet.
    pub fn new(ads: Vec<PoolAd>) -> Snapshot {
        Snapshot::of(ads.into_iter().map(Arc::new).collect())
    }

    /// A snapshot of ads that may be in other snapshots, too: an index recognizes the ads that it knows.
    pub fn of(mut ads: Vec<Arc<PoolAd>>) -> Snapshot {
        // They are mostly in order already, and comparing all keys takes long.
        if !ads.is_sorted_by(|one, next| one.key < next.key) {
            ads.sort_by(|a, b| a.key.cmp(&b.key));
            ads.dedup_by(|later, first| later.key == first.key);
        }
        Snapshot { ads: Arc::new(ads), ..Snapshot::default() }
    }

    /// The same ads with the same usage, without roots.
    pub fn without_roots(&self) -> Snapshot {
        let (ads, taken) = (Arc::clone(&self.ads), Arc::clone(&self.taken));
        Snapshot { ads, taken, ..Snapshot::default() }
    }

    /// The same ads without what gangs of this cycle have taken, and without roots.
    pub(crate) fn as_it_began(&self) -> Snapshot {
        Snapshot { ads: Arc::clone(&self.ads), ..Snapshot::default() }
    }

    /// The ads themselves. Snapshots that share the list have the same ads.
    #[inline]
    pub fn list(&self) -> &Arc<Vec<Arc<PoolAd>>> {
        &self.ads
    }

    /// The offers of which gangs of this cycle have taken something, with their usage now.
    pub fn taken(&self) -> &Arc<Taken> {
        &self.taken
    }

    /// How many ads there are.
    pub fn len(&self) -> usize {
        self.ads.len()
    }

    /// Whether there is no ad.
    pub fn is_empty(&self) -> bool {
        self.ads.is_empty()
    }

    /// The ad with this key.
    pub fn find(&self, key: &AdKey) -> Option<AdId> {
        self.ads.binary_search_by(|ad| ad.key.cmp(key)).ok().map(AdId)
    }

    /// The ad at this place.
    #[inline]
    pub fn ad(&self, id: AdId) -> Option<&PoolAd> {
        self.ads.get(id.0).map(|ad| &**ad)
    }

    /// All ads with their places, in order.
    #[inline]
    pub fn ads(&self) -> impl Iterator<Item = (AdId, &PoolAd)> {
        self.ads.iter().enumerate().map(|(place, ad)| (AdId(place), &**ad))
    }

    /// The ad at this place, to be put into another snapshot.
    #[inline]
    pub fn shared(&self, id: AdId) -> Option<&Arc<PoolAd>> {
        self.ads.get(id.0)
    }

    /// What is taken of an offer, gangs of this cycle included.
    #[inline]
    pub fn usage<'s>(&'s self, id: AdId, offer: &'s Offer) -> &'s Usage {
        self.taken.get(&id).unwrap_or(&offer.usage)
    }

    /// The same ads with nothing taken, without roots.
    #[must_use]
    pub fn emptied(&self) -> Snapshot {
        let freed = |ad: &Arc<PoolAd>| match &ad.role {
            Role::Offers(offer) if offer.usage != Usage::default() => {
                let mut ad = PoolAd::clone(ad);
                if let Role::Offers(offer) = &mut ad.role {
                    offer.usage = Usage::default();
                }
                Arc::new(ad)
            }
            _ => Arc::clone(ad),
        };
        Snapshot { ads: Arc::new(self.ads.iter().map(freed).collect()), ..Snapshot::default() }
    }

    /// The same pool when these claims on offers are over, without roots and accounts.
    #[must_use]
    pub fn freed<'a>(&self, claims: impl IntoIterator<Item = (AdId, &'a Ask)>) -> Snapshot {
        let mut ads = Vec::clone(&self.ads);
        let mut taken = Taken::clone(&self.taken);
        for (id, ask) in claims {
            if let Some(usage) = taken.get_mut(&id) {
                usage.give_back(ask);
            } else if let Some(Role::Offers(offer)) = ads.get_mut(id.0).map(|ad| &mut Arc::make_mut(ad).role) {
                offer.usage.give_back(ask);
            }
        }
        Snapshot { ads: Arc::new(ads), taken: Arc::new(taken), barred: self.barred.clone(), ..Snapshot::default() }
    }

    /// The same pool with other ports of one ad, without roots.
    #[must_use]
    pub fn with_ports(&self, id: AdId, ports: &Arc<Ports>) -> Snapshot {
        let mut ads = Vec::clone(&self.ads);
        if let Some(ad) = ads.get_mut(id.0) {
            *ad = Arc::new(PoolAd { ports: Arc::clone(ports), ..PoolAd::clone(ad) });
        }
        Snapshot { ads: Arc::new(ads), taken: Arc::clone(&self.taken), ..Snapshot::default() }
    }

    /// The same pool with only some of its roots.
    pub(crate) fn with_roots(&self, is_kept: impl Fn(&Root) -> bool) -> Snapshot {
        let Snapshot { ads, taken, blank, roots, bands, held, accounts, frugal, barred, owners_fuel } = self;
        Snapshot {
            ads: Arc::clone(ads),
            taken: Arc::clone(taken),
            blank: blank.clone(),
            roots: roots.iter().filter(|root| is_kept(root)).cloned().collect(),
            bands: bands.clone(),
            held: held.clone(),
            accounts: accounts.clone(),
            frugal: frugal.clone(),
            barred: barred.clone(),
            owners_fuel: owners_fuel.clone(),
        }
    }

    /// The same pool without the roots of these gangs, which count for their submitters. What the gangs take is not taken.
    pub(crate) fn served(&self, gangs: &[Gang]) -> Snapshot {
        let placed = self.marks(gangs.iter().filter_map(Gang::root));
        let is_placed = |root: &Root| placed.get(root.ad.0).copied().unwrap_or(false);
        let mut served = self.with_roots(|root| !is_placed(root));
        for root in self.roots.iter().filter(|root| is_placed(root)) {
            *served.held.entry(root.submitter.to_string()).or_default() += 1;
        }
        served
    }

    /// By place of an ad: whether it is one of these.
    pub(crate) fn marks(&self, ads: impl Iterator<Item = AdId>) -> Vec<bool> {
        let mut marks = vec![false; self.len()];
        ads.for_each(|ad| marks.get_mut(ad.0).into_iter().for_each(|mark| *mark = true));
        marks
    }

    /// The same pool when these gangs are held, without their roots.
    #[must_use]
    pub fn after(&self, gangs: &[Gang]) -> Snapshot {
        let mut after = self.served(gangs);
        gangs.iter().flat_map(Gang::asks).for_each(|(ad, ask)| after.take(ad, ask));
        let mut ads = Vec::clone(&after.ads);
        let taken = std::mem::take(&mut after.taken);
        let set = |(id, usage): (AdId, Usage)| {
            if let Some(Role::Offers(offer)) = ads.get_mut(id.0).map(|ad| &mut Arc::make_mut(ad).role) {
                offer.usage = usage;
            }
        };
        // each offer has an entry of its own, so their order does not matter
        Arc::unwrap_or_clone(taken).into_iter().for_each(set);
        after.ads = Arc::new(ads);
        after
    }

    /// Whether what a member takes of its offer is free. Nothing is taken of an ad that offers nothing.
    #[must_use]
    pub fn fits(&self, member: &Member) -> bool {
        let offer = self.ad(member.ad).and_then(PoolAd::offer);
        offer.is_none_or(|offer| self.usage(member.ad, offer).fits(&offer.capacity, &member.ask).is_ok())
    }

    /// Whether everything that a gang takes is free.
    #[must_use]
    pub fn has_room(&self, gang: &Gang) -> bool {
        gang.members.iter().all(|member| self.fits(member))
    }

    /// Counts one more claim on an offer.
    pub(crate) fn take(&mut self, id: AdId, ask: &Ask) {
        let Some(offer) = self.ads.get(id.0).and_then(|ad| ad.offer()) else { return };
        Arc::make_mut(&mut self.taken).entry(id).or_insert_with(|| offer.usage.clone()).take(ask);
    }
}

impl Offer {
    /// An offer of so much, of which a claim takes all unless it requests less; nothing is taken, and all may use it.
    pub fn of(capacity: Res) -> Offer {
        Offer {
            default_request: capacity.clone(),
            capacity,
            usage: Usage::default(),
            shared_by: None,
            consent: Consent::Everybody,
            open: true,
            disclosed: false,
        }
    }

    /// Whether a job of this namespace may take something of it now.
    pub fn admits(&self, namespace: &str) -> bool {
        self.open && self.consent.admits(namespace)
    }
}

impl PoolAd {
    /// The ad of a job.
    pub fn asking(key: AdKey, uid: &str, ad: &Ad) -> PoolAd {
        PoolAd { key, uid: uid.to_owned(), node_name: None, ports: Arc::new(Ports::of(ad)), role: Role::Asks }
    }

    /// The owner's terms, if it is an offer.
    #[inline]
    pub fn offer(&self) -> Option<&Offer> {
        match &self.role {
            Role::Offers(offer) => Some(offer),
            Role::Asks => None,
        }
    }

    /// Whether no expression can tell two versions of an ad apart, whatever their owners' terms are.
    pub fn looks_like(&self, other: &PoolAd) -> bool {
        self.uid == other.uid && self.node_name == other.node_name && Arc::ptr_eq(&self.ports, &other.ports)
    }

    /// Whether what the ad says may change without the ad, see [`Ports::is_timely`].
    pub fn is_timely(&self) -> bool {
        self.ports.is_timely() || self.offer().and_then(|offer| offer.shared_by.as_ref()).is_some_and(reads_clock)
    }
}

impl Offer {
    /// Whether its owner gives the same to the same, however much of it is taken, and whether it is open or not.
    pub fn has_terms_of(&self, other: &Offer) -> bool {
        let Offer { capacity, default_request, usage: _, shared_by, consent, open: _, disclosed } = self;
        *consent == other.consent
            && *capacity == other.capacity
            && *default_request == other.default_request
            && *shared_by == other.shared_by
            && *disclosed == other.disclosed
    }
}

/// The most fuel of an evaluation with small limits, about a millisecond, and the most memory of its value.
pub(crate) const SMALL_FUEL: u64 = 20_000;
pub(crate) const SMALL_MEMORY: usize = 256 * 1024;

/// The settings of the operator for a cycle.
#[derive(Clone, Debug)]
pub struct Config {
    /// The most members of a gang, the root included.
    pub members_max: usize,
    /// The most edges between the root and a member.
    pub depth_max: usize,
    /// The most candidates that are tried for one root.
    pub steps_max: u64,
    /// The most steps of all searches of a cycle that need the evaluator; a quarter as many, each, are for reading new ads into the
    /// index and for explanations. A candidate that the evaluator checks is one step, and expensive evaluations count as more. Each
    /// submitter has an equal share; at the end of the cycle, the others share the steps that some have not used.
    pub cycle_steps_max: u64,
    /// The most steps that expensive expressions of one namespace's offers may cost jobs of other namespaces in a cycle; then these
    /// offers are left out.
    pub owner_steps_max: u64,
    /// Ends the cycle when it is set: gangs found by then stand.
    pub stop: Stop,
    /// The bounds of a single evaluation.
    pub limits: Limits,
    /// What `random()` starts from.
    pub seed: u64,
    /// Whether roots without a gang are explained.
    pub explains: bool,
    /// Whether the evaluator verifies every gang that the index has found, except for conditions that it has found true of the same
    /// values before. If not, the caller should, see [`verify`](crate::verify()).
    pub verify_gangs: bool,
    /// About how many bytes cached results may take from cycle to cycle; beyond that they are computed again.
    pub answers_bytes_max: usize,
    /// A search that took at least so many steps and found nothing is not repeated until an offer changes that could matter.
    pub fruitless_steps_min: u64,
}

impl Config {
    /// The default settings.
    pub fn product() -> Config {
        Config {
            members_max: 64,
            depth_max: 4,
            steps_max: 2_000_000,
            cycle_steps_max: 100_000,
            owner_steps_max: 20_000,
            stop: Stop::default(),
            limits: Limits::default(),
            seed: 0,
            explains: true,
            verify_gangs: true,
            answers_bytes_max: 256 << 20,
            fruitless_steps_min: 1_000,
        }
    }

    /// The same settings for expressions that are evaluated beside the search. What takes more has no value.
    pub(crate) fn with_small_limits(&self) -> Config {
        let limits = Limits { fuel: SMALL_FUEL, memory: SMALL_MEMORY, ..self.limits };
        Config { limits, ..self.clone() }
    }
}

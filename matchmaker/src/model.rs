//! What the engine is given: the ads of a pool, who of them asks, and what of them is taken.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use classad::{Ad, Expr, Limits, Value};
use foldhash::fast::RandomState;

use crate::budget::Stop;
use crate::capacity::{Ask, Res, Usage};
use crate::consent::Consent;
use crate::ports::{Ports, Rules};
use crate::score::Fx;

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
pub struct AdId(pub(crate) usize);

impl AdId {
    /// The place as a number.
    pub fn place(self) -> usize {
        self.0
    }
}

/// One ad as the pool holds it.
#[derive(Clone, Debug)]
pub struct PoolAd {
    /// Its name.
    pub key: AdKey,
    /// The uid of the object, which tells it from a namesake that was deleted.
    pub uid: String,
    /// The node it stands for, if any; partners at later ports see it in `Members`.
    pub node_name: Option<String>,
    /// The ad with its ports taken apart.
    pub ports: Arc<Ports>,
    /// What it is in this pool.
    pub role: Role,
}

/// What an ad is for the others.
#[derive(Clone, Debug)]
pub enum Role {
    /// It asks; it is never taken by another root (except under [`Rules::Paper`]).
    Asks,
    /// It can be taken.
    Offers(Box<Offer>),
}

/// The owner's terms, beside the ad itself.
#[derive(Clone, Debug)]
pub struct Offer {
    /// What there is.
    pub capacity: Res,
    /// What a claim takes of a resource that its request does not name.
    pub default_request: Res,
    /// What is taken now, gangs in flight included.
    pub usage: Usage,
    /// Claims with the same value hold one seat together; reads `requester`.
    pub shared_by: Option<Expr>,
    /// Whose jobs may meet it.
    pub consent: Consent,
    /// False while nothing new may be taken: draining, lost, not accepted.
    pub open: bool,
}

/// A root that wants a gang in this cycle.
#[derive(Clone, Debug)]
pub struct Root {
    /// Its ad.
    pub ad: AdId,
    /// Who is charged; roots of one submitter best share the name.
    pub submitter: Arc<str>,
    /// Larger goes first among the roots of one submitter.
    pub priority: i32,
    /// When it began to wait, in seconds since 1970; older goes first.
    pub since: i64,
    /// Offers that refused it and are not to be asked again yet.
    pub exclusions: BTreeSet<AdKey>,
}

/// All that one cycle sees, frozen.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(crate) ads: Arc<Vec<Arc<PoolAd>>>,
    /// They stand in the order of their keys.
    sorted: bool,
    /// What is taken of offers by gangs of this cycle, with what was taken before.
    pub(crate) taken: HashMap<AdId, Usage, RandomState>,
    /// Ads that a gang of this cycle holds whole: all its members under [`Rules::Paper`].
    pub(crate) consumed: BTreeSet<AdId>,
    /// An ad with nothing in it, for expressions that stand in no ad.
    pub(crate) blank: Ad,
    /// Who asks, in any order.
    pub roots: Vec<Root>,
    /// How many gangs each submitter holds now: who holds fewer is served first.
    pub held: BTreeMap<String, u64>,
    /// Submitters that get a small part of their share of the cycle's steps: they have exceeded it lately.
    pub frugal: BTreeSet<String>,
    /// Namespaces whose offers are left out, but for their own jobs: their expressions have cost others too much lately.
    pub barred: BTreeSet<String>,
}

impl Snapshot {
    /// A snapshot of these ads, sorted by key; of two ads with one key the first stays. No roots yet.
    pub fn new(ads: Vec<PoolAd>) -> Snapshot {
        Snapshot::of(ads.into_iter().map(Arc::new).collect())
    }

    /// The same of ads some of which may be in other snapshots too: an engine that has seen them knows them again.
    pub fn of(mut ads: Vec<Arc<PoolAd>>) -> Snapshot {
        // Mostly they stand in order already, and it takes long to look at all keys once more.
        if !ads.is_sorted_by(|one, next| one.key < next.key) {
            ads.sort_by(|a, b| a.key.cmp(&b.key));
            ads.dedup_by(|later, first| later.key == first.key);
        }
        Snapshot { ads: Arc::new(ads), sorted: true, ..Snapshot::default() }
    }

    /// A snapshot in which the place in `ads` is the order; for inputs whose order is their only key.
    pub fn in_order(ads: Vec<PoolAd>) -> Snapshot {
        Snapshot { ads: Arc::new(ads.into_iter().map(Arc::new).collect()), ..Snapshot::default() }
    }

    /// The same ads with the same of them taken, and nobody who asks.
    pub(crate) fn without_roots(&self) -> Snapshot {
        let (ads, taken, consumed) = (Arc::clone(&self.ads), self.taken.clone(), self.consumed.clone());
        Snapshot { ads, sorted: self.sorted, taken, consumed, ..Snapshot::default() }
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
        match self.sorted {
            true => self.ads.binary_search_by(|ad| ad.key.cmp(key)).ok().map(AdId),
            false => self.ads.iter().position(|ad| ad.key == *key).map(AdId),
        }
    }

    /// The ad at this place.
    pub fn ad(&self, id: AdId) -> Option<&PoolAd> {
        self.ad_at(id.0)
    }

    /// All ads with their places, in order.
    pub fn ads(&self) -> impl Iterator<Item = (AdId, &PoolAd)> {
        self.ads.iter().enumerate().map(|(place, ad)| (AdId(place), &**ad))
    }

    /// The ad at this place, to be put into another snapshot.
    pub fn shared(&self, id: AdId) -> Option<&Arc<PoolAd>> {
        self.ads.get(id.0)
    }

    /// The ad at this place.
    pub(crate) fn ad_at(&self, place: usize) -> Option<&PoolAd> {
        self.ads.get(place).map(|ad| &**ad)
    }

    /// What is taken of an offer, gangs of this cycle included.
    pub(crate) fn usage<'s>(&'s self, id: AdId, offer: &'s Offer) -> &'s Usage {
        self.taken.get(&id).unwrap_or(&offer.usage)
    }

    /// Counts one more claim on an offer.
    pub(crate) fn take(&mut self, id: AdId, ask: &Ask) {
        let Some(offer) = self.ads.get(id.0).and_then(|ad| ad.offer()) else { return };
        self.taken.entry(id).or_insert_with(|| offer.usage.clone()).take(ask);
    }
}

impl PoolAd {
    /// An ad that asks, taken apart by `rules`.
    pub fn asking(key: AdKey, uid: &str, ad: &Ad, rules: Rules) -> PoolAd {
        PoolAd { key, uid: uid.to_owned(), node_name: None, ports: Arc::new(Ports::of(ad, rules)), role: Role::Asks }
    }

    /// The owner's terms, if it is an offer.
    pub fn offer(&self) -> Option<&Offer> {
        match &self.role {
            Role::Offers(offer) => Some(offer),
            Role::Asks => None,
        }
    }
}

/// How gangs are searched for. Both ways find the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// By indexes over all ads.
    Indexed,
    /// One ad after the other: slow, for diagnosis.
    Naive,
}

/// Which of its gangs a root gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// The one with the largest [`Score`](crate::Score), of equal ones the first.
    Best,
    /// The first in the order of its members' names, port by port, whatever anybody's rank says.
    FirstFit,
}

/// What the operator decides about a cycle.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which ads can be bound to which.
    pub rules: Rules,
    /// The most members of a gang, the root included.
    pub members_max: usize,
    /// The most edges between the root and a member.
    pub depth_max: usize,
    /// The most candidates tried for one root before the search gives up.
    pub steps_max: u64,
    /// The most steps of all searches of a cycle, where the index cannot answer alone; a quarter as many, each, are for reading new
    /// ads into the index and for explanations. A candidate that the evaluator looks at is one step, and what evaluations cost
    /// beyond the usual counts as steps, too. Each submitter has an equal share; what some do not need is shared by the others
    /// when the cycle is done otherwise.
    pub cycle_steps_max: u64,
    /// The most steps that the expressions of one namespace's offers may cost jobs of other namespaces in a cycle, beyond what
    /// is usual; then these offers are left out.
    pub owner_steps_max: u64,
    /// Ends the cycle when it is set: gangs found by then stand.
    pub stop: Stop,
    /// The bounds of a single evaluation.
    pub limits: Limits,
    /// What `random()` starts from.
    pub seed: u64,
    /// How gangs are searched for.
    pub search: Search,
    /// Which of a root's gangs it gets.
    pub prefer: Prefer,
    /// Whether the evaluator looks again at every gang that the indexes have found; conditions that it has found true of the
    /// same values before are not asked again. Who does not want it here looks himself, see [`verify`](crate::verify()).
    pub second_look: bool,
    /// How many bytes answers may take, about, that are kept from cycle to cycle; beyond that they are worked out again.
    pub answers_bytes_max: usize,
    /// A search that found nothing is remembered if it took so many steps, and not made again until an offer that could matter
    /// changes.
    pub fruitless_steps_min: u64,
    /// The number that a rank's value counts: [`Fx::of`], unless somebody else's arithmetic is to be compared with.
    pub rank_of: fn(&Value) -> Fx,
}

impl Config {
    /// The settings of the product.
    pub fn product() -> Config {
        Config {
            rules: Rules::Product,
            members_max: 16,
            depth_max: 4,
            steps_max: 2_000_000,
            cycle_steps_max: 250_000,
            owner_steps_max: 20_000,
            stop: Stop::default(),
            limits: Limits::default(),
            seed: 0,
            search: Search::Indexed,
            prefer: Prefer::Best,
            second_look: true,
            answers_bytes_max: 256 << 20,
            fruitless_steps_min: 1_000,
            rank_of: Fx::of,
        }
    }

    /// The settings under which the paper's own examples are stated: every ad is a candidate, nothing is counted.
    pub fn paper() -> Config {
        Config {
            rules: Rules::Paper,
            members_max: 64,
            depth_max: 64,
            steps_max: u64::MAX,
            cycle_steps_max: u64::MAX,
            owner_steps_max: u64::MAX,
            ..Config::product()
        }
    }
}

//! Which offers stand in the way of a job without a gang: those that it would match, and that are not available to it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use analysis::{Lacking, bound_together, withheld};
use classad::{BinaryOp, Expr, Name, Value, conjuncts, references};
use crds::conditions::reasons;
use matchmaker::{AdId, AdKey, Config, Consent, PoolAd, Port, Ports, Role, Snapshot, Unmatched, Verdict};

use crate::closure::Closure;
use crate::readiness::matched_reason;

/// An offer that is not available to all jobs that its owner allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// Its name.
    pub key: AdKey,
    /// Why it takes no new claims, if so.
    pub closed: Option<Closure>,
    /// Its namespace lacks the label with which it could be offered to other namespaces.
    pub untrusted: bool,
    /// The namespaces whose jobs its owner allows.
    pub consent: Consent,
    /// Attributes that it lacks because its agent is silent.
    pub unpublished: Vec<Name>,
}

impl Unavailable {
    /// Why jobs of a namespace cannot claim it.
    fn cause(&self, namespace: &str) -> Option<Cause> {
        match (&self.closed, self.untrusted && self.key.namespace != namespace) {
            (_, true) => Some(Cause::Untrusted),
            (Some(closed), false) => Some(Cause::Closed(closed.clone())),
            (None, false) => None,
        }
    }
}

/// Why an offer that a job would match cannot be claimed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It takes no new claims.
    Closed(Closure),
    /// Its namespace lacks the label `gangmatch.dev/offers=cluster`.
    Untrusted,
    /// Others have taken it.
    Taken,
}

/// Offers that stand in the way at one port of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The label of the port.
    pub port: String,
    /// The offers, in the order of their keys; without a key, if the reader may not be told which ones they are.
    pub offers: Vec<(Option<AdKey>, Cause)>,
    /// There may be others.
    pub has_more: bool,
}

/// What the obstacles of the jobs of one namespace may cost in a cycle, in steps of a search; and those of all jobs, of which each namespace
/// with jobs that wait has the same part.
const NAMESPACE_STEPS_MAX: u64 = 2_000;
const STEPS_MAX: u64 = 20_000;
/// How many offers are named where each port alone has others.
const TOGETHER_MAX: usize = 2;

/// Looks for obstacles in the pool of one cycle.
pub struct Obstacles<'p> {
    pool: &'p Snapshot,
    unavailable: &'p [Unavailable],
    /// The pool as it would be if all offers were available to those that their owners allow.
    opened: OnceCell<Snapshot>,
    /// The reader may know all offers.
    names_all: bool,
    /// What is left of the steps, by namespace.
    left: BTreeMap<String, u64>,
    /// What each namespace may use.
    each: OnceCell<u64>,
    /// What cannot be claimed by jobs of a namespace, by namespace: thousands of jobs ask for it.
    causes: BTreeMap<String, Arc<Causes>>,
}

/// The offers that jobs of a namespace cannot claim though their owners allow it, and why.
#[derive(Default)]
struct Causes {
    all: BTreeMap<AdId, Cause>,
    closed: BTreeSet<AdId>,
    untrusted: BTreeSet<AdId>,
}

impl<'p> Obstacles<'p> {
    /// Of jobs in this pool. An offer is named if it is in the namespace of the job, or if its owner discloses it.
    pub fn of(pool: &'p Snapshot, unavailable: &'p [Unavailable]) -> Obstacles<'p> {
        let (opened, left, each, causes) = (OnceCell::new(), BTreeMap::new(), OnceCell::new(), BTreeMap::new());
        Obstacles { pool, unavailable, opened, names_all: false, left, each, causes }
    }

    /// The same for a reader who may read all offers.
    #[must_use]
    pub fn naming_all(self) -> Obstacles<'p> {
        Obstacles { names_all: true, ..self }
    }

    /// The name of an offer, if readers in a namespace may know it.
    fn name(&self, id: AdId, namespace: &str) -> Option<AdKey> {
        let ad = self.pool.ad(id)?;
        let is_told = self.names_all || ad.key.namespace == namespace || ad.offer()?.disclosed;
        is_told.then(|| ad.key.clone())
    }

    /// What stands in the way of a job without a gang. None if that takes too many steps to find out; empty if nothing does, or if it is
    /// said well enough by the counts.
    pub fn find(&mut self, unmatched: &Unmatched, config: &Config, now: i64) -> Option<Vec<Obstacle>> {
        let Some(namespace) = self.pool.ad(unmatched.root).map(|ad| ad.key.namespace.clone()) else {
            return Some(Vec::new());
        };
        let mut steps = self.left.get(&namespace).copied().unwrap_or_else(|| self.each());
        if steps == 0 {
            return None;
        }
        let found = match &unmatched.verdict {
            Verdict::NoCandidates { .. } | Verdict::RefusedByOffers { .. } | Verdict::NoConsistentGang => {
                self.withheld(unmatched, &namespace, &mut steps, (config, now))
            }
            Verdict::WaitingForCapacity if unmatched.ports.len() > 1 => {
                self.taken(unmatched, &namespace, &mut steps, (config, now))
            }
            _ => Vec::new(),
        };
        self.left.insert(namespace, steps);
        (steps > 0 || !found.is_empty()).then_some(found)
    }

    /// The steps of a namespace: jobs of many namespaces cannot use up those of another.
    fn each(&self) -> u64 {
        *self.each.get_or_init(|| {
            let ads = self.pool.roots.iter().filter_map(|root| self.pool.ad(root.ad));
            let namespaces: BTreeSet<&str> = ads.map(|ad| ad.key.namespace.as_str()).collect();
            let count = u64::try_from(namespaces.len()).unwrap_or(u64::MAX).max(1);
            NAMESPACE_STEPS_MAX.min(STEPS_MAX / count)
        })
    }

    fn causes(&mut self, namespace: &str) -> Arc<Causes> {
        if let Some(known) = self.causes.get(namespace) {
            return Arc::clone(known);
        }
        let mut causes = Causes::default();
        for offer in self.unavailable.iter().filter(|offer| offer.consent.admits(namespace)) {
            let Some((id, cause)) = self.pool.find(&offer.key).zip(offer.cause(namespace)) else { continue };
            let group = if cause == Cause::Untrusted { &mut causes.untrusted } else { &mut causes.closed };
            group.insert(id);
            causes.all.insert(id, cause);
        }
        let causes = Arc::new(causes);
        self.causes.insert(namespace.to_owned(), Arc::clone(&causes));
        causes
    }

    fn withheld(
        &mut self,
        unmatched: &Unmatched,
        namespace: &str,
        steps: &mut u64,
        settings: (&Config, i64),
    ) -> Vec<Obstacle> {
        let causes = self.causes(namespace);
        if causes.all.is_empty() {
            return Vec::new();
        }
        let opened = self.opened.get_or_init(|| opened(self.pool, self.unavailable));
        // Closed offers first: offers that only an administrator could admit can be created by any tenant.
        let groups = [causes.closed.clone(), causes.untrusted.clone()];
        let lacking = withheld(opened, unmatched.root, &groups, steps, settings).into_iter();
        let obstacle = |lacking: Lacking| Obstacle {
            port: unmatched.ports.get(lacking.port).map(|port| port.label.clone()).unwrap_or_default(),
            offers: lacking
                .offers
                .iter()
                .filter_map(|id| {
                    let cause = causes.all.get(id)?.clone();
                    // What anybody can create gives no stranger's namespace a name in other people's conditions.
                    let is_told = self.names_all || cause != Cause::Untrusted;
                    Some((self.name(*id, namespace).filter(|_| is_told), cause))
                })
                .collect(),
            has_more: lacking.has_more,
        };
        lacking.map(obstacle).collect()
    }

    /// The ports at which fewer offers are part of a gang than would match the port alone.
    fn taken(
        &self,
        unmatched: &Unmatched,
        namespace: &str,
        steps: &mut u64,
        settings: (&Config, i64),
    ) -> Vec<Obstacle> {
        let Some(together) = bound_together(self.pool, unmatched.root, steps, settings) else { return Vec::new() };
        let ports = unmatched.ports.iter().zip(together);
        let told = ports.filter(|(port, ids)| {
            let fits = u64::try_from(ids.len()).unwrap_or(u64::MAX);
            port.busy > 0 && !ids.is_empty() && ids.len() <= TOGETHER_MAX && fits < port.fits_when_free()
        });
        let key = |id: &AdId| (self.name(*id, namespace), Cause::Taken);
        let obstacle = |(port, ids): (&matchmaker::PortCount, BTreeSet<AdId>)| Obstacle {
            port: port.label.clone(),
            offers: ids.iter().map(key).collect(),
            has_more: false,
        };
        told.map(obstacle).collect()
    }
}

/// The pool as it would be if these offers were available to those that their owners allow.
fn opened(pool: &Snapshot, unavailable: &[Unavailable]) -> Snapshot {
    let mut changed: BTreeMap<AdId, &Unavailable> =
        unavailable.iter().filter_map(|offer| Some((pool.find(&offer.key)?, offer))).collect();
    let ads = pool.ads().filter_map(|(id, _)| {
        let ad = pool.shared(id)?;
        let Some(offer) = changed.remove(&id) else { return Some(Arc::clone(ad)) };
        let mut ad = PoolAd::clone(ad);
        if let Role::Offers(terms) = &mut ad.role {
            terms.open = true;
            terms.consent = offer.consent.clone();
        }
        if !offer.unpublished.is_empty() {
            ad.ports = Arc::new(as_far_as_known(&ad.ports, &offer.unpublished));
        }
        Some(Arc::new(ad))
    });
    Snapshot::of(ads.collect())
}

/// The ports of an offer without the conditions that read what its agent would publish: with it, they may hold.
fn as_far_as_known(ports: &Ports, unpublished: &[Name]) -> Ports {
    // An attribute is unknown if it reads one that is. Each is looked at once, however long a chain they are.
    let mut readers: BTreeMap<Name, Vec<&Name>> = BTreeMap::new();
    for (name, expr) in ports.body.iter() {
        own_names(expr).into_iter().for_each(|read| readers.entry(read).or_default().push(name));
    }
    let mut unknown: BTreeSet<Name> = BTreeSet::new();
    let mut pending = unpublished.to_vec();
    while let Some(name) = pending.pop() {
        pending.extend(readers.remove(&name).into_iter().flatten().cloned());
        unknown.insert(name);
    }
    let known = |constraint: &Expr| {
        let is_known = |part: &Expr| !own_names(part).iter().any(|name| unknown.contains(name));
        let parts = conjuncts(constraint).into_iter().filter(is_known);
        let all = parts.reduce(|one, other| Expr::binary(BinaryOp::And, one, other));
        all.unwrap_or_else(|| Expr::literal(Value::Boolean(true)))
    };
    let mut ports = ports.clone();
    ports.list = ports
        .list
        .iter()
        .map(|port| Port { constraint: port.constraint.as_ref().map(known), ..port.clone() })
        .collect();
    ports
}

/// The names in an expression that can be attributes of its own ad.
fn own_names(expr: &Expr) -> Vec<Name> {
    let own = |path: &[Name]| match path {
        [my, name, ..] if my == "my" || my == "self" => Some(name.clone()),
        [name, ..] => Some(name.clone()),
        [] => None,
    };
    references(expr).iter().filter_map(|path| own(path)).collect()
}

impl Obstacle {
    /// What stands in the way, in words.
    fn sentence(&self) -> String {
        let (port, count) = (&self.port, self.offers.len());
        let names: Vec<String> =
            self.offers.iter().filter_map(|(key, cause)| Some(named(key.as_ref()?, cause))).collect();
        let is_one = count == 1 && !self.has_more;
        if self.offers.iter().any(|(_, cause)| *cause == Cause::Untrusted) {
            return match self.untrusted_namespace() {
                Some(namespace) => format!(
                    "port `{port}`: offers in namespace `{namespace}` would match, but that namespace lacks the label \
                     gangmatch.dev/offers=cluster"
                ),
                None => format!(
                    "port `{port}`: offers of another namespace would match, but that namespace lacks the label \
                     gangmatch.dev/offers=cluster"
                ),
            };
        }
        if self.offers.iter().all(|(_, cause)| *cause == Cause::Taken) {
            let fits = if is_one { "fits" } else { "fit" };
            let which = if names.len() == count { names.join(" and ") } else { format!("{count} of them") };
            return format!("at `{port}`, only {which} {fits} the partners at the other ports");
        }
        let are = if is_one { "is" } else { "are" };
        let which = match (names.len(), names.len() == count && !self.has_more) {
            (0, _) if is_one => "1 offer".to_owned(),
            (0, _) => "offers".to_owned(),
            (_, true) => names.join(", "),
            (_, false) => format!("{} and others", names.join(", ")),
        };
        format!("port `{port}`: {which} would match, but {are} not available")
    }

    /// The namespace that lacks the label, if it may be told.
    fn untrusted_namespace(&self) -> Option<&str> {
        let untrusted = self.offers.iter().filter(|(_, cause)| *cause == Cause::Untrusted);
        untrusted.filter_map(|(key, _)| key.as_ref()).map(|key| key.namespace.as_str()).next()
    }
}

fn named(key: &AdKey, cause: &Cause) -> String {
    match cause {
        Cause::Closed(closure) => format!("{key} ({closure})"),
        Cause::Untrusted | Cause::Taken => key.to_string(),
    }
}

/// Why a job has no gang, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The reason of its condition Matched.
    pub reason: &'static str,
    /// One sentence.
    pub why: String,
    /// What can be done about it; may be empty.
    pub hint: String,
}

/// What is said of a job that has no gang, and of the offers that stand in its way. Closed offers are the reason; others that stand in the way
/// are told beside the reason, so that nobody hides it by offering something.
pub fn explained(unmatched: &Unmatched, obstacles: &[Obstacle]) -> Explanation {
    let is_closed = |obstacle: &&Obstacle| obstacle.offers.iter().any(|(_, cause)| matches!(cause, Cause::Closed(_)));
    let (closed, others): (Vec<&Obstacle>, Vec<&Obstacle>) = obstacles.iter().partition(is_closed);
    let (first, reason) = match closed.is_empty() {
        true => (vec![matchmaker::why(unmatched)], matched_reason(&unmatched.verdict)),
        false => (closed.into_iter().map(Obstacle::sentence).collect(), reasons::OFFERS_UNAVAILABLE),
    };
    let why: Vec<String> = first.into_iter().chain(others.into_iter().map(Obstacle::sentence)).collect();
    let hint = advice(obstacles).unwrap_or_else(|| {
        let hints = [matchmaker::hint(unmatched), label_missing(obstacles).unwrap_or_default()];
        hints.into_iter().filter(|hint| !hint.is_empty()).collect::<Vec<_>>().join("; ")
    });
    Explanation { reason, why: why.join("; "), hint }
}

/// What is said of a job that would have a gang if nothing were held for so many other jobs, before what else is said of it.
pub fn why_held_for_others(why: &str, reservations: usize) -> String {
    let jobs = if reservations == 1 { "another job that has" } else { "other jobs that have" };
    format!("offers are held for {jobs} waited long; {why}")
}

/// What can be done about offers of a namespace without the label, if there are some.
fn label_missing(obstacles: &[Obstacle]) -> Option<String> {
    let is_untrusted = |obstacle: &&Obstacle| obstacle.offers.iter().any(|(_, cause)| *cause == Cause::Untrusted);
    let namespace = obstacles.iter().find(is_untrusted)?.untrusted_namespace().unwrap_or("NAMESPACE");
    Some(format!(
        "if the offers that you expect are in a namespace that you rely on, ask a cluster administrator: \
         kubectl label namespace {namespace} gangmatch.dev/offers=cluster"
    ))
}

/// What can be done about closed offers that stand in a job's way; none if there are none, or if that is up to those who hold them.
fn advice(obstacles: &[Obstacle]) -> Option<String> {
    let mut offers = obstacles.iter().flat_map(|obstacle| &obstacle.offers);
    let (key, _) = offers.find(|(_, cause)| matches!(cause, Cause::Closed(_)))?;
    Some(match key {
        Some(AdKey { kind, namespace, name }) => format!(
            "the owner decides when it is available again: see the condition Ready of {kind} {namespace}/{name}"
        ),
        None => "wait until the offer is available again, or ask its owner".to_owned(),
    })
}

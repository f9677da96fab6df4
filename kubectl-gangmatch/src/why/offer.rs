//! The answer about a machine or a license: which jobs hold it, which could use it, and which it refuses.

use std::collections::BTreeMap;

use analysis::{Inspected, Pair, inspect_offer};
use crds::OfferKind;
use crds::conditions::Holds;
use matchmaker::{AdId, AdKey, EXCERPT_MAX, PoolAd, QuotaExplanation, Usage};
use pool::{ObjectKey, Objects, OfferRef, alive, overcommitted, ready, usage, used_text};
use serde::Serialize;

use super::answer::{Said, TakenOffer, of_ad};
use super::case::{Case, outside};
use super::ports::refusing_part;

/// How many jobs are named in each group.
const NAMED_MAX: usize = 5;

/// Who holds an offer, and what it is to the jobs that wait.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfferAnswer {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// It accepts claims.
    pub(crate) ready: bool,
    /// The reason of its condition Ready.
    pub(crate) reason: String,
    /// Why it does not accept them, or why only those of its own namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    /// What is wrong with it, as its other conditions say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) remarks: Vec<Said>,
    #[serde(flatten)]
    pub(crate) taken: TakenOffer,
    #[serde(flatten)]
    pub(crate) jobs: WaitingJobs,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// The jobs that wait, by what stands between them and the offer.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaitingJobs {
    /// How many jobs wait.
    pub(crate) waiting: usize,
    /// Jobs that want it and that it accepts, apart from what is taken.
    pub(crate) could_use: JobCount,
    /// Jobs that could use it as well, but for a quota that leaves their account nothing of it.
    pub(crate) held_back: JobCount,
    /// Jobs that want it and that it refuses, by the part of its constraint.
    pub(crate) refuses: Vec<Group>,
    /// Jobs that do not want it, by the part of theirs.
    pub(crate) not_wanted: Vec<Group>,
    /// Jobs that request more than it has.
    pub(crate) too_small_for: JobCount,
    /// Jobs of namespaces that it does not admit.
    pub(crate) not_admitted: JobCount,
    /// Jobs that the next cycle does not match with any offer, because of refusals a short while ago.
    pub(crate) backs_off: JobCount,
}

/// Some jobs: how many, and the first of them.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct JobCount {
    pub(crate) count: usize,
    pub(crate) names: Vec<String>,
}

/// Jobs with the same obstacle.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Group {
    /// The part of a constraint.
    pub(crate) conjunct: String,
    #[serde(flatten)]
    pub(crate) jobs: JobCount,
}

impl JobCount {
    fn add(&mut self, namespace: &str, name: &str) {
        self.count += 1;
        if self.names.len() < NAMED_MAX {
            self.names.push(format!("{namespace}/{name}"));
        }
    }
}

/// Who holds an offer, and what it is to the jobs that wait. None if there is no such offer.
pub(crate) fn offer_answer(case: &Case<'_>, kind: OfferKind, key: &ObjectKey) -> Option<OfferAnswer> {
    let objects = &case.pool.objects;
    let offer = objects.offer(kind, key)?;
    let ad_key = AdKey { kind: kind.as_str().to_owned(), namespace: key.namespace.clone(), name: key.name.clone() };
    let found = case.snapshot.find(&ad_key).and_then(|id| Some((id, case.snapshot.ad(id)?)));
    let taken = found.map(|(id, _)| case.taken(id)).unwrap_or_else(|| TakenOffer {
        offer: format!("{} {key}", kind.as_str().to_ascii_lowercase()),
        used: used_text(offer.capacity, &usage(offer.status)),
        external: outside(&usage(offer.status)),
        holders: Vec::new(),
        more: 0,
        others: 0,
        nominated_jobs: 0,
    });
    let left = found.and_then(|(id, _)| case.left.ad(id)).and_then(PoolAd::offer);
    let used = left.map_or_else(|| usage(offer.status), |left| left.usage.clone());
    let has_claims = !taken.holders.is_empty() || taken.others > 0;
    let (holds, reason, message) = ready(offer, &used, has_claims, objects);
    let jobs = match found {
        Some(found) => jobs_of(case, found),
        None => WaitingJobs { waiting: waiting(case), ..WaitingJobs::default() },
    };
    Some(OfferAnswer {
        kind: kind.as_str(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        ready: holds == Holds::True,
        reason: reason.to_owned(),
        message,
        remarks: remarks(offer, &used, objects),
        taken,
        jobs,
        notes: case.pool.notes.clone(),
    })
}

/// What its conditions Accepted, Alive and Overcommitted say, if something is wrong.
fn remarks(offer: OfferRef<'_>, used: &Usage, objects: &Objects) -> Vec<Said> {
    let alive = offer.fields.agent.as_ref().map(|_| alive(offer, objects.agent(offer.kind, &offer.key())));
    let silent = alive.filter(|(holds, ..)| *holds != Holds::True);
    let over = Some(overcommitted(offer.capacity, used)).filter(|(holds, ..)| *holds == Holds::True);
    let of_conditions = silent.into_iter().chain(over).map(|(_, reason, message)| Said::of(reason, message));
    of_ad(offer.ad).into_iter().chain(of_conditions).collect()
}

fn waiting(case: &Case<'_>) -> usize {
    case.snapshot.roots.len() + case.backing_off.len()
}

/// Sorts the jobs that wait by what stands between them and the offer.
fn jobs_of(case: &Case<'_>, (id, ad): (AdId, &PoolAd)) -> WaitingJobs {
    let mut jobs = WaitingJobs { waiting: waiting(case), ..WaitingJobs::default() };
    for ObjectKey { namespace, name } in &case.backing_off {
        jobs.backs_off.add(namespace, name);
    }
    let (mut refuses, mut not_wanted): (BTreeMap<String, JobCount>, BTreeMap<String, JobCount>) = Default::default();
    let quotas = QuotaExplanation::of(&case.snapshot, &case.cycle.gangs, &case.config, case.now.as_second());
    let placed = case.placed();
    for root in &case.snapshot.roots {
        let Some(AdKey { namespace, name, .. }) = case.snapshot.ad(root.ad).map(|ad| &ad.key) else { continue };
        let is_held_back = || {
            let closes = |quotas: &QuotaExplanation<'_>| quotas.closes(root, id);
            !placed.contains(&root.ad) && quotas.as_ref().is_some_and(closes)
        };
        let looks = inspect_offer(&case.left, root.ad, id, &case.config, case.now.as_second());
        let nearest =
            looks.into_iter().min_by_key(|(port, pair)| (rank(pair), wants_other_kind(port, ad), pair.own.len()));
        let Some((port, pair)) = nearest else { continue };
        match rank(&pair) {
            0 if is_held_back() => jobs.held_back.add(namespace, name),
            0 => jobs.could_use.add(namespace, name),
            1 => jobs.too_small_for.add(namespace, name),
            2 => refuses.entry(refusing_part(ad, &pair)).or_default().add(namespace, name),
            3 => jobs.not_admitted.add(namespace, name),
            _ => {
                let part = pair.own.first().and_then(|place| port.conjuncts.get(*place));
                let text = part.map_or_else(String::new, |part| part.excerpt(EXCERPT_MAX));
                not_wanted.entry(text).or_default().add(namespace, name);
            }
        }
    }
    let groups = |all: BTreeMap<String, JobCount>| {
        let mut groups: Vec<Group> = all.into_iter().map(|(conjunct, jobs)| Group { conjunct, jobs }).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.jobs.count));
        groups
    };
    (jobs.refuses, jobs.not_wanted) = (groups(refuses), groups(not_wanted));
    jobs
}

/// Whether a port asks for offers of another kind: what it says is no answer to why the job does not want this one.
fn wants_other_kind(port: &Inspected, ad: &PoolAd) -> bool {
    port.wanted_type().is_some_and(|(_, kind)| !kind.eq_ignore_ascii_case(&ad.key.kind))
}

/// How much stands between a job and the offer: the least first.
fn rank(pair: &Pair) -> u8 {
    match (pair.own.is_empty(), pair.admitted, pair.theirs.is_empty(), pair.misfit) {
        (true, true, true, None) => 0,
        (true, true, true, Some(_)) => 1,
        (true, true, false, _) => 2,
        (true, false, ..) => 3,
        (false, ..) => 4,
    }
}

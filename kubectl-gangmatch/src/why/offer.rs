//! The answer about a machine or a license: which jobs hold it, which could use it, and which it refuses.

use std::collections::BTreeMap;

use analysis::{Pair, inspect_offer};
use crds::OfferKind;
use matchmaker::{AdId, AdKey, EXCERPT_MAX, PoolAd};
use pool::{ObjectKey, not_ready, usage, used_text, why_not_others};
use serde::Serialize;

use super::answer::TakenOffer;
use super::case::Case;
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
    /// The reason if it does not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    /// Why jobs of other namespaces cannot claim it although it allows them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) own_namespace_only: String,
    #[serde(flatten)]
    pub(crate) taken: TakenOffer,
    /// How many jobs wait.
    pub(crate) waiting: usize,
    /// Jobs that want it and that it accepts, apart from what is taken.
    pub(crate) could_use: JobCount,
    /// Jobs that want it and that it refuses, by the part of its constraint.
    pub(crate) refuses: Vec<Group>,
    /// Jobs that do not want it, by the part of theirs.
    pub(crate) not_wanted: Vec<Group>,
    /// Jobs that request more than it has.
    pub(crate) too_small_for: JobCount,
    /// Jobs of namespaces that it does not admit.
    pub(crate) not_admitted: JobCount,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
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
    fn add(&mut self, key: &AdKey) {
        self.count += 1;
        if self.names.len() < NAMED_MAX {
            self.names.push(format!("{}/{}", key.namespace, key.name));
        }
    }
}

/// Who holds an offer, and what it is to the jobs that wait. None if there is no such offer.
pub(crate) fn offer_answer(case: &Case<'_>, kind: OfferKind, key: &ObjectKey) -> Option<OfferAnswer> {
    let objects = &case.pool.objects;
    let offer = objects.offer(kind, key)?;
    let problem = not_ready(offer, objects);
    let mut answer = OfferAnswer {
        kind: kind.as_str(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        ready: problem.is_none(),
        reason: problem.as_ref().map(|(reason, _)| (*reason).to_owned()).unwrap_or_default(),
        message: problem.map(|(_, message)| message).unwrap_or_default(),
        own_namespace_only: why_not_others(offer, objects),
        taken: TakenOffer {
            offer: format!("{} {key}", kind.as_str().to_ascii_lowercase()),
            used: used_text(offer.capacity, &usage(offer.status)),
            holders: Vec::new(),
            others: 0,
        },
        waiting: case.snapshot.roots.len(),
        could_use: JobCount::default(),
        refuses: Vec::new(),
        not_wanted: Vec::new(),
        too_small_for: JobCount::default(),
        not_admitted: JobCount::default(),
        notes: case.pool.notes.clone(),
    };
    let ad_key = AdKey { kind: kind.as_str().to_owned(), namespace: key.namespace.clone(), name: key.name.clone() };
    if let Some((id, ad)) = case.snapshot.find(&ad_key).and_then(|id| Some((id, case.snapshot.ad(id)?))) {
        answer.taken = case.taken(id);
        jobs(case, (id, ad), &mut answer);
    }
    Some(answer)
}

/// Sorts the jobs that wait by what stands between them and the offer.
fn jobs(case: &Case<'_>, (id, ad): (AdId, &PoolAd), answer: &mut OfferAnswer) {
    let (mut refuses, mut not_wanted): (BTreeMap<String, JobCount>, BTreeMap<String, JobCount>) = Default::default();
    for root in &case.snapshot.roots {
        let Some(key) = case.snapshot.ad(root.ad).map(|ad| &ad.key) else { continue };
        let looks = inspect_offer(&case.left, root.ad, id, &case.config, case.now.as_second());
        let Some((port, pair)) = looks.into_iter().min_by_key(|(_, pair)| rank(pair)) else { continue };
        match rank(&pair) {
            0 => answer.could_use.add(key),
            1 => answer.too_small_for.add(key),
            2 => refuses.entry(refusing_part(ad, &pair)).or_default().add(key),
            3 => answer.not_admitted.add(key),
            _ => {
                let part = pair.own.first().and_then(|place| port.conjuncts.get(*place));
                let text = part.map_or_else(String::new, |part| part.excerpt(EXCERPT_MAX));
                not_wanted.entry(text).or_default().add(key);
            }
        }
    }
    let groups = |all: BTreeMap<String, JobCount>| {
        let mut groups: Vec<Group> = all.into_iter().map(|(conjunct, jobs)| Group { conjunct, jobs }).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.jobs.count));
        groups
    };
    (answer.refuses, answer.not_wanted) = (groups(refuses), groups(not_wanted));
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

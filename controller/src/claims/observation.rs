//! The objects into what they show of one claim at one moment: its state, why it should end, and a digest of all that.

use std::hash::{DefaultHasher, Hash, Hasher};

use claiming::{Claim, Decision};
use crds::WorkKind;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pool::{ObjectKey, Objects};

use crate::claims::exit_reason::exit_reason;
use crate::claims::view::View;

/// What counts beside the objects.
pub(crate) struct Moment<'m> {
    /// The time of day.
    pub(crate) now: Timestamp,
    /// The same moment on this process's monotonic clock.
    pub(crate) now_ms: u64,
    /// The epoch under which this process leads; `None` if there is no election.
    pub(crate) epoch: Option<i64>,
    /// When an undecided claim is aborted, on the monotonic clock.
    pub(crate) deadline_ms: &'m dyn Fn(&View) -> u64,
    /// Whether a claim is being driven: then its run knows what is to be done about it.
    pub(crate) under_way: &'m dyn Fn(&View) -> bool,
    /// Until when a claim that has ended gives its work time to end, on the monotonic clock: its pods, or the agent of the offer with
    /// this uid.
    pub(crate) stop_by_ms: &'m dyn Fn(&View, &str) -> u64,
    /// Until when a claim of which the objects show this digest is not to be driven; `None`: it may be.
    pub(crate) rests_until: &'m dyn Fn(&View, u64) -> Option<u64>,
    /// Until when the workload of a claim is not started again.
    pub(crate) starts_at: &'m dyn Fn(&View) -> Option<u64>,
    /// How many claims may be begun to be driven that are decided already.
    pub(crate) places: usize,
}

#[cfg(test)]
impl Moment<'_> {
    /// At the beginning of time, without an election, where nothing rests and there is room for all.
    pub(crate) fn bare() -> Moment<'static> {
        Moment {
            now: Timestamp::UNIX_EPOCH,
            now_ms: 0,
            epoch: None,
            deadline_ms: &|_| 30_000,
            under_way: &|_| false,
            stop_by_ms: &|_, _| u64::MAX,
            rests_until: &|_, _| None,
            starts_at: &|_| None,
            places: usize::MAX,
        }
    }
}

/// One claim at one moment.
#[derive(Debug)]
pub(crate) struct Observation {
    /// Its state, with the reason to exit, if there is one.
    pub(crate) claim: Claim,
    /// When the next agent that was told to stop has had its time, on the monotonic clock.
    pub(crate) agent_by_ms: Option<u64>,
    /// A digest of what the objects show of the claim, and of nothing else.
    pub(crate) seen: u64,
}

/// What the objects show of a claim.
pub(crate) fn observe(view: &View, objects: &Objects, moment: &Moment<'_>) -> Observation {
    let is_undecided = view.decision() == Decision::Pending;
    let deadline_ms = if is_undecided { (moment.deadline_ms)(view) } else { u64::MAX };
    let mut claim = view.claim(objects, deadline_ms, moment.epoch);
    let agent_by_ms = view.overdue(&mut claim, moment.now_ms, &|offer| (moment.stop_by_ms)(view, offer));
    claim.exit = exit_reason(view, claim.decision, objects, moment.now.as_second());
    let seen = digest(view, &claim, objects, moment.now_ms);
    Observation { claim, agent_by_ms, seen }
}

/// The claim itself, and what its work and its job are by now. Not what else its offers say, which many claims share.
fn digest(view: &View, claim: &Claim, objects: &Objects, now_ms: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    let is_late = now_ms >= claim.deadline_ms;
    let mut shown = claim.clone();
    shown.deadline_ms = 0;
    (shown, is_late).hash(&mut hasher);
    let version = |metadata: &ObjectMeta| metadata.resource_version.clone();
    view.found.as_ref().and_then(|found| version(&found.metadata)).hash(&mut hasher);
    let job = objects.jobs.get(&view.root.key);
    job.and_then(|held| version(&held.object.metadata)).hash(&mut hasher);
    let named = job.and_then(|held| held.object.spec.workload.as_ref()?.workload_ref.as_ref());
    let name = |name: &str| ObjectKey::new(&view.key.namespace, name);
    let works =
        [(WorkKind::Job, view.key.clone())].into_iter().chain(named.map(|named| (named.kind, name(&named.name))));
    let works = works.filter_map(|(kind, key)| objects.workloads.get(kind, &key));
    for work in works.chain(objects.workloads.of_claim(view.whose(objects))) {
        (&work.uid, &work.version).hash(&mut hasher);
    }
    objects.workloads.pods_of_claim(view.whose(objects)).hash(&mut hasher);
    hasher.finish()
}

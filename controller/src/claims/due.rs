//! The objects into what is to be done about a claim now: whether it needs somebody to drive it on.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use claiming::{Action, Event, Record, step};
use crds::{Job, Match, WorkKind};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use pool::{ObjectKey, Objects, WorkObject, is_foreign};

use crate::claims::leave::{leave, leaves_at};
use crate::claims::view::View;

/// What is to be done about claims now.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Claims that have a next step.
    pub(crate) claims: Vec<View>,
    /// Ended Matches beyond what their jobs want to keep, with their uids.
    pub(crate) outlived: Vec<(ObjectKey, String)>,
    /// Batch Jobs that were made for Matches that are gone, and have ended.
    pub(crate) outlived_work: Vec<Arc<WorkObject>>,
    /// What is there, if all were looked at.
    pub(crate) known: Option<Known>,
}

/// All claims that are there, by the uids of their Matches.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Those that are undecided.
    pub(crate) undecided: BTreeSet<String>,
    /// All.
    pub(crate) claims: BTreeSet<String>,
}

/// What counts beside the objects.
pub(crate) struct Moment<'m> {
    /// What the clock on the wall says.
    pub(crate) now: Timestamp,
    /// The same moment on this process's monotonic clock.
    pub(crate) now_ms: u64,
    /// The epoch under which this process leads; `None` if nobody is elected.
    pub(crate) epoch: Option<i64>,
    /// When an undecided claim is called off, on the monotonic clock.
    pub(crate) deadline_ms: &'m dyn Fn(&View) -> u64,
    /// Whether a claim is under way: what is to be done about it is known to whoever drives it.
    pub(crate) under_way: &'m dyn Fn(&View) -> bool,
    /// Until when a claim that has ended gives its work time to end, on the monotonic clock: its pods, or the agent of the offer with
    /// this uid.
    pub(crate) stop_by_ms: &'m dyn Fn(&View, &str) -> u64,
    /// Until when a claim is not to be driven of which the objects show this; `None`: it may be.
    pub(crate) rests_until: &'m dyn Fn(&View, u64) -> Option<u64>,
    /// Until when the workload of a claim is not started again.
    pub(crate) starts_at: &'m dyn Fn(&View) -> Option<u64>,
    /// How many claims may be begun to be driven that are decided already.
    pub(crate) places: usize,
}

#[cfg(test)]
impl Moment<'_> {
    /// At the beginning of time, where nobody is elected, nothing rests and there is room for all.
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

/// What one claim comes to.
#[derive(Debug, Default)]
pub(crate) struct Next {
    /// Its Match is undecided.
    pub(crate) undecided: bool,
    /// It has a next step.
    pub(crate) asks: bool,
    /// When that will change if nothing else happens, on the monotonic clock.
    pub(crate) at_ms: Option<u64>,
    /// A digest of what the objects show of the claim, and of nothing else.
    pub(crate) seen: u64,
}

/// What a claim comes to now.
pub(crate) fn next(view: &View, objects: &Objects, moment: &Moment<'_>) -> Next {
    let undecided = view.record() == claiming::Decision::Pending;
    // A Match speaks for a job of its own namespace only, whoever wrote it.
    if undecided && view.key.namespace != view.root.key.namespace {
        return Next::default();
    }
    let deadline_ms = if undecided { (moment.deadline_ms)(view) } else { u64::MAX };
    let mut claim = view.claim(objects, deadline_ms, moment.epoch);
    let agent_by_ms = view.overdue(&mut claim, moment.now_ms, &|offer| (moment.stop_by_ms)(view, offer));
    let event = leave(view, objects, moment.now.as_second()).map_or(Event::Tick, Event::Exit);
    let asked = step(claim, event, moment.now_ms).1;
    let seen = digest(view, objects, moment, &asked);
    // Of pods that are still to end nothing is asked in their time: their end is seen.
    let ends = asked == [Action::ListWork] && objects.works.pods_of_claim(view.whose(objects)) > 0;
    let stop_by_ms = if ends { (moment.stop_by_ms)(view, "") } else { 0 };
    let asks = !asked.is_empty() && moment.now_ms >= stop_by_ms;
    // To start a workload is the only thing to be done for a claim that stands.
    let starts = |action: &Action| matches!(action, Action::MakeWork | Action::StartWork | Action::ReadDecision);
    let is_start = view.record() == claiming::Decision::Committed && asked.iter().all(starts);
    let starts_at_ms = if asks && is_start { (moment.starts_at)(view) } else { None };
    let asks = asks && starts_at_ms.is_none();
    let by_clock = leaves_at(view, objects).filter(|at| *at > moment.now.as_second()).map(|at| {
        let left_ms = at.saturating_mul(1000).saturating_sub(moment.now.as_millisecond());
        moment.now_ms.saturating_add(u64::try_from(left_ms).unwrap_or(0))
    });
    let later =
        [deadline_ms, stop_by_ms].into_iter().chain(agent_by_ms).filter(|at| *at > moment.now_ms && *at != u64::MAX);
    Next { undecided, asks, at_ms: by_clock.into_iter().chain(later).chain(starts_at_ms).min(), seen }
}

/// What the objects show of a claim: itself, what is asked for, and what its work and its job are by now. Not what else its offers say,
/// which many share.
fn digest(view: &View, objects: &Objects, moment: &Moment<'_>, asked: &[Action]) -> u64 {
    let mut hasher = DefaultHasher::new();
    view.claim(objects, 0, moment.epoch).hash(&mut hasher);
    asked.hash(&mut hasher);
    let version = |metadata: &ObjectMeta| metadata.resource_version.clone();
    view.found.as_ref().and_then(|found| version(&found.metadata)).hash(&mut hasher);
    let job = objects.jobs.get(&view.root.key);
    job.and_then(|held| version(&held.object.metadata)).hash(&mut hasher);
    let named = job.and_then(|held| held.object.spec.workload.as_ref()?.workload_ref.as_ref());
    let name = |name: &str| ObjectKey::new(&view.key.namespace, name);
    let works =
        [(WorkKind::Job, view.key.clone())].into_iter().chain(named.map(|named| (named.kind, name(&named.name))));
    let works = works.filter_map(|(kind, key)| objects.works.get(kind, &key));
    for work in works.chain(objects.works.of_claim(view.whose(objects))) {
        (&work.uid, &work.version).hash(&mut hasher);
    }
    objects.works.pods_of_claim(view.whose(objects)).hash(&mut hasher);
    hasher.finish()
}

/// Batch Jobs that go with the Match with this uid, which is gone, and nothing names it.
pub(crate) fn outlived_work(uid: &str, objects: &Objects) -> Vec<Arc<WorkObject>> {
    let over = |batch: &&Arc<WorkObject>| batch.made && batch.ended.is_some();
    objects.works.labelled_with(uid).filter(over).cloned().collect()
}

/// The oldest ended Matches of a job beyond its `matchHistoryLimit`. Those that still hold something stay.
pub(crate) fn outlived(job: &Job, objects: &Objects) -> Vec<(ObjectKey, String)> {
    let keep = usize::try_from(job.spec.match_history_limit).unwrap_or(0);
    let is_over = |found: &&Arc<Match>| found.status.as_ref().is_some_and(|status| status.decision.is_terminal());
    let uid = job.uid().unwrap_or_default();
    let mut ended: Vec<_> = objects.matches.of_root(&uid).map(|(_, found)| found).filter(is_over).collect();
    if ended.len() <= keep {
        return Vec::new();
    }
    ended.sort_by_key(|found| std::cmp::Reverse(found.spec.attempt));
    let views = ended.into_iter().skip(keep).map(|found| View::of(found.clone()));
    let settled = views.filter(|view| view.claim(objects, u64::MAX, None).is_settled());
    settled.map(|view| (view.key, view.uid)).collect()
}

/// The newest epoch under which somebody has written. A Match that was not recorded by a controller says nothing of it.
pub(crate) fn newest_epoch(objects: &Objects) -> i64 {
    let offers = objects.offers().filter_map(|offer| offer.status()).map(|status| status.epoch);
    let matches = objects.matches.values().filter(|found| is_foreign(found).is_none());
    offers.chain(matches.map(|found| found.spec.epoch)).max().unwrap_or(0)
}

/// The newest epoch that these objects show.
pub(crate) fn newest_epoch_of(changes: &pool::Changes, objects: &Objects) -> i64 {
    let offers = changes.offers().filter_map(|(kind, key)| Some(objects.offer(kind, key)?.status()?.epoch));
    let matches = changes.matches.iter().filter_map(|key| objects.matches.get(key));
    let matches = matches.filter(|found| is_foreign(found).is_none()).map(|found| found.spec.epoch);
    offers.chain(matches).max().unwrap_or(0)
}

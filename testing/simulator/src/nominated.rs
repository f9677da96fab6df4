//! What must hold of nominations, and of the gangs that are preempted for them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use claiming::Reason;

use crate::coordinator::view::Seen;
use crate::objects::{Decision, Job, Match, Member, Nomination, ObjectName, Stored, Uid};
use crate::plan::{Happening, HistoryPlan};
use crate::scheme::Scheme;
use crate::server::StoredChange;

/// What has become of nominations.
#[derive(Default)]
pub struct Preemptions {
    scheme: Option<Rc<Scheme>>,
    /// Every leader sees all that is there, and clocks are right: no gang may be preempted too early.
    are_ages_known: bool,
    /// Nothing goes wrong: no gang may be preempted in vain.
    is_undisturbed: bool,
    /// The Matches that a stored nomination has named.
    named: BTreeSet<Uid>,
    /// When Matches were committed.
    committed_ms: BTreeMap<Uid, u64>,
    /// The Matches that were released for another job.
    preempted: BTreeSet<Uid>,
    /// How often each job was preempted.
    times: BTreeMap<Uid, u32>,
}

impl Preemptions {
    /// Those of a history.
    pub fn new(plan: &HistoryPlan) -> Preemptions {
        let scheme = plan.scheme.clone();
        let is_frozen =
            plan.happenings.iter().any(|(_, what)| matches!(what, Happening::Pause(..) | Happening::Crash(_)));
        let are_clocks_right = scheme.as_ref().is_some_and(|scheme| scheme.skews_s.iter().all(|skew| *skew == 0));
        let are_ages_known = are_clocks_right && !plan.lease_ignorer && !is_frozen && plan.lag_ms < 500;
        Preemptions { scheme, are_ages_known, is_undisturbed: !plan.is_disturbed(), ..Preemptions::default() }
    }

    /// How many gangs were preempted.
    pub fn count(&self) -> u64 {
        self.preempted.len() as u64
    }

    /// Takes a change in; what it breaks.
    pub(crate) fn note(&mut self, change: &StoredChange, now_ms: u64) -> Option<String> {
        self.scheme.as_ref()?;
        let after = change.after.as_deref()?;
        let before = change.before.as_deref().filter(|before| before.uid == after.uid);
        if let Some(job) = after.job() {
            return self.note_job(before.and_then(Stored::job), job, after);
        }
        let found = after.found()?;
        match (before?.found()?.decision, found.decision) {
            (Decision::Pending, Decision::Committed) => {
                self.committed_ms.insert(after.uid, now_ms);
                None
            }
            (Decision::Committed, Decision::Released) if found.reason == Some(Reason::Preempted) => {
                self.preempted.insert(after.uid);
                self.is_wrongly_preempted(after.uid, found, now_ms)
            }
            _ => None,
        }
    }

    fn note_job(&mut self, before: Option<&Job>, job: &Job, stored: &Stored) -> Option<String> {
        self.times.insert(stored.uid, job.preemptions);
        let known = before.and_then(|before| before.nomination.as_ref());
        match (known, &job.nomination) {
            (Some(known), Some(nomination)) if known != nomination => {
                Some(format!("J4: the nomination of {:?} is replaced", stored.key))
            }
            (None, Some(nomination)) => {
                self.named.extend(nomination.victims.iter().copied());
                None
            }
            (Some(known), None) if self.is_undisturbed && job.claim.is_none() => {
                let in_vain = known.victims.iter().find(|victim| self.preempted.contains(victim))?;
                Some(format!("K4: match {in_vain} is preempted for {:?}, which does not get its gang", stored.key))
            }
            _ => None,
        }
    }

    fn is_wrongly_preempted(&self, uid: Uid, found: &Match, now_ms: u64) -> Option<String> {
        if !self.named.contains(&uid) {
            return Some(format!("K1: match {uid} is preempted, and no stored nomination has named it"));
        }
        let scheme = self.scheme.as_ref().filter(|_| self.are_ages_known)?;
        let times = self.times.get(&found.root.1).copied().unwrap_or(0);
        let least_s = u64::try_from(scheme.min_runtime_s << times.min(20)).unwrap_or(0);
        let run_ms = now_ms.saturating_sub(self.committed_ms.get(&uid).copied().unwrap_or(0));
        // Ages are counted in whole seconds.
        (run_ms + 1_000 < least_s * 1_000)
            .then(|| format!("V3: match {uid} is preempted after {run_ms} ms, for the time {} of its job", times + 1))
    }
}

/// Whether a new gang takes what is held for another job, as far as its coordinator has seen. What is held for a job that it claims another
/// gang for is held no longer.
pub(crate) fn takes_what_is_nominated(seen: &Seen, found: &Match, is_driven: impl Fn(Uid) -> bool) -> Option<String> {
    let is_open = |root: Uid| {
        seen.values().any(|other| other.found().is_some_and(|own| own.root.1 == root && !own.decision.is_over()))
    };
    let others = seen.values().filter(|stored| stored.uid != found.root.1);
    let others = others.filter(|stored| !is_open(stored.uid) && !is_driven(stored.uid));
    let nominations = others.filter_map(|stored| stored.job().filter(|job| job.claim.is_none())?.nomination.as_ref());
    // One whose offers were edited is over.
    let is_same = |member: &Member| {
        let offer = seen.get(&ObjectName::Offer(member.offer));
        offer.is_some_and(|offer| (offer.uid, offer.generation) == (member.uid, member.generation))
    };
    let nominations: Vec<&Nomination> =
        nominations.filter(|nomination| nomination.members.iter().all(is_same)).collect();
    let is_victim = |uid: &Uid| nominations.iter().any(|nomination| nomination.victims.contains(uid));
    let nominated: Vec<&Member> = nominations.iter().flat_map(|nomination| &nomination.members).collect();
    found.members.iter().filter(|member| member.share.is_none()).find_map(|member| {
        let stored = seen.get(&ObjectName::Offer(member.offer)).filter(|stored| stored.uid == member.uid)?;
        let offer = stored.offer()?;
        let held = nominated.iter().filter(|other| other.uid == member.uid && other.share.is_none());
        let held: i64 = held.map(|other| other.takes).sum();
        // What their victims still have is what is held for them.
        let ending = offer.claims.iter().filter(|(uid, entry)| entry.share.is_none() && is_victim(uid));
        let ending: i64 = ending.map(|(_, entry)| entry.takes).sum();
        (held > 0 && held + offer.used() - ending + member.takes > offer.capacity).then(|| {
            format!("K2: offer {} is held for another job than {}, which takes it", member.offer, found.root.0)
        })
    })
}

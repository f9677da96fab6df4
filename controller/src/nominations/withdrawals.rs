//! Jobs that are withdrawn after gangs were stopped for them. Their accounts have nothing preempted for a while: else a tenant could stop the gangs
//! of others again and again, with another job each time, and use nothing of what they held.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crds::conditions::reasons;
use crds::{AdKind, Decision, Match, Member, Nomination, Vote};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pool::{AgentLiveness, JobState, ObjectKey, Objects, job_state};

use super::PAUSES;
use super::pauses::REMEMBERED_MS;
use crate::cycle::backoff::Pause;

/// The account of a job, and its namespace: a withdrawal in one namespace has no effect in others.
pub(super) type Withdrawer = (String, String);

/// The rests by account and namespace, each longer than the one before.
#[derive(Debug, Default)]
pub(super) struct Withdrawals(BTreeMap<String, BTreeMap<String, Rest>>);

#[derive(Debug, Default)]
struct Rest {
    pause: Pause,
    /// Its end, as people are told of it.
    until: Timestamp,
}

impl Withdrawals {
    /// A job was withdrawn. Several that are withdrawn together are one act.
    pub(super) fn add(&mut self, (account, namespace): Withdrawer, now: Timestamp, now_ms: u64) {
        let Rest { pause, until } = self.0.entry(account).or_default().entry(namespace).or_default();
        if !pause.lasts(now_ms) {
            let pause_ms = pause.begin(PAUSES.pause_ms(pause.times(), 0), now_ms);
            *until = now.checked_add(Duration::from_millis(pause_ms)).unwrap_or(now);
        }
    }

    /// Forgets what was long ago.
    pub(super) fn forget(&mut self, now_ms: u64) {
        self.0.retain(|_, rests| {
            rests.retain(|_, rest| now_ms < rest.pause.until_ms().saturating_add(REMEMBERED_MS));
            !rests.is_empty()
        });
    }

    /// Until when nothing is preempted for jobs of an account in a namespace; none if something may be.
    pub(super) fn until(&self, account: &str, namespace: &str, now_ms: u64) -> Option<Timestamp> {
        let rest = self.0.get(account)?.get(namespace)?;
        rest.pause.lasts(now_ms).then_some(rest.until)
    }

    /// Whether nothing is preempted for some account.
    pub(super) fn any(&self, now_ms: u64) -> bool {
        self.0.values().flat_map(BTreeMap::values).any(|rest| rest.pause.lasts(now_ms))
    }

    /// When rests end.
    pub(super) fn ends(&self) -> impl Iterator<Item = u64> {
        self.0.values().flat_map(BTreeMap::values).map(|rest| rest.pause.until_ms())
    }
}

/// A nomination as it was first seen, as far as its own tenant can bring it to nothing.
#[derive(Clone, Debug)]
pub(super) struct OwnPart {
    namespace: String,
    /// The job, and offers of its namespace.
    ads: Vec<(AdKind, ObjectKey, Option<AdState>)>,
    /// The offers of other namespaces: kind and key.
    others: BTreeSet<(String, ObjectKey)>,
    /// The uids of the Matches of the victims.
    victims: Vec<String>,
}

/// What of an object its namespace decides.
#[derive(Clone, Debug, PartialEq)]
struct AdState {
    uid: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
}

impl AdState {
    fn of(meta: &ObjectMeta) -> AdState {
        AdState { uid: meta.uid.clone(), generation: meta.generation, labels: meta.labels.clone() }
    }
}

impl OwnPart {
    /// As it is now.
    pub(super) fn of(nomination: &Nomination, objects: &Objects) -> OwnPart {
        let namespace = nomination.gang.first().map_or("", |root| root.namespace.as_str());
        let (own, others) = nomination.gang.iter().partition::<Vec<&Member>, _>(|member| member.namespace == namespace);
        let ad = |member: &&Member| {
            let (kind, key) = (AdKind::try_from(member.kind.as_str()).ok()?, key_of(member));
            let state = state(kind, &key, objects);
            Some((kind, key, state))
        };
        OwnPart {
            namespace: namespace.to_owned(),
            ads: own.iter().filter_map(ad).collect(),
            others: others.into_iter().map(|member| (member.kind.clone(), key_of(member))).collect(),
            victims: nomination.victims.clone(),
        }
    }

    /// The namespace of the job.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether something of it is not as it was, or cannot be had any more.
    pub(super) fn has_changed(&self, objects: &Objects) -> bool {
        let differs = |(kind, key, before): &(AdKind, ObjectKey, Option<AdState>)| {
            before.is_some() && state(*kind, key, objects) != *before
        };
        self.ads.iter().any(differs)
    }

    /// Whether a Match has left all offers of others for one of the own namespace.
    pub(super) fn is_left_by(&self, found: &Match) -> bool {
        let mut offers = found.spec.members.iter().skip(1);
        let is_other = |member: &Member| self.others.contains(&(member.kind.clone(), key_of(member)));
        !self.others.is_empty()
            && offers.clone().any(|member| member.namespace == self.namespace)
            && !offers.any(is_other)
    }

    /// Whether a victim of the same namespace has not ended.
    pub(super) fn has_own_victim(&self, objects: &Objects) -> bool {
        let claims = self.victims.iter().filter_map(|uid| objects.claim_by_uid(uid));
        let mut own = claims.filter(|claim| claim.found.metadata.namespace.as_deref() == Some(&self.namespace));
        own.any(|claim| claim.has_entry(objects))
    }

    /// What became of the claim of what was nominated: whether its own tenant has brought it to nothing; none while it is undecided.
    pub(super) fn is_broken_off(&self, uid: &str, objects: &Objects) -> Option<bool> {
        let Some(found) = objects.matches.by_uid(uid) else { return Some(true) };
        match found.decision() {
            Decision::Pending => None,
            Decision::Committed | Decision::Released => Some(false),
            Decision::Aborted => Some(self.has_changed(objects) || has_own_refusal(found)),
        }
    }
}

/// Whether offers of the job's namespace have not accepted it, and no other offer has refused it.
fn has_own_refusal(found: &Match) -> bool {
    let namespace = found.metadata.namespace.as_deref().unwrap_or("");
    let votes = found.status.iter().flat_map(|status| &status.members);
    let mut votes =
        votes.filter_map(|own| Some((own.vote, found.spec.members.iter().find(|member| member.id == own.id)?)));
    let is_own = |member: &Member| member.namespace == namespace;
    !votes.clone().any(|(vote, member)| vote == Vote::Rejected && !is_own(member))
        && votes.any(|(vote, member)| vote != Vote::Accepted && is_own(member))
}

fn key_of(member: &Member) -> ObjectKey {
    ObjectKey::new(&member.namespace, &member.name)
}

/// The state of a job that is not over, or of an offer whose agent is not lost. An ad that is not accepted is as it was, since other ads may have
/// taken its room; one that is too large is not.
fn state(kind: AdKind, key: &ObjectKey, objects: &Objects) -> Option<AdState> {
    match kind {
        AdKind::Job => {
            let held = objects.jobs.get(key)?;
            let is_over = matches!(job_state(held, objects), JobState::Suspended | JobState::Finished);
            let is_large = held.ad.as_ref().is_err_and(|why| why.reason == reasons::AD_TOO_LARGE);
            (!is_over && !is_large).then(|| AdState::of(&held.object.metadata))
        }
        AdKind::Offer(kind) => {
            let offer = objects.offer(kind, key)?;
            let is_lost = objects.agent(kind, key) == AgentLiveness::Expired;
            let is_large = offer.ad.as_ref().is_err_and(|why| why.reason == reasons::AD_TOO_LARGE);
            let is_going = offer.metadata.deletion_timestamp.is_some();
            (!is_lost && !is_large && !is_going).then(|| AdState::of(offer.metadata))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn x4_jobs_that_are_withdrawn_together_are_one_act_and_later_ones_make_the_rest_longer() {
        let (mut all, now) = (Withdrawals::default(), Timestamp::UNIX_EPOCH);
        let tenant = || ("account".to_owned(), "n".to_owned());
        (0..7).for_each(|_| all.add(tenant(), now, 0));
        assert_eq!(all.ends().collect::<Vec<_>>(), [60_000]);
        all.add(tenant(), now, 60_000);
        assert_eq!(all.ends().collect::<Vec<_>>(), [180_000]);
        assert!(all.until("account", "n", 100_000).is_some());
        assert!(all.until("account", "other", 100_000).is_none(), "who may write in one namespace stops no other");
        all.forget(180_000 + REMEMBERED_MS);
        assert!(!all.any(0), "it is forgotten in the end");
    }
    fn member(id: u64, kind: &str, namespace: &str, name: &str) -> Value {
        json!({"id": id, "kind": kind, "namespace": namespace, "name": name, "uid": name, "generation": 1})
    }

    /// A Match of the job with these offers, in this state.
    fn claim(uid: &str, offers: &[(&str, &str)], status: &Value) -> Match {
        let offers = (1..).zip(offers).map(|(id, (namespace, name))| member(id, "Machine", namespace, name));
        let members: Vec<Value> = std::iter::once(member(0, "Job", "n", "j")).chain(offers).collect();
        let cycle = json!({"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1});
        let spec = json!({"attempt": 1, "cycle": cycle, "epoch": 0, "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": members});
        let metadata = json!({"name": uid, "namespace": "n", "uid": uid});
        let kind = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": metadata, "spec": spec, "status": status});
        serde_json::from_value(kind).unwrap()
    }

    /// What was nominated for the job: an own machine, and one of others.
    fn nominated(objects: &Objects) -> OwnPart {
        let gang =
            json!([member(0, "Job", "n", "j"), member(1, "Machine", "n", "own"), member(2, "Machine", "pool", "m")]);
        let nomination = json!({"kind": "Preemption", "time": "2026-11-21T14:00:00Z", "victims": ["v"], "gang": gang});
        OwnPart::of(&serde_json::from_value(nomination).unwrap(), objects)
    }

    #[test]
    fn x4_who_takes_an_own_offer_instead_of_those_of_others_has_withdrawn() {
        let part = nominated(&Objects::default());
        let is_left = |offers: &[(&str, &str)]| part.is_left_by(&claim("u", offers, &json!({})));
        assert!(is_left(&[("n", "other")]) && is_left(&[("n", "own"), ("n", "other")]));
        assert!(!is_left(&[("n", "own"), ("pool", "m")]), "it is what was nominated");
        assert!(!is_left(&[("pool", "another")]), "an offer of others has become free");
    }

    #[test]
    fn x4_who_breaks_off_a_claim_before_its_commit_has_withdrawn() {
        let broken_off = |status: Value| {
            let mut objects = Objects::default();
            objects.matches.put(claim("u", &[("n", "own"), ("pool", "m")], &status));
            nominated(&objects).is_broken_off("u", &objects)
        };
        let aborted = |own: &str, other: &str| json!({"decision": "Aborted", "members": [{"id": 1, "vote": own}, {"id": 2, "vote": other}]});
        assert_eq!(broken_off(json!({})), None, "it is undecided");
        assert_eq!(broken_off(json!({"decision": "Committed"})), Some(false));
        assert_eq!(broken_off(aborted("Rejected", "Accepted")), Some(true), "its own offer has refused it");
        assert_eq!(broken_off(aborted("Pending", "Accepted")), Some(true), "or was silent");
        assert_eq!(broken_off(aborted("Pending", "Rejected")), Some(false), "the offer of others has refused it");
        let objects = Objects::default();
        assert_eq!(nominated(&objects).is_broken_off("u", &objects), Some(true), "the Match was deleted");
    }

    #[test]
    fn x4_a_victim_of_the_own_namespace_that_ends_slowly_is_the_tenants_own_doing() {
        let mut objects = Objects::default();
        objects.matches.put(claim("v", &[("pool", "m")], &json!({"decision": "Released"})));
        let mut machine = crds::Machine::new("m", crds::MachineSpec::default());
        machine.metadata.namespace = Some("pool".to_owned());
        assert!(!nominated(&objects).has_own_victim(&objects), "it has ended");
        machine.status = Some(serde_json::from_value(json!({"claims": {"v": {"match": "n/v"}}})).unwrap());
        objects.machines.put(machine);
        assert!(nominated(&objects).has_own_victim(&objects));
    }
}

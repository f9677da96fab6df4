//! A gang into the Match that records it.

use std::collections::BTreeMap;

use classad::Value;
use crds::{
    AdKind, ClaimPolicy, Cycle, Job, LABEL_ATTEMPT, LABEL_ROOT_UID, Match, MatchSpec, Member, charge_text, match_name,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::ResourceExt;
use matchmaker::{Config, Gang, MemberCharges, Prices, Seats, Snapshot, read_by_root, summary};
use policy::Amount;
use serde_json::Value as Json;

use crate::key::ObjectKey;
use crate::objects::Objects;
use crate::requester_attributes::bounded;

/// When a gang was found, and in which cycle.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// The name of the cycle.
    pub cycle: String,
    /// The value of `time()` in the cycle.
    pub time: jiff::Timestamp,
    /// The seed of `random()`.
    pub seed: i64,
    /// The epoch of the leader.
    pub epoch: i64,
}

/// The longest summary of a gang, in bytes.
const SUMMARY_MAX: usize = 1024;

/// The Match of a gang; `None` if a member was deleted since the snapshot was made.
///
/// `charges`: what its members cost, as the cycle has found it; without them it is computed, if there are accounts.
///
/// Its name is made of the job's uid and the number of the attempt, so that the same attempt cannot be written twice.
pub fn record(
    objects: &Objects,
    snapshot: &Snapshot,
    gang: &Gang,
    config: &Config,
    provenance: &Provenance,
    charges: Option<&[Amount]>,
) -> Option<Match> {
    let root = snapshot.ad(gang.root()?)?;
    let job = &objects.jobs.get(&ObjectKey::new(&root.key.namespace, &root.key.name))?.object;
    if job.uid().unwrap_or_default() != root.uid {
        return None;
    }
    let attempt = next_attempt(objects, job);
    let members = (0..gang.members.len()).zip(values(snapshot, gang, config, provenance));
    let members: Option<Vec<Member>> =
        members.map(|(place, values)| Some(Member { values, ..member(objects, snapshot, gang, place)? })).collect();
    let mut members = members?;
    let account = charge((snapshot, gang), config, provenance, charges, &mut members);
    let mut summary = summary(snapshot, gang);
    summary.truncate(summary.floor_char_boundary(SUMMARY_MAX));
    let spec = MatchSpec {
        attempt,
        cycle: Cycle { id: provenance.cycle.clone(), time: Time(provenance.time), seed: provenance.seed },
        epoch: provenance.epoch,
        reserve_timeout_seconds: i64::from(job.spec.reserve_timeout_seconds),
        summary,
        rank: gang.score.own.to_real().to_string(),
        account,
        active_deadline_seconds: None,
        members,
    };
    let mut found = Match::new(&match_name(&job.name_any(), &root.uid, attempt), spec);
    found.metadata.namespace = job.namespace();
    found.metadata.labels = Some(BTreeMap::from([
        (LABEL_ROOT_UID.to_owned(), root.uid.clone()),
        (LABEL_ATTEMPT.to_owned(), attempt.to_string()),
    ]));
    found.metadata.owner_references = Some(vec![OwnerReference {
        api_version: format!("{}/{}", crds::GROUP, crds::VERSION),
        kind: AdKind::Job.to_string(),
        name: job.name_any(),
        uid: root.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }]);
    Some(found)
}

/// Writes what each member costs, if there are accounts. The account.
fn charge(
    (snapshot, gang): (&Snapshot, &Gang),
    config: &Config,
    provenance: &Provenance,
    charges: Option<&[Amount]>,
    members: &mut [Member],
) -> Option<String> {
    let accounts = snapshot.accounts.as_ref()?;
    let account = accounts.account_of.get(gang.root()?)?;
    let computed = || {
        // As the cycle has found it: nothing that the value depends on is another here.
        let config = Config { seed: u64::try_from(provenance.seed).unwrap_or(0), ..config.clone() };
        let mut prices = Prices::of(&config, provenance.time.as_second());
        accounts.charge_of((snapshot, gang), account, &mut Seats::default(), &mut prices).members
    };
    let charges = charges.map_or_else(computed, MemberCharges::from_slice);
    for (member, micros) in members.iter_mut().zip(charges).skip(1) {
        member.charge = Some(charge_text(micros));
    }
    Some(account.to_string())
}

/// Of each member the values that the job's expressions read, as they were when the gang was found: scalars only.
fn values(snapshot: &Snapshot, gang: &Gang, config: &Config, provenance: &Provenance) -> Vec<BTreeMap<String, Json>> {
    let config = Config { seed: u64::try_from(provenance.seed).unwrap_or(0), ..config.clone() };
    let is_scalar =
        |value: &Value| matches!(value, Value::Boolean(_) | Value::Integer(_) | Value::Real(_) | Value::String(_));
    let read = read_by_root(snapshot, gang, &config, provenance.time.as_second());
    let scalars = read.into_iter().map(|all| all.into_iter().filter(|(_, value)| is_scalar(value)).collect());
    scalars.map(bounded).collect()
}

/// One more than the highest attempt that is known of this job.
fn next_attempt(objects: &Objects, job: &Job) -> i32 {
    let uid = job.uid().unwrap_or_default();
    let recorded = job.status.as_ref().and_then(|status| status.attempts).unwrap_or(0);
    let seen = objects.matches.of_root(&uid).map(|(_, found)| found.spec.attempt).max().unwrap_or(0);
    recorded.max(seen).saturating_add(1)
}

fn member(objects: &Objects, snapshot: &Snapshot, gang: &Gang, place: usize) -> Option<Member> {
    let bound = gang.members.get(place)?;
    let ad = snapshot.ad(bound.ad)?;
    let key = ObjectKey::new(&ad.key.namespace, &ad.key.name);
    let (uid, generation, policy) = match objects.offer_at(&ad.key) {
        Some(offer) => (offer.uid().to_owned(), offer.metadata.generation, offer.fields.claim_policy),
        None => {
            let job = &objects.jobs.get(&key)?.object;
            (job.uid().unwrap_or_default(), job.metadata.generation, ClaimPolicy::Auto)
        }
    };
    if uid != ad.uid {
        return None;
    }
    let number = |place: usize| i32::try_from(place).ok();
    let mut member = Member {
        id: number(place)?,
        kind: ad.key.kind.clone(),
        namespace: key.namespace,
        name: key.name,
        uid,
        generation: generation.unwrap_or(0),
        ..Member::default()
    };
    if let Some(edge) = bound.edge {
        member.parent = number(edge.parent());
        member.parent_port = gang.label(snapshot, bound).map(str::to_owned);
        member.port = ad.ports.list.get(edge.child_port()).map(|port| port.label.to_string());
        member.allocation = Some((*bound.ask.allocation).clone());
        member.share = bound.ask.share.clone();
        member.claim_policy = Some(policy);
    }
    Some(member)
}

//! A machine or a license into its description.

use crds::{ClaimEntry, NamespacesFrom, OfferKind};
use jiff::Timestamp;
use pool::{ObjectKey, OfferRef};
use serde::Serialize;

use super::{Facts, ad, conditions, job, since};
use crate::amounts;
use crate::cluster::Pool;
use crate::command::status::{self, phase, state};

/// One claim on the offer.
#[derive(Clone, Debug, Serialize)]
struct HolderLine {
    job: String,
    phase: String,
    holds: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<String>,
    since: Option<Timestamp>,
    until: Option<String>,
    with: Vec<String>,
    #[serde(rename = "match")]
    match_name: String,
}

/// An offer into what there is to say of it.
pub(super) fn describe(pool: &Pool, offer: OfferRef<'_>, now: Timestamp) -> anyhow::Result<Facts> {
    let key = offer.key();
    let mut all = Facts::default();
    all.fact("Name", "name", Some(key.name.clone()));
    all.fact("Namespace", "namespace", Some(key.namespace.clone()));
    all.fact("Owner", "owner", owner(pool, offer.kind, &key));
    all.fact("State", "state", Some(state(offer)));
    let resources = status::amounts(offer);
    let used: Vec<String> = resources
        .iter()
        .map(|one| {
            let external = if one.external > 0 { format!(", {} used outside", one.external) } else { String::new() };
            format!("{}/{} {} claimed{external}, {} free", one.used, one.total, one.resource, one.free)
        })
        .collect();
    all.say("Capacity", &used.join("; "));
    all.put("capacity", serde_json::to_value(&resources)?);
    all.fact("Node", "node", offer.node_name.map(str::to_owned));
    let class = offer.metadata.owner_references.iter().flatten().find(|owner| owner.kind == "MachineClass");
    all.fact("Class", "class", class.map(|owner| owner.name.clone()));
    all.fact("Stop policy", "stopPolicy", Some(format!("{:?}", offer.fields.stop_policy)));
    all.fact("Claim policy", "claimPolicy", Some(format!("{:?}", offer.fields.claim_policy)));
    all.fact("Agent", "agent", offer.fields.agent.as_ref().map(|agent| agent.username.clone()));
    all.fact("Open to", "openTo", Some(open_to(offer)));
    match offer.ad {
        Ok(prepared) => ad::add(&mut all, prepared)?,
        Err(problem) => all.fact("Problem", "problem", Some(problem.message.clone())),
    }
    let published = offer.status.map(|status| &status.attributes).into_iter().flatten();
    let lines: Vec<String> = published.clone().map(|(name, value)| format!("{name} = {value}")).collect();
    all.lines(
        "Published by the agent",
        "published",
        &lines,
        published.map(|(name, value)| (name.clone(), value.clone())).collect(),
    );
    let entries = offer.status.map(|status| &status.claims).into_iter().flatten();
    let holders: Vec<HolderLine> = entries.map(|(uid, entry)| holder(pool, offer, uid, entry)).collect();
    let cells = |row: &HolderLine| {
        let share = row.share.as_ref().map(|share| format!(" (shared: {share})")).unwrap_or_default();
        let with = if row.with.is_empty() { "-".to_owned() } else { row.with.join(", ") };
        let from = row.since.map_or("-".to_owned(), |time| since(time, now));
        let until = row.until.clone().unwrap_or_else(|| "-".to_owned());
        vec![row.job.clone(), row.phase.clone(), format!("{}{share}", row.holds), from, until, with]
    };
    all.table("Claims", "claims", &["JOB", "PHASE", "HOLDS", "SINCE", "UNTIL", "WITH"], &holders, cells)?;
    conditions(&mut all, offer.status.map_or(&[], |status| &status.conditions), now)?;
    Ok(all)
}

fn owner(pool: &Pool, kind: OfferKind, key: &ObjectKey) -> Option<String> {
    match kind {
        OfferKind::Machine => pool.objects.machines.get(key)?.object.spec.ad.owner.clone(),
        OfferKind::License => pool.objects.licenses.get(key)?.object.spec.ad.owner.clone(),
    }
}

fn open_to(offer: OfferRef<'_>) -> String {
    match offer.fields.allowed_namespaces.as_ref().map(|allowed| allowed.from) {
        None | Some(NamespacesFrom::Same) => "jobs of its own namespace".to_owned(),
        Some(NamespacesFrom::All) => "jobs of all namespaces".to_owned(),
        Some(NamespacesFrom::Selector) => "jobs of the namespaces that its selector selects".to_owned(),
    }
}

/// The claim of an entry: what the Match and the job tell of it, or, if they may not be read, the entry alone.
fn holder(pool: &Pool, offer: OfferRef<'_>, uid: &str, entry: &ClaimEntry) -> HolderLine {
    let found = pool.matches.values().find(|found| found.metadata.uid.as_deref() == Some(uid));
    let members = found.map(|found| found.spec.members.as_slice()).unwrap_or_default();
    let root = members.first().map(|root| ObjectKey::new(&root.namespace, &root.name));
    let job = root.as_ref().and_then(|key| pool.objects.jobs.get(key)).map(|held| held.object.as_ref());
    let others = members.iter().skip(1).filter(|member| !offer.is(member));
    let committed = found.and_then(|found| found.status.as_ref()?.committed_at.clone());
    let namespace = entry.match_key.split('/').next().unwrap_or("");
    HolderLine {
        job: root.map_or_else(|| format!("a job of namespace {namespace}"), |key| key.to_string()),
        phase: job.map_or("-".to_owned(), |job| format!("{:?}", phase(job).0)),
        holds: amounts::in_words(&entry.allocation),
        share: entry.share.clone(),
        since: committed.map(|time| time.0),
        until: job.zip(found).map(|(job, found)| job::until(job, found).unwrap_or_else(|| "the job ends".to_owned())),
        with: others.map(|member| format!("{} {}/{}", member.kind, member.namespace, member.name)).collect(),
        match_name: entry.match_key.clone(),
    }
}

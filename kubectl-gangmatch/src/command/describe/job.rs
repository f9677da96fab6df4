//! A job into its description.

use crds::{Job, Match, Refusal, Unmatched, UnmatchedPort};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pool::{Cached, ObjectKey};
use serde::Serialize;
use serde_json::Value;

use super::{Facts, ad, conditions};
use crate::ages::instant;
use crate::amounts;
use crate::cluster::Pool;
use crate::command::history::{Ended, ended};
use crate::command::queue::waiting;
use crate::command::status::phase;

/// One member that the job holds.
#[derive(Clone, Debug, Serialize)]
struct MemberLine {
    port: String,
    member: String,
    holds: String,
    values: String,
}

/// A job into what there is to say of it.
pub(super) fn describe(pool: &Pool, key: &ObjectKey, held: &Cached<Job>, now: Timestamp) -> anyhow::Result<Facts> {
    let job = held.object.as_ref();
    let status = job.status.clone().unwrap_or_default();
    let (phase, reason) = phase(job);
    let mut all = Facts::default();
    all.fact("Name", "name", Some(key.name.clone()));
    all.fact("Namespace", "namespace", Some(key.namespace.clone()));
    all.fact("Owner", "owner", job.spec.ad.owner.clone());
    all.say("Phase", &if reason.is_empty() { format!("{phase:?}") } else { format!("{phase:?} ({reason})") });
    all.put("phase", format!("{phase:?}"));
    all.put("reason", reason);
    all.say("Priority", &job.spec.priority.to_string());
    all.put("priority", job.spec.priority);
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    all.instant("Created", "created", time(&job.metadata.creation_timestamp), now);
    let place =
        waiting(&pool.objects, now).into_iter().find(|row| row.namespace == key.namespace && row.name == key.name);
    if let Some(row) = place {
        all.say("Position", &format!("{} in the queue", row.position));
        all.put("position", row.position);
    }
    all.instant("Waiting since", "waitingSince", time(&status.waiting_since), now);
    all.fact("Why", "why", status.why.clone());
    all.fact("Hint", "hint", status.unmatched.as_ref().and_then(|unmatched| unmatched.hint.clone()));
    let claim = status.claim.as_ref();
    let own =
        pool.matches.values().find(|found| claim.is_some_and(|claim| Some(&claim.uid) == found.metadata.uid.as_ref()));
    all.fact("Match", "match", claim.map(|claim| claim.match_name.clone()));
    all.instant("Claimed since", "claimedSince", own.and_then(|found| time(&found.status.as_ref()?.committed_at)), now);
    all.fact("Claimed until", "claimedUntil", own.and_then(|found| until(job, found)));
    all.fact("Workload", "workload", status.workload.as_ref().map(|workload| workload.name.clone()));
    all.instant("Started", "started", time(&status.started_at), now);
    all.instant("Finished", "finished", time(&status.finished_at), now);
    if let Some(count) = status.attempts {
        all.say("Attempts", &count.to_string());
        all.put("attempts", count);
    }
    match &held.ad {
        Ok(prepared) => ad::add(&mut all, prepared)?,
        Err(problem) => all.fact("Problem", "problem", Some(problem.message.clone())),
    }
    let members = own.map(members).unwrap_or_default();
    let cells = |row: &MemberLine| vec![row.port.clone(), row.member.clone(), row.holds.clone(), row.values.clone()];
    all.table("Members", "members", &["PORT", "MEMBER", "HOLDS", "VALUES"], &members, cells)?;
    why_not(&mut all, &status.unmatched.clone().unwrap_or_default())?;
    let cells = |refusal: &Refusal| {
        let time = refusal.time.as_ref().map_or("-".to_owned(), |time| instant(time.0));
        let offer = format!("{} {}/{}", refusal.kind, refusal.namespace, refusal.name);
        vec![time, offer, refusal.reason.clone(), refusal.message.clone()]
    };
    all.table("Refusals", "refusals", &["TIME", "OFFER", "REASON", "MESSAGE"], &status.refusals, cells)?;
    conditions(&mut all, &status.conditions, now)?;
    let mut earlier = ended(pool, true);
    earlier.retain(|row| row.namespace == key.namespace && row.job == key.name);
    let cells = |row: &Ended| {
        let time = |time: Option<Timestamp>| time.map_or("-".to_owned(), instant);
        vec![row.match_name.clone(), time(row.from), time(row.to), row.reason.clone(), row.members.clone()]
    };
    all.table("Earlier claims", "history", &["MATCH", "FROM", "TO", "REASON", "MEMBERS"], &earlier, cells)?;
    Ok(all)
}

/// The counts of why a job has no gang.
fn why_not(facts: &mut Facts, unmatched: &Unmatched) -> anyhow::Result<()> {
    let cells = |port: &UnmatchedPort| {
        let counts = [port.candidates, port.refused_by_job, port.refused_by_offer, port.busy];
        std::iter::once(port.label.clone()).chain(counts.iter().map(i64::to_string)).collect()
    };
    let headings = ["PORT", "OFFERS", "REFUSED BY JOB", "REFUSED BY OFFER", "TAKEN"];
    facts.table("Unmatched", "unmatched", &headings, &unmatched.ports, cells)?;
    let parts: Vec<String> = unmatched
        .conjuncts
        .iter()
        .map(|part| format!("{}: `{}` is not true of {}", part.port, part.text, part.rejects))
        .collect();
    facts.lines("Conjuncts", "conjuncts", &parts, serde_json::to_value(&unmatched.conjuncts)?);
    Ok(())
}

/// Until when a claim lasts at the latest, if that is limited.
pub(super) fn until(job: &Job, found: &Match) -> Option<String> {
    Timestamp::from_second(found.expires_at(Some(job))?).ok().map(instant)
}

fn members(found: &Match) -> Vec<MemberLine> {
    let line = |member: &crds::Member| {
        let values = member.values.iter().map(|(name, value)| format!("{name}={}", shown(value)));
        MemberLine {
            port: member.parent_port.clone().unwrap_or_default(),
            member: format!("{} {}/{}", member.kind, member.namespace, member.name),
            holds: amounts::in_words(member.allocation.iter().flatten()),
            values: values.collect::<Vec<_>>().join(" "),
        }
    };
    found.spec.members.iter().skip(1).map(line).collect()
}

/// A value of a member as its ad writes it.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.strip_prefix("\"/Expr(").and_then(|rest| rest.strip_suffix(")/\"")) {
        Some(real) => real.to_owned(),
        None => text,
    }
}

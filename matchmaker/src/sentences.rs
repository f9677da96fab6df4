//! A reason as data into one sentence for people. The only place where the engine's findings are worded.

use crate::explain::{PortCount, Unmatched, Verdict};
use crate::gang::Gang;
use crate::model::Snapshot;

/// The members of a gang by label: `cpu=grid/foo license=eda/sim`.
pub fn summary(snapshot: &Snapshot, gang: &Gang) -> String {
    let member = |member| {
        let label = gang.label(snapshot, member)?;
        let key = &snapshot.ad(member.ad)?.key;
        Some(format!("{label}={}/{}", key.namespace, key.name))
    };
    gang.members.iter().filter_map(member).collect::<Vec<_>>().join(" ")
}

/// Why a root waits: one sentence that names the port and the counts.
pub fn why(unmatched: &Unmatched) -> String {
    let why = verdict(unmatched);
    match unmatched.exhausted {
        0 => why,
        _ => format!("{why}; evaluations ran out of depth or fuel, which counts as a no: make the constraints cheaper"),
    }
}

fn verdict(unmatched: &Unmatched) -> String {
    let port = |number: usize| unmatched.ports.get(number).cloned().unwrap_or_default();
    match &unmatched.verdict {
        Verdict::Unusable(problem) => problem.clone(),
        Verdict::NoCandidates { port: number } => no_candidates(&port(*number)),
        Verdict::RefusedByOffers { port: number } => refused(&port(*number)),
        Verdict::NoConsistentGang => {
            let labels: Vec<String> = unmatched.ports.iter().map(|port| format!("`{}`", port.label)).collect();
            format!("ports {} can each be bound, but no ads fit together", labels.join(", "))
        }
        Verdict::WaitingForCapacity => waiting(unmatched),
        Verdict::BackingOff => "the only ads that fit refused a short while ago; they are asked again soon".to_owned(),
        Verdict::GaveUp => "the search ran out of steps; give the constraints an equality that narrows them".to_owned(),
    }
}

/// What could be written instead; empty if there is nothing to say.
pub fn hint(unmatched: &Unmatched) -> String {
    let (Verdict::NoCandidates { port } | Verdict::RefusedByOffers { port }) = &unmatched.verdict else {
        return String::new();
    };
    let Some(port) = unmatched.ports.get(*port) else { return String::new() };
    if port.candidates == 0 {
        return "create Machine and License ads, or let their owners allow this namespace: allowedNamespaces"
            .to_owned();
    }
    let never = port.conjuncts.iter().find(|part| part.rejects == port.candidates);
    match (&unmatched.verdict, never) {
        (Verdict::NoCandidates { .. }, Some(part)) => format!("no ad satisfies `{}`", part.text),
        (Verdict::NoCandidates { .. }, None) => {
            "each part of the constraint is true of some ad, but all parts of none; relax one".to_owned()
        }
        _ if port.too_small > 0 => format!("{} have less in all than is asked of them", ads(port.too_small)),
        _ => "the owners decide: compare your ad with what their constraints ask".to_owned(),
    }
}

fn ads(count: u64) -> String {
    if count == 1 { "1 ad".to_owned() } else { format!("{count} ads") }
}

fn no_candidates(port: &PortCount) -> String {
    if port.candidates == 0 {
        return format!("port `{}`: no ad is open to this job's namespace", port.label);
    }
    let mut worst: Vec<_> = port.conjuncts.iter().filter(|part| part.rejects > 0).collect();
    worst.sort_by_key(|part| std::cmp::Reverse(part.rejects));
    let parts: Vec<String> =
        worst.iter().take(2).map(|part| format!("`{}` rejects {}", part.text, part.rejects)).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    format!("port `{}`: none of {} satisfies the job's constraint{parts}", port.label, ads(port.candidates))
}

fn refused(port: &PortCount) -> String {
    let mut parts = Vec::new();
    for (count, what) in [
        (port.refused_by_job, "not what the job wants"),
        (port.refused_by_offer, "refused by their owner's constraint"),
        (port.too_small, "too small for the request"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    format!("port `{}`: of {}, {}", port.label, ads(port.candidates), parts.join(", "))
}

fn waiting(unmatched: &Unmatched) -> String {
    // A port at which something is free is not what the job waits for, unless there is no other.
    let free = |port: &PortCount| {
        let told = [port.refused_by_job, port.refused_by_offer, port.too_small, port.busy, port.excluded];
        port.candidates > told.iter().sum()
    };
    let taken = |port: &&PortCount| port.busy > 0;
    let blocked = unmatched.ports.iter().filter(taken).any(|port| !free(port));
    let busy: Vec<String> = unmatched
        .ports
        .iter()
        .filter(taken)
        .filter(|port| !blocked || !free(port))
        .map(|port| format!("port `{}`: {} that would match {} taken", port.label, ads(port.busy), is(port.busy)))
        .collect();
    busy.join("; ")
}

fn is(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

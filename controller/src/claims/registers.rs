//! What is written into the entry of an offer with an agent: its first value, and which registers are turned later.
//!
//! The vote, its reason, the ballot and the activity are the agent's to write; what is here is the rest, and `Lost`.

use std::collections::BTreeMap;

use crds::{Activity, AskWhen, ClaimEntry, Member, MemberVote, Vote};
use matchmaker::Config;
use pool::{Objects, requester_attributes};
use serde_json::{Value, json};

use crate::claims::view::{Leg, View};
use crate::status::cut;
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;

/// How long the reason of a vote may be in the status of a Match, in characters.
const VOTE_REASON_MAX: usize = 256;

/// The entry of a claim in an offer's ledger, as it is written first. Without an agent it has accepted; for an agent it names the members
/// and the requester.
pub(crate) fn initial_entry(view: &View, leg: &Leg, introduced: Introduced) -> ClaimEntry {
    let entry = ClaimEntry {
        match_key: view.key.to_string(),
        allocation: leg.allocation.clone(),
        share: leg.share.clone(),
        vote: Vote::Accepted,
        ..ClaimEntry::default()
    };
    if !leg.agent {
        return entry;
    }
    let ask_when = if introduced.at_once { AskWhen::Now } else { AskWhen::ChildrenAccepted };
    let members = view.found.as_ref().map(|found| members(&found.spec.members)).unwrap_or_default();
    ClaimEntry { vote: Vote::Pending, ask_when, members, requester: introduced.requester, ..entry }
}

/// What an agent reads in its entry of the claim that asks for its vote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Introduced {
    /// It may vote at once: there is no agent below it.
    pub(crate) at_once: bool,
    /// What its ad reads of the requester.
    pub(crate) requester: BTreeMap<String, Value>,
}

/// The same for one leg; nothing, if it has no agent.
pub(crate) fn introduced(view: &View, number: usize, objects: &Objects, config: &Config, now: i64) -> Introduced {
    match (view.legs.get(number), &view.found) {
        (Some(leg), Some(found)) if leg.agent => Introduced {
            at_once: view.claim(objects, 0, None).votes_at_once(number),
            // members are counted with the root
            requester: requester_attributes(found, objects, number + 1, config, now),
        },
        _ => Introduced::default(),
    }
}

/// How many lines an entry has for members, and how many bytes they have in all: a ledger with 256 claims has to fit into one object of
/// 1.5 MB.
const MEMBERS_MAX: usize = 16;
const LINES_MAX: usize = 1024;

/// The members of the gang; if there are more than lines for them, the last line says how many more.
fn members(all: &[Member]) -> Vec<String> {
    let name = |member: &Member| format!("{} {}/{}", member.kind, member.namespace, member.name);
    let (mut left, mut lines): (usize, Vec<String>) = (LINES_MAX, Vec::new());
    for line in all.iter().map(name) {
        let is_last = lines.len().saturating_add(1) == all.len();
        let full = lines.len().saturating_add(1) == MEMBERS_MAX && !is_last;
        if full || line.len() > left {
            lines.push(format!("+{} more", all.len().saturating_sub(lines.len())));
            break;
        }
        left = left.saturating_sub(line.len());
        lines.push(line);
    }
    lines
}

/// How the agents of a claim have voted, by the members' ids; nothing, if there are none.
pub(crate) fn votes(view: &View, objects: &Objects) -> Vec<MemberVote> {
    let vote = |(number, leg): (usize, &Leg)| {
        let found = view.offer(leg, objects)?.entry(&view.uid)?;
        // members are counted with the root
        let id = i32::try_from(number + 1).ok()?;
        let reason = if found.vote == Vote::Rejected { "Rejected" } else { "" };
        Some(MemberVote {
            id,
            vote: found.vote,
            reason: reason.to_owned(),
            message: cut(&crds::ad::line(&found.vote_reason), VOTE_REASON_MAX),
        })
    };
    view.legs.iter().enumerate().filter(|(_, leg)| leg.agent).filter_map(vote).collect()
}

/// Requests an agent's vote.
pub(crate) fn request_vote(uid: &str) -> ObjectPatch {
    let guarded = Ops::default().test(&register(uid, "vote"), json!(Vote::Pending));
    ObjectPatch::Json(guarded.add(&register(uid, "askWhen"), json!(AskWhen::Now)).build())
}

/// Notifies an agent that the claim is committed, if it has voted with this ballot.
pub(crate) fn notify(uid: &str, ballot: &str) -> ObjectPatch {
    let guarded = Ops::default().test(&register(uid, "vote"), json!(Vote::Accepted));
    ObjectPatch::Json(guarded.test(&register(uid, "ballot"), ballot).add(&register(uid, "committed"), true).build())
}

/// Tells an agent to stop. The test is for the entry itself: one that is gone is not made again.
pub(crate) fn stop(uid: &str, match_key: &str) -> ObjectPatch {
    let guarded = Ops::default().test(&register(uid, "match"), match_key);
    ObjectPatch::Json(guarded.add(&register(uid, "release"), true).build())
}

/// Marks an agent's work as lost, if the offer is what it was before the agent's Lease was read: an agent that comes back renews its
/// Lease, then writes here, and only then goes on. So either this write fails, or it does not go on.
pub(crate) fn mark_lost(uid: &str, version: &str) -> ObjectPatch {
    let guarded = Ops::default().test(&["metadata", "resourceVersion"], version);
    let guarded = guarded.test(&register(uid, "activity"), json!(Activity::Active));
    ObjectPatch::Json(guarded.replace(&register(uid, "activity"), json!(Activity::Lost)).build())
}

fn register<'r>(uid: &'r str, name: &'r str) -> [&'r str; 4] {
    ["status", "claims", uid, name]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize, length: usize) -> Vec<String> {
        let member = |n: usize| Member {
            kind: "Machine".into(),
            namespace: "n".into(),
            name: format!("{n:0length$}"),
            ..Member::default()
        };
        members(&(0..count).map(member).collect::<Vec<_>>())
    }

    #[test]
    fn members_have_a_line_each_or_are_counted_in_the_last() {
        assert_eq!(lines(16, 2).len(), 16);
        assert_eq!(lines(16, 2).last().unwrap(), "Machine n/15");
        let many = lines(17, 2);
        assert_eq!((many.len(), many.last().unwrap().as_str()), (16, "+2 more"));
    }

    #[test]
    fn f22_long_names_of_members_take_little_room() {
        let long = lines(16, 253);
        assert!(long.iter().map(String::len).sum::<usize>() < LINES_MAX + 16);
        assert_eq!(long.last().unwrap(), &format!("+{} more", 16 - (long.len() - 1)));
    }
}

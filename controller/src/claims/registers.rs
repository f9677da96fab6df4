//! What is written into the entry of an offer with an agent: how it is born, and which registers are turned later.
//!
//! The vote, its reason, the ballot and the activity are the agent's to write; what is here is the rest, and `Lost`.

use std::collections::BTreeMap;

use crds::{Activity, AskWhen, ClaimEntry, Match, Vote};
use pool::Objects;
use serde_json::{Value, json};

use crate::api::Change;
use crate::claims::view::{Leg, View};
use crate::patch::Ops;

/// The entry of a claim in an offer's ledger, as it is born. Without an agent it is a yes; an agent is told who asks.
pub(crate) fn birth(view: &View, leg: &Leg, introduced: Introduced) -> ClaimEntry {
    let entry = ClaimEntry {
        match_key: view.key.to_string(),
        takes: leg.takes.clone(),
        share: leg.share.clone(),
        vote: Vote::Accepted,
        ..ClaimEntry::default()
    };
    if !leg.agent {
        return entry;
    }
    let ask_when = if introduced.at_once { AskWhen::Now } else { AskWhen::ChildrenAccepted };
    let members = view.found.as_ref().map(|found| members(found)).unwrap_or_default();
    ClaimEntry { vote: Vote::Pending, ask_when, members, requester: introduced.requester, ..entry }
}

/// What an agent is told with the entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Introduced {
    /// It may vote at once: there is no agent below it.
    pub(crate) at_once: bool,
    /// What its ad reads of the one that asks.
    pub(crate) requester: BTreeMap<String, Value>,
}

/// What the agent of a leg is told; nothing, if it has none.
pub(crate) fn introduced(view: &View, number: usize, objects: &Objects) -> Introduced {
    match view.legs.get(number) {
        Some(leg) if leg.agent => {
            Introduced { at_once: view.claim(objects, 0, None).votes_at_once(number), requester: BTreeMap::new() }
        }
        _ => Introduced::default(),
    }
}

/// Everybody in the gang.
fn members(found: &Match) -> Vec<String> {
    let name = |member: &crds::Member| format!("{} {}/{}", member.kind, member.namespace, member.name);
    found.spec.members.iter().map(name).collect()
}

/// Its turn has come.
pub(crate) fn ask(uid: &str) -> Change {
    let guarded = Ops::default().test(&register(uid, "vote"), json!(Vote::Pending));
    Change::Json(guarded.add(&register(uid, "askWhen"), json!(AskWhen::Now)).build())
}

/// The claim stands; only for whoever has cast this very ballot.
pub(crate) fn tell(uid: &str, ballot: &str) -> Change {
    let guarded = Ops::default().test(&register(uid, "vote"), json!(Vote::Accepted));
    Change::Json(guarded.test(&register(uid, "ballot"), ballot).add(&register(uid, "committed"), true).build())
}

/// It is to stop. The test is for the entry itself: one that is gone is not made again.
pub(crate) fn stop(uid: &str, match_key: &str) -> Change {
    let guarded = Ops::default().test(&register(uid, "match"), match_key);
    Change::Json(guarded.add(&register(uid, "release"), true).build())
}

/// Its work is lost.
pub(crate) fn lose(uid: &str) -> Change {
    let guarded = Ops::default().test(&register(uid, "activity"), json!(Activity::Active));
    Change::Json(guarded.replace(&register(uid, "activity"), json!(Activity::Lost)).build())
}

fn register<'r>(uid: &'r str, name: &'r str) -> [&'r str; 4] {
    ["status", "claims", uid, name]
}

//! What an agent sees of its offer, and what it works on, into what it has to do now.
//!
//! Everything but the work itself is in the object: an agent that was restarted goes on from there.

use std::collections::BTreeMap;

use crds::{Activity, AskWhen, ClaimEntry, Vote};

/// The offer, as it was seen last.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfferView<'s> {
    /// Not seen yet.
    Unknown,
    /// It was deleted.
    Gone,
    /// It is there: its uid, and its claims.
    There(&'s str, &'s BTreeMap<String, ClaimEntry>),
}

/// Work for one claim, in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// The uid of the offer as it was then.
    pub(crate) offer: String,
    /// It has ended by itself.
    pub(crate) ended: bool,
}

/// One thing to do, for the claim of the Match with this uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// Stop the work.
    Halt(String),
    /// Write that the work has ended.
    End(String),
    /// Vote.
    Vote(String),
    /// Write that the work goes on, then begin it.
    Begin(String),
    /// The same for work that an agent before this one has begun.
    Resume(String),
}

/// What is to be done. `lapsed`: the Lease could not be renewed for so long that others will take this agent for lost.
pub(crate) fn tasks(view: OfferView<'_>, works: &BTreeMap<String, Work>, lapsed: bool) -> Vec<Task> {
    let (uid, claims) = match view {
        OfferView::Unknown if lapsed => return works.keys().cloned().map(Task::Halt).collect(),
        OfferView::Unknown => return Vec::new(),
        OfferView::Gone => return works.keys().cloned().map(Task::Halt).collect(),
        OfferView::There(uid, claims) => (uid, claims),
    };
    let may_work = |claim: &str, work: &Work| {
        let goes_on = |entry: &ClaimEntry| !entry.release && entry.activity == Activity::Active;
        work.offer == uid && claims.get(claim).is_some_and(goes_on)
    };
    let (mine, former): (Vec<_>, Vec<_>) = works.iter().partition(|(claim, work)| !lapsed && may_work(claim, work));
    let mut all: Vec<Task> = former.iter().map(|(claim, _)| Task::Halt((*claim).clone())).collect();
    all.extend(mine.iter().filter(|(_, work)| work.ended).map(|(claim, _)| Task::End((*claim).clone())));
    for (claim, entry) in claims.iter().filter(|(claim, _)| !works.contains_key(*claim)) {
        all.extend(of_entry(entry, lapsed, former.is_empty()).map(|task| task(claim.clone())));
    }
    all
}

/// What an entry asks of an agent that does not work for it. It does not vote while it still works for a claim
/// that is over.
fn of_entry(entry: &ClaimEntry, lapsed: bool, is_free: bool) -> Option<fn(String) -> Task> {
    match entry.activity {
        Activity::Active if entry.release => Some(Task::End),
        Activity::Active if !lapsed => Some(Task::Resume),
        Activity::Idle if lapsed || entry.release => None,
        Activity::Idle if entry.committed => is_free.then_some(Task::Begin),
        Activity::Idle => {
            let asked = entry.vote == Vote::Pending && entry.ask_when == AskWhen::Now;
            (asked && is_free).then_some(Task::Vote)
        }
        Activity::Active | Activity::Ended | Activity::Lost => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(registers: &Value) -> ClaimEntry {
        let mut entry = json!({"match": "n/m", "allocation": {"slots": 1}, "vote": "Accepted"});
        entry.as_object_mut().unwrap().extend(registers.as_object().unwrap().clone());
        serde_json::from_value(entry).unwrap()
    }

    fn due(registers: &Value, works: Option<(&str, bool)>, lapsed: bool) -> Vec<Task> {
        let claims = BTreeMap::from([("u".to_owned(), entry(registers))]);
        let work = |(offer, ended): (&str, bool)| ("u".to_owned(), Work { offer: offer.to_owned(), ended });
        tasks(OfferView::There("o", &claims), &works.map(work).into_iter().collect(), lapsed)
    }

    #[test]
    fn row_by_row() {
        let [vote, begin, resume, halt, end] = [Task::Vote, Task::Begin, Task::Resume, Task::Halt, Task::End]
            .map(|task: fn(String) -> Task| task("u".into()));
        let told = json!({"committed": true});
        let active = json!({"committed": true, "activity": "Active"});
        let released = json!({"committed": true, "activity": "Active", "release": true});
        let table = [
            (json!({"vote": "Pending"}), None, false, vec![vote]),
            (json!({"vote": "Pending"}), None, true, vec![]),
            (json!({"vote": "Pending", "askWhen": "ChildrenAccepted"}), None, false, vec![]),
            (json!({}), None, false, vec![]),
            (json!({"vote": "Rejected"}), None, false, vec![]),
            (told.clone(), None, false, vec![begin]),
            (told.clone(), None, true, vec![]),
            (json!({"committed": true, "release": true}), None, false, vec![]),
            (active.clone(), Some(("o", false)), false, vec![]),
            (active.clone(), Some(("o", true)), false, vec![end.clone()]),
            (active.clone(), Some(("o", false)), true, vec![halt.clone()]),
            (active.clone(), Some(("former", false)), false, vec![halt.clone()]),
            (active.clone(), None, false, vec![resume]),
            (active, None, true, vec![]),
            (released.clone(), Some(("o", false)), false, vec![halt.clone()]),
            (released, None, false, vec![end]),
            (json!({"committed": true, "activity": "Lost"}), Some(("o", false)), false, vec![halt]),
            (json!({"committed": true, "activity": "Ended"}), None, false, vec![]),
        ];
        for (registers, works, lapsed, expected) in table {
            assert_eq!(due(&registers, works, lapsed), expected, "{registers} {works:?} {lapsed}");
        }
    }

    #[test]
    fn nobody_is_voted_for_while_work_for_a_former_claim_goes_on() {
        let claims = BTreeMap::from([("new".to_owned(), entry(&json!({"vote": "Pending"})))]);
        let works = BTreeMap::from([("old".to_owned(), Work { offer: "o".to_owned(), ended: false })]);
        assert_eq!(tasks(OfferView::There("o", &claims), &works, false), [Task::Halt("old".to_owned())]);
        assert_eq!(tasks(OfferView::There("o", &claims), &BTreeMap::new(), false), [Task::Vote("new".to_owned())]);
    }

    #[test]
    fn an_offer_that_is_gone_ends_all_work_and_one_not_seen_yet_none() {
        let works = BTreeMap::from([("u".to_owned(), Work { offer: "o".to_owned(), ended: false })]);
        assert_eq!(tasks(OfferView::Gone, &works, false), [Task::Halt("u".to_owned())]);
        assert_eq!(tasks(OfferView::Unknown, &works, false), []);
        assert_eq!(tasks(OfferView::Unknown, &works, true), [Task::Halt("u".to_owned())]);
    }
}

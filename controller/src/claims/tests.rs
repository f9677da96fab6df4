//! What the objects show of a claim, why it should end, and which writes are due: row by row.

use std::sync::Arc;

use claiming::{Action, Decision, Event, Hold, Reason, step};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::dirty::DirtyClaims;
use super::due::DueSteps;
use super::exit_reason::exit_reason;
use super::observation::Moment;
use super::registers::Introduced;
use super::view::{View, view};
use super::writes;
use crate::cycle::in_flight::{InFlight, assumed_gang};
use crate::testing::fixtures::{MATCH_UID, entry, found, job, key, license, machine, world};
use crate::write::requests::ObjectPatch;
use pool::Objects;

fn the_view(objects: &Objects) -> View {
    view(MATCH_UID, objects).unwrap()
}

/// Why the claim of the fixtures is to end, by what the objects show.
pub(super) fn exit_of(objects: &Objects, now: i64) -> Option<Reason> {
    let view = the_view(objects);
    exit_reason(&view, view.decision(), objects, now)
}

/// What is due without an election, while no time passes.
fn due_now(objects: &Objects) -> DueSteps {
    let mut dirty = DirtyClaims::default();
    dirty.note(&objects.everything(), objects);
    let moment = Moment {
        now: Timestamp::UNIX_EPOCH,
        now_ms: 0,
        epoch: None,
        deadline_ms: &|_| 30_000,
        under_way: &|_| false,
        ..Moment::bare()
    };
    dirty.due(objects, &moment)
}

fn committed() -> Value {
    json!({"decision": "Committed", "committedAt": "2026-11-21T14:00:00Z"})
}

fn json_of(change: ObjectPatch) -> Value {
    match change {
        ObjectPatch::Json(patch) => serde_json::to_value(patch).unwrap(),
        ObjectPatch::Merge(patch) => patch,
    }
}

#[test]
fn a_claim_is_seen_as_it_is() {
    let objects = world(&committed());
    let claim = the_view(&objects).claim(&objects, 0, None);
    assert_eq!((claim.decision, claim.root, claim.root_notified), (Decision::Committed, Hold::Held, false));
    assert_eq!(claim.holds(), [Hold::Held, Hold::Held]);
}

#[test]
fn another_object_of_the_name_is_not_the_member() {
    let mut objects = world(&committed());
    let mut again = machine(&json!({}), &entry("slots"));
    again.metadata.uid = Some("u-another".to_owned());
    again.metadata.resource_version = Some("2".to_owned());
    objects.machines.put(again);
    assert_eq!(the_view(&objects).claim(&objects, 0, None).holds(), [Hold::Gone, Hold::Held]);
}

#[test]
fn what_is_left_of_a_deleted_match_is_found_by_its_uid() {
    let mut objects = world(&committed());
    objects.matches.retain(|_| false);
    let view = the_view(&objects);
    assert_eq!(view.decision(), Decision::Missing);
    let claim = view.claim(&objects, 0, None);
    assert_eq!((claim.root, claim.holds()), (Hold::Held, vec![Hold::Held, Hold::Held]));
    let steps = [
        (Event::Tick, vec![Action::ReadDecision]),
        (Event::DecisionRead(Decision::Gone), vec![Action::ListEntries]),
        (Event::NoEntries, vec![Action::Free(0), Action::Free(1)]),
    ];
    steps.into_iter().fold(claim, |claim, (event, actions)| {
        let (claim, asked) = step(claim, event, 0);
        assert_eq!(asked, actions, "{event:?}");
        claim
    });
}

/// Something happens to the world.
type Happening<'t> = &'t dyn Fn(&mut Objects);

#[test]
fn reasons_to_exit() {
    let now = Timestamp::from_second(1_795_000_000).unwrap();
    let late = now.as_second() + 100_000_000;
    let held = json!({"claim": {"match": "match", "uid": MATCH_UID}});
    let table: [(&str, Option<Reason>, Happening<'_>); 7] = [
        ("nothing", None, &|_| {}),
        ("done", Some(Reason::Done), &|all| all.jobs.put(job(&json!({"done": true}), &held))),
        ("suspend", Some(Reason::Suspended), &|all| all.jobs.put(job(&json!({"suspend": true}), &held))),
        ("job gone", Some(Reason::JobDeleted), &|all| all.jobs.remove(&key("job"))),
        ("machine gone", Some(Reason::MemberLost), &|all| all.machines.remove(&key("machine"))),
        ("evict", Some(Reason::Evicted), &|all| {
            all.machines.put(machine(&json!({"stopPolicy": "HoldAndDrain"}), &entry("slots")));
        }),
        ("time", Some(Reason::ClaimExpired), &|all| all.jobs.put(job(&json!({"activeDeadlineSeconds": 5}), &held))),
    ];
    for (what, reason, change) in table {
        let mut objects = world(&committed());
        change(&mut objects);
        assert_eq!(exit_of(&objects, late), reason, "{what}");
    }
    let mut pending = world(&json!({"decision": "Pending"}));
    pending.machines.remove(&key("machine"));
    assert_eq!(exit_of(&pending, late), Some(Reason::MemberGone));
    let over = world(&json!({"decision": "Released", "reason": "Done"}));
    assert_eq!(exit_of(&over, late), None, "it has ended already");
}

#[test]
fn only_claims_with_a_next_step_are_due() {
    let table = [(committed(), 1), (json!({"decision": "Pending"}), 1), (json!({"decision": "Aborted"}), 1)];
    for (status, count) in table {
        assert_eq!(due_now(&world(&status)).claims.len(), count, "{status}");
    }
    let mut told = world(&committed());
    let status = json!({"claim": {"match": "match", "uid": MATCH_UID}, "conditions": [{"type": "Claimed", "status": "True",
        "reason": "Committed", "message": "", "lastTransitionTime": "2026-11-21T14:00:00Z"}]});
    told.jobs.put(job(&json!({}), &status));
    assert!(due_now(&told).claims.is_empty(), "it stands, and its job shows that");
}

#[test]
fn old_matches_go_once_nothing_is_held() {
    let mut objects = world(&json!({"decision": "Released", "reason": "Done"}));
    objects.jobs.put(job(&json!({"matchHistoryLimit": 0}), &json!({})));
    assert!(due_now(&objects).outlived.is_empty(), "its entries are still there");
    objects.machines.put(machine(&json!({}), &json!({})));
    objects.licenses.put(license(&json!({}), &json!({})));
    assert_eq!(due_now(&objects).outlived, [(key("match"), MATCH_UID.to_owned())]);
}

#[test]
fn a_reserve_tests_what_was_matched_and_adds_one_entry() {
    let mut objects = world(&json!({"decision": "Pending"}));
    objects.licenses.put(license(&json!({"sharedBy": "1"}), &json!({})));
    let mut view = the_view(&objects);
    view.legs[1].share = Some("a".to_owned());
    let offer = objects.offer("License", &key("license")).unwrap();
    let claim = (&view, &view.legs[1], Introduced::default());
    let patch = json_of(writes::reserve(vec![claim], offer, &objects, Some(7), Timestamp::UNIX_EPOCH));
    let at = |path: &str| patch.as_array().unwrap().iter().find(|op| op["path"] == path).unwrap().clone();
    assert_eq!(at("/metadata/uid"), json!({"op": "test", "path": "/metadata/uid", "value": "u-license"}));
    assert_eq!(at("/metadata/generation")["op"], "test");
    assert_eq!(at("/status/shared/a")["value"], json!({"seats": 1}));
    let first = patch.as_array().unwrap().iter().find(|op| op["path"] == "/status/claims/u-match").unwrap();
    assert_eq!(*first, json!({"op": "test", "path": "/status/claims/u-match", "value": null}), "only once");
    let entry = patch.as_array().unwrap().iter().rfind(|op| op["path"] == "/status/claims/u-match").unwrap();
    assert_eq!((&entry["op"], &entry["value"]["vote"]), (&json!("add"), &json!("Accepted")));
    assert_eq!(at("/status/used")["value"], "1/1 seats");
    assert_eq!(at("/status/epoch"), json!({"op": "add", "path": "/status/epoch", "value": 7}));
    assert!(patch.as_array().unwrap().iter().take(3).all(|op| op["op"] == "test"), "tests come first");
    assert!(!patch.to_string().contains("conditions"), "a late write would date those of a fresh offer back");
}

#[test]
fn conditions_that_follow_from_a_ledger_are_written_only_over_those_that_were_seen() {
    let mut objects = world(&json!({"decision": "Pending"}));
    let seen = json!([{"type": "Ready", "status": "False", "reason": "Draining", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}]);
    objects.licenses.put(license(&json!({}), &json!({"conditions": seen})));
    let view = the_view(&objects);
    let offer = objects.offer("License", &key("license")).unwrap();
    let claim = (&view, &view.legs[1], Introduced::default());
    let patch = writes::reserve(vec![claim], offer, &objects, Some(7), Timestamp::UNIX_EPOCH);
    let plain = writes::without_conditions(&patch).unwrap();
    assert!(writes::without_conditions(&plain).is_none(), "it has none any more");
    let (patch, plain) = (json_of(patch), json_of(plain));
    let of_conditions = |patch: &Value| -> Vec<Value> {
        let ops = patch.as_array().unwrap().iter().filter(|op| op["path"] == "/status/conditions");
        ops.map(|op| op["op"].clone()).collect()
    };
    assert_eq!(of_conditions(&patch), [json!("test"), json!("add")]);
    assert_eq!(plain.as_array().unwrap().len() + 2, patch.as_array().unwrap().len(), "nothing else is left out");
}

#[test]
fn claims_that_want_an_offer_at_once_are_entered_by_one_write() {
    let mut objects = world(&json!({"decision": "Pending"}));
    objects.licenses.put(license(&json!({"capacity": {"seats": 3}}), &json!({})));
    let view = the_view(&objects);
    let mut second = the_view(&objects);
    second.uid = "u-second".to_owned();
    let offer = objects.offer("License", &key("license")).unwrap();
    let claims = [&view, &second].map(|view| (view, &view.legs[1], Introduced::default()));
    let patch = json_of(writes::reserve(claims.into(), offer, &objects, None, Timestamp::UNIX_EPOCH));
    let ops: Vec<(String, String)> = patch
        .as_array()
        .unwrap()
        .iter()
        .map(|op| (op["op"].as_str().unwrap().to_owned(), op["path"].as_str().unwrap().to_owned()))
        .collect();
    let count = |op: &str, path: &str| ops.iter().filter(|(one, at)| one == op && at.starts_with(path)).count();
    assert_eq!((count("test", "/metadata"), count("test", "/status/claims/")), (2, 2), "{ops:?}");
    assert_eq!((count("add", "/status/claims/"), count("add", "/status/used")), (2, 1), "{ops:?}");
    assert!(patch.to_string().contains("2/3 seats"), "{patch}");
}

#[test]
fn a_job_is_reserved_only_once() {
    let objects = world(&json!({"decision": "Pending"}));
    let view = the_view(&objects);
    let held = objects.jobs.get(&view.root.key).unwrap();
    let found = view.found.as_ref().unwrap();
    let patch = json_of(writes::reserve_root(&view, found, held, Timestamp::UNIX_EPOCH));
    let claim = patch.as_array().unwrap().iter().find(|op| op["path"] == "/status/claim").unwrap();
    assert_eq!(*claim, json!({"op": "test", "path": "/status/claim", "value": null}));
    let version = patch.as_array().unwrap().iter().find(|op| op["path"] == "/metadata/resourceVersion").unwrap();
    assert_eq!(version["op"], "test", "what it was told since is not dated back: {patch}");
}

#[test]
fn a_job_is_told_that_it_waits_or_claimed_and_not_both_at_once() {
    let objects = world(&json!({"decision": "Pending"}));
    let (view, flights) = (the_view(&objects), Arc::new(InFlight::default()));
    let gang = || Some(assumed_gang(view.found.as_ref().unwrap()));
    let told = flights.tell(&view.root.uid).unwrap();
    assert!(flights.is_told(&view.root.uid) && flights.tell(&view.root.uid).is_none(), "by one at a time");
    assert!(flights.begin(&view, gang()).is_none(), "no gang is handed on while it is told that it waits");
    drop(told);
    let claimed = flights.begin(&view, gang()).unwrap();
    assert!(flights.tell(&view.root.uid).is_none(), "its claim tells it more");
    drop(claimed);
    let told = flights.tell(&view.root.uid);
    assert!(told.is_some() && flights.begin(&view, None).is_some(), "what was begun before goes on");
}

#[test]
fn freeing_removes_the_entry_and_a_seat_that_no_other_claim_shares() {
    let shared = |others: bool| {
        let mut claims =
            json!({MATCH_UID: {"match": "ns/match", "allocation": {"seats": 1}, "share": "a", "vote": "Accepted"}});
        if others {
            claims["u-other"] =
                json!({"match": "ns/other", "allocation": {"seats": 1}, "share": "a", "vote": "Accepted"});
        }
        json!({"claims": claims, "shared": {"a": {"seats": 1}}})
    };
    for (others, used) in [(false, "0/1 seats"), (true, "1/1 seats")] {
        let mut objects = world(&json!({"decision": "Released"}));
        objects.licenses.put(license(&json!({}), &shared(others)));
        let view = the_view(&objects);
        let offer = objects.offer("License", &key("license")).unwrap();
        let patch = freed(&[&view], offer, &objects).unwrap();
        let ops = patch.as_array().unwrap();
        let has = |op: &str, path: &str| ops.iter().any(|one| one["op"] == op && one["path"] == path);
        assert!(has("remove", &format!("/status/claims/{MATCH_UID}")));
        assert_eq!(has("remove", "/status/shared/a"), !others);
        assert!(ops.iter().any(|op| op["path"] == "/status/used" && op["value"] == used), "{patch}");
    }
}

#[test]
fn what_is_freed_late_says_nothing_of_the_offer_any_more() {
    let mut objects = world(&json!({"decision": "Released"}));
    let view = the_view(&objects);
    let offer = objects.offer("Machine", &key("machine")).unwrap();
    let patch = freed(&[&view], offer, &objects).unwrap();
    let entry = format!("/status/claims/{MATCH_UID}/match");
    let tested: Vec<&Value> = patch.as_array().unwrap().iter().filter(|op| op["op"] == "test").collect();
    assert!(tested.iter().any(|op| op["path"] == entry.as_str()), "{patch}");
    objects.machines.put(machine(&json!({}), &json!({})));
    let offer = objects.offer("Machine", &key("machine")).unwrap();
    assert!(freed(&[&view], offer, &objects).is_none(), "it was freed already");
}

#[test]
fn one_write_takes_out_all_that_are_there() {
    let mut objects = world(&json!({"decision": "Released"}));
    let entry = |name: &str| json!({"match": format!("ns/{name}"), "allocation": {"seats": 1}, "vote": "Accepted"});
    let claims = json!({"u-1": entry("m-1"), "u-2": entry("m-2"), "u-4": entry("m-4")});
    objects.licenses.put(license(&json!({}), &json!({"claims": claims})));
    let one = the_view(&objects);
    let views = ["u-1", "u-2", "u-3"].map(|uid| View { uid: uid.to_owned(), ..one.clone() });
    let offer = objects.offer("License", &key("license")).unwrap();
    let patch = freed(&views.each_ref(), offer, &objects).unwrap();
    let of = |op: &str| {
        let all = patch.as_array().unwrap().iter().filter(move |one| one["op"] == op);
        all.filter_map(|one| one["path"].as_str()).filter(|path| path.contains("/claims/")).collect::<Vec<_>>()
    };
    assert_eq!(of("remove"), ["/status/claims/u-1", "/status/claims/u-2"], "u-3 is not there, u-4 stays");
    assert_eq!(of("test"), ["/status/claims/u-1/match", "/status/claims/u-2/match"]);
}

fn freed(views: &[&View], offer: pool::OfferRef<'_>, objects: &Objects) -> Option<Value> {
    writes::free(views, offer, writes::Seats::OfThoseAlone, objects, Timestamp::UNIX_EPOCH).map(json_of)
}

#[test]
fn a_late_notification_changes_nothing() {
    let told = json!({"type": "Matched", "status": "True", "reason": "GangFound", "message": "",
        "lastTransitionTime": "2026-11-21T14:00:00Z"});
    let mut objects = world(&committed());
    let status = json!({"claim": {"match": "match", "uid": MATCH_UID}, "conditions": [told]});
    objects.jobs.put(job(&json!({}), &status));
    let held = objects.jobs.get(&key("job")).unwrap();
    let patch = json_of(writes::notify_job(&the_view(&objects), &found(&committed()), held, Timestamp::UNIX_EPOCH));
    let test = json!({"op": "test", "path": "/status/conditions", "value": [told]});
    assert!(patch.as_array().unwrap().contains(&test), "{patch}");
}

/// A new leader may see a job as it was created, and the claim that was committed since.
#[test]
fn a_job_that_is_seen_as_it_was_created_is_notified_as_it_was_seen_or_not_at_all() {
    let mut objects = world(&committed());
    let mut born = job(&json!({}), &json!({}));
    born.metadata.resource_version = Some("17".to_owned());
    objects.jobs.put(born);
    let held = objects.jobs.get(&key("job")).unwrap();
    let patch = json_of(writes::notify_job(&the_view(&objects), &found(&committed()), held, Timestamp::UNIX_EPOCH));
    let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": "17"});
    assert!(patch.as_array().unwrap().contains(&test), "{patch}");
}

#[test]
fn a_decision_tests_what_it_turns() {
    use crds::Decision::{Aborted, Committed, Released};
    let objects = world(&json!({"decision": "Pending"}));
    let view = the_view(&objects);
    let outcome = |to| writes::Decided { to, reason: Some(Reason::Done), message: "", votes: Vec::new() };
    for (to, from) in [(Committed, "Pending"), (Aborted, "Pending"), (Released, "Committed")] {
        let patch = json_of(writes::decide(&view, &found(&json!({})), outcome(to), Timestamp::UNIX_EPOCH));
        assert_eq!(patch[1], json!({"op": "test", "path": "/status/decision", "value": from}), "{to:?}");
        assert_eq!(patch[2]["op"], "replace");
    }
}

/// Sixteen machines with long names, or what the API server says of a batch Job with many mistakes.
#[test]
fn a_message_that_is_too_long_does_not_keep_a_claim_from_its_end() {
    let objects = world(&committed());
    let message = "é".repeat(5000);
    let outcome = writes::Decided {
        to: crds::Decision::Released,
        reason: Some(Reason::Done),
        message: &message,
        votes: Vec::new(),
    };
    let decided = writes::decide(&the_view(&objects), &found(&committed()), outcome, Timestamp::UNIX_EPOCH);
    let patch = json_of(decided);
    let written = patch.as_array().unwrap().iter().find(|op| op["path"] == "/status/message").unwrap();
    assert_eq!(written["value"].as_str().unwrap().chars().count(), 1024, "as many as the definition allows");
}

#[test]
fn a_claim_that_was_taken_out_of_its_job_is_put_back() {
    let mut objects = world(&committed());
    objects.jobs.put(job(&json!({}), &json!({})));
    let due = due_now(&objects).claims;
    assert_eq!(due.len(), 1, "the job does not know of it any more");
    let claim = due[0].claim(&objects, 0, None);
    assert_eq!(step(claim, Event::Tick, 0).1, [Action::NotifyJob]);
    let held = objects.jobs.get(&key("job")).unwrap();
    let patch = json_of(writes::notify_job(&due[0], &found(&committed()), held, Timestamp::UNIX_EPOCH));
    let ops = patch.as_array().unwrap();
    assert_eq!(ops[0], json!({"op": "test", "path": "/metadata/uid", "value": "u-job"}));
    assert!(ops.iter().all(|op| op["op"] != "test" || op["path"] != "/status/claim/uid"), "there is none to test");
    let claim = json!({"op": "add", "path": "/status/claim", "value": {"match": "match", "uid": MATCH_UID}});
    assert!(ops.contains(&claim), "{patch}");
    assert!(ops.iter().any(|op| op["path"] == "/status/conditions"));
}

#[test]
fn an_entry_that_was_lost_by_an_offer_is_written_back_from_the_match() {
    let mut objects = world(&committed());
    assert!(super::lost_entries(&objects).is_empty());
    objects.licenses.put(license(&json!({}), &json!({})));
    let all = super::lost_entries(&objects);
    let [(view, numbers)] = &all[..] else { panic!("{all:?}") };
    assert_eq!((view.uid.as_str(), numbers.as_slice()), (MATCH_UID, &[1][..]));
    let offer = objects.offer("License", &key("license")).unwrap();
    let patch = json_of(writes::restore(vec![(view, &view.legs[1])], offer, &objects, Some(7), Timestamp::UNIX_EPOCH));
    let ops = patch.as_array().unwrap();
    assert_eq!(
        ops[1],
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": "1"}),
        "exactly the wiped state"
    );
    let entry = ops.iter().find(|op| op["path"] == "/status/claims/u-match").unwrap();
    assert_eq!((&entry["value"]["allocation"], &entry["value"]["match"]), (&json!({"seats": 1}), &json!("ns/match")));
    objects.licenses.remove(&key("license"));
    assert!(super::lost_entries(&objects).is_empty(), "of one that is gone there is nothing to restore");
    let mut undecided = world(&json!({"decision": "Pending"}));
    undecided.licenses.put(license(&json!({}), &json!({})));
    assert!(super::lost_entries(&undecided).is_empty(), "one that is not reserved yet is not lost");
}

#[test]
fn nothing_is_reserved_where_the_owner_has_not_agreed() {
    let mut objects = world(&json!({"decision": "Pending"}));
    let mut forged = found(&json!({"decision": "Pending"}));
    forged.spec.members[2].namespace = "far".to_owned();
    forged.metadata.resource_version = Some("2".to_owned());
    objects.matches.put(forged);
    let mut far = license(&json!({}), &json!({}));
    far.metadata.namespace = Some("far".to_owned());
    objects.licenses.put(far.clone());
    let view = the_view(&objects);
    assert_eq!(exit_of(&objects, 0), Some(Reason::NotAllowed), "it takes jobs of its own namespace only");
    let (claim, before) = step(view.claim(&objects, u64::MAX, None), Event::Exit(Reason::NotAllowed), 0);
    assert_eq!(before, [Action::Abort(Reason::NotAllowed)], "and no reserve");
    assert_eq!(step(claim, Event::Tick, 0).1, []);
    far.spec.offer.allowed_namespaces =
        Some(crds::AllowedNamespaces { from: crds::NamespacesFrom::All, selector: None });
    far.metadata.resource_version = Some("3".to_owned());
    objects.licenses.put(far);
    let labels = [("gangmatch.dev/offers".to_owned(), "cluster".to_owned())].into();
    objects.namespaces.apply("far", labels);
    assert_eq!(exit_of(&objects, 0), None);
}

#[test]
fn a_claim_of_an_offer_that_never_agreed_is_neither_restored_nor_kept() {
    let committed = json!({"decision": "Committed"});
    let mut objects = world(&committed);
    let mut forged = found(&committed);
    forged.spec.members[2].namespace = "far".to_owned();
    forged.metadata.resource_version = Some("2".to_owned());
    objects.matches.put(forged);
    let mut far = license(&json!({}), &json!({}));
    far.metadata.namespace = Some("far".to_owned());
    objects.licenses.put(far.clone());
    assert!(super::lost_entries(&objects).is_empty(), "nothing of it is written there");
    assert!(pool::missing_entries(&objects).is_empty(), "nor is the offer closed for it");
    assert_eq!(exit_of(&objects, 0), Some(Reason::NotAllowed));
    // One that was entered when the owner agreed goes on.
    far.status = license(&json!({}), &crate::testing::fixtures::entry("seats")).status;
    far.metadata.resource_version = Some("3".to_owned());
    objects.licenses.put(far);
    assert_eq!(exit_of(&objects, 0), None);
}

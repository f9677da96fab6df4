//! Claims with agents: what the objects show of them, and what is written into their entries: row by row.

use std::sync::Arc;

use claiming::{Action, Event, Reason, Vote, step};
use crds::{ClaimPolicy, Match};
use jiff::Timestamp;
use pool::{AgentLiveness, Objects};
use serde_json::{Value, json};

use super::dirty::DirtyClaims;
use super::due::newest_epoch;
use super::observation::Moment;
use super::tests::exit_of;
use super::view::{View, view};
use super::{registers, writes};
use crate::testing::fixtures::{MATCH_UID, found, job, key, license, machine, world};
use crate::write::requests::ObjectPatch;

/// The gang of the fixtures, in which an agent speaks for the machine, and one for the license that works for the machine.
fn gang(status: &Value) -> Match {
    let mut gang = found(status);
    for member in gang.spec.members.iter_mut().skip(1) {
        member.claim_policy = Some(ClaimPolicy::Agent);
    }
    gang.spec.members[2].parent = Some(1);
    gang.metadata.resource_version = Some("2".to_owned());
    gang
}

fn entry(resource: &str, registers: &Value) -> Value {
    let mut entry =
        json!({"match": "ns/match", "allocation": {resource: 1}, "vote": "Pending", "members": ["Job ns/job"]});
    entry.as_object_mut().unwrap().extend(registers.as_object().unwrap().clone());
    json!({"claims": {MATCH_UID: entry}})
}

/// A world in which the register says this, and the two entries these.
fn voted(decision: &str, of_machine: &Value, of_license: &Value) -> Objects {
    let mut objects = world(&json!({"decision": decision}));
    objects.matches.put(gang(&json!({"decision": decision})));
    let agent = json!({"claimPolicy": "Agent", "agent": {"username": "a"}});
    objects.machines.put(machine(&agent, &entry("slots", of_machine)));
    objects.licenses.put(license(&agent, &entry("seats", of_license)));
    objects
}

fn the_view(objects: &Objects) -> View {
    view(MATCH_UID, objects).unwrap()
}

/// What the claim asks for first; of one that is over, once the server has said so.
fn asked(objects: &Objects) -> Vec<Action> {
    let (claim, asked) = step(the_view(objects).claim(objects, 30_000, None), Event::Tick, 0);
    let decision = claim.decision;
    if decision.has_ended() { step(claim, Event::DecisionRead(decision), 0).1 } else { asked }
}

fn json_of(change: ObjectPatch) -> Value {
    match change {
        ObjectPatch::Json(patch) => serde_json::to_value(patch).unwrap(),
        ObjectPatch::Merge(patch) => patch,
    }
}

#[test]
fn registers_are_seen_and_lead_to_the_next_write() {
    let later = json!({"askWhen": "ChildrenAccepted"});
    let (none, yes, no) = (json!({}), json!({"vote": "Accepted", "ballot": "b"}), json!({"vote": "Rejected"}));
    let told = json!({"vote": "Accepted", "ballot": "b", "committed": true});
    let with = |extra: Value| {
        let mut all = told.clone();
        all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        all
    };
    let (active, ended) = (with(json!({"activity": "Active"})), with(json!({"activity": "Ended"})));
    let lost = with(json!({"activity": "Lost"}));
    let stopped = with(json!({"activity": "Active", "release": true}));
    let table = [
        ("Pending", &later, &none, vec![], "the license first"),
        ("Pending", &later, &yes, vec![Action::RequestVote(0)], "now the machine"),
        ("Pending", &none, &yes, vec![], "it was asked"),
        ("Pending", &yes, &yes, vec![Action::Verify], "all have accepted"),
        ("Pending", &yes, &no, vec![Action::Abort(Reason::Rejected)], "one refusal is enough"),
        ("Committed", &told, &yes, vec![Action::NotifyJob, Action::ReadDecision], "before it is notified"),
        ("Committed", &active, &ended, vec![Action::NotifyJob], "one is still at work"),
        ("Committed", &ended, &ended, vec![Action::Release(Reason::Completed)], "all have ended"),
        ("Committed", &active, &lost, vec![Action::ConfirmExit(Reason::AgentLost)], "one is lost"),
        ("Released", &active, &ended, vec![Action::StopAgent(0)], "it is to stop"),
        ("Released", &stopped, &ended, vec![], "it was told to stop: its end is awaited"),
        ("Released", &ended, &ended, vec![Action::Free(0), Action::Free(1)], "no agent works any more"),
    ];
    for (decision, of_machine, of_license, actions, why) in table {
        assert_eq!(asked(&voted(decision, of_machine, of_license)), actions, "{why}");
    }
}

#[test]
fn a_silent_agent_ends_the_claim_and_then_its_work_is_lost() {
    let active = json!({"vote": "Accepted", "ballot": "b", "committed": true, "activity": "Active"});
    let silent = [((crds::OfferKind::Machine, key("machine")), AgentLiveness::Expired)];
    for (decision, action) in [("Committed", Action::ConfirmExit(Reason::AgentLost)), ("Released", Action::MarkLost(0))]
    {
        let mut objects = voted(decision, &active, &active);
        objects.agents = Arc::new(silent.clone().into());
        assert_eq!(asked(&objects).first(), Some(&action));
    }
    let mut pending = voted("Pending", &json!({}), &json!({}));
    pending.agents = Arc::new(silent.into());
    assert_eq!(asked(&pending), [Action::Abort(Reason::ReserveTimedOut)]);
}

#[test]
fn a_vote_is_awaited_until_the_deadline() {
    let objects = voted("Pending", &json!({}), &json!({}));
    let at = |now_ms: u64| {
        let mut dirty = DirtyClaims::default();
        dirty.note(&objects.everything(), &objects);
        let moment = Moment {
            now: jiff::Timestamp::UNIX_EPOCH,
            now_ms,
            epoch: None,
            deadline_ms: &|_| 30_000,
            under_way: &|_| false,
            ..Moment::bare()
        };
        (dirty.due(&objects, &moment).claims.len(), dirty.next_ms())
    };
    assert_eq!(at(29_999), (0, Some(30_000)), "and then the claim is looked at");
    assert_eq!(at(30_000), (1, None));
}

#[test]
fn a_leader_that_sees_a_newer_epoch_asks_for_nothing() {
    let objects = {
        let mut objects = voted("Pending", &json!({}), &json!({"vote": "Accepted", "ballot": "b"}));
        let mut written = entry("seats", &json!({"vote": "Rejected"}));
        written["epoch"] = json!(8);
        let mut again = license(&json!({}), &written);
        again.metadata.resource_version = Some("3".to_owned());
        objects.licenses.put(again);
        objects
    };
    assert_eq!(newest_epoch(&objects), 8);
    let asked = |epoch| step(the_view(&objects).claim(&objects, 30_000, epoch), Event::Tick, 0).1;
    assert_eq!(asked(Some(7)), []);
    assert_eq!(asked(Some(8)), [Action::Abort(Reason::Rejected)]);
    assert_eq!(asked(None), [Action::Abort(Reason::Rejected)], "there is no election");
}

#[test]
fn entries_are_born_without_a_vote_and_with_their_turn() {
    let mut objects = world(&json!({"decision": "Pending"}));
    objects.matches.put(gang(&json!({"decision": "Pending"})));
    let view = the_view(&objects);
    let config = matchmaker::Config::product();
    let born = |number: usize| {
        let introduced = registers::introduced(&view, number, &objects, &config, 0);
        registers::initial_entry(&view, &view.legs[number], introduced)
    };
    let (of_machine, of_license) = (born(0), born(1));
    assert_eq!((of_machine.vote, of_machine.ask_when), (crds::Vote::Pending, crds::AskWhen::ChildrenAccepted));
    assert_eq!((of_license.vote, of_license.ask_when), (crds::Vote::Pending, crds::AskWhen::Now));
    assert_eq!(of_machine.members, ["Job ns/job", "Machine ns/machine", "License ns/license"]);
}

#[test]
fn an_agent_is_told_what_its_ad_reads_of_the_one_that_asks() {
    let mut objects = world(&json!({"decision": "Pending"}));
    let mut gang = gang(&json!({"decision": "Pending"}));
    gang.spec.members[2].parent = Some(0);
    for (member, (parent_port, port)) in gang.spec.members.iter_mut().skip(1).zip([("cpu", "other"), ("tool", "other")])
    {
        member.parent_port = Some(parent_port.to_owned());
        member.port = Some(port.to_owned());
    }
    objects.matches.put(gang);
    let mut asks = job(
        &json!({"attributes": {"Cmd": "sim", "Weight": 2, "Secret": "s"}, "private": ["secret"], "ports": [
            {"label": "cpu", "expressions": {"Load": "1.0"}}, {"label": "tool"}]}),
        &json!({}),
    );
    asks.metadata.resource_version = Some("2".to_owned());
    objects.jobs.put(asks);
    let reads = "other.Cmd == \"sim\" && other.Load < 2 && other.Secret != \"x\" && other.Nothing isnt 3";
    let spec = json!({"claimPolicy": "Agent", "agent": {"username": "a"}, "constraint": reads});
    let mut voter = machine(&spec, &json!({}));
    voter.metadata.resource_version = Some("2".to_owned());
    objects.machines.put(voter);
    let view = the_view(&objects);
    let told = registers::introduced(&view, 0, &objects, &matchmaker::Config::product(), 0).requester;
    assert_eq!(json!(told), json!({"Cmd": "sim", "Load": "/Expr(1.0)/"}), "no more than it reads, and nothing private");
}

#[test]
fn what_is_written_to_an_agent_tests_what_it_stands_on() {
    let path = |name: &str| format!("/status/claims/u/{name}");
    let tests = |change: ObjectPatch| -> Vec<Value> {
        let all = json_of(change).as_array().unwrap().clone();
        let (last, tests) = all.split_last().unwrap();
        assert!(tests.iter().all(|op| op["op"] == "test"));
        tests.iter().chain([last]).map(|op| json!([op["path"], op["value"]])).collect()
    };
    assert_eq!(
        tests(registers::request_vote("u")),
        [json!([path("vote"), "Pending"]), json!([path("askWhen"), "Now"])]
    );
    assert_eq!(
        tests(registers::notify("u", "b")),
        [json!([path("vote"), "Accepted"]), json!([path("ballot"), "b"]), json!([path("committed"), true])]
    );
    assert_eq!(tests(registers::stop("u", "n/m")), [json!([path("match"), "n/m"]), json!([path("release"), true])]);
    assert_eq!(
        tests(registers::mark_lost("u", "7")),
        [
            json!(["/metadata/resourceVersion", "7"]),
            json!([path("activity"), "Active"]),
            json!([path("activity"), "Lost"])
        ]
    );
}

#[test]
fn votes_are_kept_in_the_match() {
    let no = json!({"vote": "Rejected", "voteReason": "somebody is at the keyboard"});
    let objects = voted("Pending", &no, &json!({"vote": "Accepted"}));
    let view = the_view(&objects);
    let votes = registers::votes(&view, &objects);
    let outcome = writes::Decided { to: crds::Decision::Aborted, reason: Some(Reason::Rejected), message: "", votes };
    let patch = json_of(writes::decide(&view, &gang(&json!({})), outcome, Timestamp::UNIX_EPOCH));
    let written = patch.as_array().unwrap().iter().find(|op| op["path"] == "/status/members").unwrap();
    let first = json!({"id": 1, "vote": "Rejected", "reason": "Rejected", "message": "somebody is at the keyboard"});
    assert_eq!(written["value"], json!([first, {"id": 2, "vote": "Accepted"}]));
}

#[test]
fn an_entry_that_was_overwritten_is_lost_where_an_agent_votes() {
    let told = json!({"vote": "Accepted", "ballot": "b", "committed": true});
    let mut objects = voted("Committed", &told, &told);
    assert_eq!(exit_of(&objects, 0), None);
    let mut wiped = machine(&json!({"claimPolicy": "Agent", "agent": {"username": "a"}}), &json!({}));
    wiped.metadata.resource_version = Some("9".to_owned());
    objects.machines.put(wiped);
    assert_eq!(exit_of(&objects, 0), Some(Reason::MemberLost));
    assert!(super::lost_entries(&objects).is_empty(), "no vote can be cast for its agent");
}

#[test]
fn what_is_left_of_a_deleted_match_still_has_agents() {
    let active = json!({"vote": "Accepted", "ballot": "b", "committed": true, "activity": "Active"});
    let mut objects = voted("Committed", &active, &json!({"vote": "Pending", "members": []}));
    objects.matches.retain(|_| false);
    let view = the_view(&objects);
    assert!(view.legs.iter().all(|leg| leg.agent));
    let (claim, asked) = step(view.claim(&objects, 0, None), Event::Tick, 0);
    assert_eq!(asked, [Action::ReadDecision]);
    let (claim, asked) = step(claim, Event::DecisionRead(claiming::Decision::Gone), 0);
    assert_eq!(asked, [Action::StopAgent(0), Action::StopAgent(1)]);
    assert_eq!(claim.legs[1].agent.unwrap().vote, Vote::Pending);
}

//! Turns a good history into a broken one, one way for each promise: a check that cannot fail proves nothing.
#![cfg(test)]

mod history;

use std::collections::BTreeSet;

use auditor::Invariant::{
    AllOrNothing, Authority, Capacity, Entry, Fencing, HeldUntilOver, NoEffectBeforeCommit, NoLeak, NobodyWaitsInVain,
    OneGang, Preemption, Register, TruthfulStatus, Validity,
};
use auditor::{Invariant, Key, ObjectKind};
use history::{At, History, MATCH, batch, found, job, license, machine, pod, until};
use serde_json::{Value, json};

fn only(invariant: Invariant) -> BTreeSet<Invariant> {
    BTreeSet::from([invariant])
}

fn nothing() -> BTreeSet<Invariant> {
    BTreeSet::new()
}

#[test]
fn a_whole_life_breaks_nothing() {
    let whole = until(At::RootFreed);
    assert_eq!(whole.broken(), nothing(), "{:?}", whole.audit().violations());
    let figures = whole.audit().figures().clone();
    assert_eq!((figures.revisions, figures.committed, figures.released, figures.aborted), (12, 1, 1, 0));
    assert_eq!(until(At::Committed).broken_at_rest(), nothing());
}

#[test]
fn what_has_no_room_is_over_booked() {
    let second = json!({"match": "default/k-1", "allocation": {"slots": 1}, "vote": "Accepted"});
    let over = until(At::Committed).then(machine(), |machine| machine["status"]["claims"]["other"] = second);
    assert_eq!(over.broken(), only(Capacity));
    let shrunk = until(At::Committed).then(machine(), |machine| machine["spec"]["capacity"] = json!({"slots": 0}));
    assert_eq!(shrunk.broken(), nothing(), "an owner may lower it");
    let outside =
        until(At::RootReserved).then(license(), |license| license["status"]["externalUsage"] = json!({"seats": 1}));
    let taken = outside.then(license(), |license| {
        license["status"]["claims"] =
            json!({MATCH: {"match": "default/j-1", "allocation": {"seats": 1}, "vote": "Accepted"}});
    });
    assert_eq!(taken.broken(), only(Capacity), "what is taken outside is not there");
    let seatless = until(At::RootReserved).then(license(), |license| {
        license["status"]["claims"] =
            json!({MATCH: {"match": "default/j-1", "allocation": {"seats": 1}, "share": "here", "vote": "Accepted"}});
    });
    assert_eq!(seatless.broken(), only(Capacity), "its shared seat is not there");
}

/// What the API server notes of who wrote a field of the entry.
fn written_by(manager: &str, field: &str) -> Value {
    json!([{"manager": manager, "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:claims": {format!("f:{MATCH}"): {format!("f:{field}"): {}}}}}}])
}

#[test]
fn who_does_what_is_for_others_is_found() {
    let entry = json!({"match": "default/j-1", "allocation": {"slots": 1}, "agent": true, "vote": "Pending"});
    let entered = |by: &str| {
        until(At::RootReserved).then(machine(), |machine| {
            machine["status"]["claims"] = json!({MATCH: entry});
            machine["metadata"]["managedFields"] = written_by(by, "match");
        })
    };
    assert_eq!(entered("gangmatch").broken(), nothing());
    assert_eq!(entered("kubectl").broken(), only(Authority), "only the controller enters");
    for field in ["vote", "ballot"] {
        let voted = |by: &str| {
            entered("gangmatch").then(machine(), |machine| {
                let value = if field == "vote" { "Rejected" } else { "ballot of who votes" };
                machine["status"]["claims"][MATCH][field] = json!(value);
                machine["metadata"]["managedFields"] = written_by(by, field);
            })
        };
        assert_eq!(voted("gangmatch-agent").broken(), nothing());
        assert_eq!(voted("gangmatch").broken(), only(Authority), "the controller does not vote");
    }
}

#[test]
fn two_gangs_of_one_job_are_found() {
    let mut history = until(At::Committed);
    let mut second = history.last(&found());
    second["metadata"]["uid"] = json!("uid-of-second");
    second["status"] = json!({});
    history.0.push((Key::new(ObjectKind::Match, "default", "j-2"), Some(second)));
    assert_eq!(history.broken(), only(OneGang));
    let stranger =
        until(At::Advertised).then(job(), |job| job["status"]["claim"] = json!({"match": "x", "uid": "nobody's"}));
    assert_eq!(stranger.broken(), only(OneGang));
}

#[test]
fn a_register_that_goes_back_is_found() {
    let back = until(At::RootFreed).then(found(), |found| found["status"]["decision"] = json!("Committed"));
    assert!(back.broken().contains(&Register));
    let both = until(At::RootReserved)
        .then(found(), |found| found["status"]["decision"] = json!("Aborted"))
        .then(found(), |found| found["status"]["decision"] = json!("Released"));
    assert_eq!(both.broken(), only(Register));
    let edited = until(At::Committed).then(found(), |found| found["spec"]["rank"] = json!("1"));
    assert_eq!(edited.broken(), only(Register));
    let born = until(At::Recorded).then_deleted(found());
    let mut born_decided = born.clone();
    let mut decided = born.0[3].1.clone().unwrap();
    decided["status"] = json!({"decision": "Aborted"});
    decided["metadata"]["uid"] = json!("another");
    born_decided.0.push((found(), Some(decided)));
    assert_eq!((born.broken(), born_decided.broken()), (nothing(), only(Register)));
}

#[test]
fn a_commit_without_everybody_is_found() {
    for (missing, what) in [(4, "the job"), (5, "the machine"), (6, "the license")] {
        let broken = until(At::Committed).without(missing).broken();
        assert_eq!(broken, BTreeSet::from([AllOrNothing, Validity]), "{what}");
    }
    let rejected = |offer: &mut Value| offer["status"]["claims"][MATCH]["vote"] = json!("Rejected");
    let mut against = until(At::Committed);
    rejected(against.0[6].1.as_mut().unwrap());
    assert_eq!(against.broken(), only(AllOrNothing));
    let mut other = until(At::Committed);
    other.0[6].1.as_mut().unwrap()["status"]["claims"][MATCH]["allocation"] = json!({});
    assert_eq!(other.broken(), only(AllOrNothing), "less than what was recorded");
    assert_eq!(until(At::Committed).then_deleted(machine()).broken(), nothing(), "whoever was deleted is not missed");
}

#[test]
fn what_was_not_as_it_was_matched_is_found() {
    let mut moved = until(At::Committed);
    moved.0[5].1.as_mut().unwrap()["metadata"]["generation"] = json!(2);
    assert_eq!(moved.broken(), only(Validity));
    let mut unwilling = until(At::Committed);
    for place in [0, 5] {
        unwilling.0[place].1.as_mut().unwrap()["spec"]["constraint"] = json!("other.Type == \"Nobody\"");
    }
    assert_eq!(unwilling.broken(), only(Validity));
}

#[test]
fn what_is_given_back_too_early_is_found() {
    let early = until(At::LicenseReserved).then(machine(), |machine| machine["status"]["claims"] = json!({}));
    assert_eq!(early.broken(), only(HeldUntilOver));
    let root = until(At::LicenseReserved).then(job(), |job| job["status"]["claim"] = Value::Null);
    assert_eq!(root.broken(), only(HeldUntilOver));
    let first = until(At::Released).then(job(), |job| job["status"]["claim"] = Value::Null);
    assert_eq!(first.broken(), only(HeldUntilOver), "the job before its offers");
    let before =
        until(At::Released).0.into_iter().rev().find(|(key, _)| *key == machine()).and_then(|(_, object)| object);
    let claims = before.map(|machine| machine["status"]["claims"].clone()).unwrap();
    let late = until(At::LicenseFreed)
        .then(machine(), |machine| machine["status"]["claims"] = claims)
        .then(job(), |job| job["status"]["claim"] = Value::Null);
    assert!(!late.broken().contains(&HeldUntilOver), "a machine whose reservation came once more in between");
}

/// A claim whose machine has an agent, which was told.
fn told(until_step: At) -> history::History {
    until(until_step).then(machine(), |machine| machine["status"]["claims"][MATCH]["committed"] = json!(true))
}

#[test]
fn work_without_a_commit_is_found() {
    assert_eq!(told(At::Committed).broken(), nothing());
    assert_eq!(told(At::LicenseReserved).broken(), only(NoEffectBeforeCommit));
    let unasked = until(At::Committed)
        .then(machine(), |machine| machine["status"]["claims"][MATCH]["activity"] = json!("Active"));
    assert_eq!(unasked.broken(), only(NoEffectBeforeCommit));
    let stopped = told(At::Committed)
        .then(machine(), |machine| machine["status"]["claims"][MATCH]["release"] = json!(true))
        .then(machine(), |machine| machine["status"]["claims"][MATCH]["activity"] = json!("Active"));
    assert_eq!(stopped.broken(), only(NoEffectBeforeCommit));
}

#[test]
fn what_is_given_back_while_somebody_works_is_found() {
    let at_work =
        told(At::Committed).then(machine(), |machine| machine["status"]["claims"][MATCH]["activity"] = json!("Active"));
    let released = at_work.then(found(), |found| found["status"]["decision"] = json!("Released"));
    let own = released.clone().then(machine(), |machine| machine["status"]["claims"] = json!({}));
    assert_eq!(own.broken(), only(HeldUntilOver));
    let others = released.then(license(), |license| license["status"]["claims"] = json!({}));
    assert_eq!(others.broken(), only(HeldUntilOver));
}

#[test]
fn seats_that_are_given_back_before_the_last_pod_has_ended_are_found() {
    let spec = |suspend: bool| json!({"suspend": suspend, "template": {}});
    let started = until(At::Committed).then_works(batch(), spec(false), json!({}));
    let runs = started.clone().then_works(pod(), json!({"containers": []}), json!({"phase": "Running"}));
    assert_eq!(runs.broken(), nothing());
    let over =
        |history: history::History| history.then(found(), |found| found["status"]["decision"] = json!("Released"));
    let freed = |history: history::History| history.then(license(), |license| license["status"]["claims"] = json!({}));
    assert_eq!(freed(over(runs.clone())).broken(), only(HeldUntilOver));
    let complete = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    let going = over(runs).then_works(batch(), spec(false), complete.clone());
    assert_eq!(freed(going.clone()).broken(), only(HeldUntilOver), "its pod is still there");
    let gone = going.then_deleted(pod());
    assert_eq!(freed(gone).broken(), nothing());
    assert_eq!(freed(over(started.clone())).broken(), only(HeldUntilOver), "it may make pods at any moment");
    assert_eq!(freed(over(started).then_works(batch(), spec(true), json!({}))).broken(), nothing());
}

#[test]
fn pods_that_begin_without_a_claim_are_found() {
    let begins =
        |history: history::History| history.then_works(pod(), json!({"containers": []}), json!({"phase": "Pending"}));
    assert_eq!(begins(until(At::LicenseReserved)).broken(), only(NoEffectBeforeCommit));
    assert_eq!(begins(until(At::Released)).broken(), nothing());
    assert_eq!(begins(until(At::MachineFreed)).broken(), only(HeldUntilOver));
    let gated = json!({"containers": [], "schedulingGates": [{"name": "gangmatch.dev/hold"}]});
    let held = until(At::MachineFreed).then_works(pod(), gated, json!({}));
    assert_eq!(held.broken(), nothing());
    assert_eq!(held.broken_at_rest(), only(NoLeak), "and what carries the label of an ended claim is left over");
}

#[test]
fn what_only_bears_the_label_of_a_claim_is_not_judged() {
    let elsewhere = Key::new(ObjectKind::Pod, "elsewhere", "j-1-0");
    let runs = json!({"containers": []});
    let history = until(At::RootFreed).then_works(elsewhere, runs, json!({"phase": "Running"}));
    assert_eq!(history.broken(), nothing());
    assert!(!history.broken_at_rest().contains(&NoLeak), "nor is it left over");
    let other = Key::new(ObjectKind::Batch, "default", "another");
    let history = until(At::MachineFreed).then_works(other, json!({"template": {}}), json!({}));
    assert_eq!(history.broken(), nothing());
}

#[test]
fn an_entry_that_changes_is_found() {
    let entry = |path: &'static str, value: Value| {
        until(At::LicenseReserved).then(machine(), move |machine| machine["status"]["claims"][MATCH][path] = value)
    };
    assert_eq!(entry("vote", json!("Rejected")).broken(), only(Entry));
    assert_eq!(entry("match", json!("default/other")).broken(), only(Entry));
    let back =
        told(At::Committed).then(machine(), |machine| machine["status"]["claims"][MATCH]["committed"] = json!(false));
    assert_eq!(back.broken(), only(Entry));
    let ballot = entry("ballot", json!("a"));
    assert_eq!(ballot.broken(), nothing());
    let twice = ballot.then(machine(), |machine| machine["status"]["claims"][MATCH]["ballot"] = json!("b"));
    assert_eq!(twice.broken(), only(Entry));
    let idle = told(At::Committed)
        .then(machine(), |machine| machine["status"]["claims"][MATCH]["activity"] = json!("Active"))
        .then(machine(), |machine| machine["status"]["claims"][MATCH]["activity"] = json!("Idle"));
    assert_eq!(idle.broken(), only(Entry));
}

#[test]
fn an_epoch_that_goes_back_is_found() {
    let up = until(At::Advertised).then(machine(), |machine| machine["status"]["epoch"] = json!(9));
    assert_eq!(up.broken(), nothing());
    assert_eq!(up.then(machine(), |machine| machine["status"]["epoch"] = json!(8)).broken(), only(Fencing));
}

#[test]
fn a_status_that_is_not_true_is_found() {
    let ahead = until(At::Advertised).then(job(), |job| job["status"]["observedGeneration"] = json!(2));
    assert_eq!(ahead.broken(), only(TruthfulStatus));
    let condition = |status: &str, second: u32| {
        json!([{"type": "Matched", "status": status, "reason": "R", "message": "",
            "lastTransitionTime": format!("2026-11-21T14:00:{second:02}Z")}])
    };
    let said = |status: &str, second: u32| {
        let first = until(At::Advertised).then(job(), |job| job["status"]["conditions"] = condition("False", 5));
        first.then(job(), |job| job["status"]["conditions"] = condition(status, second)).broken()
    };
    assert_eq!(said("True", 7), nothing());
    assert_eq!(said("False", 5), nothing());
    assert_eq!(said("False", 7), only(TruthfulStatus), "a new time for an old status");
    assert_eq!(said("True", 3), only(TruthfulStatus), "back in time");
    let again = |attempt: i32| {
        let tell = |history: History, status: &str, second: u32, attempt: i32| {
            history.then(job(), |job| {
                job["status"]["conditions"] = condition(status, second);
                job["status"]["attempts"] = json!(attempt);
            })
        };
        let once = tell(tell(until(At::Advertised), "True", 5, 1), "False", 6, 1);
        tell(once, "True", 7, attempt).broken()
    };
    assert_eq!(again(2), nothing());
    assert_eq!(again(1), only(TruthfulStatus), "true again in the same attempt");
}

#[test]
fn what_is_left_over_at_rest_is_found() {
    assert!(until(At::LicenseReserved).broken_at_rest().contains(&NoLeak), "undecided");
    assert_eq!(until(At::LicenseFreed).broken_at_rest(), only(NoLeak), "the job's claim is left");
    let gone = until(At::Committed).then_deleted(found());
    assert_eq!(gone.broken_at_rest(), only(NoLeak), "entries of a Match that is gone");
    let seat = until(At::Committed).then(license(), |license| license["status"]["shared"] = json!({"x": {"seats": 1}}));
    assert_eq!(seat.broken_at_rest(), only(NoLeak), "an empty seat");
    let never_reported = until(At::Committed).then_deleted(job());
    assert_eq!(never_reported.broken_at_rest(), only(NoLeak), "a claim whose job is gone");
}

#[test]
fn whoever_waits_in_vain_is_found() {
    assert_eq!(until(At::Advertised).broken_at_rest(), only(NobodyWaitsInVain));
    let alone = until(At::Advertised).then_deleted(machine());
    assert_eq!(alone.broken_at_rest(), only(NobodyWaitsInVain), "there is no gang, and nobody said so");
    let told = alone.then(job(), |job| {
        job["status"]["conditions"] = json!([{"type": "Matched", "status": "False", "reason": "NoCandidates",
            "message": "", "lastTransitionTime": "2026-11-21T14:00:00Z"}]);
    });
    assert_eq!(told.broken_at_rest(), nothing());
}

/// A job of the same namespace that was nominated for the end of this Match.
fn nominated(victim: &str, at: &str) -> Value {
    let member = json!({"id": 0, "kind": "Job", "namespace": "default", "name": "other", "uid": "uid-of-other", "generation": 1});
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "spec": {"ports": [{"label": "cpu", "constraint": "true"}]},
        "metadata": {"namespace": "default", "name": "other", "uid": "uid-of-other", "generation": 1},
        "status": {"nomination": {"time": at, "mode": "Share", "gang": [member], "victims": [victim]}}})
}

#[test]
fn who_is_preempted_and_was_not_nominated_is_found() {
    let other = Key::new(ObjectKind::Job, "default", "other");
    let preempted = |history: History| {
        history.then(found(), |found| {
            found["status"]["decision"] = json!("Released");
            found["status"]["reason"] = json!("Preempted");
        })
    };
    assert_eq!(preempted(until(At::Committed)).broken(), only(Preemption));
    let with = |victim: &str| {
        let mut history = until(At::Committed);
        history.0.push((other.clone(), Some(nominated(victim, "2026-11-21T14:00:00Z"))));
        history
    };
    assert_eq!(preempted(with(MATCH)).broken(), nothing());
    assert_eq!(preempted(with("uid-of-another")).broken(), only(Preemption));
    let replaced = with(MATCH).then(other, |job| {
        *job = nominated("uid-of-another", "2026-11-21T14:00:01Z");
    });
    assert_eq!(replaced.broken(), only(Preemption));
}

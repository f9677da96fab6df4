//! Batch Jobs beside claims: when a start has taken too long, what is waited for, and what is left to be taken away.

use claiming::{Action, Decision, Event, Reason, Work, step};
use pool::{Marks, Objects, WorkloadObject};
use serde_json::{Value, json};

use super::dirty::DirtyClaims;
use super::observation::Moment;
use super::tests::exit_of;
use super::view::{View, view};
use crate::testing::fixtures::{MATCH_UID, job, key, license, machine, world};

/// When the Match of these tests was committed.
const COMMITTED: i64 = 1_795_269_600;

fn batch(change: impl FnOnce(&mut WorkloadObject)) -> WorkloadObject {
    let mut batch = WorkloadObject {
        key: key("match"),
        uid: "u-batch".to_owned(),
        marks: Marks {
            match_uid: Some(MATCH_UID.to_owned()),
            match_name: Some("match".to_owned()),
            made: true,
            ..Marks::default()
        },
        ..WorkloadObject::default()
    };
    change(&mut batch);
    batch
}

fn claimed(decision: &str, batch: Option<WorkloadObject>) -> Objects {
    let committed = jiff::Timestamp::from_second(COMMITTED).unwrap().to_string();
    let mut objects = world(&json!({"decision": decision, "reason": "Completed", "committedAt": committed}));
    let spec = json!({"workload": {"jobTemplate": {}, "startTimeoutSeconds": 60}});
    objects.jobs.put(job(&spec, &json!({"claim": {"match": "match", "uid": MATCH_UID}})));
    batch.map(|batch| objects.workloads.put(batch));
    objects
}

fn the_view(objects: &Objects) -> View {
    view(MATCH_UID, objects).unwrap()
}

fn due_now(objects: &Objects) -> super::due::DueSteps {
    let mut dirty = DirtyClaims::default();
    dirty.note(&objects.everything(), objects);
    let moment = Moment {
        now: jiff::Timestamp::from_second(COMMITTED).unwrap(),
        now_ms: 0,
        epoch: None,
        deadline_ms: &|_| 30_000,
        under_way: &|_| false,
        ..Moment::bare()
    };
    dirty.due(objects, &moment)
}

#[test]
fn a_start_is_given_its_time_from_the_start_and_until_a_pod_is_up() {
    let started = |change: fn(&mut WorkloadObject)| {
        Some(batch(|batch| {
            batch.run.started = Some(COMMITTED + 100);
            change(batch);
        }))
    };
    let table = [
        ("never made", None, 59, None),
        ("never made, too late", None, 60, Some(Reason::StartTimedOut)),
        ("started later", started(|_| {}), 159, None),
        ("and too late", started(|_| {}), 160, Some(Reason::StartTimedOut)),
        ("up in time", started(|batch| batch.run.up = true), 999, None),
        ("over already", started(|batch| batch.ended = Some(true)), 999, None),
    ];
    for (what, batch, after, reason) in table {
        let objects = claimed("Committed", batch);
        assert_eq!(exit_of(&objects, COMMITTED + after), reason, "{what}");
    }
    let mut ran = claimed("Committed", None);
    let told = json!({"claim": {"match": "match", "uid": MATCH_UID}, "workload": {"name": "match", "uid": "u-batch"}});
    ran.jobs.put(job(&json!({"workload": {"jobTemplate": {}}}), &told));
    assert_eq!(exit_of(&ran, COMMITTED + 9999), None, "it was up, whatever became of it");
    let claim = the_view(&ran).claim(&ran, u64::MAX, None);
    assert_eq!(claim.work, Work::Finished(false), "deleted: not begun again");
}

#[test]
fn nothing_is_given_back_while_its_work_is_there_and_pods_that_end_are_waited_for() {
    let running = claimed("Released", Some(batch(|batch| batch.run.active = 1)));
    let (claim, asked) = step(the_view(&running).claim(&running, u64::MAX, None), Event::Tick, 0);
    assert_eq!(asked, [Action::ReadDecision], "that the claim is over is believed from the server only");
    assert_eq!(step(claim, Event::DecisionRead(Decision::Released), 0).1, [Action::StopWork]);
    let mut ending = claimed("Released", Some(batch(|batch| batch.ended = Some(true))));
    let (_, asked) = step(the_view(&ending).claim(&ending, u64::MAX, None), Event::Tick, 0);
    assert_eq!(asked, [Action::ListWork]);
    assert_eq!(due_now(&ending).claims.len(), 1);
    let pod = |owner: &str| {
        let owner =
            json!({"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": "u-batch", "controller": true});
        json!({"metadata": {"name": "p", "namespace": "ns", "labels": {"gangmatch.dev/match-uid": MATCH_UID}, "ownerReferences": [owner]}})
    };
    ending.workloads.put_pod(&serde_json::from_value(pod("another")).unwrap());
    assert_eq!(due_now(&ending).claims.len(), 1, "the label alone makes no pod count");
    let pod = pod("match");
    ending.workloads.put_pod(&serde_json::from_value(pod).unwrap());
    assert!(due_now(&ending).claims.is_empty(), "its end will be seen");
    ending.workloads.remove_pod(&key("p"));
    assert_eq!(due_now(&ending).claims.len(), 1);
}

#[test]
fn of_a_match_that_is_gone_unfinished_work_is_stopped_and_what_was_made_is_taken_away() {
    let free = |decision: &str, batch| {
        let mut objects = claimed(decision, Some(batch));
        objects.machines.put(machine(&json!({}), &Value::Null));
        objects.licenses.put(license(&json!({}), &Value::Null));
        objects.jobs.remove(&key("job"));
        objects.matches.retain(|_| false);
        objects
    };
    let left = free("Released", batch(|batch| batch.run.active = 1));
    let due = due_now(&left);
    assert_eq!((due.claims.len(), due.outlived_work.len()), (1, 0));
    let (claim, asked) = step(due.claims[0].claim(&left, u64::MAX, None), Event::Tick, 0);
    assert_eq!(asked, [Action::ReadDecision], "that it is gone is believed from the server only");
    assert_eq!(step(claim, Event::DecisionRead(Decision::Gone), 0).1, [Action::StopWork]);
    let ended = due_now(&free("Released", batch(|batch| batch.ended = Some(true))));
    assert_eq!((ended.claims.len(), ended.outlived_work.len()), (0, 1));
    let strangers = free("Released", batch(|batch| (batch.ended, batch.marks.made) = (Some(true), false)));
    assert!(due_now(&strangers).outlived_work.is_empty(), "what was there before stays");
    let kept = due_now(&claimed("Released", Some(batch(|batch| batch.ended = Some(true)))));
    assert!(kept.outlived_work.is_empty(), "it goes with its Match, not before");
}

#[test]
fn a_job_that_names_what_another_controller_manages_is_called_off_before_anything_is_committed() {
    let managed = |decision: &str, managed: bool| {
        let mut objects = claimed(decision, None);
        let spec = json!({"workload": {"workloadRef": {"name": "mine"}}});
        objects.jobs.put(job(&spec, &json!({"claim": {"match": "match", "uid": MATCH_UID}})));
        let ended = managed.then_some(false);
        let mine =
            WorkloadObject { key: key("mine"), is_managed_elsewhere: managed, ended, ..WorkloadObject::default() };
        objects.workloads.put(mine);
        exit_of(&objects, COMMITTED)
    };
    assert_eq!((managed("Pending", true), managed("Pending", false)), (Some(Reason::WorkloadFailed), None));
    assert_eq!(managed("Committed", true), None, "its work has failed: that ends it");
}

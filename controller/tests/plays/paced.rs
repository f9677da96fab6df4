//! What cannot go on is tried less and less often, and at once when there is reason to.

use http::Method;
use serde_json::{Value, json};

use crate::faults::Twist;
use crate::scenarios::{batch, job, license, machine};
use crate::stage::{HERE, Stage};

const BATCHES: &str = "/apis/batch/v1/namespaces/play/jobs";

fn offers(stage: &mut Stage) {
    stage.create(&machine("m0", 9));
    stage.create(&license(1));
    stage.start(&[]);
}

/// How many requests are made in so much time.
fn requests_in(stage: &mut Stage, ms: i64) -> usize {
    let before = stage.requests();
    stage.pass(ms);
    stage.requests() - before
}

fn strangers(name: &str) -> Value {
    let container = json!({"name": "c", "image": "i"});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": HERE},
        "spec": {"suspend": true, "template": template}})
}

#[test]
fn m18_a_reference_to_nothing_is_looked_up_less_and_less_often_and_at_once_when_it_is_there() {
    let mut stage = Stage::new(None, Twist::None);
    offers(&mut stage);
    let more = json!({"workload": {"workloadRef": {"name": "nothing"}, "startTimeoutSeconds": 3600}});
    stage.create(&job("j", &more));
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
    let (first, later) = (requests_in(&mut stage, 66_000), requests_in(&mut stage, 120_000));
    println!("{first} requests in 66 s, then {later} in 120 s");
    assert!(first < 60 && later < 50, "{first} {later}");
    let begun = stage.now_ms;
    stage.post(BATCHES, &strangers("nothing"));
    stage.until("it runs", |stage| stage.phase("j") == "Running" || stage.phase("j") == "Succeeded").unwrap();
    assert!(stage.now_ms - begun < 6_000, "after {} ms", stage.now_ms - begun);
}

/// A job whose batch Job has an hour to start, and no other actors.
fn slow_start() -> Stage {
    let mut stage = Stage::new(None, Twist::None);
    offers(&mut stage);
    stage.others = false;
    let mut more = batch();
    more["workload"]["startTimeoutSeconds"] = json!(3600);
    stage.create(&job("j", &more));
    stage
}

/// A user suspends the batch Job again whenever it is let go.
#[test]
fn who_suspends_again_what_is_started_causes_no_storm() {
    let mut stage = slow_start();
    let is_started = |stage: &Stage| stage.list(BATCHES).first().is_some_and(|batch| batch["spec"]["suspend"] == false);
    let (mut starts, before) = (0, stage.requests());
    while stage.now_ms < 120_000 {
        stage.step();
        if is_started(&stage) {
            starts += 1;
            let path = format!("{BATCHES}/{}", stage.list(BATCHES)[0]["metadata"]["name"].as_str().unwrap());
            let answer = stage.ask(&Method::PATCH, &path, &json!({"spec": {"suspend": true}}));
            assert!(answer.code < 300, "{}", answer.body);
        }
    }
    let requests = stage.requests() - before;
    println!("started {starts} times, {requests} requests in 120 s");
    assert!(requests < 1_500, "{requests}");
}

/// A batch Job of the claim's name that is none of its.
#[test]
fn a_stranger_of_the_workloads_name_is_looked_at_less_and_less_often() {
    let mut stage = slow_start();
    stage.until("its batch Job is there", |stage| !stage.list(BATCHES).is_empty()).unwrap();
    let name = stage.list(BATCHES)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let path = format!("{BATCHES}/{name}");
    assert!(stage.ask(&Method::DELETE, &path, &Value::Null).code < 300);
    stage.post(BATCHES, &strangers(&name));
    stage.pass(10_000);
    let requests = requests_in(&mut stage, 120_000);
    assert!(requests < 80, "{requests}");
}

/// Neither a quota nor a webhook that is against the batch Job makes it be asked for again and again.
#[test]
fn a_batch_job_that_the_server_never_makes_is_asked_for_less_and_less_often() {
    let mut stage = Stage::new(None, Twist::None);
    offers(&mut stage);
    stage.processes[0].wire.line().never =
        Some(|call| call.plural == "jobs" && call.group == "batch" && call.verb == apiserver::Verb::Create);
    let mut more = batch();
    more["workload"]["startTimeoutSeconds"] = json!(3600);
    stage.create(&job("j", &more));
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
    let (first, later) = (requests_in(&mut stage, 60_000), requests_in(&mut stage, 120_000));
    assert!(first < 60 && later < 60, "{first} {later}");
    stage.processes[0].wire.line().never = None;
    stage.until("its work is over", |stage| stage.phase("j") == "Succeeded").unwrap();
}

/// A Match that cannot be written, and nobody knows why, holds no place and does not come again at once.
#[test]
fn a_match_that_is_lost_again_and_again_keeps_nobody_waiting() {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&machine("m0", 9));
    stage.create(&machine("m1", 1));
    stage.create(&license(9));
    stage.start(&[]);
    stage.processes[0].wire.line().never = Some(|call| {
        let is_record = call.plural == "matches" && call.verb == apiserver::Verb::Create;
        is_record && String::from_utf8_lossy(&call.body).contains("\"name\":\"bad")
    });
    stage.create(&job("bad", &json!({})));
    let requests = requests_in(&mut stage, 120_000);
    assert!(requests < 150, "{requests}");
    let begun = stage.now_ms;
    stage.create(&job("good", &json!({})));
    stage.until("the other one is claimed", |stage| stage.phase("good") == "Claimed").unwrap();
    assert!(stage.now_ms - begun < 1_000, "after {} ms", stage.now_ms - begun);
    stage.processes[0].wire.line().never = None;
    stage.until("so is this one", |stage| stage.phase("bad") == "Claimed").unwrap();
}

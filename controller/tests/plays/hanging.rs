//! Claims that have ended and cannot give back what they have: they keep nobody else waiting, and ask for next to nothing meanwhile.

use apiserver::Verb;
use http::Method;
use serde_json::{Value, json};

use crate::actors::Says;
use crate::faults::Twist;
use crate::scenarios::{activity, batch, job, license, machine, speaks, with_agent};
use crate::stage::{HERE, Stage, at};

const HANGING: usize = 300;
/// How many claims an offer has room for. The rules of the CRDs look at the whole ledger with each write, which is not what is tested here.
const ROOM: usize = 20;
/// What is allowed beside what is the same: a round of the main loop that gathers changes.
const SLACK_MS: i64 = 200;

fn roomy(mut offer: Value, name: &str, amount: &str) -> Value {
    offer["metadata"]["name"] = json!(name);
    offer["spec"]["capacity"] = json!({amount: ROOM});
    offer
}

/// Offers for so many gangs, and some more.
fn offers(stage: &mut Stage, gangs: usize) {
    for number in 0..=gangs / ROOM {
        let (machine_name, license_name) = (format!("m{number}"), format!("l{number}"));
        stage.create(&roomy(machine(&machine_name, 1), &machine_name, "slots"));
        stage.create(&roomy(license(1), &license_name, "seats"));
    }
}

fn with_work(name: &str) -> Value {
    job(name, &batch())
}

/// How long it takes until a new job is claimed, and how many requests are made meanwhile.
fn claims_one(stage: &mut Stage, name: &'static str) -> (i64, usize) {
    let (begun, before) = (stage.now_ms, stage.requests());
    stage.create(&job(name, &json!({})));
    stage.until("another job is claimed", move |stage| stage.phase(name) == "Claimed").unwrap();
    (stage.now_ms - begun, stage.requests() - before)
}

fn how_many(stage: &Stage, decision: &str) -> usize {
    stage.ours("matches").iter().filter(|found| found["status"]["decision"] == decision).count()
}

/// A stage on which so many claims have ended, and the controllers of their batch Jobs never say that these are suspended.
fn hanging(gangs: usize) -> Stage {
    let mut stage = Stage::new(None, Twist::None);
    stage.others = false;
    offers(&mut stage, gangs);
    (0..gangs).for_each(|number| stage.create(&with_work(&format!("j{number}"))));
    stage.start(&["--stop-timeout-seconds=3600"]);
    let are_started = move |stage: &Stage| {
        let all = stage.list("/apis/batch/v1/jobs");
        all.len() == gangs && all.iter().all(|batch| batch["spec"]["suspend"] == false)
    };
    stage.until("all of them work", are_started).unwrap();
    for number in 0..gangs {
        stage.delete("jobs", &format!("j{number}"));
    }
    stage.until("all claims are over", move |stage| how_many(stage, "Released") == gangs).unwrap();
    // Of some the Match is gone, too: what is left of them are entries.
    for found in stage.ours("matches").iter().step_by(2) {
        stage.delete("matches", found["metadata"]["name"].as_str().unwrap());
    }
    stage.pass(5_000);
    stage
}

#[test]
fn b2_hundreds_of_ends_that_hang_keep_no_claim_waiting_and_ask_for_nothing() {
    let mut calm = Stage::new(None, Twist::None);
    offers(&mut calm, 0);
    calm.start(&[]);
    calm.pass(5_000);
    let (calm_ms, calm_requests) = claims_one(&mut calm, "other");

    let mut stage = hanging(HANGING);
    let held: usize = (0..=HANGING / ROOM).map(|number| stage.entries("machines", &format!("m{number}"))).sum();
    assert_eq!(held, HANGING, "all of them still hold what they had");
    let (took_ms, requests) = claims_one(&mut stage, "other");
    println!("claimed after {took_ms} ms by {requests} requests, without them after {calm_ms} ms by {calm_requests}");
    assert!(took_ms <= 2 * calm_ms + SLACK_MS && requests <= 2 * calm_requests + 10);
    let before = stage.requests();
    stage.pass(60_000);
    let requests = stage.requests() - before;
    println!("{requests} requests in a minute while {HANGING} ends hang");
    assert!(requests < 120, "{requests}");
    stage.verdict().unwrap();
}

fn entries(stage: &Stage) -> usize {
    stage.entries("machines", "m0") + stage.entries("licenses", "l0")
}

/// A job at work on two offers.
fn at_work(stage: &mut Stage, flags: &[&'static str]) {
    stage.work_ends = false;
    offers(stage, 0);
    stage.start(flags);
    stage.create(&with_work("j"));
    stage.until("its work goes on", |stage| stage.phase("j") == "Running").unwrap();
}

#[test]
fn a8_after_an_eviction_seats_are_back_in_time_though_the_workloads_own_controller_never_acts() {
    let mut stage = Stage::new(None, Twist::None);
    offers(&mut stage, 0);
    stage.others = false;
    stage.start(&["--stop-timeout-seconds=30"]);
    stage.create(&with_work("j"));
    let is_started = |stage: &Stage| {
        stage.list("/apis/batch/v1/jobs").first().is_some_and(|batch| batch["spec"]["suspend"] == false)
    };
    stage.until("it is started", is_started).unwrap();
    let begun = stage.now_ms;
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    stage.until("the seats are back", |stage| entries(stage) == 0).unwrap();
    let took_ms = stage.now_ms - begun;
    assert!((30_000..35_000).contains(&took_ms), "{took_ms}");
    stage.verdict().unwrap();
}

/// An agent that is alive, works on, and never says that it has stopped: what the owners of other offers take back is theirs in time.
#[test]
fn e6_an_agent_that_never_stops_holds_the_seats_of_others_for_its_time_only() {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&with_agent(machine("m0", 9)));
    speaks(&mut stage, Says::YesForEver);
    stage.create(&license(1));
    stage.start(&["--stop-timeout-seconds=30"]);
    stage.create(&job("j", &json!({})));
    stage.until("its agent works", |stage| activity(stage) == "Active").unwrap();
    let begun = stage.now_ms;
    stage.merge("licenses", "l", &json!({"stopPolicy": "HoldAndDrain"}));
    stage.until("the seat is back", |stage| stage.entries("licenses", "l") == 0).unwrap();
    let took_ms = stage.now_ms - begun;
    assert!((30_000..35_000).contains(&took_ms), "{took_ms}");
    stage.verdict().unwrap();
}

/// The pods of a node whose kubelet is silent are deleted, and may run on: their seats stay held until they are gone.
#[test]
fn a8_seats_of_pods_that_may_still_run_stay_held() {
    let mut stage = Stage::new(None, Twist::None);
    stage.silent_kubelets = true;
    at_work(&mut stage, &["--stop-timeout-seconds=10"]);
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    let pods = || format!("/api/v1/namespaces/{HERE}/pods");
    stage.pass(60_000);
    let pod = stage.list(&pods()).into_iter().next().unwrap();
    assert!(!pod["metadata"]["deletionTimestamp"].is_null() && entries(&stage) == 2, "{pod}");
    let before = stage.requests();
    stage.pass(60_000);
    assert!(stage.requests() - before < 30, "{}", stage.requests() - before);
    let begun = stage.now_ms;
    let path = format!("{}/{}", pods(), pod["metadata"]["name"].as_str().unwrap());
    let answer = stage.ask(&Method::PATCH, &path, &json!({"metadata": {"finalizers": null}}));
    assert!(answer.code < 300, "{}", answer.body);
    stage.until("the seats are back", |stage| entries(stage) == 0).unwrap();
    assert!(stage.now_ms - begun < 3_000, "after {} ms", stage.now_ms - begun);
    stage.verdict().unwrap();
}

/// Pods that nobody deletes, because the controller of batch Jobs and the garbage collector are away, are deleted in time.
#[test]
fn a8_pods_that_nobody_deletes_are_deleted_in_time() {
    let mut stage = Stage::new(None, Twist::None);
    at_work(&mut stage, &["--stop-timeout-seconds=20"]);
    stage.others = false;
    let begun = stage.now_ms;
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    stage.until("the seats are back", |stage| entries(stage) == 0).unwrap();
    let took_ms = stage.now_ms - begun;
    assert!((20_000..26_000).contains(&took_ms), "{took_ms}");
    stage.verdict().unwrap();
}

/// A batch Job that is deleted and kept by somebody's finalizer has ended once it has no pods.
#[test]
fn a_batch_job_that_a_finalizer_keeps_holds_no_seats() {
    let mut stage = Stage::new(None, Twist::None);
    at_work(&mut stage, &[]);
    let batches = format!("/apis/batch/v1/namespaces/{HERE}/jobs");
    let batch = stage.list(&batches).into_iter().next().unwrap();
    let path = format!("{batches}/{}", batch["metadata"]["name"].as_str().unwrap());
    let answer = stage.ask(&Method::PATCH, &path, &json!({"metadata": {"finalizers": ["bob.io/keep"]}}));
    assert!(answer.code < 300, "{}", answer.body);
    let begun = stage.now_ms;
    stage.merge("jobs", "j", &json!({"suspend": true}));
    stage.until("the seats are back", |stage| entries(stage) == 0).unwrap();
    assert!(stage.now_ms - begun < 10_000, "after {} ms", stage.now_ms - begun);
    let before = stage.requests();
    stage.pass(60_000);
    assert!(stage.requests() - before < 60, "{}", stage.requests() - before);
    assert_eq!(stage.list(&batches).len(), 1, "it is still there");
    stage.verdict().unwrap();
}

/// A batch Job that its author deletes while it runs, and keeps by a finalizer: its own controller leaves its pods alone.
#[test]
fn a8_a_batch_job_that_is_deleted_and_kept_while_its_pods_run_ends_in_time_after_an_eviction() {
    let mut stage = Stage::new(None, Twist::None);
    at_work(&mut stage, &["--stop-timeout-seconds=20"]);
    stage.others = false;
    let batches = format!("/apis/batch/v1/namespaces/{HERE}/jobs");
    let path = format!("{batches}/{}", stage.list(&batches)[0]["metadata"]["name"].as_str().unwrap());
    let answer = stage.ask(&Method::PATCH, &path, &json!({"metadata": {"finalizers": ["bob.io/keep"]}}));
    assert!(answer.code < 300 && stage.ask(&Method::DELETE, &path, &Value::Null).code < 300, "{}", answer.body);
    stage.pass(5_000);
    let begun = stage.now_ms;
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    stage.until("the seats are back", |stage| entries(stage) == 0).unwrap();
    assert!(stage.now_ms - begun < 26_000, "after {} ms", stage.now_ms - begun);
    stage.verdict().unwrap();
}

/// The same, and the API server refuses every change of it: its pods are deleted, and then it has ended.
#[test]
fn a8_a_batch_job_that_is_deleted_and_kept_and_refuses_every_change_ends_in_time_after_an_eviction() {
    let mut stage = Stage::new(None, Twist::None);
    at_work(&mut stage, &["--stop-timeout-seconds=20"]);
    stage.others = false;
    let batches = format!("/apis/batch/v1/namespaces/{HERE}/jobs");
    let path = format!("{batches}/{}", stage.list(&batches)[0]["metadata"]["name"].as_str().unwrap());
    let answer = stage.ask(&Method::PATCH, &path, &json!({"metadata": {"finalizers": ["bob.io/keep"]}}));
    assert!(answer.code < 300 && stage.ask(&Method::DELETE, &path, &Value::Null).code < 300, "{}", answer.body);
    stage.processes[0].wire.line().refuses = Some(|call| call.verb == Verb::Patch && call.group == "batch");
    stage.pass(5_000);
    let begun = stage.now_ms;
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    stage.until("the seats are back", |stage| entries(stage) == 0).unwrap();
    assert!(stage.now_ms - begun < 60_000, "after {} ms", stage.now_ms - begun);
    let before = stage.requests();
    stage.pass(60_000);
    assert!(stage.requests() - before < 60, "{}", stage.requests() - before);
    stage.verdict().unwrap();
}

/// Its batch Job is deleted without its pods, and the job says that it wants no workload: what a server without the rule on that lets pass.
#[test]
fn w3_a_job_whose_workload_is_removed_holds_its_seats_until_its_last_pod_has_ended() {
    let mut stage = Stage::new(None, Twist::NoRules);
    stage.silent_kubelets = true;
    at_work(&mut stage, &["--stop-timeout-seconds=10"]);
    let (pods, batches) = (format!("/api/v1/namespaces/{HERE}/pods"), format!("/apis/batch/v1/namespaces/{HERE}/jobs"));
    let name = |found: &[Value]| found[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let (pod, batch) = (name(&stage.list(&pods)), name(&stage.list(&batches)));
    let orphan = json!({"metadata": {"generateName": format!("{batch}-"), "ownerReferences": null}});
    for (method, path, body) in [
        (Method::PATCH, at("jobs", "j"), json!({"spec": {"workload": null}})),
        (Method::PATCH, format!("{pods}/{pod}"), orphan),
        (Method::DELETE, format!("{batches}/{batch}"), Value::Null),
        (Method::PATCH, at("jobs", "j"), json!({"spec": {"done": true}})),
    ] {
        let answer = stage.ask(&method, &path, &body);
        assert!(answer.code < 300, "{}", answer.body);
    }
    stage.pass(60_000);
    assert_eq!(how_many(&stage, "Released"), 1);
    assert_eq!(entries(&stage), 2, "its pod may still run");
    let answer = stage.ask(&Method::PATCH, &format!("{pods}/{pod}"), &json!({"metadata": {"finalizers": null}}));
    assert!(answer.code < 300, "{}", answer.body);
    stage.until("the seats are back", |stage| entries(stage) == 0).unwrap();
    stage.verdict().unwrap();
}

#[test]
fn w3_the_workload_of_a_claimed_job_is_neither_removed_nor_exchanged_for_one_of_the_other_kind() {
    let mut stage = Stage::new(None, Twist::None);
    at_work(&mut stage, &[]);
    let refused = |stage: &mut Stage, workload: Value| {
        let answer = stage.ask(&Method::PATCH, &at("jobs", "j"), &json!({"spec": {"workload": workload}}));
        answer.code == 422 && answer.body.to_string().contains("while the job is claimed")
    };
    let exchanged = json!({"jobTemplate": null, "workloadRef": {"name": "another"}});
    assert!(refused(&mut stage, Value::Null) && refused(&mut stage, exchanged));
    assert!(!refused(&mut stage, json!({"startTimeoutSeconds": 77})), "the rest may change");
    stage.merge("jobs", "j", &json!({"suspend": true}));
    stage.until("it is free", |stage| stage.get("jobs", "j").unwrap()["status"]["claim"].is_null()).unwrap();
    assert!(!refused(&mut stage, Value::Null));
    stage.verdict().unwrap();
}

#[test]
fn a_match_that_is_deleted_while_its_work_hangs_keeps_nobody_waiting() {
    let mut stage = Stage::new(None, Twist::None);
    stage.silent_kubelets = true;
    at_work(&mut stage, &[]);
    let found = stage.ours("matches").into_iter().next().unwrap();
    stage.delete("matches", found["metadata"]["name"].as_str().unwrap());
    stage.pass(10_000);
    let before = stage.requests();
    stage.pass(30_000);
    assert!(stage.requests() - before < 30, "{}", stage.requests() - before);
    assert_eq!(entries(&stage), 2, "its pod may still run");
    let agent = stage.get("machines", "m0").unwrap();
    assert_eq!(agent["status"]["claims"].as_object().unwrap().len(), 1, "{}", at("machines", "m0"));
    stage.verdict().unwrap();
}

/// Otherwise, a user who deletes Matches would have all offers of the pool listed for each.
#[test]
fn y9_a_match_that_is_deleted_costs_the_same_however_many_offers_there_are() {
    let requests = |offers: usize| {
        let mut stage = Stage::new(None, Twist::None);
        (0..offers).for_each(|number| stage.create(&machine(&format!("m{number:03}"), 1)));
        stage.create(&license(1));
        stage.create(&job("j", &json!({})));
        stage.start(&[]);
        stage.until("it is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
        let are_told =
            |stage: &Stage| stage.ours("machines").iter().all(|machine| !machine["status"]["state"].is_null());
        stage.until("all offers have a status", are_told).unwrap();
        stage.pass(5_000);
        let before = stage.requests();
        let first = stage.ours("matches")[0]["metadata"]["name"].as_str().unwrap().to_owned();
        stage.delete("matches", &first);
        let is_another =
            move |stage: &Stage| stage.ours("matches").iter().any(|found| found["metadata"]["name"] != first);
        stage.until("it has another Match", is_another).unwrap();
        stage.until("it is claimed again", |stage| stage.phase("j") == "Claimed").unwrap();
        stage.pass(5_000);
        stage.requests() - before
    };
    let (few, many) = (requests(20), requests(400));
    println!("{few} requests with 20 offers, {many} with 400");
    assert!(many <= few + 2, "{few} requests with 20 offers, {many} with 400");
}

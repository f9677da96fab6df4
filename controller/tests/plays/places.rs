//! Who comes first among the jobs of one submitter, whatever happens in between.

use apiserver::{Call, Verb};
use serde_json::json;

use crate::faults::Twist;
use crate::scenarios::{job, license, machine};
use crate::stage::Stage;

/// The last write of the end of the claim of `high`: it waits again.
fn is_end_of_high(call: &Call) -> bool {
    call.verb == Verb::Patch && call.plural == "jobs" && call.name == "high" && {
        let body = String::from_utf8_lossy(&call.body);
        body.contains("/status/claim") && body.contains("remove")
    }
}

/// Three jobs want two seats; the two with the higher priority have them.
fn two_of_three() -> Stage {
    let mut stage = Stage::new(None, Twist::None);
    for (name, speed) in [("m0", 9), ("m1", 8), ("m2", 7), ("m3", 6)] {
        stage.create(&machine(name, speed));
    }
    stage.create(&license(2));
    stage.start(&[]);
    for (name, priority) in [("high", 10), ("middle", 9), ("low", 0)] {
        stage.create(&job(name, &json!({"priority": priority})));
    }
    stage
        .until("the first two are claimed", |stage| ["high", "middle"].iter().all(|job| stage.phase(job) == "Claimed"))
        .unwrap();
    stage
}

fn evict(stage: &mut Stage, job: &str) {
    let members = stage.get("jobs", job).unwrap()["status"]["members"].to_string();
    let machine = ["m0", "m1", "m2", "m3"].into_iter().find(|name| members.contains(name)).unwrap();
    stage.merge("machines", machine, &json!({"stopPolicy": "HoldAndDrain"}));
}

/// The seats that an evicted job gives back are free before it waits again: no job behind it has them meanwhile.
#[test]
fn m4_an_evicted_job_keeps_its_place() {
    let mut stage = two_of_three();
    stage.keep_back(is_end_of_high, 1);
    evict(&mut stage, "high");
    stage
        .until("its seat is free, and it does not know it", |stage| {
            stage.kept_back() == 1 && stage.entries("licenses", "l") == 1
        })
        .unwrap();
    stage.pass(3_000);
    assert_eq!(
        (stage.phase("low").as_str(), stage.entries("licenses", "l")),
        ("Pending", 1),
        "{}",
        stage.log.join("\n")
    );
    stage.release(0);
    stage.until("it has its place again", |stage| stage.phase("high") == "Claimed").unwrap();
    assert_eq!(stage.phase("low"), "Pending");
    stage.rest().unwrap();
}

/// Both are evicted at once.
#[test]
fn m4_all_evicted_jobs_keep_their_places() {
    let mut stage = two_of_three();
    evict(&mut stage, "high");
    evict(&mut stage, "middle");
    stage.pass(500);
    stage
        .until("both have their places again", |stage| {
            ["high", "middle"].iter().all(|job| stage.phase(job) == "Claimed")
        })
        .unwrap();
    assert!(
        !stage.log.iter().any(|write| write.contains("matches") && write.contains("low")),
        "{}",
        stage.log.join("\n")
    );
    assert_eq!(stage.phase("low"), "Pending");
}

/// What waits for nothing that is given back goes on meanwhile.
#[test]
fn m4_others_are_not_kept_from_what_is_free() {
    let mut stage = two_of_three();
    stage.keep_back(is_end_of_high, 1);
    evict(&mut stage, "high");
    stage.until("its end is on its way", |stage| stage.kept_back() == 1).unwrap();
    let any = json!({"ports": [{"label": "cpu", "constraint": "cpu.Type == \"Machine\""}]});
    stage.create(&job("any", &any));
    stage.until("another is claimed", |stage| stage.phase("any") == "Claimed").unwrap();
    stage.release(0);
    stage.until("it has its place again", |stage| stage.phase("high") == "Claimed").unwrap();
}

//! A gang of both machines is held for a job that has waited long, under other jobs that would take one machine at a time.

use http::Method;
use serde_json::{Value, json};

use crate::accounts::{POLICIES, policy};
use crate::faults::{Fault, Strike, Twist};
use crate::matrix::play;
use crate::preemption::{says, status};
use crate::scenarios::{Scenario, job, license, machine};
use crate::stage::Stage;

const RESERVED: Scenario = Scenario { name: "reserved", play: reserved };

/// A job that needs both machines.
fn big(name: &str) -> Value {
    let port = |label: &str| json!({"label": label, "constraint": format!("{label}.Type == \"Machine\"")});
    job(name, &json!({"ports": [port("left"), port("right")], "matchHistoryLimit": 1}))
}

fn short(name: &str, seconds: i64) -> Value {
    job(name, &json!({"activeDeadlineSeconds": seconds, "reserveTimeoutSeconds": 5}))
}

fn nomination(stage: &Stage, job: &str) -> Value {
    status(stage, job)["nomination"].clone()
}

fn is_reserved(stage: &Stage, job: &str) -> bool {
    nomination(stage, job)["kind"] == "Reservation"
}

fn reservation(seconds: i64) -> Value {
    json!({"reservation": {"afterSeconds": 60, "forSeconds": seconds}})
}

/// Two machines that `first` holds for a while, and `second` for longer, or for ever; two big jobs wait for both.
fn full(stage: &mut Stage, spec: &Value, ends: Option<i64>) -> Result<(), String> {
    stage.create(&machine("m0", 9));
    stage.create(&machine("m1", 1));
    stage.create(&license(9));
    policy(stage, spec);
    stage.start(&[]);
    stage.create(&short("first", 110));
    stage.until("the first job is claimed", |stage| stage.phase("first") == "Claimed")?;
    stage.create(&ends.map_or_else(|| job("second", &json!({})), |ends| short("second", ends)));
    stage.until("the second job is claimed", |stage| stage.phase("second") == "Claimed")?;
    stage.create(&big("big"));
    stage.create(&big("big2"));
    Ok(())
}

/// A job that would take one of the machines for ever.
fn long() -> Value {
    job("long", &json!({"priority": -1}))
}

/// What is held for the big job is given to a job that ends in time, and to no other one. After a fault that lasts that job may come too late, so
/// it is deleted: all plays end alike.
pub(crate) fn reserved(stage: &mut Stage) -> Result<(), String> {
    given_meanwhile(stage)?;
    stage.delete("jobs", "brief");
    Ok(())
}

fn given_meanwhile(stage: &mut Stage) -> Result<(), String> {
    full(stage, &reservation(600), Some(180))?;
    stage.pass(55_000);
    if is_reserved(stage, "big") {
        return Err("it has not waited for long enough".to_owned());
    }
    stage.until("a gang is reserved", |stage| is_reserved(stage, "big"))?;
    stage.create(&long());
    stage.until("the first job is over", |stage| stage.phase("first") == "Failed")?;
    stage.create(&short("brief", 5));
    // After a fault that lasts, the second job may be over, too: then the big job comes first.
    let is_claimed = |stage: &Stage, name: &str| stage.phase(name) == "Claimed";
    let one = "a job that ends in time is claimed, or the big one";
    stage.until(one, |stage| is_claimed(stage, "brief") || is_claimed(stage, "big"))?;
    if is_claimed(stage, "brief") {
        // Its claim ends as it was planned, whatever its user writes later.
        stage.merge("jobs", "brief", &json!({"activeDeadlineSeconds": 100_000}));
        stage.until("it is over", |stage| stage.phase("brief") == "Failed")?;
    }
    stage.until("the big job is claimed", |stage| is_claimed(stage, "big"))?;
    if stage.phase("long") == "Claimed" || !nomination(stage, "big").is_null() {
        return Err("what is held for one job was given to another, or is still held".to_owned());
    }
    Ok(())
}

#[test]
fn a_job_that_ends_in_time_is_claimed_meanwhile() {
    let mut stage = Stage::new(None, Twist::None);
    given_meanwhile(&mut stage).unwrap();
    assert_eq!(stage.phase("brief"), "Failed", "its claim was over in time");
}

#[test]
fn what_is_told_and_what_is_stored() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, &reservation(600), Some(180)).unwrap();
    stage.create(&long());
    stage.until("a gang is reserved", |stage| is_reserved(stage, "big")).unwrap();
    let stored = nomination(&stage, "big");
    assert_eq!((stored["victims"].clone(), stored["mode"].clone()), (json!([]), Value::Null));
    assert_eq!(stored["gang"].as_array().map(Vec::len), Some(3));
    let why = format!("held for it since {}: 0 of 2 offers are free", stored["time"].as_str().unwrap());
    assert!(says(&stage, "big", "Matched", "WaitingForReserved"), "{}", status(&stage, "big"));
    assert_eq!(status(&stage, "big")["why"], why);
    stage.until("the first job is over", |stage| stage.phase("first") == "Failed").unwrap();
    stage.until("one is free", |stage| status(stage, "big")["why"] == why.replace("0 of", "1 of")).unwrap();
    stage.until("the other job is told", |stage| says(stage, "long", "Matched", "HeldForOthers")).unwrap();
    let told = status(&stage, "long")["why"].as_str().unwrap_or_default().to_owned();
    assert!(told.starts_with("offers are held for another job that has waited long; "), "{told}");
    // No other one is reserved beside it.
    assert!(!is_reserved(&stage, "big2"));
    // Nothing is written while nothing changes.
    let before = stage.log.len();
    stage.pass(20_000);
    assert!(stage.log.len() < before + 3, "{}", stage.log[before..].join("\n"));
    let none = json!({"spec": {"reservation": null}});
    assert!(stage.ask(&Method::PATCH, &format!("{POLICIES}/pool"), &none).code < 300);
    stage.until("it is free again", |stage| nomination(stage, "big").is_null()).unwrap();
    stage.until("the other job is claimed", |stage| stage.phase("long") == "Claimed").unwrap();
}

#[test]
fn a_reservation_ends_after_its_time_and_nothing_is_reserved_for_the_account_for_as_long() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, &reservation(90), None).unwrap();
    stage.create(&long());
    stage.until("a gang is reserved", |stage| is_reserved(stage, "big")).unwrap();
    let begun = stage.now_ms;
    stage.until("it has ended", |stage| nomination(stage, "big").is_null()).unwrap();
    let lasted = stage.now_ms - begun;
    assert!((89_000..=95_000).contains(&lasted), "{lasted}");
    stage.until("the other job is claimed", |stage| stage.phase("long") == "Claimed").unwrap();
    for _ in 0..80 {
        stage.pass(1000);
        assert!(!is_reserved(&stage, "big") && !is_reserved(&stage, "big2"));
    }
    stage.until("a gang is reserved again", |stage| is_reserved(stage, "big")).unwrap();
}

#[test]
fn a_tenant_that_takes_its_job_back_keeps_nothing_idle() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, &reservation(600), None).unwrap();
    stage.create(&long());
    stage.until("a gang is reserved", |stage| is_reserved(stage, "big")).unwrap();
    stage.until("the first job is over", |stage| stage.phase("first") == "Failed").unwrap();
    stage.delete("jobs", "big");
    stage.until("the other job is claimed", |stage| stage.phase("long") == "Claimed").unwrap();
    stage.pass(120_000);
    assert!(!is_reserved(&stage, "big2"), "its account has to wait as long as any");
}

#[test]
fn without_reservation_it_waits_for_ever() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, &json!({}), None).unwrap();
    stage.create(&long());
    stage.pass(200_000);
    assert!(nomination(&stage, "big").is_null() && stage.phase("long") == "Claimed");
}

/// Each write about the big job, from the one that reserves its gang on.
#[test]
fn wherever_the_controller_is_killed_its_successor_goes_on() {
    let calm = play(&RESERVED, None, Twist::None);
    calm.result.unwrap_or_else(|why| panic!("{why}\n{}", calm.log.join("\n")));
    let writes = calm.log.iter().enumerate().filter(|(_, write)| write.contains("big") && !write.contains("big2"));
    let ordinals: Vec<usize> = writes.map(|(place, _)| place + 1).collect();
    let mut struck = 0;
    for fault in [Fault::KilledBefore, Fault::KilledAfter, Fault::AnswerLost] {
        for ordinal in &ordinals {
            let played = play(&RESERVED, Some(Strike { ordinal: *ordinal, fault, leases: false }), Twist::None);
            assert_eq!(played.result, Ok(()), "{fault:?} at write {ordinal}:\n{}", played.log.join("\n"));
            struck += usize::from(played.struck);
        }
    }
    println!("{} writes, {struck} plays struck", ordinals.len());
    assert!(struck > 10, "{struck}");
}

/// The reserved gang is claimed and used for so long; then another job has one of the machines for ever, and `big2` waits for both.
fn used_for(stage: &mut Stage, milliseconds: i64) {
    full(stage, &reservation(600), Some(180)).unwrap();
    stage.merge("jobs", "big2", &json!({"suspend": true}));
    stage.until("a gang is reserved", |stage| is_reserved(stage, "big")).unwrap();
    stage.until("the big job is claimed", |stage| stage.phase("big") == "Claimed").unwrap();
    stage.pass(milliseconds);
    stage.create(&job("third", &json!({"priority": 1})));
    stage.delete("jobs", "big");
    stage.until("the other job is claimed", |stage| stage.phase("third") == "Claimed").unwrap();
    stage.merge("jobs", "big2", &json!({"suspend": false}));
}

#[test]
fn t2_a_tenant_that_hardly_uses_what_was_kept_idle_for_it_has_to_wait() {
    let mut stage = Stage::new(None, Twist::None);
    used_for(&mut stage, 1000);
    stage.pass(500_000);
    assert!(!is_reserved(&stage, "big2"), "a minute was idle, for a second of use");
    stage.until("a gang is reserved again", |stage| is_reserved(stage, "big2")).unwrap();
}

#[test]
fn t2_a_tenant_that_uses_as_much_as_was_kept_idle_for_it_does_not_wait() {
    let mut stage = Stage::new(None, Twist::None);
    used_for(&mut stage, 100_000);
    stage.pass(70_000);
    assert!(is_reserved(&stage, "big2"), "{}", status(&stage, "big2"));
}

//! A job that waits takes the place of one that runs, whatever happens to any write of that; and what is held for it is given to nobody else.

use apiserver::Verb;
use http::Method;
use serde_json::{Value, json};

use crate::accounts::{POLICIES, policy};
use crate::faults::{Fault, Strike, Twist};
use crate::matrix::play;
use crate::scenarios::{Scenario, job, license, machine};
use crate::stage::Stage;

const PREEMPTED: Scenario = Scenario { name: "preempted", play: preempted };

pub(crate) fn says(stage: &Stage, job: &str, type_: &str, reason: &str) -> bool {
    let found = stage.get("jobs", job).unwrap_or_default();
    let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == type_ && condition["reason"] == reason)
}

pub(crate) fn status(stage: &Stage, job: &str) -> Value {
    stage.get("jobs", job).unwrap_or_default()["status"].clone()
}

/// One machine and one seat, which `low` has had for longer than it is left alone; `between` waits for them.
fn full(stage: &mut Stage, mode: &str) -> Result<(), String> {
    stage.create(&machine("m0", 9));
    stage.create(&license(1));
    policy(stage, &json!({"preemption": {"mode": mode, "reasons": ["Priority"], "minRuntimeSeconds": 10}}));
    stage.start(&[]);
    stage.create(&job("low", &json!({})));
    stage.until("low is claimed", |stage| stage.phase("low") == "Claimed")?;
    stage.pass(15_000);
    Ok(())
}

/// `high` takes the place of `low`, and `between`, which came before it, does not.
pub(crate) fn preempted(stage: &mut Stage) -> Result<(), String> {
    full(stage, "On")?;
    stage.create(&job("high", &json!({"priority": 5})));
    stage.create(&job("between", &json!({"priority": -1})));
    stage.until("high is claimed", |stage| stage.phase("high") == "Claimed")?;
    if stage.phase("between") == "Claimed" {
        return Err("what is held for one job was given to another".to_owned());
    }
    // Its seats are free before it is told so.
    stage.until("low is told", |stage| says(stage, "low", "Preempted", "PreemptedByPriority"))?;
    let (high, low) = (status(stage, "high"), status(stage, "low"));
    if !high["nomination"].is_null() || low["preemptions"] != 1 {
        return Err(format!("nominations end, and one gang was preempted once: {high} {low}"));
    }
    stage.merge("jobs", "high", &json!({"done": true}));
    stage.until("high is over", |stage| stage.phase("high") == "Succeeded")?;
    stage.until("low is claimed again", |stage| says(stage, "low", "Preempted", "ClaimedAgain"))
}

#[test]
fn what_is_told_and_what_is_stored() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, "DryRun").unwrap();
    stage.create(&job("high", &json!({"priority": 5})));
    stage
        .until("it is told what would be done", |stage| {
            status(stage, "high")["unmatched"]["preemption"] == json!({"mode": "Priority", "victims": 1})
        })
        .unwrap();
    stage.pass(60_000);
    assert_eq!((stage.phase("low").as_str(), &status(&stage, "high")["nomination"]), ("Claimed", &Value::Null));
    let on = json!({"spec": {"preemption": {"mode": "On"}}});
    assert!(stage.ask(&Method::PATCH, &format!("{POLICIES}/pool"), &on).code < 300);
    stage.until("high is claimed", |stage| stage.phase("high") == "Claimed").unwrap();
    assert!(says(&stage, "low", "Preempted", "PreemptedByPriority"), "{}", status(&stage, "low"));
    assert!(says(&stage, "low", "Claimed", "Preempted"), "{}", status(&stage, "low"));
    let released = stage.ours("matches").into_iter().find(|found| found["status"]["decision"] == "Released").unwrap();
    assert_eq!(released["status"]["reason"], "Preempted");
    // Nothing is preempted for it in turn: it has the lower priority.
    let before = stage.log.len();
    stage.pass(120_000);
    assert_eq!(stage.phase("high"), "Claimed");
    assert!(stage.log.len() < before + 8, "{}", stage.log[before..].join("\n"));
    stage.rest().unwrap();
}

#[test]
fn a_job_is_told_from_when_on_gangs_may_be_preempted_for_it() {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&machine("m0", 9));
    stage.create(&license(1));
    policy(&mut stage, &json!({"preemption": {"mode": "On", "reasons": ["Priority"], "minRuntimeSeconds": 600}}));
    stage.start(&[]);
    stage.create(&job("low", &json!({})));
    stage.until("low is claimed", |stage| stage.phase("low") == "Claimed").unwrap();
    stage.create(&job("high", &json!({"priority": 5})));
    let told = |stage: &Stage| status(stage, "high")["unmatched"]["preemption"].clone();
    stage.until("high is told", |stage| told(stage)["refused"] == "TooYoung").unwrap();
    let committed = stage.ours("matches")[0]["status"]["committedAt"].clone();
    let committed: jiff::Timestamp = committed.as_str().unwrap().parse().unwrap();
    let from = jiff::Timestamp::from_second(committed.as_second() + 600).unwrap();
    assert_eq!(told(&stage), json!({"refused": "TooYoung", "victims": 0, "from": from.to_string()}));
    let why = status(&stage, "high")["why"].as_str().unwrap().to_owned();
    let end = format!("; no gang is preempted for it before {from}: those that could be run undisturbed until then");
    assert!(why.ends_with(&end), "{why}");
    // It is not written again and again, and then it is so.
    let before = stage.log.len();
    stage.pass(500_000);
    let is_again = stage.log[before..].iter().any(|write| write.contains("jobs/status"));
    assert!(stage.phase("low") == "Claimed" && !is_again, "{:?}", &stage.log[before..]);
    stage.pass(120_000);
    stage.until("high is claimed", |stage| stage.phase("high") == "Claimed").unwrap();
}

#[test]
fn without_preemption_who_waits_waits() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, "Off").unwrap();
    stage.create(&job("high", &json!({"priority": 5})));
    stage.pass(600_000);
    let high = status(&stage, "high");
    assert_eq!((stage.phase("low").as_str(), &high["unmatched"]["preemption"]), ("Claimed", &Value::Null));
    assert_eq!(
        high["why"],
        "port `cpu`: 1 ad that would match is taken; port `license`: 1 ad that would match is taken"
    );
}

#[test]
fn what_is_held_for_a_job_that_is_suspended_is_free_again() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, "On").unwrap();
    // Releases are kept back: what is decided is stored, and nothing is ended yet.
    stage.keep_back(|call| call.plural == "matches" && call.verb == Verb::Patch, 1);
    stage.create(&job("high", &json!({"priority": 5})));
    stage.until("it is nominated", |stage| !status(stage, "high")["nomination"].is_null()).unwrap();
    assert!(says(&stage, "high", "Matched", "WaitingForPreempted"), "{}", status(&stage, "high"));
    assert_eq!(stage.phase("low"), "Claimed");
    stage.merge("jobs", "high", &json!({"suspend": true}));
    stage.until("it is not any more", |stage| status(stage, "high")["nomination"].is_null()).unwrap();
}

/// `first` is nominated, and `low` released for it; then something happens to `first`. What is then said of preemption to `second`, which
/// comes after it, when `low` has run for as long as it runs undisturbed.
fn after_a_release(happens: impl Fn(&mut Stage)) -> (Stage, Value) {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, "On").unwrap();
    stage.keep_back(|call| ["machines", "licenses"].contains(&call.plural.as_str()) && call.verb == Verb::Patch, 2);
    stage.create(&job("first", &json!({"priority": 5})));
    stage.until("its offers are to be freed", |stage| stage.kept_back() > 0).unwrap();
    assert!(!status(&stage, "first")["nomination"].is_null());
    happens(&mut stage);
    let is_over = |stage: &Stage| status(stage, "first")["nomination"].is_null();
    stage.until("the nomination is over", is_over).unwrap();
    stage.release(0);
    stage.until("low is claimed again", |stage| stage.phase("low") == "Claimed").unwrap();
    // It was preempted once, so it runs undisturbed for twice as long.
    stage.pass(25_000);
    stage.create(&job("second", &json!({"priority": 5})));
    stage.pass(5000);
    let told = status(&stage, "second")["unmatched"]["preemption"]["refused"].clone();
    (stage, told)
}

/// Without that, it could stop the gangs of others again and again, with another job each time, and use nothing of what they held.
#[test]
fn x4_who_withdraws_a_job_after_gangs_were_stopped_for_it_has_nothing_preempted_for_others_of_its_jobs_for_a_while() {
    type Happens = fn(&mut Stage);
    let all: [(&str, Happens); 4] = [
        ("suspended", |stage| stage.merge("jobs", "first", &json!({"suspend": true}))),
        ("deleted", |stage| stage.delete("jobs", "first")),
        ("done", |stage| stage.merge("jobs", "first", &json!({"done": true}))),
        ("asks for what is not there", |stage| {
            stage.merge("jobs", "first", &json!({"ports": [{"label": "cpu", "constraint": "false"}]}));
        }),
    ];
    for (what, happens) in all {
        let (mut stage, told) = after_a_release(happens);
        assert_eq!((&told, stage.phase("low").as_str()), (&json!("Withdrawn"), "Claimed"), "{what}");
        let second = status(&stage, "second");
        let why = second["why"].as_str().unwrap_or_default();
        assert!(why.ends_with("a job of it was withdrawn after gangs had been stopped for it"), "{what}: {why}");
        stage.until("its time comes", |stage| stage.phase("second") == "Claimed").unwrap();
    }
}

/// Else the tenant of a victim could end the nominations of others by deleting a Match, while its pods still end.
#[test]
fn x2_a_victim_whose_match_is_deleted_is_waited_for() {
    let mut stage = Stage::new(None, Twist::None);
    full(&mut stage, "On").unwrap();
    stage.keep_back(|call| ["machines", "licenses"].contains(&call.plural.as_str()) && call.verb == Verb::Patch, 2);
    stage.create(&job("high", &json!({"priority": 5})));
    stage.until("its offers are to be freed", |stage| stage.kept_back() > 0).unwrap();
    let found = stage.ours("matches").first().and_then(|found| Some(found["metadata"]["name"].as_str()?.to_owned()));
    stage.delete("matches", &found.unwrap());
    stage.pass(3000);
    assert!(!status(&stage, "high")["nomination"].is_null(), "{}", status(&stage, "high"));
    stage.release(0);
    stage.until("high is claimed", |stage| stage.phase("high") == "Claimed").unwrap();
}

#[test]
fn x4_what_others_do_to_a_nomination_keeps_nothing_from_the_account_of_its_job() {
    let (mut stage, told) = after_a_release(|stage| {
        // The offers do not become free in time. After that, the job may be suspended.
        stage.pass(600_000);
        assert!(status(stage, "first")["nomination"].is_null());
        stage.merge("jobs", "first", &json!({"suspend": true}));
    });
    assert_ne!(told, json!("Withdrawn"), "it came too late");
    stage.until("its turn comes", |stage| stage.phase("second") == "Claimed").unwrap();
}

/// N1 to N5, and all writes between them.
#[test]
fn wherever_the_controller_is_killed_its_successor_goes_on() {
    let calm = play(&PREEMPTED, None, Twist::None);
    calm.result.unwrap_or_else(|why| panic!("{why}\n{}", calm.log.join("\n")));
    let first = calm.log.iter().position(|write| write.contains("jobs/status high")).unwrap();
    let mut struck = 0;
    // Before one write is after the one before it: together, the two kinds of death strike in every state.
    for (begin, fault) in [(1, Fault::KilledBefore), (1, Fault::KilledAfter), (2, Fault::AnswerLost)] {
        for ordinal in (first + begin..=calm.log.len()).step_by(2) {
            let played = play(&PREEMPTED, Some(Strike { ordinal, fault, leases: false }), Twist::None);
            let log = || played.log.join("\n");
            assert_eq!(played.result, Ok(()), "{fault:?} at write {ordinal}:\n{}", log());
            struck += usize::from(played.struck);
        }
    }
    println!("{} writes, {struck} plays struck", calm.log.len() - first);
    assert!(struck > 20, "{struck}");
}

//! A leader dies with hundreds of claims half way, or with as many as `GANGMATCH_TAKEOVER` says. Its successor has nothing but the objects.

use std::collections::BTreeMap;

use apiserver::{Call, Verb};
use serde_json::{Value, json};

use crate::faults::Twist;
use crate::scenarios::{job, license, machine};
use crate::stage::Stage;

const GANGS: usize = 400;
const GANGS_OF_A_MACHINE: usize = 8;
/// How long nobody leads: the dead one's term runs out.
const TERM_MS: i64 = 16_000;

/// The name ends with one of these digits.
fn ends_with(call: &Call, digits: &[char]) -> bool {
    call.name.ends_with(digits)
}

/// What the first leader never gets done: any decision, the reserves of a third of the jobs and of some machines. So claims stand
/// at every step of the first phase.
fn is_never_done(call: &Call) -> bool {
    let patch = call.verb == Verb::Patch;
    match call.plural.as_str() {
        "matches" => patch,
        "jobs" => patch && ends_with(call, &['0', '1', '2']),
        "machines" => patch && ends_with(call, &['3', '4', '5']),
        _ => false,
    }
}

fn roomy(mut offer: Value, name: &str, amount: &str, room: usize) -> Value {
    offer["metadata"]["name"] = json!(name);
    offer["spec"]["capacity"] = json!({amount: room});
    offer
}

/// How many there are of each word at this place of an object.
fn tally(all: &[Value], word: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for object in all {
        *counts.entry(object.pointer(word).and_then(Value::as_str).unwrap_or("none").to_owned()).or_default() += 1;
    }
    counts
}

/// Many claims in doubt: those whose job or member has gone are aborted, all others come to their end, by few writes.
#[test]
fn many_claims_in_doubt_are_taken_over() {
    let gangs = std::env::var("GANGMATCH_TAKEOVER").map_or(GANGS, |count| count.parse().unwrap());
    let machines = gangs / GANGS_OF_A_MACHINE;
    let mut stage = Stage::new(None, Twist::None);
    for number in 0..machines {
        let name = format!("m{number}");
        let speed = i64::try_from(number).unwrap();
        stage.create(&roomy(machine(&name, speed), &name, "slots", GANGS_OF_A_MACHINE + 2));
        let name = format!("l{number}");
        stage.create(&roomy(license(1), &name, "seats", GANGS_OF_A_MACHINE + 2));
    }
    for number in 0..gangs {
        stage.create(&job(&format!("j{number}"), &json!({})));
    }
    stage.start(&["--claims-max=4000"]);
    stage.processes[0].wire.line().never = Some(is_never_done);
    stage.pass(1_500);
    assert_eq!(tally(&stage.ours("matches"), "/status/decision"), BTreeMap::from([("Pending".to_owned(), gangs)]));
    let held: usize = (0..machines).map(|number| stage.entries("machines", &format!("m{number}"))).sum();
    assert!(held > gangs / 2 && held < gangs, "some have a machine: {held}");

    stage.processes.clear();
    stage.delete("machines", "m7");
    for number in (0..gangs).step_by(50) {
        stage.delete("jobs", &format!("j{number}"));
    }
    let left = gangs - gangs / 50;
    stage.pass(TERM_MS);
    let before = stage.log.len();
    stage.start(&[]);
    let begun = stage.now_ms;
    let mut claimed = 0;
    while claimed < left && stage.now_ms - begun < 120_000 {
        stage.pass(1_000);
        claimed = tally(&stage.ours("jobs"), "/status/phase").get("Claimed").copied().unwrap_or(0);
    }
    stage.rest().unwrap();
    let decisions = tally(&stage.ours("matches"), "/status/decision");
    let writes = stage.log.len() - before;
    println!("{claimed} of {left} claimed after {} ms, {writes} writes, {decisions:?}", stage.now_ms - begun);
    assert_eq!(claimed, left, "{:?}", tally(&stage.ours("jobs"), "/status/phase"));
}

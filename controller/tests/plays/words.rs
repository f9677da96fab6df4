//! What a job is told stays true when a write about it arrives later than it was made.

use apiserver::{Call, Verb};
use serde_json::json;

use crate::faults::Twist;
use crate::scenarios::{job, license, machine};
use crate::stage::Stage;

fn is_told_to_job(call: &Call) -> bool {
    call.verb == Verb::Patch && call.plural == "jobs"
}

fn is_reserve_of_job(call: &Call) -> bool {
    is_told_to_job(call) && String::from_utf8_lossy(&call.body).contains("Reserving")
}

/// A machine, a license, and somebody who leads.
fn led() -> Stage {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&license(1));
    stage.create(&machine("m0", 9));
    stage.start(&[]);
    stage
}

fn ends_well(mut stage: Stage) {
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
    stage.merge("jobs", "j", &json!({"done": true}));
    stage.until("j is over", |stage| stage.phase("j") == "Succeeded").unwrap();
    stage.rest().unwrap_or_else(|why| panic!("{why}\n{}", stage.log.join("\n")));
}

/// Its claim begins while the first word about it is on its way. The claim's own word was made without it, and arrives after it.
#[test]
fn a_first_word_that_is_under_way_is_not_dated_anew_by_the_claim() {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&license(1));
    stage.start(&[]);
    stage.keep_back(is_told_to_job, 2);
    stage.create(&job("j", &json!({})));
    stage.until("its first word is on its way", |stage| stage.kept_back() == 1).unwrap();
    stage.pass(1_500);
    stage.create(&machine("m0", 9));
    stage.until("it is being claimed", |stage| stage.entries("machines", "m0") == 1).unwrap();
    assert_eq!(stage.kept_back(), 2, "{}", stage.log.join("\n"));
    stage.release(0);
    ends_well(stage);
}

/// The claim is aborted while its word to the job is on its way; it arrives when the job was told so.
#[test]
fn the_word_of_a_claim_that_was_called_off_does_not_date_the_job_back() {
    let mut stage = led();
    stage.keep_back(is_reserve_of_job, 1);
    stage.create(&job("j", &json!({})));
    stage.until("it is being claimed", |stage| stage.kept_back() == 1 && stage.entries("machines", "m0") == 1).unwrap();
    stage.pass(1_500);
    stage.delete("machines", "m0");
    stage
        .until("it waits again", |stage| {
            let told = stage.get("jobs", "j").unwrap_or_default();
            stage.entries("licenses", "l") == 0 && told["status"]["unmatched"].is_object()
        })
        .unwrap();
    stage.pass(1_500);
    stage.release(0);
    stage.pass(2_000);
    stage.create(&machine("m0", 9));
    ends_well(stage);
}

/// The claim is over, and the job was told so. Then somebody else leads, who sees the job as it is, and the Match as it was while the
/// claim stood.
#[test]
fn a_claim_that_is_over_is_not_told_again_by_who_sees_its_match_as_it_was() {
    let mut stage = led();
    stage.create(&job("j", &json!({})));
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
    stage.start(&[]);
    stage.pass(5_000);
    stage.processes[1].wire.line().silence("matches");
    stage.merge("jobs", "j", &json!({"suspend": true}));
    stage
        .until("j is suspended", |stage| stage.phase("j") == "Suspended" && stage.entries("machines", "m0") == 0)
        .unwrap();
    stage.pass(1_000);
    stage.processes.remove(0);
    stage.merge("jobs", "j", &json!({"suspend": false}));
    ends_well(stage);
}

/// A claim stands, and the job was told so. Then somebody else leads, who sees the claim, and the job as it was born.
#[test]
fn a_job_that_is_seen_as_it_was_born_is_not_told_with_another_date() {
    let mut stage = led();
    stage.pass(2_000);
    stage.start(&[]);
    stage.pass(2_000);
    stage.keep_back(is_reserve_of_job, 1);
    stage.create(&job("j", &json!({})));
    stage.until("it is being claimed", |stage| stage.kept_back() == 1).unwrap();
    stage.pass(500);
    stage.processes[1].wire.line().silence("jobs");
    stage.release(0);
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
    stage.pass(2_000);
    stage.processes.remove(0);
    ends_well(stage);
}

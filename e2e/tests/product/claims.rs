//! Turns everything that can end or spoil a claim into a check that nothing of it is left, and that the job goes on.

use crate::refusal::{hold_up_reserves, lift};
use crate::stage::{Namespace, Stage, condition, job, license, machine, text};

fn here(test: &str) -> Namespace {
    Stage::shared().namespace(test)
}

/// A job, claimed with machine `m` and license `l`.
fn claimed(test: &str) -> Namespace {
    let here = here(test);
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
    here
}

/// A job under way to `cheap`, held up before its license is reserved, with its machine reserved.
fn half_way(test: &str) -> (Namespace, String) {
    half_way_of(test, &job("j", "sim"))
}

fn half_way_of(test: &str, manifest: &str) -> (Namespace, String) {
    let here = here(test);
    here.apply(&[machine("m"), license("cheap", "sim", 1, 1)].concat());
    here.wait("gml/cheap", "Ready");
    let policy = hold_up_reserves(&here);
    here.apply(manifest);
    here.until("the machine to be reserved", || (here.entries("gmm/m") == 1).then_some(()));
    assert_eq!(condition(&here.get("gmj/j"), "Claimed").1, "Reserving");
    (here, policy)
}

#[test]
fn a_refused_reserve_gives_all_back_and_the_job_is_matched_elsewhere() {
    let (here, policy) = half_way("refused");
    // The last seat is used outside the cluster, as the agent of a licence server would report it.
    let seat = r#"{"status": {"externalUsage": {"seats": 1}}}"#;
    here.kubectl(&["patch", "gml/cheap", "--subresource=status", "--type=merge", "-p", seat], None);
    here.apply(&license("dear", "sim", 1, 9));
    lift(&here, &policy);
    here.wait("gmj/j", "Claimed");
    let job = here.get("gmj/j");
    assert_eq!(text(&job, "/status/members"), format!("cpu={0}/m license={0}/dear", here.name));
    assert_eq!(text(&job, "/status/refusals/0/name"), "cheap");
    assert_eq!(text(&job, "/status/refusals/0/reason"), "CapacityTaken");
    assert_eq!(job.pointer("/status/attempts"), Some(&2.into()));
    let first = here.list("gmatch").into_iter().find(|found| text(found, "/status/decision") == "Aborted").unwrap();
    assert_eq!(text(&first, "/status/reason"), "CapacityTaken");
    assert_eq!(here.entries("gmm/m"), 1, "one entry: that of the second attempt");
}

#[test]
fn a_job_that_survives_no_rejection_is_finished_by_the_first() {
    let manifest = job("j", "sim").replace("spec: {attributes", "spec: {retry: {limit: 0}, attributes");
    let (here, policy) = half_way_of("limit", &manifest);
    let seat = r#"{"status": {"externalUsage": {"seats": 1}}}"#;
    here.kubectl(&["patch", "gml/cheap", "--subresource=status", "--type=merge", "-p", seat], None);
    here.apply(&license("dear", "sim", 1, 9));
    lift(&here, &policy);
    let why = here.wait_reason("gmj/j", "Finished", "RetryLimitReached");
    assert!(why.starts_with("rejected 1 times, spec.retry.limit is 0; the last time CapacityTaken: "), "{why}");
    here.wait("gmj/j", "jsonpath={.status.phase}=Failed");
    assert_eq!(text(&here.get("gmj/j"), "/status/refusals/0/name"), "cheap");
    here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
    assert_eq!(here.list("gmatch").len(), 1, "no second attempt");
}

#[test]
fn an_offer_that_does_not_answer_in_time_is_left_out_for_a_while() {
    let manifest = job("j", "sim").replace("spec: {attributes", "spec: {reserveTimeoutSeconds: 5, attributes");
    let (here, policy) = half_way_of("late", &manifest);
    here.apply(&license("dear", "sim", 1, 9));
    let of_attempt = |attempt: i64| {
        let all = here.list("gmatch");
        all.into_iter()
            .find(|found| found.pointer("/spec/attempt").and_then(serde_json::Value::as_i64) == Some(attempt))
    };
    let second = here.until("a second attempt", || of_attempt(2));
    assert!(text(&second, "/spec/summary").ends_with("/dear"), "elsewhere: {second}");
    assert_eq!(text(&of_attempt(1).unwrap(), "/status/reason"), "ReserveTimedOut");
    let job = here.get("gmj/j");
    assert_eq!(
        (text(&job, "/status/refusals/0/name"), text(&job, "/status/refusals/0/reason")),
        ("cheap".into(), "ReserveTimedOut".into())
    );
    lift(&here, &policy);
    here.wait("gmj/j", "Claimed");
}

#[test]
fn a_controller_restarted_half_way_goes_on_from_what_it_finds() {
    let stage = Stage::own();
    let here = stage.namespace("restart");
    here.apply(&[machine("m"), license("cheap", "sim", 1, 1)].concat());
    here.wait("gml/cheap", "Ready");
    let policy = hold_up_reserves(&here);
    here.apply(&job("j", "sim"));
    here.until("the machine to be reserved", || (here.entries("gmm/m") == 1).then_some(()));

    stage.controller.end(testbed::control_plane::processes::Signal::Kill).unwrap();
    lift(&here, &policy);
    assert_eq!(text(&here.list("gmatch").remove(0), "/status/decision"), "Pending");
    stage.controller.restart().unwrap();
    here.wait("gmj/j", "Claimed");
    let all = here.list("gmatch");
    assert_eq!(all.len(), 1, "the Match that was begun is the one that was committed");
    assert_eq!(text(&all[0], "/status/decision"), "Committed");
    assert_eq!((here.entries("gmm/m"), here.entries("gml/cheap")), (1, 1));

    // And once more between the release and the end: deleted while nobody looks.
    stage.controller.end(testbed::control_plane::processes::Signal::Kill).unwrap();
    here.delete("gmj/j");
    here.until("the Match to be collected", || here.list("gmatch").is_empty().then_some(()));
    assert_eq!((here.entries("gmm/m"), here.entries("gml/cheap")), (1, 1), "held until somebody looks");
    stage.controller.restart().unwrap();
    here.until("both offers to be free", || {
        (here.entries("gmm/m") == 0 && here.entries("gml/cheap") == 0).then_some(())
    });
}

#[test]
fn a_machine_deleted_while_claimed_ends_the_claim() {
    let here = claimed("lost");
    here.delete("gmm/m");
    here.until("the license to be free", || (here.entries("gml/l") == 0).then_some(()));
    here.wait_reason("gmj/j", "Matched", "NoCandidates");
    let job = here.get("gmj/j");
    assert_eq!(condition(&job, "Claimed").1, "MemberLost");
    assert_eq!(text(&job, "/status/phase"), "Pending");
    assert_eq!(text(&here.list("gmatch").remove(0), "/status/reason"), "MemberLost");
    here.apply(&machine("m"));
    here.wait("gmj/j", "Claimed");
    assert_eq!(here.list("gmatch").len(), 2);
}

#[test]
fn a_job_deleted_while_claimed_releases_everything() {
    let here = claimed("deleted");
    here.delete("gmj/j");
    for offer in ["gmm/m", "gml/l"] {
        here.until("the offer to be free", || (here.entries(offer) == 0).then_some(()));
        here.wait(offer, "jsonpath={.status.state}=Available");
    }
    here.until("the Match to be collected", || here.list("gmatch").is_empty().then_some(()));
}

#[test]
fn a_job_deleted_while_pending_leaves_nothing() {
    let here = here("pending");
    here.apply(&[machine("m"), job("j", "none")].concat());
    here.wait("gmj/j", "Matched=False");
    here.delete("gmj/j");
    here.apply(&[license("l", "none", 1, 1), job("next", "none")].concat());
    here.wait("gmj/next", "Claimed");
    assert_eq!(here.list("gmatch").len(), 1);
}

#[test]
fn a_job_deleted_half_way_gives_back_what_it_has() {
    let (here, policy) = half_way("half");
    here.delete("gmj/j");
    here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
    lift(&here, &policy);
    here.apply(&job("next", "sim"));
    here.wait("gmj/next", "Claimed");
}

#[test]
fn a_suspended_job_gives_its_claim_back_and_takes_it_again() {
    let here = claimed("suspend");
    here.merge("gmj/j", r#"{"spec": {"suspend": true}}"#);
    here.until("both offers to be free", || (here.entries("gmm/m") == 0 && here.entries("gml/l") == 0).then_some(()));
    here.wait("gmj/j", "jsonpath={.status.phase}=Suspended");
    here.merge("gmj/j", r#"{"spec": {"suspend": false}}"#);
    here.wait("gmj/j", "Claimed");
}

#[test]
fn an_owner_evicts_and_the_job_waits_for_another() {
    let here = claimed("evict");
    here.merge("gmm/m", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    here.until("the license to be free", || (here.entries("gml/l") == 0).then_some(()));
    assert_eq!(text(&here.list("gmatch").remove(0), "/status/reason"), "Evicted");
    here.wait("gmm/m", "jsonpath={.status.state}=Evicting");
    here.apply(&machine("other"));
    here.wait("gmj/j", "Claimed");
}

#[test]
fn a_deleted_match_is_a_release_and_the_job_is_matched_again() {
    let here = claimed("unmatched");
    let first = crate::stage::name(&here.list("gmatch").remove(0));
    here.delete(&format!("gmatch/{first}"));
    here.until("another Match to stand", || {
        let all = here.list("gmatch");
        let stands = |found: &&serde_json::Value| text(found, "/status/decision") == "Committed";
        all.iter().find(stands).filter(|found| crate::stage::name(found) != first).map(|_| ())
    });
    here.wait("gmj/j", "Claimed");
    assert_eq!((here.entries("gmm/m"), here.entries("gml/l")), (1, 1));
}

#[test]
fn a_claim_with_a_time_limit_ends_by_itself() {
    let here = here("expires");
    here.apply(&[machine("m"), license("l", "sim", 1, 1)].concat());
    here.apply(&job("j", "sim").replace("spec: {attributes", "spec: {activeDeadlineSeconds: 1, attributes"));
    here.wait_reason("gmj/j", "Finished", "ClaimExpired");
    assert_eq!((here.entries("gmm/m"), here.entries("gml/l")), (0, 0));
}

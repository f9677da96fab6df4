//! Turns what others do to the product's own records, by policy, by hand or by forgery, into checks that nothing is given away
//! twice, that it says so, and that it goes on.

use std::time::Duration;

use serde_json::Value;

use crate::refusal::{refuse, requests};
use crate::stage::{Namespace, Stage, condition, job, license, machine, name, text};

fn here(test: &str) -> Namespace {
    Stage::shared().namespace(test)
}

fn events(here: &Namespace, about: &str) -> Vec<(String, String)> {
    let all = here.list("events.events.k8s.io");
    let ours = all.iter().filter(|event| text(event, "/regarding/name") == about);
    ours.map(|event| (text(event, "/reason"), text(event, "/note"))).collect()
}

/// Nobody may write Matches of job `j` in this namespace, until it is lifted.
fn forbid_matches(here: &Namespace) -> String {
    let rules = [requests("CREATE", "gangmatch.dev", "matches")];
    let policy = refuse(here, &rules, "!object.metadata.name.startsWith('j-')", "no more of these");
    let probe = forged(here, "j-probe", "uid-of-nobody", ("License", &here.name, "none", "uid-of-none"));
    here.until("the policy to bite", || {
        let arguments = ["create", "--dry-run=server", "-f", "-"];
        let output = here.access().kubectl(&arguments, Some(&probe)).unwrap();
        String::from_utf8_lossy(&output.stderr).contains("no more of these").then_some(())
    });
    policy
}

/// A Match that nobody has found.
fn forged(here: &Namespace, match_name: &str, job_uid: &str, offer: (&str, &str, &str, &str)) -> String {
    let (kind, namespace, offer_name, uid) = offer;
    let root = serde_json::json!({"id": 0, "kind": "Job", "namespace": here.name, "name": "j", "uid": job_uid, "generation": 1});
    let member = serde_json::json!({"id": 1, "kind": kind, "namespace": namespace, "name": offer_name, "uid": uid,
        "generation": 1, "parent": 0, "parentPort": "other", "port": "other", "allocation": {"seats": 1}, "claimPolicy": "Auto"});
    let spec = serde_json::json!({"attempt": 1, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1}, "epoch": 0,
        "reserveTimeoutSeconds": 30, "summary": "forged", "rank": "0", "members": [root, member]});
    let metadata = serde_json::json!({"name": match_name, "namespace": here.name});
    serde_json::json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": metadata, "spec": spec})
        .to_string()
}

#[test]
fn a_match_that_may_not_be_written_is_told_and_holds_nothing() {
    let here = here("forbidden");
    let policy = forbid_matches(&here);
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    let why = here.wait_reason("gmj/j", "Matched", "BackingOff");
    assert!(why.starts_with("its Match cannot be written: ") && why.contains("no more of these"), "{why}");
    here.until("an Event", || events(&here, "j").iter().any(|(reason, _)| reason == "FailedCreate").then_some(()));
    here.apply(&job("other", "sim"));
    here.wait("gmj/other", "Claimed");
    here.merge("gmj/other", r#"{"spec": {"done": true}}"#);
    for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
        here.access().kubectl_text(&["delete", kind, &policy], None).unwrap();
    }
    here.wait("gmj/j", "Claimed");
    assert_eq!(here.get("gmj/j").pointer("/status/attempts"), Some(&1.into()), "what was not written was no attempt");
}

#[test]
fn a_job_whose_status_was_wiped_is_told_again() {
    let here = here("wiped-job");
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
    let before = here.get("gmj/j");
    let patch = r#"[{"op": "replace", "path": "/status", "value": {}}]"#;
    here.kubectl(&["patch", "gmj/j", "--subresource=status", "--type=json", "-p", patch], None);
    here.wait("gmj/j", "Claimed");
    let after = here.get("gmj/j");
    assert_eq!(after.pointer("/status/claim"), before.pointer("/status/claim"), "the same claim");
    assert_eq!(text(&after, "/status/members"), text(&before, "/status/members"));
    assert_eq!(condition(&after, "Accepted").0, "True");
    assert_eq!(here.list("gmatch").len(), 1);
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    here.wait("gmj/j", "Finished");
}

#[test]
fn a_ledger_that_was_wiped_is_rebuilt_before_anything_of_it_is_given_away() {
    let here = here("wiped-offer");
    here.apply(&[machine("m"), machine("spare"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
    here.apply(&job("next", "sim"));
    here.wait_reason("gmj/next", "Matched", "WaitingForCapacity");
    let offer = here.get("gml/l");
    let (before, epoch) = (offer.pointer("/status/claims").cloned(), offer.pointer("/status/epoch").cloned());
    // All of it at once is refused: its epoch would go back.
    let patch = serde_json::json!([{"op": "replace", "path": "/status", "value": {"epoch": epoch}}]).to_string();
    for _ in 0..3 {
        here.kubectl(&["patch", "gml/l", "--subresource=status", "--type=json", "-p", &patch], None);
        here.until("the entry to be back", || (here.entries("gml/l") == 1).then_some(()));
        assert_eq!(here.get("gml/l").pointer("/status/claims").cloned(), before);
    }
    here.wait("gml/l", "jsonpath={.status.state}=Full");
    let of_next = |found: &Value| text(found, "/spec/members/0/name") == "next";
    assert!(!here.list("gmatch").iter().any(of_next), "the seat was never offered to the other");
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    here.wait("gmj/next", "Claimed");
}

#[test]
fn of_a_forged_match_nothing_is_reserved() {
    let (here, far) = (here("forged"), here("forged-far"));
    far.apply(&license("l", "sim", 1, 1));
    far.wait("gml/l", "Ready");
    here.apply(&job("j", "sim"));
    here.wait("gmj/j", "Accepted");
    let (job_uid, offer_uid) = (text(&here.get("gmj/j"), "/metadata/uid"), text(&far.get("gml/l"), "/metadata/uid"));
    here.apply(&forged(&here, "forged", &job_uid, ("License", &far.name, "l", &offer_uid)));
    here.wait("gmatch/forged", "jsonpath={.status.decision}=Aborted");
    assert_eq!(text(&here.get("gmatch/forged"), "/status/reason"), "NotAllowed");
    let status = far.get("gml/l");
    assert_eq!(
        status.pointer("/status/epoch").and_then(Value::as_i64).unwrap_or(0),
        0,
        "whoever reserves leaves his epoch"
    );
}

#[test]
fn a_job_that_waits_longer_than_it_wants_to_is_finished() {
    let here = here("patience");
    here.apply(&job("j", "none").replace("spec: {attributes", "spec: {matchTimeoutSeconds: 2, attributes"));
    let why = here.wait_reason("gmj/j", "Finished", "MatchTimedOut");
    assert!(why.starts_with("not claimed within spec.matchTimeoutSeconds (2 s)"), "{why}");
    here.wait("gmj/j", "jsonpath={.status.phase}=Failed");
    here.apply(&[machine("m"), license("l", "none", 1, 1), job("next", "none")].concat());
    here.wait("gmj/next", "Claimed");
    assert_eq!(here.list("gmatch").len(), 1, "a finished job is not matched");
}

#[test]
fn a_job_with_the_longest_name_has_its_events() {
    let (here, long) = (here("long"), "j".repeat(253));
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job(&long, "sim")].concat());
    here.wait(&format!("gmj/{long}"), "Claimed");
    let told = here.until("an Event", || events(&here, &long).pop());
    assert_eq!(told.0, "Claimed");
    assert!(here.list("gmatch").iter().all(|found| name(found).len() <= 63));
}

/// How long a pause is watched for attempts that should not be made in it.
const WATCHED: Duration = Duration::from_secs(8);

#[test]
fn a_match_that_may_not_be_written_is_tried_less_and_less_often() {
    let here = here("patient");
    let Some(plane) = here.stage.cluster.control_plane() else {
        eprintln!("SKIPPED: attempts are counted in the audit log of a control plane of our own");
        return;
    };
    forbid_matches(&here);
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait_reason("gmj/j", "Matched", "BackingOff");
    let begun = std::time::Instant::now();
    here.until("some time to pass", || (begun.elapsed() > WATCHED).then_some(()));
    let log = std::fs::read_to_string(plane.audit_log()).unwrap();
    let path = format!("/namespaces/{}/matches", here.name);
    let attempts = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(|entry| {
        text(entry, "/verb") == "create"
            && text(entry, "/requestURI").contains(&path)
            && text(entry, "/userAgent").starts_with("gangmatch-controller")
    });
    let attempts = attempts.count();
    assert!((1..=3).contains(&attempts), "{attempts} attempts in {WATCHED:?}");
}

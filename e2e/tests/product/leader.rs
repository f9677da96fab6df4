//! Turns several replicas on one control plane, stopped, killed and frozen, into checks on who writes and how soon.

use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::control_plane::processes::Signal;
use testbed::product::{self, Controller, NAMESPACE};
use testbed::{Component, until};

use crate::stage::{LIMIT, Namespace, Stage, job, license, machine, text};

/// Two replicas, the one that leads first.
struct Pair {
    leader: Controller<'static>,
    standby: Controller<'static>,
}

fn pair(test: &str) -> (Namespace, Pair) {
    let stage = Stage::own();
    let kubeconfig = product::controller_kubeconfig(stage.cluster).unwrap();
    // The first one leads by now, or soon; the stage's own is left out of the play.
    stage.controller.end(Signal::Terminate).unwrap();
    let leader = product::start_controller(stage.cluster, &kubeconfig, &[]).unwrap();
    let here = stage.namespace(test);
    wait_for_leader(&here, &leader);
    let standby = product::start_controller(stage.cluster, &kubeconfig, &[]).unwrap();
    assert!(is_held_by(&here, &leader), "who comes later does not take over");
    (here, Pair { leader, standby })
}

fn lease(here: &Namespace) -> Value {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/gangmatch");
    here.access().requests().unwrap().get(&path).unwrap_or_default()
}

fn is_held_by(here: &Namespace, who: &Controller<'_>) -> bool {
    text(&lease(here), "/spec/holderIdentity").starts_with(&format!("{}_", who.name()))
}

/// Waits until this one leads; how long that took.
fn wait_for_leader(here: &Namespace, who: &Controller<'_>) -> Duration {
    let begun = Instant::now();
    until("the other to lead", LIMIT, || Ok(is_held_by(here, who).then_some(()))).unwrap();
    begun.elapsed()
}

/// Which replica wrote what and when, but for the Lease: identity, time, request and answer.
fn writes(here: &Namespace) -> Vec<(String, String, String)> {
    let plane = here.stage.cluster.control_plane().unwrap();
    let log = std::fs::read_to_string(plane.audit_log()).unwrap();
    let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let counted = entries.filter(|entry| {
        let (verb, path) = (text(entry, "/verb"), text(entry, "/requestURI"));
        ["create", "update", "patch", "delete"].contains(&verb.as_str()) && !path.contains("/leases")
    });
    let row = |entry: Value| {
        let agent = text(&entry, "/userAgent");
        let identity = agent.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')')).to_owned();
        let code = entry.pointer("/responseStatus/code").and_then(Value::as_i64).unwrap_or(0);
        let request = format!("{code} {} {}", text(&entry, "/verb"), text(&entry, "/requestURI"));
        (identity, text(&entry, "/requestReceivedTimestamp"), request)
    };
    counted.map(row).filter(|(identity, ..)| identity.starts_with("gangmatch-controller")).collect()
}

fn written_by(here: &Namespace, who: &Controller<'_>) -> Vec<(String, String, String)> {
    writes(here).into_iter().filter(|(identity, ..)| identity.starts_with(&format!("{}_", who.name()))).collect()
}

fn offers(here: &Namespace) {
    here.apply(&[machine("m"), machine("other"), license("l", "sim", 9, 1)].concat());
}

fn epoch(here: &Namespace, job_name: &str) -> i64 {
    let of_job = |found: &Value| text(found, "/spec/members/0/name") == job_name;
    let found = here.list("gmatch").into_iter().find(of_job).unwrap();
    found.pointer("/spec/epoch").and_then(Value::as_i64).unwrap()
}

#[test]
fn a_standby_is_ready_writes_nothing_and_takes_over_at_once_when_its_leader_stops() {
    let (here, Pair { leader, standby }) = pair("stops");
    offers(&here);
    here.apply(&job("first", "sim"));
    here.wait("gmj/first", "Claimed");
    assert_eq!(product::get(standby.address(), "/readyz").unwrap().0, 200);
    assert_eq!(written_by(&here, &standby), [], "a standby writes nothing");
    assert!(written_by(&here, &leader).len() >= 7, "the audit log names who wrote");

    leader.signal(Signal::Terminate).unwrap();
    let took = wait_for_leader(&here, &standby);
    println!("clean stop: the other leads after {} ms", took.as_millis());
    assert!(took <= Duration::from_secs(2), "{took:?}");
    here.apply(&job("second", "sim"));
    here.wait("gmj/second", "Claimed");
    let (first, second) = (epoch(&here, "first"), epoch(&here, "second"));
    assert!(0 < first && first < second, "{first} {second}");
    let status = here.get("gml/l");
    assert_eq!(status.pointer("/status/epoch").and_then(Value::as_i64), Some(second));
}

#[test]
fn a_killed_leader_is_replaced_within_seventeen_seconds() {
    let (here, Pair { leader, standby }) = pair("killed");
    offers(&here);
    here.apply(&job("first", "sim"));
    here.wait("gmj/first", "Claimed");
    leader.end(Signal::Kill).unwrap();
    here.apply(&job("second", "sim"));
    let took = wait_for_leader(&here, &standby);
    println!("SIGKILL: the other leads after {} ms", took.as_millis());
    assert!(took <= Duration::from_secs(17), "{took:?}");
    here.wait("gmj/second", "Claimed");
}

#[test]
fn a_leader_that_slept_through_its_replacement_changes_nothing_more() {
    let (here, Pair { leader, standby }) = pair("frozen");
    offers(&here);
    let many: String = (0..20).map(|number| job(&format!("j{number}"), "sim")).collect();
    here.apply(&many);
    here.until("the leader to be at work", || (written_by(&here, &leader).len() > 4).then_some(()));
    leader.signal(Signal::Stop).unwrap();
    let took = wait_for_leader(&here, &standby);
    println!("SIGSTOP: the other leads after {} ms", took.as_millis());
    let since = text(&lease(&here), "/spec/acquireTime");
    here.until("two jobs to be claimed", || {
        let claimed = here.list("gmj").iter().filter(|job| text(job, "/status/phase") == "Claimed").count();
        (claimed == 2).then_some(())
    });
    // What the sleeper meant to do is not so any more: it is to find that out without writing.
    here.delete("gmj/j0");
    leader.signal(Signal::Continue).unwrap();
    let before = std::fs::read_to_string(leader.log()).unwrap();
    here.until("the sleeper to see that it was replaced", || {
        let log = std::fs::read_to_string(leader.log()).unwrap();
        (log.len() > before.len() && log.contains("the lease is lost")).then_some(())
    });
    here.until("the others to be claimed", || {
        let claimed = here.list("gmj").iter().filter(|job| text(job, "/status/phase") == "Claimed").count();
        (claimed == 2).then_some(())
    });
    // What it had let go of when it was stopped, its socket still sends: none of it is done, for it speaks of what was
    // (409), or the API server gave up on it (504).
    let (done, refused): (Vec<_>, Vec<_>) = written_by(&here, &leader)
        .into_iter()
        .filter(|(_, at, _)| *at > since)
        .partition(|(_, _, request)| request.starts_with('2'));
    println!("refused after the other led: {}", refused.len());
    assert_eq!(done, [], "written after the other led, since {since}");
    assert!(refused.len() <= 32, "no more than were on their way: {refused:?}");
    assert_eq!(product::get(leader.address(), "/readyz").unwrap().0, 200, "it is a standby now");
}

#[test]
fn after_an_outage_of_the_api_server_the_same_process_leads_again() {
    let stage = Stage::own();
    let plane = stage.cluster.control_plane().unwrap();
    let here = stage.namespace("outage");
    offers(&here);
    here.apply(&job("first", "sim"));
    here.wait("gmj/first", "Claimed");
    plane.kill(Component::Apiserver).unwrap();
    let log = || std::fs::read_to_string(stage.controller.log()).unwrap();
    here.until("the lease to be lost", || log().contains("the lease is lost").then_some(()));
    assert!(product::get(stage.controller.address(), "/livez").is_ok_and(|(status, _)| status == 200), "it goes on");
    plane.restart(Component::Apiserver).unwrap();
    // It comes back bit by bit: it is back when it takes a job.
    let arguments = ["-n", here.name.as_str(), "apply", "-f", "-"];
    here.until("the API server", || {
        here.access().kubectl(&arguments, Some(&job("second", "sim"))).unwrap().status.success().then_some(())
    });
    let back = Instant::now();
    here.wait("gmj/second", "Claimed");
    println!("claimed {} ms after the API server was back", back.elapsed().as_millis());
    assert!(epoch(&here, "first") < epoch(&here, "second"), "in a new term");
}

#[test]
fn a_leader_that_sees_a_newer_epoch_steps_down_and_leads_again_under_a_higher_one() {
    let stage = Stage::own();
    let here = stage.namespace("epoch");
    here.apply(&[machine("m"), license("l", "sim", 1, 1)].concat());
    here.wait("gmm/m", "Ready");
    let epoch = || here.get("gmm/m").pointer("/status/epoch").and_then(Value::as_i64).unwrap_or(0);
    // as if another leader had written here: one from a cluster that these objects were carried over from
    let newer = 1_000_000_000_000;
    let patch = format!(r#"{{"status": {{"epoch": {newer}}}}}"#);
    here.kubectl(&["patch", "gmm/m", "--subresource=status", "--type=merge", "-p", &patch], None);
    let log = || std::fs::read_to_string(stage.controller.log()).unwrap();
    here.until("the term to be given up", || log().contains("another replica has led since").then_some(()));
    here.apply(&job("j", "sim"));
    here.wait("gmj/j", "Claimed");
    assert!(epoch() >= newer, "and what it writes is not older");
}

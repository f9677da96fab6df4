//! Turns half a minute of quiet into a count of writes, which has to be none.

use std::time::{Duration, Instant};

use testbed::ControlPlane;

use crate::stage::{Stage, job, license, machine, text};
use serde_json::Value;

const QUIET: Duration = Duration::from_secs(30);

/// What the controller has written in a namespace so far, by the audit log.
pub(crate) fn writes(plane: &ControlPlane, namespace: &str) -> Vec<String> {
    let log = std::fs::read_to_string(plane.audit_log()).unwrap();
    let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let path = format!("/namespaces/{namespace}/");
    let by_controller = entries.filter(|entry| {
        text(entry, "/user/username") == "system:serviceaccount:gangmatch-system:gangmatch"
            && text(entry, "/requestURI").contains(&path)
            && ["create", "update", "patch", "delete"].contains(&text(entry, "/verb").as_str())
    });
    by_controller.map(|entry| format!("{} {}", text(&entry, "/verb"), text(&entry, "/requestURI"))).collect()
}

#[test]
fn idle_means_no_writes() {
    let stage = Stage::shared();
    let Some(plane) = stage.cluster.control_plane() else {
        eprintln!("SKIPPED: writes are counted in the audit log of a control plane of our own");
        return;
    };
    let here = stage.namespace("idle");
    let ads =
        [machine("m"), license("l", "sim", 1, 1), job("runs", "sim"), job("waits", "sim"), job("never", "no-such")];
    here.apply(&ads.concat());
    here.wait("gmj/runs", "Claimed");
    here.wait_reason("gmj/waits", "Matched", "WaitingForCapacity");
    here.wait_reason("gmj/never", "Matched", "NoCandidates");
    for offer in ["gmm/m", "gml/l"] {
        here.wait(offer, "jsonpath={.status.state}=Full");
    }
    // Quiet begins when two looks in a row see the same writes.
    let mut before = writes(plane, &here.name);
    here.until("the writes to cease", || {
        let now = writes(plane, &here.name);
        let same = now.len() == before.len();
        before = now;
        same.then_some(())
    });
    assert!(before.len() >= 7, "the audit log does not show what was written: {before:?}");
    let begun = Instant::now();
    here.until("half a minute to pass", || {
        let now = writes(plane, &here.name);
        let new: Vec<&String> = now.iter().skip(before.len()).collect();
        assert!(new.is_empty(), "written while nothing happened: {new:?}");
        (begun.elapsed() >= QUIET).then_some(())
    });
}

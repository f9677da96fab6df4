//! Turns jobs with counted ports into claims of many offers, on a real API server: all of them or none.

use std::time::Instant;

use serde_json::json;

use crate::refusal::{hold_up_reserves, lift};
use crate::stage::{Namespace, Stage, condition, license, machine, text};

fn here(test: &str) -> Namespace {
    Stage::shared().namespace(test)
}

fn machines(count: usize) -> String {
    (0..count).map(|number| machine(&format!("m{number:02}"))).collect()
}

/// A job that needs so many machines, and a license of `sim` with 16 seats for each.
fn job(name: &str, count: usize) -> String {
    let ports = json!([
        {"label": "node", "count": count, "constraint": "node.Type == \"Machine\""},
        {"label": "license", "expressions": {"Hosts": "node.Name"},
            "constraint": "license.Type == \"License\" && license.App == \"sim\"", "request": {"seats": "16 * size(node)"}}]);
    let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"retry": {"backoffSeconds": 1, "maxBackoffSeconds": 2}, "ports": ports}});
    format!("{job}\n---\n")
}

/// How many of the machines have an entry.
fn held(here: &Namespace) -> usize {
    let entries = |machine: &serde_json::Value| {
        machine.pointer("/status/claims").and_then(|claims| claims.as_object().map(serde_json::Map::len)).unwrap_or(0)
    };
    here.list("gmm").iter().map(entries).sum()
}

#[test]
fn thirty_two_machines_and_a_license_of_512_seats_are_claimed_together() {
    let here = here("thirty-two");
    here.apply(&(machines(40) + &license("solver", "sim", 512, 1)));
    here.wait("gml/solver", "Ready");
    let begun = Instant::now();
    here.apply(&job("j", 32));
    here.wait("gmj/j", "Claimed");
    println!("32 machines and a license: claimed {} ms after the job was applied", begun.elapsed().as_millis());
    assert_eq!(held(&here), 32);
    assert_eq!(text(&here.get("gml/solver"), "/status/used"), "512/512 seats");
    assert_eq!(here.entries("gml/solver"), 1, "one entry for all seats");
    let summary = format!("node=32:{0}/m00,{0}/m01,+30 license={0}/solver", here.name);
    assert_eq!(text(&here.get("gmj/j"), "/status/members"), summary);
    let found = here.list("gmatch").remove(0);
    let members = found.pointer("/spec/members").and_then(|members| members.as_array()).unwrap();
    assert_eq!(members.len(), 34);
    assert_eq!(members.iter().filter(|member| text(member, "/parentPort") == "node").count(), 32);
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    here.wait("gmj/j", "Finished");
    assert_eq!((held(&here), here.entries("gml/solver")), (0, 0));
}

#[test]
fn a_refusal_of_one_member_gives_all_others_back() {
    let here = here("one-no");
    here.apply(&(machines(12) + &license("cheap", "sim", 192, 1)));
    here.wait("gml/cheap", "Ready");
    let policy = hold_up_reserves(&here);
    here.apply(&job("j", 12));
    here.until("all machines to be reserved", || (held(&here) == 12).then_some(()));
    assert_eq!(condition(&here.get("gmj/j"), "Claimed").1, "Reserving");
    // One seat is used outside the cluster, so fewer than 192 are free.
    let seat = r#"{"status": {"externalUsage": {"seats": 1}}}"#;
    here.kubectl(&["patch", "gml/cheap", "--subresource=status", "--type=merge", "-p", seat], None);
    lift(&here, &policy);
    here.until("all to be given back", || (held(&here) == 0 && here.entries("gml/cheap") == 0).then_some(()));
    let first = here.list("gmatch").remove(0);
    assert_eq!(
        (text(&first, "/status/decision"), text(&first, "/status/reason")),
        ("Aborted".into(), "CapacityTaken".into())
    );
    // The job's own record follows when the claim has ended.
    let refused = || text(&here.get("gmj/j"), "/status/refusals/0/name") == "cheap";
    here.until("the job to know which license refused", || refused().then_some(()));
    here.apply(&license("dear", "sim", 192, 9));
    here.wait("gmj/j", "Claimed");
    assert_eq!((held(&here), here.entries("gml/dear"), here.entries("gml/cheap")), (12, 1, 0));
}

#[test]
fn of_two_sets_of_the_same_machines_one_is_claimed_and_the_other_job_is_told_how_many_are_free() {
    let here = here("two-sets");
    here.apply(&(machines(12) + &license("solver", "sim", 512, 1)));
    here.wait("gml/solver", "Ready");
    here.apply(&(job("a", 8) + &job("b", 8)));
    let waiting = here.until("one to be claimed, and the other to know how many are free", || {
        let claimed = here.with_reason("gmj", "Claimed", "Committed");
        let waits = here.with_reason("gmj", "Matched", "WaitingForCapacity");
        (claimed.len() == 1).then(|| waits.first().cloned()).flatten()
    });
    let why = here.until("the reason to be that of the claim that stands", || {
        let why = condition(&here.get(&format!("gmj/{waiting}")), "Matched").2;
        why.contains("4 of them are free").then_some(why)
    });
    assert_eq!(why, "port `node`: 8 wanted, 12 are accepted, 4 of them are free");
    let waits = here.get(&format!("gmj/{waiting}"));
    assert_eq!(waits.pointer("/status/unmatched/ports/0/need"), Some(&8.into()));
    assert_eq!(waits.pointer("/status/unmatched/ports/0/largest"), Some(&12.into()));
    let claimed = here.with_reason("gmj", "Claimed", "Committed").remove(0);
    here.merge(&format!("gmj/{claimed}"), r#"{"spec": {"done": true}}"#);
    here.wait(&format!("gmj/{waiting}"), "Claimed");
    assert_eq!(held(&here), 8);
}

#[test]
fn the_example_of_an_mpi_job_is_claimed_in_one_rack_and_the_wider_job_is_told_how_many_there_are() {
    let here = here("mpi");
    let folder = testbed::repository::root().join("examples/mpi");
    let text_of = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    here.apply(&text_of("machines.yaml"));
    here.apply(&text_of("license.yaml"));
    here.wait("gml/flow", "Ready");
    here.apply(&text_of("jobs.yaml"));
    here.wait_reason("gmj/mpi", "Claimed", "Committed");
    let members = format!("node=8:{0}/r1-1,{0}/r1-2,+6 license={0}/flow", here.name);
    assert_eq!(text(&here.get("gmj/mpi"), "/status/members"), members);
    assert_eq!(text(&here.get("gml/flow"), "/status/used"), "128/128 seats");
    let why = here.until("the wider job to know how many there are", || {
        let why = condition(&here.get("gmj/wide"), "Matched").2;
        why.contains("16 wanted").then_some(why)
    });
    assert!(why.starts_with("port `node`: 16 wanted, 12 of "), "{why}");
}

#[test]
fn the_api_server_refuses_counts_that_contradict_each_other() {
    let here = here("odd-counts");
    for (port, message) in [
        (json!({"count": 2, "minCount": 1, "maxCount": 3}), "use either count, or minCount and maxCount"),
        (json!({"minCount": 1}), "minCount and maxCount are written together"),
        (json!({"maxCount": 1}), "minCount and maxCount are written together"),
        (json!({"same": ["Rack"]}), "need a count"),
        (json!({"groupRank": "1"}), "need a count"),
    ] {
        let mut port = port;
        port["label"] = json!("node");
        let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"ports": [port]}});
        let output = here.access().kubectl(&["-n", &here.name, "apply", "-f", "-"], Some(&job.to_string())).unwrap();
        let refused = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && refused.contains(message), "{message} is not in: {refused}");
    }
    here.apply(&job("j", 64));
    let why = here.wait_reason("gmj/j", "Accepted", "InvalidPort");
    assert_eq!(why, "spec.ports[0].count: found `64`; write an integer from 1 to 63");
}

#[test]
fn a_match_has_at_most_64_members() {
    let here = here("too-many");
    let uid = |id: usize| format!("{id:08}-1111-4222-8333-123456789abc");
    let member = |id: usize| {
        let mut member = json!({"id": id, "kind": "Machine", "namespace": here.name, "name": format!("m{id}"), "uid": uid(id), "generation": 1,
            "parent": 0, "parentPort": "node", "port": "other", "allocation": {"slots": 1}, "claimPolicy": "Auto"});
        if id == 0 {
            member =
                json!({"id": 0, "kind": "Job", "namespace": here.name, "name": "j", "uid": uid(0), "generation": 1});
        }
        member
    };
    let refused = |members: usize| {
        let spec = json!({"attempt": 1, "cycle": {"id": "c1", "time": "2026-01-01T00:00:00Z", "seed": 5}, "epoch": 3,
            "reserveTimeoutSeconds": 30, "summary": "node=63", "rank": "0", "members": (0..members).map(member).collect::<Vec<_>>()});
        let found =
            json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": {"name": "g"}, "spec": spec});
        let create = ["-n", &here.name, "create", "--dry-run=server", "-f", "-"];
        let output = here.access().kubectl(&create, Some(&found.to_string())).unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let (most, more) = (refused(64), refused(65));
    assert!(!most.contains("spec.members"), "the schema takes 64: {most}");
    assert!(more.contains("spec.members: Too many: 65: must have at most 64 items"), "{more}");
}

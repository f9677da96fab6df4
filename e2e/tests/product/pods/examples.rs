//! Turns the examples that need nodes into what their readers are promised to see.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};
use testbed::control_plane::stages::{ENDS, RUNS_FOR};
use testbed::repository;

use crate::agents::{Agent, OFTEN};
use crate::stage::{Namespace, Stage, condition, name, text};

/// A file of an example, for a namespace and with nodes of this test's own: in a reader's cluster the namespace is called as the
/// example. `pod` is what the pods of a test say of their own end.
fn example(here: &Namespace, folder: &str, file: &str, pod: &Value) -> String {
    let path = repository::root().join("examples").join(folder).join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    text.replace(&format!("namespace: {folder}"), &format!("namespace: {}", here.name))
        .replace(&format!("metadata: {{name: {folder}"), &format!("metadata: {{name: {}", here.name))
        .replace("matchLabels: {", &format!("matchLabels: {{test: {}, ", here.name))
        .replace(&format!("metadata: {{labels: {{example: {folder}}}}}"), &format!("metadata: {{annotations: {pod}}}"))
}

fn nodes(here: &Namespace, named: &[(String, (&str, &str))]) {
    let node = |(name, (label, value)): &(String, (&str, &str))| {
        let amounts = json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
        let mut labels = json!({"kubernetes.io/hostname": name, "test": here.name});
        labels[*label] = json!(value);
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"}}, "status": {"capacity": amounts, "allocatable": amounts}})
    };
    let list = json!({"apiVersion": "v1", "kind": "List", "items": named.iter().map(node).collect::<Vec<_>>()});
    here.access().apply(&list.to_string()).unwrap();
}

fn offered(here: &Namespace, count: usize) {
    here.until("every node to be offered", || {
        let ready = here.list("gmm").iter().filter(|machine| condition(machine, "Ready").0 == "True").count();
        (ready == count).then_some(())
    });
}

#[test]
fn a_campus_of_three_licences_and_two_owners() {
    let here = Stage::with_pods().namespace("campus");
    let cs = (1..=12).map(|number| (format!("campus-cs-{number}"), ("group", "cs")));
    let ee = (1..=8).map(|number| (format!("campus-ee-{number}"), ("group", "ee")));
    nodes(&here, &cs.chain(ee).collect::<Vec<_>>());
    let forever = json!({ENDS: "never"});
    for file in ["classes.yaml", "licenses.yaml"] {
        here.apply(&example(&here, "campus", file, &forever));
    }
    offered(&here, 20);
    here.apply(&example(&here, "campus", "jobs.yaml", &forever));
    here.until("six pods to run", || {
        let running = here.list("pods").into_iter().filter(|pod| text(pod, "/status/phase") == "Running");
        (running.count() == 6).then_some(())
    });
    here.wait_reason("gmj/guest", "Matched", "RefusedByOffers");
    let running = || -> Vec<String> {
        let all = here.list("gmj");
        all.iter().filter(|job| text(job, "/status/phase") == "Running").map(name).collect()
    };
    here.until("six jobs to say so", || (running().len() == 6).then_some(()));
    let node_of = |job: &str| {
        let batch = text(&here.get(&format!("gmj/{job}")), "/status/workload/name");
        let pods = here.list("pods");
        let pod = pods.iter().find(|pod| text(pod, "/metadata/annotations/gangmatch.dev~1match") == batch);
        text(pod.unwrap(), "/spec/nodeName")
    };
    assert_eq!(node_of("spice-1"), "campus-cs-1");
    assert!(node_of("matlab-1").starts_with("campus-ee-"));
    assert_eq!(node_of("matlab-1"), node_of("matlab-2"), "they share the seat");
    let vcs: Vec<String> = running().into_iter().filter(|job| job.starts_with("vcs-")).collect();
    assert!(vcs.len() == 3 && vcs.iter().all(|job| node_of(job).starts_with("campus-cs-")), "{vcs:?}");
    assert_eq!(here.with_reason("gmj", "Matched", "WaitingForCapacity").len(), 1, "the fourth waits for a seat");
}

/// How many tests the regression has, unless `REGRESSION` says how many.
const TESTS: usize = 60;

#[test]
fn a_regression_of_many_tests_on_twelve_seats() {
    let count = std::env::var("REGRESSION").map_or(TESTS, |text| text.parse().unwrap());
    let here = Stage::own_with_pods().namespace("regression");
    nodes(&here, &(0..10).map(|number| (format!("regression-{number}"), ("pool", "regression"))).collect::<Vec<_>>());
    let pod = json!({RUNS_FOR: "1s"});
    for file in ["class.yaml", "license.yaml", "needs-vcs.yaml"] {
        here.apply(&example(&here, "regression", file, &pod));
    }
    offered(&here, 10);
    let begun = Instant::now();
    let test = example(&here, "regression", "run/test.yaml", &pod);
    let tests = (0..count).map(|number| test.replace("generateName: test-", &format!("name: test-{number}")));
    here.apply(&tests.collect::<Vec<_>>().join("\n---\n"));
    let (mut done, mut most) = (0, 0);
    // as long as some more finish within a minute, all is well
    while done < count {
        done = here.until("more tests to finish", || {
            let pods = here.list("pods");
            let active = |pod: &&Value| ["Pending", "Running"].contains(&text(pod, "/status/phase").as_str());
            most = most.max(pods.iter().filter(active).count());
            let license = here.get("gml/vcs");
            let taken = license.pointer("/status/claims").and_then(Value::as_object).map_or(0, serde_json::Map::len);
            assert!(taken <= 12, "{taken} of 12 seats are taken");
            let finished = here.with_reason("gmj", "Finished", "Completed").len();
            (finished > done).then_some(finished)
        });
    }
    assert!((2..=12).contains(&most), "{most} pods at the same time");
    here.until("all seats to be free", || (here.entries("gml/vcs") == 0).then_some(()));
    let waits = waits_for_seats(&here);
    let (median, longest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    eprintln!("{count} tests on 12 seats in {} s; at most {most} pods at a time", begun.elapsed().as_secs());
    eprintln!("seats back after the end of the pod: {median} s in the middle, {longest} s at most");
    assert_eq!(waits.len(), count, "{waits:?}");
}

/// How many seconds after the end of its pod each job had given back everything, in order. The job is told so last.
fn waits_for_seats(here: &Namespace) -> Vec<i64> {
    let seconds = |text: &str| -> i64 {
        let clock: Vec<i64> = text.get(11..19).unwrap().split(':').map(|part| part.parse().unwrap()).collect();
        clock[0] * 3600 + clock[1] * 60 + clock[2]
    };
    let ends: BTreeMap<String, i64> = here
        .list("pods")
        .iter()
        .map(|pod| {
            let end = text(pod, "/status/containerStatuses/0/state/terminated/finishedAt");
            (text(pod, "/metadata/annotations/gangmatch.dev~1match"), seconds(&end))
        })
        .collect();
    let jobs = here.list("gmj");
    let ended = jobs.iter().filter(|job| !text(job, "/status/finishedAt").is_empty());
    let mut waits: Vec<i64> = ended
        .map(|job| (seconds(&text(job, "/status/finishedAt")) - ends[&first_match(job)]).rem_euclid(86_400))
        .collect();
    waits.sort_unstable();
    waits
}

/// The name of a job's first Match.
fn first_match(job: &Value) -> String {
    crds::match_name(&name(job), &text(job, "/metadata/uid"), 1)
}

#[test]
fn desktops_are_for_their_group_for_friends_when_idle_and_for_others_at_night() {
    const DESKTOPS: [&str; 3] = ["leonardo", "donatello", "raphael"];
    let here = Stage::with_pods().namespace("desktops");
    // What the kernel and the clock of a desktop say, in files.
    let folder = here.access().processes().folder().join(&here.name);
    std::fs::create_dir(&folder).unwrap();
    let says = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
    let typed = |desktop: &str, minutes_ago: i64| {
        let at = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes_ago);
        says(&format!("{desktop}-input"), &at.to_string());
    };
    says("night", "false");
    says("load", "0.05");
    DESKTOPS.iter().for_each(|desktop| typed(desktop, 0));
    let own = format!("serviceaccount:{}:", here.name);
    here.apply(&example(&here, "desktops", "desktops.yaml", &json!({})).replace("serviceaccount:desktops:", &own));
    let file = |name: &str| folder.join(name).display().to_string();
    let agents: Vec<Agent<'_>> = DESKTOPS
        .iter()
        .map(|desktop| {
            let input = format!("--attribute=LastInput=cat {}", file(&format!("{desktop}-input")));
            let night = format!("--attribute=Night=cat {}", file("night"));
            let load = format!("--attribute=LoadAvg=cat {}", file("load"));
            Agent::start(&here, "Machine", desktop, &[&input, &night, &load, "--run=exec sleep 600", OFTEN])
        })
        .collect();
    offered(&here, DESKTOPS.len());
    here.apply(&example(&here, "desktops", "jobs.yaml", &json!({})));
    let seen = |when: &str| {
        let table = here.kubectl(&["get", "gmj"], None);
        eprintln!("{when}:\n{table}");
    };
    here.wait("gmj/research", "Claimed");
    for job in ["friend", "stranger", "rival"] {
        here.wait_reason(&format!("gmj/{job}"), "Matched", "RefusedByOffers");
    }
    seen("at day, somebody at each desktop");
    let taken = text(&here.get("gmj/research"), "/status/members");
    let idle = DESKTOPS.into_iter().find(|desktop| !taken.ends_with(desktop)).unwrap();
    typed(idle, 16);
    here.wait("gmj/friend", "Claimed");
    assert!(text(&here.get("gmj/friend"), "/status/members").ends_with(idle));
    seen(&format!("{idle}'s user has left"));
    assert_eq!(condition(&here.get("gmj/stranger"), "Claimed").0, "");
    says("night", "true");
    here.wait("gmj/stranger", "Claimed");
    seen("at night");
    assert_eq!(condition(&here.get("gmj/rival"), "Claimed").0, "");
    // The work of each runs under its agent.
    let at_work = || DESKTOPS.iter().all(|desktop| activity(&here, desktop) == "Active");
    here.until("all three to be at work", || at_work().then_some(()));
    here.merge("gmj/friend", r#"{"spec": {"done": true}}"#);
    here.until("the idle one to be free", || (here.entries(&format!("gmm/{idle}")) == 0).then_some(()));
    here.wait_reason("gmj/rival", "Matched", "RefusedByOffers");
    drop(agents);
}

/// What the agent of a machine with one claim says goes on under it.
fn activity(here: &Namespace, machine: &str) -> String {
    let claims = here.get(&format!("gmm/{machine}")).pointer("/status/claims").and_then(Value::as_object).cloned();
    claims.unwrap_or_default().values().next().map(|entry| text(entry, "/activity")).unwrap_or_default()
}

#[test]
fn what_was_imported_from_htcondor_is_matched() {
    let here = Stage::with_pods().namespace("condor");
    for file in ["license.yaml", "imported.yaml"] {
        here.apply(&example(&here, "condor", file, &json!({})));
    }
    let first = here.until("one of the jobs to be claimed", || {
        let all = here.list("gmj");
        all.iter().find(|job| condition(job, "Claimed").0 == "True").map(name)
    });
    let job = here.get(&format!("gmj/{first}"));
    assert_eq!(text(&job, "/status/members"), format!("machine={0}/slot1-foo.cs.wisc.edu vcs={0}/vcs", here.name));
    let second = if first == "sim-0" { "sim-1" } else { "sim-0" };
    here.wait_reason(&format!("gmj/{second}"), "Matched", "WaitingForCapacity");
}

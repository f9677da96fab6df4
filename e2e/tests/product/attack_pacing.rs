//! One namespace whose writes are refused, or whose ads are many or large, and what others notice of it: nothing.

use std::time::Instant;

use serde_json::{Value, json};
use testbed::Options;
use testbed::cluster::Choice;

use crate::idle::writes;
use crate::refusal::{lift, refuse, requests};
use crate::stage::{Namespace, Stage, list, machine, name, object, text};

/// One stage for all of them: they are in different namespaces.
fn stage() -> &'static Stage {
    Stage::of_many_tests("attack_pacing", &Choice::Processes, &Options::default(), &[])
}

/// A suspended batch Job that asks for a gang by its label.
fn labelled(name: &str) -> Value {
    let pod = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"gangmatch.dev/ad": "ad"}},
        "spec": {"suspend": true, "template": pod}})
}

/// The Job that labelled workloads name.
fn ad(here: &Namespace) {
    let spec = json!({"suspend": true, "constraint": "other.Type == \"Machine\" && other.Memory > 9999999"});
    here.create(&object("Job", "ad", &spec).to_string());
}

/// Jobs that ask for labelled workloads.
fn asked_for(here: &Namespace) -> usize {
    here.list("gmj").iter().filter(|job| name(job) != "ad").count()
}

/// How long it took until a labelled batch Job was asked for.
fn adopts(here: &Namespace, batch: &str) -> f64 {
    let before = asked_for(here);
    let begun = Instant::now();
    here.create(&labelled(batch).to_string());
    here.until("the Job that asks for it", || (asked_for(here) > before).then_some(()));
    begun.elapsed().as_secs_f64()
}

/// How long it took until a job that needs a machine was claimed.
fn claims(here: &Namespace, job: &str) -> f64 {
    let begun = Instant::now();
    let spec = json!({"constraint": "other.Type == \"Machine\""});
    here.create(&object("Job", job, &spec).to_string());
    here.wait(&format!("gmj/{job}"), "Claimed");
    let seconds = begun.elapsed().as_secs_f64();
    here.merge(&format!("gmj/{job}"), r#"{"spec":{"done":true}}"#);
    seconds
}

/// Refuses what the controller does in a namespace, from when this returns.
fn refuse_controller(here: &Namespace, group: &str, resource: &str, operation: &str) -> String {
    let user = "system:serviceaccount:gangmatch-system:gangmatch";
    // What is asked below stands beside it: a policy takes effect a moment after its creation, and for all its rules at once.
    let rules = [requests(operation, group, resource), requests("CREATE", "", "configmaps")];
    let policy = refuse(here, &rules, &format!("request.userInfo.username != '{user}'"), "not here");
    let as_controller = ["-n", &here.name, &format!("--as={user}"), "--as-group=system:masters"];
    here.until("the policy to take effect", || {
        let create = [&as_controller[..], &["create", "configmap", "probe", "--dry-run=server"]].concat();
        let output = here.access().kubectl(&create, None).unwrap();
        String::from_utf8_lossy(&output.stderr).contains("not here").then_some(())
    });
    policy
}

/// How many writes with this in their path the controller has tried in a namespace.
fn tried(here: &Namespace, part: &str) -> usize {
    let plane = here.stage.cluster.control_plane().unwrap();
    writes(plane, &here.name).iter().filter(|write| write.contains(part)).count()
}

/// Waits until the policy bites: the controller is refused at least once, which is said in the log.
fn is_refused(here: &Namespace) {
    here.until("a refusal", || {
        let log = std::fs::read_to_string(here.stage.controller.log()).unwrap();
        let said = |line: &&str| line.contains("tried again with growing pauses") && line.contains(&here.name);
        log.lines().any(|line| said(&line)).then_some(())
    });
}

fn events(here: &Namespace, about: &str) -> Vec<(String, String, String)> {
    let all = here.list("events.events.k8s.io");
    let about = all.iter().filter(|event| text(event, "/regarding/name") == about);
    about.map(|event| (text(event, "/type"), text(event, "/reason"), text(event, "/note"))).collect()
}

/// What of the controller is in memory, in MiB.
fn resident(here: &Namespace) -> u64 {
    let id = here.stage.controller.id().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() / 1024
}

#[test]
fn b1_refused_jobs_for_labelled_workloads_starve_no_other_namespace() {
    let (b, c) = (stage().namespace("b1-b"), stage().namespace("b1-c"));
    ad(&c);
    ad(&b);
    let policy = refuse_controller(&b, "gangmatch.dev", "jobs", "CREATE");
    let all: Vec<Value> = (0..60).map(|number| labelled(&format!("w{number}"))).collect();
    b.create(&list(&all));
    is_refused(&b);
    let (refused, begun) = (tried(&b, "create"), Instant::now());
    let slowest = (0..4).map(|number| adopts(&c, &format!("w{number}"))).fold(0.0, f64::max);
    assert!(slowest < 5.0, "{slowest} s");
    let more = tried(&b, "/jobs").saturating_sub(refused);
    assert!(more < 20 + usize::try_from(begun.elapsed().as_secs()).unwrap(), "{more} more tries");
    lift(&b, &policy);
    b.until("those of b, too", || (asked_for(&b) >= 60).then_some(()));
}

#[test]
fn b1_a_quota_that_is_used_up_starves_no_other_namespace() {
    let (b, c) = (stage().namespace("b1-quota"), stage().namespace("b1-quota-c"));
    ad(&c);
    ad(&b);
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"count/jobs.gangmatch.dev": "1"}}});
    b.create(&quota.to_string());
    let all: Vec<Value> = (0..60).map(|number| labelled(&format!("w{number}"))).collect();
    b.create(&list(&all));
    let slowest = (0..3).map(|number| adopts(&c, &format!("w{number}"))).fold(0.0, f64::max);
    assert!(slowest < 5.0, "{slowest} s");
    let note = b.until("one of them to be told", || {
        let all = b.list("events.events.k8s.io");
        all.iter().find(|event| text(event, "/reason") == "NotAskedFor").map(|event| text(event, "/note"))
    });
    assert!(note.contains("quota"), "{note}");
}

#[test]
fn b1_labelled_pods_of_a_namespace_that_is_being_deleted_starve_no_other() {
    let (b, c) = (stage().namespace("b1-gone"), stage().namespace("b1-gone-c"));
    ad(&c);
    let pods: Vec<Value> = (0..60)
        .map(|number| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p{number}"), "finalizers": ["x.io/stay"],
                "labels": {"gangmatch.dev/ad": "ad"}}, "spec": {"schedulingGates": [{"name": "gangmatch.dev/hold"}],
                "containers": [{"name": "c", "image": "c:1"}]}})
        })
        .collect();
    ad(&b);
    b.merge("gmj/ad", r#"{"metadata":{"finalizers":["x.io/stay"]}}"#);
    let policy = refuse_controller(&b, "gangmatch.dev", "jobs", "CREATE");
    b.create(&list(&pods));
    is_refused(&b);
    b.access().kubectl_text(&["delete", "namespace", &b.name, "--wait=false"], None).unwrap();
    let slowest = (0..3).map(|number| adopts(&c, &format!("w{number}"))).fold(0.0, f64::max);
    assert!(slowest < 5.0, "{slowest} s");
    lift(&b, &policy);
    for pod in 0..60 {
        b.merge(&format!("pod/p{pod}"), r#"{"metadata":{"finalizers":null}}"#);
    }
    b.merge("gmj/ad", r#"{"metadata":{"finalizers":null}}"#);
}

#[test]
fn b14_hundreds_of_jobs_of_one_tenant_delay_no_other() {
    let (b, c) = (stage().namespace("b14-b"), stage().namespace("b14-c"));
    c.apply(&machine("m"));
    let alone = claims(&c, "before");
    let waits = |number: usize| {
        object(
            "Job",
            &format!("j{number}"),
            &json!({"constraint": format!("other.Type == \"Machine\" && other.Seat == {number}")}),
        )
    };
    let all: Vec<Value> = (0..200).map(waits).collect();
    b.create(&list(&all));
    let beside = claims(&c, "beside");
    let begun = Instant::now();
    let spec = json!({"constraint": "other.Type == \"Machine\" && other.Memory > 9999999"});
    c.create(&object("Job", "waits", &spec).to_string());
    c.wait_reason("gmj/waits", "Matched", "NoCandidates");
    let told = begun.elapsed().as_secs_f64();
    assert!(beside < alone + 5.0 && told < 10.0, "claimed in {alone} s alone, {beside} s beside; told in {told} s");
    b.until("all of b to be told", || (b.with_reason("gmj", "Matched", "NoCandidates").len() == 200).then_some(()));
    b.kubectl(&["delete", "gmj", "--all", "--wait=false"], None);
}

#[test]
fn b14_statuses_that_are_refused_in_one_namespace_are_written_in_others() {
    let (b, c) = (stage().namespace("b14-status-b"), stage().namespace("b14-status-c"));
    let policy = refuse_controller(&b, "gangmatch.dev", "jobs/status", "UPDATE");
    let spec = json!({"constraint": "other.Memory > 9999999"});
    let all: Vec<Value> = (0..60).map(|number| object("Job", &format!("j{number}"), &spec)).collect();
    b.create(&list(&all));
    c.apply(&machine("m"));
    let slowest = (0..3).map(|number| claims(&c, &format!("j{number}"))).fold(0.0, f64::max);
    assert!(slowest < 10.0, "{slowest} s");
    c.create(&object("Job", "waits", &spec).to_string());
    c.wait_reason("gmj/waits", "Matched", "NoCandidates");
    lift(&b, &policy);
    b.wait_reason("gmj/j59", "Matched", "NoCandidates");
}

#[test]
fn b14_events_that_are_refused_in_one_namespace_come_in_others() {
    let (b, c) = (stage().namespace("b14-events-b"), stage().namespace("b14-events-c"));
    refuse_controller(&b, "events.k8s.io", "events", "CREATE");
    let all: Vec<Value> =
        (0..60).map(|number| object("Job", &format!("j{number}"), &json!({"constraint": "a and b"}))).collect();
    b.create(&list(&all));
    b.wait_reason("gmj/j59", "Accepted", "ParseError");
    c.create(&object("Job", "j", &json!({"constraint": "a and b"})).to_string());
    c.until("an Event", || (!events(&c, "j").is_empty()).then_some(()));
    assert!(tried(&b, "/events") < 60, "{} Events tried", tried(&b, "/events"));
}

#[test]
fn b14_offers_of_one_namespace_that_flap_delay_no_other() {
    let (b, c) = (stage().namespace("b14-flap-b"), stage().namespace("b14-flap-c"));
    c.apply(&machine("m"));
    let offers: String = (0..80).map(|number| machine(&format!("m{number}"))).collect();
    b.apply(&offers);
    let mut slowest = 0.0_f64;
    for round in 0..4 {
        b.kubectl(&["label", "gmm", "--all", "--overwrite", &format!("round={round}")], None);
        slowest = slowest.max(claims(&c, &format!("j{round}")));
    }
    assert!(slowest < 10.0, "{slowest} s");
    b.kubectl(&["delete", "gmm", "--all", "--wait=false"], None);
}

#[test]
fn b15_matches_that_are_refused_in_one_namespace_delay_no_other() {
    let (b, c) = (stage().namespace("b15-b"), stage().namespace("b15-c"));
    refuse_controller(&b, "gangmatch.dev", "matches", "CREATE");
    b.apply(&(0..20).map(|number| machine(&format!("m{number}"))).collect::<String>());
    c.apply(&machine("m"));
    let spec = json!({"constraint": "other.Type == \"Machine\""});
    let all: Vec<Value> = (0..80).map(|number| object("Job", &format!("j{number}"), &spec)).collect();
    b.create(&list(&all));
    b.until("one of them to pause", || (!b.with_reason("gmj", "Matched", "BackingOff").is_empty()).then_some(()));
    let slowest = (0..3).map(|number| claims(&c, &format!("j{number}"))).fold(0.0, f64::max);
    assert!(slowest < 10.0, "{slowest} s");
    b.kubectl(&["delete", "gmj", "--all", "--wait=false"], None);
}

/// A job of a quarter of a megabyte.
fn large(number: usize) -> Value {
    let spec = json!({"constraint": "other.Memory > 9999999", "attributes": {"A": "x".repeat(250_000), "N": number}});
    object("Job", &format!("large{number}"), &spec)
}

#[test]
fn b13_large_ads_of_one_namespace_have_a_budget_and_others_are_served() {
    let (b, c) = (stage().namespace("b13-b"), stage().namespace("b13-c"));
    c.apply(&machine("m"));
    let before = resident(&c);
    for some in (0..80).collect::<Vec<usize>>().chunks(10) {
        b.create(&list(&some.iter().map(|number| large(*number)).collect::<Vec<_>>()));
    }
    let over = b.until("all of them to be told", || {
        let [over, fine] =
            ["NamespaceOverBudget", "Accepted"].map(|reason| b.with_reason("gmj", "Accepted", reason).len());
        (over + fine == 80).then_some(over)
    });
    assert!((20..70).contains(&over), "{over} of 80 have no place");
    let slowest = (0..3).map(|number| claims(&c, &format!("j{number}"))).fold(0.0, f64::max);
    let after = resident(&c);
    eprintln!("80 jobs of 250 kB: {over} not accepted; {before} MiB before, {after} MiB after; others {slowest} s");
    assert!(slowest < 10.0 && after < before + 150, "{slowest} s; {before} MiB, {after} MiB");
    let told = b.with_reason("gmj", "Accepted", "NamespaceOverBudget");
    let message = b.shows(&format!("gmj/{}", told[0]), "Accepted", "NamespaceOverBudget");
    assert!(message.contains("KiB") && message.contains("delete some"), "{message}");
    let fine = b.with_reason("gmj", "Accepted", "Accepted");
    let some: Vec<&str> = fine.iter().take(10).map(String::as_str).collect();
    b.kubectl(&[&["delete", "gmj"], &some[..]].concat(), None);
    b.until("others to take their places", || {
        (b.with_reason("gmj", "Accepted", "NamespaceOverBudget").len() + 10 <= over).then_some(())
    });
    let fine = b.with_reason("gmj", "Accepted", "Accepted");
    let placed = fine.iter().find(|name| told.contains(name)).unwrap();
    b.shows(&format!("gmj/{placed}"), "Accepted", "Accepted");
    b.kubectl(&["delete", "gmj", "--all", "--wait=false"], None);
}

#[test]
fn b13_an_ad_that_is_too_large_is_told_so_whatever_makes_it_large() {
    let here = stage().namespace("b13-shapes");
    let list = json!({"constraint": "true == true", "attributes": {"A": vec![1; 40_000]}});
    let text = json!({"classad": format!("[ A = {{ {} 1 }} ]", "1,".repeat(40_000))});
    let pod = json!({"metadata": {"annotations": {"a": "x".repeat(300_000)}}, "spec": {}});
    let template = json!({"constraint": "true == true", "workload": {"jobTemplate": pod}});
    for (name, kind, spec) in
        [("list", "Job", &list), ("text", "Job", &text), ("template", "Job", &template), ("offer", "Machine", &list)]
    {
        here.create(&object(kind, name, spec).to_string());
        let what = if kind == "Job" { format!("gmj/{name}") } else { format!("gmm/{name}") };
        let message = here.wait_reason(&what, "Accepted", "AdTooLarge");
        assert!(message.contains("write at most"), "{message}");
        let told = here.until("an Event", || events(&here, name).into_iter().find(|event| event.1 == "AdTooLarge"));
        assert_eq!((told.0.as_str(), told.2), ("Warning", message));
    }
    here.merge("gmj/list", r#"{"spec":{"attributes":{"A":null}}}"#);
    here.wait("gmj/list", "Accepted");
}

#[test]
fn m6_what_is_wrong_waits_or_ended_is_told_by_an_event_with_words() {
    let here = stage().namespace("m6");
    let of = |name: &str, spec: &Value| {
        here.create(&object("Job", name, spec).to_string());
    };
    of("wrong", &json!({"constraint": "a and b"}));
    of("waits", &json!({"constraint": "other.Memory > 9999999"}));
    of("gives-up", &json!({"constraint": "other.Memory > 9999999", "matchTimeoutSeconds": 2}));
    for (name, type_, reason, words) in [
        ("wrong", "Warning", "ParseError", "spec.constraint: line 1"),
        ("waits", "Normal", "NoCandidates", "port"),
        ("gives-up", "Warning", "MatchTimedOut", "spec.matchTimeoutSeconds (2 s)"),
    ] {
        let found = here.until("its Event", || events(&here, name).into_iter().find(|event| event.1 == reason));
        assert!(found.0 == type_ && found.2.contains(words), "{name}: {found:?}");
    }
    assert!(events(&here, "waits").iter().all(|event| !event.2.is_empty()));
}

#[test]
fn m7_a_job_that_says_nothing_or_only_a_number_claims_nothing() {
    let here = stage().namespace("m7");
    here.apply(&machine("m"));
    for (name, spec) in [("nothing", json!({})), ("number", json!({"constraint": 5}))] {
        here.create(&object("Job", name, &spec).to_string());
        let message = here.wait_reason(&format!("gmj/{name}"), "Accepted", "InvalidPort");
        assert!(message.starts_with("spec") && message.contains("write"), "{message}");
    }
    // each had its turn before this one
    claims(&here, "other");
    assert!(
        here.list("gmatch")
            .iter()
            .all(|found| !["nothing", "number"].contains(&text(found, "/spec/members/0/name").as_str()))
    );
}

#[test]
fn m11_a_class_that_cannot_work_is_not_accepted_though_it_has_no_nodes() {
    let here = stage().namespace("m11");
    for (more, reason, words) in [
        (json!({"capacity": {"cpus": "Cpu", "memory": "Memroy - 4"}}), "InvalidCapacity", "did you mean `Cpus`?"),
        (json!({"constraint": "other.Memory > 3 and true"}), "ParseError", "spec.constraint: line 1"),
    ] {
        let mut spec = json!({"namespace": here.name, "selector": {"matchLabels": {"test": here.name}}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        here.access().apply(&object("MachineClass", &here.name, &spec).to_string()).unwrap();
        let message = here.wait_reason(&format!("machineclass/{}", here.name), "Accepted", reason);
        assert!(message.contains(words), "{message}");
        here.access().kubectl_text(&["delete", "machineclass", &here.name], None).unwrap();
    }
}

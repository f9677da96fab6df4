//! Turns attempts of tenants with ordinary rights into refusals: nothing of another tenant's is taken, read, or made to stop.

use serde_json::{Value, json};
use testbed::product::create_fake_node;

use crate::idle::writes;
use crate::stage::{Namespace, Stage, condition, list, machine, name, object, text};
use crate::tenants::{Tenant, Tenants};

fn tenants(test: &str) -> Tenants {
    Stage::attacked().tenants(test)
}

/// A machine of alice's for jobs of all namespaces of which this is true.
fn offered(name: &str, memory: u32, constraint: &str) -> Value {
    let spec =
        json!({"attributes": {"Memory": memory}, "allowedNamespaces": {"from": "All"}, "constraint": constraint});
    object("Machine", name, &spec)
}

/// Carol has a machine of her own, and asks for it after all that an attacker has done.
fn carol_is_served(all: &Tenants) {
    all.carol.apply(
        &(machine("hers") + &object("Job", "hers", &json!({"constraint": "other.Type == \"Machine\""})).to_string()),
    );
    all.c.wait("gmj/hers", "Claimed");
}

/// The reason and message of a job that was looked at and is not matched.
fn unmatched(here: &Namespace, job: &str) -> (String, String) {
    here.until(&format!("{job} to be told why it is not matched"), || {
        let job = here.get(job);
        let (status, reason, message) = condition(&job, "Matched");
        let told = status == "False" && !["", "PendingEvaluation", "WaitingForTurn"].contains(&reason.as_str());
        told.then_some((reason, message))
    })
}

/// Every way to write an Owner or a Namespace into an ad.
fn forgeries(victim: &str) -> Vec<(&'static str, Value)> {
    let asks = "other.Type == \"Machine\"";
    vec![
        ("in-spec", json!({"owner": "alice", "constraint": asks})),
        ("attributes", json!({"attributes": {"Owner": "alice", "Namespace": victim}, "constraint": asks})),
        ("other-case", json!({"attributes": {"oWNER": "alice", "NAMESPACE": victim}, "constraint": asks})),
        (
            "expressions",
            json!({"expressions": {"Owner": "\"alice\"", "Namespace": "strcat(\"\", \"a\")"}, "constraint": asks}),
        ),
        (
            "classad",
            json!({"classad": format!("[Owner = \"alice\"; Namespace = \"{victim}\"; Requirements = {asks}]")}),
        ),
        (
            "quoted",
            json!({"classad": format!("['Owner' = \"alice\"; 'Namespace' = \"{victim}\"; Requirements = {asks}]")}),
        ),
        (
            "long-form",
            json!({"classad": format!("Owner = \"alice\"\nNamespace = \"{victim}\"\nRequirements = {asks}\n")}),
        ),
        (
            "port",
            json!({"ports": [{"label": "cpu", "attributes": {"Owner": "alice", "Namespace": victim},
            "constraint": "cpu.Type == \"Machine\""}]}),
        ),
        ("label", json!({"ports": [{"label": "Owner", "constraint": "Owner.Type == \"Machine\""}]})),
        ("nested", json!({"attributes": {"Labels": {"Owner": "alice"}, "my": "x"}, "constraint": asks})),
        ("cyrillic", json!({"attributes": {"\u{41e}wner": "alice"}, "constraint": asks})),
        ("two-spellings", json!({"attributes": {"Owner": "alice", "owner": "alice"}, "constraint": asks})),
    ]
}

#[test]
fn a1_an_owner_cannot_be_forged() {
    let all = tenants("a1");
    let machines = [
        offered("hers", 1, "other.Owner == \"alice\""),
        offered("local", 2, &format!("other.Namespace == \"{}\"", all.a.name)),
    ];
    all.alice.apply(&list(&machines));
    for machine in ["gmm/hers", "gmm/local"] {
        all.a.wait(machine, "Ready");
    }
    let forged = forgeries(&all.a.name);
    let jobs = forged.iter().map(|(name, spec)| {
        let mut job = object("Job", name, spec);
        job["metadata"]["labels"] = json!({"Owner": "alice"});
        job
    });
    all.bob.create(&list(&jobs.collect::<Vec<_>>())).unwrap();
    for (name, _) in &forged {
        let job = format!("gmj/{name}");
        let (reason, message) = unmatched(&all.b, &job);
        let refused = ["RefusedByOffers", "NotAccepted", "NoCandidates"].contains(&reason.as_str());
        assert!(refused, "{name}: {reason}: {message}");
        assert_eq!(text(&all.b.get(&job), "/spec/owner"), "bob", "{name}");
    }
    for name in ["in-spec", "attributes", "other-case", "classad", "quoted", "long-form", "port"] {
        assert_eq!(unmatched(&all.b, &format!("gmj/{name}")).0, "RefusedByOffers", "{name}");
    }
    assert_eq!(unmatched(&all.b, "gmj/two-spellings").0, "NotAccepted");
    // Nor afterwards: what is written later is refused, or stays without effect.
    all.bob.patch("gmj/in-spec", r#"{"spec": {"owner": "alice"}}"#, &[]).ok();
    let ssa =
        object("Job", "in-spec", &json!({"owner": "alice", "constraint": "other.Type == \"Machine\""})).to_string();
    all.bob.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], Some(&ssa)).ok();
    let remove = r#"[{"op": "remove", "path": "/spec/owner"}]"#;
    all.bob.kubectl(&["patch", "gmj/in-spec", "--type=json", "-p", remove], None).ok();
    assert_eq!(text(&all.b.get("gmj/in-spec"), "/spec/owner"), "bob");
    assert!(all.b.list("gmatch").is_empty());
    // The same constraints let alice in.
    all.alice.apply(&object("Job", "own", &json!({"constraint": "other.Memory == 1"})).to_string());
    all.a.wait("gmj/own", "Claimed");
}

#[test]
fn a2_an_offer_without_consent_is_neither_taken_nor_seen() {
    let all = tenants("a2");
    let closed = object("Machine", "closed", &json!({"attributes": {"Memory": 12345}}));
    let for_bob = format!("other.Namespace == \"{}\"", all.b.name);
    all.alice.apply(&list(&[closed, offered("open", 77, &for_bob), offered("spare", 78, &for_bob)]));
    for machine in ["gmm/closed", "gmm/open"] {
        all.a.wait(machine, "Ready");
    }
    // One asks for what there is, the other for what there is not: they are told the same.
    let asks = |memory: u32| {
        let gang = json!([{"label": "x", "constraint": "x.Memory == 77"}, {"label": "y", "constraint": format!("y.Memory == {memory}")}]);
        let named = if memory == 12345 { "closed" } else { "nosuch" };
        [
            object("Job", &format!("value-{named}"), &json!({"constraint": format!("other.Memory == {memory}")})),
            object("Job", &format!("gang-{named}"), &json!({"ports": gang})),
            object("Job", &format!("name-{named}"), &json!({"constraint": format!("other.Name == \"{named}\"")})),
        ]
    };
    all.bob.apply(&list(&[asks(12345), asks(54321)].concat()));
    for how in ["value", "gang", "name"] {
        let told = |named: &str| {
            let job = format!("gmj/{how}-{named}");
            let (reason, message) = unmatched(&all.b, &job);
            let mut unmatched = all.b.get(&job).pointer("/status/unmatched").cloned().unwrap_or_default();
            unmatched["at"] = Value::Null;
            format!("{reason} {message} {unmatched}").replace("54321", "12345").replace("nosuch", "closed")
        };
        all.b.until(&format!("both to be told the same: {how}"), || (told("closed") == told("nosuch")).then_some(()));
        assert!(told("closed").starts_with("NoCandidates"), "{}", told("closed"));
    }
    assert_eq!(all.a.entries("gmm/closed"), 0);
    assert!(all.b.list("gmatch").is_empty());
}

/// What no tenant may write, and the words of the refusal.
fn is_forbidden<T>(who: &Tenant, what: &str, answer: Result<T, String>) {
    match answer {
        Ok(_) => panic!("{} was not refused {what}", who.name),
        Err(refusal) => assert!(refusal.contains("orbidden"), "{}: {what}: {refusal}", who.name),
    }
}

#[test]
fn a3_what_the_controller_writes_is_written_by_no_tenant() {
    let all = tenants("a3");
    carol_is_served(&all);
    all.bob.apply(&object("Job", "own", &json!({})).to_string());
    let found = all.c.list("gmatch").remove(0);
    let its_name = name(&found);
    let forged = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": {"name": "forged"}, "spec": found["spec"]});
    let the_match = format!("gmatch/{its_name}");
    for who in [&all.bob, &all.carol] {
        is_forbidden(who, "a Match", who.create(&forged.to_string()));
        let class = object("MachineClass", "all", &json!({"selector": {}, "namespace": all.b.name}));
        is_forbidden(who, "a MachineClass", who.create(&class.to_string()));
        let node = object("Machine", "node", &json!({"nodeName": "any"})).to_string();
        is_forbidden(who, "a node", who.create(&node));
    }
    let decided = r#"{"status": {"decision": "Released"}}"#;
    let freed = r#"{"status": {"claims": null, "used": "0/1 slots"}}"#;
    let finalizer = r#"{"metadata": {"finalizers": ["bob.io/never"]}}"#;
    let status = ["--subresource=status"];
    let writes: [(&str, &str, &[&str]); 6] = [
        (&the_match, r#"{"metadata": {"labels": {"x": "y"}}}"#, &[]),
        (&the_match, finalizer, &[]),
        (&the_match, decided, &status),
        ("gmj/hers", r#"{"status": {"phase": "Running"}}"#, &status),
        ("gmm/hers", freed, &status),
        ("gmm/hers", r#"{"status": {"conditions": []}}"#, &status),
    ];
    for (what, patch, flags) in writes {
        is_forbidden(&all.carol, what, all.carol.patch(what, patch, flags));
    }
    is_forbidden(&all.bob, "a status", all.bob.patch("gmj/own", r#"{"status": {"phase": "Running"}}"#, &status));
    // A status in a new object is dropped; the owner is who creates it.
    let mut claimed = object("Job", "claimed", &json!({"owner": "alice", "suspend": true}));
    claimed["status"] = json!({"phase": "Running", "claim": {"match": "m", "uid": "u"}});
    all.bob.create(&claimed.to_string()).unwrap();
    let stored = all.b.get("gmj/claimed");
    assert_eq!((text(&stored, "/spec/owner").as_str(), stored.pointer("/status/claim")), ("bob", None));
    assert_eq!(all.c.entries("gmm/hers"), 1);
}

fn pod(annotations: &Value, more: &Value) -> Value {
    let mut spec = json!({"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{"name": "sim", "image": "sim:1"}]});
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
        spec.extend(more.clone());
    }
    json!({"metadata": {"annotations": annotations}, "spec": spec})
}

fn never() -> Value {
    json!({testbed::control_plane::stages::ENDS: "never"})
}

/// A machine of this namespace that is a node.
fn node(here: &Namespace) -> String {
    let node = format!("n-{}", here.name);
    create_fake_node(here.access(), &node).unwrap();
    here.apply(&object("Machine", "node", &json!({"nodeName": node})).to_string());
    here.wait("gmm/node", "Ready");
    node
}

fn works(name: &str, template: &Value) -> String {
    let spec = json!({"constraint": "other.Type == \"Machine\"", "workload": {"jobTemplate": template}});
    object("Job", name, &spec).to_string()
}

fn is_free(here: &Namespace, offer: &str) {
    here.until(&format!("{offer} to be free"), || (here.entries(offer) == 0).then_some(()));
}

#[test]
fn a10_a_template_neither_picks_a_node_nor_another_controller() {
    let all = tenants("a10");
    node(&all.b);
    let picks = json!({"spec": {"template": pod(&json!({}), &json!({"nodeName": "any"}))}});
    let managed = json!({"spec": {"managedBy": "bob.io/none", "template": pod(&json!({}), &json!({}))}});
    for (name, template) in [("picks", picks), ("managed", managed)] {
        all.bob.apply(&works(name, &template));
        all.b.wait_reason(&format!("gmj/{name}"), "Accepted", "WorkloadInvalid");
    }
    assert!(all.b.list("gmatch").is_empty());
    assert!(all.b.list("jobs.batch").is_empty());
}

/// Adds a finalizer to everything that works for a claim, or takes it away.
fn finalize(who: &Tenant, here: &Namespace, finalizers: &Value) {
    let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
    for kind in ["jobs.batch", "pods"] {
        for found in here.list(kind) {
            who.patch(&format!("{kind}/{}", name(&found)), &patch, &[]).unwrap();
        }
    }
}

#[test]
fn a11_finalizers_on_a_workload_hold_no_seat() {
    let all = tenants("a11");
    node(&all.b);
    all.bob.apply(&works("held", &json!({"spec": {"backoffLimit": 0, "template": pod(&never(), &json!({}))}})));
    all.b.wait("gmj/held", "jsonpath={.status.phase}=Running");
    finalize(&all.bob, &all.b, &json!(["bob.io/never"]));
    all.b.merge("gmm/node", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    // kwok deletes a pod and does nothing else; a kubelet says before that its containers have ended.
    let pod = all.b.until("the pod to be told to end", || {
        let ending = |pod: &Value| pod.pointer("/metadata/deletionTimestamp").is_some();
        all.b.list("pods").iter().find(|pod| ending(pod)).map(name)
    });
    let failed = r#"{"status": {"phase": "Failed"}}"#;
    all.b.kubectl(&["patch", "pod", &pod, "--subresource=status", "--type=merge", "-p", failed], None);
    is_free(&all.b, "gmm/node");
    // Cleared away, so that the namespace can be deleted.
    all.b.delete("gmj/held");
    finalize(&all.bob, &all.b, &Value::Null);
}

#[test]
fn a14_a_finalizer_on_a_deleted_job_holds_no_seat() {
    let all = tenants("a14");
    all.b.apply(&machine("m"));
    let mut job = object("Job", "held", &json!({"constraint": "other.Type == \"Machine\""}));
    job["metadata"]["finalizers"] = json!(["bob.io/never"]);
    all.bob.apply(&job.to_string());
    all.b.wait("gmj/held", "Claimed");
    all.bob.kubectl(&["delete", "gmj/held", "--wait=false"], None).unwrap();
    is_free(&all.b, "gmm/m");
    let held = all.b.get("gmj/held");
    assert!(!text(&held, "/metadata/deletionTimestamp").is_empty());
    // What is being deleted asks for nothing more: the next one has the machine.
    all.bob.apply(&object("Job", "next", &json!({"constraint": "other.Type == \"Machine\""})).to_string());
    all.b.wait("gmj/next", "Claimed");
    all.b.merge("gmj/held", r#"{"metadata": {"finalizers": null}}"#);
}

#[test]
fn a15_a_pod_of_another_namespace_keeps_no_claim() {
    let all = tenants("a15");
    node(&all.a);
    all.alice.apply(&works("hers", &json!({"spec": {"backoffLimit": 0, "template": pod(&never(), &json!({}))}})));
    all.a.wait("gmj/hers", "jsonpath={.status.phase}=Running");
    let found = all.a.list("gmatch").remove(0);
    let mut mimic = pod(&never(), &json!({}));
    mimic["apiVersion"] = json!("v1");
    mimic["kind"] = json!("Pod");
    mimic["metadata"]["name"] = json!("mimic");
    mimic["metadata"]["labels"] =
        json!({"gangmatch.dev/match-uid": text(&found, "/metadata/uid"), "gangmatch.dev/match": name(&found)});
    // Refused or not: it must not matter.
    let there = all.bob.create(&mimic.to_string());
    all.alice.kubectl(&["delete", "gmj/hers"], None).unwrap();
    is_free(&all.a, "gmm/node");
    if there.is_ok() {
        assert_eq!(text(&all.b.get("pod/mimic"), "/metadata/deletionTimestamp"), "", "it was not asked to end either");
    }
}

/// Lists that each name the one before several times.
fn doubling(levels: usize, first: &str, next: impl Fn(&str) -> String) -> Value {
    let mut all = serde_json::Map::new();
    all.insert("s0".to_owned(), json!(first));
    for level in 1..levels {
        all.insert(format!("s{level}"), json!(next(&format!("s{}", level - 1))));
    }
    Value::Object(all)
}

#[test]
fn b9_exponential_references_stop_nobody_else() {
    let all = tenants("b9");
    all.b.apply(&machine("m"));
    let sums = doubling(60, "1", |before| format!("{before} + {before}"));
    let spec = json!({"expressions": sums, "constraint": "s59 > other.Memory * 1E30"});
    let jobs: Vec<Value> = (0..30).map(|number| object("Job", &format!("j{number}"), &spec)).collect();
    all.bob.create(&list(&jobs)).unwrap();
    carol_is_served(&all);
    assert!(all.b.list("gmatch").is_empty());
    all.b.kubectl(&["delete", "gmj", "--all"], None);
}

#[test]
fn b10_deep_nesting_is_refused_with_its_place() {
    let all = tenants("b10");
    let deep = [
        ("brackets", format!("{}1{} == 1", "(".repeat(2000), ")".repeat(2000))),
        ("lists", format!("size({}{}) == 1", "{".repeat(2000), "}".repeat(2000))),
        ("nots", format!("{}true", "!".repeat(8000))),
    ];
    let jobs: Vec<Value> = deep.iter().map(|(name, text)| object("Job", name, &json!({"constraint": text}))).collect();
    all.bob.create(&list(&jobs)).unwrap();
    for (name, _) in &deep {
        let message = all.b.wait_reason(&format!("gmj/{name}"), "Accepted", "ParseError");
        assert!(message.contains("spec.constraint") && message.contains("line 1, column"), "{name}: {message}");
        assert!(message.len() < 2000, "{name}: {} bytes", message.len());
    }
    carol_is_served(&all);
}

#[test]
fn b11_regular_expressions_take_linear_time() {
    let all = tenants("b11");
    all.b.apply(&machine("m"));
    let long = "x".repeat(8000);
    let patterns = [r"(x+x+)+y", r"((x{50}){50}){20}", r".*.*.*.*.*y", r"(x|xx)*y", r"^(([a-z])+.)+[A-Z]([a-z])+$"];
    let jobs = patterns.iter().enumerate().flat_map(|(kind, pattern)| {
        let spec = json!({"attributes": {"Long": long}, "constraint": format!("regexp(\"{pattern}\", strcat(Long, string(other.Memory)))")});
        (0..6).map(move |number| object("Job", &format!("r{kind}-{number}"), &spec)).collect::<Vec<_>>()
    });
    all.bob.create(&list(&jobs.collect::<Vec<_>>())).unwrap();
    carol_is_served(&all);
    all.b.kubectl(&["delete", "gmj", "--all"], None);
}

#[test]
fn b12_chance_and_time_cause_no_endless_writes() {
    let stage = Stage::attacked();
    let Some(plane) = stage.cluster.control_plane() else {
        eprintln!("SKIPPED: writes are counted in the audit log of a control plane of our own");
        return;
    };
    let all = tenants("b12");
    all.b.apply(&machine("m"));
    let constraints = [
        "random() > 2 && other.Type == \"Machine\"",
        "random(1000) > 2000 || other.Memory == random()",
        "time() < 5 && other.Memory > 1",
    ];
    let jobs = constraints.iter().enumerate().flat_map(|(kind, constraint)| {
        let spec = json!({"expressions": {"Chance": "random()", "Now": "time()"}, "constraint": constraint, "rank": "random() * time()"});
        (0..10).map(move |number| object("Job", &format!("j{kind}-{number}"), &spec)).collect::<Vec<_>>()
    });
    all.bob.create(&list(&jobs.collect::<Vec<_>>())).unwrap();
    carol_is_served(&all);
    for kind in 0..3 {
        unmatched(&all.b, &format!("gmj/j{kind}-9"));
    }
    // Whatever each cycle draws: in five seconds fewer writes than there are jobs.
    let mut window = (std::time::Instant::now(), writes(plane, &all.b.name).len());
    all.b.until("the writes to cease", || {
        let now = writes(plane, &all.b.name).len();
        if now > window.1 {
            window = (std::time::Instant::now(), now);
        }
        (window.0.elapsed() > std::time::Duration::from_secs(5)).then_some(())
    });
    all.b.kubectl(&["delete", "gmj", "--all"], None);
}

#[test]
fn b15_a_quota_of_matches_makes_its_own_namespace_wait() {
    let all = tenants("b15");
    all.b.apply(&(machine("m") + "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {count/matches.gangmatch.dev: 0}}}"));
    // From then on the API server refuses: either nothing may be there, or it is not known yet what is.
    all.b.wait("resourcequota/none", "jsonpath={.status.hard.count/matches\\.gangmatch\\.dev}=0");
    let jobs: Vec<Value> = (0..20)
        .map(|number| object("Job", &format!("j{number}"), &json!({"constraint": "other.Type == \"Machine\""})))
        .collect();
    all.bob.create(&list(&jobs)).unwrap();
    carol_is_served(&all);
    all.b.delete("resourcequota/none");
    all.b.until("one of the jobs to be claimed", || (all.b.entries("gmm/m") == 1).then_some(()));
}

//! Turns what is left of an attacker's ideas into checks: agents, shared seats, odd texts, clocks, and kinds that are deleted.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testbed::product;
use testbed::repository;

use crate::stage::{Namespace, Stage, condition, job, license, list, machine, object, text};
use crate::tenants::Tenants;

/// The only entry of an offer.
fn entry(here: &Namespace, offer: &str) -> (String, Value) {
    here.until("an entry", || {
        let claims = here.get(offer).pointer("/status/claims").and_then(Value::as_object).cloned()?;
        claims.into_iter().next()
    })
}

#[test]
fn c1_a_vote_is_cast_by_the_named_agent_alone() {
    let all = Stage::attacked().tenants("votes");
    // The owner of the offer is no agent, nor is an editor of its namespace who writes the agent's Lease.
    let spec = json!({"claimPolicy": "Agent", "agent": {"username": "system:serviceaccount:nowhere:agent", "leaseDurationSeconds": 20}});
    all.carol.apply(&object("Machine", "asks", &spec).to_string());
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "gangmatch-machine-asks"},
        "spec": {"holderIdentity": "carol", "leaseDurationSeconds": 20, "renewTime": "2026-01-01T00:00:00.000000Z"}});
    all.carol.apply(&lease.to_string());
    let asks = json!({"constraint": "other.Type == \"Machine\"", "reserveTimeoutSeconds": 60});
    all.carol.apply(&object("Job", "waits", &asks).to_string());
    let (uid, _) = entry(&all.c, "gmm/asks");
    let vote = json!({"status": {"claims": {uid.as_str(): {"vote": "Accepted", "ballot": "forged"}}}}).to_string();
    for who in [&all.carol, &all.bob, &all.alice] {
        let refusal = who.refusal(
            &["-n", &all.c.name, "patch", "gmm/asks", "--subresource=status", "--type=merge", "-p", &vote],
            None,
        );
        assert!(refusal.contains("orbidden"), "{}: {refusal}", who.name);
    }
    assert_eq!(text(&entry(&all.c, "gmm/asks").1, "/vote"), "Pending");
    // Who has every right in one namespace has none in another.
    let forbidden = all
        .star
        .refusal(&["-n", &all.c.name, "patch", "gmm/asks", "--subresource=status", "--type=merge", "-p", &vote], None);
    assert!(forbidden.contains("orbidden"), "{forbidden}");
    assert_eq!(all.d.list("gmatch").len(), 0);
}

/// A license of alice's with one seat for all claims of which the expression has the same value.
fn shared(name: &str, by: &str, all: &Tenants) -> Value {
    let namespaces = format!("other.Namespace == \"{}\" || other.Namespace == \"{}\"", all.b.name, all.c.name);
    let spec = json!({"attributes": {"App": name}, "allowedNamespaces": {"from": "All"}, "capacity": {"seats": 1},
        "constraint": namespaces, "sharedBy": by});
    object("License", name, &spec)
}

/// Jobs that ask for a license and tell it all kinds of things.
fn sharers(victim: &str, of: &str, app: &str) -> Vec<Value> {
    let asks = format!("l.App == \"{app}\"");
    let lies = [
        json!({"Owner": "carol", "Namespace": victim, "Name": "hers", "Uid": of}),
        json!({"owner": "carol", "NAMESPACE": victim, "uid": of}),
        json!({"Members": [{"Name": "hers", "Owner": "carol", "NodeName": "n1", "Namespace": victim}]}),
    ];
    let mut jobs = Vec::new();
    for (number, lie) in lies.iter().enumerate() {
        let port = |attributes: &Value| json!([{"label": "l", "constraint": asks, "attributes": attributes}]);
        jobs.push(object("Job", &format!("ad-{app}-{number}"), &json!({"attributes": lie, "ports": port(&json!({}))})));
        jobs.push(object("Job", &format!("port-{app}-{number}"), &json!({"ports": port(lie)})));
    }
    jobs
}

#[test]
fn c2_a_job_that_lies_sits_on_nobodys_seat() {
    let all = Stage::attacked().tenants("seats");
    let by =
        [("owner", "requester.Owner"), ("namespace", "requester.Namespace"), ("node", "requester.Members[1].NodeName")];
    let licenses: Vec<Value> = by.iter().map(|(name, by)| shared(name, by, &all)).collect();
    all.alice.apply(&list(&licenses));
    for (name, _) in &by[..2] {
        all.a.wait(&format!("gml/{name}"), "Ready");
        let asks = json!({"ports": [{"label": "l", "constraint": format!("l.App == \"{name}\"")}]});
        all.carol.apply(&object("Job", &format!("hers-{name}"), &asks).to_string());
        all.c.wait(&format!("gmj/hers-{name}"), "Claimed");
        let uid = text(&all.c.get(&format!("gmj/hers-{name}")), "/metadata/uid");
        all.bob.apply(&list(&sharers(&all.c.name, &uid, name)));
        for job in sharers(&all.c.name, &uid, name) {
            let job = format!("gmj/{}", text(&job, "/metadata/name"));
            let reason = all.b.until(&format!("{job} to be looked at"), || {
                let (_, reason, _) = condition(&all.b.get(&job), "Matched");
                (!["", "PendingEvaluation", "WaitingForTurn"].contains(&reason.as_str())).then_some(reason)
            });
            assert_eq!(reason, "WaitingForCapacity", "{job}");
        }
        assert_eq!(all.a.entries(&format!("gml/{name}")), 1, "{name}");
    }
}

/// Everything that turns, hides or moves text on a terminal.
const ODD: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}\u{200b}\u{2066}\u{feff}e\u{301}\u{e9}\r\n\u{9b}31mz";

fn is_odd(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// All texts in a value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(texts).collect(),
        Value::Object(all) => all.iter().flat_map(|(key, value)| [vec![key.clone()], texts(value)].concat()).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn c3_what_is_said_of_an_odd_ad_is_plain_text() {
    let all = Stage::attacked().tenants("odd");
    all.b.apply(&machine("m"));
    let quoted = format!("\"{}\"", ODD.replace(['\r', '\n'], ""));
    let jobs = [
        object(
            "Job",
            "compares",
            &json!({"constraint": format!("other.Type == \"Machine\" && other.Name == {quoted} && other.Memory > 5")}),
        ),
        object("Job", "breaks", &json!({"constraint": format!("other.Memory > {ODD}")})),
        object(
            "Job",
            "names",
            &json!({"attributes": {ODD: 1, "e\u{301}": 2, "\u{e9}": 3}, "constraint": "other.Memory > 1E9"}),
        ),
        object(
            "Job",
            "says",
            &json!({"attributes": {"Note": ODD}, "classad": null, "constraint": format!("other.Note == {quoted}"), "rank": quoted}),
        ),
        object("Job", "text", &json!({"classad": format!("[Note = {quoted}; Requirements = other.{ODD} > 1]")})),
    ];
    for job in &jobs {
        // what the API server does not take is not said anything of
        all.bob.create(&job.to_string()).ok();
    }
    let there = all.b.list("gmj");
    assert!(there.len() >= 3, "{} jobs", there.len());
    for job in &there {
        let name = format!("gmj/{}", text(job, "/metadata/name"));
        let job = all.b.until(&format!("{name} to be looked at"), || {
            let job = all.b.get(&name);
            (!condition(&job, "Matched").1.is_empty()).then_some(job)
        });
        let said = texts(job.pointer("/status").unwrap_or(&Value::Null));
        let odd: Vec<&String> = said.iter().filter(|text| text.chars().any(is_odd)).collect();
        assert!(odd.is_empty(), "{name}: {odd:?}");
    }
    let events = all.b.list("events");
    for event in &events {
        let note = text(event, "/message");
        assert!(!note.chars().any(is_odd), "{note:?}");
    }
}

/// The controller behind a clock that reads how far it is off from a file.
struct Faked {
    program: PathBuf,
    offset: PathBuf,
}

fn faketime() -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime"];
    folders.iter().map(|folder| Path::new(folder).join("libfaketimeMT.so.1")).find(|path| path.exists())
}

impl Faked {
    fn in_folder(folder: &Path, library: &Path) -> Faked {
        let (program, offset) = (folder.join("controller-with-a-clock"), folder.join("offset"));
        let real = repository::program("gangmatch-controller").unwrap();
        let script = format!(
            "#!/bin/sh\nexec env LD_PRELOAD={} FAKETIME_TIMESTAMP_FILE={} FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 {} \"$@\"\n",
            library.display(),
            offset.display(),
            real.display()
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let faked = Faked { program, offset };
        faked.jump("+0");
        faked
    }

    fn jump(&self, by: &str) {
        std::fs::write(&self.offset, format!("{by}\n")).unwrap();
    }
}

#[test]
fn c4_a_clock_that_jumps_by_an_hour_ends_no_claim() {
    let Some(library) = faketime() else {
        eprintln!("SKIPPED: Debian's package faketime is not installed");
        return;
    };
    let stage = Stage::own();
    let here = stage.namespace("clock");
    stage.controller.end(testbed::control_plane::processes::Signal::Terminate).unwrap();
    let faked = Faked::in_folder(here.access().processes().folder(), &library);
    let kubeconfig = product::controller_kubeconfig(here.access()).unwrap();
    let controller = product::spawn_executable(here.access(), &faked.program, &kubeconfig, &[]).unwrap();
    controller.wait_until_ready().unwrap();
    let ads: String = (0..4).map(|number| machine(&format!("m{number}"))).collect();
    here.apply(&(ads + &license("l", "sim", 4, 1) + &job("stands", "sim")));
    here.wait("gmj/stands", "Claimed");
    let claim = text(&here.get("gmj/stands"), "/status/claim/uid");
    let id = controller.id().unwrap();
    for (number, by) in ["+3600", "-3600", "+0"].into_iter().enumerate() {
        faked.jump(by);
        let next = format!("next{number}");
        here.apply(&job(&next, "sim"));
        here.wait(&format!("gmj/{next}"), "Claimed");
        here.merge(&format!("gmj/{next}"), r#"{"spec": {"done": true}}"#);
        here.wait(&format!("gmj/{next}"), "Finished");
        here.until("the seat to be free", || (here.entries("gml/l") == 1).then_some(()));
        assert_eq!(text(&here.get("gmj/stands"), "/status/claim/uid"), claim, "after {by}");
        assert_eq!(product::get(controller.address(), "/readyz").unwrap().0, 200, "after {by}");
    }
    assert_eq!(controller.id().unwrap(), id);
}

/// Deletes a kind, with all its objects, and makes it again.
fn deleted_and_made_again(stage: &'static Stage, here: &Namespace, kind: &str) {
    let crd = format!("crd/{kind}.gangmatch.dev");
    here.access().kubectl_text(&["delete", &crd], None).unwrap();
    here.until("the controller to notice", || {
        let log = std::fs::read_to_string(stage.controller.log()).unwrap_or_default();
        log.lines()
            .rev()
            .take(400)
            .any(|line| line.contains("watch interrupted") || line.contains("not served"))
            .then_some(())
    });
    product::install_chart(here.access(), &[]).unwrap();
    let path = repository::root().join(format!("charts/gangmatch/templates/crds/{kind}.yaml"));
    if here.access().kubectl(&["get", &crd], None).unwrap().status.success() {
        return;
    }
    // helm has it in its books already; what the chart would print is applied as it is
    let chart = repository::root().join("charts/gangmatch").display().to_string();
    assert!(path.exists());
    let show = format!("templates/crds/{kind}.yaml");
    let manifest = here.access().helm(&["template", product::RELEASE, &chart, "--show-only", &show]).unwrap();
    here.apply(&manifest);
    here.access().kubectl_text(&["wait", &crd, "--for=condition=Established", "--timeout=60s"], None).unwrap();
}

#[test]
fn c5_a_kind_that_is_deleted_and_made_again_is_served_again() {
    let stage = Stage::own();
    let here = stage.namespace("kinds");
    let id = stage.controller.id().unwrap();
    let offers = [machine("m1"), machine("m2"), license("l", "sim", 2, 1)].concat();
    here.apply(&(offers.clone() + &job("stands", "sim")));
    here.wait("gmj/stands", "Claimed");
    for kind in ["licenses", "matches"] {
        deleted_and_made_again(stage, &here, kind);
        let after = format!("after-{kind}");
        here.until(&format!("a License to be taken, {kind}"), || {
            here.access()
                .kubectl(&["-n", &here.name, "apply", "-f", "-"], Some(&offers))
                .unwrap()
                .status
                .success()
                .then_some(())
        });
        here.apply(&job(&after, "sim"));
        here.wait(&format!("gmj/{after}"), "Claimed");
        here.delete(&format!("gmj/{after}"));
        // Nothing is left of what was deleted: one claim of one job.
        here.until(&format!("one claim to be left, {kind}"), || {
            let held = here.entries("gmm/m1") + here.entries("gmm/m2");
            (held == here.entries("gml/l") && held <= 1).then_some(())
        });
        assert_eq!(stage.controller.id().unwrap(), id, "the controller has ended");
    }
    let all = here.list("gmatch");
    assert!(all.len() <= 4, "{}", all.len());
}

/// What an API server gives back as a time of the year 10000.
const LATE: &str = "9999-12-31T23:59:59.000000-23:59";

#[test]
fn e1_an_object_with_an_odd_time_stops_no_watch() {
    let stage = Stage::own();
    let (bad, here) = (stage.namespace("odd"), stage.namespace("served"));
    for name in ["any", "gangmatch-machine-any"] {
        let spec = json!({"holderIdentity": "a", "renewTime": LATE, "acquireTime": LATE});
        let lease =
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec});
        bad.apply(&lease.to_string());
    }
    let container = json!({"name": "sim", "image": "sim:1"});
    let pod = json!({"metadata": {"creationTimestamp": "0000-01-01T00:00:00+23:00"},
        "spec": {"restartPolicy": "Never", "containers": [container]}});
    let batch = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "any"}, "spec": {"suspend": true, "template": pod}});
    bad.apply(&batch.to_string());
    // who has managed which field says so, too
    for object in ["job/any", "lease/any"] {
        let fields = json!([{"manager": "odd", "operation": "Update", "apiVersion": "v1", "time": LATE, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {}}}]);
        let patch = json!({"metadata": {"managedFields": fields}}).to_string();
        // the server may be unable to read back what it has stored
        let output =
            bad.access().kubectl(&["-n", &bad.name, "patch", object, "--type=merge", "-p", &patch], None).unwrap();
        println!("{object}: {output:?}");
    }
    // both the one that has watched all the time and one that lists what there is
    let kubeconfig = product::controller_kubeconfig(stage.cluster).unwrap();
    let fresh = product::start_controller(stage.cluster, &kubeconfig, &[]).unwrap();
    fresh.wait_until_ready().unwrap();
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
}

#[test]
fn e2_a_template_with_metadata_of_its_own_is_not_accepted() {
    let here = Stage::attacked().namespace("odd-template");
    let container = json!({"name": "sim", "image": "sim:1"});
    let spec = json!({"restartPolicy": "Never", "containers": [container]});
    let template =
        json!({"spec": {"template": {"metadata": {"creationTimestamp": "0000-01-01T00:00:00+23:00"}, "spec": spec}}});
    let spec = json!({"constraint": "other.Type == \"Machine\"", "workload": {"jobTemplate": template}});
    here.apply(&[machine("m"), object("Job", "j", &spec).to_string()].concat());
    let why = here.wait_reason("gmj/j", "Accepted", "WorkloadInvalid");
    assert!(
        why.contains(".spec.template.metadata.creationTimestamp: a template can have only labels and annotations"),
        "{why}"
    );
    assert_eq!(here.entries("gmm/m"), 0);
}

#[test]
fn e7_a_template_that_would_end_in_thirty_years_is_not_accepted() {
    let here = Stage::attacked().namespace("long-end");
    let container = json!({"name": "sim", "image": "sim:1"});
    let spec =
        json!({"restartPolicy": "Never", "terminationGracePeriodSeconds": 1_000_000_000, "containers": [container]});
    let template = json!({"spec": {"template": {"spec": spec}}});
    let spec = json!({"constraint": "other.Type == \"Machine\"", "workload": {"jobTemplate": template}});
    here.apply(&[machine("m"), object("Job", "j", &spec).to_string()].concat());
    let why = here.wait_reason("gmj/j", "Accepted", "WorkloadInvalid");
    assert!(why.contains(".terminationGracePeriodSeconds: found 1000000000; write 3600 or less"), "{why}");
    assert_eq!(here.entries("gmm/m"), 0);
}

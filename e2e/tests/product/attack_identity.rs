//! Turns what tenants write about workloads, Matches and owners that are not theirs into checks that nothing comes of it: by their own
//! rights the policies refuse it; and written all the same, here by the admin, it has no effect.

use serde_json::{Value, json};
use testbed::control_plane::stages::{ENDS, RUNS_FOR};
use testbed::product::create_fake_node;
use testbed::tenants::bind;

use crate::stage::{Namespace, Stage, license, name, text};

/// The label by which workloads say for which claim they work.
const MARK: &str = "gangmatch.dev/match-uid";

/// A namespace of the stage with pods, in which these users have the rights of a ClusterRole.
pub(crate) fn with_users(test: &str, users: &[(&str, &str)]) -> Namespace {
    let here = Stage::attacked().namespace(test);
    for (user, role) in users {
        bind(here.access(), user, &here.name, role).unwrap();
    }
    here
}

/// kubectl as a user: what it printed, or why it was refused.
pub(crate) fn as_user(here: &Namespace, user: &str, arguments: &[&str], stdin: Option<&str>) -> Result<String, String> {
    let all = [&["-n", &here.name, "--as", user], arguments].concat();
    let output = here.access().kubectl(&all, stdin).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// What a user is told who creates this, and is not let.
fn refused(here: &Namespace, user: &str, object: &Value) -> String {
    here.create_as(user, &object.to_string()).unwrap_err()
}

fn create(here: &Namespace, object: &Value) {
    here.create(&object.to_string());
}

/// What is in the template of a batch Job whose pods end like this.
fn template(annotation: (&str, &str)) -> Value {
    let container = json!({"name": "sim", "image": "sim:1"});
    json!({"metadata": {"annotations": {annotation.0: annotation.1}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}})
}

fn batch(name: &str, metadata: &Value, spec: &Value) -> Value {
    let mut metadata = metadata.clone();
    metadata["name"] = json!(name);
    let mut all = json!({"backoffLimit": 0, "template": template((ENDS, "never"))});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": all})
}

fn pod(name: &str, metadata: &Value) -> Value {
    let mut pod = template((ENDS, "never"));
    pod["metadata"] = metadata.clone();
    pod["metadata"]["name"] = json!(name);
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod
}

fn job(name: &str, workload: &Value) -> Value {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"constraint": "other.Type == \"License\"", "workload": workload}})
}

fn never_ending() -> Value {
    json!({"jobTemplate": {"spec": {"backoffLimit": 0, "template": template((ENDS, "never"))}}})
}

/// A license with one seat, and a job `victim` at work on it. Name and uid of its Match.
fn victim(here: &Namespace, workload: &Value) -> (String, String) {
    // pods need some node
    create_fake_node(here.access(), &format!("n-{}", here.name)).unwrap();
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("victim", workload).to_string());
    here.wait("gmj/victim", "jsonpath={.status.phase}=Running");
    let claim = here.get("gmj/victim");
    (text(&claim, "/status/claim/match"), text(&claim, "/status/claim/uid"))
}

/// What carries all marks of a claim.
fn marked(of: &(String, String)) -> Value {
    json!({"labels": {MARK: of.1}, "annotations": {"gangmatch.dev/match": of.0, "gangmatch.dev/made-for": "victim"}})
}

/// Waits until the controller has done something that it was asked for later: a claim from its beginning to its end.
fn a_claim_later(stage: &'static Stage) {
    let other = stage.namespace("later");
    other.apply(&license("l", "sim", 1, 1));
    let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"constraint": "other.Type == \"License\""}});
    other.apply(&job.to_string());
    other.wait("gmj/j", "Claimed");
    other.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    other.wait("gmj/j", "Finished");
}

fn still_works(here: &Namespace) {
    assert_eq!(text(&here.get("gmj/victim"), "/status/phase"), "Running");
    assert_eq!(here.entries("gml/l"), 1);
}

fn free(here: &Namespace) {
    here.until("the seat to be free", || (here.entries("gml/l") == 0).then_some(()));
}

#[test]
fn a5_a_label_of_another_namespace_ends_nobodys_job() {
    let (here, far) = (with_users("a5", &[]), with_users("a5-far", &[("bob", "edit")]));
    let claim = victim(&here, &never_ending());
    let own = text(&here.get("gmj/victim"), "/status/workload/uid");
    let ends = json!({"template": template((RUNS_FOR, "0s"))});
    for (object, word) in [
        (batch("x", &marked(&claim), &json!({})), "gangmatch.dev/match-uid"),
        (
            batch(
                "x",
                &json!({}),
                &json!({"template": {"metadata": {"labels": {MARK: claim.1}}, "spec": template(("a", "b"))["spec"]}}),
            ),
            "written by",
        ),
        (pod("x", &json!({"labels": {MARK: claim.1}})), "written by"),
        (pod("x", &json!({"annotations": {"gangmatch.dev/members": "License/a/l/u"}})), "written by"),
        (
            batch("x", &json!({"annotations": {"gangmatch.dev/created-by": "alice"}}), &json!({})),
            "created-by must be your",
        ),
    ] {
        let told = refused(&far, "bob", &object);
        assert!(told.contains(word), "{told}");
    }
    // What is there already is not marked later.
    far.create_as("bob", &batch("own", &json!({}), &json!({"suspend": true})).to_string()).unwrap();
    let told = as_user(&far, "bob", &["label", "job.batch/own", &format!("{MARK}={}", claim.1)], None).unwrap_err();
    assert!(told.contains("written by"), "{told}");
    // If the policies were not there: one that ends well, one that is held, one that another controller manages, and a pod.
    create(&far, &batch("ends", &marked(&claim), &ends));
    create(&far, &batch("held", &marked(&claim), &json!({"suspend": true})));
    create(&far, &batch("managed", &marked(&claim), &json!({"managedBy": "bob.io/nobody"})));
    create(&far, &pod("pod", &json!({"labels": {MARK: claim.1}, "finalizers": ["e2e.gangmatch.dev/stay"]})));
    far.wait("job.batch/ends", "Complete");
    let before = far.get("job.batch/held");
    a_claim_later(here.stage);
    still_works(&here);
    assert_eq!(text(&here.get("gmj/victim"), "/status/workload/uid"), own);
    assert_eq!(far.get("job.batch/held").pointer("/spec"), before.pointer("/spec"), "a6: it was not touched");
    assert_eq!(text(&far.get("job.batch/held"), "/metadata/labels/gangmatch.dev~1match-uid"), claim.1);
    // Nor do they hold the seat.
    here.delete("gmj/victim");
    free(&here);
    far.merge("pod/pod", r#"{"metadata": {"finalizers": null}}"#);
}

#[test]
fn a7_a_colleague_in_the_same_namespace_neither_ends_nor_holds_a_claim() {
    let here = with_users("a7", &[("bob", "edit")]);
    let claim = victim(&here, &never_ending());
    for object in [batch("x", &marked(&claim), &json!({})), pod("x", &marked(&claim))] {
        let told = refused(&here, "bob", &object);
        assert!(told.contains("written by"), "{told}");
    }
    // One's own marks stay as they are, too.
    let made = format!("job.batch/{}", claim.0);
    let told = as_user(&here, "bob", &["label", "--overwrite", &made, &format!("{MARK}=mine")], None).unwrap_err();
    assert!(told.contains("do not change them"), "{told}");
    let told = as_user(&here, "bob", &["label", "pods", "--all", &format!("{MARK}-")], None).unwrap_err();
    assert!(told.contains("do not change them"), "{told}");
    create(&here, &batch("ends", &marked(&claim), &json!({"template": template((RUNS_FOR, "0s"))})));
    create(&here, &batch("managed", &marked(&claim), &json!({"managedBy": "bob.io/nobody"})));
    create(&here, &pod("pod", &marked(&claim)));
    here.wait("job.batch/ends", "Complete");
    a_claim_later(here.stage);
    still_works(&here);
    here.merge("gmj/victim", r#"{"spec": {"done": true}}"#);
    free(&here);
    assert_eq!(here.list("pods").iter().filter(|pod| name(pod) == "pod").count(), 1, "it was not touched");
}

#[test]
fn a7_a_workload_whose_label_was_changed_gives_its_seat_back_after_its_last_pod() {
    let here = with_users("a7-label", &[]);
    let claim = victim(&here, &never_ending());
    let made = format!("job.batch/{}", claim.0);
    here.kubectl(&["label", "--overwrite", &made, &format!("{MARK}=another")], None);
    free(&here);
    let running = here.list("pods").into_iter().filter(|pod| text(pod, "/status/phase") == "Running");
    assert_eq!(running.map(|pod| name(&pod)).collect::<Vec<_>>(), Vec::<String>::new());
    here.wait_reason("gmj/victim", "Finished", "WorkloadFailed");
}

#[test]
fn a7_what_is_made_again_under_the_name_of_a_workload_is_another_one() {
    let here = with_users("a7-again", &[]);
    create(&here, &batch("mine", &json!({}), &json!({"suspend": true})));
    let claim = victim(&here, &json!({"workloadRef": {"name": "mine"}}));
    here.delete("job.batch/mine");
    create(&here, &batch("mine", &marked(&claim), &json!({"template": template((RUNS_FOR, "0s"))})));
    here.wait_reason("gmj/victim", "Finished", "WorkloadFailed");
    free(&here);
}

#[test]
fn a7_a_name_that_is_taken_is_told_and_not_adopted() {
    let here = with_users("a7-squat", &[("bob", "edit")]);
    create_fake_node(here.access(), &format!("n-{}", here.name)).unwrap();
    let mut waits = job("j", &never_ending());
    waits["spec"]["suspend"] = json!(true);
    here.apply(&waits.to_string());
    let uid = text(&here.get("gmj/j"), "/metadata/uid");
    let first = crds::match_name("j", &uid, 1);
    here.create_as("bob", &batch(&first, &json!({}), &json!({})).to_string()).unwrap();
    here.merge("gmj/j", r#"{"spec": {"suspend": false}}"#);
    here.apply(&license("l", "sim", 1, 1));
    here.until("an Event", || {
        here.kubectl(&["describe", "gmj", "j"], None).contains("WorkloadNameTaken").then_some(())
    });
    let taken = here.get(&format!("job.batch/{first}"));
    assert!(taken.pointer("/metadata/labels/gangmatch.dev~1match-uid").is_none(), "{taken}");
    here.delete(&format!("job.batch/{first}"));
    here.wait("gmj/j", "jsonpath={.status.phase}=Running");
}

#[test]
fn a8_what_another_controller_manages_is_not_started_by_reference() {
    let here = with_users("a8", &[]);
    create(&here, &batch("mine", &json!({}), &json!({"suspend": true, "managedBy": "bob.io/nobody"})));
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("victim", &json!({"workloadRef": {"name": "mine"}})).to_string());
    let message = here.wait_reason("gmj/victim", "Finished", "WorkloadFailed");
    assert!(message.contains("batch Job mine: spec.managedBy is `bob.io/nobody`"), "{message}");
    free(&here);
    assert!(here.get("job.batch/mine").pointer("/metadata/labels/gangmatch.dev~1match-uid").is_none());
    // Labelled, it is told so itself.
    let ad = json!({"labels": {"gangmatch.dev/ad": "victim"}});
    create(&here, &batch("labelled", &ad, &json!({"managedBy": "bob.io/nobody"})));
    here.until("its Event", || {
        here.kubectl(&["describe", "job.batch", "labelled"], None).contains("ManagedElsewhere").then_some(())
    });
    // One that is made only once the claim stands.
    here.apply(&job("early", &json!({"workloadRef": {"name": "late"}})).to_string());
    here.wait("gmj/early", "Claimed");
    create(&here, &batch("late", &json!({}), &json!({"suspend": true, "managedBy": "bob.io/nobody"})));
    let message = here.wait_reason("gmj/early", "Finished", "WorkloadFailed");
    assert!(message.contains("spec.managedBy"), "{message}");
    free(&here);
}

#[test]
fn a9_a_template_asks_for_nothing_that_the_controller_believes() {
    let here = with_users("a9", &[("bob", "edit")]);
    let with = |own: Value, pods: Value| {
        let mut template = template((ENDS, "never"));
        template["metadata"] = pods;
        json!({"jobTemplate": {"metadata": own, "spec": {"template": template}}})
    };
    let missing = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "none"}]);
    for (number, (workload, place)) in [
        (with(json!({"labels": {"gangmatch.dev/ad": "adx"}}), json!({})), ".metadata.labels.gangmatch.dev/ad"),
        (
            with(json!({}), json!({"labels": {"gangmatch.dev/ad": "adx"}})),
            ".spec.template.metadata.labels.gangmatch.dev/ad",
        ),
        (
            with(json!({"annotations": {"gangmatch.dev/members": "a"}}), json!({})),
            ".metadata.annotations.gangmatch.dev/members",
        ),
        (with(json!({"ownerReferences": missing}), json!({})), ".metadata.ownerReferences"),
        (with(json!({}), json!({"finalizers": ["a.dev/b"]})), ".spec.template.metadata.finalizers"),
    ]
    .into_iter()
    .enumerate()
    {
        let asked = job(&format!("j{number}"), &workload).to_string();
        here.create_as("bob", &asked).unwrap();
        let message = here.wait_reason(&format!("gmj/j{number}"), "Accepted", "WorkloadInvalid");
        assert!(message.contains(&format!("spec.workload.jobTemplate{place}")), "{message}");
    }
    // What is made from a good one says whose it is.
    here.apply(&license("l", "sim", 1, 1));
    create_fake_node(here.access(), &format!("n-{}", here.name)).unwrap();
    here.create_as("bob", &job("good", &never_ending()).to_string()).unwrap();
    here.wait("gmj/good", "jsonpath={.status.phase}=Running");
    let made = here.list("jobs.batch");
    assert_eq!(text(&made[0], "/metadata/annotations/gangmatch.dev~1created-by"), "bob");
}

#[test]
fn a16_pods_of_a_batch_job_are_whose_the_batch_job_is() {
    let here = with_users("a16", &[("bob", "edit")]);
    let ad = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "needs"},
        "spec": {"suspend": true, "constraint": "other.Type == \"License\""}});
    here.apply(&ad.to_string());
    let mut pods = template((ENDS, "never"));
    pods["metadata"]["labels"] = json!({"gangmatch.dev/ad": "needs", "app": "sim"});
    // without a label of its own a batch Job gets those of its pods
    let forged = json!({"labels": {"team": "sim"}, "annotations": {"gangmatch.dev/created-by": "alice"}});
    here.create_as("bob", &batch("mine", &forged, &json!({"template": pods})).to_string()).unwrap();
    let asks =
        here.until("a Job that asks for its pod", || here.list("gmj").into_iter().find(|job| name(job) != "needs"));
    assert_eq!(text(&asks, "/spec/owner"), "bob", "neither the controller of batch Jobs nor who was written down");
    assert_eq!(here.get("job.batch/mine").pointer("/spec/suspend"), Some(&json!(false)), "its pods are held, not it");
    // Of whom something else makes pods is not known.
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web", "gangmatch.dev/ad": "needs"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}});
    here.create_as("bob", &set.to_string()).unwrap();
    let all = here.until("its pod to be told", || {
        let all = here.kubectl(&["describe", "pods", "-l", "app=web"], None);
        all.contains("OwnerUnknown").then_some(all)
    });
    assert!(all.contains("it was created by ReplicaSet `web`"), "{all}");
    // Nor is the controller that has made them, when they are left to themselves.
    here.kubectl(&["delete", "replicaset", "web", "--cascade=orphan"], None);
    let orphan = here.until("the pod to lose its owner reference", || {
        let all = here.list("pods").into_iter().filter(|pod| text(pod, "/metadata/labels/app") == "web");
        all.into_iter().find(|pod| pod.pointer("/metadata/ownerReferences").is_none())
    });
    assert_eq!(text(&orphan, "/metadata/annotations/gangmatch.dev~1created-by"), "");
    here.until("that to be told", || {
        let told = here.kubectl(&["describe", "pods", "-l", "app=web"], None);
        (told.contains("OwnerUnknown") && !told.contains("Claimed")).then_some(())
    });
    assert_eq!(here.list("gmj").len(), 2);
}

/// A Match as a controller would record it, and one whose name no controller would give.
fn forged(here: &Namespace, job: &str, match_name: Option<&str>, offer: (&Namespace, &str)) -> Value {
    let uid = |object: &Value| text(object, "/metadata/uid");
    let (job_uid, offer_uid) = (uid(&here.get(&format!("gmj/{job}"))), uid(&offer.0.get(&format!("gml/{}", offer.1))));
    let root = json!({"id": 0, "kind": "Job", "namespace": here.name, "name": job, "uid": job_uid, "generation": 1});
    let member = json!({"id": 1, "kind": "License", "namespace": offer.0.name, "name": offer.1, "uid": offer_uid,
        "generation": 1, "parent": 0, "parentPort": "other", "port": "other", "allocation": {"seats": 1}, "claimPolicy": "Auto"});
    let spec = json!({"attempt": 1, "cycle": {"id": "1", "time": "2026-11-21T14:00:00Z", "seed": 1}, "epoch": 0,
        "reserveTimeoutSeconds": 30, "summary": "forged", "rank": "0", "members": [root, member]});
    let given = match_name.map_or_else(|| crds::match_name(job, &job_uid, 1), str::to_owned);
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": {"name": given, "namespace": here.name}, "spec": spec})
}

/// Everything in one namespace, for one user.
fn star(here: &Namespace) {
    here.kubectl(&["create", "role", "star", "--verb=*", "--resource=*.*"], None);
    here.kubectl(&["create", "rolebinding", "star", "--role=star", "--user=star"], None);
    here.until("the right to be there", || {
        let asked = ["-n", &here.name, "auth", "can-i", "create", "gmatch", "--as", "star"];
        here.access().kubectl(&asked, None).unwrap().status.success().then_some(())
    });
}

#[test]
fn a4_everything_in_one_namespace_is_not_the_controller() {
    let here = with_users("a4-star", &[("bob", "edit")]);
    star(&here);
    here.apply(&license("l", "sim", 1, 1));
    here.apply(&job("js", &never_ending()).to_string());
    let of = |given: Option<&str>| forged(&here, "js", given, (&here, "l"));
    for found in [of(None), of(Some("any"))] {
        let told = refused(&here, "star", &found);
        assert!(told.contains("only the controller can create or change a Match"), "{told}");
    }
    for (object, what) in
        [("gml/l", json!({"used": "0/1"})), ("gmj/js", json!({"workload": {"name": "x", "uid": "y"}}))]
    {
        let patch = json!({"status": what}).to_string();
        let told =
            as_user(&here, "star", &["patch", object, "--subresource=status", "--type=merge", "-p", &patch], None);
        assert!(told.as_ref().is_err_and(|told| told.contains("ValidatingAdmissionPolicy 'gangmatch-")), "{told:?}");
    }
    // Nor is a user to whom star would give the right by name, nor may star name owners.
    let rule = json!([{"apiGroups": ["gangmatch.dev"], "resources": ["matches/claims"], "verbs": ["update"]}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "give"}, "rules": rule});
    let told = refused(&here, "star", &role);
    assert!(told.contains("in the whole cluster"), "{told}");
    let bound =
        as_user(&here, "star", &["create", "rolebinding", "give", "--clusterrole=gangmatch", "--user=bob"], None);
    assert!(bound.as_ref().is_err_and(|told| told.contains("in the whole cluster")), "{bound:?}");
    let mut owned = job("owned", &never_ending());
    owned["spec"]["owner"] = json!("alice");
    here.create_as("star", &owned.to_string()).unwrap();
    assert_eq!(text(&here.get("gmj/owned"), "/spec/owner"), "star");
    // A role that has nothing to do with it is given as ever.
    as_user(&here, "star", &["create", "role", "reader", "--verb=get", "--resource=pods"], None).unwrap();
}

#[test]
fn a4_a_forged_match_that_is_committed_is_written_into_no_ledger() {
    let (here, far) = (with_users("a4", &[]), with_users("a4-far", &[]));
    let mut picky: Value = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "License", "metadata": {"name": "picky"},
        "spec": {"constraint": "other.Owner == \"nobody\"", "capacity": {"seats": 1}}});
    here.apply(&picky.to_string());
    picky["metadata"]["name"] = json!("closed");
    picky["spec"]["constraint"] = json!("true");
    far.apply(&picky.to_string());
    let job = |name: &str| {
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name},
            "spec": {"constraint": "other.Type == \"none\""}})
    };
    for (number, (offer, given)) in
        [((&far, "closed"), None), ((&here, "picky"), None), ((&here, "picky"), Some("any"))].into_iter().enumerate()
    {
        let asks = format!("j{number}");
        here.apply(&job(&asks).to_string());
        here.wait(&format!("gmj/{asks}"), "Accepted");
        let found = forged(&here, &asks, given, offer);
        let object = format!("gmatch/{}", name(&found));
        create(&here, &found);
        // whoever is first: the controller calls it off, or it is committed by forgery
        let patch = json!([{"op": "test", "path": "/status/decision", "value": "Pending"},
            {"op": "replace", "path": "/status/decision", "value": "Committed"}])
        .to_string();
        let arguments = ["-n", &here.name, "patch", &object, "--subresource=status", "--type=json", "-p", &patch];
        here.access().kubectl(&arguments, None).unwrap();
        let ended = here.until("it to be ended", || {
            let found = here.get(&object);
            ["Released", "Aborted"].contains(&text(&found, "/status/decision").as_str()).then_some(found)
        });
        assert!(["NotAllowed", "RequirementsChanged"].contains(&text(&ended, "/status/reason").as_str()), "{ended}");
        here.until("the job to be free", || {
            here.get(&format!("gmj/{asks}")).pointer("/status/claim").is_none().then_some(())
        });
    }
    assert_eq!((far.entries("gml/closed"), here.entries("gml/picky")), (0, 0));
    let epoch = far.get("gml/closed").pointer("/status/epoch").and_then(Value::as_i64).unwrap_or(0);
    assert_eq!(epoch, 0, "nothing was ever written there for it");
}

#[test]
fn e3_a_role_with_everything_in_a_namespace_does_not_change_its_labels() {
    let here = with_users("e3", &[]);
    star(&here);
    let namespace = ["namespace", here.name.as_str()];
    for label in ["gangmatch.dev/offers=cluster", "team=eda"] {
        let told = as_user(&here, "star", &[&["label"], &namespace[..], &[label]].concat(), None).unwrap_err();
        assert!(told.contains("from a ClusterRoleBinding"), "{told}");
    }
    let status = format!("/api/v1/namespaces/{}/status", here.name);
    let mut found: Value = serde_json::from_str(&here.kubectl(&["get", "--raw", &status], None)).unwrap();
    found["metadata"]["labels"]["team"] = json!("eda");
    let told = as_user(&here, "star", &["replace", "--raw", &status, "-f", "-"], Some(&found.to_string())).unwrap_err();
    assert!(told.contains("from a ClusterRoleBinding"), "{told}");
    as_user(&here, "star", &[&["annotate"], &namespace[..], &["note=mine"]].concat(), None).unwrap();
    // Users who may update this namespace by a ClusterRoleBinding go on as ever.
    let role = format!("label-{}", here.name);
    let one = format!("--resource-name={}", here.name);
    here.kubectl(&["create", "clusterrole", &role, "--verb=get,patch", "--resource=namespaces", &one], None);
    here.kubectl(&["create", "clusterrolebinding", &role, &format!("--clusterrole={role}"), "--user=label"], None);
    here.until("the right to be there", || {
        as_user(&here, "label", &[&["label"], &namespace[..], &["team=eda"]].concat(), None).ok()
    });
}

#[test]
fn e4_status_requests_write_neither_marks_nor_creators() {
    let here = with_users("e4", &[]);
    star(&here);
    create(&here, &batch("b", &json!({}), &json!({"suspend": true})));
    create(&here, &pod("p", &json!({})));
    let marks = [
        json!({"annotations": {"gangmatch.dev/created-by": "alice"}}),
        json!({"labels": {MARK: "u"}}),
        json!({"labels": {MARK: ""}}),
        json!({"annotations": {"gangmatch.dev/members": "License/a/l/u"}}),
        json!({"annotations": {"gangmatch.dev/made-for": ""}}),
    ];
    for metadata in &marks {
        let patch = json!({"metadata": metadata}).to_string();
        for object in ["jobs.batch/b", "pod/p"] {
            for further in [&[][..], &["--subresource=status"]] {
                let arguments = [&["patch", object, "--type=merge", "-p", &patch], further].concat();
                let told = as_user(&here, "star", &arguments, None);
                let is_refused = told
                    .as_ref()
                    .is_err_and(|told| told.contains("gangmatch only") || told.contains("created-by must be your"));
                assert!(is_refused, "{object} {further:?} {metadata}: {told:?}");
            }
        }
        let mut metadata = metadata.clone();
        metadata["name"] = json!("p");
        let bind = json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": "x"}});
        let path = format!("/api/v1/namespaces/{}/pods/p/binding", here.name);
        let told = as_user(&here, "star", &["create", "--raw", &path, "-f", "-"], Some(&bind.to_string()));
        assert!(told.as_ref().is_err_and(|told| told.contains("gangmatch-marks-pods")), "{metadata}: {told:?}");
    }
}

#[test]
fn e5_an_owner_reference_makes_nobody_the_owner_of_anothers_job() {
    let here = with_users("e5", &[("bob", "edit"), ("alice", "edit")]);
    here.create_as("alice", &batch("hers", &json!({}), &json!({"suspend": true})).to_string()).unwrap();
    here.apply(
        &json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "ad"},
        "spec": {"suspend": true, "constraint": "other.Type == \"License\""}})
        .to_string(),
    );
    let uid = text(&here.get("jobs.batch/hers"), "/metadata/uid");
    let hers = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "hers", "uid": uid, "controller": true}]);
    let metadata = json!({"labels": {"gangmatch.dev/ad": "ad"}, "ownerReferences": hers});
    let between = json!({"suspend": true, "template": {"metadata": {"labels": {"gangmatch.dev/ad": "ad"}}, "spec": template(("a", "b"))["spec"]}});
    for object in [
        batch("x", &metadata, &json!({"suspend": true})),
        pod("x", &metadata),
        batch("x", &json!({"ownerReferences": hers}), &between),
    ] {
        let told = refused(&here, "bob", &object);
        assert!(told.contains("not allowed together"), "{told}");
    }
    // Nor one after the other.
    for (first, then) in [
        (json!({"labels": {"gangmatch.dev/ad": "ad"}}), json!({"ownerReferences": hers})),
        (json!({"ownerReferences": hers}), json!({"labels": {"gangmatch.dev/ad": "ad"}})),
    ] {
        let object = batch("x", &first, &json!({"suspend": true})).to_string();
        here.create_as("bob", &object).unwrap();
        let patch = json!({"metadata": then}).to_string();
        let told = as_user(&here, "bob", &["patch", "jobs.batch/x", "--type=merge", "-p", &patch], None).unwrap_err();
        assert!(told.contains("not allowed together"), "{told}");
        here.kubectl(&["delete", "jobs.batch", "x"], None);
    }
}

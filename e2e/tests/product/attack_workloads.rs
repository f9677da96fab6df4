//! Turns attacks with a tenant's own workloads, or with the Machines of its namespace, into checks that other tenants lose nothing.

use serde_json::{Value, json};
use testbed::control_plane::stages::ENDS;

use crate::attack_identity::{as_user, with_users};
use crate::pods::held::{ad, define_job_sets, derived, free, node, served};
use crate::pods::nodes::{class, machine_of, nodes, offered};
use crate::stage::{Namespace, Stage, license, name, text};

/// A batch Job of bob's whose template names alice as its creator.
fn forged(name: &str, labels: &Value) -> Value {
    let metadata = json!({"labels": labels, "annotations": {"gangmatch.dev/created-by": "alice", ENDS: "never"}});
    let spec = json!({"restartPolicy": "Never", "containers": [{"name": "sim", "image": "sim:1"}]});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": {"metadata": metadata, "spec": spec}}})
}

#[test]
fn y1_a_template_names_no_creator() {
    let here = with_users("y1", &[("bob", "edit")]);
    ad(&here, &[]);
    let create = |object: &Value| here.create_as("bob", &object.to_string()).unwrap();
    create(&forged("labelled", &json!({"gangmatch.dev/ad": "needs-sim"})));
    let asks = derived(&here, "labelled");
    assert_eq!(text(&here.get(&asks), "/spec/owner"), "bob");
    // Without the label nothing is held, and the annotation would be copied: no such pod is created.
    create(&forged("plain", &json!({})));
    here.until("its pod to be refused", || {
        let all = here.kubectl(&["describe", "job.batch/plain"], None);
        all.contains("created-by must be your user name").then_some(())
    });
    let theirs = |pod: &Value| text(pod, "/metadata/annotations/gangmatch.dev~1created-by") == "alice";
    assert!(!here.list("pods").iter().any(theirs));
}

/// What a pod that a batch Job adopts asks for would be asked for in the name of the creator of the batch Job.
#[test]
fn y1_nothing_that_asks_for_a_gang_is_adopted() {
    let controller = "system:serviceaccount:kube-system:job-controller";
    // kubectl reads what it patches
    let here = with_users("y1-adopted", &[("bob", "edit"), (controller, "view")]);
    ad(&here, &[]);
    here.create(&forged("hers", &json!({})).to_string());
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine", "labels": {"gangmatch.dev/ad": "needs-sim"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "sim", "image": "sim:1"}]}});
    here.create_as("bob", &pod.to_string()).unwrap();
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "hers", "controller": true,
        "uid": text(&here.get("job.batch/hers"), "/metadata/uid")});
    let adopt = json!({"metadata": {"ownerReferences": [owner]}}).to_string();
    let told = as_user(&here, controller, &["patch", "pod/mine", "--type=merge", "-p", &adopt], None).unwrap_err();
    assert!(told.contains("nothing with the label is adopted"), "{told}");
}

/// Fills an object with labels until the server stores not one more.
fn fill(here: &Namespace, user: &str, object: &str) {
    let is_stored = |labels: serde_json::Map<String, Value>| {
        let patch = json!({"metadata": {"labels": labels}}).to_string();
        let arguments = ["patch", object, "--type=merge", "--patch-file=/dev/stdin", "-o", "name"];
        let told = as_user(here, user, &arguments, Some(&patch));
        assert!(told.as_ref().err().is_none_or(|told| told.contains("request is too large")), "{told:?}");
        told.is_ok()
    };
    let (mut begun, mut count) = (0, 256);
    while count > 0 {
        match is_stored((begun..begun + count).map(|number| (format!("p{number}"), json!("x".repeat(13)))).collect()) {
            true => begun += count,
            false => count /= 2,
        }
    }
    assert!(begun > 256, "only {begun} labels");
    // The last bytes: labels that are there become longer.
    let (mut grown, mut count) = (0, 64);
    while count > 0 {
        match is_stored((grown..grown + count).map(|number| (format!("p{number}"), json!("x".repeat(14)))).collect()) {
            true => grown += count,
            false => count /= 2,
        }
    }
}

#[test]
fn y2_a_pod_too_large_to_be_deleted_keeps_no_seat() {
    let here = with_users("y2", &[("bob", "edit")]);
    ad(&here, &["cpu"]);
    node(&here, "m");
    // Large from the start, so that few labels fill it.
    let env: Vec<Value> =
        (0..12).map(|number| json!({"name": format!("E{number}"), "value": "x".repeat(128_000)})).collect();
    let container = json!({"name": "sim", "image": "sim:1", "env": env});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fat", "labels": {"gangmatch.dev/ad": "needs-sim"}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}});
    here.create_as("bob", &pod.to_string()).unwrap();
    here.wait(&derived(&here, "fat"), "jsonpath={.status.phase}=Running");
    fill(&here, "bob", "pod/fat");
    let told = as_user(&here, "bob", &["delete", "pod", "fat", "--wait=false"], None).unwrap_err();
    assert!(told.contains("request is too large"), "{told}");
    here.merge("gml/l", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    free(&here, &["gmm/m", "gml/l"]);
    assert!(here.list("pods").is_empty());
}

/// A namespace with JobSets, where work has little time to stop.
fn with_job_sets(test: &str) -> Namespace {
    let here = Stage::own_with(&[], &["workloads.stopTimeoutSeconds=2"]).namespace(test);
    ad(&here, &[]);
    define_job_sets(&here);
    served(&here);
    here
}

/// A JobSet that has been started for its claim.
fn started(here: &Namespace, name: &str) -> String {
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "sim", "image": "sim:1"}]}}}});
    let set = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": name, "labels": {"gangmatch.dev/ad": "needs-sim"}},
        "spec": {"replicatedJobs": [{"name": "head", "template": template}]}});
    let create = || here.access().kubectl_text(&["-n", &here.name, "create", "-f", "-"], Some(&set.to_string())).ok();
    here.until("the policies to know JobSets", create);
    here.wait(&derived(here, name), "Claimed");
    let set = format!("jobset.jobset.x-k8s.io/{name}");
    here.until("it to be started", || (here.get(&set).pointer("/spec/suspend") == Some(&json!(false))).then_some(()));
    set
}

/// A pod of this that never ends: its node has no kubelet.
fn stays(here: &Namespace, (version, kind): (&str, &str), owner: &str) {
    let owner = here.get(owner);
    let uid = text(&owner, "/metadata/uid");
    let reference = json!({"apiVersion": version, "kind": kind, "name": name(&owner), "uid": uid, "controller": true});
    let labels = json!({"batch.kubernetes.io/controller-uid": uid});
    let metadata = json!({"name": format!("of-{}", name(&owner)), "labels": labels, "ownerReferences": [reference]});
    let spec = json!({"nodeName": "lonely", "containers": [{"name": "sim", "image": "sim:1"}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    here.create(&pod.to_string());
}

/// Resumes this again and again, until the JobSet is deleted for it.
fn resumed_until_deleted(here: &Namespace, resumed: &str, set: &str) {
    here.merge("gml/l", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    let resume = ["-n", &here.name, "patch", resumed, "--type=merge", "-p", r#"{"spec": {"suspend": false}}"#];
    here.until("it to be deleted", || {
        here.access().kubectl(&resume, None).unwrap();
        let found = here.kubectl(&["get", set, "--ignore-not-found", "-o", "name"], None);
        found.is_empty().then_some(())
    });
}

#[test]
fn y3_a_job_set_that_is_resumed_again_and_again_keeps_no_seat() {
    let here = with_job_sets("y3");
    let mine = started(&here, "mine");
    let lonely = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "lonely"}});
    here.access().apply(&lonely.to_string()).unwrap();
    stays(&here, ("jobset.x-k8s.io/v1alpha2", "JobSet"), &mine);
    resumed_until_deleted(&here, &mine, &mine);
    let pods = ["delete", "pods", "--all", "--force", "--grace-period=0"];
    here.kubectl(&pods, None);
    free(&here, &["gml/l"]);
    // Nor does one whose batch Jobs are.
    here.merge("gml/l", r#"{"spec": {"stopPolicy": "None"}}"#);
    let other = started(&here, "other");
    let mut child = forged("child", &json!({}));
    child["metadata"]["labels"] = json!({"jobset.sigs.k8s.io/jobset-name": "other"});
    child["spec"]["template"]["metadata"] = json!({});
    here.create(&child.to_string());
    stays(&here, ("batch/v1", "Job"), "job.batch/child");
    resumed_until_deleted(&here, "job.batch/child", &other);
    here.delete("job.batch/child");
    here.kubectl(&pods, None);
    free(&here, &["gml/l"]);
}

/// A batch Job that is taken for one of the JobSet's would keep its claim, or end it.
#[test]
fn y5_nothing_gets_into_the_job_set_of_another_user() {
    let here = with_users("y5", &[("bob", "edit")]);
    let labels = json!({"jobset.sigs.k8s.io/jobset-name": "hers"});
    let mut child = forged("child", &json!({}));
    child["spec"]["template"]["metadata"] = json!({});
    let create = |child: &Value| here.create_as("bob", &child.to_string());
    create(&child).unwrap();
    child["metadata"] = json!({"name": "labelled", "labels": labels});
    let told = create(&child).unwrap_err();
    assert!(told.contains("needs the right to update the JobSet that it names"), "{told}");
    let relabel =
        |user, child: &str| as_user(&here, user, &["label", child, "jobset.sigs.k8s.io/jobset-name=hers"], None);
    let told = relabel("bob", "job.batch/child").unwrap_err();
    assert!(told.contains("needs the right to update the JobSet that it names"), "{told}");
    // It is about no other label, and about no JobSet that is one's own.
    as_user(&here, "bob", &["label", "job.batch/child", "rack=1"], None).unwrap();
    let rules = json!([{"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "resourceNames": ["hers"], "verbs": ["update"]}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "hers"}, "rules": rules});
    here.create(&role.to_string());
    here.kubectl(&["create", "rolebinding", "hers", "--role=hers", "--user=bob"], None);
    here.until("bob to get the right", || relabel("bob", "job.batch/child").ok());
    create(&child).unwrap();
}

#[test]
fn y4_who_administers_a_namespace_takes_no_machine_out_of_its_class() {
    let here = with_users("y4", &[("ann", "admin")]);
    nodes(&here, &["a"]);
    here.access().apply(&class(&here, &json!({}))).unwrap();
    offered(&here, "a");
    let machine = machine_of(&here, "a");
    let other = json!([{"apiVersion": "gangmatch.dev/v1alpha1", "kind": "MachineClass", "name": "x", "uid": "x"}]);
    let mut two = here.get(&machine)["metadata"]["ownerReferences"].clone();
    two.as_array_mut().unwrap().push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}));
    for references in [json!(null), json!([]), other, two] {
        let patch = json!({"metadata": {"ownerReferences": references}}).to_string();
        let told = as_user(&here, "ann", &["patch", &machine, "--type=merge", "-p", &patch], None).unwrap_err();
        assert!(told.contains("verb advertise on its node"), "{references}: {told}");
    }
    as_user(&here, "ann", &["label", &machine, "rack=1"], None).unwrap();
    // Nor is it offered on other terms for as long as the controller takes to reset it.
    for terms in [
        json!({"constraint": "other.Owner == \"ann\""}),
        json!({"rank": "1"}),
        json!({"capacity": {"slots": 9}}),
        json!({"allowedNamespaces": {"from": "All"}}),
    ] {
        let patch = json!({"spec": terms}).to_string();
        let told = as_user(&here, "ann", &["patch", &machine, "--type=merge", "-p", &patch], None).unwrap_err();
        assert!(told.contains("on what terms a Machine of a MachineClass is offered"), "{terms}: {told}");
    }
    as_user(&here, "ann", &["patch", &machine, "--type=merge", "-p", r#"{"spec": {"stopPolicy": "Hold"}}"#], None)
        .unwrap();
    // Who may offer the node may, and so may Kubernetes, for a class that is deleted without its Machines.
    here.access().kubectl_text(&["delete", "gmc", &here.name, "--cascade=orphan"], None).unwrap();
    assert_eq!(here.get(&machine).pointer("/metadata/ownerReferences"), None);
}

/// What a pod was created by shows in its `generateName`, when its controller has gone: a seat is not free before it has ended.
#[test]
fn y6_an_orphaned_pod_keeps_its_seat_until_it_ends() {
    let here = with_users("y6", &[("bob", "edit")]);
    node(&here, "m");
    here.apply(&license("l", "sim", 1, 1));
    let template = json!({"spec": {"completionMode": "Indexed", "completions": 1, "template": {"metadata": {"annotations": {ENDS: "never"}},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{"name": "sim", "image": "sim:1"}]}}}});
    // So long that the job controller cuts it in the names of pods.
    let name = format!("long-{}", "x".repeat(44));
    let ports = json!([{"label": "cpu", "constraint": "cpu.Type == \"Machine\""},
        {"label": "seat", "constraint": "seat.Type == \"License\""}]);
    let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"ports": ports, "workload": {"jobTemplate": template}}});
    here.create_as("bob", &job.to_string()).unwrap();
    let job = format!("gmj/{name}");
    here.wait(&job, "jsonpath={.status.phase}=Running");
    let pod = text(&here.list("pods")[0], "/metadata/name");
    let patch = r#"{"metadata": {"generateName": "x-"}}"#;
    let told = as_user(&here, "bob", &["patch", "pod", &pod, "--type=merge", "-p", patch], None).unwrap_err();
    assert!(told.contains("cannot be changed"), "{told}");
    let made = text(&here.list("gmatch")[0], "/metadata/name");
    as_user(&here, "bob", &["delete", "job.batch", &made, "--cascade=orphan"], None).unwrap();
    here.until("the claim to be over", || {
        (text(&here.list("gmatch")[0], "/status/decision") == "Released").then_some(())
    });
    as_user(&here, "bob", &["delete", "pod", &pod, "--wait=false"], None).unwrap();
    here.until("the seat to be free", || {
        let is_free = here.entries("gml/l") == 0;
        is_free.then(|| assert!(here.list("pods").is_empty(), "its pod has not ended"))
    });
    here.wait(&job, "Finished");
}

/// The label makes the controller create a Job: only for users who could do it themselves.
#[test]
fn y7_who_may_create_no_job_asks_for_none_with_a_label() {
    let here = with_users("y7", &[]);
    ad(&here, &[]);
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get"]},
        {"apiGroups": ["gangmatch.dev"], "resources": ["jobs"], "verbs": ["get"]}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "pods"}, "rules": rules});
    here.create(&role.to_string());
    here.kubectl(&["create", "rolebinding", "pods", "--role=pods", "--user=carl"], None);
    let pod = |name: &str, labels: Value| {
        let spec = json!({"restartPolicy": "Never", "containers": [{"name": "sim", "image": "sim:1"}]});
        let pod =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec});
        here.create_as("carl", &pod.to_string())
    };
    here.until("carl to get the right", || pod("plain", json!({})).ok());
    let told = pod("labelled", json!({"gangmatch.dev/ad": "needs-sim"})).unwrap_err();
    assert!(told.contains("need the right to create jobs.gangmatch.dev"), "{told}");
}

/// One that is so long would be stored in each Match that takes some of it, until its decision could not be stored any more.
#[test]
fn y8_names_of_resources_are_short() {
    let here = with_users("y8", &[("bob", "admin")]);
    let offer = |names: &[String]| {
        let capacity: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!(1))).collect();
        let license = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "License", "metadata": {"name": format!("l{}", names.len())},
            "spec": {"capacity": capacity}});
        here.create_as("bob", &license.to_string())
    };
    let names: Vec<String> = ["a", "b", "c", "d"].map(|name| name.repeat(129)).into();
    let told = offer(&names).unwrap_err();
    assert!(told.contains("names of resources have at most 512 characters together"), "{told}");
    offer(&names[..3]).unwrap();
    // All that is said of them fits, too: what is taken of them can be given back.
    here.wait("gml/l3", "Ready");
    assert!(text(&here.get("gml/l3"), "/status/used").chars().count() <= 256);
}

/// A JobSet that is resumed after it was given back has batch Jobs whose templates still have the claim's label.
#[test]
fn y10_a_batch_job_that_goes_on_making_pods_of_a_claim_is_suspended() {
    let here = with_job_sets("y10");
    started(&here, "mine");
    let claim = text(&here.list("gmatch")[0], "/metadata/uid");
    let mut child = forged("mine-w-0", &json!({}));
    child["spec"]["backoffLimit"] = json!(1_000_000);
    child["spec"]["template"]["metadata"] = json!({"labels": {"gangmatch.dev/match-uid": claim}});
    here.create(&child.to_string());
    here.until("its pod", || (here.list("pods").len() == 1).then_some(()));
    here.merge("gml/l", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    free(&here, &["gml/l"]);
    assert_eq!(here.get("job.batch/mine-w-0").pointer("/spec/suspend"), Some(&json!(true)));
    assert!(here.list("pods").is_empty());
}

//! Turns JobSet's own controller, with its webhooks, into a witness: what is done to a JobSet is what it allows. On demand, since it
//! has to be built first: `GANGMATCH_JOBSET` names the folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testbed::control_plane::free_port;
use testbed::control_plane::stages::{ENDS, RUNS_FOR};

use crate::pods::held::{ad, derived, free, node, served};
use crate::pods::set_pods::machines;
use crate::stage::{Namespace, Stage, name, text};

/// The folder with JobSet's sources, in which its controller was built as `manager`.
fn sources() -> Option<PathBuf> {
    let folder = std::env::var_os("GANGMATCH_JOBSET").map(PathBuf::from);
    if folder.is_none() {
        eprintln!(
            "SKIPPED: JobSet's own controller is tested with when GANGMATCH_JOBSET names its folder (docs/testing.md)"
        );
    }
    folder
}

/// A kubeconfig with the rights that JobSet's own manifests give its controller, and no others: the policies are to let it do its work.
fn own_account(here: &Namespace, sources: &Path) -> PathBuf {
    let roles = sources.join("config/components/rbac/role.yaml");
    here.kubectl(&["apply", "-f", &roles.display().to_string()], None);
    let account = format!("--serviceaccount={}:jobset", here.name);
    here.kubectl(&["create", "serviceaccount", "jobset"], None);
    here.kubectl(&["create", "clusterrolebinding", "jobset", "--clusterrole=manager-role", &account], None);
    here.access().service_account(&here.name, "jobset").unwrap()
}

/// Installs the kind, its webhooks and its controller. What serves the webhooks has the API server's own certificate.
fn install(here: &Namespace, sources: &Path) {
    let processes = here.access().processes();
    let (pki, own) = (processes.folder().join("pki"), processes.folder().join("jobset"));
    fs::create_dir(&own).unwrap();
    fs::copy(pki.join("apiserver.crt"), own.join("tls.crt")).unwrap();
    fs::copy(pki.join("apiserver.key"), own.join("tls.key")).unwrap();
    let (port, health) = (free_port().unwrap(), free_port().unwrap());
    let config = json!({"apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration",
        "leaderElection": {"leaderElect": false}, "internalCertManagement": {"enable": false},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": own}});
    fs::write(own.join("config.yaml"), config.to_string()).unwrap();
    let bases = sources.join("config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml");
    here.kubectl(&["apply", "--server-side", "-f", &bases.display().to_string()], None);
    served(here);
    let own_account = own_account(here, sources).display().to_string();
    let command = [
        sources.join("manager").display().to_string(),
        format!("--config={}", own.join("config.yaml").display()),
        format!("--kubeconfig={own_account}"),
        format!("--health-probe-bind-address=127.0.0.1:{health}"),
        "--metrics-bind-address=0".to_owned(),
    ];
    processes.start("jobset", &command, &[]).unwrap();
    here.until("JobSet's controller to be ready", || {
        assert!(processes.is_running("jobset"), "{}", processes.log_tail("jobset"));
        testbed::product::get(&format!("127.0.0.1:{health}"), "/readyz").ok().filter(|(status, _)| *status == 200)
    });
    let authority = "jsonpath={.clusters[0].cluster.certificate-authority-data}";
    let authority = here.kubectl(&["config", "view", "--raw", "-o", authority], None);
    let webhook = |what: &str, path: &str, operations: &[&str]| {
        let url = format!("https://127.0.0.1:{port}/{path}-jobset-x-k8s-io-v1alpha2-jobset");
        let rule = json!({"apiGroups": ["jobset.x-k8s.io"], "apiVersions": ["v1alpha2"], "operations": operations, "resources": ["jobsets"]});
        let hook = json!({"name": "jobset.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
            "failurePolicy": "Fail", "clientConfig": {"url": url, "caBundle": authority}});
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": what, "metadata": {"name": "jobset"}, "webhooks": [hook]})
    };
    here.apply(&webhook("MutatingWebhookConfiguration", "mutate", &["CREATE"]).to_string());
    here.apply(&webhook("ValidatingWebhookConfiguration", "validate", &["CREATE", "UPDATE"]).to_string());
}

/// An unmodified JobSet but for its label: a worker and a head.
fn job_set(name: &str, annotations: &Value) -> Value {
    let job = |name: &str| {
        let containers = json!([{"name": "sim", "image": "sim:1"}]);
        let spec = json!({"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": containers});
        let pod = json!({"metadata": {"annotations": annotations}, "spec": spec});
        json!({"name": name, "replicas": 1, "template": {"spec": {"parallelism": 1, "completions": 1, "template": pod}}})
    };
    json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name, "labels": {"gangmatch.dev/ad": "needs-sim"}},
        "spec": {"replicatedJobs": [job("worker"), job("head")]}})
}

/// Creates it once the webhooks and the policies that hold it know its kind.
fn create(here: &Namespace, set: &Value) -> Value {
    let dry = [
        "-n",
        &here.name,
        "create",
        "--dry-run=server",
        "-o",
        "jsonpath={.spec.suspend} {.spec.successPolicy}",
        "-f",
        "-",
    ];
    here.until("the policies and webhooks to know JobSets", || {
        let said = here.access().kubectl_text(&dry, Some(&set.to_string())).ok()?;
        (said.starts_with("true") && said.contains("operator")).then_some(())
    });
    here.create(&set.to_string());
    here.get(&format!("jobset.jobset.x-k8s.io/{}", name(set)))
}

/// The node at each port of the gang.
fn claimed(here: &Namespace, asks: &str, nodes: &[String; 2]) -> [String; 2] {
    let members = text(&here.get(asks), "/status/members");
    let at = |port: &str| {
        if members.contains(&format!("{port}={}/a", here.name)) { nodes[0].clone() } else { nodes[1].clone() }
    };
    [at("head"), at("worker")]
}

/// Where the pods of its two jobs are.
fn placed(here: &Namespace, set: &str) -> Option<[String; 2]> {
    let pods = here.list("pods");
    let of = |job: &str| {
        let begins = format!("{set}-{job}-");
        let pod = pods.iter().find(|pod| name(pod).starts_with(&begins))?;
        Some(text(pod, "/spec/nodeName")).filter(|node| !node.is_empty())
    };
    Some([of("head")?, of("worker")?])
}

#[test]
fn a_job_set_under_its_own_controller_runs_ends_and_is_taken_back() {
    let Some(sources) = sources() else { return };
    let here = Stage::own_with_pods().namespace("jobset");
    install(&here, &sources);
    ad(&here, &["head", "worker"]);
    let nodes = [node(&here, "a"), node(&here, "b")];
    // One that ends by itself.
    create(&here, &job_set("short", &json!({RUNS_FOR: "2s"})));
    let asks = derived(&here, "short");
    let at = here.until("its pods", || placed(&here, "short"));
    assert_eq!(at, claimed(&here, &asks, &nodes));
    here.wait_reason(&asks, "Finished", "Completed");
    free(&here, &["gmm/a", "gmm/b", "gml/l"]);
    here.delete("jobset.jobset.x-k8s.io/short");
    here.until("the Job to go with it", || (here.list("gmj").len() == 1).then_some(()));
    // One that is taken its machine away, and gets it back.
    let before = create(&here, &job_set("long", &json!({ENDS: "never"})));
    let asks = derived(&here, "long");
    here.wait(&asks, "jsonpath={.status.phase}=Running");
    here.merge("gmm/a", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    free(&here, &["gmm/a", "gmm/b", "gml/l"]);
    assert!(here.list("pods").is_empty(), "no seat is free while one of them runs");
    let back = here.get("jobset.jobset.x-k8s.io/long");
    assert_eq!(back.pointer("/spec/suspend"), Some(&json!(true)));
    assert_eq!(
        back.pointer("/spec/replicatedJobs/0/template/spec/template/spec"),
        before.pointer("/spec/replicatedJobs/0/template/spec/template/spec")
    );
    here.merge("gmm/a", r#"{"spec": {"stopPolicy": "None"}}"#);
    here.wait(&asks, "jsonpath={.status.phase}=Running");
    let at = here.until("its pods", || placed(&here, "long"));
    assert_eq!(at, claimed(&here, &asks, &nodes));
    // Its user deletes it.
    here.delete("jobset.jobset.x-k8s.io/long");
    free(&here, &["gmm/a", "gmm/b", "gml/l"]);
}

#[test]
fn a_job_set_on_four_machines_under_its_own_controller_has_a_pod_on_each() {
    let Some(sources) = sources() else { return };
    let here = Stage::own_with_pods().namespace("jobset-wide");
    install(&here, &sources);
    machines(&here, 4);
    let mut nodes = ["a", "b", "c", "d"].map(|name| node(&here, name));
    let mut set = job_set("wide", &json!({ENDS: "never"}));
    set["metadata"]["labels"] = json!({"gangmatch.dev/ad": "machines"});
    set["spec"]["replicatedJobs"] = json!([set["spec"]["replicatedJobs"][0]]);
    set["spec"]["replicatedJobs"][0]["replicas"] = json!(2);
    for count in ["parallelism", "completions"] {
        set["spec"]["replicatedJobs"][0]["template"]["spec"][count] = json!(2);
    }
    let before = create(&here, &set);
    let asks = derived(&here, "wide");
    here.wait(&asks, "jsonpath={.status.phase}=Running");
    let mut at = here.until("its four pods", || {
        let pods = here.list("pods");
        let at = pods.iter().map(|pod| text(pod, "/spec/nodeName")).filter(|node| !node.is_empty());
        Some(at.collect::<Vec<_>>()).filter(|at| at.len() == 4)
    });
    at.sort();
    nodes.sort();
    assert_eq!(at, nodes);
    here.merge("gmm/a", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    free(&here, &["gmm/a", "gmm/b", "gmm/c", "gmm/d"]);
    assert!(here.list("pods").is_empty(), "no seat is free while one of them runs");
    let path = "/spec/replicatedJobs/0/template/spec/template/spec";
    assert_eq!(here.get("jobset.jobset.x-k8s.io/wide").pointer(path), before.pointer(path));
}

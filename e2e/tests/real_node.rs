//! Turns the image, the chart and workloads into pods on a real kubelet, and what they do there into checks.
//!
//! The node runs in Linux namespaces of its own beside a control plane of local processes (`testbed::real_node`). Where that is impossible,
//! every test prints what is missing, and tests nothing.
#![cfg(test)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testbed::product::{self, NAMESPACE};
use testbed::real_node::{BUSYBOX, NODE, Traces, missing};
use testbed::{Options, RealNode, repository, until};

/// Long enough for a busy machine; a test that passes never waits for it.
const LIMIT: Duration = Duration::from_secs(120);

/// A real node with the product on it, installed as by anybody.
struct Installed {
    node: RealNode,
    /// The image as containerd calls it.
    id: String,
}

/// Says loudly that this test tests nothing, if the machine lacks something. Not by `eprintln`, which the test harness holds back.
fn is_impossible(test: &str) -> bool {
    static MISSING: OnceLock<Vec<String>> = OnceLock::new();
    let missing = MISSING.get_or_init(missing);
    if !missing.is_empty() {
        let list = missing.join("; ");
        writeln!(std::io::stderr(), "SKIPPED, NOTHING WAS TESTED: {test}: this machine lacks {list}").ok();
    }
    !missing.is_empty()
}

/// One for the tests that do not break it. Nobody drops it: the watchdog takes it down.
fn installed() -> &'static Installed {
    static INSTALLED: OnceLock<Installed> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let node = RealNode::start(&Options::default()).unwrap();
        let built = build_image(&node.folder().join("image"));
        node.import(&built.archive).unwrap();
        product::install_chart(&node, &[]).unwrap();
        Installed { node, id: built.id }
    })
}

struct Built {
    layout: PathBuf,
    archive: PathBuf,
    id: String,
}

/// The image, by the verb that developers use.
fn build_image(folder: &Path) -> Built {
    let mut command = Command::new(repository::program("xtask").unwrap());
    command.args(["image", "--out"]).arg(folder).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().unwrap();
    assert!(output.status.success(), "cargo xtask image failed");
    let printed = String::from_utf8(output.stdout).unwrap();
    let id = printed.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim().to_owned();
    Built { layout: folder.join("layout"), archive: folder.join("gangmatch-image.tar"), id }
}

fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned()
}

fn items(list: &Value) -> Vec<Value> {
    list.get("items").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn kubectl(node: &RealNode, namespace: &str, arguments: &[&str]) -> String {
    node.kubectl_text(&[&["-n", namespace], arguments].concat(), None).unwrap()
}

/// Waits for what a `jsonpath` gives, as `kubectl wait` does; shows the object and the controllers' logs if it never comes.
fn wait(node: &RealNode, namespace: &str, object: &str, condition: &str) {
    let timeout = format!("--timeout={}s", LIMIT.as_secs());
    let arguments = ["-n", namespace, "wait", object, &format!("--for={condition}"), &timeout];
    if let Err(error) = node.kubectl_text(&arguments, None) {
        let now = node.kubectl_text(&["-n", namespace, "get", object, "-o", "yaml"], None);
        let pods = node.kubectl_text(&["describe", "pods", "-A"], None);
        let logs = ["-n", NAMESPACE, "logs", "-l", "app.kubernetes.io/name=gangmatch", "--tail=20", "--prefix"];
        let logs = node.kubectl_text(&logs, None);
        panic!("{error:#}\nit is now:\n{now:?}\nthe pods:\n{pods:?}\nthe controllers:\n{logs:?}");
    }
}

/// The Machine of one test; the others wait for their turns, since only the oldest Machine of a node counts.
struct Offers<'n> {
    node: &'n RealNode,
    namespace: &'n str,
    _turn: MutexGuard<'static, ()>,
}

impl Drop for Offers<'_> {
    fn drop(&mut self) {
        self.node.kubectl_text(&["-n", self.namespace, "delete", "gmm", "m", "--wait=false"], None).ok();
    }
}

/// A namespace with the node as a machine, and a license of one seat.
fn offers<'n>(node: &'n RealNode, namespace: &'n str) -> Offers<'n> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    node.kubectl_text(&["create", "namespace", namespace], None).unwrap();
    for (kind, name, spec) in [
        ("Machine", "m", json!({"nodeName": NODE, "constraint": "other.Type == \"Job\""})),
        ("License", "l", json!({"attributes": {"App": "sim", "Price": 7}, "capacity": {"seats": 1}})),
    ] {
        let offer = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec});
        node.apply(&offer.to_string()).unwrap();
    }
    Offers { node, namespace, _turn: turn }
}

/// A job for both offers, whose pod runs this container.
fn submit(node: &RealNode, namespace: &str, container: &Value, more: &Value) {
    let template = json!({"spec": {"backoffLimit": 0, "template": {"spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}}});
    let mut spec = json!({
        "ports": [
            {"label": "cpu", "constraint": "cpu.Type == \"Machine\""},
            {"label": "license", "constraint": "license.Type == \"License\" && license.App == \"sim\""},
        ],
        "workload": {"jobTemplate": template, "env": {"PRICE": "license.Price * 2"}},
    });
    for (path, fields) in more.as_object().unwrap() {
        for (field, value) in fields.as_object().unwrap() {
            spec.pointer_mut(path).unwrap()[field] = value.clone();
        }
    }
    let job = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job",
        "metadata": {"name": "j", "namespace": namespace}, "spec": spec});
    node.apply(&job.to_string()).unwrap();
}

fn seats_are_back(node: &RealNode, namespace: &str) {
    until("the seats to be back", LIMIT, || {
        let claims = |offer: &str| kubectl(node, namespace, &["get", offer, "-o", "jsonpath={.status.claims}"]);
        Ok((["gmm/m", "gml/l"].iter().all(|offer| ["", "{}"].contains(&claims(offer).as_str()))).then_some(()))
    })
    .unwrap();
}

/// The pods of the Deployment that are not being deleted.
fn replicas(node: &RealNode) -> Vec<Value> {
    let arguments = ["-n", NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/name=gangmatch"];
    let all = items(&node.kubectl_json(&arguments).unwrap());
    all.into_iter().filter(|pod| pod.pointer("/metadata/deletionTimestamp").is_none()).collect()
}

/// The pod that leads, once one does.
fn leader(node: &RealNode, except: &str) -> String {
    until("a replica to lead", LIMIT, || {
        let lease = ["-n", NAMESPACE, "get", "lease", "gangmatch", "--ignore-not-found", "-o"];
        let holder = node.kubectl_text(&[&lease[..], &["jsonpath={.spec.holderIdentity}"]].concat(), None)?;
        let pods = replicas(node).into_iter().map(|pod| text(&pod, "/metadata/name"));
        Ok(pods.into_iter().find(|pod| pod != except && holder.starts_with(&format!("{pod}_"))))
    })
    .unwrap()
}

#[test]
fn the_image_is_the_same_each_time_and_runs_as_the_user_of_the_chart() {
    if is_impossible("the_image_is_the_same_each_time_and_runs_as_the_user_of_the_chart") {
        return;
    }
    let folder = installed().node.folder().join("image-again");
    let again = build_image(&folder);
    let first = installed().node.folder().join("image/gangmatch-image.tar");
    assert!(std::fs::read(&again.archive).unwrap() == std::fs::read(first).unwrap(), "the archives differ");
    assert_eq!(again.id, installed().id);

    let json = |path: &Path| serde_json::from_slice::<Value>(&std::fs::read(path).unwrap()).unwrap();
    let blob = |digest: &str| again.layout.join("blobs").join(digest.replace(':', "/"));
    let index = json(&again.layout.join("index.json"));
    let manifest = json(&blob(&text(&index, "/manifests/0/digest")));
    let config = json(&blob(&text(&manifest, "/config/digest")));
    assert_eq!(text(&manifest, "/config/digest"), again.id);
    assert_eq!(text(&config, "/config/User"), "65532:65532");
    assert_eq!(config.pointer("/config/Entrypoint").unwrap(), &json!(["/gangmatch-controller"]));
    let layer = blob(&text(&manifest, "/layers/0/digest"));
    let listed = Command::new("tar").args(["--list", "--file"]).arg(layer).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for file in ["gangmatch-agent", "gangmatch-controller", "licenses/LICENSE", "licenses/THIRD-PARTY-LICENSES"] {
        assert!(listed.lines().any(|line| line == file), "{file} is not in the image:\n{listed}");
    }
}

#[test]
fn the_chart_runs_two_replicas_of_the_image_and_another_one_leads_when_the_leaders_pod_is_deleted() {
    if is_impossible("the_chart_runs_two_replicas_of_the_image_and_another_one_leads_when_the_leaders_pod_is_deleted") {
        return;
    }
    let Installed { node, id } = installed();
    wait(node, NAMESPACE, "deployment/gangmatch", "condition=Available");
    let begun = Instant::now();
    until("two ready replicas", LIMIT, || Ok((ready(node) == 2).then_some(()))).unwrap();
    println!("two replicas are ready {} ms after the Deployment was available", begun.elapsed().as_millis());
    for pod in replicas(node) {
        assert_eq!(text(&pod, "/spec/serviceAccountName"), "gangmatch");
        assert_eq!(text(&pod, "/spec/nodeName"), NODE);
        assert_eq!(text(&pod, "/status/containerStatuses/0/imageID"), *id, "it is the image that was built");
        assert_eq!(pod.pointer("/status/containerStatuses/0/restartCount").unwrap(), 0);
        assert!(text(&pod, "/status/podIP").starts_with("198.19."), "a network of its own, not that of the node");
    }
    let first = leader(node, "");
    let log = kubectl(node, NAMESPACE, &["logs", &first]);
    assert!(!log.is_empty(), "the leader has a log");
    let help = kubectl(node, NAMESPACE, &["exec", &first, "--", "/gangmatch-agent", "--help"]);
    assert!(help.contains("Usage"), "the agent is in the image, too: {help}");

    let begun = Instant::now();
    kubectl(node, NAMESPACE, &["delete", "pod", &first, "--wait=false"]);
    let second = leader(node, &first);
    println!("`kubectl delete pod` of the leader: {second} leads after {} ms", begun.elapsed().as_millis());
    let _offers = offers(node, "after");
    submit(node, "after", &container("true"), &json!({}));
    wait(node, "after", "gmj/j", "condition=Claimed");
    until("the Deployment to have two ready replicas again", LIMIT, || {
        let names: Vec<String> = replicas(node).iter().map(|pod| text(pod, "/metadata/name")).collect();
        Ok((ready(node) == 2 && !names.contains(&first)).then_some(()))
    })
    .unwrap();
}

/// How many replicas are ready.
fn ready(node: &RealNode) -> usize {
    let is_ready = |pod: &Value| pod.pointer("/status/containerStatuses/0/ready").is_some_and(|ready| ready == true);
    replicas(node).iter().filter(|pod| is_ready(pod)).count()
}

/// A container of busybox that runs these words.
fn container(words: &str) -> Value {
    json!({"name": "sim", "image": BUSYBOX, "command": ["/bin/sh", "-c", words]})
}

#[test]
fn the_pods_of_a_job_start_see_their_gang_and_end() {
    if is_impossible("the_pods_of_a_job_start_see_their_gang_and_end") {
        return;
    }
    let Installed { node, .. } = installed();
    let _offers = offers(node, "runs");
    submit(node, "runs", &container("env; echo done"), &json!({}));
    wait(node, "runs", "gmj/j", "jsonpath={.status.phase}=Succeeded");
    seats_are_back(node, "runs");
    let pod = items(&node.kubectl_json(&["-n", "runs", "get", "pods"]).unwrap()).remove(0);
    assert_eq!(text(&pod, "/spec/nodeName"), NODE);
    let seen = kubectl(node, "runs", &["logs", &text(&pod, "/metadata/name")]);
    let found = node.kubectl_json(&["-n", "runs", "get", "gmatch"]).unwrap();
    let name = text(&items(&found).remove(0), "/metadata/name");
    for line in [
        "GANGMATCH_JOB=j",
        &format!("GANGMATCH_MATCH={name}"),
        &format!("GANGMATCH_CPU_NODE={NODE}"),
        "GANGMATCH_LICENSE_NAME=l",
        "GANGMATCH_LICENSE_SEATS=1",
        "PRICE=14",
        "done",
    ] {
        assert!(seen.lines().any(|seen| seen == line), "the container does not print {line}:\n{seen}");
    }
}

#[test]
fn work_that_fails_and_work_that_is_stopped_on_a_real_node_end_their_claims() {
    if is_impossible("work_that_fails_and_work_that_is_stopped_on_a_real_node_end_their_claims") {
        return;
    }
    let Installed { node, .. } = installed();
    let offered = offers(node, "fails");
    submit(node, "fails", &container("exit 3"), &json!({}));
    wait(node, "fails", "gmj/j", "jsonpath={.status.phase}=Failed");
    seats_are_back(node, "fails");
    drop(offered);

    let _offers = offers(node, "stops");
    submit(node, "stops", &container("sleep 3600"), &json!({}));
    wait(node, "stops", "gmj/j", "jsonpath={.status.phase}=Running");
    kubectl(node, "stops", &["delete", "gmj", "j", "--wait=false"]);
    seats_are_back(node, "stops");
    let pods = items(&node.kubectl_json(&["-n", "stops", "get", "pods"]).unwrap());
    let active = pods.iter().filter(|pod| ["Running", "Pending"].contains(&text(pod, "/status/phase").as_str()));
    assert_eq!(active.count(), 0, "seats are back after the last pod");
}

#[test]
fn a_job_whose_pod_cannot_start_is_told_so_and_returns_its_seats() {
    if is_impossible("a_job_whose_pod_cannot_start_is_told_so_and_returns_its_seats") {
        return;
    }
    let Installed { node, .. } = installed();
    let _offers = offers(node, "stuck");
    let absent = json!({"name": "sim", "image": "example.invalid/absent:1", "imagePullPolicy": "Never"});
    let limits = json!({"/workload": {"startTimeoutSeconds": 20}, "": {"retry": {"limit": 0}}});
    submit(node, "stuck", &absent, &limits);
    let reason = "jsonpath={.status.conditions[?(@.type==\"Finished\")].reason}=RetryLimitReached";
    wait(node, "stuck", "gmj/j", reason);
    let job = node.kubectl_json(&["-n", "stuck", "get", "gmj", "j"]).unwrap();
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array).unwrap();
    let finished = conditions.iter().find(|condition| text(condition, "/type") == "Finished").unwrap();
    let message = text(finished, "/message");
    println!("{message}");
    assert!(message.contains("StartTimedOut") && message.contains("ErrImageNeverPull"), "{message}");
    seats_are_back(node, "stuck");
}

/// The ids of all processes in a namespace of processes: those of the node, shims and containers.
fn processes_in(namespace: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    all.filter(|process| std::fs::read_link(process.join("ns/pid")).is_ok_and(|of| of == namespace)).collect()
}

#[test]
fn a_node_that_ends_leaves_nothing_behind() {
    if is_impossible("a_node_that_ends_leaves_nothing_behind") {
        return;
    }
    let node = RealNode::start(&Options::default()).unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [container("sleep 3600")]}});
    node.apply(&pod.to_string()).unwrap();
    wait(&node, "default", "pod/p", "condition=Ready");
    let folder = node.folder().to_path_buf();
    let Traces { device, cgroup, process_namespace } = node.traces().unwrap();
    let groups = || Command::new("find").args(["/sys/fs/cgroup", "-name", &cgroup]).output().unwrap().stdout;
    let processes = || processes_in(&process_namespace);
    let device = Path::new("/sys/class/net").join(device);
    assert!(
        processes().len() >= 6,
        "containerd, kubelet, kube-proxy, a shim and two containers run: {:?}",
        processes()
    );
    assert!(device.exists() && !groups().is_empty());

    let begun = Instant::now();
    drop(node);
    until("the processes to be gone", LIMIT, || Ok(processes().is_empty().then_some(()))).unwrap();
    until("the device to be gone", LIMIT, || Ok((!device.exists()).then_some(()))).unwrap();
    assert_eq!(String::from_utf8(groups()).unwrap(), "", "cgroups");
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&folder.display().to_string()), "mounts:\n{mounts}");
    assert!(!folder.exists(), "{} is gone", folder.display());
    println!("control plane and node are gone after {} ms", begun.elapsed().as_millis());
}

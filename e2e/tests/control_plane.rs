//! Turns the control plane's promises into checks: it is a real one, it can be broken and mended, and it leaves nothing
//! behind.
#![cfg(test)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use testbed::cluster::Choice;
use testbed::control_plane::processes::{Afterwards, Place, Processes, Signal};
use testbed::{Cluster, Component, ControlPlane, Options, User, product, until};

/// Long enough for a busy machine; a test that passes never waits for it.
const LIMIT: Duration = Duration::from_secs(60);
/// Set in the child of the test that kills its child.
const CHILD: &str = "GANGMATCH_CONTROL_PLANE_CHILD";

/// One control plane for the tests that do not break it. Nobody drops it: that it is gone afterwards is the watchdog's
/// work.
fn shared() -> &'static ControlPlane {
    static SHARED: OnceLock<ControlPlane> = OnceLock::new();
    SHARED.get_or_init(|| {
        let alice =
            User { name: "alice".to_owned(), groups: ["team-a", "team-b", "team-c"].map(String::from).to_vec() };
        ControlPlane::start(&Options { kwok: true, users: vec![alice], ..Options::default() }).unwrap()
    })
}

/// What kubectl says when it is refused.
fn refusal(plane: &ControlPlane, user: &Path, arguments: &[&str]) -> String {
    let user = user.display().to_string();
    let output = plane.kubectl(&[&["--kubeconfig", &user], arguments].concat(), None).unwrap();
    assert!(!output.status.success(), "kubectl {arguments:?} was not refused");
    String::from_utf8(output.stderr).unwrap()
}

fn succeeds(plane: &ControlPlane, user: &Path, arguments: &[&str]) -> String {
    plane.kubectl_text(&[&["--kubeconfig", &user.display().to_string()], arguments].concat(), None).unwrap()
}

/// The command lines of all processes of the machine that name a folder.
fn processes_naming(folder: &Path) -> Vec<String> {
    let lines: Vec<String> = if Path::new("/proc/self/cmdline").exists() {
        let all = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("cmdline"));
        // Some are no processes, some have ended since.
        all.filter_map(|path| std::fs::read(path).ok())
            .map(|line| String::from_utf8_lossy(&line).into_owned())
            .collect()
    } else {
        let output = Command::new("ps").args(["-axo", "command="]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    };
    let needle = format!("{}/", folder.display());
    lines.into_iter().filter(|line| line.contains(&needle)).collect()
}

fn assert_nothing_left(folder: &Path) {
    until("the processes to be gone", LIMIT, || Ok(processes_naming(folder).is_empty().then_some(()))).unwrap();
    until("the folder to be gone", LIMIT, || Ok((!folder.exists()).then_some(()))).unwrap();
}

#[test]
fn the_api_answers_with_the_pinned_version() {
    let plane = shared();
    assert_eq!(plane.kubectl_text(&["get", "--raw=/readyz"], None).unwrap(), "ok");
    let version = plane.kubectl_json(&["version"]).unwrap();
    for side in ["/clientVersion/gitVersion", "/serverVersion/gitVersion"] {
        assert_eq!(version.pointer(side).unwrap(), "v1.36.4");
    }
    assert!(plane.helm(&["version", "--short"]).unwrap().starts_with("v4."));
}

#[test]
fn rbac_refuses_whoever_has_no_rights_and_admits_who_has() {
    let plane = shared();
    let carol = plane.user("carol", &["team-x", "team-y"]).unwrap();
    let words = refusal(plane, &carol, &["get", "secrets", "--all-namespaces"]);
    assert!(words.contains(r#"User "carol" cannot list resource "secrets""#), "{words}");

    let binding = ["create", "clusterrolebinding", "team-y-views", "--clusterrole=view", "--group=team-y"];
    plane.kubectl_text(&binding, None).unwrap();
    until("team-y's right", LIMIT, || {
        let list = ["--kubeconfig", &carol.display().to_string(), "get", "configmaps", "--all-namespaces"];
        Ok(plane.kubectl(&list, None)?.status.success().then_some(()))
    })
    .unwrap();
    let words = refusal(plane, &carol, &["get", "secrets", "--all-namespaces"]);
    assert!(words.contains("forbidden"), "{words}");
}

#[test]
fn a_declared_user_has_all_groups_and_a_certificate_two_at_most() {
    let plane = shared();
    let alice = plane.user("alice", &["team-a", "team-b", "team-c"]).unwrap();
    let who = succeeds(
        plane,
        &alice,
        &["auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}"],
    );
    assert_eq!(who, r#"alice ["team-a","team-b","team-c","system:authenticated"]"#);
    let error = plane.user("dave", &["a", "b", "c"]).unwrap_err().to_string();
    assert!(error.contains("two groups at most"), "{error}");
}

#[test]
fn an_existing_cluster_is_used_through_its_kubeconfig_and_stays() {
    let plane = shared();
    let cluster = Cluster::of(&Choice::Kubeconfig(plane.kubeconfig().to_path_buf()), &Options::default()).unwrap();
    assert!(cluster.control_plane().is_none());
    let erin = cluster.user("erin", &["team-a", "team-b", "team-c"]).unwrap().display().to_string();
    let whoami = ["--kubeconfig", &erin, "auth", "whoami", "-o", "jsonpath={.status.userInfo.groups}"];
    let groups = cluster.kubectl_text(&whoami, None).unwrap();
    assert_eq!(groups, r#"["team-a","team-b","team-c","system:authenticated"]"#);
    drop(cluster);
    assert_eq!(plane.kubectl_text(&["get", "--raw=/readyz"], None).unwrap(), "ok");
    assert!(Cluster::of(&Choice::Kubeconfig(PathBuf::from("/nowhere")), &Options::default()).is_err());
}

#[test]
fn a_service_account_has_a_token() {
    let plane = shared();
    plane.kubectl_text(&["create", "serviceaccount", "robot"], None).unwrap();
    let robot = plane.service_account("default", "robot").unwrap();
    let who = succeeds(plane, &robot, &["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]);
    assert_eq!(who, "system:serviceaccount:default:robot");
}

#[test]
fn garbage_collection_follows_an_owner() {
    let plane = shared();
    plane.apply(&config_map("owner", "")).unwrap();
    let owner = plane.kubectl_json(&["get", "configmap", "owner"]).unwrap();
    let uid = owner.pointer("/metadata/uid").and_then(|uid| uid.as_str()).unwrap();
    let reference = format!(
        r#", "ownerReferences": [{{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "{uid}"}}]"#
    );
    plane.apply(&config_map("owned", &reference)).unwrap();
    plane.kubectl_text(&["delete", "configmap", "owner"], None).unwrap();
    plane.kubectl_text(&["wait", "--for=delete", "configmap/owned", "--timeout=60s"], None).unwrap();
}

fn config_map(name: &str, metadata: &str) -> String {
    format!(r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "{name}"{metadata}}}}}"#)
}

#[test]
fn a_job_runs_to_its_end_on_a_fake_node() {
    let plane = shared();
    product::create_fake_node(plane, "fake-0").unwrap();
    plane.kubectl_text(&["create", "job", "sleep", "--image=nowhere.invalid/none", "--", "true"], None).unwrap();
    plane.kubectl_text(&["wait", "--for=condition=Complete", "job/sleep", "--timeout=60s"], None).unwrap();
}

#[test]
fn the_controller_leads_by_one_lease_and_reads_no_secret() {
    let plane = shared();
    product::install_chart(plane, &[]).unwrap();
    let controller = product::controller_kubeconfig(plane).unwrap();
    assert_eq!(succeeds(plane, &controller, &["auth", "can-i", "list", "matches.gangmatch.dev", "-A"]).trim(), "yes");
    let lease = ["auth", "can-i", "update", "leases.coordination.k8s.io/gangmatch", "-n", product::NAMESPACE];
    assert_eq!(succeeds(plane, &controller, &lease).trim(), "yes", "the lease by which it leads");
    // no other lease: the answer is no
    refusal(
        plane,
        &controller,
        &["auth", "can-i", "update", "leases.coordination.k8s.io/other", "-n", product::NAMESPACE],
    );
    refusal(plane, &controller, &["auth", "can-i", "update", "leases.coordination.k8s.io/gangmatch", "-n", "default"]);
    let words = refusal(plane, &controller, &["get", "secrets", "--all-namespaces"]);
    assert!(words.contains("forbidden"), "{words}");
}

#[test]
fn the_audit_log_has_what_people_do_and_not_what_the_control_plane_does() {
    let plane = shared();
    plane.kubectl_text(&["create", "configmap", "audited"], None).unwrap();
    let log = until("the entry", LIMIT, || {
        let log = std::fs::read_to_string(plane.audit_log())?;
        Ok(log.contains(r#""name":"audited""#).then_some(log))
    })
    .unwrap();
    assert!(log.lines().all(|line| !line.contains(r#""username":"system:kube-"#)));
}

#[test]
fn killed_components_come_back_with_their_data_beside_another_control_plane() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    assert_ne!(plane.kubeconfig(), shared().kubeconfig());
    plane.kubectl_text(&["create", "configmap", "kept"], None).unwrap();
    for component in [Component::Apiserver, Component::Etcd] {
        plane.kill(component).unwrap();
        assert!(plane.kill(component).is_err(), "a dead component cannot be killed");
        assert!(!plane.kubectl(&["get", "configmap", "kept", "--request-timeout=1s"], None).unwrap().status.success());
        plane.restart(component).unwrap();
        until("the ConfigMap", LIMIT, || {
            Ok(plane.kubectl(&["get", "configmap", "kept"], None)?.status.success().then_some(()))
        })
        .unwrap();
    }
    assert!(!shared().kubectl(&["get", "configmap", "kept"], None).unwrap().status.success());
    let folder = plane.processes().folder().to_path_buf();
    assert!(!processes_naming(&folder).is_empty());
    drop(plane);
    assert!(processes_naming(&folder).is_empty());
    assert!(!folder.exists());
}

#[test]
fn a_kept_folder_has_its_logs_and_no_processes() {
    let folder = std::env::temp_dir().join(format!("gangmatch kept, that's {}", std::process::id()));
    let processes = Processes::create(&Place::At(folder.clone()), Afterwards::Keep).unwrap();
    assert!(Processes::create(&Place::At(folder.clone()), Afterwards::Keep).is_err(), "one owner for a folder");
    assert!(processes.start("stray", &["tail".to_owned()], &[]).is_err(), "the watchdog would not know it");
    let followed = processes.folder().join("followed");
    std::fs::write(&followed, "said\n").unwrap();
    let command = ["tail", "-f", &followed.display().to_string()].map(String::from);
    processes.start("tail", &command, &[("WORD", "it's")]).unwrap();
    until("its words", LIMIT, || Ok(processes.log_tail("tail").starts_with("said").then_some(()))).unwrap();
    processes.signal("tail", Signal::Stop).unwrap();
    assert!(processes.is_running("tail"));
    processes.signal("tail", Signal::Continue).unwrap();
    processes.end("tail", Signal::Terminate).unwrap();
    assert!(!processes.is_running("tail"));
    processes.restart("tail").unwrap();
    drop(processes);
    assert!(processes_naming(&folder).is_empty());
    assert!(std::fs::read_to_string(folder.join("log/tail.log")).unwrap().starts_with("said"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_detached_control_plane_is_found_again_and_taken_down() {
    let folder = std::env::temp_dir().join(format!("gangmatch-detached-{}", std::process::id()));
    let options = Options { place: Place::At(folder.clone()), ..Options::default() };
    ControlPlane::start(&options).unwrap().detach().unwrap();
    let again = ControlPlane::attach(&folder).unwrap();
    again.kill(Component::ControllerManager).unwrap();
    again.restart(Component::ControllerManager).unwrap();
    drop(again);
    assert_eq!(ControlPlane::attach(&folder).unwrap().kubectl_text(&["get", "--raw=/readyz"], None).unwrap(), "ok");
    ControlPlane::end(&folder).unwrap();
    assert_nothing_left(&folder);
    assert!(ControlPlane::attach(&folder).is_err());
    ControlPlane::end(&folder).unwrap();
}

#[test]
fn a_parent_that_is_killed_leaves_nothing_behind() {
    if std::env::var_os(CHILD).is_some() {
        let plane = ControlPlane::start(&Options::default()).unwrap();
        println!("\nfolder {}", plane.processes().folder().display());
        // Until somebody kills us.
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_parent_that_is_killed_leaves_nothing_behind", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let folder = lines.map(Result::unwrap).find_map(|line| line.strip_prefix("folder ").map(PathBuf::from)).unwrap();
    assert!(!processes_naming(&folder).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_nothing_left(&folder);
}

//! Checks the plugin where it reads a cluster. It does so with kubectl, so that the current context and the rights of its user apply.
#![cfg(test)]

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use testbed::{ControlPlane, Options, product, repository};

fn gangmatch(plane: &ControlPlane, kubeconfig: &Path, arguments: &[&str]) -> Output {
    product::plugin(plane, kubeconfig, arguments).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_summary_of_the_cluster_is_that_of_its_manifests() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let example = repository::root().join("examples/floating").display().to_string();
    plane.kubectl_text(&["apply", "-f", &example], None).unwrap();
    let me = plane.kubectl_text(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], None).unwrap();
    let summary = |arguments: &[&str]| -> Value {
        let output = gangmatch(&plane, plane.kubeconfig(), &[&["summary", "-o", "json"], arguments].concat());
        assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let of_cluster = summary(&[]);
    assert_eq!(of_cluster, summary(&["-f", "examples/floating", "--as", &me]));
    assert_eq!(of_cluster["classes"]["license"]["free"]["seats"]["sum"], 1, "{of_cluster}");

    let user_without_roles = plane.user("carol", &[]).unwrap();
    let output = gangmatch(&plane, &user_without_roles, &["summary"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("carol may not list machines.gangmatch.dev in namespace default"),
        "{}",
        said(&output)
    );
}

/// What a verb prints; its exit status must be this.
fn prints(plane: &ControlPlane, kubeconfig: &Path, arguments: &[&str], status: i32) -> String {
    let output = gangmatch(plane, kubeconfig, arguments);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}{}", said(&output));
    if status == 0 { text } else { format!("{text}{}", said(&output)) }
}

/// The same as JSON.
fn data(plane: &ControlPlane, arguments: &[&str]) -> Value {
    let all = [arguments, &["-o", "json"]].concat();
    serde_json::from_str(&prints(plane, plane.kubeconfig(), &all, 0)).unwrap()
}

fn wait_for(plane: &ControlPlane, job: &str, condition: &str) {
    let condition = format!("--for=condition={condition}");
    plane.kubectl_text(&["wait", &format!("gmj/{job}"), &condition, "--timeout=60s"], None).unwrap();
}

#[test]
fn the_verbs_see_a_cluster_and_change_it() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    let me = plane.kubeconfig();
    let said = prints(&plane, me, &["queue"], 2);
    assert!(said.contains("gangmatch is not installed in this cluster"), "{said}");

    product::install_chart(&plane, &[]).unwrap();
    let said = prints(&plane, me, &["status"], 1);
    assert!(said.contains("Controller: none: there is no Lease"), "{said}");
    let controller = product::start_controller(&plane, &product::controller_kubeconfig(&plane).unwrap(), &[]).unwrap();
    let example = repository::root().join("examples/quickstart").display().to_string();
    plane.kubectl_text(&["apply", "-f", &example], None).unwrap();
    wait_for(&plane, "sim", "Claimed");

    let status = data(&plane, &["status"]);
    assert_eq!((&status["controller"]["leads"], &status["claims"]["held"]), (&true.into(), &1.into()), "{status}");
    assert!(status["controller"]["holder"].as_str().unwrap().starts_with(controller.name()), "{status}");
    assert_eq!(
        (&status["licenses"][0]["amounts"][0]["free"], &status["jobs"][0]["phase"]),
        (&0.into(), &"Claimed".into())
    );
    let job = data(&plane, &["describe", "job/sim"]);
    assert_eq!(job["members"][0]["member"], "Machine default/foo", "{job}");
    assert_eq!(job["events"].as_array().map(|events| events.is_empty()), Some(false), "{job}");
    let license = data(&plane, &["describe", "license", "sim-app"]);
    assert_eq!(
        (&license["claims"][0]["job"], &license["claims"][0]["with"][0]),
        (&"default/sim".into(), &"Machine default/foo".into())
    );
    let query = ["query", "machines", "-c", "Memory >= 256M && State == \"Unclaimed\"", "-a", "Arch"];
    assert_eq!(data(&plane, &query)["items"][0]["attributes"]["Arch"], "INTEL");
    assert_eq!(prints(&plane, me, &["__complete", "describe", "machine/f"], 0), "machine/foo\n:4\n");

    let second = std::fs::read_to_string(repository::root().join("examples/quickstart/job.yaml")).unwrap();
    plane.apply(&second.replace("name: sim", "name: second")).unwrap();
    let row = testbed::until("the second job in the queue", std::time::Duration::from_secs(60), || {
        let queue = data(&plane, &["queue"]);
        Ok(queue["items"].get(0).filter(|row| row["reason"] == "WaitingForCapacity").cloned())
    });
    let row = row.unwrap();
    assert_eq!((&row["position"], &row["name"]), (&1.into(), &"second".into()), "{row}");

    assert!(prints(&plane, me, &["drain", "machine/foo"], 0).contains("drained (stopPolicy: Hold); 1 claim continues"));
    assert_eq!(plane.kubectl_text(&["get", "gmm", "foo", "-o", "jsonpath={.spec.stopPolicy}"], None).unwrap(), "Hold");
    prints(&plane, me, &["undrain", "machine/foo"], 0);
    prints(&plane, me, &["suspend", "second"], 0);
    assert_eq!(data(&plane, &["queue"])["items"], serde_json::json!([]));
    prints(&plane, me, &["resume", "second"], 0);
    prints(&plane, me, &["release", "sim", "--dry-run=server"], 0);
    assert_eq!(plane.kubectl_text(&["get", "gmj", "sim", "-o", "jsonpath={.spec.done}"], None).unwrap(), "false");
    prints(&plane, me, &["release", "sim"], 0);
    wait_for(&plane, "sim", "Finished");
    wait_for(&plane, "second", "Claimed");
    let history = data(&plane, &["history", "sim"]);
    assert_eq!(
        (&history["items"][0]["reason"], &history["items"][0]["job"]),
        (&"Done".into(), &"sim".into()),
        "{history}"
    );
    prints(&plane, me, &["release", "second", "--requeue"], 0);
    let released = testbed::until("the released claim", std::time::Duration::from_secs(60), || {
        let job = plane.kubectl_json(&["get", "gmj", "second", "-o", "json"])?;
        Ok((job["status"]["attempts"] == 2).then_some(()))
    });
    released.unwrap();
    plane.apply(&second.replace("name: sim", "name: third")).unwrap();
    prints(&plane, me, &["cancel", "third"], 0);
    wait_for(&plane, "third", "Finished");
    assert_eq!(
        plane.kubectl_text(&["get", "gmj", "third", "-o", "jsonpath={.status.phase}"], None).unwrap(),
        "Cancelled"
    );
}

#[test]
fn a_tenant_sees_what_its_rights_allow_and_is_told_which_are_missing() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    plane.kubectl_text(&["create", "namespace", "other"], None).unwrap();
    let second = std::fs::read_to_string(repository::root().join("examples/quickstart/job.yaml")).unwrap();
    plane.apply(&second).unwrap();
    plane.apply(&second.replace("name: sim", "name: secret, namespace: other")).unwrap();
    let dora = plane.user("dora", &[]).unwrap();
    let said = prints(&plane, &dora, &["queue"], 2);
    let (_, grant) = said.trim_end().split_once("can grant it: kubectl ").unwrap();
    // The command that it is told works.
    plane.kubectl_text(&grant.split_whitespace().collect::<Vec<_>>(), None).unwrap();
    let output = gangmatch(&plane, &dora, &["queue", "-A", "-o", "name"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((text.as_str(), output.status.code()), ("job.gangmatch.dev/sim\n", Some(0)), "{}", self::said(&output));
    assert!(
        self::said(&output).contains("note: only the jobs, matches of namespace default are shown"),
        "{}",
        self::said(&output)
    );
    // What may be listed everywhere is, beside what may not.
    plane
        .kubectl_text(&["create", "clusterrole", "machines", "--verb=list", "--resource=machines.gangmatch.dev"], None)
        .unwrap();
    plane
        .kubectl_text(&["create", "clusterrolebinding", "machines", "--clusterrole=machines", "--user=dora"], None)
        .unwrap();
    let machine = r#"{"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "far", "namespace": "other"}, "spec": {}}"#;
    plane.apply(machine).unwrap();
    let status: Value = serde_json::from_str(&prints(&plane, &dora, &["status", "-o", "json"], 0)).unwrap();
    assert_eq!((&status["machines"]["Unknown"], &status["jobs"][0]["count"]), (&1.into(), &1.into()), "{status}");
    assert!(
        status["controller"]["message"].as_str().unwrap().starts_with("not known: dora may not get leases"),
        "{status}"
    );
    let said = prints(&plane, &dora, &["suspend", "sim"], 1);
    assert!(
        said.contains("dora may not patch jobs.gangmatch.dev in namespace default")
            && said.contains("gangmatch-submitter"),
        "{said}"
    );
    assert!(
        prints(&plane, &dora, &["describe", "job/secret"], 1).contains("there is no job `secret` in namespace default")
    );
}

//! Turns upgrades, rollbacks and uninstallations of the chart into checks on the claims that exist meanwhile.

use std::path::Path;

use serde_json::Value;
use testbed::cluster::Choice;
use testbed::control_plane::processes::Signal;
use testbed::product::{self, Controller, NAMESPACE};
use testbed::{Cluster, Options};

use crate::stage::{Namespace, Stage, job, license, machine, text};

/// What must not change about a claim: the Match and its decision, the claim of the job, the entries of the offers.
fn claim(here: &Namespace, name: &str) -> [Value; 4] {
    let job = here.get(&format!("gmj/{name}"));
    let uid = text(&job, "/status/claim/uid");
    let found = here.get(&format!("gmatch/{}", text(&job, "/status/claim/match")));
    assert_eq!(
        (text(&found, "/metadata/uid"), text(&found, "/status/decision")),
        (uid.clone(), "Committed".to_owned())
    );
    let entry = |offer: &str| here.get(offer).pointer(&format!("/status/claims/{uid}")).cloned().unwrap_or_default();
    let entries = [entry("gmm/m"), entry("gml/l")];
    assert!(entries.iter().all(Value::is_object), "{entries:?}");
    let [of_machine, of_license] = entries;
    [found.pointer("/spec").cloned().unwrap(), job.pointer("/status/claim").cloned().unwrap(), of_machine, of_license]
}

/// A controller as the chart now wants it, in the place of another one, as a rolling update does it.
fn replaced(here: &Namespace, former: &Controller<'_>) -> Controller<'static> {
    let kubeconfig = product::controller_kubeconfig(here.access()).unwrap();
    let next = product::start_controller(here.access(), &kubeconfig, &[]).unwrap();
    former.end(Signal::Terminate).unwrap();
    next
}

fn claimed(test: &str) -> Namespace {
    let here = Stage::own().namespace(test);
    here.apply(&[machine("m"), license("l", "sim", 9, 1), job("first", "sim")].concat());
    here.wait("gmj/first", "Claimed");
    here
}

fn arguments(here: &Namespace) -> String {
    let path = "jsonpath={.spec.template.spec.containers[0].args}";
    here.access().kubectl_text(&["-n", NAMESPACE, "get", "deployment", "gangmatch", "-o", path], None).unwrap()
}

#[test]
fn an_upgrade_and_a_rollback_leave_claims_as_they_are() {
    let here = claimed("upgrade");
    let before = claim(&here, "first");

    product::install_chart(here.access(), &["negotiation.limitSeconds=4"]).unwrap();
    assert!(arguments(&here).contains("--cycle-limit-seconds=4"), "{}", arguments(&here));
    let upgraded = replaced(&here, &here.stage.controller);
    here.apply(&[machine("second"), job("second", "sim")].concat());
    here.wait("gmj/second", "Claimed");
    assert_eq!(claim(&here, "first"), before, "after the upgrade");

    here.access().helm(&["rollback", "gangmatch", "1", "--namespace", NAMESPACE]).unwrap();
    assert!(arguments(&here).contains("--cycle-limit-seconds=5"), "{}", arguments(&here));
    let _rolled_back = replaced(&here, &upgraded);
    here.apply(&[machine("third"), job("third", "sim")].concat());
    here.wait("gmj/third", "Claimed");
    assert_eq!(claim(&here, "first"), before, "after the rollback");

    product::install_chart(here.access(), &["crds.install=false"]).unwrap();
    assert_eq!(claim(&here, "first"), before, "definitions that are no longer part of the release stay");
}

#[test]
fn an_uninstallation_keeps_claims_and_a_new_installation_continues_them() {
    let here = claimed("uninstall");
    let before = claim(&here, "first");
    here.access().helm(&["uninstall", "gangmatch", "--namespace", NAMESPACE]).unwrap();
    here.stage.controller.end(Signal::Terminate).unwrap();
    assert_eq!(claim(&here, "first"), before, "without gangmatch");

    product::install_chart(here.access(), &[]).unwrap();
    let kubeconfig = product::controller_kubeconfig(here.access()).unwrap();
    let _again = product::start_controller(here.access(), &kubeconfig, &[]).unwrap();
    here.apply(&[machine("second"), job("second", "sim")].concat());
    here.wait("gmj/second", "Claimed");
    assert_eq!(claim(&here, "first"), before, "after the new installation");
    here.merge("gmj/first", r#"{"spec": {"done": true}}"#);
    here.wait("gmj/first", "Finished");
    here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
}

/// On demand: `GANGMATCH_FORMER` is a checkout of an earlier version in which `cargo build --bin gangmatch-controller` was run.
#[test]
fn an_upgrade_from_an_earlier_version_leaves_its_claims_and_finishes_those_under_way() {
    let Ok(former) = std::env::var("GANGMATCH_FORMER") else {
        eprintln!("SKIPPED: GANGMATCH_FORMER names no checkout of an earlier version with its controller built");
        return;
    };
    let former = Path::new(&former);
    let cluster: &'static Cluster = Box::leak(Box::new(Cluster::of(&Choice::Processes, &Options::default()).unwrap()));
    product::install_chart_of(cluster, former, &[]).unwrap();
    let kubeconfig = product::controller_kubeconfig(cluster).unwrap();
    let executable = former.join("target/debug/gangmatch-controller");
    let controller = product::spawn_executable(cluster, &executable, &kubeconfig, &[]).unwrap();
    controller.wait_until_ready().unwrap();
    let stage: &'static Stage = Box::leak(Box::new(Stage { cluster, controller }));
    let here = stage.namespace("former");
    here.apply(&[machine("m"), license("l", "sim", 40, 1), job("first", "sim")].concat());
    here.wait("gmj/first", "Claimed");
    let before = claim(&here, "first");

    let under_way: Vec<String> = (0..30).map(|number| format!("j{number}")).collect();
    here.apply(&under_way.iter().map(|name| machine(&format!("m-{name}")) + &job(name, "sim")).collect::<String>());
    here.until("the first of the gangs under way", || (here.list("gmatch").len() > 3).then_some(()));
    stage.controller.end(Signal::Kill).unwrap();
    let state = |of: &str| here.list("gmatch").iter().filter(|one| text(one, "/status/decision") == of).count();
    println!("killed with {} Matches committed and {} undecided", state("Committed"), state(""));

    product::install_chart(cluster, &[]).unwrap();
    let kubeconfig = product::controller_kubeconfig(cluster).unwrap();
    let _present = product::start_controller(cluster, &kubeconfig, &[]).unwrap();
    for name in &under_way {
        here.wait(&format!("gmj/{name}"), "Claimed");
    }
    assert_eq!(claim(&here, "first"), before, "after the upgrade");
    assert_eq!(here.entries("gml/l"), 31);
    for name in under_way.iter().map(String::as_str).chain(["first"]) {
        here.kubectl(&["delete", "gmj", name], None);
    }
    here.until("all seats to be free", || (here.entries("gml/l") == 0).then_some(()));
}

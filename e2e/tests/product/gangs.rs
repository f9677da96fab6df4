//! Turns ads applied by kubectl into claimed gangs, or into the reason why not: what a user sees on a real API server.

use crate::stage::{Namespace, Stage, condition, job, license, machine, name, text};

fn here(test: &str) -> Namespace {
    Stage::shared().namespace(test)
}

/// The quick start as a user meets it: applied, claimed, ended.
fn quickstart(here: &Namespace, folder: &str) {
    here.apply_example(folder);
    here.wait("gmj/sim", "Claimed");
    let members = format!("cpu={0}/foo license={0}/sim-app", here.name);
    assert_eq!(text(&here.get("gmj/sim"), "/status/members"), members);
    let found = here.list("gmatch").remove(0);
    assert_eq!(text(&found, "/status/decision"), "Committed");
    assert_eq!(text(&found, "/spec/summary"), members);
    let columns = here.kubectl(&["get", "gmj,gmatch"], None);
    for word in ["Claimed", "Committed", &members] {
        assert!(columns.contains(word), "{columns}");
    }
    assert_eq!(text(&here.get("gmm/foo"), "/status/used"), "1/1 slots");
    assert_eq!(condition(&here.get("gmj/sim"), "Accepted").1, "Accepted");

    here.merge("gmj/sim", r#"{"spec": {"done": true}}"#);
    here.wait("gmj/sim", "Finished");
    assert_eq!(text(&here.get("gmj/sim"), "/status/phase"), "Succeeded");
    assert_eq!(text(&here.list("gmatch").remove(0), "/status/reason"), "Done");
    for offer in ["gmm/foo", "gml/sim-app"] {
        assert_eq!(here.entries(offer), 0, "{offer}");
        here.wait(offer, "jsonpath={.status.state}=Available");
    }
}

#[test]
fn quick_start_as_fields() {
    quickstart(&here("fields"), "quickstart");
}

#[test]
fn quick_start_as_classad_text() {
    quickstart(&here("text"), "quickstart/classad");
}

#[test]
fn three_jobs_and_two_seats() {
    let here = here("counted");
    here.apply_example("counted");
    // While the ads are still being applied, one after the other, a job may wait for something else: the machines that are not there yet.
    let waiting = here.until("two jobs to be claimed and the third to wait for a seat", || {
        let waiting = here.with_reason("gmj", "Matched", "WaitingForCapacity");
        let claimed = here.with_reason("gmj", "Claimed", "Committed");
        let waiting = format!("gmj/{}", waiting.first()?);
        let why = text(&here.get(&waiting), "/status/why");
        (claimed.len() == 2 && why.contains("`license`: 1 ad that would match is taken")).then_some(waiting)
    });
    assert_eq!(text(&here.get("gml/solver"), "/status/used"), "2/2 seats");

    let running = here.with_reason("gmj", "Claimed", "Committed");
    here.merge(&format!("gmj/{}", running[0]), r#"{"spec": {"done": true}}"#);
    here.wait(&waiting, "Claimed");
    assert_eq!(text(&here.get("gml/solver"), "/status/used"), "2/2 seats");
}

#[test]
fn a_host_locked_licence_decides_the_machine_against_the_jobs_rank() {
    let here = here("locked");
    here.apply_example("host-locked");
    here.wait("gmj/draw", "Claimed");
    let members = text(&here.get("gmj/draw"), "/status/members");
    assert_eq!(members, format!("cpu={0}/licensed license={0}/cad", here.name));
    assert_eq!(here.entries("gmm/fast"), 0);
}

#[test]
fn a_floating_licence_is_one_seat_for_all_on_one_machine() {
    let here = here("floating");
    here.apply_example("floating");
    for job in ["gmj/fit-1", "gmj/fit-2", "gmj/fit-3"] {
        here.wait(job, "Claimed");
    }
    assert_eq!(here.entries("gml/matlab"), 3);
    assert_eq!(text(&here.get("gml/matlab"), "/status/used"), "1/1 seats");
    for job in ["gmj/fit-1", "gmj/fit-2"] {
        here.merge(job, r#"{"spec": {"done": true}}"#);
        here.wait(job, "Finished");
    }
    assert_eq!(text(&here.get("gml/matlab"), "/status/used"), "1/1 seats", "the last one still sits there");
    here.merge("gmj/fit-3", r#"{"spec": {"done": true}}"#);
    here.wait("gmj/fit-3", "Finished");
    assert_eq!(text(&here.get("gml/matlab"), "/status/used"), "0/1 seats");
    here.until("the seat to be taken away", || seats(&here).is_empty().then_some(()));
}

/// The share keys under which a license keeps seats.
fn seats(here: &Namespace) -> Vec<String> {
    let license = here.get("gml/matlab");
    license
        .pointer("/status/shared")
        .and_then(|shared| shared.as_object())
        .into_iter()
        .flat_map(|all| all.keys().cloned())
        .collect()
}

#[test]
fn sharers_that_leave_side_by_side_leave_no_seat_behind() {
    let here = here("sharers");
    here.apply_example("floating");
    for job in ["gmj/fit-1", "gmj/fit-2", "gmj/fit-3"] {
        here.wait(job, "Claimed");
    }
    here.kubectl(&["delete", "gmj", "--all"], None);
    here.until("the seat to be taken away", || {
        (here.entries("gml/matlab") == 0 && seats(&here).is_empty()).then_some(())
    });
}

#[test]
fn an_owners_machine_refuses_riffraff() {
    let here = here("riffraff");
    here.apply_example("quickstart");
    here.wait("gmj/sim", "Claimed");
    here.delete("gmj/sim");
    here.kubectl(&["create", "role", "submitter", "--verb=*", "--resource=jobs.gangmatch.dev"], None);
    let job = std::fs::read_to_string(testbed::repository::root().join("examples/quickstart/job.yaml")).unwrap();
    for user in ["riffraff", "raman"] {
        let kubeconfig = here.access().user(user, &[]).unwrap().display().to_string();
        here.kubectl(&["create", "rolebinding", user, "--role=submitter", &format!("--user={user}")], None);
        here.kubectl(&["--kubeconfig", &kubeconfig, "apply", "-f", "-"], Some(&job));
        assert_eq!(text(&here.get("gmj/sim"), "/spec/owner"), user);
        if user == "riffraff" {
            let why = here.wait_reason("gmj/sim", "Matched", "RefusedByOffers");
            assert!(why.contains("port `cpu`") && why.contains("refused by its owner's constraint"), "{why}");
            here.delete("gmj/sim");
        } else {
            here.wait("gmj/sim", "Claimed");
        }
    }
}

#[test]
fn nobody_matches_and_the_job_says_why_with_counts() {
    let here = here("why");
    let machines: String = ["a", "b", "c"].into_iter().map(machine).collect();
    let picky = r#"
apiVersion: gangmatch.dev/v1alpha1
kind: Job
metadata: {name: picky}
spec:
  ports:
  - label: cpu
    constraint: cpu.Arch == "SPARC" && cpu.Memory >= 1024
"#;
    here.apply(&format!("{machines}{picky}"));
    // The job may have been looked at before all machines were there.
    here.wait("gmj/picky", "jsonpath={.status.conditions[?(@.type==\"Matched\")].reason}=NoCandidates");
    let job = here.get("gmj/picky");
    let why = text(&job, "/status/why");
    assert!(why.starts_with("port `cpu`: none of"), "{why}");
    assert!(why.contains("`cpu.Arch == \"SPARC\"` rejects"), "{why}");
    let hint = text(&job, "/status/unmatched/hint");
    assert!(hint.contains("cpu.Arch == \"SPARC\""), "{hint}");
    assert_eq!(text(&job, "/status/unmatched/ports/0/label"), "cpu");
    assert!(here.list("gmatch").is_empty());
}

#[test]
fn a_malformed_ad_is_told_where_and_stops_nothing_else() {
    let here = here("malformed");
    here.apply(&(machine("m") + &license("l", "sim", 1, 1)));
    let broken = r#"
apiVersion: gangmatch.dev/v1alpha1
kind: Job
metadata: {name: broken}
spec:
  ports:
  - label: cpu
    constraint: cpu.Arch = "INTEL" && cpu.Memory >= 64
---
apiVersion: gangmatch.dev/v1alpha1
kind: Machine
metadata: {name: odd}
spec:
  classad: |
    [ Arch = "INTEL";
      Requirements = (LoadAvg < 0.3 ]
---
"#;
    here.apply(&format!("{broken}{}", job("good", "sim")));
    let message = here.wait_reason("gmj/broken", "Accepted", "ParseError");
    for word in ["spec.ports[0].constraint", "line 1, column 10", "`==`"] {
        assert!(message.contains(word), "{word} is not in: {message}");
    }
    let message = here.wait_reason("gmm/odd", "Accepted", "ParseError");
    for word in ["spec.classad", "line 2", "("] {
        assert!(message.contains(word), "{word} is not in: {message}");
    }
    assert_eq!(condition(&here.get("gmj/broken"), "Matched").1, "NotAccepted");
    here.wait("gmj/good", "Claimed");

    here.apply(&broken.replace("Arch = \"INTEL\" &&", "Arch == \"INTEL\" &&").replace("(LoadAvg", "LoadAvg"));
    here.wait("gmj/broken", "Accepted");
    here.wait("gmm/odd", "Accepted");
}

#[test]
fn offers_take_jobs_of_other_namespaces_only_with_both_consents() {
    let (grid, eda) = (here("grid"), here("eda"));
    // Other tests' jobs, which may wait for any machine, are not to have it.
    let ours = format!("constraint: 'other.Namespace == \"{}\"'", eda.name);
    let anybodys = "constraint: 'other.Type == \"Job\"'";
    grid.apply(&machine("m").replace(anybodys, &format!("allowedNamespaces: {{from: All}}, {ours}")));
    let job = "{apiVersion: gangmatch.dev/v1alpha1, kind: Job, metadata: {name: j}, spec: {ports: [{label: cpu, constraint: 'cpu.Type == \"Machine\"'}]}}";
    eda.apply(job);
    eda.until("the job to say what is missing", || {
        text(&eda.get("gmj/j"), "/status/why").contains("lacks the label gangmatch.dev/offers=cluster").then_some(())
    });
    grid.until("the machine to say what is missing", || {
        condition(&grid.get("gmm/m"), "Ready").2.contains("gangmatch.dev/offers=cluster").then_some(())
    });
    grid.kubectl(&["label", "namespace", &grid.name, "gangmatch.dev/offers=cluster"], None);
    eda.wait("gmj/j", "Claimed");
    assert_eq!(text(&eda.get("gmj/j"), "/status/members"), format!("cpu={}/m", grid.name));
    assert_eq!(name(&eda.list("gmatch").remove(0)).split('-').next(), Some("j"));
}

#[test]
fn m1_a_drained_license_is_named_by_the_jobs_that_wait_for_it() {
    let here = here("drained");
    here.apply(&format!("{}{}{}", machine("m"), license("vcs", "vcs", 4, 1), license("other", "other", 1, 1)));
    here.merge("gml/vcs", r#"{"spec": {"stopPolicy": "Hold"}}"#);
    here.wait("gml/vcs", "jsonpath={.status.state}=Draining");
    here.apply(&job("sim", "vcs"));
    let message = here.wait_reason("gmj/sim", "Matched", "OffersUnavailable");
    let wanted = format!(
        "port `license`: License {}/vcs (draining, stopPolicy is Hold) would match, but is not available",
        here.name
    );
    assert_eq!((message, text(&here.get("gmj/sim"), "/status/why")), (wanted.clone(), wanted));
    here.merge("gml/vcs", r#"{"spec": {"stopPolicy": "None"}}"#);
    here.wait("gmj/sim", "Claimed");
}

#[test]
fn m3_the_missing_label_of_a_namespace_is_told_by_the_jobs_that_wait_for_its_offers() {
    let (owner, here) = (here("unlabelled"), here("asking"));
    owner.apply(&license("vcs", "vcs", 4, 1));
    owner.merge("gml/vcs", r#"{"spec": {"allowedNamespaces": {"from": "All"}}}"#);
    here.apply(&machine("m"));
    here.apply(&job("sim", "vcs"));
    // What a stranger offers is told beside the reason, and is not the reason.
    let message = here.wait_reason("gmj/sim", "Matched", "NoCandidates");
    let told = "port `license`: offers of another namespace would match, but that namespace lacks the label gangmatch.dev/offers=cluster";
    assert!(message.ends_with(told), "{message}");
    let hint = text(&here.get("gmj/sim"), "/status/unmatched/hint");
    assert!(hint.ends_with("kubectl label namespace NAMESPACE gangmatch.dev/offers=cluster"), "{hint}");
    owner.access().kubectl_text(&["label", "namespace", &owner.name, "gangmatch.dev/offers=cluster"], None).unwrap();
    here.wait("gmj/sim", "Claimed");
}

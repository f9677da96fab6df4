//! Turns the table of `docs/admission.md` into requests of real users: each cell says what the API server answers.
//!
//! All requests are dry runs, which pass authentication, authorization and admission like any other. After a change that is meant,
//! write the table anew with `UPDATE_ADMISSION=1 cargo test --test product admission`, and read it.

use std::path::PathBuf;

use serde_json::{Value, json};
use testbed::control_plane::processes::Signal;
use testbed::{Requests, ServerRefusal, product, repository};

use crate::agents::rights;
use crate::paths::{collection_of, path_of, place_of};
use crate::stage::{Namespace, Stage, job, license, machine, name, text};

/// Where the table is, and the lines around it.
const PAGE: &str = "docs/admission.md";
const BEGIN: &str = "<!-- The table is written by e2e/tests/product/admission.rs. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

const AGENT: &str = "the agent";
/// What an agent is told that adds a claim, and what others are told that write a status.
const NO_CLAIMS: &str = "an agent cannot add or remove claims";
const NO_STATUS: &str = "only the controller can write a status, and the agent named in spec.agent that of its offer";

/// Somebody who asks: credentials, and the namespace of the request.
struct Principal<'n> {
    column: &'static str,
    user: String,
    requests: Requests,
    here: &'n Namespace,
}

/// One row.
struct Row {
    what: &'static str,
    request: Asked,
}

/// What is asked for: of objects such as `gmj/held`, `HERE` being the namespace, and of whole ones.
enum Asked {
    Read(&'static [&'static str]),
    Create(Value),
    Change(String, Value),
    Delete(String),
    WriteStatus(Value),
}

/// What the API server answers.
enum Answer {
    /// Yes; with the owner that the object then has, if it is an ad that is created.
    Yes(String),
    /// The user has no role for it.
    NoRight,
    /// A schema or a policy refuses it.
    Refused(String),
}

fn create(what: &'static str, object: Value) -> Row {
    Row { what, request: Asked::Create(object) }
}

fn patch(what: &'static str, object: &str, patch: &Value) -> Row {
    Row { what, request: Asked::Change(object.to_owned(), patch.clone()) }
}

fn delete(what: &'static str, object: &str) -> Row {
    Row { what, request: Asked::Delete(object.to_owned()) }
}

fn write_status(what: &'static str, kind: &str, name: &str, status: &Value) -> Row {
    let object =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "status": status});
    Row { what, request: Asked::WriteStatus(object) }
}

fn ad(kind: &str, name: &str, more: &Value) -> Value {
    let mut spec = json!({"constraint": "other.Type == \"Job\""});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn pod_spec() -> Value {
    json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]})
}

fn batch(labels: &Value, annotations: &Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "new", "labels": labels, "annotations": annotations},
        "spec": {"template": {"spec": pod_spec()}}})
}

/// The rows, for a namespace with this Match.
fn rows(matched: &Value) -> Vec<Row> {
    let template = json!({"workload": {"jobTemplate": {"spec": {"template": {"spec": pod_spec()}}}}});
    let by_reference = json!({"workload": {"workloadRef": {"kind": "Pod", "name": "p"}}});
    let entry = json!({"claims": {"u": {"match": "a/b", "allocation": {"seats": 1}, "vote": "Accepted"}}});
    let told = json!({"attributes": {"LoadAvg": 1}});
    let condition = json!({"conditions": [{"type": "Released", "status": "True", "reason": "Table", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    let marked = json!({"gangmatch.dev/match-uid": "u"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "annotations": {"gangmatch.dev/members": "[]"}},
        "spec": pod_spec()});
    let found = format!("gmatch/{}", name(matched));
    let copy = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": {"name": "new"}, "spec": matched["spec"]});
    let claims = json!([{"apiGroups": ["gangmatch.dev"], "resources": ["matches/claims"], "verbs": ["update"]}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "new"}, "rules": claims});
    vec![
        Row {
            what: "read Jobs, Machines, Licenses and Matches",
            request: Asked::Read(&["gmj", "gmm", "gml", "gmatch"]),
        },
        create("create a Job", ad("Job", "new", &json!({}))),
        create("create a Job with `spec.owner: mallory`", ad("Job", "new", &json!({"owner": "mallory"}))),
        patch("change `spec.owner` of a Job", "gmj/held", &json!({"spec": {"owner": "mallory"}})),
        patch("change `spec.priority` of a Job", "gmj/held", &json!({"spec": {"priority": 5}})),
        patch("change `spec.gangRank` of a Job of another user", "gmj/held", &json!({"spec": {"gangRank": "1"}})),
        create("create a Job with `spec.workload.jobTemplate`", ad("Job", "new", &template)),
        create("create a Job with `spec.workload.workloadRef` to a Pod", ad("Job", "new", &by_reference)),
        delete("delete a Job", "gmj/held"),
        write_status("write the status of a Job", "Job", "held", &json!({"phase": "Claimed"})),
        create("create a Machine", ad("Machine", "new", &json!({}))),
        create("create a Machine with `spec.nodeName`", ad("Machine", "new", &json!({"nodeName": "n1"}))),
        create("create a Machine with `spec.owner: mallory`", ad("Machine", "new", &json!({"owner": "mallory"}))),
        patch("change `spec.constraint` of a Machine", "gmm/m", &json!({"spec": {"constraint": "false"}})),
        create("create a License", ad("License", "new", &json!({"capacity": {"seats": 1}}))),
        delete("delete a License", "gml/l"),
        create("create a MachineClass", ad("MachineClass", "new", &json!({"namespace": "default", "selector": {}}))),
        write_status("add an entry to `status.claims` of a License", "License", "spare", &entry),
        write_status("write `status.attributes` of a Machine that names an agent", "Machine", "asked", &told),
        write_status("write `status.attributes` of another Machine", "Machine", "m", &told),
        create("create a Match", copy),
        patch("change `spec` of a Match", &found, &json!({"spec": {"rank": "7"}})),
        write_status("write the status of a Match", "Match", &name(matched), &condition),
        delete("delete a Match", &found),
        create("create a batch Job with the label `gangmatch.dev/match-uid`", batch(&marked, &json!({}))),
        create(
            "create a batch Job with the annotation `gangmatch.dev/created-by: mallory`",
            batch(&json!({}), &json!({"gangmatch.dev/created-by": "mallory"})),
        ),
        create("create a Pod with the annotation `gangmatch.dev/members`", pod),
        create(
            "create a batch Job with the label `gangmatch.dev/ad`",
            batch(&json!({"gangmatch.dev/ad": "needs-sim"}), &json!({})),
        ),
        create(
            "create a batch Job with the label `jobset.sigs.k8s.io/jobset-name`",
            batch(&json!({"jobset.sigs.k8s.io/jobset-name": "another"}), &json!({})),
        ),
        patch(
            "set the label `gangmatch.dev/offers` of the namespace",
            "namespace/HERE",
            &json!({"metadata": {"labels": {"gangmatch.dev/offers": "all"}}}),
        ),
        create("create a Role with the right of the controller", role),
    ]
}

/// The answer of the API server, which changes nothing.
fn answer(principal: &Principal<'_>, asked: &Asked) -> Result<Value, ServerRefusal> {
    let (requests, here) = (&principal.requests, principal.here.name.as_str());
    let path = |object: &str| path_of(here, &object.replace("HERE", here)).unwrap();
    match asked {
        Asked::Read(kinds) => {
            let mut lists = kinds.iter().map(|kind| requests.get(&path(kind)));
            lists.try_fold(Value::Null, |_, list| list)
        }
        Asked::Create(object) => {
            let path = collection_of(here, object).unwrap();
            requests.create(&format!("{path}?dryRun=All&fieldValidation=Strict"), object)
        }
        Asked::Change(object, patch) => requests.merge(&format!("{}?dryRun=All", path(object)), patch),
        Asked::Delete(object) => requests.delete(&format!("{}?dryRun=All", path(object))).map(|()| Value::Null),
        Asked::WriteStatus(object) => {
            requests.apply(&format!("{}/status?dryRun=All", place_of(here, object).unwrap()), object)
        }
    }
}

fn ask(principal: &Principal<'_>, row: &Row) -> Answer {
    let here = principal.here;
    let refusal = match answer(principal, &row.request) {
        Ok(made) => return Answer::Yes(text(&made, "/spec/owner")),
        Err(refusal) => refusal.message,
    };
    if refusal.contains("cannot ") && refusal.contains("User \"") && !refusal.contains("denied request") {
        return Answer::NoRight;
    }
    let words = refusal.rsplit_once("denied request: ").map_or(refusal.as_str(), |(_, words)| words);
    let words = words.rsplit_once(" is invalid: ").map_or(words, |(_, words)| words);
    let first = words.lines().map(|line| line.trim_start_matches("* ")).find(|line| !line.is_empty());
    let first = first.unwrap_or("");
    // Two policies refuse others than agents this, and which of them an API server names differs from one to the next.
    let first = if first == NO_CLAIMS && principal.column != AGENT { NO_STATUS } else { first };
    Answer::Refused(first.replace(&here.name, "NAMESPACE"))
}

/// The table, and the messages to which its numbers refer.
fn table(principals: &[Principal<'_>], matches: &[(String, Value)]) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut lines = vec![
        format!("| request | {} |", principals.iter().map(|one| one.column).collect::<Vec<_>>().join(" | ")),
        format!("|---|{}", "---|".repeat(principals.len())),
    ];
    let count = rows(&Value::Null).len();
    for number in 0..count {
        let (mut cells, mut what) = (Vec::new(), "");
        for principal in principals {
            let matched = &matches.iter().find(|(home, _)| *home == principal.here.name).unwrap().1;
            let row = rows(matched).swap_remove(number);
            what = row.what;
            let (names_an_owner, is_new) = (what.contains("spec.owner"), what.starts_with("create"));
            cells.push(match ask(principal, &row) {
                Answer::Yes(owner) if names_an_owner && owner == "mallory" => "yes, as written".to_owned(),
                Answer::Yes(owner) if names_an_owner && is_new && owner == principal.user => {
                    "yes, as its own".to_owned()
                }
                Answer::Yes(_) if names_an_owner => "yes, without effect".to_owned(),
                Answer::Yes(_) => "yes".to_owned(),
                Answer::NoRight => "–".to_owned(),
                Answer::Refused(message) => {
                    let known = messages.iter().position(|one| *one == message);
                    let place = known.unwrap_or_else(|| {
                        messages.push(message);
                        messages.len() - 1
                    });
                    format!("no ({})", place + 1)
                }
            });
        }
        lines.push(format!("| {what} | {} |", cells.join(" | ")));
    }
    lines.push(String::new());
    lines.extend(messages.iter().enumerate().map(|(place, message)| format!("{}. `{message}`", place + 1)));
    lines.join("\n") + "\n"
}

/// A claim of a machine and a license, a pod, and a machine with an agent; returns the Match.
fn furnish(here: &Namespace) -> Value {
    let asked = ad(
        "Machine",
        "asked",
        &json!({"constraint": "false", "agent": {
        "username": format!("system:serviceaccount:{}:agent-asked", here.name)},
        "dynamicAttributes": [{"name": "LoadAvg", "type": "Real"}]}),
    );
    here.apply(
        &[
            machine("m"),
            license("l", "sim", 1, 1),
            license("spare", "other", 1, 1),
            job("held", "sim"),
            asked.to_string(),
        ]
        .concat(),
    );
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod_spec()});
    here.create(&pod.to_string());
    here.wait("gmj/held", "Claimed");
    here.list("gmatch").remove(0)
}

#[test]
fn every_cell_of_the_table_is_what_the_api_server_answers() {
    let stage = Stage::shared();
    let tenants = stage.tenants("admission");
    let (a, b, d) = (&tenants.a, &tenants.b, &tenants.d);
    let matches: Vec<(String, Value)> = [a, b, d].map(|here| (here.name.clone(), furnish(here))).into();
    let agent = rights(a, "Machine", "asked");
    let principal = |column, user: &str, kubeconfig: Option<PathBuf>, here| Principal {
        column,
        user: user.to_owned(),
        requests: Requests::of(&kubeconfig.unwrap_or_else(|| stage.cluster.kubeconfig().to_owned())).unwrap(),
        here,
    };
    let user = |user| stage.cluster.user(user, &[]).unwrap();
    let controller = product::controller_kubeconfig(stage.cluster).unwrap();
    let account = |account: &str| format!("system:serviceaccount:{account}");
    let principals = [
        principal("no role", "carol", Some(user("carol")), a),
        principal("`view`", "bob", Some(user("bob")), a),
        principal("`edit`", "bob", Some(user("bob")), b),
        principal("`admin`", "alice", Some(user("alice")), a),
        principal("`*` on `*` in the namespace", "star", Some(user("star")), d),
        principal(AGENT, &account(&format!("{}:agent-asked", a.name)), Some(agent), a),
        principal("the controller", &account("gangmatch-system:gangmatch"), Some(controller), a),
        principal("cluster administrator", "admin", None, a),
    ];
    let found = table(&principals, &matches);
    let path = repository::root().join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (written, tail) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_ADMISSION").is_some() {
        std::fs::write(&path, [head, BEGIN, &found, END, tail].concat()).unwrap();
        return;
    }
    assert_eq!(written.trim(), found.trim(), "{PAGE} promises something else");
}

#[test]
fn where_only_owners_may_a_colleague_changes_no_more_than_when_a_job_runs() {
    let stage = Stage::own_with(&[], &["policies.ownersOnly=true"]);
    let tenants = stage.tenants("owners");
    let here = &tenants.b;
    here.apply(&(job("hers", "sim") + &machine("m")));
    here.wait("gmj/hers", "Accepted");
    for change in
        [r#"{"constraint": "true", "ports": null}"#, r#"{"attributes": {"App": "own"}}"#, r#"{"gangRank": "1"}"#]
    {
        let refused = tenants.bob.patch("gmj/hers", &format!(r#"{{"spec": {change}}}"#), &[]).unwrap_err();
        assert!(
            refused.to_string().contains("only its owner, admin, can change what this job asks for and runs"),
            "{refused}"
        );
    }
    for change in [r#"{"priority": 5}"#, r#"{"suspend": true}"#, r#"{"suspend": false}"#, r#"{"done": true}"#] {
        tenants.bob.patch("gmj/hers", &format!(r#"{{"spec": {change}}}"#), &[]).unwrap();
    }
    tenants.bob.create(&job("own", "sim")).unwrap();
    tenants.bob.patch("gmj/own", r#"{"spec": {"gangRank": "1"}}"#, &[]).unwrap();
}

#[test]
fn an_ad_from_before_the_policies_is_told_so_and_the_command_in_its_condition_repairs_it() {
    let stage = Stage::own_with(&["eda"], &["policies.enabled=false"]);
    let eda = Namespace { stage, name: "eda".to_owned() };
    eda.apply(&(job("old", "sim") + &machine("m")));
    eda.wait("gmj/old", "Accepted");
    product::install_chart(eda.access(), &["policies.enabled=true"]).unwrap();
    stage.controller.end(Signal::Terminate).unwrap();
    let kubeconfig = product::controller_kubeconfig(eda.access()).unwrap();
    let _controller = product::start_controller(eda.access(), &kubeconfig, &[]).unwrap();
    eda.wait_reason("gmm/m", "Accepted", "AcceptedWithWarnings");
    let message = eda.wait_reason("gmj/old", "Accepted", "AcceptedWithWarnings");
    let command = message.split_once("write ").and_then(|(_, rest)| rest.split_once(" (this")).unwrap().0;
    let (read, write) = command.split_once(" | ").unwrap();
    let words = |command: &str| command.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<String>>();
    let run = |command: &str, stdin: Option<&str>| {
        let words = words(command);
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        eda.access().kubectl_text(&arguments, stdin).unwrap()
    };
    let object = run(read, None);
    run(write, Some(&object));
    eda.wait_reason("gmj/old", "Accepted", "Accepted");
    assert_eq!(text(&eda.get("gmj/old"), "/spec/owner"), "admin");
}

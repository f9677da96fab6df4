//! Each reason that a condition of a Job can have: what produces it and a change that clears it, told by the condition and by `why` alike.

mod offers;
mod preempted;
mod vocabulary;

use serde_json::{Value, json};

use crate::agents::{LONG, Shell, voting};
use crate::refusal::{hold_up, hold_up_reserves, lift};
use crate::stage::{Namespace, Stage, condition, license, machine, text};

/// The same for the job `j`.
fn shows(here: &Namespace, type_: &str, reason: &str) {
    here.shows("gmj/j", type_, reason);
}

/// The job `j`; the fields of its spec.
fn job(spec: &Value) -> String {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}).to_string()
}

/// A job that needs a machine.
fn plain() -> String {
    job(&json!({"constraint": "other.Type == \"Machine\""}))
}

/// A job that needs a machine and the license `cheap`.
fn pair(more: &Value) -> String {
    let ports = json!([{"label": "cpu", "constraint": "cpu.Type == \"Machine\""},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == \"sim\""}]);
    let mut spec = json!({"ports": ports});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job(&spec)
}

#[test]
fn reasons_of_accepted() {
    let here = Stage::shared().namespace("accepted");
    let containers = json!([{"name": "sim", "image": "sim:1"}]);
    let pods = json!({"spec": {"restartPolicy": "Always", "containers": containers}});
    for (reason, spec) in [
        ("ParseError", json!({"constraint": "other.Memory >="})),
        ("DuplicateAttribute", json!({"attributes": {"A": 1, "a": 2}, "constraint": "other.Type == \"Machine\""})),
        ("InvalidPort", json!({"classad": "[ Ports = { [ Constraint = true ] } ]"})),
        ("UnsupportedRegex", json!({"constraint": "regexp(\"(?=a)b\", other.Name)"})),
        ("NeverTrue", json!({"constraint": "other.Memory > 5 && other.Memory < 3"})),
        ("AdTooLarge", json!({"constraint": "other.Cpus > 0", "attributes": {"A": vec![1; 40_000]}})),
        (
            "WorkloadInvalid",
            json!({"constraint": "other.Cpus > 0", "workload": {"jobTemplate": {"spec": {"template": pods}}}}),
        ),
    ] {
        // `apply` would keep a copy of it, which is too long for an annotation.
        here.create(&job(&spec));
        shows(&here, "Accepted", reason);
        shows(&here, "Matched", "NotAccepted");
        here.delete("gmj/j");
        here.apply(&plain());
        shows(&here, "Accepted", "Accepted");
        here.delete("gmj/j");
    }
    here.apply(&job(&json!({"constraint": "other.Type == 'Machine'"})));
    shows(&here, "Accepted", "AcceptedWithWarnings");
    here.merge("gmj/j", r#"{"spec": {"constraint": "other.Type == \"Machine\""}}"#);
    shows(&here, "Accepted", "Accepted");
}

/// What gives a job the reason, and what takes it away.
struct Case {
    reason: &'static str,
    objects: String,
    change: fn(&Namespace),
}

#[test]
fn reasons_of_matched() {
    let picky = machine("m").replace("other.Type == \"Job\"", "other.Project == \"x\"");
    assert_ne!(picky, machine("m"));
    // It needs a license of its own, for which nothing else is missing.
    let deep = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "m"}, "spec": {"ports": [
        {"label": "user", "constraint": "user.Type == \"Job\""},
        {"label": "tool", "constraint": "tool.Type == \"License\" && tool.App == \"tool\""}]}});
    let list = vec!["[ a = 5 ]"; 800].join(", ");
    let costly = format!(
        "[ L = {{ {list} }}; Requirements = size(evalInEachContext(countMatches(a > 3, L), L)) > other.Memory ]"
    );
    let taker = plain().replace("\"j\"", "\"taker\"");
    let cases = [
        Case { reason: "NoCandidates", objects: plain(), change: |here| here.apply(&machine("m")) },
        Case {
            reason: "RefusedByOffers",
            objects: format!("{picky}{}", plain()),
            change: |here| here.apply(&machine("m")),
        },
        Case {
            reason: "NoConsistentGang",
            objects: format!("{deep}\n---\n{}", plain()),
            change: |here| here.apply(&license("tool", "tool", 1, 1).replace("other.Type == \"Job\"", "true")),
        },
        Case {
            reason: "OffersUnavailable",
            objects: format!("{}{}", machine("m").replace("spec: {", "spec: {stopPolicy: Hold, "), plain()),
            change: |here| here.merge("gmm/m", r#"{"spec": {"stopPolicy": "None"}}"#),
        },
        Case {
            reason: "ExpressionTooExpensive",
            objects: format!("{}{}", machine("m"), job(&json!({"classad": costly}))),
            change: |here| {
                here.merge(
                    "gmj/j",
                    &json!({"spec": {"classad": "[ Requirements = other.Type == \"Machine\" ]"}}).to_string(),
                );
            },
        },
        Case {
            reason: "Suspended",
            objects: format!(
                "{}{}",
                machine("m"),
                job(&json!({"constraint": "other.Type == \"Machine\"", "suspend": true}))
            ),
            change: |here| here.merge("gmj/j", r#"{"spec": {"suspend": false}}"#),
        },
    ];
    // Without what other tests offer to all namespaces.
    let stage = Stage::own();
    for Case { reason, objects, change } in cases {
        let here = stage.namespace(&format!("matched-{}", reason.to_lowercase()));
        here.apply(&objects);
        shows(&here, "Matched", reason);
        change(&here);
        shows(&here, "Claimed", "Committed");
    }
    let here = stage.namespace("matched-full");
    here.apply(&format!("{}{taker}", machine("m")));
    here.wait("gmj/taker", "Claimed");
    here.apply(&plain());
    shows(&here, "Matched", "WaitingForCapacity");
    here.merge("gmj/taker", r#"{"spec": {"done": true}}"#);
    shows(&here, "Matched", "GangFound");
}

/// A claim of machine `m` and license `cheap` that is held up before the license is reserved.
fn reserving(test: &str, more: &Value) -> (Namespace, String) {
    let here = Stage::shared().namespace(test);
    here.apply(&[machine("m"), license("cheap", "sim", 2, 1)].concat());
    here.wait("gml/cheap", "Ready");
    let policy = hold_up_reserves(&here);
    here.apply(&pair(more));
    here.until("the machine to be reserved", || (here.entries("gmm/m") == 1).then_some(()));
    (here, policy)
}

#[test]
fn reasons_of_a_claim_that_is_aborted() {
    // What happens while members are reserved; and what lets the next attempt succeed.
    type Change = fn(&Namespace);
    let cases: [(&str, Change, Change); 4] = [
        ("MemberGone", |here| here.delete("gmm/m"), |here| here.apply(&machine("m"))),
        (
            "NotAllowed",
            |here| here.merge("gml/cheap", r#"{"spec": {"stopPolicy": "Hold"}}"#),
            |here| here.merge("gml/cheap", r#"{"spec": {"stopPolicy": "None"}}"#),
        ),
        ("CapacityTaken", |here| usage(here, 2), |here| usage(here, 0)),
        (
            "RequirementsChanged",
            |here| here.merge("gmm/m", r#"{"spec": {"constraint": "other.Project == \"x\""}}"#),
            |here| here.merge("gmm/m", r#"{"spec": {"constraint": "other.Type == \"Job\""}}"#),
        ),
    ];
    for (reason, change, back) in cases {
        let (here, policy) = reserving(&format!("aborted-{}", reason.to_lowercase()), &json!({}));
        shows(&here, "Claimed", "Reserving");
        change(&here);
        lift(&here, &policy);
        shows(&here, "Claimed", reason);
        back(&here);
        shows(&here, "Claimed", "Committed");
    }
}

/// Seats that are used outside the cluster.
fn usage(here: &Namespace, seats: u32) {
    let patch = json!({"status": {"externalUsage": {"seats": seats}}}).to_string();
    here.kubectl(&["patch", "gml/cheap", "--subresource=status", "--type=merge", "-p", &patch], None);
}

#[test]
fn an_ad_that_asks_for_more_while_it_is_claimed_is_stale() {
    let (here, policy) = reserving("stale", &json!({"retry": {"limit": 0}}));
    let two: Value = serde_json::from_str(&pair(&json!({"retry": {"limit": 0}}))).unwrap();
    let mut ports = two["spec"]["ports"].clone();
    ports[1]["request"] = json!({"seats": 2});
    here.merge("gmj/j", &json!({"spec": {"ports": ports}}).to_string());
    lift(&here, &policy);
    shows(&here, "Claimed", "StaleAd");
    shows(&here, "Finished", "RetryLimitReached");
    here.delete("gmj/j");
    here.apply(&pair(&json!({"ports": ports})));
    shows(&here, "Claimed", "Committed");
}

#[test]
fn reasons_of_a_vote() {
    let here = Stage::shared().namespace("votes");
    here.apply(&voting(&here, "m", LONG).replace("Load < 0.5 && other.App == \"sim\"", "other.Type == \"Job\""));
    let agent = Shell::new(&here, "m");
    here.shows("gmm/m", "Alive", "NoLease");
    here.shows("gmm/m", "Ready", "AgentLost");
    agent.run("create -f -");
    here.shows("gmm/m", "Alive", "LeaseRenewed");
    here.shows("gmm/m", "Ready", "Available");
    here.apply(&plain());
    let pending = || {
        let claims =
            here.get("gmm/m").pointer("/status/claims").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut asked = claims
            .into_iter()
            .filter(|(_, entry)| text(entry, "/vote") == "Pending" && text(entry, "/askWhen") == "Now");
        asked.next().map(|(claim, _)| claim)
    };
    let no = r#"kubectl -n grid patch gmm foo --subresource=status --type=json -p '[
        {"op": "test", "path": "/status/claims/'$CLAIM'/vote", "value": "Pending"},
        {"op": "add", "path": "/status/claims/'$CLAIM'/voteReason", "value": "not now"},
        {"op": "add", "path": "/status/claims/'$CLAIM'/retry", "value": "Retry"},
        {"op": "replace", "path": "/status/claims/'$CLAIM'/vote", "value": "Rejected"}]'"#;
    here.until("the vote to be requested", pending);
    shows(&here, "Claimed", "AwaitingVotes");
    // Each no makes the pause before the next question longer, until it is long enough to be seen.
    here.until("why to say that the job is told no, and backs off", || {
        if let Some(claim) = pending() {
            agent.shell(no, &claim);
        }
        let answer = here.why("j");
        let last = &answer["lastClaim"];
        let told =
            last["reason"] == "Rejected" && last["message"].as_str().is_some_and(|said| said.contains("not now"));
        let is_condition = condition(&here.get("gmj/j"), "Claimed").1 == "Rejected";
        (told && is_condition && answer["reason"] == "BackingOff").then_some(())
    });
    here.until("the vote to be requested again", pending);
    agent.run("\"Accepted\"");
    shows(&here, "Claimed", "Committed");

    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    shows(&here, "Finished", "Done");
    here.delete("gmj/j");
    here.apply(&job(
        &json!({"constraint": "other.Type == \"Machine\"", "reserveTimeoutSeconds": 5, "retry": {"limit": 0}}),
    ));
    shows(&here, "Claimed", "ReserveTimedOut");
    shows(&here, "Finished", "RetryLimitReached");
}

#[test]
fn reasons_of_a_claim_that_is_released() {
    let here = Stage::shared().namespace("released");
    here.apply(&format!("{}{}", machine("m"), plain()));
    shows(&here, "Claimed", "Committed");
    shows(&here, "Started", "NoWorkload");
    let found = here.list("gmatch").remove(0);
    assert_eq!(
        (condition(&found, "Reserved").1, condition(&found, "Released").1),
        ("AllReserved".into(), "Active".into())
    );
    let stop = |policy: &str| here.merge("gmm/m", &json!({"spec": {"stopPolicy": policy}}).to_string());

    stop("HoldAndDrain");
    shows(&here, "Claimed", "Evicted");
    stop("None");
    shows(&here, "Claimed", "Committed");

    stop("Hold");
    here.kubectl(&["delete", "gmatch", "--all"], None);
    shows(&here, "Claimed", "MatchDeleted");
    assert_eq!(condition(&here.get("gmj/j"), "Claimed").2, "the Match was deleted");
    stop("None");
    shows(&here, "Claimed", "Committed");

    here.delete("gmm/m");
    shows(&here, "Claimed", "MemberLost");
    here.apply(&machine("m"));
    shows(&here, "Claimed", "Committed");

    here.merge("gmj/j", r#"{"spec": {"suspend": true}}"#);
    shows(&here, "Claimed", "Suspended");
    here.merge("gmj/j", r#"{"spec": {"suspend": false}}"#);
    shows(&here, "Claimed", "Committed");
}

#[test]
fn a_workload_whose_pods_do_not_start_is_pending() {
    let here = Stage::shared().namespace("pending-pods");
    let containers = json!([{"name": "sim", "image": "sim:1"}]);
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}}});
    let workload = json!({"jobTemplate": template});
    here.apply(&format!(
        "{}{}",
        machine("m"),
        job(&json!({"constraint": "other.Type == \"Machine\"", "workload": workload}))
    ));
    shows(&here, "Started", "WorkloadPending");
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    shows(&here, "Finished", "Cancelled");
}

#[test]
fn reasons_of_finished() {
    let here = Stage::shared().namespace("finished");
    here.apply(&machine("m"));
    let machine = "other.Type == \"Machine\"";
    let set = |patch: &str| here.merge("gmj/j", patch);
    for (reason, spec, done) in [
        ("Done", json!({"constraint": machine}), Some("Committed")),
        ("Cancelled", json!({"constraint": "other.Type == \"none\""}), None),
        ("MatchTimedOut", json!({"constraint": "other.Type == \"none\"", "matchTimeoutSeconds": 1}), None),
        ("ClaimExpired", json!({"constraint": machine, "activeDeadlineSeconds": 1}), None),
    ] {
        here.apply(&job(&spec));
        match reason {
            "Done" => shows(&here, "Claimed", done.unwrap()),
            "Cancelled" => shows(&here, "Matched", "NoCandidates"),
            _ => {}
        }
        if ["Done", "Cancelled"].contains(&reason) {
            set(r#"{"spec": {"done": true}}"#);
        }
        shows(&here, "Finished", reason);
        // What has finished stays so: a job of the same name is another one.
        here.delete("gmj/j");
        here.apply(&plain());
        shows(&here, "Claimed", "Committed");
        here.delete("gmj/j");
        here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
    }
}

#[test]
fn a_job_is_pending_until_a_cycle_has_looked_at_it_again() {
    let here = Stage::shared().namespace("unseen");
    here.apply(&format!("{}{}", machine("m"), plain()));
    shows(&here, "Claimed", "Committed");
    // Nothing is written of what the cycles find out.
    let told =
        "object.status.conditions.exists(c, c.type == 'Matched' && !(c.reason in ['GangFound', 'PendingEvaluation']))";
    let policy = hold_up(&here, "jobs/status", told);
    let found = json!([{"type": "Matched", "status": "False", "reason": "NoCandidates", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let patch = json!({"status": {"conditions": found}}).to_string();
    here.until_held_up(&["patch", "gmj/j", "--subresource=status", "--type=merge", "--dry-run=server", "-p", &patch]);
    here.merge("gmm/m", r#"{"spec": {"stopPolicy": "HoldAndDrain"}}"#);
    shows(&here, "Matched", "PendingEvaluation");
    lift(&here, &policy);
    shows(&here, "Matched", "OffersUnavailable");
}

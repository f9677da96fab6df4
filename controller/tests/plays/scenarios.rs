//! What happens to one gang, or a few, while somebody strikes.

use apiserver::{Call, Verb};
use http::Method;
use serde_json::{Value, json};

use crate::actors::{Agent, Says};
use crate::stage::{Stage, at, call, creation};

/// What is played.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) play: fn(&mut Stage) -> Result<(), String>,
}

pub(crate) const ALL: &[Scenario] = &[
    Scenario { name: "life", play: life },
    Scenario { name: "agent-yes", play: agent_yes },
    Scenario { name: "agent-no", play: agent_no },
    Scenario { name: "agent-lost", play: agent_lost },
    Scenario { name: "stale-ad", play: stale_ad },
    Scenario { name: "expiry", play: expiry },
    Scenario { name: "job-deleted", play: job_deleted },
    Scenario { name: "job-deleted-half-way", play: job_deleted_half_way },
    Scenario { name: "match-deleted", play: match_deleted },
    Scenario { name: "member-again", play: member_again },
    Scenario { name: "member-again-half-way", play: member_again_half_way },
    Scenario { name: "evict", play: evict },
    Scenario { name: "drain", play: drain },
    Scenario { name: "suspend", play: suspend },
    Scenario { name: "one-seat", play: one_seat },
    Scenario { name: "workload", play: workload },
    Scenario { name: "workload-deleted", play: workload_deleted },
    Scenario { name: "takeover", play: takeover },
    Scenario { name: "retirement", play: retirement },
    Scenario { name: "both-lead", play: both_lead },
    Scenario { name: "charged", play: crate::accounts::charged },
    Scenario { name: "set", play: set },
    Scenario { name: "set-refused", play: set_refused },
    Scenario { name: "preempted", play: crate::preemption::preempted },
    Scenario { name: "reserved", play: crate::reservation::reserved },
];

/// Played with a write of the first controller kept back.
pub(crate) const ZOMBIE: Scenario = Scenario { name: "zombie", play: zombie };

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// A machine that takes any job; the job likes those with a higher speed better.
pub(crate) fn machine(name: &str, speed: i64) -> Value {
    let attributes = json!({"Arch": "INTEL", "Memory": 4096, "Speed": speed});
    object("Machine", name, &json!({"attributes": attributes, "constraint": "other.Type == \"Job\""}))
}

pub(crate) fn with_agent(mut machine: Value) -> Value {
    machine["spec"]["claimPolicy"] = json!("Agent");
    machine["spec"]["agent"] = json!({"username": "somebody", "leaseDurationSeconds": 20});
    machine
}

pub(crate) fn license(seats: i64) -> Value {
    let spec =
        json!({"attributes": {"App": "sim"}, "constraint": "other.Type == \"Job\"", "capacity": {"seats": seats}});
    object("License", "l", &spec)
}

/// A job that needs a machine and a license.
pub(crate) fn job(name: &str, more: &Value) -> Value {
    let mut spec = json!({"attributes": {"App": "sim"}, "retry": {"backoffSeconds": 1, "maxBackoffSeconds": 2}, "ports": [
        {"label": "cpu", "constraint": "cpu.Type == \"Machine\" && cpu.Memory >= 1024", "rank": "cpu.Speed"},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == App"}]});
    for (name, value) in more.as_object().unwrap() {
        spec[name] = value.clone();
    }
    object("Job", name, &spec)
}

fn offers(stage: &mut Stage) {
    stage.create(&machine("m0", 9));
    stage.create(&machine("m1", 1));
    stage.create(&license(1));
}

pub(crate) fn speaks(stage: &mut Stage, says: Says) {
    stage.agents.insert("m0".to_owned(), Agent { plural: "machines", says, renewed_ms: None });
}

/// Two machines, a license and a job, which gets claimed.
fn claimed(stage: &mut Stage, more: &Value) -> Result<(), String> {
    offers(stage);
    stage.start(&[]);
    stage.create(&job("j", more));
    is_claimed(stage)
}

fn is_claimed(stage: &mut Stage) -> Result<(), String> {
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed")
}

fn works_on(stage: &mut Stage, machine: &'static str) -> Result<(), String> {
    stage.until("j is claimed elsewhere", |stage| {
        stage.phase("j") == "Claimed" && stage.entries("machines", machine) == 1
    })
}

fn done(stage: &mut Stage) -> Result<(), String> {
    stage.merge("jobs", "j", &json!({"done": true}));
    // Cancelled: a fault has ended its claim, and it was done before it had another.
    stage.until("j is over", |stage| ["Succeeded", "Cancelled"].contains(&stage.phase("j").as_str()))
}

fn life(stage: &mut Stage) -> Result<(), String> {
    claimed(stage, &json!({}))?;
    done(stage)
}

fn agent_yes(stage: &mut Stage) -> Result<(), String> {
    stage.create(&with_agent(machine("m0", 9)));
    speaks(stage, Says::Yes);
    stage.create(&license(1));
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    is_claimed(stage)?;
    stage.until("its agent works", |stage| activity(stage) == "Active")?;
    done(stage)
}

/// What the agent of `m0` says it does.
pub(crate) fn activity(stage: &Stage) -> String {
    let offer = stage.get("machines", "m0").unwrap_or_default();
    let entries = offer["status"]["claims"].as_object().cloned().unwrap_or_default();
    entries.values().next().and_then(|entry| entry["activity"].as_str()).unwrap_or_default().to_owned()
}

fn agent_no(stage: &mut Stage) -> Result<(), String> {
    stage.create(&with_agent(machine("m0", 9)));
    speaks(stage, Says::No);
    stage.create(&machine("m1", 1));
    stage.create(&license(1));
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    works_on(stage, "m1")?;
    done(stage)
}

fn agent_lost(stage: &mut Stage) -> Result<(), String> {
    stage.create(&with_agent(machine("m0", 9)));
    speaks(stage, Says::Yes);
    stage.create(&machine("m1", 1));
    stage.create(&license(1));
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    // While nobody sees that it is alive, the job may go elsewhere.
    stage.until("its agent works", |stage| activity(stage) == "Active" || stage.entries("machines", "m1") == 1)?;
    stage.agents.get_mut("m0").unwrap().says = Says::Nothing;
    works_on(stage, "m1")?;
    done(stage)
}

/// The ad of the best machine changes in the moment in which the Match is written.
fn stale_ad(stage: &mut Stage) -> Result<(), String> {
    let change = json!({"spec": {"constraint": "other.Owner == \"nobody\""}});
    stage.meddle(is_record, vec![call(&Method::PATCH, &at("machines", "m0"), &change)]);
    offers(stage);
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    works_on(stage, "m1")?;
    done(stage)
}

fn is_record(call: &Call) -> bool {
    call.verb == Verb::Create && call.plural == "matches"
}

fn is_reserve(call: &Call) -> bool {
    call.verb == Verb::Patch
        && call.plural == "licenses"
        && String::from_utf8_lossy(&call.body).contains("/status/claims/")
}

fn expiry(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    stage.start(&[]);
    stage.create(&job("j", &json!({"activeDeadlineSeconds": 5})));
    stage.until("the claim is over", |stage| stage.phase("j") == "Failed")
}

fn job_deleted(stage: &mut Stage) -> Result<(), String> {
    claimed(stage, &json!({}))?;
    stage.delete("jobs", "j");
    is_clean(stage)
}

fn is_clean(stage: &mut Stage) -> Result<(), String> {
    stage.until("nothing is held", |stage| {
        stage.entries("machines", "m0") + stage.entries("machines", "m1") + stage.entries("licenses", "l") == 0
    })
}

fn job_deleted_half_way(stage: &mut Stage) -> Result<(), String> {
    stage.meddle(is_reserve, vec![call(&Method::DELETE, &at("jobs", "j"), &Value::Null)]);
    offers(stage);
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    stage.until("j is gone", |stage| stage.get("jobs", "j").is_none())?;
    is_clean(stage)
}

fn match_deleted(stage: &mut Stage) -> Result<(), String> {
    claimed(stage, &json!({}))?;
    let first = stage.ours("matches").into_iter().next().unwrap_or_default();
    stage.delete("matches", first["metadata"]["name"].as_str().unwrap_or_default());
    stage.until("another Match stands", move |stage| {
        let other = |found: &Value| found["metadata"]["uid"] != first["metadata"]["uid"];
        stage.ours("matches").iter().any(|found| other(found) && found["status"]["decision"] == "Committed")
    })?;
    is_claimed(stage)?;
    done(stage)
}

fn member_again(stage: &mut Stage) -> Result<(), String> {
    claimed(stage, &json!({}))?;
    let first = stage.get("machines", "m0").unwrap_or_default();
    stage.delete("machines", "m0");
    stage.create(&machine("m0", 9));
    stage.until("the claim on the former m0 is over", |stage| {
        stage.ours("matches").iter().any(|found| found["status"]["decision"] == "Released")
    })?;
    assert!(stage.get("machines", "m0").unwrap_or_default()["metadata"]["uid"] != first["metadata"]["uid"]);
    is_claimed(stage)?;
    done(stage)
}

fn member_again_half_way(stage: &mut Stage) -> Result<(), String> {
    let again = [call(&Method::DELETE, &at("machines", "m0"), &Value::Null), creation(&machine("m0", 9))];
    stage.meddle(is_record, again.to_vec());
    claimed(stage, &json!({}))?;
    done(stage)
}

fn evict(stage: &mut Stage) -> Result<(), String> {
    claimed(stage, &json!({}))?;
    stage.merge("machines", "m0", &json!({"stopPolicy": "HoldAndDrain"}));
    works_on(stage, "m1")?;
    done(stage)
}

fn drain(stage: &mut Stage) -> Result<(), String> {
    claimed(stage, &json!({}))?;
    stage.merge("machines", "m0", &json!({"stopPolicy": "Hold"}));
    stage.pass(1_000);
    done(stage)
}

fn suspend(stage: &mut Stage) -> Result<(), String> {
    claimed(stage, &json!({}))?;
    stage.merge("jobs", "j", &json!({"suspend": true}));
    is_clean(stage)?;
    stage.merge("jobs", "j", &json!({"suspend": false}));
    is_claimed(stage)?;
    done(stage)
}

/// Two jobs for one seat, one after the other.
fn one_seat(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    stage.create(&job("j", &json!({"priority": 9})));
    stage.create(&job("k", &json!({})));
    stage.start(&[]);
    for _ in 0..2 {
        stage.until("one of them is claimed", |stage| ["j", "k"].iter().any(|job| stage.phase(job) == "Claimed"))?;
        let first = if stage.phase("j") == "Claimed" { "j" } else { "k" };
        stage.merge("jobs", first, &json!({"done": true}));
        stage.until("it is over", |stage| stage.phase(first) == "Succeeded")?;
    }
    Ok(())
}

/// A job that needs a set of so many machines, and a license that sees all of them.
fn job_of(name: &str, count: i64) -> Value {
    let ports = json!([
        {"label": "cpu", "count": count, "constraint": "cpu.Type == \"Machine\"", "rank": "cpu.Speed"},
        {"label": "license", "constraint": "license.Type == \"License\" && license.App == App",
            "expressions": {"Hosts": "cpu.Name"}, "request": {"seats": "2 * size(cpu)"}}]);
    job(name, &json!({"ports": ports}))
}

/// Four machines and seats for sets of three.
fn machines_for_a_set(stage: &mut Stage) {
    for (number, speed) in [9, 8, 7, 1].into_iter().enumerate() {
        stage.create(&machine(&format!("m{number}"), speed));
    }
    stage.create(&license(6));
}

/// Three machines at one port, and six seats by one entry.
fn set(stage: &mut Stage) -> Result<(), String> {
    machines_for_a_set(stage);
    stage.start(&[]);
    stage.create(&job_of("j", 3));
    is_claimed(stage)?;
    stage.until("its seats are held by one entry", |stage| {
        let license = stage.get("licenses", "l").unwrap_or_default();
        let claims = license["status"]["claims"].as_object().cloned().unwrap_or_default();
        claims.len() == 1 && claims.values().all(|entry| entry["allocation"] == json!({"seats": 6}))
    })?;
    done(stage)?;
    stage.until("nothing is held", |stage| {
        let machines: usize = ["m0", "m1", "m2", "m3"].iter().map(|name| stage.entries("machines", name)).sum();
        machines + stage.entries("licenses", "l") == 0
    })
}

/// One machine of the set changes in the moment in which the Match is written: all others are given back, and the fourth takes its place.
fn set_refused(stage: &mut Stage) -> Result<(), String> {
    let change = json!({"spec": {"constraint": "other.Owner == \"nobody\""}});
    stage.meddle(is_record, vec![call(&Method::PATCH, &at("machines", "m1"), &change)]);
    machines_for_a_set(stage);
    stage.start(&[]);
    stage.create(&job_of("j", 3));
    works_on(stage, "m3")?;
    stage.until("nothing is held of the first attempt", |stage| {
        stage.entries("machines", "m1") == 0 && stage.entries("licenses", "l") == 1
    })?;
    done(stage)
}

pub(crate) fn batch() -> Value {
    let container = json!({"name": "c", "image": "i"});
    json!({"workload": {"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}}}})
}

fn workload(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    stage.start(&[]);
    stage.create(&job("j", &batch()));
    stage.until("the work is over", |stage| stage.phase("j") == "Succeeded")
}

fn workload_deleted(stage: &mut Stage) -> Result<(), String> {
    stage.work_ends = false;
    offers(stage);
    stage.start(&[]);
    stage.create(&job("j", &batch()));
    stage.until("its work goes on", |stage| stage.phase("j") == "Running")?;
    stage.delete("jobs", "j");
    is_clean(stage)?;
    stage.until("no batch Job is left", |stage| stage.list("/apis/batch/v1/jobs").is_empty())
}

/// Two controllers: the second one goes on where the first one dies.
fn takeover(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    stage.start(&[]);
    stage.pass(1_000);
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    is_claimed(stage)?;
    done(stage)
}

/// Two controllers: the first one is told to stop while it claims.
fn retirement(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    stage.start(&[]);
    stage.pass(1_000);
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    stage.until("a Match is there", |stage| !stage.ours("matches").is_empty())?;
    if let Some(first) = stage.processes.first_mut() {
        first.stop();
    }
    is_claimed(stage)?;
    done(stage)
}

/// Two controllers that both think they lead, and two jobs for one seat.
fn both_lead(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    stage.create(&job("j", &json!({})));
    stage.create(&job("k", &json!({})));
    stage.start(&["--leader-elect=false"]);
    stage.start(&["--leader-elect=false"]);
    for _ in 0..2 {
        stage.until("one of them is claimed", |stage| ["j", "k"].iter().any(|job| stage.phase(job) == "Claimed"))?;
        let first = if stage.phase("j") == "Claimed" { "j" } else { "k" };
        stage.merge("jobs", first, &json!({"done": true}));
        stage.until("it is over", |stage| stage.phase(first) == "Succeeded")?;
    }
    Ok(())
}

/// A leader that stands still with a write on its way. Its successor claims the job; when that is over, another job gets the seat.
/// In between, or only then, the write arrives, and the first leader goes on.
fn zombie(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    stage.start(&[]);
    stage.pass(1_000);
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    stage.until("a write is kept back", |stage| stage.holds(0) || stage.phase("j") == "Claimed")?;
    if let Some(first) = stage.processes.first_mut() {
        first.frozen = true;
    }
    is_claimed(stage)?;
    // Whoever leads now is not the one that stands still.
    stage.pass(20_000);
    let is_early = stage.strike_ordinal().is_multiple_of(2);
    if is_early {
        goes_on(stage);
    }
    done(stage)?;
    stage.create(&job("k", &json!({})));
    stage.until("k is claimed", |stage| stage.phase("k") == "Claimed")?;
    if !is_early {
        goes_on(stage);
    }
    stage.pass(5_000);
    stage.merge("jobs", "k", &json!({"done": true}));
    stage.until("k is over", |stage| stage.phase("k") == "Succeeded")
}

/// The write arrives, and the first leader goes on as if nothing had happened.
fn goes_on(stage: &mut Stage) {
    stage.release(0);
    stage.pass(500);
    let now_ms = stage.now_ms;
    if let Some(first) = stage.processes.first_mut() {
        first.thaw(now_ms);
    }
}

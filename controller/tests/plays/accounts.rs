//! Accounts are made, charged and stored; a leader that dies loses nothing of what they have used.

use http::Method;
use serde_json::{Value, json};

use crate::faults::Twist;
use crate::scenarios::{job, license, machine};
use crate::stage::Stage;

const ACCOUNTS: &str = "/apis/gangmatch.dev/v1alpha1/accounts";
pub(crate) const POLICIES: &str = "/apis/gangmatch.dev/v1alpha1/poolpolicies";
const HALF_LIFE: i64 = 3600;

/// An object that is not in a namespace.
fn cluster_object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

pub(crate) fn policy(stage: &mut Stage, spec: &Value) {
    stage.post(POLICIES, &cluster_object("PoolPolicy", "pool", spec));
}

/// What an account stores: its usage and the charge that it holds, in micros, and the time.
fn stored(account: &Value) -> Option<(i64, i64, String)> {
    let micros = |name: &str| account["status"][name].as_str()?.replace('.', "").parse().ok();
    Some((micros("usage")?, micros("charge")?, account["status"]["usageTime"].as_str()?.to_owned()))
}

fn only_account(stage: &Stage) -> Option<Value> {
    let mut all = stage.list(ACCOUNTS);
    assert!(all.len() <= 1, "{all:?}");
    all.pop()
}

fn holds(stage: &Stage, micros: i64) -> bool {
    only_account(stage).and_then(|account| stored(&account)).is_some_and(|(_, held, _)| held == micros)
}

fn offers(stage: &mut Stage) {
    stage.create(&machine("m0", 9));
    stage.create(&license(1));
}

/// One job that holds a machine and a seat: two charges.
fn claimed() -> Stage {
    let mut stage = Stage::new(None, Twist::None);
    offers(&mut stage);
    policy(&mut stage, &json!({"halfLifeSeconds": HALF_LIFE}));
    stage.start(&[]);
    stage.create(&job("j", &json!({"matchHistoryLimit": 0})));
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
    stage
}

fn seconds(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}

#[test]
fn an_account_makes_itself_and_a_steady_load_writes_nothing() {
    let mut stage = claimed();
    stage.until("its account is stored", |stage| holds(stage, 2_000_000)).unwrap();
    let account = only_account(&stage).unwrap();
    assert_eq!(
        account["spec"]["submitter"]["namespace"].as_str(),
        account["metadata"]["name"].as_str().unwrap().strip_prefix("ns-")
    );
    assert_eq!(account["metadata"]["labels"]["gangmatch.dev/made-by"], "accountant");
    assert_eq!(account["status"]["conditions"][0]["reason"], "Accepted");
    let found = &stage.ours("matches")[0];
    assert_eq!(found["spec"]["account"], account["metadata"]["name"]);
    assert_eq!(
        (&found["spec"]["members"][1]["charge"], &found["spec"]["members"][0]["charge"]),
        (&json!("1.000000"), &Value::Null)
    );
    stage.pass(10_000);
    let before = stage.log.len();
    stage.pass(300_000);
    assert_eq!(stage.log.len(), before, "{}", stage.log[before..].join("\n"));
}

#[test]
fn without_a_pool_policy_nothing_is_charged_or_written() {
    let mut stage = Stage::new(None, Twist::None);
    offers(&mut stage);
    stage
        .post(ACCOUNTS, &cluster_object("Account", "ns-any", &json!({"submitter": {"namespace": "any"}, "weight": 5})));
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed").unwrap();
    stage.pass(90_000);
    assert!(stage.ours("matches")[0]["spec"]["account"].is_null());
    assert!(stored(&only_account(&stage).unwrap()).is_none(), "{:?}", only_account(&stage));
    assert!(!stage.log.iter().any(|write| write.contains("accounts")), "{}", stage.log.join("\n"));
}

/// The account is stored while the job runs; then the leader dies, and the job ends under the next one.
#[test]
fn a3_a_new_leader_goes_on_with_what_was_used() {
    let mut stage = claimed();
    stage.until("its account is stored", |stage| holds(stage, 2_000_000)).unwrap();
    let committed = seconds(&stage.ours("matches")[0]["status"]["committedAt"]);
    stage.pass(600_000);
    stage.processes.clear();
    stage.pass(60_000);
    stage.start(&[]);
    stage.pass(30_000);
    stage.merge("jobs", "j", &json!({"done": true}));
    stage.until("it is stored that nothing is held", |stage| holds(stage, 0)).unwrap();
    let (usage, _, time) = stored(&only_account(&stage).unwrap()).unwrap();
    let time = time.parse::<jiff::Timestamp>().unwrap().as_second();
    // From its commit on, but for the last moments, two charges were held.
    let share = |seconds: i64| 1.0 - 0.5_f64.powf(seconds as f64 / HALF_LIFE as f64);
    let most = 2e6 * share(time - committed);
    let least = 2e6 * share(time - committed - 65) * 0.98;
    assert!((usage as f64) <= most + 2.0 && (usage as f64) > least, "{usage} is between {least} and {most}");
    // Only now the Match is not needed any more.
    stage.until("its Match is gone", |stage| stage.ours("matches").is_empty()).unwrap();
}

/// The job ends soon after its account was stored, and the leader is told to stop before the account may be stored again. Then the Match is
/// deleted, while there is no leader.
#[test]
fn a3_a_leader_that_is_told_to_stop_stores_what_was_used() {
    let mut stage = claimed();
    stage.until("its account is stored", |stage| holds(stage, 2_000_000)).unwrap();
    let committed = seconds(&stage.ours("matches")[0]["status"]["committedAt"]);
    stage.pass(10_000);
    stage.merge("jobs", "j", &json!({"done": true}));
    stage.until("the job is over", |stage| stage.phase("j") == "Succeeded").unwrap();
    let ended = stage.now_ms / 1000 + crate::process::beginning().as_second();
    stage.pass(2000);
    assert!(holds(&stage, 2_000_000), "an account is stored once in a minute");
    stage.processes[0].stop();
    stage.pass(8000);
    let (usage, held, _) = stored(&only_account(&stage).unwrap()).unwrap();
    assert_eq!(held, 0, "it was stored at the end");
    let share = |seconds: i64| 2e6 * (1.0 - 0.5_f64.powf(seconds as f64 / HALF_LIFE as f64));
    let (least, most) = (share(ended - committed - 2) * 0.995, share(ended - committed + 1));
    assert!((usage as f64) > least && (usage as f64) < most, "{usage} is between {least} and {most}");
    stage.processes.clear();
    let gone = stage.ours("matches")[0]["metadata"]["name"].as_str().unwrap().to_owned();
    stage.delete("matches", &gone);
    let before = stage.log.len();
    stage.pass(60_000);
    stage.start(&[]);
    stage.pass(120_000);
    let writes = stage.log[before..].join("\n");
    assert!(!writes.contains("accounts"), "there is nothing to add: {writes}");
}

/// Beside an account that the administrator has created, which stays.
#[test]
fn an_account_that_made_itself_goes_when_it_is_unused() {
    let mut stage = Stage::new(None, Twist::None);
    offers(&mut stage);
    policy(&mut stage, &json!({}));
    stage.start(&[]);
    let mut made = cluster_object("Account", "ns-gone", &json!({"submitter": {"namespace": "gone"}}));
    made["metadata"]["labels"] = json!({"gangmatch.dev/made-by": "accountant", "gangmatch.dev/made-for": "gone"});
    stage.post(ACCOUNTS, &made);
    stage.post(ACCOUNTS, &cluster_object("Account", "ns-own", &json!({"submitter": {"namespace": "own"}})));
    let is_there = |stage: &Stage, name: &str| stage.list(ACCOUNTS).iter().any(|all| all["metadata"]["name"] == name);
    stage.pass(80_000);
    assert!(is_there(&stage, "ns-gone"), "it is new");
    let status = json!({"status": {"usage": "0.000000", "charge": "0.000000", "usageTime": "2020-01-01T00:00:00Z", "halfLifeSeconds": 86400}});
    for name in ["ns-gone", "ns-own"] {
        let answer = stage.ask(&Method::PATCH, &format!("{ACCOUNTS}/{name}/status"), &status);
        assert!(answer.code < 300, "{}", answer.body);
    }
    stage.until("it is deleted", |stage| !is_there(stage, "ns-gone")).unwrap();
    stage.pass(80_000);
    assert!(is_there(&stage, "ns-own"));
}

/// A quota that is reached is said with its name, and whoever is below it goes on.
#[test]
fn a_job_beyond_its_quota_is_told_which() {
    let mut stage = Stage::new(None, Twist::None);
    stage.create(&machine("m0", 9));
    stage.create(&machine("m1", 8));
    stage.create(&license(2));
    let counters = json!([{"name": "sim", "constraint": "App == \"sim\"", "resource": "seats"}]);
    policy(&mut stage, &json!({"counters": counters}));
    let namespace = stage.ours("machines")[0]["metadata"]["namespace"].clone();
    let quotas = json!([{"counter": "sim", "max": 1}]);
    let spec = json!({"submitter": {"namespace": namespace}, "quotas": quotas});
    stage.post(ACCOUNTS, &cluster_object("Account", "eda", &spec));
    stage.start(&[]);
    stage.create(&job("a", &json!({"priority": 1})));
    stage.create(&job("b", &json!({})));
    stage.until("the first is claimed", |stage| stage.phase("a") == "Claimed").unwrap();
    let says = |stage: &Stage, job: &str, reason: &str| {
        let found = stage.get("jobs", job).unwrap_or_default();
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let matched = conditions.iter().find(|condition| condition["type"] == "Matched");
        matched.is_some_and(|matched| matched["reason"] == reason)
    };
    stage.until("the other is told why", |stage| says(stage, "b", "QuotaExceeded")).unwrap();
    assert_eq!(stage.get("jobs", "b").unwrap()["status"]["why"], "sim: eda holds 1 of at most 1");
    let raised = json!({"spec": {"quotas": [{"counter": "sim", "max": 2}]}});
    let answer = stage.ask(&Method::PATCH, &format!("{ACCOUNTS}/eda"), &raised);
    assert!(answer.code < 300, "{}", answer.body);
    stage.until("then it is claimed", |stage| stage.phase("b") == "Claimed").unwrap();
    stage.rest().unwrap();
}

/// A gang with accounts, for the matrix: it is claimed, stored, and ends.
pub(crate) fn charged(stage: &mut Stage) -> Result<(), String> {
    offers(stage);
    policy(stage, &json!({}));
    stage.start(&[]);
    stage.create(&job("j", &json!({})));
    stage.until("j is claimed", |stage| stage.phase("j") == "Claimed")?;
    stage.until("its account is stored", |stage| holds(stage, 2_000_000))?;
    stage.merge("jobs", "j", &json!({"done": true}));
    stage.until("j is over", |stage| stage.phase("j") == "Succeeded")?;
    stage.until("it is stored that nothing is held", |stage| holds(stage, 0))
}

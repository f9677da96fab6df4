//! Turns a burst of jobs into gangs that are placed together, on a real API server, by the values of the chart.

use serde_json::{Value, json};
use testbed::product;

use crate::stage::{Namespace, Stage, condition, text};

/// How many jobs there are of each sort, and places on each machine.
const EACH: usize = 30;

fn object(kind: &str, name: &str, spec: &Value) -> String {
    let object =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    format!("{object}\n---\n")
}

/// A fast and a slow machine, which open at the same moment: when their namespace gets its label. Jobs of one sort like the fast one, and those
/// of the other, which are younger, need it. Answers the jobs' namespace once all are claimed that can be.
fn burst(stage: &'static Stage, claimed: usize) -> Namespace {
    burst_of(stage, claimed, None)
}

/// The same for an account that may hold so many gangs.
fn burst_of(stage: &'static Stage, claimed: usize, most: Option<usize>) -> Namespace {
    let (pool, here) = (stage.namespace("places"), stage.namespace("burst"));
    if let Some(most) = most {
        let quotas = json!([{"counter": "gangs", "max": most}]);
        let account = json!({"submitter": {"namespace": here.name}, "quotas": quotas});
        stage.cluster.apply(&object("PoolPolicy", "pool", &json!({}))).unwrap();
        stage.cluster.apply(&object("Account", &here.name, &account)).unwrap();
    }
    let machine = |name: &str, speed: u32| {
        let constraint = format!("other.Namespace == \"{}\"", here.name);
        object(
            "Machine",
            name,
            &json!({"attributes": {"Speed": speed}, "capacity": {"slots": EACH}, "constraint": constraint,
                "allowedNamespaces": {"from": "All"}}),
        )
    };
    pool.apply(&(machine("fast", 9) + &machine("slow", 1)));
    let jobs = |sort: &str, constraint: &str| -> String {
        let spec = json!({"ports": [{"label": "cpu", "constraint": constraint, "rank": "cpu.Speed"}]});
        (0..EACH).map(|number| object("Job", &format!("{sort}-{number:02}"), &spec)).collect()
    };
    here.apply(&jobs("any", "cpu.Type == \"Machine\""));
    here.apply(&jobs("sim", "cpu.Type == \"Machine\" && cpu.Speed > 5"));
    here.until("all jobs to be looked at", || {
        let jobs = here.list("gmj");
        (jobs.iter().filter(|job| condition(job, "Matched").0 == "False").count() == 2 * EACH).then_some(())
    });
    pool.kubectl(&["label", "namespace", &pool.name, "gangmatch.dev/offers=cluster"], None);
    here.until("as many jobs to be claimed as can be", || (committed(&here) == claimed).then_some(()));
    let waiting = 2 * EACH - claimed;
    here.until("all others to know that they wait", || (waits(&here) == waiting).then_some(()));
    here
}

fn committed(here: &Namespace) -> usize {
    here.with_reason("gmj", "Claimed", "Committed").len()
}

/// How many jobs have been told that all that they could have is taken, or is more than their quota.
fn waits(here: &Namespace) -> usize {
    let told = |reason: &str| here.with_reason("gmj", "Matched", reason).len();
    told("WaitingForCapacity") + told("QuotaExceeded")
}

#[test]
fn a_burst_that_is_placed_together_leaves_fewer_jobs_waiting_than_in_turn() {
    // In turn, the older jobs take the fast machine.
    burst(Stage::shared(), EACH);

    let values = ["placing.policy=Collective", "placing.steps=20000", "placing.window=500"];
    let stage = Stage::own_with(&[], &values);
    let here = burst(stage, 2 * EACH);
    let on =
        |job: &str| text(&here.get(&format!("gmj/{job}")), "/status/members").rsplit('/').next().unwrap().to_owned();
    assert_eq!((on("any-00"), on("sim-00")), ("slow".to_owned(), "fast".to_owned()));
    let (_, metrics) = product::get(stage.controller.address(), "/metrics").unwrap();
    let gangs = |by: &str| -> f64 {
        let series = format!("gangmatch_placing_gangs{{by=\"{by}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("no {series} in {metrics}")).parse().unwrap()
    };
    assert!(gangs("in_turn") <= gangs("placed") && gangs("placed") <= gangs("bound"), "{metrics}");
    here.kubectl(&["delete", "gmj", "--all"], None);

    // With an account that may hold so many gangs: these, and no more.
    let most = EACH + 10;
    let here = burst_of(stage, most, Some(most));
    assert_eq!(here.with_reason("gmj", "Matched", "QuotaExceeded").len(), 2 * EACH - most);
}

fn pair(name: &str) -> String {
    let ports = json!([{"label": "node", "count": 2, "constraint": "node.Type == \"Machine\""}]);
    object("Job", name, &json!({"ports": ports}))
}

fn single(name: &str) -> String {
    object("Job", name, &json!({"ports": [{"label": "node", "constraint": "node.Type == \"Machine\""}]}))
}

/// Opens the machines, or closes them: all at the same moment.
fn open(pool: &Namespace, is_open: bool) {
    let label = if is_open { "gangmatch.dev/offers=cluster" } else { "gangmatch.dev/offers-" };
    pool.kubectl(&["label", "namespace", &pool.name, label], None);
}

fn told_to_wait(here: &Namespace, job: &str) -> Option<String> {
    let (_, reason, why) = condition(&here.get(&format!("gmj/{job}")), "Matched");
    (reason == "WaitingForTurn").then_some(why)
}

#[test]
fn a_job_is_passed_over_until_it_has_waited_for_too_long() {
    const WAIT_MAX: i64 = 40;
    let stage = Stage::own_with(&[], &["placing.policy=Collective", &format!("placing.maxWaitSeconds={WAIT_MAX}")]);
    let (pool, here) = (stage.namespace("places"), stage.namespace("waits"));
    let constraint = format!("other.Namespace == \"{}\"", here.name);
    let spec = json!({"constraint": constraint, "allowedNamespaces": {"from": "All"}});
    pool.apply(&(object("Machine", "a", &spec) + &object("Machine", "b", &spec)));
    here.apply(&pair("wide"));
    let came = text(&here.get("gmj/wide"), "/metadata/creationTimestamp").parse::<jiff::Timestamp>().unwrap();
    // In turn, the wide job would get both machines: it is the oldest, by whole seconds.
    let later = came + jiff::SignedDuration::from_secs(1);
    here.until("the next second", || (jiff::Timestamp::now() > later).then_some(()));
    here.apply(&(single("one") + &single("two")));
    open(&pool, true);
    here.wait_reason("gmj/one", "Claimed", "Committed");
    here.wait_reason("gmj/two", "Claimed", "Committed");
    let waits = condition(&here.get("gmj/wide"), "Matched");
    assert_eq!(waits.0, "False", "it is passed over: {waits:?}");
    let due = came + jiff::SignedDuration::from_secs(WAIT_MAX);
    // The machines are free once more, and two other jobs want them, when it has waited for too long.
    open(&pool, false);
    here.apply(&(single("three") + &single("four")));
    here.merge("gmj/one", r#"{"spec": {"done": true}}"#);
    here.merge("gmj/two", r#"{"spec": {"done": true}}"#);
    here.until("the machines to be free", || (pool.entries("gmm/a") + pool.entries("gmm/b") == 0).then_some(()));
    here.until("it to have waited for too long", || (jiff::Timestamp::now() > due).then_some(()));
    open(&pool, true);
    here.wait_reason("gmj/wide", "Claimed", "Committed");
    assert!(committed(&here) == 1, "the younger ones wait");
}

#[test]
fn new_jobs_are_gathered_and_placed_when_the_window_closes() {
    let stage = Stage::own_with(&[], &["placing.policy=Collective", "placing.gatherSeconds=10"]);
    let here = stage.namespace("gather");
    let machines = [("fast", 9), ("slow", 1)].map(|(name, speed)| {
        let spec = json!({"attributes": {"Speed": speed}, "constraint": "true"});
        object("Machine", name, &spec)
    });
    here.apply(&machines.concat());
    here.wait("gmm/fast", "Ready");
    here.wait("gmm/slow", "Ready");
    let job = |name: &str, constraint: &str| {
        let ports = json!([{"label": "cpu", "constraint": constraint, "rank": "cpu.Speed"}]);
        object("Job", name, &json!({"ports": ports}))
    };
    here.apply(&job("any", "cpu.Type == \"Machine\""));
    let why = here.until("the first job to know that it is gathered", || told_to_wait(&here, "any"));
    assert!(why.starts_with("new jobs are gathered and placed together: it is matched at "), "{why}");
    assert_eq!(here.entries("gmm/fast"), 0, "alone it would have the fast machine by now");
    here.apply(&job("sim", "cpu.Type == \"Machine\" && cpu.Speed > 5"));
    here.wait_reason("gmj/any", "Claimed", "Committed");
    here.wait_reason("gmj/sim", "Claimed", "Committed");
    let on =
        |job: &str| text(&here.get(&format!("gmj/{job}")), "/status/members").rsplit('/').next().unwrap().to_owned();
    assert_eq!((on("any"), on("sim")), ("slow".to_owned(), "fast".to_owned()));
}

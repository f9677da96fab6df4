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

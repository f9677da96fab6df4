//! What operators read at /metrics: that it counts what has happened, and that its size does not grow with what there is.

use std::collections::BTreeMap;

use testbed::product;

use crate::stage::{Namespace, Stage, job, license, machine};

/// Each series with its value.
fn scrape(here: &Namespace) -> BTreeMap<String, f64> {
    let (status, text) = product::get(here.stage.controller.address(), "/metrics").unwrap();
    assert_eq!(status, 200);
    let series = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("`{line}` is no sample"));
        (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("`{line}` has no number")))
    });
    series.collect()
}

fn value(all: &BTreeMap<String, f64>, series: &str) -> f64 {
    all.get(series).copied().unwrap_or(0.0)
}

const COMMITTED: &str = r#"gangmatch_decisions_total{decision="Committed",reason="AllReserved"}"#;
const DONE: &str = r#"gangmatch_decisions_total{decision="Released",reason="Done"}"#;

#[test]
fn what_happens_is_counted_and_no_series_is_named_after_an_object() {
    let stage = Stage::own();
    let here = stage.namespace("metrics");
    here.until("it to lead", || (value(&scrape(&here), "gangmatch_leader") > 0.0).then_some(()));
    let jobs: String = (0..3).map(|number| job(&format!("j{number}"), "sim")).collect();
    here.apply(&[machine("m"), license("l", "sim", 1, 1), jobs].concat());
    let seen = here.until("a commit, and the others told that they wait", || {
        let all = scrape(&here);
        let waiting = value(&all, r#"gangmatch_jobs_unmatched{reason="WaitingForCapacity"}"#);
        let queued = value(&all, "gangmatch_jobs_waiting");
        (value(&all, COMMITTED) >= 1.0 && waiting == 2.0 && queued == 2.0).then_some(all)
    });
    for series in [
        "gangmatch_commit_duration_seconds_count",
        "gangmatch_wait_duration_seconds_count",
        "gangmatch_cycle_duration_seconds_count",
    ] {
        assert!(value(&seen, series) >= 1.0, "{series}: {seen:#?}");
    }
    assert!(value(&seen, r#"gangmatch_requests_total{kind="write",outcome="done"}"#) >= 5.0, "{seen:#?}");
    // What is there is counted every ten seconds.
    let seats = r#"{kind="License",resource="seats"}"#;
    here.until("the seat to be counted", || {
        let all = scrape(&here);
        let sums = ["capacity", "capacity_claimed"].map(|name| value(&all, &format!("gangmatch_{name}{seats}")));
        let of = |series: &str| value(&all, series);
        let jobs = (of(r#"gangmatch_jobs{phase="Claimed"}"#), of(r#"gangmatch_jobs{phase="Pending"}"#));
        let rest =
            (of(r#"gangmatch_claims{state="Committed"}"#), of(r#"gangmatch_offers{kind="Machine",ready="Full"}"#));
        (sums == [1.0, 1.0] && jobs == (1.0, 2.0) && rest == (1.0, 1.0)).then_some(())
    });
    let build = format!("gangmatch_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(value(&seen, &build), 1.0, "{seen:#?}");
    assert_eq!(value(&seen, r#"gangmatch_attempts_total{attempt="again"}"#), 0.0);
    for number in 0..3 {
        let claimed = here.until("one of them to be claimed", || {
            let named = |job: &serde_json::Value| crate::stage::text(job, "/metadata/name");
            let is = |job: &serde_json::Value| crate::stage::text(job, "/status/phase") == "Claimed";
            here.list("gmj").iter().find(|job| is(job)).map(named)
        });
        here.merge(&format!("gmj/{claimed}"), r#"{"spec":{"done":true}}"#);
        here.until("it to be counted", || (value(&scrape(&here), DONE) >= f64::from(number + 1)).then_some(()));
    }
    let after = here.until("quiet", || {
        let all = scrape(&here);
        let under_way = value(&all, "gangmatch_claims_in_flight")
            + value(&all, r#"gangmatch_requests_in_flight{kind="write"}"#)
            + value(&all, "gangmatch_jobs_waiting");
        (under_way == 0.0).then_some(all)
    });
    assert_eq!(value(&after, COMMITTED), 3.0);
    for name in after.keys() {
        assert!(!name.contains(&here.name) && !name.contains("\"j0\""), "{name} is named after an object");
    }
    assert!(after.len() < 250, "{} series", after.len());
}

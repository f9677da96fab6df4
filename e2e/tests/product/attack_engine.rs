//! What a tenant may do to the engine by ads alone, while the jobs of another one are matched all the same.

use std::time::{Duration, Instant};

use testbed::cluster::Choice;
use testbed::{Options, product};

use crate::stage::{Namespace, Stage, condition};

/// Within this time another tenant's job is claimed, on a busy machine with a debug build.
const SOON: Duration = Duration::from_secs(20);

/// One controller for all that is hostile here: tenants are many, and do not wait for each other.
fn stage() -> &'static Stage {
    Stage::of_many_tests("attack_engine", &Choice::Processes, &Options::default(), &[])
}

fn object(kind: &str, name: &str, spec: &str) -> String {
    format!("{{apiVersion: gangmatch.dev/v1alpha1, kind: {kind}, metadata: {{name: {name}}}, spec: {{{spec}}}}}\n---\n")
}

/// So many machines that take jobs of their own namespace.
fn machines(count: usize) -> String {
    let one = |number: usize| {
        let spec = format!(
            "attributes: {{M: {number}, Memory: 4096}}, allowedNamespaces: {{from: Same}}, constraint: 'other.Type == \"Job\"'"
        );
        object("Machine", &format!("m{number:02}"), &spec)
    };
    (0..count).map(one).collect()
}

/// A list of so many values that take a step each.
fn costly(values: usize) -> String {
    format!("member(-1, {{{}}})", vec!["1+1"; values].join(","))
}

/// Eight ports that no index can narrow.
fn eight_ports(constraint: impl Fn(usize) -> String) -> String {
    let port = |number: usize| format!("{{label: p{number}, constraint: '{}'}}", constraint(number));
    format!("ports: [{}]", (0..8).map(port).collect::<Vec<_>>().join(", "))
}

fn sums() -> String {
    eight_ports(|number| match number {
        7 => format!("eval(\"1\") == 1 && {} < 0", (0..8).map(|n| format!("p{n}.M")).collect::<Vec<_>>().join(" + ")),
        _ => format!("p{number}.Type == \"Machine\""),
    })
}

/// Other tenants' jobs are claimed soon, one after the other, and the probes say that all is well.
fn others_are_served(test: &str) {
    let carol = stage().namespace(&format!("carol-{test}"));
    carol.apply(&machines(3));
    for number in 0..3 {
        let (name, begun) = (format!("j{number}"), Instant::now());
        carol.apply(&object("Job", &name, "constraint: 'other.Type == \"Machine\" && other.Memory >= 1024'"));
        carol.wait(&format!("gmj/{name}"), "Claimed");
        assert!(begun.elapsed() < SOON, "{test}: {name} waited {:?}", begun.elapsed());
        for probe in ["/livez", "/readyz"] {
            let answer = product::get(stage().controller.address(), probe);
            assert!(answer.as_ref().is_ok_and(|(status, _)| *status == 200), "{test}: {probe}: {answer:?}");
        }
    }
}

fn is_told(bob: &Namespace, job: &str) {
    let message = bob.wait_reason(&format!("gmj/{job}"), "Matched", "SearchBudgetExhausted");
    assert!(message.contains(&bob.name) && message.contains("tried again at"), "{message}");
}

#[test]
fn b7_eight_ports_that_no_index_can_narrow_keep_nobody_waiting() {
    let bob = stage().namespace("bob-b7");
    bob.apply(&[machines(40), object("Job", "evil", &sums())].concat());
    others_are_served("b7");
    is_told(&bob, "evil");
    bob.apply(&(0..39).map(|number| object("Job", &format!("evil{number}"), &sums())).collect::<String>());
    others_are_served("b7-forty");
}

#[test]
fn b6_lists_that_are_evaluated_in_each_context_keep_nobody_waiting() {
    let bob = stage().namespace("bob-b6");
    let list: Vec<String> = (0..800).map(|number| format!("[a={number}]")).collect();
    let job = format!(
        "expressions: {{L: '{{{}}}'}}, constraint: 'other.Memory > 0 && size(evalInEachContext(countMatches(a > 3, L), L)) < 0'",
        list.join(",")
    );
    bob.apply(&[machines(20), (0..30).map(|number| object("Job", &format!("evil{number}"), &job)).collect()].concat());
    others_are_served("b6");
}

#[test]
fn b7_pairwise_joins_and_costly_ranks_keep_nobody_waiting() {
    let bob = stage().namespace("bob-joins");
    let joins = eight_ports(|port| {
        let with: Vec<String> = (0..port).map(|other| format!("p{other}.M + p{port}.M < 5000")).collect();
        let never = if port == 7 { " && p0.M + p7.M < 0" } else { "" };
        if with.is_empty() { "true".to_owned() } else { format!("{}{never}", with.join(" && ")) }
    });
    let rank = format!("constraint: 'other.Nothing is 7', rank: '{} ? 1 : other.M'", costly(900));
    let ranked = format!(
        "ports: [{{label: a, constraint: 'true'}}, {{label: b, constraint: 'true'}}, {{label: c, constraint: 'a.M + c.M < 0'}}], gangRank: '{} ? a.M : b.M'",
        costly(3000)
    );
    let mut jobs = vec![machines(40), object("Job", "joins", &joins)];
    jobs.extend((0..24).map(|number| object("Job", &format!("rank{number}"), &rank)));
    jobs.extend((0..5).map(|number| object("Job", &format!("ranked{number}"), &ranked)));
    bob.apply(&jobs.concat());
    others_are_served("joins");
    is_told(&bob, "joins");
}

#[test]
fn b7_costly_offers_to_everybody_keep_nobody_waiting() {
    let bob = stage().namespace("bob-offers");
    bob.kubectl(&["label", "namespace", &bob.name, "gangmatch.dev/offers=cluster"], None);
    let machine = format!(
        "attributes: {{M: 1}}, expressions: {{Memory: '{0} ? 1 : 5000'}}, allowedNamespaces: {{from: All}}, constraint: 'eval(\"1\") == 1 && {0}'",
        costly(4000)
    );
    bob.apply(&(0..30).map(|number| object("Machine", &format!("evil{number}"), &machine)).collect::<String>());
    others_are_served("offers");
    bob.kubectl(&["delete", "gmm", "--all"], None);
}

#[test]
fn b7_a_job_that_changes_all_the_time_keeps_nobody_waiting() {
    let bob = stage().namespace("bob-changes");
    bob.apply(&machines(40));
    for round in 0..8 {
        bob.apply(&object("Job", "evil", &format!("attributes: {{Round: {round}}}, {}", sums())));
    }
    others_are_served("changes");
    bob.apply(&object("Job", "evil", &format!("attributes: {{Round: 99}}, {}", sums())));
    is_told(&bob, "evil");
    let told = condition(&bob.get("gmj/evil"), "Matched");
    assert_eq!(told.0, "False", "{told:?}");
    bob.shows("gmj/evil", "Matched", "SearchBudgetExhausted");
    bob.apply(&object("Job", "evil", "ports: [{label: m, constraint: 'm.Type == \"Machine\"'}]"));
    bob.shows("gmj/evil", "Claimed", "Committed");
    others_are_served("changes-again");
}

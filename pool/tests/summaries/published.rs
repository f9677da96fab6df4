//! What is published of offers, and what is not.

use crds::{ExprText, Port};
use matchmaker::Config;
use pool::{CycleInputs, published, snapshot, verdict};
use serde_json::json;
use summary::{Limits, Verdict};

use super::cluster::{expr, job, license, machine, objects, port};
use super::law::has_gang;

#[test]
fn private_attributes_and_what_differs_everywhere_are_not_published() {
    let mut foo = machine("foo");
    foo.spec.ad.attributes = Some([("Price".to_owned(), 7.into()), ("Memory".to_owned(), 64.into())].into());
    foo.spec.ad.private = Some(vec!["price".to_owned()]);
    let all = objects(&[], &[foo], &[license("cad", 3, &[])]);
    let snapshot = snapshot(&all, &CycleInputs::default());
    let summary = published(&snapshot).summary(&Limits::default());
    let text = serde_json::to_string(&summary).unwrap().to_ascii_lowercase();
    assert!(!text.contains("price") && !text.contains("uid-"), "{text}");
    assert_eq!(summary.kinds["machine"].values("memory").numbers.unwrap().min.get().to_string(), "64");
    assert_eq!(summary.kinds["license"].free["seats"].sum, 3);
}

/// No partner can read what is private, and the summary says so of a job that would have to.
#[test]
fn a_job_that_needs_a_private_attribute_is_ruled_out() {
    let mut foo = machine("foo");
    foo.spec.ad.attributes = Some([("Price".to_owned(), 7.into())].into());
    foo.spec.ad.constraint = expr("true");
    let job = job("j", &[port("cpu", "cpu.Price == 7 && cpu.Type == \"Machine\"")]);
    let verdict_of = |foo: crds::Machine| {
        let all = objects(std::slice::from_ref(&job), &[foo], &[]);
        let snapshot = snapshot(&all, &CycleInputs::default());
        let summary = published(&snapshot).summary(&Limits::default());
        let root = &snapshot.roots[0];
        (has_gang(&snapshot, root.ad, &Config::product()), verdict(&snapshot.ad(root.ad).unwrap().ports, &summary))
    };
    assert_eq!(verdict_of(foo.clone()), (true, Verdict::Now));
    foo.spec.ad.private = Some(vec!["Price".to_owned()]);
    let (has_gang, said) = verdict_of(foo);
    assert!(!has_gang && matches!(said, Verdict::Cannot { .. }), "{said:?}");
}
/// A partner is bound through one of the ports, and sees its attributes before those of the ad.
#[test]
fn an_offer_is_seen_through_each_of_its_ports() {
    let through = |label: &str, attributes: &[(&str, i64)]| Port {
        attributes: Some(attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()),
        ..port(label, "true")
    };
    let mut cad =
        license("cad", 3, &[through("user", &[("Price", 1), ("Queue", 5)]), through("guest", &[("Price", 9)])]);
    cad.spec.ad.attributes = Some([("Price".to_owned(), 4.into()), ("Twice".to_owned(), 8.into())].into());
    let summary = published(&snapshot(&objects(&[], &[], &[cad]), &CycleInputs::default())).summary(&Limits::default());
    let kind = &summary.kinds["license"];
    let said = |name: &str| serde_json::to_value(kind.values(name)).unwrap();
    assert_eq!(kind.ads, 1, "one offer, however many ports it has");
    assert_eq!(said("price"), json!({"numbers": {"min": 1, "max": 9, "values": [1, 9]}}), "4 is hidden by both ports");
    assert_eq!(said("queue"), json!({"undefined": true, "numbers": {"min": 5, "max": 5, "values": [5]}}));
    assert_eq!(said("twice"), json!({"numbers": {"min": 8, "max": 8, "values": [8]}}));
    assert_eq!(kind.free["seats"].sum, 3);
}

/// What follows from another partner is not known before that is; and no partner is bound to an offer of which nothing is known.
#[test]
fn what_depends_on_other_partners_of_an_offer_may_be_anything() {
    let host = |name: &str, text: &str| Some([(name.to_owned(), ExprText::from(text))].into());
    let user = Port { expressions: host("Host", "site.Name"), ..port("user", "true") };
    let mut cad = license("cad", 3, &[port("site", "site.Type == \"Machine\""), user]);
    cad.spec.ad.expressions = host("Rack", "site.Rack");
    let summary = published(&snapshot(&objects(&[], &[], &[cad]), &CycleInputs::default())).summary(&Limits::default());
    let kind = &summary.kinds["license"];
    assert!(kind.values("host").any && kind.values("rack").any, "{kind:?}");
}

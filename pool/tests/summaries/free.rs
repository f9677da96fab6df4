//! What is free: claims, what is used from outside and gangs in flight are taken, and what is closed has nothing free.

use std::collections::BTreeMap;

use crds::{ClaimEntry, ClaimPolicy, ExprText, License, Machine, OfferStatus, Port, Res, SetFields, StopPolicy};
use matchmaker::{AdKey, Ask};
use pool::{AssumedGang, CycleInputs, ObjectKey, published, snapshot, verdict};
use summary::{Free, Limits, Summary, Verdict};

use super::cluster::{expr, job, license, machine, objects, port};

fn res(name: &str, amount: i64) -> Res {
    Res::from([(name.to_owned(), amount)])
}

fn of_slots(name: &str, slots: i64) -> Machine {
    let mut machine = machine(name);
    machine.spec.capacity = res("slots", slots);
    machine
}

fn taken(resource: &str, amount: i64) -> OfferStatus {
    let entry = ClaimEntry { allocation: res(resource, amount), ..ClaimEntry::default() };
    OfferStatus { claims: BTreeMap::from([("claim".to_owned(), entry)]), ..OfferStatus::default() }
}

fn summary(machines: &[Machine], licenses: &[License], inputs: &CycleInputs) -> Summary {
    published(&snapshot(&objects(&[], machines, licenses), inputs)).summary(&Limits::default())
}

/// The most and the sum of the free slots of a machine with 4 slots that was changed, beside one with 2 that was not.
fn slots(change: impl Fn(&mut Machine), inputs: &CycleInputs) -> (i64, i64) {
    let mut changed = of_slots("large", 4);
    change(&mut changed);
    let Free { max, sum, .. } = summary(&[changed, of_slots("small", 2)], &[], inputs).kinds["machine"].free["slots"];
    (max, sum)
}

#[test]
fn what_claims_hold_is_taken() {
    let nothing = CycleInputs::default();
    assert_eq!(slots(|_| (), &nothing), (4, 6));
    assert_eq!(slots(|machine| machine.status = Some(taken("slots", 3)), &nothing), (2, 3));
    assert_eq!(slots(|machine| machine.status = Some(taken("slots", 9)), &nothing), (2, 2), "never less than nothing");
}

#[test]
fn what_is_used_from_outside_is_taken() {
    let used = |machine: &mut Machine| {
        machine.status = Some(OfferStatus { external_usage: res("slots", 1), ..taken("slots", 1) });
    };
    assert_eq!(slots(used, &CycleInputs::default()), (2, 4));
}

#[test]
fn what_a_gang_in_flight_takes_is_taken_until_the_ledger_shows_it() {
    let key = AdKey { kind: "Machine".to_owned(), namespace: "n".to_owned(), name: "large".to_owned() };
    let ask = Ask { allocation: res("slots", 3).into(), share: None };
    let gang = AssumedGang { match_key: ObjectKey::new("n", "flight"), asks: vec![(key, ask)], charged: None };
    let inputs = CycleInputs { assumed: vec![gang], ..CycleInputs::default() };
    assert_eq!(slots(|_| (), &inputs), (2, 3));
    let booked = |machine: &mut Machine| {
        let mut status = taken("slots", 3);
        status.claims.values_mut().for_each(|entry| entry.match_key = "n/flight".to_owned());
        machine.status = Some(status);
    };
    assert_eq!(slots(booked, &inputs), (2, 3), "it is not counted twice");
}

/// Its attributes are published all the same: it may be opened again.
#[test]
fn what_is_closed_has_nothing_free() {
    let nothing = CycleInputs::default();
    assert_eq!(slots(|machine| machine.spec.offer.stop_policy = StopPolicy::Hold, &nothing), (2, 2));
    assert_eq!(slots(|machine| machine.spec.offer.stop_policy = StopPolicy::HoldAndDrain, &nothing), (2, 2));
    assert_eq!(slots(|machine| machine.spec.offer.claim_policy = ClaimPolicy::Agent, &nothing), (2, 2), "no agent");
    let unverified = CycleInputs { unverified: ["uid-large".to_owned()].into(), ..CycleInputs::default() };
    assert_eq!(slots(|_| (), &unverified), (2, 2), "work may go on under its former object");
    let mut closed = of_slots("only", 4);
    closed.spec.offer.stop_policy = StopPolicy::Hold;
    let kind = &summary(&[closed], &[], &nothing).kinds["machine"];
    assert_eq!((kind.ads, kind.free.len()), (1, 0));
    assert!(kind.attributes.contains_key("name"));
}

#[test]
fn seats_that_are_shared_are_all_free() {
    let mut cad = license("cad", 3, &[]);
    cad.status = Some(taken("seats", 3));
    let nothing = CycleInputs::default();
    let free = |cad: &License| summary(&[], std::slice::from_ref(cad), &nothing).kinds["license"].free["seats"];
    assert_eq!(free(&cad), Free { max: 0, sum: 0, shared: false });
    cad.spec.shared_by = Some(ExprText::from("requester.Owner"));
    assert_eq!(free(&cad), Free { max: 3, sum: 3, shared: true });
}

/// A port that requests so many of a resource.
fn asking(label: &str, constraint: &str, resource: &str, amount: i64) -> Port {
    let amount = ExprText::from(amount.to_string().as_str());
    Port { request: Some([(resource.to_owned(), amount)].into()), ..port(label, constraint) }
}

/// What is said of a job with these ports.
fn said(ports: &[Port], machines: &[Machine], licenses: &[License]) -> Verdict {
    let nothing = CycleInputs::default();
    let job = snapshot(&objects(&[job("j", ports)], machines, licenses), &nothing);
    verdict(&job.ad(job.roots[0].ad).unwrap().ports, &summary(machines, licenses, &nothing))
}

const MACHINE: &str = "cpu.Type == \"Machine\"";
const SECOND: &str = "second.Type == \"Machine\"";
const LICENSE: &str = "cad.Type == \"License\"";

#[test]
fn it_is_full_if_no_offer_has_as_much_free_as_a_port_requests() {
    let machines = [of_slots("a", 2), of_slots("b", 2)];
    let of = |amount| said(&[asking("cpu", MACHINE, "slots", amount)], &machines, &[]);
    assert_eq!([of(2), of(3)], [Verdict::Now, Verdict::Full { port: 0 }], "two offers do not make one that has 3");
    assert_eq!(said(&[asking("cpu", MACHINE, "gpus", 1)], &machines, &[]), Verdict::Full { port: 0 });
}

/// Without a request a claim takes something, if only one.
#[test]
fn it_is_full_if_all_is_taken_whatever_is_requested() {
    let mut taken_whole = of_slots("a", 2);
    taken_whole.status = Some(taken("slots", 2));
    let ports = [port("cpu", MACHINE), port("cad", LICENSE)];
    assert_eq!(said(&ports, &[taken_whole], &[license("cad", 1, &[])]), Verdict::Full { port: 0 });
    let mut used = license("cad", 1, &[]);
    used.status = Some(OfferStatus { external_usage: res("seats", 1), ..OfferStatus::default() });
    assert_eq!(said(&ports, &[of_slots("a", 1)], &[used]), Verdict::Full { port: 1 });
}

#[test]
fn ports_of_one_kind_must_fit_together() {
    let ports = [port("cpu", MACHINE), port("second", SECOND)];
    assert_eq!(said(&ports, &[of_slots("a", 1)], &[]), Verdict::Full { port: 1 });
    assert_eq!(said(&ports, &[of_slots("a", 1), of_slots("b", 1)], &[]), Verdict::Now);
    let twice = [asking("cpu", MACHINE, "slots", 3), asking("second", SECOND, "slots", 2)];
    assert_eq!(said(&twice, &[of_slots("a", 3), of_slots("b", 1)], &[]), Verdict::Full { port: 1 }, "5 of 4");
    // One of them may be bound to a license.
    let either = [port("cpu", MACHINE), port("second", "true")];
    assert_eq!(said(&either, &[of_slots("a", 1)], &[license("cad", 1, &[])]), Verdict::Now);
}

#[test]
fn seats_that_are_shared_are_not_added_up() {
    let ports = [port("cad", LICENSE), port("more", "more.Type == \"License\"")];
    let mut seat = license("cad", 1, &[]);
    assert_eq!(said(&ports, &[], std::slice::from_ref(&seat)), Verdict::Full { port: 1 });
    seat.spec.shared_by = Some(ExprText::from("requester.Owner"));
    assert_eq!(said(&ports, &[], &[seat]), Verdict::Now);
}

/// What is requested can depend on the partner: then nothing is known of it.
#[test]
fn what_is_requested_of_a_partner_that_is_not_known_yet_is_not_too_much() {
    let computed = |text: &str| {
        let request = Some([("slots".to_owned(), ExprText::from(text))].into());
        said(&[Port { request, ..port("cpu", MACHINE) }], &[of_slots("a", 2)], &[])
    };
    assert_eq!(computed("cpu.Slots * 100"), Verdict::Now);
    assert_eq!(computed("2 + 1"), Verdict::Full { port: 0 });
}

/// Afterwards its label is a list, of which a summary knows nothing; the ports after it are looked at all the same.
#[test]
fn ports_after_one_that_binds_several_are_looked_at() {
    let set = SetFields { count: expr("2"), ..SetFields::default() };
    let nodes = Port { set, ..port("cpu", MACHINE) };
    let machines = [of_slots("a", 1), of_slots("b", 1)];
    let of = |constraint: &str| said(&[nodes.clone(), port("cad", constraint)], &machines, &[license("cad", 1, &[])]);
    let missing = Verdict::Cannot { port: 1, conjunct: Some("cad.App == \"cfd\"".to_owned()) };
    assert_eq!([of(LICENSE), of("cad.App == \"cfd\"")], [Verdict::Now, missing]);
    assert_eq!(of("cpu.Memory == 1 && member(\"a\", cpu.Name)"), Verdict::Now, "of the list nothing is known");
}

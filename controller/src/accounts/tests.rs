//! The fold in memory against what a new leader reconstructs, and how fast accounts are written.

mod histories;

use crds::{Account, LABEL_MADE_BY, LABEL_MADE_FOR, Match, PoolPolicy};
use pool::{Objects, account_usage};
use sampling::Random;
use serde_json::{Value, json};

use super::Accounting;
use super::ledger::Ledger;
use super::plan::{AccountChange, Pace, change_of};

const BEGIN: i64 = 1_795_269_600;

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn time(at: i64) -> String {
    jiff::Timestamp::from_second(BEGIN + at).unwrap().to_string()
}

fn pool(half_life: i64) -> Objects {
    let mut objects = Objects::default();
    let policy: PoolPolicy = object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "PoolPolicy",
        "metadata": {"name": "pool"}, "spec": {"halfLifeSeconds": half_life}}));
    objects.accounts.apply_policy(policy);
    objects
}

/// A Match of a tenant that costs so many charges, from a time to another one.
fn claim(number: u64, tenant: &str, charge: u64, (from, to): (i64, Option<i64>)) -> Match {
    let member = |id: u64, kind: &str| {
        json!({"id": id, "kind": kind, "namespace": tenant, "name": format!("{kind}{number}"), "uid": format!("{kind}-{number}"),
            "generation": 1})
    };
    let mut offer = member(1, "Machine");
    offer["parent"] = json!(0);
    offer["allocation"] = json!({"slots": 1});
    offer["charge"] = json!(format!("{charge}.000000"));
    let decision = if to.is_some() { "Released" } else { "Committed" };
    let mut status = json!({"decision": decision, "committedAt": time(from)});
    if let Some(to) = to {
        status["releasedAt"] = json!(time(to));
    }
    object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match",
        "metadata": {"name": format!("m{number}"), "namespace": tenant, "uid": format!("uid-{number}")},
        "spec": {"attempt": 1, "cycle": {"id": "1", "time": time(0), "seed": 1}, "epoch": 0, "reserveTimeoutSeconds": 30,
            "summary": "", "rank": "0", "account": format!("ns-{tenant}"), "members": [member(0, "Job"), offer]},
        "status": status}))
}

/// Claims begin and end; the ledger is told of each, and knows what the objects alone tell.
#[test]
fn a3_what_is_folded_is_what_a_new_leader_reconstructs() {
    for seed in 0..30 {
        let (mut random, mut ledger, mut objects) = (Random::new(seed), Ledger::default(), pool(3600));
        let mut live: Vec<(u64, &str, u64, i64)> = Vec::new();
        let mut now = 0;
        for number in 0..60 {
            now += i64::try_from(random.below(400)).unwrap();
            if live.is_empty() || random.below(100) < 60 {
                let tenant = ["a", "b", "c"][usize::try_from(random.below(3)).unwrap()];
                let charge = random.below(5);
                objects.matches.put(claim(number, tenant, charge, (now, None)));
                live.push((number, tenant, charge, now));
            } else {
                let place = usize::try_from(random.below(u64::try_from(live.len()).unwrap())).unwrap();
                let (number, tenant, charge, from) = live.swap_remove(place);
                objects.matches.put(claim(number, tenant, charge, (from, Some(now))));
            }
            let changes = objects.take_changes();
            ledger.note(&changes, &objects, BEGIN + now);
            let known = account_usage(&objects, BEGIN + now + 50);
            let usage = ledger.usage(BEGIN + now + 50);
            for (name, own) in &known.accounts {
                let (folded, told) = (usage[name], own.usage.at(known.time));
                // Each fold rounds at 2^-64.
                assert!((folded - told).abs() <= 2, "seed {seed}, {name}: {folded} {told}");
                assert_eq!(ledger.tallies()[name].usage.held(), own.usage.held(), "seed {seed}, {name}");
            }
        }
    }
}

/// Who deletes a Match pays until the last pod has ended, and the leader that begins then knows it.
#[test]
fn x2_a_claim_whose_match_was_deleted_is_charged_until_its_last_entry_is_gone() {
    let (mut ledger, mut objects) = (Ledger::default(), pool(3600));
    let machine = |is_held: bool| -> crds::Machine {
        let claims = if is_held { json!({"uid-1": {"match": "a/m1"}}) } else { json!({}) };
        object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine",
            "metadata": {"name": "Machine1", "namespace": "a", "uid": "Machine-1"}, "spec": {}, "status": {"claims": claims}}))
    };
    let mut at = |objects: &mut Objects, seconds: i64| {
        let changes = objects.take_changes();
        ledger.note(&changes, objects, BEGIN + seconds);
        let held = ledger.tallies().get("ns-a").map_or(0, |tally| tally.usage.held());
        let known = account_usage(objects, BEGIN + seconds);
        assert_eq!(known.accounts.get("ns-a").map_or(0, |own| own.usage.held()), held, "as a new leader knows it");
        (held, ledger.usage(BEGIN + seconds).get("ns-a").copied().unwrap_or(0))
    };
    let found = claim(1, "a", 4, (0, None));
    objects.machines.put(machine(true));
    objects.matches.put(found.clone());
    assert_eq!(at(&mut objects, 0), (4_000_000, 0));
    objects.matches.delete(&found);
    assert_eq!(at(&mut objects, 1800).0, 4_000_000, "its pods still run");
    assert_eq!(at(&mut objects, 3600), (4_000_000, 2_000_000));
    objects.machines.put(machine(false));
    assert_eq!(at(&mut objects, 3600), (0, 2_000_000));
    assert_eq!(at(&mut objects, 7200), (0, 1_000_000));
}

/// A machine of one slot, held by a claim of another tenant or free.
fn slot(name: &str, is_held: bool) -> crds::Machine {
    let claims = if is_held { json!({"u": {"match": "b/m", "allocation": {"slots": 1}}}) } else { json!({}) };
    object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "pool", "uid": name}, "spec": {}, "status": {"claims": claims}}))
}

/// A job of `a` for which both machines are held, or none.
fn nominee(is_nominated: bool) -> crds::Job {
    let member = |id: u64, kind: &str, (namespace, name): (&str, &str)| json!({"id": id, "kind": kind, "namespace": namespace, "name": name, "uid": name, "generation": 1});
    let offer = |id: u64, name: &str| {
        let mut offer = member(id, "Machine", ("pool", name));
        (offer["parent"], offer["allocation"], offer["charge"]) = (json!(0), json!({"slots": 1}), json!("4.000000"));
        offer
    };
    let nomination = json!({"kind": "Reservation", "time": time(0), "victims": [],
        "gang": [member(0, "Job", ("a", "big")), offer(1, "m0"), offer(2, "m1")]});
    let status = if is_nominated { json!({"nomination": nomination}) } else { json!({}) };
    object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job",
        "metadata": {"name": "big", "namespace": "a", "uid": "big"}, "spec": {}, "status": status}))
}

#[test]
fn s2_what_is_kept_idle_for_a_job_is_charged_to_its_account_as_if_it_were_held() {
    let (mut ledger, mut objects) = (Ledger::default(), pool(3600));
    [("m0", true), ("m1", true)].into_iter().for_each(|(name, is_held)| objects.machines.put(slot(name, is_held)));
    objects.jobs.put(nominee(true));
    let mut at = |objects: &mut Objects, seconds: i64| {
        let changes = objects.take_changes();
        ledger.note(&changes, objects, BEGIN + seconds);
        let held = ledger.tallies().get("ns-a").map_or(0, |tally| tally.usage.held());
        (held, ledger.usage(BEGIN + seconds).get("ns-a").copied().unwrap_or(0))
    };
    assert_eq!(at(&mut objects, 0), (0, 0), "others have what is held for it");
    objects.machines.put(slot("m0", false));
    assert_eq!(at(&mut objects, 100), (4_000_000, 0), "one is idle");
    assert_eq!(at(&mut objects, 3700), (4_000_000, 2_000_000));
    objects.machines.put(slot("m1", false));
    assert_eq!(at(&mut objects, 3700), (8_000_000, 2_000_000), "both are");
    // Who takes over knows what is idle, too, from then on.
    let known = account_usage(&objects, BEGIN + 3700);
    assert_eq!(known.accounts["ns-a"].usage.held(), 8_000_000);
    objects.machines.put(slot("m1", true));
    assert_eq!(at(&mut objects, 3700).0, 4_000_000, "a job that ends in time uses it meanwhile");
    objects.jobs.put(nominee(false));
    assert_eq!(at(&mut objects, 7300), (0, 3_000_000), "it was kept idle until now");
    assert_eq!(at(&mut objects, 10_900), (0, 1_500_000));
}

/// An account is accepted as soon as it is seen; what it holds soon afterwards is stored as soon, and not a minute later.
#[test]
fn what_is_held_first_does_not_wait_for_a_minute_after_the_condition() {
    let (mut accounting, mut objects) = (Accounting::default(), pool(3600));
    let account = |version: &str, status: Value| -> Account {
        object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Account",
            "metadata": {"name": "ns-a", "uid": "u", "resourceVersion": version, "generation": 1},
            "spec": {"submitter": {"namespace": "a"}}, "status": status}))
    };
    objects.accounts.apply(account("1", json!({})));
    // The changes at a second after the begin: whether each stores a usage.
    let mut at = |objects: &mut Objects, second: u64| -> Vec<bool> {
        let (now, now_ms) = (BEGIN + i64::try_from(second).unwrap(), 1_000_000 + 1000 * second);
        let changes = objects.take_changes();
        for name in accounting.ledger.note(&changes, objects, now) {
            accounting.judge(name, objects, false, (now, now_ms));
        }
        let (changes, _) = accounting.changes(objects, now, now_ms);
        let stores = |change: &AccountChange| matches!(change, AccountChange::Store { at: Some(_), .. });
        changes.iter().map(stores).collect()
    };
    assert_eq!(at(&mut objects, 0), [false], "the condition alone");
    objects.accounts.apply(account(
        "2",
        json!({"observedGeneration": 1, "conditions": [{"type": "Accepted", "status": "True",
        "reason": "Accepted", "message": "", "observedGeneration": 1, "lastTransitionTime": time(0)}]}),
    ));
    objects.matches.put(claim(1, "a", 4, (2, None)));
    assert_eq!(at(&mut objects, 2), [true], "what it holds");
    objects.matches.put(claim(2, "a", 4, (4, None)));
    assert_eq!(at(&mut objects, 4), Vec::<bool>::new(), "the next change waits");
    assert_eq!(at(&mut objects, 62), [true]);
}

#[test]
fn what_another_leader_has_stored_counts_and_a_time_far_ahead_does_not() {
    let (mut ledger, mut objects) = (Ledger::default(), pool(3600));
    ledger.note(&objects.everything(), &objects, BEGIN);
    let account = |usage: &str, at: i64, version: &str| -> Account {
        object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Account",
            "metadata": {"name": "ns-a", "uid": "u", "resourceVersion": version}, "spec": {"submitter": {"namespace": "a"}},
            "status": {"usage": usage, "usageTime": time(at), "charge": "0.000000", "halfLifeSeconds": 3600}}))
    };
    objects.accounts.apply(account("8.000000", 0, "1"));
    ledger.note(&objects.take_changes(), &objects, BEGIN + 3600);
    assert_eq!(ledger.usage(BEGIN + 3600)["ns-a"], 4_000_000);
    objects.accounts.apply(account("8.000000", 1_000_000, "2"));
    ledger.note(&objects.take_changes(), &objects, BEGIN + 3600);
    assert_eq!(ledger.usage(BEGIN + 3600)["ns-a"], 8_000_000, "its usage is kept");
    assert_eq!(ledger.lag(BEGIN + 3600), 0, "and its time is not believed");
    objects.accounts.apply(account("8.000000", 3600 + 300, "3"));
    ledger.note(&objects.take_changes(), &objects, BEGIN + 3600);
    assert_eq!(ledger.lag(BEGIN + 3600), 300, "a time a little ahead is: accounts do not go back");
}

#[test]
fn accounts_are_written_in_a_burst_and_then_two_a_second() {
    let (mut pace, mut written, mut now) = (Pace::default(), 0, 1_000_000);
    while now < 1_010_000 {
        if pace.next_ms() <= now {
            pace.take(now);
            written += 1;
        } else {
            now = pace.next_ms();
        }
    }
    assert!((38..=41).contains(&written), "{written}");
}

/// An account of a tenant that the controller has created.
fn made(tenant: &str, stored: (&str, i64, &str)) -> Account {
    let (usage, at, charge) = stored;
    object(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Account",
        "metadata": {"name": format!("ns-{tenant}"), "uid": format!("uid-{tenant}"), "resourceVersion": "1",
            "creationTimestamp": time(at), "labels": {LABEL_MADE_BY: "accountant", LABEL_MADE_FOR: tenant}},
        "spec": {"submitter": {"namespace": tenant}},
        "status": {"usage": usage, "usageTime": time(at), "charge": charge, "halfLifeSeconds": 3600}}))
}

#[test]
fn each_match_is_looked_at_once_however_many_accounts_there_are() {
    const COUNT: u64 = 1000;
    let (mut ledger, mut objects) = (Ledger::default(), pool(3600));
    for number in 0..COUNT {
        let tenant = format!("t{number}");
        objects.accounts.apply(made(&tenant, ("0.000000", 0, "1.000000")));
        objects.matches.put(claim(number, &tenant, 1, (0, None)));
    }
    ledger.note(&objects.take_changes(), &objects, BEGIN);
    ledger.looked_at = 0;
    let touched = ledger.note(&objects.everything(), &objects, BEGIN);
    assert_eq!((touched.len(), ledger.looked_at), (1000, 1000));
    // An account that is deleted is created again, for whose claims it is, without looking for them.
    objects.accounts.remove("ns-t7");
    ledger.note(&objects.take_changes(), &objects, BEGIN);
    ledger.looked_at = 0;
    let change = change_of("ns-t7", &objects, &ledger, None, false, BEGIN);
    assert!(matches!(change, Some(AccountChange::Create(made)) if made.len() == 1));
    assert_eq!(ledger.looked_at, 0);
}

#[test]
fn an_account_is_deleted_that_was_unused_for_a_day_and_is_as_it_was_made() {
    const DAY: i64 = 86_400;
    let deleted = |account: Account, held: bool, asked: bool| {
        let (mut ledger, mut objects) = (Ledger::default(), pool(3600));
        let name = account.metadata.name.clone().unwrap();
        objects.accounts.apply(account);
        if held {
            objects.matches.put(claim(1, "a", 1, (0, None)));
        }
        ledger.note(&objects.everything(), &objects, BEGIN + DAY);
        let change = change_of(&name, &objects, &ledger, None, asked, BEGIN + DAY);
        matches!(change, Some(AccountChange::Delete(account)) if account.metadata.uid.as_deref() == Some("uid-a"))
    };
    let unused = || made("a", ("0.000999", 0, "0.000000"));
    assert!(deleted(unused(), false, false));
    assert!(!deleted(unused(), true, false), "it holds something");
    assert!(!deleted(unused(), false, true), "a Match waits until it is stored");
    assert!(!deleted(made("a", ("0.000999", 1, "0.000000")), false, false), "not for a day yet");
    assert!(!deleted(made("a", ("0.001000", 0, "0.000000")), false, false), "it has used something a day ago");
    assert!(deleted(made("a", ("900.000000", -20 * 3600, "0.000000")), false, false), "twenty half-lives before that");
    assert!(!deleted(made("a", ("0.000000", 0, "1.000000")), false, false), "it is to be stored first");
    let mut edited = unused();
    edited.spec.weight = 2000;
    assert!(!deleted(edited, false, false), "somebody has edited it");
    let mut own = unused();
    own.metadata.labels = None;
    assert!(!deleted(own, false, false), "somebody else has created it");
    let mut never_stored = unused();
    never_stored.status = None;
    assert!(deleted(never_stored, false, false), "nothing was ever charged to it");
}

#[test]
fn an_account_with_others_below_it_stays() {
    let (mut ledger, mut objects) = (Ledger::default(), pool(3600));
    objects.accounts.apply(made("a", ("0.000000", 0, "0.000000")));
    let mut below = made("b", ("0.000000", 0, "1.000000"));
    below.spec.parent = Some("ns-a".to_owned());
    objects.accounts.apply(below);
    let mut is_deleted = |objects: &Objects| {
        ledger.note(&objects.everything(), objects, BEGIN + 90_000);
        let change = change_of("ns-a", objects, &ledger, None, false, BEGIN + 90_000);
        matches!(change, Some(AccountChange::Delete(_)))
    };
    assert!(!is_deleted(&objects));
    objects.accounts.remove("ns-b");
    assert!(is_deleted(&objects));
}

//! Thousands of the largest ads that there may be into little memory: what there is no room for is not kept.
#![cfg(test)]

use crds::Job;
use gangindex::Indexed;
use jiff::Timestamp;
use matchmaker::Config;
use pool::{CycleInputs, Limits, ObjectKey, Objects, SnapshotBuilder};
use serde_json::{Value, json};

/// How many ads there are; the product promises this for 5000.
fn count() -> usize {
    std::env::var("ADS").ok().and_then(|count| count.parse().ok()).unwrap_or(400)
}

const TEXT: usize = 250 * 1024;

/// Large ads of several shapes, none too large by itself.
fn spec(number: usize) -> Value {
    let unique = format!("{number:08}");
    let list = |item: &str| vec![item.to_owned(); 30_000 / 2].join(",");
    match number % 5 {
        0 => json!({"constraint": "other.Memory > 5", "attributes": {"A": unique + &"x".repeat(TEXT)}}),
        1 => json!({"constraint": "other.Memory > 5", "attributes": {"A": vec![number; 30_000]}}),
        2 => json!({"classad": format!("[ Requirements = other.Memory > {number}; A = {{ {} }} ]", list("7"))}),
        3 => {
            let texts =
                (0..15).map(|index| (format!("E{index}"), json!(format!("{number} + {}1", "a + ".repeat(1000)))));
            json!({"constraint": "other.Memory > 5 || E0 > 3", "expressions": texts.collect::<serde_json::Map<_, _>>()})
        }
        _ => {
            let nested: serde_json::Map<_, _> =
                (0..8_000).map(|index| (format!("k{index}"), json!({"n": number}))).collect();
            json!({"constraint": "other.Memory > 5", "attributes": {"A": nested}})
        }
    }
}

fn object(number: usize, namespaces: usize) -> String {
    let metadata = json!({"name": format!("j-{number}"), "namespace": format!("n-{}", number % namespaces),
        "uid": format!("u-{number}"), "generation": 1, "resourceVersion": "1", "creationTimestamp": "2026-11-21T14:00:00Z",
        "labels": {"a": "b"}});
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec(number)})
        .to_string()
}

/// What of this process is in memory, in MiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096 / (1 << 20)
}

fn filled(namespaces: usize) -> (Objects, usize) {
    let before = resident();
    let mut objects = Objects::default().within(Limits::PRODUCT);
    for number in 0..count() {
        let job: Job = serde_json::from_str(&object(number, namespaces)).unwrap();
        objects.jobs.put(job);
    }
    let machine = json!({"metadata": {"name": "m", "namespace": "n-0", "uid": "m", "generation": 1},
        "spec": {"attributes": {"Memory": 4}, "constraint": "other.Type == \"Job\""}});
    objects.machines.put(serde_json::from_value(machine).unwrap());
    let snapshot = SnapshotBuilder::default().build(&objects, &CycleInputs::default());
    let known = resident();
    let mut engine = Indexed::new();
    let cycle = engine.negotiate(&snapshot, &Config::product(), Timestamp::UNIX_EPOCH.as_second());
    let (accepted, after) = (objects.jobs.iter().filter(|(_, held)| held.ad.is_ok()).count(), resident());
    eprintln!(
        "{} ads in {namespaces} namespaces: {accepted} accepted, {} unmatched; {before} MiB before, {known} MiB known, {after} MiB \
         after a cycle",
        count(),
        cycle.unmatched.len()
    );
    (objects, after)
}

#[test]
fn b13_thousands_of_large_ads_take_little_memory() {
    let (objects, after) = filled(1);
    assert!(after < 400, "{after} MiB");
    let told: Vec<_> = objects.jobs.iter().filter_map(|(_, held)| held.ad.as_ref().err()).collect();
    assert!(told.len() > count() / 2 && told.iter().all(|rejected| rejected.reason == "NamespaceOverBudget"));
    drop(objects);
    let (_, after) = filled(20);
    assert!(after < 512, "{after} MiB");
}

#[test]
fn b13_one_that_has_no_place_is_stripped_and_comes_in_when_there_is_room() {
    let mut objects = Objects::default().within(Limits { each: 3 << 19, all: 8 << 20 });
    let job = |number: usize| serde_json::from_str::<Job>(&object(number * 5 + 10, 1)).unwrap();
    let key = |number: usize| ObjectKey::new("n-0", &format!("j-{}", number * 5 + 10));
    (0..4).for_each(|number| objects.jobs.put(job(number)));
    let accepted =
        |objects: &Objects| (0..4).map(|n| objects.jobs.get(&key(n)).unwrap().ad.is_ok()).collect::<Vec<_>>();
    assert_eq!(accepted(&objects), [true, true, false, false]);
    let held = objects.jobs.get(&key(3)).unwrap();
    assert!(held.is_stripped() && held.object.spec.ad.attributes.is_none());
    assert!(objects.jobs.fitting(9).is_empty());
    objects.jobs.put(job(3));
    assert!(objects.jobs.get(&key(3)).unwrap().is_stripped(), "there is still no room");
    objects.jobs.remove(&key(0));
    objects.take_changes();
    let fitting = objects.jobs.fitting(9);
    assert_eq!(fitting, [key(2)]);
    objects.jobs.put(job(2));
    assert!(objects.jobs.get(&key(2)).unwrap().ad.is_ok());
    assert!(objects.take_changes().jobs.contains(&key(2)));
    assert!(objects.jobs.fitting(9).is_empty());
}

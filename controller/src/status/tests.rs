//! Facts in, status out: what a user reads, and that nothing is written twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use claiming::Reason;
use jiff::Timestamp;
use kube::ResourceExt;
use pool::{Objects, RunState, WorkloadObject, job_state};
use serde_json::{Value, json};

use super::{
    Ended, Finding, Findings, Pending, StatusWrite, Update, job_claimed, job_freed, job_reserving, job_waiting,
    job_working, offer_status, updates,
};
use crate::testing::fixtures::{MATCH_UID, entry, found, job, key, license, world};
use crate::write::lane::Room;
use crds::conditions::find;
use crds::{JobPhase, JobStatus, OfferState, Unmatched, UnmatchedPort};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn waiting(spec: &Value, status: &Value, finding: Option<&Finding>) -> JobStatus {
    let mut objects = Objects::default();
    objects.jobs.put(job(spec, status));
    let held = objects.jobs.get(&key("job")).unwrap();
    job_waiting(held, job_state(held, &objects), finding, NOW)
}

/// A cycle has found nothing; another one is under way or not.
fn looked_at(searching: bool) -> Findings<'static> {
    static NOTHING: BTreeMap<String, Arc<Finding>> = BTreeMap::new();
    Findings { all: &NOTHING, searching }
}

fn busy(count: i64) -> Finding {
    let ports = vec![UnmatchedPort { label: "cpu".into(), candidates: count, busy: count, ..UnmatchedPort::default() }];
    let at = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(NOW));
    Finding {
        reason: "WaitingForCapacity",
        why: format!("{count} taken"),
        counts: Unmatched { at, ports, ..Unmatched::default() },
    }
}

fn held_job(job: crds::Job) -> pool::Cached<crds::Job> {
    let mut objects = Objects::default();
    objects.jobs.put(job);
    objects.jobs.get(&key("job")).cloned().unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// The job after this status, of this spec.
fn after(spec: &Value, status: &JobStatus) -> crds::Job {
    job(spec, &serde_json::to_value(status).unwrap())
}

fn rejected(reason: Reason) -> Ended {
    Ended {
        reason,
        message: "License ns/license: over capacity".into(),
        refusals: Vec::new(),
        aborted: true,
        batch: None,
    }
}

fn reason(status: &JobStatus, type_: &str) -> String {
    find(&status.conditions, type_).map(|found| found.reason.clone()).unwrap_or_default()
}

#[test]
fn a_waiting_job_says_why() {
    let status = waiting(&json!({}), &json!({}), Some(&busy(3)));
    assert_eq!((status.phase, status.why.as_deref()), (Some(JobPhase::Pending), Some("3 taken")));
    assert_eq!(
        (reason(&status, "Accepted"), reason(&status, "Matched")),
        ("Accepted".into(), "WaitingForCapacity".into())
    );
}

#[test]
fn mere_counts_are_not_written_again_but_other_blame_is() {
    let told = serde_json::to_value(waiting(&json!({}), &json!({}), Some(&busy(3)))).unwrap();
    assert_eq!(serde_json::to_value(waiting(&json!({}), &told, Some(&busy(4)))).unwrap(), told);
    let mut other = busy(3);
    other.counts.ports[0].refused_by_job = 1;
    other.why = "one refused".into();
    assert_eq!(waiting(&json!({}), &told, Some(&other)).why.as_deref(), Some("3 taken"), "not yet");
    let held = held_job(job(&json!({}), &told));
    let later = job_waiting(&held, pool::JobState::Waits, Some(&other), at(30));
    assert_eq!(later.why.as_deref(), Some("one refused"));
}

#[test]
fn waiting_reasons_without_a_search() {
    let bad = waiting(&json!({"constraint": "other.Memory >= "}), &json!({}), None);
    assert_eq!((reason(&bad, "Accepted"), reason(&bad, "Matched")), ("ParseError".into(), "NotAccepted".into()));
    assert!(bad.why.unwrap().contains("spec.constraint"));
    let paused = waiting(&json!({"suspend": true}), &json!({}), None);
    assert_eq!((paused.phase, reason(&paused, "Matched")), (Some(JobPhase::Suspended), "Suspended".into()));
    let done = waiting(&json!({"done": true}), &json!({}), None);
    assert_eq!((done.phase, reason(&done, "Finished")), (Some(JobPhase::Cancelled), "Cancelled".into()));
    assert!(done.finished_at.is_some());
}

#[test]
fn the_way_to_a_claim_and_back() {
    let objects = {
        let mut all = Objects::default();
        all.jobs.put(job(&json!({}), &json!({"why": "busy"})));
        all
    };
    let held = objects.jobs.get(&key("job")).unwrap();
    let reserving = job_reserving(held, &found(&json!({})), MATCH_UID, NOW);
    assert_eq!(
        (reserving.phase, reserving.attempts, reserving.why.as_deref()),
        (Some(JobPhase::Reserving), Some(1), None)
    );
    let reserving = job(&json!({}), &serde_json::to_value(reserving).unwrap());
    let reserving = held_job(reserving);
    let claimed = job_claimed(&reserving, &found(&json!({})), MATCH_UID, NOW);
    assert_eq!(claimed.phase, Some(JobPhase::Claimed), "without a workload nothing is known to run");
    assert_eq!(claimed.members.as_deref(), Some("cpu=ns/machine license=ns/license"));
    let why = Ended { reason: Reason::Done, message: String::new(), refusals: Vec::new(), aborted: true, batch: None };
    let cancelled = job_freed(&reserving.object, &why, NOW);
    assert_eq!((cancelled.phase, reason(&cancelled, "Finished")), (Some(JobPhase::Cancelled), "Cancelled".into()));
    let claimed = job(&json!({}), &serde_json::to_value(claimed).unwrap());
    for (ended, phase, matched) in [
        (Reason::Done, JobPhase::Succeeded, "GangFound"),
        (Reason::ClaimExpired, JobPhase::Failed, "GangFound"),
        (Reason::MemberLost, JobPhase::Pending, "PendingEvaluation"),
    ] {
        let why = Ended { reason: ended, message: String::new(), refusals: Vec::new(), aborted: false, batch: None };
        let freed = job_freed(&claimed, &why, NOW);
        assert_eq!((freed.phase, reason(&freed, "Matched").as_str()), (Some(phase), matched), "{ended}");
        let members = (phase != JobPhase::Pending).then_some("cpu=ns/machine license=ns/license");
        assert_eq!((freed.claim, freed.members.as_deref()), (None, members), "where it was");
        assert_eq!(freed.last_match.as_deref(), Some(found(&json!({})).name_any().as_str()));
        assert_eq!(find(&freed.conditions, "Claimed").unwrap().reason, ended.as_str());
    }
}

#[test]
fn states_of_an_offer() {
    let full = entry("seats");
    for (spec, status, state, ready) in [
        (json!({}), json!({}), OfferState::Available, "Available"),
        (json!({}), full.clone(), OfferState::Full, "Full"),
        (json!({"capacity": {"seats": 2}}), full.clone(), OfferState::Claimed, "Claimed"),
        (json!({"stopPolicy": "Hold"}), full.clone(), OfferState::Draining, "Draining"),
        (json!({"stopPolicy": "HoldAndDrain"}), json!({}), OfferState::Evicting, "Evicting"),
        (json!({"classad": "[ a = "}), json!({}), OfferState::Unavailable, "NotAccepted"),
        (json!({"claimPolicy": "Agent", "agent": {"username": "a"}}), json!({}), OfferState::Unavailable, "AgentLost"),
    ] {
        let mut objects = Objects::default();
        objects.licenses.put(license(&spec, &status));
        let offer = objects.offer("License", &key("license")).unwrap();
        let next = offer_status(offer, offer.status.cloned().unwrap_or_default(), &objects, NOW);
        assert_eq!(next.state, Some(state), "{spec}");
        assert_eq!(find(&next.conditions, "Ready").unwrap().reason, ready, "{spec}");
    }
}

#[test]
fn b7_that_costly_offers_are_excluded_is_told_while_it_lasts() {
    let mut objects = Objects::default();
    objects.licenses.put(license(&json!({"allowedNamespaces": {"from": "All"}}), &json!({})));
    let namespace = key("license").namespace;
    let labels = [("gangmatch.dev/offers".to_owned(), "cluster".to_owned())];
    objects.namespaces.apply(&namespace, labels.into());
    let told = |objects: &Objects| {
        let offer = objects.offer("License", &key("license")).unwrap();
        let next = offer_status(offer, offer.status.cloned().unwrap_or_default(), objects, NOW);
        find(&next.conditions, "Ready").unwrap().message.clone()
    };
    assert_eq!(told(&objects), "");
    for (costly, changed) in [(vec![namespace.clone()], true), (vec![namespace], false), (vec![], true)] {
        objects.take_changes();
        let is_costly = !costly.is_empty();
        objects.apply_costly_offers(costly.into_iter().collect());
        assert_eq!(objects.take_changes().licenses.len() == 1, changed);
        assert_eq!(told(&objects).contains("were too expensive for jobs of other namespaces"), is_costly);
    }
}

#[test]
fn capacity_lowered_under_use_is_told() {
    let mut objects = Objects::default();
    objects.licenses.put(license(&json!({"capacity": {"seats": 0}}), &entry("seats")));
    let offer = objects.offer("License", &key("license")).unwrap();
    let next = offer_status(offer, offer.status.cloned().unwrap_or_default(), &objects, NOW);
    let told = find(&next.conditions, "Overcommitted").unwrap();
    assert_eq!((told.reason.as_str(), told.message.as_str()), ("ClaimsExceedCapacity", "1 of 0 seats are in use"));
}

#[test]
fn nothing_is_written_twice() {
    let mut objects = world(&json!({"decision": "Committed"}));
    objects.jobs.put(job(&json!({}), &json!({})));
    objects.matches.retain(|_| false);
    let first = updates(&objects, &looked_at(false), &Default::default(), NOW);
    assert_eq!(first.iter().map(|update| update.kind.as_str()).collect::<Vec<_>>(), ["Job", "Machine", "License"]);
    for (key, held) in objects.clone().jobs.iter() {
        let mut job = crds::Job::clone(&held.object);
        job.status = Some(job_waiting(held, job_state(held, &objects), None, NOW));
        assert_eq!(key.name, "job");
        objects.jobs.put(job);
    }
    let world = objects.clone();
    for offer in world.offers() {
        let next = offer_status(offer, offer.status.cloned().unwrap_or_default(), &objects, NOW);
        match offer.kind {
            crds::OfferKind::Machine => {
                let mut machine = crds::Machine::clone(&world.machines.get(&offer.key()).unwrap().object);
                machine.status = Some(next);
                objects.machines.put(machine);
            }
            crds::OfferKind::License => {
                let mut license = crds::License::clone(&world.licenses.get(&offer.key()).unwrap().object);
                license.status = Some(next);
                objects.licenses.put(license);
            }
        }
    }
    assert!(updates(&objects, &looked_at(false), &Default::default(), NOW).is_empty());
}

#[test]
fn a_new_job_hears_first_what_the_cycle_finds_if_that_comes_soon() {
    let mut objects = Objects::default();
    objects.jobs.put(job(&json!({}), &json!({})));
    let told = |searching, now| updates(&objects, &looked_at(searching), &BTreeSet::new(), now).len();
    assert_eq!((told(true, at(1)), told(false, at(1))), (0, 1), "nobody searches: there is nothing to wait for");
    assert_eq!(told(true, at(5)), 1, "a cycle that takes long is not waited for");
}

#[test]
fn who_was_told_nothing_yet_is_told_first() {
    let mut objects = Objects::default();
    let told = serde_json::to_value(waiting(&json!({}), &json!({}), Some(&busy(3)))).unwrap();
    for (name, status) in [("a", &told), ("b", &told), ("z", &json!({}))] {
        let mut job = job(&json!({"suspend": true}), status);
        job.metadata.name = Some(name.to_owned());
        job.metadata.uid = Some(format!("u-{name}"));
        objects.jobs.put(job);
    }
    let mut pending = Pending::default();
    pending.note(&objects.everything(), &objects);
    let due = |pending: &mut Pending, most| {
        let due = pending.due(&objects, &looked_at(true), &BTreeSet::new(), (NOW, 0), &mut Room::of(most));
        due.into_iter().map(|update| update.key.name).collect::<Vec<_>>()
    };
    assert_eq!(due(&mut pending, 1), ["z"]);
    assert_eq!(due(&mut pending, 9), ["a", "b"]);
}

#[test]
fn the_words_of_the_claim_are_those_of_the_api() {
    let api = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/src/conditions.rs")).unwrap();
    for reason in Reason::ALL {
        assert!(api.contains(&format!("\"{reason}\"")), "{reason} is not among the reasons of the API");
    }
}

#[test]
fn a_seat_that_nobody_sits_on_is_taken_away() {
    let mut objects = Objects::default();
    objects.licenses.put(license(&json!({}), &json!({"shared": {"a": {"seats": 1}}})));
    let patch = patch_of(&updates(&objects, &looked_at(false), &Default::default(), NOW)[0]);
    let removed = json!({"op": "remove", "path": "/status/shared"});
    assert!(patch.as_array().unwrap().contains(&removed), "{patch}");
    assert_eq!(patch[0]["path"], "/metadata/resourceVersion", "nobody may have sat down meanwhile");
}

#[test]
fn a_job_that_is_rejected_too_often_is_finished_and_says_so() {
    let spec = json!({"retry": {"limit": 1}});
    let first = job_freed(&job(&spec, &json!({})), &rejected(Reason::CapacityTaken), NOW);
    assert_eq!((first.rejections, first.phase), (Some(1), Some(JobPhase::Pending)));
    let taken_back = job_freed(&after(&spec, &first), &rejected(Reason::MatchDeleted), NOW);
    assert_eq!((taken_back.rejections, taken_back.phase), (Some(1), Some(JobPhase::Pending)), "nobody said no");
    let second = job_freed(&after(&spec, &first), &rejected(Reason::CapacityTaken), NOW);
    assert_eq!((second.phase, reason(&second, "Finished")), (Some(JobPhase::Failed), "RetryLimitReached".into()));
    assert!(second.finished_at.is_some() && second.waiting_since.is_none());
    let why = "rejected 2 times, spec.retry.limit is 1; the last time CapacityTaken: License ns/license: over capacity";
    assert_eq!(find(&second.conditions, "Finished").unwrap().message, why);
    assert_eq!(second.why.as_deref(), Some(why));
    let over = held_job(after(&spec, &second));
    assert_eq!(job_state(&over, &Objects::default()), pool::JobState::Finished);
    let unlimited = job_freed(&after(&json!({}), &first), &rejected(Reason::CapacityTaken), NOW);
    assert_eq!((unlimited.rejections, unlimited.phase), (Some(2), Some(JobPhase::Pending)));
}

#[test]
fn rejections_are_counted_anew_after_a_claim() {
    let first = job_freed(&job(&json!({}), &json!({})), &rejected(Reason::StaleAd), NOW);
    let claimed = job_claimed(&held_job(after(&json!({}), &first)), &found(&json!({})), MATCH_UID, NOW);
    assert_eq!(claimed.rejections, None);
}

#[test]
fn starts_that_take_too_long_are_counted_until_one_does_not() {
    let spec = json!({"workload": {"jobTemplate": {}}, "retry": {"limit": 1}});
    let too_late = Ended { aborted: false, ..rejected(Reason::StartTimedOut) };
    let first = job_freed(&job(&spec, &json!({})), &too_late, NOW);
    let claimed = job_claimed(&held_job(after(&spec, &first)), &found(&json!({})), MATCH_UID, NOW);
    assert_eq!((first.rejections, claimed.rejections), (Some(1), Some(1)), "a claim alone is no start");
    let second = job_freed(&after(&spec, &claimed), &too_late, NOW);
    assert_eq!(reason(&second, "Finished"), "RetryLimitReached");
    let batch = WorkloadObject { run: RunState { up: true, ..RunState::default() }, ..WorkloadObject::default() };
    assert_eq!(job_working(&held_job(after(&spec, &claimed)), Some(&batch), NOW).rejections, None);
}

/// What is written of a claimed job that was edited to this spec.
fn edited_under_its_claim(spec: &Value) -> Vec<Value> {
    let claimed = job_claimed(&held_job(job(&json!({}), &json!({}))), &found(&json!({})), MATCH_UID, NOW);
    let mut edited = after(spec, &claimed);
    edited.metadata.generation = edited.metadata.generation.map(|generation| generation + 1);
    let mut objects = Objects::default();
    objects.jobs.put(edited);
    let all = updates(&objects, &looked_at(false), &BTreeSet::new(), NOW);
    all.iter().flat_map(|update| patch_of(update).as_array().unwrap().clone()).collect()
}

#[test]
fn a_claimed_job_that_is_edited_says_at_once_whether_its_ad_is_accepted() {
    let wrong = edited_under_its_claim(&json!({"constraint": "other.Memory >= "}));
    let text = json!(wrong).to_string();
    assert!(text.contains("ParseError") && text.contains("/status/observedGeneration"), "{text}");
    assert!(!text.contains("phase"), "it stays claimed: {text}");
    let text = json!(edited_under_its_claim(&json!({"priority": 7}))).to_string();
    assert!(text.contains("/status/observedGeneration") && !text.contains("ParseError"), "{text}");
    for ends in [json!({"suspend": true}), json!({"done": true})] {
        assert_eq!(edited_under_its_claim(&ends), Vec::<Value>::new(), "the end of the claim is written anyway");
    }
}

#[test]
fn work_that_is_taken_back_as_it_starts_was_never_said_to_have_started() {
    let spec = json!({"workload": {"jobTemplate": {}}});
    let claimed = job_claimed(&held_job(job(&spec, &json!({}))), &found(&json!({})), MATCH_UID, NOW);
    let batch = Some(WorkloadObject { run: RunState { up: true, ..RunState::default() }, ..WorkloadObject::default() });
    let taken_back = Ended { aborted: false, batch, ..rejected(Reason::Evicted) };
    let freed = job_freed(&after(&spec, &claimed), &taken_back, at(9));
    let [before, now] = [&claimed, &freed].map(|status| find(&status.conditions, "Started").unwrap());
    assert_eq!((before.status.as_str(), now.status.as_str(), now.reason.as_str()), ("False", "False", "Evicted"));
    assert_eq!(now.last_transition_time, before.last_transition_time, "it is as it was");
}

fn wait_until(spec: &Value, status: &JobStatus, second: i64) -> JobStatus {
    let held = held_job(after(spec, status));
    job_waiting(&held, job_state(&held, &Objects::default()), Some(&busy(3)), at(second))
}

#[test]
fn a_job_that_waits_too_long_is_finished_and_time_claimed_or_paused_does_not_count() {
    let (spec, paused) = (json!({"matchTimeoutSeconds": 100}), json!({"matchTimeoutSeconds": 100, "suspend": true}));
    let waits = wait_until(&spec, &JobStatus::default(), 1000);
    assert_eq!(waits.waiting_since.as_ref().map(|since| since.0), Some(at(1000)));
    let waits = wait_until(&paused, &waits, 1030);
    assert_eq!((waits.waiting_since.is_none(), waits.waited_seconds), (true, Some(30)));
    let waits = wait_until(&spec, &waits, 2000);
    let claimed = job_claimed(&held_job(after(&spec, &waits)), &found(&json!({})), MATCH_UID, at(2040));
    assert_eq!((claimed.waiting_since.is_none(), claimed.waited_seconds), (true, Some(70)));
    let lost =
        Ended { reason: Reason::MemberLost, message: String::new(), refusals: Vec::new(), aborted: false, batch: None };
    let again = job_freed(&after(&spec, &claimed), &lost, at(5000));
    let still = wait_until(&spec, &again, 5029);
    assert_eq!(still.phase, Some(JobPhase::Pending));
    let over = wait_until(&spec, &still, 5030);
    assert_eq!((over.phase, reason(&over, "Finished")), (Some(JobPhase::Failed), "MatchTimedOut".into()));
    let message = "not claimed within spec.matchTimeoutSeconds (100 s); at the end: 3 taken";
    assert_eq!(find(&over.conditions, "Finished").unwrap().message, message);
}

#[test]
fn what_a_job_waited_before_it_was_seen_counts() {
    let mut early = job(&json!({"matchTimeoutSeconds": 100}), &json!({}));
    early.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(900)));
    let mut objects = Objects::default();
    objects.jobs.put(early);
    let first = job_waiting(objects.jobs.get(&key("job")).unwrap(), pool::JobState::Waits, None, at(950));
    let mut seen = crds::Job::clone(&objects.jobs.get(&key("job")).unwrap().object);
    seen.status = Some(first);
    objects.jobs.put(seen);
    let mut pending = Pending::default();
    pending.note(&objects.everything(), &objects);
    let now = (at(960), 5_000);
    assert!(pending.due(&objects, &looked_at(false), &BTreeSet::new(), now, &mut Room::of(9)).is_empty());
    assert_eq!(pending.next_ms(), Some(45_001), "and then somebody looks");
}

#[test]
fn words_of_chance_do_not_write_in_every_cycle() {
    let found = |reason: &'static str, blamed: i64, second: i64| {
        let mut finding = busy(3);
        finding.counts.ports[0].refused_by_job = blamed;
        finding.counts.at = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(second)));
        Finding { reason, why: format!("{reason} {blamed} {second}"), ..finding }
    };
    let told = |status: &JobStatus, finding: &Finding, second: i64| {
        let held = held_job(after(&json!({}), status));
        job_waiting(&held, pool::JobState::Waits, Some(finding), at(second))
    };
    let mut status = told(&JobStatus::default(), &found("NoCandidates", 0, 100), 100);
    let mut writes = 0;
    for cycle in 0..600 {
        let second = 100 + cycle / 10;
        let next = told(&status, &found("NoCandidates", i64::from(cycle % 2 == 0), second), second);
        writes += i32::from(next != status);
        status = next;
    }
    assert!((1..=2).contains(&writes), "{writes} writes in a minute of ten cycles a second");
    let next = told(&status, &found("WaitingForCapacity", 0, 170), 170);
    assert_eq!(reason(&next, "Matched"), "WaitingForCapacity", "another reason is told soon");
    let soon = told(&next, &found("NoCandidates", 0, 171), 171);
    assert_eq!(reason(&soon, "Matched"), "WaitingForCapacity", "but not in every cycle either");
    assert_eq!(reason(&told(&soon, &found("NoCandidates", 0, 172), 172), "Matched"), "NoCandidates");
}

/// The patch of a status that is due.
fn patch_of(update: &Update) -> Value {
    match &update.change {
        StatusWrite::Status(patch) => serde_json::to_value(patch).unwrap(),
        StatusWrite::Delete => panic!("{} is to be deleted", update.key),
    }
}

#[test]
fn m12_a_finished_job_is_deleted_when_its_time_is_over_and_not_written_before() {
    let finished = json!({"finishedAt": "2026-11-21T14:00:00Z", "phase": "Succeeded"});
    let at =
        |seconds: i64| "2026-11-21T14:00:00Z".parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_secs(seconds);
    let check = |spec: Value, seconds: i64| {
        let mut objects = Objects::default();
        objects.jobs.put(job(&spec, &finished));
        let settled = job_waiting(objects.jobs.get(&key("job")).unwrap(), pool::JobState::Finished, None, at(0));
        objects.jobs.put(job(&spec, &serde_json::to_value(settled).unwrap()));
        let all = updates(&objects, &looked_at(false), &Default::default(), at(seconds));
        all.into_iter().map(|update| matches!(update.change, StatusWrite::Delete)).collect::<Vec<bool>>()
    };
    assert_eq!(check(json!({"ttlSecondsAfterFinished": 60}), 59), [] as [bool; 0], "it is not touched");
    assert_eq!(check(json!({"ttlSecondsAfterFinished": 60}), 60), [true]);
    assert_eq!(check(json!({"ttlSecondsAfterFinished": 0}), 0), [true]);
    assert_eq!(check(json!({}), 1_000_000), [] as [bool; 0]);
}

#[test]
fn m8_a_job_that_is_done_before_its_workload_has_ended_is_cancelled() {
    let claimed = json!({"claim": {"match": "m", "uid": MATCH_UID}, "members": "cpu=ns/machine"});
    let workload = json!({"workload": {"workloadRef": {"name": "w"}}, "done": true});
    let why = |reason| Ended { reason, message: String::new(), refusals: Vec::new(), aborted: false, batch: None };
    let freed = job_freed(&job(&workload, &claimed), &why(Reason::Done), NOW);
    assert_eq!((freed.phase, reason(&freed, "Finished")), (Some(JobPhase::Cancelled), "Cancelled".into()));
    assert_eq!((freed.members.as_deref(), freed.last_match.as_deref()), (Some("cpu=ns/machine"), Some("m")));
    let freed = job_freed(&job(&json!({"done": true}), &claimed), &why(Reason::Done), NOW);
    assert_eq!((freed.phase, reason(&freed, "Finished")), (Some(JobPhase::Succeeded), "Done".into()));
}

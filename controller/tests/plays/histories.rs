//! Histories from seeds: the whole controller, or several, among agents and people; requests lost, doubled and late, watches behind, processes
//! killed and frozen. Every revision is audited. Then it is calm, and everything must come to rest.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use auditor::Invariant;
use http::Method;
use serde_json::{Value, json};

use crate::faults::{Fault, Twist};
use crate::matrix::Played;
use crate::mistakes::Mistake;
use crate::plan::{CALM_MS, Happening, Plan};
use crate::scenarios::{batch, job, license, machine, with_agent};
use crate::stage::{Stage, at, creation};
use crate::worker::Worker;

/// How many histories are played unless `GANGMATCH_HISTORIES` says how many.
const HISTORIES: u64 = 20;
/// How many seeds are tried, at most, to find a planted mistake.
const SEEDS: u64 = 400;

/// Plays a plan to its end.
fn play(plan: &Plan, twist: Twist) -> Played {
    let mut stage = Stage::new(None, twist);
    (stage.skips, stage.pods_end_seconds) = (true, plan.pods_end_seconds);
    stage.only_at_rest = if plan.all_lead { &[Invariant::TruthfulStatus] } else { &[] };
    let result = begin(&mut stage, plan).and_then(|()| stage.rest());
    let result = stage.verdict().and(result);
    let log = std::mem::take(&mut stage.log);
    Played { result, log, struck: false, summary: stage.summary(), now_ms: stage.now_ms }
}

/// Everything that happens until it is calm.
fn begin(stage: &mut Stage, plan: &Plan) -> Result<(), String> {
    stage.weather = Some((plan.weather.clone(), plan.seed));
    stage.flags = if plan.all_lead { &["--leader-elect=false"] } else { &[] };
    for number in 0..plan.machines.len() + plan.licenses.len() {
        stage.create(&offer(plan, number));
    }
    for (number, (agent, _)) in plan.machines.iter().enumerate() {
        stage.workers.extend(agent.then(|| Worker::new(&format!("m{number}"), plan.seed.wrapping_add(number as u64))));
    }
    for number in 0..plan.jobs.len() {
        stage.create(&root(plan, number));
    }
    for _ in 0..plan.controllers {
        stage.start(stage.flags);
    }
    let (mut happenings, mut paused) = (plan.happenings.iter().peekable(), Vec::new());
    while stage.now_ms < CALM_MS {
        while let Some((_, happening)) = happenings.next_if(|(time, _)| *time <= stage.now_ms) {
            stage.log.push(format!("{:>7} {happening:?}", stage.now_ms));
            happens(stage, plan, *happening, &mut paused);
        }
        thaw(stage, &mut paused, false);
        stage.step();
        stage.verdict()?;
    }
    thaw(stage, &mut paused, true);
    stage.weather = None;
    stage.processes.iter().for_each(|process| process.wire.line().sky = None);
    Ok(())
}

/// Those who stand still go on at their time, or all of them.
fn thaw(stage: &mut Stage, paused: &mut Vec<(i64, String)>, all: bool) {
    let now_ms = stage.now_ms;
    for (_, name) in paused.extract_if(.., |(until, _)| all || *until <= now_ms) {
        stage.processes.iter_mut().filter(|process| process.name == name).for_each(|process| process.thaw(now_ms));
    }
}

/// The name of an offer: machines first, then licenses.
fn named(plan: &Plan, number: usize) -> (&'static str, String) {
    match number.checked_sub(plan.machines.len()) {
        None => ("machines", format!("m{number}")),
        Some(number) => ("licenses", format!("l{number}")),
    }
}

fn offer(plan: &Plan, number: usize) -> Value {
    let (_, name) = named(plan, number);
    let mut offer = match plan.machines.get(number) {
        Some((agent, slots)) => {
            let mut offer = machine(&name, 9 - i64::try_from(number).unwrap());
            offer["spec"]["capacity"] = json!({"slots": slots});
            if *agent { with_agent(offer) } else { offer }
        }
        None => {
            let (shared, seats) = plan.licenses[number - plan.machines.len()];
            let mut offer = license(seats);
            if shared {
                offer["spec"]["sharedBy"] = json!("requester.Members[0].Name");
            }
            offer
        }
    };
    offer["metadata"]["name"] = json!(name);
    offer
}

fn root(plan: &Plan, number: usize) -> Value {
    job(&format!("j{number}"), &if plan.jobs[number] { batch() } else { json!({}) })
}

fn happens(stage: &mut Stage, plan: &Plan, happening: Happening, paused: &mut Vec<(i64, String)>) {
    let spec = |stage: &mut Stage, (plural, name): (&str, String), spec: Value| {
        stage.ask(&Method::PATCH, &at(plural, &name), &json!({"spec": spec}));
    };
    let root_of = |number: usize| ("jobs", format!("j{number}"));
    match happening {
        Happening::Crash(number) => cut(stage, number, None),
        Happening::DropWatches(number) => cut(stage, number, Some(Fault::WatchesDropped)),
        Happening::FreezeWatches(number) => cut(stage, number, Some(Fault::WatchesFrozen)),
        Happening::Compact(number) => cut(stage, number, Some(Fault::Compacted)),
        Happening::Pause(number, ms) => {
            let until = stage.now_ms + ms;
            if let Some(process) = stage.processes.get_mut(number).filter(|process| !process.frozen) {
                process.frozen = true;
                paused.push((until, process.name.clone()));
            }
        }
        Happening::AgentDies(number, ms) => {
            let (until, (_, name)) = (stage.now_ms + ms, named(plan, number));
            stage.workers.iter_mut().filter(|worker| worker.machine() == name).for_each(|worker| worker.die(until));
        }
        Happening::Suspend(number) => spec(stage, root_of(number), json!({"suspend": true})),
        Happening::Resume(number) => spec(stage, root_of(number), json!({"suspend": false})),
        Happening::Done(number) => spec(stage, root_of(number), json!({"done": true})),
        Happening::DeleteJob(number) => {
            drop(stage.ask(&Method::DELETE, &at("jobs", &format!("j{number}")), &Value::Null))
        }
        Happening::MakeJob(number) => drop(stage.server.answer(&creation(&root(plan, number)))),
        Happening::DeleteMatch(number) => delete_last(stage, &at("matches", ""), number),
        Happening::DeleteBatch(number) => {
            delete_last(stage, &format!("/apis/batch/v1/namespaces/{}/jobs", crate::stage::HERE), number);
        }
        Happening::DeleteOffer(number) => {
            let (plural, name) = named(plan, number);
            stage.ask(&Method::DELETE, &at(plural, &name), &Value::Null);
        }
        Happening::MakeOffer(number) => drop(stage.server.answer(&creation(&offer(plan, number)))),
        Happening::HoldAndDrain(number) => spec(stage, named(plan, number), json!({"stopPolicy": "HoldAndDrain"})),
        Happening::Hold(number) => spec(stage, named(plan, number), json!({"stopPolicy": "Hold"})),
        Happening::Open(number) => spec(stage, named(plan, number), json!({"stopPolicy": "None"})),
        Happening::Capacity(number, amount) => {
            let name = named(plan, number);
            let resource = if name.0 == "machines" { "slots" } else { "seats" };
            spec(stage, name, json!({"capacity": {resource: amount}}));
        }
    }
}

/// Breaks all watches of a controller, or kills it.
fn cut(stage: &mut Stage, number: usize, fault: Option<Fault>) {
    let Some(process) = stage.processes.get(number) else { return };
    let mut line = process.wire.line();
    match fault {
        Some(fault) => line.cut(fault),
        None => line.dead = Some(Fault::KilledBefore),
    }
}

/// Deletes the newest of these objects that belongs to a job, whose name its own begins with.
fn delete_last(stage: &mut Stage, path: &str, number: usize) {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut all = stage.list(path);
    all.retain(|object| name(object).starts_with(&format!("j{number}")));
    all.sort_by_key(|object| object["metadata"]["uid"].to_string());
    if let Some(last) = all.last() {
        stage.ask(&Method::DELETE, &format!("{}/{}", path.trim_end_matches('/'), name(last)), &Value::Null);
    }
}

/// The smallest plan that still goes wrong in the same way, by taking away one thing at a time.
fn shrink(plan: &Plan, twist: Twist) -> Plan {
    let kind = |plan: &Plan| play(plan, twist).result.err().map(|wrong| kind_of(&wrong));
    let (wanted, mut best) = (kind(plan), plan.clone());
    while let Some(next) = best.smaller().into_iter().find(|plan| kind(plan) == wanted) {
        best = next;
    }
    best
}

/// What went wrong, without who and when: `revision 7: Capacity: ...` is Capacity.
fn kind_of(wrong: &str) -> String {
    let without_revision =
        wrong.strip_prefix("revision ").and_then(|rest| rest.split_once(": ")).map_or(wrong, |rest| rest.1);
    without_revision.split(':').next().unwrap_or_default().to_owned()
}

/// The number that a variable of the environment says.
fn asked_for(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn histories_hold() {
    let count = asked_for("GANGMATCH_HISTORIES").unwrap_or(HISTORIES);
    let first = asked_for("GANGMATCH_SEED").unwrap_or(0);
    let (next, begun) = (AtomicU64::new(first), Instant::now());
    let tally = Mutex::new((0, 0, Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let played = play(&Plan::new(seed), Twist::None);
                    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                    tally.0 += played.now_ms;
                    tally.1 += played.log.len();
                    if count == 1 {
                        println!("{}", played.log.join("\n"));
                    }
                    if let Err(wrong) = played.result {
                        eprintln!("seed {seed}: {wrong}");
                        tally.2.push(seed);
                    }
                }
            });
        }
    });
    let (virtual_ms, lines, failures) = tally.into_inner().unwrap();
    println!(
        "{count} histories, {} s of their time in {:.1} s, {lines} writes and happenings",
        virtual_ms / 1000,
        begun.elapsed().as_secs_f64()
    );
    if let Some(seed) = failures.iter().min() {
        let plan = shrink(&Plan::new(*seed), Twist::None);
        let played = play(&plan, Twist::None);
        let log = played.log.join("\n");
        panic!(
            "{failures:?} go wrong; GANGMATCH_SEED={seed} GANGMATCH_HISTORIES=1 plays one again\n{log}\n{:?}\n{plan:#?}",
            played.result
        );
    }
}

/// Which of two things that are ready in the same moment comes first is not the seed's: so how a history ends, and not each line of it.
#[test]
fn the_same_seed_ends_alike() {
    let plan = Plan::new(2);
    let (one, other) = (play(&plan, Twist::None), play(&plan, Twist::None));
    assert_eq!((one.result, one.summary), (other.result, other.summary));
}

/// A planted mistake is found: a history goes wrong with it, and holds without it. Not all of a history is its seed's, so if this one holds
/// the next ones are tried.
pub(crate) fn is_found(mistake: Mistake, seed: u64) {
    let first = asked_for("GANGMATCH_SEED").unwrap_or(seed);
    let begun = Instant::now();
    let wrong = |seed: u64| {
        let plan = Plan::new(seed);
        let wrong = play(&plan, Twist::Planted(mistake)).result.err()?;
        play(&plan, Twist::None).result.is_ok().then_some((seed, wrong))
    };
    let found = (first..first + asked_for("GANGMATCH_SEEDS").unwrap_or(SEEDS)).find_map(wrong);
    let (seed, wrong) = found.unwrap_or_else(|| panic!("nothing notices {mistake:?}"));
    let said = wrong.lines().next().unwrap_or_default();
    println!("{mistake:?}: seed {seed} in {:.1} s: {said}", begun.elapsed().as_secs_f64());
}

/// On demand, those mistakes that are not looked for each time.
#[test]
fn every_mistake_is_found() {
    let Ok(only) = std::env::var("GANGMATCH_MISTAKE") else {
        println!("SKIPPED: GANGMATCH_MISTAKE says which planted mistake is looked for, or `all`");
        return;
    };
    let wanted = |mistake: &Mistake| only == "all" || only == format!("{mistake:?}");
    Mistake::ALL.into_iter().filter(wanted).for_each(|mistake| is_found(mistake, 0));
}

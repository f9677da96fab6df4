//! Each write of each scenario, struck in each way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::faults::{self, Fault, Strike, Twist};
use crate::scenarios::{self, Scenario};
use crate::stage::Stage;

/// What came of a play.
pub(crate) struct Played {
    pub(crate) result: Result<(), String>,
    /// What was written, and by whom.
    pub(crate) log: Vec<String>,
    pub(crate) struck: bool,
    pub(crate) summary: Vec<String>,
    pub(crate) now_ms: i64,
}

/// Plays a scenario to its end.
pub(crate) fn play(scenario: &Scenario, strike: Option<Strike>, twist: Twist) -> Played {
    let mut stage = Stage::new(strike, twist);
    let result = (scenario.play)(&mut stage).and_then(|()| stage.rest());
    let verdict = stage.verdict();
    let result = verdict.and(result);
    let log = std::mem::take(&mut stage.log);
    Played { result, log, struck: stage.struck, summary: stage.summary(), now_ms: stage.now_ms }
}

/// The name of a play, by which it is played again.
pub(crate) fn name(scenario: &Scenario, strike: Strike) -> String {
    let fault = faults::ALL.iter().find(|(_, fault)| *fault == strike.fault).map_or("?", |(name, _)| *name);
    let leases = if strike.leases { "/leases" } else { "" };
    format!("{}/{}/{fault}{leases}", scenario.name, strike.ordinal)
}

/// How many writes an undisturbed play takes.
fn undisturbed(scenario: &Scenario) -> Played {
    let played = play(scenario, None, Twist::None);
    if let Err(why) = &played.result {
        panic!("{} fails though nothing went wrong: {why}\n{}", scenario.name, played.log.join("\n"));
    }
    played
}

/// Of the plays, one in so many is played unless all are asked for: from each scenario, other writes for each fault.
const THINNED: usize = 160;

fn every_play(scenario: &Scenario, writes: usize) -> Vec<Strike> {
    let only = std::env::var("GANGMATCH_PLAY").ok();
    let all = std::env::var("GANGMATCH_PLAYS").is_ok_and(|plays| plays == "all");
    // Scenarios begin to count at different plays, so that short ones are not always struck at the same writes.
    let first: usize = scenario.name.bytes().map(usize::from).sum();
    let strikes = faults::ALL
        .iter()
        .flat_map(|(_, fault)| (1..=writes).map(|ordinal| Strike { ordinal, fault: *fault, leases: false }));
    let is_wanted = |place: usize, strike: Strike| match &only {
        Some(only) => *only == name(scenario, strike) || *only == scenario.name,
        None => all || (first + place).is_multiple_of(THINNED),
    };
    strikes.enumerate().filter(|(place, strike)| is_wanted(*place, *strike)).map(|(_, strike)| strike).collect()
}

/// The scenarios that are asked for: all, or the one of the play that is played again.
fn asked_for() -> impl Iterator<Item = &'static Scenario> {
    let only = std::env::var("GANGMATCH_PLAY").ok();
    let is_asked_for = move |name| only.as_ref().is_none_or(|only| only.split('/').next() == Some(name));
    scenarios::ALL.iter().filter(move |scenario| is_asked_for(scenario.name))
}

/// What all plays came to.
#[derive(Default)]
struct Tally {
    struck: usize,
    virtual_ms: i64,
    failures: Vec<String>,
}

/// Plays one play, and says what was wrong with it.
fn judge(scenario: &Scenario, calm: &Played, strike: Strike, tally: &Mutex<Tally>) {
    let played = play(scenario, Some(strike), Twist::None);
    let result = played.result.and_then(|()| match played.summary == calm.summary {
        true => Ok(()),
        false => Err(format!("it ends as {:?}, undisturbed as {:?}", played.summary, calm.summary)),
    });
    let mut tally = tally.lock().unwrap();
    tally.struck += usize::from(played.struck);
    tally.virtual_ms += played.now_ms;
    if let Err(why) = result {
        let name = name(scenario, strike);
        eprintln!("{name} FAILS: {}", why.lines().next().unwrap_or_default());
        tally.failures.push(format!("{name}: {why}\n    {}", played.log.join("\n    ")));
    }
}

/// Plays them all, two at a time.
fn play_all(plays: &[(&Scenario, &Played, Strike)]) -> Tally {
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((scenario, calm, strike)) = plays.get(next.fetch_add(1, Ordering::Relaxed)) {
                    judge(scenario, calm, *strike, &tally);
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// Once a controller went round and round without a pause, and no time went by.
#[test]
fn what_is_overdue_is_not_looked_at_without_a_pause() {
    let scenario = scenarios::ALL.iter().find(|scenario| scenario.name == "agent-lost").unwrap();
    let strike = Strike { ordinal: 2, fault: Fault::AnswerLost, leases: false };
    play(scenario, Some(strike), Twist::None).result.unwrap();
}

#[test]
fn no_fault_at_any_write_breaks_or_leaks() {
    let begun = Instant::now();
    let calm: Vec<(&Scenario, Played)> = asked_for().map(|scenario| (scenario, undisturbed(scenario))).collect();
    let plays: Vec<(&Scenario, &Played, Strike)> = calm
        .iter()
        .flat_map(|(scenario, calm)| {
            every_play(scenario, calm.log.len()).into_iter().map(move |strike| (*scenario, calm, strike))
        })
        .collect();
    let Tally { struck, virtual_ms, failures } = play_all(&plays);
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} scenarios, {} plays, {struck} of them struck, {} s of their time in {seconds:.1} s",
        calm.len(),
        plays.len(),
        virtual_ms / 1000
    );
    for (scenario, calm) in &calm {
        println!("  {}: {} writes", scenario.name, calm.log.len());
    }
    let names: Vec<&str> = failures.iter().filter_map(|failure| failure.split(':').next()).collect();
    let shown = failures.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{} of {} plays fail: {names:?}\n{shown}", failures.len(), plays.len());
    // How often a job is told that it waits depends on when it is seen first: the last writes may not come to pass.
    assert!(5 * struck >= 4 * plays.len(), "only {struck} of {} plays were struck", plays.len());
}

/// The election's own writes, struck: of the first writes, which are its, of those who lead alone, die, and retire.
#[test]
fn no_fault_at_the_election_breaks_or_leaks() {
    let only = std::env::var("GANGMATCH_PLAY").ok();
    let all = std::env::var("GANGMATCH_PLAYS").is_ok_and(|plays| plays == "all");
    let elected = |scenario: &&Scenario| ["life", "takeover", "retirement"].contains(&scenario.name);
    let calm: Vec<(&Scenario, Played)> =
        asked_for().filter(elected).map(|scenario| (scenario, undisturbed(scenario))).collect();
    let mut plays = Vec::new();
    for (scenario, calm) in &calm {
        for (number, (_, fault)) in faults::ALL.iter().enumerate() {
            for ordinal in 1..=8 {
                let strike = Strike { ordinal, fault: *fault, leases: true };
                let wanted = match &only {
                    Some(only) => *only == name(scenario, strike),
                    None => all || (ordinal + number) % 8 == 0,
                };
                plays.extend(wanted.then_some((*scenario, calm, strike)));
            }
        }
    }
    let Tally { struck, failures, .. } = play_all(&plays);
    println!("{} plays of the election, {struck} of them struck", plays.len());
    assert!(failures.is_empty(), "{} of {} plays fail\n{}", failures.len(), plays.len(), failures.join("\n"));
    assert!(10 * struck >= 9 * plays.len(), "only {struck} of {} plays were struck", plays.len());
}

#[test]
fn a_write_that_was_kept_back_does_no_harm_when_somebody_else_leads() {
    let calm = play(&scenarios::ZOMBIE, None, Twist::None);
    calm.result.unwrap();
    let mut held = 0;
    for ordinal in 1..=calm.log.len() {
        let played = play(&scenarios::ZOMBIE, Some(Strike { ordinal, fault: Fault::Held, leases: false }), Twist::None);
        held += usize::from(played.log.iter().any(|write| write.contains("released")));
        if let Err(why) = played.result {
            panic!("write {ordinal}: {why}\n{}", played.log.join("\n"));
        }
    }
    println!("{held} writes of a leader kept back until its successor had claimed");
    assert!(held >= 8, "only {held} writes were kept back");
}

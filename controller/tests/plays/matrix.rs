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
    format!("{}/{}/{fault}", scenario.name, strike.ordinal)
}

/// How many writes an undisturbed play takes.
fn undisturbed(scenario: &Scenario) -> Played {
    let played = play(scenario, None, Twist::None);
    if let Err(why) = &played.result {
        panic!("{} fails though nothing went wrong: {why}\n{}", scenario.name, played.log.join("\n"));
    }
    played
}

fn every_play(scenario: &Scenario, writes: usize) -> Vec<Strike> {
    let faults = faults::ALL.iter().map(|(_, fault)| *fault);
    let each = |fault: Fault| (1..=writes).map(move |ordinal| Strike { ordinal, fault, leases: false });
    let only = std::env::var("GANGMATCH_PLAY").ok();
    let wanted = |strike: &Strike| only.as_ref().is_none_or(|only| *only == name(scenario, *strike));
    faults.flat_map(each).filter(wanted).collect()
}

#[test]
fn no_fault_at_any_write_breaks_or_leaks() {
    let begun = Instant::now();
    let jobs: Vec<(&Scenario, Played, Vec<Strike>)> = scenarios::ALL
        .iter()
        .map(|scenario| {
            let calm = undisturbed(scenario);
            let writes = calm.log.iter().filter(|write| !write.contains("leases")).count();
            (scenario, calm, every_play(scenario, writes))
        })
        .collect();
    let plays: Vec<(&Scenario, &Played, Strike)> = jobs
        .iter()
        .flat_map(|(scenario, calm, strikes)| strikes.iter().map(move |strike| (*scenario, calm, *strike)))
        .collect();
    let (next, failures, struck) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    let virtual_ms = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((scenario, calm, strike)) = plays.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = play(scenario, Some(*strike), Twist::None);
                    struck.fetch_add(usize::from(played.struck), Ordering::Relaxed);
                    virtual_ms.fetch_add(usize::try_from(played.now_ms).unwrap(), Ordering::Relaxed);
                    let result = played.result.and_then(|()| match played.summary == calm.summary {
                        true => Ok(()),
                        false => Err(format!("it ends as {:?}, undisturbed as {:?}", played.summary, calm.summary)),
                    });
                    if let Err(why) = result {
                        let log = played.log.join("\n    ");
                        failures.lock().unwrap().push(format!("{}: {why}\n    {log}", name(scenario, *strike)));
                    }
                }
            });
        }
    });
    let (failures, struck) = (failures.into_inner().unwrap(), struck.into_inner());
    println!(
        "{} scenarios, {} plays, {struck} of them struck, {} s of their time in {:.1} s",
        scenarios::ALL.len(),
        plays.len(),
        virtual_ms.into_inner() / 1000,
        begun.elapsed().as_secs_f64()
    );
    for (scenario, calm, strikes) in &jobs {
        println!("  {}: {} writes, {} plays", scenario.name, calm.log.len(), strikes.len());
    }
    let shown: Vec<&String> = failures.iter().take(5).collect();
    let names: Vec<&str> = failures.iter().filter_map(|failure| failure.split(':').next()).collect();
    assert!(failures.is_empty(), "{} of {} plays fail: {names:?}\n{shown:#?}", failures.len(), plays.len());
}

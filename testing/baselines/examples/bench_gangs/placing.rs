//! What collective placing gains over serving jobs in turn, and what it costs.

use gangindex::Indexed;
use matchmaker::{Collective, Config, Cycle, Reached, Snapshot, Together, negotiate_together};
use serde_json::{Value, json};

use super::Fallible;
use super::load::Workload;
use super::measure::Times;

/// What is asked of a placement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacingOptions {
    pub(crate) window: usize,
    pub(crate) steps: u64,
    /// Jobs are dealt to so many submitters.
    pub(crate) submitters: usize,
}

impl Default for PlacingOptions {
    fn default() -> PlacingOptions {
        let Collective { window, steps, .. } = Collective::default();
        PlacingOptions { window, steps, submitters: 1 }
    }
}

/// A window of a workload in figures. Both cycles are over ads that are in their columns.
pub(crate) fn figures(workload: &Workload, config: &Config, asked: PlacingOptions, rounds: usize) -> Fallible<Value> {
    let mut snapshot = workload.snapshot()?;
    for (number, root) in snapshot.roots.iter_mut().enumerate() {
        root.submitter = format!("user{:03}", number % asked.submitters.max(1)).into();
        root.since = i64::try_from(number)? + 1;
    }
    let config = Config { explains: false, ..config.clone() };
    let collective = Collective { window: asked.window, steps: asked.steps, ..Collective::default() };
    let mut engine = Indexed::new();
    let mut before = engine.negotiate(&snapshot, &config, 0);
    let mut placed = None;
    let (mut in_turn, mut together) = <[Times; 2]>::default().into();
    for _ in 0..rounds {
        engine.forget_answers();
        before = in_turn.round(|| engine.negotiate(&snapshot, &config, 0));
        engine.forget_answers();
        placed = Some(together.round(|| placed_together(&mut engine, &snapshot, &config, &collective)));
    }
    let Together { placed, in_turn: due, bound, proven, effort, cycle, .. } = placed.ok_or("no round was measured")?;
    let ranks = |reached: &Reached| reached.score.own.to_real();
    Ok(json!({
        "workload": workload.name, "roots": snapshot.roots.len(), "window": asked.window, "submitters": asked.submitters,
        "in_turn": due.gangs, "placed": placed.gangs, "bound": bound, "proven": proven,
        "ranks_in_turn": ranks(&due), "ranks": ranks(&placed),
        "matched_in_turn": before.gangs.len(), "matched": cycle.gangs.len(), "disagreements": cycle.disagreements.len(),
        "steps": effort.steps, "gangs": effort.gangs, "candidates": effort.candidates,
        "in_turn_ms": in_turn.median_ms(), "placed_ms": together.median_ms(),
    }))
}

/// A function of its own for profilers.
#[inline(never)]
pub(crate) fn placed_together(
    engine: &mut Indexed,
    snapshot: &Snapshot,
    config: &Config,
    collective: &Collective,
) -> Together {
    negotiate_together(snapshot, config, 0, engine, collective)
}

/// A cycle in turn and one of a window over ads that are in their columns, and no look at the clock.
pub(crate) fn profile(workload: &Workload, config: &Config, asked: PlacingOptions) -> Fallible<(Cycle, Together)> {
    let snapshot = workload.snapshot()?;
    let config = Config { explains: false, ..config.clone() };
    let collective = Collective { window: asked.window, steps: asked.steps, ..Collective::default() };
    let mut engine = Indexed::new();
    engine.negotiate(&snapshot, &config, 0);
    engine.forget_answers();
    let cycle = in_turn(&mut engine, &snapshot, &config);
    engine.forget_answers();
    Ok((cycle, placed_together(&mut engine, &snapshot, &config, &collective)))
}

/// A function of its own for profilers.
#[inline(never)]
fn in_turn(engine: &mut Indexed, snapshot: &Snapshot, config: &Config) -> Cycle {
    engine.negotiate(snapshot, config, 0)
}

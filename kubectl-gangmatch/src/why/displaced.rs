//! What preemption would do for a job that waits, or what stands against it. Jobs of other namespaces are counted, and not named.

use analysis::{Displacing, Hindrance, by_namespace};
use jiff::Timestamp;
use matchmaker::{AdId, Config, Proposal, Snapshot, negotiate};
use pool::{ObjectKey, reason_of};

use super::answer::PreemptionAnswer;
use super::case::Case;
use crate::amounts::listed;
use crate::command::preemption::Preempts;

/// What preemption would do for a root that waits for capacity or has reached a quota; none where nothing is preempted.
pub(crate) fn preemption_answer(case: &mut Case<'_>, root: AdId, key: &ObjectKey) -> Option<PreemptionAnswer> {
    let preempts = Preempts::of(&case.pool.objects, &case.snapshot, &case.cycle)?;
    let preempting = preempts.preempting();
    let config = Config { explains: false, ..case.config.clone() };
    let displacing = Displacing {
        pool: (&case.snapshot, &case.cycle.gangs),
        waiting: &preempts.waiting,
        preempting: &preempting,
        config: &config,
        now: case.now.as_second(),
    };
    if !preempts.waiting.contains(&root) || preempts.spared.contains(&root) {
        return None;
    }
    let finder = &mut case.finder;
    let mut find = |view: &Snapshot, config: &Config, now: i64| negotiate(view, config, now, finder);
    let answer = displacing.ask(root, &mut find);
    let is_dry = preempts.is_dry_run;
    let said = |proposal: &Proposal| {
        let (own, others) = by_namespace(&case.snapshot, &preempting, proposal, &key.namespace);
        let mode = reason_of(proposal.mode).map_or("", |reason| reason.as_str());
        PreemptionAnswer { mode, gangs: own.len() + others, own, others, ..PreemptionAnswer::default() }
    };
    let mut answer = match &answer {
        Ok(proposal) => said(proposal),
        Err(other @ Hindrance::TooYoung { from, proposal }) => {
            let from = Timestamp::from_second(*from).ok().map(|from| from.to_string());
            PreemptionAnswer { refused: Some(word(other)), from, ..said(proposal) }
        }
        Err(
            other @ (Hindrance::TooManyVictims(proposal)
            | Hindrance::Requirements(proposal)
            | Hindrance::Reasons(proposal)),
        ) => PreemptionAnswer { refused: Some(word(other)), ..said(proposal) },
        Err(other) => PreemptionAnswer { refused: Some(word(other)), ..PreemptionAnswer::default() },
    };
    answer.message = sentence(&answer, is_dry);
    Some(answer)
}

fn word(hindrance: &Hindrance) -> &'static str {
    match hindrance {
        Hindrance::TooYoung { .. } => "TooYoung",
        Hindrance::TooManyVictims(_) => "TooManyVictims",
        Hindrance::Requirements(_) => "Requirements",
        Hindrance::Reasons(_) => "Reasons",
        Hindrance::QuotaExceeded => "QuotaExceeded",
        Hindrance::Ending => "Ending",
        Hindrance::NotEnoughVictims => "NotEnoughVictims",
        Hindrance::NotReached => "NotReached",
    }
}

/// `the gang of eda/a`, `the gangs of eda/a and of 2 jobs of other namespaces`
fn gangs(answer: &PreemptionAnswer) -> String {
    let mut of: Vec<String> = answer.own.iter().map(|name| format!("of {name}")).collect();
    match answer.others {
        0 => {}
        1 => of.push("of 1 job of another namespace".to_owned()),
        others => of.push(format!("of {others} jobs of other namespaces")),
    }
    format!("the gang{} {}", if answer.gangs == 1 { "" } else { "s" }, listed(&of))
}

fn sentence(answer: &PreemptionAnswer, is_dry: bool) -> String {
    let how = format!("Preemption by {}", answer.mode.to_ascii_lowercase());
    let gangs = gangs(answer);
    let run = if answer.gangs == 1 { "it runs" } else { "they run" };
    match answer.refused {
        None if is_dry => {
            format!("{how} would stop {gangs} for it; mode of the PoolPolicy is DryRun, so nothing is stopped.")
        }
        None => format!("{how} would stop {gangs} for it."),
        Some("TooYoung") => {
            let from = answer.from.as_deref().unwrap_or_default();
            format!("{how} may stop {gangs} for it from {from} on: until then {run} undisturbed.")
        }
        Some("TooManyVictims") => {
            format!("{how} would have to stop {gangs} for it: more than maxVictims of the PoolPolicy permits.")
        }
        Some("Requirements") => {
            format!("{how} does not stop {gangs} for it: requirements of the PoolPolicy are not true.")
        }
        Some("Reasons") => {
            format!("{how} would stop {gangs} for it, but reasons of the PoolPolicy do not name {}.", answer.mode)
        }
        Some("QuotaExceeded") => "Preemption does not help: its quota does not permit the gang.".to_owned(),
        Some("Ending") => "Nothing is preempted for it: gangs that are ending make room for it.".to_owned(),
        Some("NotReached") => "Nothing is preempted for it in this cycle: other jobs come first.".to_owned(),
        Some(_) => "Preemption does not help: the gangs that may be stopped for it do not make enough room.".to_owned(),
    }
}

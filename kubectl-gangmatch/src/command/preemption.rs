//! What preemption would do in a pool that is known as a whole: for `match` and `why`.

use std::collections::BTreeSet;

use gangindex::Engine;
use matchmaker::{AdId, Config, Cycle, Preempting, Proposal, Snapshot, Verdict, preempt, summary};
use pool::{Objects, PreemptionInput, nominated, preemption_input, reason_of};

/// What preemption is decided on after a cycle.
pub(crate) struct Preempts {
    input: PreemptionInput,
    /// The roots that the cycle has left over because of capacity or quotas.
    pub(crate) waiting: BTreeSet<AdId>,
    /// Those of them that a gang is held for.
    pub(crate) spared: BTreeSet<AdId>,
    /// It is only told what would be preempted.
    pub(crate) is_dry_run: bool,
}

impl Preempts {
    /// None if nothing is preempted in this pool.
    pub(crate) fn of(objects: &Objects, pool: &Snapshot, cycle: &Cycle) -> Option<Preempts> {
        let input = preemption_input(objects, pool)?;
        let rules = objects.pool_policy.as_ref()?.terms.preemption.as_ref()?;
        let is_short = |why: &Verdict| matches!(why, Verdict::WaitingForCapacity | Verdict::QuotaExceeded(_));
        let short = cycle.unmatched.iter().filter(|unmatched| is_short(&unmatched.why.verdict));
        let waiting: BTreeSet<AdId> = short.map(|unmatched| unmatched.root).collect();
        let has_nomination = |ad: &&AdId| {
            let uid = pool.ad(**ad).map(|ad| ad.uid.as_str()).unwrap_or_default();
            nominated(objects).any(|(_, held, _)| held.object.metadata.uid.as_deref() == Some(uid))
        };
        let spared = waiting.iter().filter(has_nomination).copied().collect();
        Some(Preempts { input, waiting, spared, is_dry_run: rules.is_dry_run })
    }

    /// The same as the engine takes it; nothing is known of what was preempted of late.
    pub(crate) fn preempting(&self) -> Preempting<'_> {
        let Preempts { input: PreemptionInput { terms, held, ending }, spared, .. } = self;
        Preempting { terms, held, ending, spared, victims_max: usize::MAX }
    }
}

/// One cycle, and which gangs would be preempted for the jobs that it leaves over, in sentences.
pub(crate) fn cycle(
    objects: &Objects,
    pool: &Snapshot,
    search: impl Into<Engine> + Copy,
    (config, now): (&Config, i64),
) -> (Cycle, Vec<String>) {
    let cycle = search.into().negotiate(pool, config, now);
    let Some(preempts) = Preempts::of(objects, pool, &cycle) else { return (cycle, Vec::new()) };
    let preempting = preempts.preempting();
    let quiet = Config { explains: false, ..config.clone() };
    let mut engine = search.into();
    let mut find =
        |view: &Snapshot, config: &Config, now: i64| engine.negotiate(view, config, now).gangs.into_iter().next();
    let found = preempt((pool, &cycle.gangs), &preempts.waiting, &preempting, (&quiet, now), &mut find);
    let sentence = |proposal: &Proposal| {
        let name = |id: AdId| pool.ad(id).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name)).unwrap_or_default();
        let victims = proposal.victims.iter().filter_map(|place| preempting.held.get(*place)?.gang.root());
        let victims: Vec<String> = victims.map(name).collect();
        let mode = reason_of(proposal.mode).map_or("", |reason| reason.as_str()).to_ascii_lowercase();
        let gangs = if victims.len() == 1 { "the gang" } else { "the gangs" };
        format!(
            "{} can have {} after preemption by {mode} of {gangs} of {}.",
            name(proposal.root),
            summary(pool, &proposal.gang),
            victims.join(", ")
        )
    };
    let sentences = found.iter().filter_map(|(_, answer)| answer.as_ref().ok()).map(sentence).collect();
    (cycle, sentences)
}

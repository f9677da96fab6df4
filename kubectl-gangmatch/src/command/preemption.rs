//! What preemption and reservation would do in a pool that is known as a whole: for `match` and `why`.

use std::collections::BTreeSet;

use crds::NominationKind;
use gangindex::Engine;
use jiff::Timestamp;
use matchmaker::{
    AdId, Config, Cycle, Preempting, Proposal, Reservation, Reserving, SideSearches, Snapshot, preempt, reserve,
    summary,
};
use policy::Evictions;
use pool::{
    CycleInputs, ObjectKey, Objects, PreemptionInput, ReservationInput, nominated, nomination_of, preemption_input,
    reason_of, reservation_input,
};

/// What preemption is decided on after a cycle.
pub(crate) struct Preempts {
    input: PreemptionInput,
    /// The roots that the cycle has left over because of capacity or quotas.
    pub(crate) waiting: BTreeSet<AdId>,
    /// Those of them that a gang is held for.
    pub(crate) spared: BTreeSet<AdId>,
    /// There is no limit.
    evictions: Evictions,
    /// It is only told what would be preempted.
    pub(crate) is_dry_run: bool,
}

impl Preempts {
    /// None if nothing is preempted in this pool.
    pub(crate) fn of(objects: &Objects, pool: &Snapshot, cycle: &Cycle) -> Option<Preempts> {
        let input = preemption_input(objects, pool)?;
        let rules = objects.accounts.policy()?.terms.preemption.as_ref()?;
        let waiting = cycle.short_of_capacity_or_quota();
        let has_nomination = |ad: &&AdId| {
            let uid = pool.ad(**ad).map(|ad| ad.uid.as_str()).unwrap_or_default();
            nominated(objects).any(|(_, held, _)| held.object.metadata.uid.as_deref() == Some(uid))
        };
        let spared = waiting.iter().filter(has_nomination).copied().collect();
        Some(Preempts { input, waiting, spared, evictions: Evictions::up_to(usize::MAX), is_dry_run: rules.is_dry_run })
    }

    /// The same as the engine takes it; nothing is known of what was preempted of late.
    pub(crate) fn preempting(&self) -> Preempting<'_> {
        let Preempts { input: PreemptionInput { terms, held, ending }, spared, evictions, .. } = self;
        Preempting { terms, held, ending, spared, evictions }
    }
}

/// For which jobs that a cycle leaves over offers would be held.
fn reservations(
    objects: &Objects,
    (pool, cycle): (&Snapshot, &Cycle),
    (config, now): (&Config, i64),
    search: &mut SideSearches<'_>,
) -> Vec<Reservation> {
    let known = objects.accounts.policy().and_then(|known| known.terms.reservation.as_ref());
    let input = reservation_input(objects, pool, &CycleInputs::of(objects).assumed, now);
    let Some((rules, input)) = known.zip(input) else { return Vec::new() };
    let reserved = nominated(objects).filter(|(_, _, nomination)| nomination.kind == NominationKind::Reservation);
    let has_waited = |root: AdId| {
        let key = pool.ad(root).map(|ad| ObjectKey::new(&ad.key.namespace, &ad.key.name));
        let job = key.and_then(|key| objects.jobs.get(&key)).map(|held| &held.object);
        job.is_some_and(|job| job.waited(now) >= rules.after_seconds && nomination_of(job).is_none())
    };
    let candidates = cycle.short_of_capacity().into_iter().filter(|root| has_waited(*root)).collect();
    let room = usize::try_from(rules.max).unwrap_or(0).saturating_sub(reserved.count());
    let ReservationInput { held, ends, nominated, .. } = &input;
    let reserving = Reserving { held, ends, candidates: &candidates, nominated, room };
    reserve((pool, &cycle.gangs), &reserving, (config, now), search).made
}

/// One cycle; and for which of the jobs that it leaves over offers would be held, or which gangs would be preempted, in sentences.
pub(crate) fn cycle(
    objects: &Objects,
    pool: &Snapshot,
    search: impl Into<Engine> + Copy,
    (config, now): (&Config, i64),
) -> (Cycle, Vec<String>) {
    let cycle = search.into().negotiate(pool, config, now);
    let quiet = Config { explains: false, ..config.clone() };
    let mut engine = search.into();
    let mut find = |view: &Snapshot, config: &Config, now: i64| engine.negotiate(view, config, now);
    let mut find = SideSearches::after(&cycle, &mut find);
    let name = |id: AdId| pool.ad(id).map(|ad| format!("{}/{}", ad.key.namespace, ad.key.name)).unwrap_or_default();
    let reserved = reservations(objects, (pool, &cycle), (&quiet, now), &mut find);
    let mut sentences: Vec<String> = reserved
        .iter()
        .map(|Reservation { root, gang, free_at, .. }| {
            let free_at = free_at.and_then(|at| Timestamp::from_second(at).ok());
            let when = free_at.map_or_else(
                || "it is not known when it is free".to_owned(),
                |at| format!("it is free at {at} at the latest"),
            );
            format!("{} has waited long: {} is held for it, and {when}.", name(*root), summary(pool, gang))
        })
        .collect();
    let Some(mut preempts) = Preempts::of(objects, pool, &cycle) else { return (cycle, sentences) };
    preempts.waiting.retain(|root| !reserved.iter().any(|reservation| reservation.root == *root));
    let preempting = preempts.preempting();
    let found = preempt((pool, &cycle.gangs), &preempts.waiting, &preempting, (&quiet, now), &mut find);
    let sentence = |proposal: &Proposal| {
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
    sentences.extend(found.answers.iter().filter_map(|(_, answer)| answer.as_ref().ok()).map(sentence));
    (cycle, sentences)
}

//! Explains a root without a gang by trying all that the plain search would try, and counting refusals.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use classad::{Expr, Limit, Never, conjuncts, contradictions, never_true};

use crate::assembly::costs::Costly;
use crate::assembly::{Assembly, BoundMember, EdgeOutcome};
use crate::capacity::Misfit;
use crate::casts::as_u64;
use crate::finder::{Answer, Asked};
use crate::gang::Edge;
use crate::lack::Lack;
use crate::model::{AdId, Config, PoolAd, Snapshot};
use crate::plain::{Ended, Visitor, search};
use crate::ports::{Port, Ports};
use crate::why_not::{self, EXCERPT_MAX, PortCount, Verdict, WhyNot, reported_parts};

mod needed_before;
mod sets;

pub use sets::{Shortage, shortage};

/// The best that was seen of one ad at one port, over all combinations of the earlier ports.
struct Sight {
    outcome: EdgeOutcome,
    misfit: Option<Misfit>,
    lack: Option<Lack>,
    conjuncts: Vec<bool>,
    /// It has partners of its own to find, and none of the gangs tried had them all.
    incomplete: bool,
    /// It was looked at through a port before which others had to be bound, and they were.
    met: bool,
    /// It refuses because its constraint runs out.
    ran_out: bool,
}

impl Sight {
    /// What became of an ad at one of the root's ports.
    fn of(
        (seat, port): (&BoundMember<'_>, Option<&Port>),
        edge: Edge,
        outcome: EdgeOutcome,
        conjuncts: Vec<bool>,
    ) -> Sight {
        let incomplete = outcome >= EdgeOutcome::Busy && seat.ad.ports.list.len() > 1;
        let ran_out = outcome == EdgeOutcome::ChildRefuses && seat.ran_out;
        let lack = || Lack::of(seat.misfit?, port?, &seat.ad.offer()?.capacity);
        let (misfit, lack, met) = (seat.misfit, lack(), edge.child_port() > 0);
        Sight { outcome, misfit, lack, conjuncts, incomplete, met, ran_out }
    }

    /// An ad that has partners of its own to find first.
    fn waiting(parts: usize) -> Sight {
        let (outcome, conjuncts) = (EdgeOutcome::ParentRefuses, vec![false; parts]);
        Sight { outcome, misfit: None, lack: None, conjuncts, incomplete: true, met: false, ran_out: false }
    }
}

/// All that was seen, by port and ad.
type Sights = BTreeMap<(usize, AdId), Sight>;

/// How many candidates are looked at for the counts of a root whose search was cut short.
const STEPS_AFTER_GIVING_UP: u64 = 1_000;

/// What no ad can ever satisfy of a root's constraints.
type NeverTrue<'n> = &'n dyn Fn(&Ports, &Config) -> Option<Verdict>;

/// Why a root has no gang in a pool: searches once more, within the steps of the question, as if nothing were taken and no offer had
/// refused.
pub fn tried(asked: &Asked<'_>, pool: &Snapshot, config: &Config, now: i64, never: NeverTrue<'_>) -> Answer {
    let (why, ended) = explained(asked, pool, config, now, never);
    // One evaluation that exceeds its limits is proof enough: more candidates would only cost as much again.
    let proven = matches!(why.verdict, Verdict::TooExpensive { .. });
    let unfinished = ended.gave_up && ended.steps >= asked.steps_max && !asked.last && !asked.gave_up && !proven;
    Answer { why: Some(Arc::new(why)).filter(|_| !unfinished), steps: ended.steps }
}

/// The reason, and how the search for it ended.
fn explained(
    asked: &Asked<'_>,
    snapshot: &Snapshot,
    config: &Config,
    now: i64,
    never: NeverTrue<'_>,
) -> (WhyNot, Ended) {
    let nothing = Ended { gave_up: false, steps: 0 };
    let Some(ad) = snapshot.ad(asked.root.ad) else {
        return (WhyNot::of(Verdict::Unusable("no such ad".to_owned())), nothing);
    };
    if let Some(verdict) = bar(&ad.ports, config) {
        return (WhyNot::of(verdict), nothing);
    }
    match ad.ports.has_sets() {
        true => sets::explained(asked, snapshot, config, now, never),
        false => searched(asked, ad, snapshot, config, now, never),
    }
}

/// The same for an ad without counted ports that can be part of a gang.
fn searched(
    asked: &Asked<'_>,
    ad: &PoolAd,
    snapshot: &Snapshot,
    config: &Config,
    now: i64,
    never: NeverTrue<'_>,
) -> (WhyNot, Ended) {
    let Asked { root, gave_up, steps_max, .. } = *asked;
    let parts: Vec<Vec<Expr>> = ad.ports.list.iter().map(reported_parts).collect();
    let seen: RefCell<Sights> = RefCell::default();
    // By member: the outcome of its edge, which says what the gang at hand still needs. Edges below a member may be checked before its own. When a
    // gang is complete, outcomes beyond its members are those of earlier gangs.
    let path: RefCell<Vec<EdgeOutcome>> = RefCell::default();
    let exhausted = Cell::new(0);
    let costly: Cell<Option<Costly>> = Cell::default();
    let look = |assembly: &Assembly<'_>, member: usize, outcome: EdgeOutcome| {
        if let Some(seat) = assembly.seats().get(member)
            && let Some(edge) = seat.edge.filter(|edge| edge.parent() == 0)
        {
            let parts = parts.get(edge.port()).map(Vec::as_slice).unwrap_or_default();
            let conjuncts = assembly.conjuncts_true(member, parts);
            let sight = Sight::of((seat, ad.ports.list.get(edge.port())), edge, outcome, conjuncts);
            note(&mut seen.borrow_mut(), (edge.port(), seat.id), sight);
        }
        exhausted.set(assembly.exhausted());
        costly.set(costly.get().or(assembly.costly()));
        set(&mut path.borrow_mut(), member, outcome);
        if outcome >= EdgeOutcome::Busy {
            note_complete(&mut seen.borrow_mut(), assembly, &path.borrow());
        }
        outcome >= EdgeOutcome::Busy
    };
    let waits = |assembly: &Assembly<'_>, member: usize| {
        if let Some(seat) = assembly.seats().get(member)
            && let Some(edge) = seat.edge
        {
            let sight = Sight::waiting(parts.get(edge.port()).map_or(0, Vec::len));
            note(&mut seen.borrow_mut(), (edge.port(), seat.id), sight);
        }
        set(&mut path.borrow_mut(), member, EdgeOutcome::ParentRefuses);
    };
    let (mut only_busy, mut complete) = (false, false);
    let mut gang = |assembly: &mut Assembly<'_>| {
        let path = path.borrow();
        let needs = |outcome| path.iter().take(assembly.seats().len()).any(|seen| *seen == outcome);
        complete = true;
        only_busy |= needs(EdgeOutcome::Busy) && !needs(EdgeOutcome::Excluded);
        ControlFlow::Continue(())
    };
    let budget = budget(gave_up, steps_max.max(1), config);
    let mut visitor =
        Visitor { outcome: &look, waits: &waits, gang: &mut gang, among: None, allowed: steps_max.max(1) };
    // A search that was cut short proves nothing but what it found.
    let mut ended = search(snapshot, root.ad, &root.exclusions, &budget, now, &mut visitor);
    let cut = ended.gave_up;
    let gave_up = gave_up || (cut && !only_busy);
    let seen = seen.into_inner();
    let mut counts = count(&ad.ports.list, &seen);
    if !gave_up && !complete {
        ended.steps += needed_before::note(&mut counts, &seen, (snapshot, root.ad, &ad.ports), &budget, now);
    }
    let never = || never(&ad.ports, config);
    let verdict = match (gave_up, complete, only_busy) {
        (_, false, _) if costly.get().is_some() => {
            never().unwrap_or_else(|| too_expensive(&ad.ports, costly.get(), config))
        }
        (true, _, _) => Verdict::GaveUp,
        (false, true, true) => Verdict::WaitingForCapacity,
        (false, true, false) => Verdict::BackingOff,
        (false, false, _) => never().unwrap_or_else(|| structural(&counts)),
    };
    (WhyNot { ports: counts, exhausted: exhausted.get(), ..WhyNot::of(verdict) }, ended)
}

/// What keeps a root from ever having a gang, whatever ads the pool has.
pub fn bar(ports: &Ports, config: &Config) -> Option<Verdict> {
    if let Some(problem) = &ports.problem {
        return Some(Verdict::Unusable(problem.clone()));
    }
    match ports.list.iter().map(least).sum::<usize>() {
        0 => None,
        _ if config.depth_max == 0 => Some(Verdict::Limit(why_not::Limit::Depth)),
        count if count >= config.members_max => Some(Verdict::Limit(why_not::Limit::Members)),
        _ => None,
    }
}

/// The first port of a root whose constraint contradicts itself, as far as its text alone tells.
pub(crate) fn contradiction(ports: &Ports, _: &Config) -> Option<Verdict> {
    let of_port = |(port, own): (usize, &Port)| {
        let parts = conjuncts(own.constraint.as_ref()?);
        let place = |part: &Expr| parts.iter().position(|own| own == part);
        let core = match parts.iter().position(|part| never_true(part).is_some()) {
            Some(alone) => vec![alone],
            None => match contradictions(&parts).into_iter().next()? {
                Never::Contradiction { first, second } => vec![place(&first)?, place(&second)?],
                _ => return None,
            },
        };
        Some(Verdict::Never { port, core })
    };
    ports.list.iter().enumerate().find_map(of_port)
}

/// What is too expensive.
fn too_expensive(ports: &Ports, costly: Option<Costly>, config: &Config) -> Verdict {
    let Some(costly) = costly else { return Verdict::GaveUp };
    let constraint = ports.list.get(costly.port).and_then(|port| port.constraint.as_ref());
    let text = constraint.map(|constraint| constraint.excerpt(EXCERPT_MAX)).unwrap_or_default();
    let limits = config.limits;
    let most = match costly.limit {
        Limit::Depth => as_u64(limits.depth),
        Limit::Fuel => limits.fuel,
        Limit::ResultBytes => as_u64(limits.result_bytes),
        Limit::ResultDepth => as_u64(limits.result_depth),
        Limit::ResultElements => as_u64(limits.result_elements),
        Limit::Memory => as_u64(limits.memory),
    };
    Verdict::TooExpensive { port: costly.port, limit: costly.limit, most, text }
}

/// What an explanation may cost: why a search was cut short is known, only a few counts are wanted.
fn budget(gave_up: bool, steps_max: u64, config: &Config) -> Config {
    let usual = if gave_up { STEPS_AFTER_GIVING_UP.min(config.steps_max) } else { config.steps_max / 4 };
    Config { steps_max: steps_max.min(usual), ..config.clone() }
}

fn note(seen: &mut Sights, place: (usize, AdId), new: Sight) {
    let Some(sight) = seen.get_mut(&place) else {
        seen.insert(place, new);
        return;
    };
    if new.outcome >= sight.outcome {
        (sight.misfit, sight.lack) = (new.misfit, new.lack);
        sight.ran_out = new.ran_out;
    }
    // An ad that was once part of a gang stays so, and an ad that refuses lacks no partner.
    sight.met |= new.met;
    if sight.outcome < EdgeOutcome::Busy {
        sight.incomplete = (sight.incomplete || new.incomplete) && (new.outcome >= EdgeOutcome::Busy || !sight.met);
    }
    sight.outcome = sight.outcome.max(new.outcome);
    for (known, new) in sight.conjuncts.iter_mut().zip(new.conjuncts) {
        *known |= new;
    }
}

fn set(path: &mut Vec<EdgeOutcome>, member: usize, outcome: EdgeOutcome) {
    if path.len() <= member {
        path.resize(member + 1, EdgeOutcome::Holds);
    }
    if let Some(own) = path.get_mut(member) {
        *own = outcome;
    }
}

/// Notes the root's partners that have all that they need: each ad below them has as many ads as it needs at every port, and all of these
/// accept.
fn note_complete(seen: &mut Sights, assembly: &Assembly<'_>, path: &[EdgeOutcome]) {
    let seats = assembly.seats();
    if seats.iter().skip(1).all(|seat| seat.ad.ports.list.len() < 2) {
        return;
    }
    let accepts = |member: usize| path.get(member).is_some_and(|outcome| *outcome >= EdgeOutcome::Busy);
    let mut bound: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (member, edge) in seats.iter().enumerate().filter_map(|(member, seat)| Some((member, seat.edge?))) {
        *bound.entry((edge.parent(), edge.port())).or_default() += usize::from(accepts(member));
    }
    // By member: which of the root's partners it is below, and whether that partner still needs something.
    let (mut above, mut lacks) = (vec![0; seats.len()], vec![false; seats.len()]);
    for (member, seat) in seats.iter().enumerate() {
        let Some(edge) = seat.edge else { continue };
        let partner = if edge.parent() == 0 { member } else { above.get(edge.parent()).copied().unwrap_or(0) };
        let mut others = seat.ad.ports.list.iter().enumerate().filter(|(port, _)| *port != edge.child_port());
        let is_open = |(port, own): (usize, &Port)| bound.get(&(member, port)).is_none_or(|have| *have < least(own));
        let is_open = others.any(is_open) || partner != member && !accepts(member);
        if let (Some(above), Some(lacks)) = (above.get_mut(member), lacks.get_mut(partner)) {
            *above = partner;
            *lacks |= is_open;
        }
    }
    for (seat, lacks) in seats.iter().zip(lacks) {
        if let Some(edge) = seat.edge.filter(|edge| edge.parent() == 0 && !lacks)
            && let Some(sight) = seen.get_mut(&(edge.port(), seat.id))
        {
            sight.incomplete = false;
        }
    }
}

/// The fewest ads that a port needs, as far as it is written.
fn least(port: &Port) -> usize {
    port.set.as_ref().and_then(|set| set.least_written()).unwrap_or(1)
}

fn count(ports: &[Port], seen: &Sights) -> Vec<PortCount> {
    let mut counts = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        let mut count = PortCount::of(port);
        let kind = count.conjuncts.iter().position(|part| part.is_kind);
        for (_, sight) in seen.range((number, AdId::at(0))..=(number, AdId::at(usize::MAX))) {
            let is_kind = |part: usize| sight.conjuncts.get(part).copied().unwrap_or(true);
            if !sight.incomplete && kind.is_some_and(|part| !is_kind(part)) {
                count.other_kinds += 1;
                continue;
            }
            count.candidates += 1;
            match sight.outcome {
                _ if sight.incomplete => count.incomplete += 1,
                EdgeOutcome::ParentRefuses => count.refused_by_job += 1,
                EdgeOutcome::ChildRefuses => {
                    count.refused_by_offer.ads += 1;
                    count.refused_by_offer.too_expensive += u64::from(sight.ran_out);
                }
                EdgeOutcome::TooSmall => count.too_small.note(sight.misfit, sight.lack.clone()),
                EdgeOutcome::Busy => count.busy += 1,
                EdgeOutcome::Excluded => count.excluded += 1,
                EdgeOutcome::Holds => {}
            }
            let mut left = true;
            for (conjunct, held) in count.conjuncts.iter_mut().zip(&sight.conjuncts) {
                left &= held;
                conjunct.left += u64::from(left);
                conjunct.rejects += u64::from(!held);
            }
        }
        counts.push(count);
    }
    counts
}

/// The first port that nothing could be bound to, and which side refused. Not told of a later port is what the ports before it may be the
/// reason for:
/// - that no ad was tried at it, unless they ask for other kinds, and each has an ad that fits with all that it needs
/// - that none fits, if ads that would are bound at ports before it
pub fn structural(counts: &[PortCount]) -> Verdict {
    for (port, count) in counts.iter().enumerate() {
        let (before, _) = counts.split_at(port);
        let is_no_reason = |other: &PortCount| other.is_of_another_kind(count) && other.fits_when_free() > 0;
        if port > 0 && !count.is_reached() && before.iter().all(is_no_reason) {
            return Verdict::NoCandidates { port };
        }
        if port > 0 && (!count.is_reached() || count.needed_before > 0) {
            break;
        }
        let refused = count.refused_by_offer.ads + count.too_small.ads;
        if count.refused_by_job == count.candidates {
            return Verdict::NoCandidates { port };
        }
        if count.refused_by_job + refused == count.candidates {
            return Verdict::RefusedByOffers { port };
        }
    }
    Verdict::NoConsistentGang
}

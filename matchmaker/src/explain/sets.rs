//! Explains a root with counted ports. Trying every set would take too long, so its ports are first counted one by one: how many ads fit
//! each of them alone, and how many of these `Same` and `Distinct` leave together. Only a root that this does not explain is searched.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use classad::Expr;

use super::{NeverTrue, Sight, Sights, count, note};
use crate::assembly::{Assembly, EdgeOutcome};
use crate::casts::as_u64;
use crate::finder::Asked;
use crate::gang::Edge;
use crate::model::{AdId, Config, PoolAd, Snapshot};
use crate::plain::{Ended, Visitor, search};
use crate::ports::Port;
use crate::sets::{MemberAttribute, SetTerms};
use crate::why_not::{EXCERPT_MAX, Limit, PortCount, SetCount, Verdict, WhyNot, reported_parts};

/// A counted port that cannot be filled whatever is bound to other ports, and however much is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The port's label.
    pub port: String,
    /// The fewest members of its set.
    pub need: u64,
    /// How many ads fit one by one.
    pub acceptable: u64,
    /// How many of them `Same` and `Distinct` leave together at most.
    pub largest: u64,
}

/// The first counted port of a root that has too few candidates; none as well if the root cannot be part of a gang at all.
pub fn shortage(snapshot: &Snapshot, root: AdId, config: &Config, now: i64) -> Option<Shortage> {
    let mut tally = Tally::of(snapshot, root, config, now)?;
    let counts = tally.counts(&BTreeSet::new(), u64::MAX)?;
    counts.iter().find_map(|count| {
        let SetCount { need, largest, .. } = *count.set.as_ref()?;
        let acceptable = count.fits_when_free();
        (largest < need).then(|| Shortage { port: count.label.clone(), need, acceptable, largest })
    })
}

/// Why a root with counted ports has no gang, and how the search for the reason ended.
pub(super) fn explained(
    asked: &Asked<'_>,
    snapshot: &Snapshot,
    config: &Config,
    now: i64,
    never: NeverTrue<'_>,
) -> (WhyNot, Ended) {
    let nothing = || (WhyNot::of(Verdict::GaveUp), Ended { gave_up: true, steps: asked.steps_max });
    let Some(mut tally) = Tally::of(snapshot, asked.root.ad, config, now) else { return nothing() };
    let excluded = snapshot.ads().filter(|(_, ad)| asked.root.exclusions.contains(&ad.key)).map(|(id, _)| id).collect();
    let Some(counts) = tally.counts(&excluded, asked.steps_max.max(1)) else { return nothing() };
    let steps = tally.steps();
    let said = |verdict: Verdict, gave_up: bool, steps: u64| {
        (WhyNot { ports: counts.clone(), ..WhyNot::of(verdict) }, Ended { gave_up, steps })
    };
    if let Some(verdict) = tally.odd_count().or_else(|| never(tally.ports(), config)).or_else(|| short(&counts)) {
        return said(verdict, false, steps);
    }
    if asked.gave_up {
        return said(Verdict::GaveUp, false, steps);
    }
    let left = asked.steps_max.saturating_sub(steps).max(1);
    let budget = Config { steps_max: left.min(config.steps_max / 4), ..config.clone() };
    let exists = |least: &[EdgeOutcome]| exists(asked, snapshot, &budget, now, least);
    let (found, first) = exists(&[EdgeOutcome::Busy, EdgeOutcome::Holds]);
    let steps = steps.saturating_add(first.steps);
    if found {
        return said(Verdict::WaitingForCapacity, false, steps);
    }
    if first.gave_up {
        return said(Verdict::GaveUp, true, steps);
    }
    if asked.root.exclusions.is_empty() {
        return said(Verdict::NoConsistentGang, false, steps);
    }
    let (found, second) = exists(&[EdgeOutcome::Busy, EdgeOutcome::Excluded, EdgeOutcome::Holds]);
    let verdict = match (found, second.gave_up) {
        (true, _) => Verdict::BackingOff,
        (false, true) => Verdict::GaveUp,
        (false, false) => Verdict::NoConsistentGang,
    };
    said(verdict, second.gave_up, steps.saturating_add(second.steps))
}

/// Whether there is a gang all edges of which have one of these outcomes.
fn exists(asked: &Asked<'_>, snapshot: &Snapshot, config: &Config, now: i64, least: &[EdgeOutcome]) -> (bool, Ended) {
    let found = Cell::new(false);
    let mut gang = |_: &mut Assembly<'_>| {
        found.set(true);
        ControlFlow::Break(())
    };
    let enough = |_: &Assembly<'_>, _: usize, outcome: EdgeOutcome| least.contains(&outcome);
    let mut visitor =
        Visitor { outcome: &enough, waits: &|_, _| {}, gang: &mut gang, allowed: config.steps_max, among: None };
    let ended = search(snapshot, asked.root.ad, &asked.root.exclusions, config, now, &mut visitor);
    (found.get(), ended)
}

/// The first port for which too few ads fit, and which side refuses the others.
fn short(counts: &[PortCount]) -> Option<Verdict> {
    let of_port = |(port, count): (usize, &PortCount)| {
        let need = count.need();
        let wanted = count.candidates.saturating_sub(count.refused_by_job);
        match &count.set {
            _ if wanted < need => Some(Verdict::NoCandidates { port }),
            _ if count.fits_when_free() < need => Some(Verdict::RefusedByOffers { port }),
            Some(set) if set.largest < need => Some(Verdict::NoConsistentGang),
            _ => None,
        }
    };
    counts.iter().enumerate().find_map(of_port)
}

/// Counts the ads that fit each port of a root alone.
struct Tally<'s> {
    snapshot: &'s Snapshot,
    root: &'s PoolAd,
    assembly: Assembly<'s>,
    looked: u64,
}

/// What an ad that fits has for `Same` and for `Distinct`.
type Identities = (Vec<Option<String>>, Vec<Option<String>>);

impl<'s> Tally<'s> {
    fn of(snapshot: &'s Snapshot, root: AdId, config: &'s Config, now: i64) -> Option<Tally<'s>> {
        let assembly = Assembly::start(snapshot, root, config, now)?;
        Some(Tally { snapshot, root: snapshot.ad(root)?, assembly, looked: 0 })
    }

    fn ports(&self) -> &'s crate::ports::Ports {
        &self.root.ports
    }

    fn steps(&self) -> u64 {
        self.looked.saturating_add(self.assembly.cost())
    }

    /// The counts of each port; none if they take more than so many steps.
    fn counts(&mut self, excluded: &BTreeSet<AdId>, steps_max: u64) -> Option<Vec<PortCount>> {
        let list = &self.root.ports.list;
        let parts: Vec<Vec<Expr>> = list.iter().map(reported_parts).collect();
        let (mut seen, mut fitting) = (Sights::new(), vec![Vec::new(); list.len()]);
        for ((number, port), (parts, fitting)) in list.iter().enumerate().zip(parts.iter().zip(&mut fitting)) {
            for (id, ad) in self.snapshot.ads() {
                if !self.assembly.admits(id, ad, 0) {
                    continue;
                }
                if self.steps() >= steps_max {
                    return None;
                }
                let mut best: Option<Identities> = None;
                for via in ad.ports.entries() {
                    let (sight, own) = self.look((number, port), (id, ad, via), parts, excluded);
                    best = best.or(own);
                    note(&mut seen, (number, id), sight);
                }
                fitting.extend(best);
            }
        }
        let mut counts = count(list, &seen);
        for ((number, port), (count, fitting)) in list.iter().enumerate().zip(counts.iter_mut().zip(&fitting)) {
            count.set = port.set.as_ref().map(|set| self.set_count(number, set, fitting));
        }
        Some(counts)
    }

    /// What becomes of an ad at a port, as far as that does not depend on other ports; and its identities, if it fits.
    fn look(
        &mut self,
        (number, port): (usize, &Port),
        (id, ad, via): (AdId, &'s PoolAd, usize),
        parts: &[Expr],
        excluded: &BTreeSet<AdId>,
    ) -> (Sight, Option<Identities>) {
        self.looked += 1;
        let edge = Edge::new(0, number, via);
        let child = self.assembly.seats().len();
        self.assembly.seat(id, ad, Some(edge));
        self.assembly.connect(child);
        let (mut outcome, is_known) = self.assembly.check_alone(child);
        if outcome == EdgeOutcome::Holds && excluded.contains(&id) {
            outcome = EdgeOutcome::Excluded;
        }
        let conjuncts = if is_known { self.assembly.conjuncts_true(child, parts) } else { vec![true; parts.len()] };
        let identities = |attributes: &[MemberAttribute]| {
            attributes.iter().map(|attribute| self.assembly.identity_in(child, attribute)).collect()
        };
        let fits = outcome >= EdgeOutcome::Busy;
        let own = port.set.as_ref().filter(|_| fits).map(|set| (identities(&set.same), identities(&set.distinct)));
        let seat = self.assembly.seats().get(child);
        let sight = seat.map_or_else(
            || Sight::waiting(parts.len()),
            |seat| Sight { incomplete: false, ..Sight::of((seat, Some(port)), edge, outcome, conjuncts) },
        );
        self.assembly.disconnect(child);
        self.assembly.unseat();
        (sight, own)
    }

    /// The least count of a port: as it is written, or as it evaluates. Where it may depend on earlier partners it is at least 1.
    fn least(&mut self, number: usize, set: &SetTerms) -> Option<usize> {
        let written = set.least_written().filter(|_| set.most_written().is_some());
        match written {
            Some(least) => Some(least),
            None if self.root.ports.has_late_count(number) => Some(1),
            None => self.assembly.sizes(0, number).map(|sizes| sizes.least),
        }
    }

    /// The first port whose count is no count.
    fn odd_count(&mut self) -> Option<Verdict> {
        let root = self.root;
        let numbered = root.ports.list.iter().enumerate();
        let mut sets = numbered.filter_map(|(number, port)| Some((number, port.set.as_deref()?)));
        let odd = sets.find(|(number, set)| {
            let written = set.least_written().zip(set.most_written());
            match written {
                Some((least, most)) => least > most,
                None => self.least(*number, set).is_none(),
            }
        });
        odd.map(|(number, _)| Verdict::Limit(Limit::Count(number)))
    }

    fn set_count(&mut self, number: usize, set: &SetTerms, fitting: &[Identities]) -> SetCount {
        let names = |list: &[MemberAttribute]| list.iter().map(|attribute| attribute.name.to_string()).collect();
        let need = self.least(number, set).unwrap_or(usize::MAX);
        SetCount {
            need: as_u64(need),
            largest: as_u64(largest(set, fitting, need)),
            same: names(&set.same),
            distinct: names(&set.distinct),
            constraint: set.constraint.as_ref().map(|own| own.excerpt(EXCERPT_MAX)).unwrap_or_default(),
        }
    }
}

/// How many ads `Same` and `Distinct` leave together: the largest group of those that have the same, and in it the most that all
/// differ. Where `Distinct` has several names, it is less than `need` only if that is certain; then so many can be had.
fn largest(set: &SetTerms, fitting: &[Identities], need: usize) -> usize {
    let mut groups: BTreeMap<Vec<&String>, Vec<Vec<&String>>> = BTreeMap::new();
    for (same, distinct) in fitting {
        let known = |list: &[Option<String>]| list.iter().all(Option::is_some);
        if known(same) && known(distinct) {
            let own = distinct.iter().flatten().collect();
            groups.entry(same.iter().flatten().collect()).or_default().push(own);
        }
    }
    let values = |members: &[Vec<&String>], place: usize| {
        members.iter().filter_map(|member| member.get(place)).collect::<BTreeSet<_>>().len()
    };
    let at_most = |members: &Vec<Vec<&String>>| {
        let each = (0..set.distinct.len()).map(|place| values(members, place));
        each.min().unwrap_or(members.len())
    };
    let most = groups.values().map(at_most).max().unwrap_or(0);
    match set.distinct.len() {
        2.. if most < need => groups.values().map(|members| most_apart(members)).max().unwrap_or(0),
        _ => most,
    }
}

/// How many members can be found one after the other that differ from each other in all attributes.
fn most_apart(members: &[Vec<&String>]) -> usize {
    let mut taken: Vec<BTreeSet<&String>> = Vec::new();
    let mut count = 0;
    for member in members {
        taken.resize(member.len(), BTreeSet::new());
        if member.iter().zip(&taken).all(|(own, taken)| !taken.contains(own)) {
            taken.iter_mut().zip(member).for_each(|(taken, own)| _ = taken.insert(own));
            count += 1;
        }
    }
    count
}

//! The plain search: all gangs of a root, one after the other. It defines what every other search must find.
//!
//! Take the next unbound port; try every ad, through each of its own ports; bind the ports that this ad has before that one
//! (unless the ad refuses in any case); then evaluate both sides of the edge; then bind the ports that the ad has after it;
//! continue. With no port left the gang is complete. Backtracking undoes one step (the "naive algorithm" in section 5 of the
//! gangmatching paper).
//!
//! A counted port is filled with every set of each allowed size, in the order of keys: the set so far is tried as it is, if it is
//! large enough, and with every later ad as one more member.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::assembly::{Assembly, EdgeOutcome};
use crate::budget::Owners;
use crate::finder::Needs;
use crate::gang::{Edge, Gang};
use crate::model::{AdId, AdKey, Config, PoolAd, Snapshot};
use crate::sets::SetSizes;

/// The result of a search for the best gang.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The best gang that was found.
    pub gang: Option<Gang>,
    /// The steps ran out: a better one, or the only one, may have been missed.
    pub gave_up: bool,
    /// The steps that ran out were those of its submitter: with more of them, the result may be another.
    pub short: bool,
    /// The evaluator did not confirm the gang that was found first; this one is of the plain search.
    pub disagreed: bool,
}

/// The best gang of a root that avoids the excluded offers.
pub fn best(snapshot: &Snapshot, root: AdId, exclusions: &BTreeSet<AdKey>, config: &Config, now: i64) -> Found {
    best_of((snapshot, root), exclusions, config, now, None).0
}

/// Whether a gang is kept; and the offers whose expressions this has evaluated, with the fuel that it took.
type Keeps<'f> = dyn Fn(&Gang) -> (bool, Vec<(AdId, u64)>) + 'f;

/// Which gangs a search keeps.
pub(crate) struct Filter<'f> {
    /// The test of each gang.
    pub(crate) keeps: &'f Keeps<'f>,
    /// What offers of other namespaces pay.
    pub(crate) owners: Owners,
}

/// The best of those of its gangs that a filter keeps, or of all; how many steps that took; and what owners of offers have paid. A gang that is tested costs one step for each member.
pub(crate) fn best_of(
    (snapshot, root): (&Snapshot, AdId),
    exclusions: &BTreeSet<AdKey>,
    config: &Config,
    now: i64,
    filter: Option<Filter<'_>>,
) -> (Found, u64, Option<Owners>) {
    let (keeps, owners) = filter.map(|filter| (filter.keeps, filter.owners)).unzip();
    let passes = |assembly: &Assembly<'_>, gang: &Gang| {
        let Some(keeps) = keeps else { return true };
        let (passes, used) = keeps(gang);
        assembly.pay_steps(gang.members.len());
        assembly.pay_for(&used);
        passes
    };
    let mut best: Option<Gang> = None;
    let mut keep = |assembly: &mut Assembly<'_>| {
        let gang = assembly.gang();
        if best.as_ref().is_none_or(|best| gang.beats(best)) && passes(assembly, &gang) {
            best = Some(gang);
        }
        ControlFlow::Continue(())
    };
    let strict = |_: &Assembly<'_>, _: usize, outcome: EdgeOutcome| outcome == EdgeOutcome::Holds;
    let mut visitor =
        Visitor { outcome: &strict, waits: &|_, _| {}, gang: &mut keep, among: None, allowed: config.steps_max };
    let (ended, owners) = search_for(owners, (snapshot, root), exclusions, config, now, &mut visitor);
    (Found { gang: best, gave_up: ended.gave_up, ..Found::default() }, ended.steps, owners)
}

/// Up to `cap` gangs of a root, in the order of the search.
pub fn gangs(snapshot: &Snapshot, root: AdId, cap: usize, config: &Config, now: i64) -> Vec<Gang> {
    list(snapshot, root, &Listing { exclusions: &BTreeSet::new(), among: None, cap }, config, now).gangs
}

/// Which gangs of a root are listed.
pub(crate) struct Listing<'l> {
    /// Offers that are avoided.
    pub(crate) exclusions: &'l BTreeSet<AdKey>,
    /// By port of the root: the ads that are tried. Without it, all are.
    pub(crate) among: Option<&'l [Vec<AdId>]>,
    /// So many at most.
    pub(crate) cap: usize,
}

/// Gangs of a root.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// In no order that matters.
    pub gangs: Vec<Gang>,
    /// There may be others.
    pub has_more: bool,
    /// What all gangs of the root need that is free now, also those that are not listed.
    pub needs: Needs,
    /// How many steps the search took.
    pub steps: u64,
}

/// The gangs of a root, one after the other.
pub(crate) fn list(snapshot: &Snapshot, root: AdId, listing: &Listing<'_>, config: &Config, now: i64) -> Listed {
    let mut gangs = Vec::new();
    let mut is_full = false;
    let mut keep = |assembly: &mut Assembly<'_>| {
        is_full = gangs.len() >= listing.cap;
        if is_full {
            return ControlFlow::Break(());
        }
        gangs.push(assembly.gang());
        ControlFlow::Continue(())
    };
    let strict = |_: &Assembly<'_>, _: usize, outcome: EdgeOutcome| outcome == EdgeOutcome::Holds;
    let among = listing.among;
    let mut visitor =
        Visitor { outcome: &strict, waits: &|_, _| {}, gang: &mut keep, among, allowed: config.steps_max };
    let ended = search(snapshot, root, listing.exclusions, config, now, &mut visitor);
    Listed { gangs, has_more: is_full || ended.gave_up, needs: Vec::new(), steps: ended.steps }
}

/// Callbacks of a search, and what its evaluations may take.
pub struct Visitor<'v> {
    /// An edge was evaluated: the assembly, the member at its lower end, the outcome. Returns whether to continue with it.
    pub outcome: &'v dyn Fn(&Assembly<'_>, usize, EdgeOutcome) -> bool,
    /// An ad was added at one of the root's ports, but its own partners must be found before its edge is evaluated.
    pub waits: &'v dyn Fn(&Assembly<'_>, usize),
    /// A gang is complete. Returns whether to continue with others.
    pub gang: &'v mut dyn FnMut(&mut Assembly<'_>) -> ControlFlow<()>,
    /// By port of the root: the ads that are tried. Without it, all are.
    pub among: Option<&'v [Vec<AdId>]>,
    /// How many steps may be spent when an evaluation ends. No candidate is tried any more after `steps_max` of the settings.
    pub allowed: u64,
}

/// How a search ended.
pub struct Ended {
    /// It ran out of steps.
    pub gave_up: bool,
    /// How many steps it took.
    pub steps: u64,
}

/// Runs the search, at the cost of the root alone: calls the visitor with all that it tries for the root.
pub fn search(
    snapshot: &Snapshot,
    root: AdId,
    exclusions: &BTreeSet<AdKey>,
    config: &Config,
    now: i64,
    visitor: &mut Visitor<'_>,
) -> Ended {
    search_for(None, (snapshot, root), exclusions, config, now, visitor).0
}

/// Runs the search. With `owners`, offers of other namespaces pay for what their expressions take beyond what is fair, and those that have
/// paid too much are left out; returns what they have paid.
fn search_for(
    owners: Option<Owners>,
    (snapshot, root): (&Snapshot, AdId),
    exclusions: &BTreeSet<AdKey>,
    config: &Config,
    now: i64,
    visitor: &mut Visitor<'_>,
) -> (Ended, Option<Owners>) {
    let Some(assembly) = Assembly::start(snapshot, root, config, now) else {
        return (Ended { gave_up: false, steps: 0 }, owners);
    };
    owners.into_iter().for_each(|owners| assembly.charge_owners(owners));
    let ports = assembly.seats().first().map_or(0, |seat| seat.ad.ports.list.len());
    let mut agenda = (0..ports).rev().map(|port| Task::Fill { member: 0, port }).collect();
    let mut search =
        Search { snapshot, config, exclusions, assembly, steps: 0, passed_over: 0, gave_up: false, visitor };
    let _ = search.advance(&mut agenda);
    let ended = Ended {
        gave_up: search.gave_up || search.assembly.is_cut(),
        steps: search.steps.saturating_add(search.assembly.cost()),
    };
    (ended, search.assembly.into_owners())
}

/// What is still to be done for the current gang; the last task is next.
#[derive(Clone, Copy)]
enum Task {
    Fill { member: usize, port: usize },
    Check { member: usize },
    Extend(OpenSet),
}

/// A set of a counted port that may not be complete.
#[derive(Clone, Copy)]
struct OpenSet {
    member: usize,
    port: usize,
    sizes: SetSizes,
    /// How many members it has.
    size: usize,
    /// The ads before this place are not tried any more: the last member is the one before.
    from: usize,
}

struct Search<'s, 'v, 'w> {
    snapshot: &'s Snapshot,
    config: &'s Config,
    exclusions: &'s BTreeSet<AdKey>,
    assembly: Assembly<'s>,
    steps: u64,
    /// How many ads were passed over that may not be tried.
    passed_over: u64,
    gave_up: bool,
    visitor: &'v mut Visitor<'w>,
}

/// How many ads are passed over in about the time of a step.
const ADS_OF_A_STEP: u64 = 256;

impl<'s> Search<'s, '_, '_> {
    /// Does the next task in every possible way. Leaves the agenda and the assembly unchanged.
    fn advance(&mut self, agenda: &mut Vec<Task>) -> ControlFlow<()> {
        let Some(task) = agenda.pop() else { return (self.visitor.gang)(&mut self.assembly) };
        let flow = match task {
            Task::Fill { member, port } => self.fill(member, port, agenda),
            Task::Check { member } => self.check(member, agenda),
            Task::Extend(set) => self.extend(set, agenda),
        };
        agenda.push(task);
        flow
    }

    /// Binds a port to every candidate, or a counted port to every set of them.
    fn fill(&mut self, member: usize, port: usize, agenda: &mut Vec<Task>) -> ControlFlow<()> {
        if self.assembly.is_counted(member, port) {
            let Some(sizes) = self.assembly.sizes(member, port) else { return ControlFlow::Continue(()) };
            return self.extend(OpenSet { member, port, sizes, size: 0, from: 0 }, agenda);
        }
        let snapshot = self.snapshot;
        let among = self.visitor.among.filter(|_| member == 0).and_then(|among| among.get(port));
        let (all, some) = match among {
            None => (Some(snapshot.ads()), None),
            Some(ids) => (None, Some(ids.iter().filter_map(|id| Some((*id, snapshot.ad(*id)?))))),
        };
        for (id, ad) in all.into_iter().flatten().chain(some.into_iter().flatten()) {
            self.bind((member, port), id, ad, None, agenda)?;
        }
        ControlFlow::Continue(())
    }

    /// Completes a set as it is, and with every ad that comes after its members as one more.
    fn extend(&mut self, set: OpenSet, agenda: &mut Vec<Task>) -> ControlFlow<()> {
        if set.size >= set.sizes.least {
            self.assembly.bind_set(set.member, set.port);
            let holds = self.assembly.check_set();
            let flow = if holds { self.advance(agenda) } else { ControlFlow::Continue(()) };
            self.assembly.unbind_set();
            flow?;
        }
        if set.size == set.sizes.most {
            return ControlFlow::Continue(());
        }
        let snapshot = self.snapshot;
        for (id, ad) in snapshot.ads().skip(set.from) {
            let larger = OpenSet { size: set.size + 1, from: id.place() + 1, ..set };
            self.bind((set.member, set.port), id, ad, Some(Task::Extend(larger)), agenda)?;
        }
        ControlFlow::Continue(())
    }

    /// Binds an ad to a port of a member through each of its own ports; `then` comes when all of its edges hold.
    fn bind(
        &mut self,
        (member, port): (usize, usize),
        id: AdId,
        ad: &'s PoolAd,
        then: Option<Task>,
        agenda: &mut Vec<Task>,
    ) -> ControlFlow<()> {
        if !self.assembly.admits(id, ad, member) {
            self.passed_over += 1;
            self.steps += u64::from(self.passed_over.is_multiple_of(ADS_OF_A_STEP));
            return ControlFlow::Continue(());
        }
        for via in ad.ports.entries() {
            let spent = self.steps.saturating_add(self.assembly.cost());
            if spent >= self.config.steps_max || self.config.stop.is_set() {
                self.gave_up = true;
                return ControlFlow::Break(());
            }
            self.assembly.allow(self.visitor.allowed.saturating_sub(spent));
            self.steps += 1;
            let before = agenda.len();
            let child = self.assembly.seats().len();
            self.assembly.seat(id, ad, Some(Edge::new(member, port, via)));
            let fill = |port| Task::Fill { member: child, port };
            agenda.extend(then);
            agenda.extend((via + 1..ad.ports.list.len()).rev().map(fill));
            agenda.push(Task::Check { member: child });
            agenda.extend((0..via).rev().map(fill));
            let hopeless = via > 0 && self.assembly.refuses_early(child);
            if via > 0 && member == 0 && !hopeless {
                (self.visitor.waits)(&self.assembly, child);
            }
            let flow = if hopeless { ControlFlow::Continue(()) } else { self.advance(agenda) };
            agenda.truncate(before);
            self.assembly.unseat();
            flow?;
        }
        ControlFlow::Continue(())
    }

    fn check(&mut self, member: usize, agenda: &mut Vec<Task>) -> ControlFlow<()> {
        self.assembly.connect(member);
        let mut outcome = self.assembly.check(member);
        let excluded = self.assembly.seats().get(member).is_some_and(|seat| self.exclusions.contains(&seat.ad.key));
        if outcome >= EdgeOutcome::Busy && excluded {
            outcome = EdgeOutcome::Excluded;
        }
        let flow = match (self.visitor.outcome)(&self.assembly, member, outcome) {
            true => self.advance(agenda),
            false => ControlFlow::Continue(()),
        };
        self.assembly.disconnect(member);
        flow
    }
}

#[cfg(test)]
mod tests {
    use classad::{Dialect, parse_ad};

    use super::*;
    use crate::model::{Offer, Role};

    #[test]
    fn s4_ads_that_may_not_be_tried_are_paid_for_when_there_are_many() {
        let ad = |kind: &str, name: String, text: &str| {
            let key = AdKey { kind: kind.into(), namespace: "n".into(), name: name.clone() };
            PoolAd::asking(key, &name, &parse_ad(text, Dialect::Gangmatch).unwrap())
        };
        let machine = |number: usize, open: bool| {
            let offer = Offer { open, ..Offer::of([("slots".to_owned(), 1)].into_iter().collect()) };
            let ad = ad("Machine", format!("m{number:05}"), "[Constraint = true]");
            PoolAd { role: Role::Offers(Box::new(offer)), ..ad }
        };
        let steps = |closed: usize| {
            let job = ad("Job", "j".into(), "[Ports = {[Label = m; Count = 4; Constraint = true]}]");
            let machines = (0..closed + 8).map(|number| machine(number, number < 8));
            let snapshot = Snapshot::new(machines.chain([job]).collect());
            let root = snapshot.ads().find(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).unwrap();
            let listing = Listing { exclusions: &BTreeSet::new(), among: None, cap: 1000 };
            let listed = list(&snapshot, root, &listing, &Config::product(), 0);
            assert_eq!(listed.gangs.len(), 70);
            listed.steps
        };
        let (few, many) = (steps(0), steps(20_000));
        assert!(many > 10 * few, "{many} {few}");
    }
}

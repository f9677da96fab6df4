//! Gangs of any shape: the plain search, led by what the index knows of the root's own ports.
//!
//! Candidates of the root's ports come from its candidate sets, best first, and what cannot beat the best gang so far is not
//! followed. Every edge is looked at by the evaluator, so what the index does not know costs time but no answer. The first
//! pass finds the largest score; the second, with that as its aim, the gang with the smallest ids.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use matchmaker::{AdId, AdKey, Assembly, Config, Edge, EdgeOutcome, Found, Gang, Owners, Ports, Score, Snapshot, Turn};

use super::candidates::{Candidates, Known};
use crate::table::as_usize;
use sets::OpenSet;

mod sets;

/// One way to bind one of the root's ports.
#[derive(Clone, Copy, Debug)]
struct Choice {
    id: AdId,
    via: usize,
    /// What it adds to the score; none if that is not known before.
    score: Option<Score>,
    /// Whether the index knows that both sides accept each other.
    sure: bool,
    position: u32,
}

/// The choices for each of the root's ports.
#[derive(Debug)]
pub(crate) struct Choices {
    ports: Vec<Vec<Choice>>,
    /// An upper bound of what the ports from each one on can add; `None` if there is none.
    rest: Vec<Option<Score>>,
    /// The first complete gang of the largest score need not be the one with the smallest ids.
    twice: bool,
    /// The same choices in the order of their ads; made when they are needed.
    by_position: Option<Vec<Vec<Choice>>>,
}

impl Choices {
    /// The choices that the candidate sets leave; `has_sets` if some of the ports are counted.
    pub(crate) fn of(
        ports: &[usize],
        has_sets: bool,
        candidate_sets: &mut [Candidates],
        known: &mut Known<'_>,
    ) -> Choices {
        let (mut lists, mut varying, mut unknown) = (Vec::new(), 0, false);
        for port in ports {
            let Some(candidates) = candidate_sets.get_mut(*port) else { continue };
            let sorted: Vec<u32> = candidates.rows(known);
            let open: Vec<u32> = candidates.open.iter().collect();
            let mut list = Vec::new();
            for row in open.iter().chain(&sorted) {
                if !candidates.passes(*row, known) {
                    continue;
                }
                let sure = !candidates.open.get(as_usize(*row));
                let scored = sure || (has_sets && !candidates.leads_on(*row, known.table));
                let score = candidates.score(*row, known.table, known.ranks).filter(|_| scored);
                let Some(own) = known.table.rows.get(as_usize(*row)) else { continue };
                list.push(Choice {
                    id: AdId::at(own.place()),
                    via: own.child_port(),
                    score,
                    sure,
                    position: known.table.position(*row),
                });
            }
            unknown |= !open.is_empty();
            varying += usize::from(candidates.varies);
            lists.push(list);
        }
        let best = |_: usize, scores: Vec<Score>| scores.into_iter().max().unwrap_or_default();
        let rest = if has_sets { Vec::new() } else { rest(&lists, best) };
        // Of a single port, ids are compared as choices are met.
        let twice = lists.len() > 1 && (unknown || varying > 1) && !has_sets;
        Choices { ports: lists, rest, twice, by_position: None }
    }

    /// Puts the choices into the order of their ads, beside the other one.
    fn order_by_position(&mut self) {
        if self.by_position.is_some() {
            return;
        }
        let mut ports = self.ports.clone();
        for list in &mut ports {
            list.sort_unstable_by_key(|choice| choice.position);
        }
        self.by_position = Some(ports);
    }

    /// Takes out what has no room any more. In a cycle it will have none again.
    fn forget(&mut self, spent: &BTreeSet<(usize, AdId, usize)>) {
        if spent.is_empty() {
            return;
        }
        for ports in [Some(&mut self.ports), self.by_position.as_mut()].into_iter().flatten() {
            for (port, list) in ports.iter_mut().enumerate() {
                list.retain(|choice| !spent.contains(&(port, choice.id, choice.via)));
            }
        }
    }
}

/// See [`Choices::rest`]: `most` says how much the port with a number can add, given the scores of its choices.
fn rest(lists: &[Vec<Choice>], most: impl Fn(usize, Vec<Score>) -> Score) -> Vec<Option<Score>> {
    let mut rest = vec![Some(Score::default())];
    for (port, list) in lists.iter().enumerate().rev() {
        let scores: Option<Vec<Score>> = list.iter().map(|choice| choice.score).collect();
        let after = rest.last().copied().flatten();
        rest.push(scores.zip(after).map(|(scores, after)| most(port, scores).plus(&after)));
    }
    rest.reverse();
    rest
}

/// What a search may cost.
pub(crate) struct Budget<'o> {
    /// Its own submitter, in steps.
    pub(crate) steps_max: u64,
    /// The namespaces of offers.
    pub(crate) owners: &'o mut Owners,
}

/// What came of a search.
pub(crate) struct Searched {
    /// The best gang, and whether the search gave up.
    pub(crate) found: Found,
    /// What the search has cost.
    pub(crate) steps: u64,
    /// There is no gang: none was found, and no candidate was left out for what looking at it costs.
    pub(crate) nothing: bool,
}

/// The best gang of a root among these choices, found within a budget.
pub(crate) fn best(
    snapshot: &Snapshot,
    turn: &Turn<'_>,
    config: &Config,
    now: i64,
    choices: &mut Choices,
    Budget { steps_max, owners }: Budget<'_>,
) -> Searched {
    let root = turn.ad;
    let ports = snapshot.ad(root).map(|ad| &*ad.ports);
    let shape = ports.map_or(Shape::default(), |ports| Shape::of(ports, choices, snapshot));
    if shape.plain_sets {
        choices.order_by_position();
    }
    let given = Given { snapshot, exclusions: &turn.root.exclusions, config, shape, steps_max };
    let ordered = choices.by_position.as_deref().filter(|_| shape.plain_sets).unwrap_or(&choices.ports);
    // Roots of one class may differ in their counts.
    let own_rest = ports.filter(|_| shape.has_sets).map(|ports| sets::rest_of(&choices.ports, ports));
    let mut first = Pass::new(given, ordered, own_rest.as_deref().unwrap_or(&choices.rest));
    first.run(root, now, owners);
    let Pass { steps, gave_up, skipped, best, spent, .. } = first;
    choices.forget(&spent);
    let Some(best) = best else {
        return Searched { found: Found { gave_up, ..Found::default() }, steps, nothing: !gave_up && !skipped };
    };
    if gave_up || !choices.twice {
        return Searched { found: Found { gang: Some(best), gave_up, ..Found::default() }, steps, nothing: false };
    }
    choices.order_by_position();
    let ordered = choices.by_position.as_deref().unwrap_or_default();
    let mut second = Pass::new(given, ordered, &choices.rest);
    (second.aim, second.steps) = (Some(best.score), steps);
    second.run(root, now, owners);
    // The aim was reached once; running out of steps on the way leaves the gang of the first pass.
    let gang = second.best.take().unwrap_or(best);
    let found = Found { gang: Some(gang), gave_up: second.gave_up, ..Found::default() };
    Searched { found, steps: second.steps, nothing: false }
}

/// How many choices are passed over in about the time of a step.
const PASSED_OF_A_STEP: u64 = 256;

#[derive(Clone, Copy)]
enum Task {
    Fill { member: usize, port: usize },
    Check { member: usize },
    Extend(OpenSet),
}

/// How gangs of a root are found.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// Scores are sums over members: the root has no `GangRank`, and none of its ports a `GroupRank`.
    bounded: bool,
    /// Some of its ports are counted.
    has_sets: bool,
    /// Their sets are tried one after the other, as the plain search does.
    plain_sets: bool,
}

impl Shape {
    fn of(ports: &Ports, choices: &Choices, snapshot: &Snapshot) -> Shape {
        let has_sets = ports.has_sets();
        let ranked = |port: &matchmaker::Port| port.set.as_ref().is_some_and(|set| set.rank.is_some());
        let bounded = ports.body.get("GangRank").is_none() && !ports.list.iter().any(ranked);
        // A candidate with ports of its own fits or not, depending on the others.
        let leads_on = |choice: &Choice| snapshot.ad(choice.id).is_none_or(|ad| ad.ports.list.len() > 1);
        let mut counted = ports.list.iter().zip(&choices.ports).filter(|(port, _)| port.set.is_some());
        let plain_sets = has_sets && (!bounded || counted.any(|(_, list)| list.iter().any(leads_on)));
        Shape { bounded, has_sets, plain_sets }
    }
}

/// What both passes of a search are about.
#[derive(Clone, Copy)]
struct Given<'a> {
    snapshot: &'a Snapshot,
    exclusions: &'a BTreeSet<AdKey>,
    config: &'a Config,
    shape: Shape,
    steps_max: u64,
}

/// One search through all choices.
struct Pass<'a> {
    given: Given<'a>,
    ports: &'a [Vec<Choice>],
    /// See [`Choices::rest`].
    rest: &'a [Option<Score>],
    best: Option<Gang>,
    /// The score to be reached; then the first gang that has it is the one.
    aim: Option<Score>,
    steps: u64,
    /// Choices that were passed over without a look.
    passed: u64,
    gave_up: bool,
    /// Candidates were refused without a look: the root's own constraints take too much.
    skipped: bool,
    /// Choices that all would have agreed to, had they room: by port, ad and the ad's own port.
    spent: BTreeSet<(usize, AdId, usize)>,
}

impl<'a> Pass<'a> {
    fn new(given: Given<'a>, ports: &'a [Vec<Choice>], rest: &'a [Option<Score>]) -> Pass<'a> {
        let (best, aim, steps, passed, gave_up, skipped) = (None, None, 0, 0, false, false);
        Pass { given, ports, rest, best, aim, steps, passed, gave_up, skipped, spent: BTreeSet::new() }
    }

    fn run(&mut self, root: AdId, now: i64, owners: &mut Owners) {
        let Some(mut assembly) = Assembly::start(self.given.snapshot, root, self.given.config, now) else { return };
        assembly.charge_owners(owners.clone());
        let ports = assembly.seats().first().map_or(0, |seat| seat.ad.ports.list.len());
        let mut agenda = (0..ports).rev().map(|port| Task::Fill { member: 0, port }).collect();
        let _ = self.advance(&mut assembly, &mut agenda, Some(Score::default()));
        // What evaluations cost beyond the usual counts as well.
        self.steps = self.steps.saturating_add(assembly.cost()).saturating_add(self.passed / PASSED_OF_A_STEP);
        self.skipped = assembly.is_too_costly();
        self.gave_up |= assembly.is_cut();
        assembly.into_owners().into_iter().for_each(|paid| *owners = paid);
    }

    /// Does the next task in every way it can be done. `so_far` is the score of the root's ports bound until now, as far as
    /// it is known.
    fn advance(
        &mut self,
        assembly: &mut Assembly<'a>,
        agenda: &mut Vec<Task>,
        so_far: Option<Score>,
    ) -> ControlFlow<()> {
        let Some(task) = agenda.pop() else { return self.complete(assembly) };
        let flow = match task {
            Task::Fill { member, port } if assembly.is_counted(member, port) => {
                self.fill_set(assembly, (member, port), agenda, so_far)
            }
            Task::Extend(set) => self.extend(assembly, set, agenda),
            Task::Fill { member: 0, port } => self.fill_root(assembly, port, agenda, so_far),
            Task::Fill { member, port } => self.fill(assembly, member, port, agenda, so_far),
            Task::Check { member } => self.check(assembly, member, agenda, so_far),
        };
        agenda.push(task);
        flow
    }

    fn complete(&mut self, assembly: &mut Assembly<'a>) -> ControlFlow<()> {
        let gang = assembly.gang();
        match self.aim {
            Some(aim) if gang.score == aim => {
                self.best = Some(gang);
                return ControlFlow::Break(());
            }
            Some(_) => {}
            None if self.best.as_ref().is_none_or(|best| gang.beats(best)) => self.best = Some(gang),
            None => {}
        }
        ControlFlow::Continue(())
    }

    fn fill_root(
        &mut self,
        assembly: &mut Assembly<'a>,
        port: usize,
        agenda: &mut Vec<Task>,
        so_far: Option<Score>,
    ) -> ControlFlow<()> {
        let list = self.ports.get(port).map(Vec::as_slice).unwrap_or_default();
        let after = self.rest.get(port + 1).copied().flatten();
        for choice in list {
            let sum = so_far.zip(choice.score).map(|(sum, score)| sum.plus(&score));
            if let Some(bound) =
                sum.zip(after).map(|(sum, after)| sum.plus(&after)).filter(|_| self.given.shape.bounded)
            {
                let hopeless = match (self.aim, &self.best) {
                    (Some(aim), _) => bound < aim,
                    (None, Some(_)) if self.given.shape.has_sets => {
                        self.is_beaten(assembly, bound, port, &[(choice.id, choice.via)])
                    }
                    (None, Some(best)) => bound < best.score || (bound == best.score && self.is_behind(best, choice)),
                    (None, None) => false,
                };
                if hopeless {
                    self.passed += 1;
                    continue;
                }
            }
            let Some(ad) = self.given.snapshot.ad(choice.id) else { continue };
            if assembly.admits(choice.id, ad, 0) {
                self.try_one(assembly, (choice.id, Edge::new(0, port, choice.via)), None, agenda, sum)?;
            } else {
                self.passed += 1;
            }
        }
        ControlFlow::Continue(())
    }

    fn fill(
        &mut self,
        assembly: &mut Assembly<'a>,
        member: usize,
        port: usize,
        agenda: &mut Vec<Task>,
        so_far: Option<Score>,
    ) -> ControlFlow<()> {
        let snapshot = self.given.snapshot;
        for (id, ad) in snapshot.ads() {
            if assembly.admits(id, ad, member) {
                for via in ad.ports.entries() {
                    self.try_one(assembly, (id, Edge::new(member, port, via)), None, agenda, so_far)?;
                }
            } else {
                self.passed += 1;
            }
        }
        ControlFlow::Continue(())
    }

    /// Takes some steps, if there are any left.
    fn step(&mut self, assembly: &mut Assembly<'a>, steps: u64) -> ControlFlow<()> {
        let spent = self.steps.saturating_add(assembly.cost()).saturating_add(self.passed / PASSED_OF_A_STEP);
        if spent >= self.given.steps_max || self.given.config.stop.is_set() {
            self.gave_up = true;
            return ControlFlow::Break(());
        }
        assembly.allow(self.given.steps_max - spent);
        self.steps = self.steps.saturating_add(steps);
        ControlFlow::Continue(())
    }

    /// Binds an ad; `then` comes when all of its edges hold.
    fn try_one(
        &mut self,
        assembly: &mut Assembly<'a>,
        (id, edge): (AdId, Edge),
        then: Option<Task>,
        agenda: &mut Vec<Task>,
        so_far: Option<Score>,
    ) -> ControlFlow<()> {
        self.step(assembly, 1)?;
        let Some(ad) = self.given.snapshot.ad(id) else { return ControlFlow::Continue(()) };
        let (before, child, via) = (agenda.len(), assembly.seats().len(), edge.child_port());
        assembly.seat(id, ad, Some(edge));
        let fill = |port| Task::Fill { member: child, port };
        agenda.extend(then);
        agenda.extend((via + 1..ad.ports.list.len()).rev().map(fill));
        agenda.push(Task::Check { member: child });
        agenda.extend((0..via).rev().map(fill));
        let hopeless = via > 0 && assembly.refuses_early(child);
        let flow = if hopeless { ControlFlow::Continue(()) } else { self.advance(assembly, agenda, so_far) };
        agenda.truncate(before);
        assembly.unseat();
        flow
    }

    fn check(
        &mut self,
        assembly: &mut Assembly<'a>,
        member: usize,
        agenda: &mut Vec<Task>,
        so_far: Option<Score>,
    ) -> ControlFlow<()> {
        assembly.connect(member);
        let outcome = assembly.check(member);
        let holds = outcome == EdgeOutcome::Holds;
        if outcome == EdgeOutcome::Busy {
            self.note_spent(assembly, member);
        }
        let excluded = assembly.seats().get(member).is_some_and(|seat| self.given.exclusions.contains(&seat.ad.key));
        let flow = if holds && !excluded { self.advance(assembly, agenda, so_far) } else { ControlFlow::Continue(()) };
        assembly.disconnect(member);
        flow
    }

    /// Whether a gang of equal score through this choice cannot be the one with the smallest ids, or another pass will tell.
    fn is_behind(&self, best: &Gang, choice: &Choice) -> bool {
        let first = best.members.get(1).and_then(|member| Some((member.ad, member.edge?.child_port())));
        self.ports.len() > 1 || first.is_none_or(|first| (choice.id, choice.via) > first)
    }

    /// What is asked of a choice whose score is known is the same for all roots that have these choices.
    fn note_spent(&mut self, assembly: &Assembly<'a>, member: usize) {
        let Some(seat) = assembly.seats().get(member) else { return };
        let Some(edge) = seat.edge.filter(|edge| edge.parent() == 0) else { return };
        let list = self.ports.get(edge.port()).map(Vec::as_slice).unwrap_or_default();
        let own = |choice: &&Choice| choice.id == seat.id && choice.via == edge.child_port();
        if list.iter().find(own).is_some_and(|choice| choice.sure && choice.score.is_some()) {
            self.spent.insert((edge.port(), seat.id, edge.child_port()));
        }
    }
}

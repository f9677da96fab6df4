//! Sets for counted ports: the best ones first, as far as their scores are sums over their members.
//!
//! The rows of a port are sorted by score, then by id. A set is chosen row by row from the front. Before each choice, the rest is filled
//! up greedily, which gives the best score that any set with this beginning can have, and, of the sets with that score, the one with
//! the smallest ids: what cannot beat the best gang so far is not followed. Without further conditions the first set is the best one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use matchmaker::{
    AdId, Assembly, Edge, EdgeOutcome, MemberAttribute, Place, Ports, SET_MAX, Score, SetSizes, SetTerms, as_u64, place,
};

use super::{Choice, Pass, Task, rest};

/// A set that is extended ad by ad, in the order of ids.
#[derive(Clone, Copy)]
pub(super) struct OpenSet {
    member: usize,
    port: usize,
    sizes: SetSizes,
    size: usize,
    /// The last member.
    last: Option<AdId>,
}

/// A candidate for a set.
#[derive(Clone, Debug)]
struct SetRow {
    id: AdId,
    via: usize,
    score: Score,
    /// What it has for each name in `Distinct`.
    distinct: Vec<String>,
}

/// The rows of a port that may be in one set together, the best ones first.
struct SetRows<'r> {
    rows: &'r [SetRow],
    sizes: SetSizes,
    port: usize,
    /// The score of the ports bound before, if it is known.
    before: Option<Score>,
    /// The most that the ports after it can add, if that is known.
    after: Option<Score>,
}

/// What came of a set.
enum Tried {
    /// It was tried.
    Done,
    /// This ad does not fit.
    Unfit(AdId),
}

/// How much the ports of a root from each one on can add at most, if that is known; see [`Choices::rest`](super::Choices).
pub(super) fn rest_of(lists: &[Vec<Choice>], ports: &Ports) -> Vec<Option<Score>> {
    let terms = |port: usize| ports.list.get(port).and_then(|port| port.set.as_deref());
    rest(lists, |port, scores| match terms(port) {
        Some(set) => most(scores, set),
        None => scores.into_iter().max().unwrap_or_default(),
    })
}

/// The most that a set of these members can add.
fn most(scores: Vec<Score>, set: &SetTerms) -> Score {
    let mut scores: Vec<Score> = scores.into_iter().map(|score| Score { members: 1, ..score }).collect();
    scores.sort_unstable_by(|one, other| other.cmp(one));
    let (least, most) = (set.least_written().unwrap_or(1), set.most_written().unwrap_or(SET_MAX));
    let worthwhile = |(place, score): &(usize, Score)| *place < least || *score > Score::default();
    let taken = scores.into_iter().take(most).enumerate().take_while(worthwhile);
    taken.fold(Score::default(), |sum, (_, score)| sum.plus(&score))
}

impl<'a> Pass<'a> {
    /// Fills a counted port in every way that can lead to a better gang.
    pub(super) fn fill_set(
        &mut self,
        assembly: &mut Assembly<'a>,
        (member, port): (usize, usize),
        agenda: &mut Vec<Task>,
        so_far: Option<Score>,
    ) -> ControlFlow<()> {
        let Some(mut sizes) = assembly.sizes(member, port) else { return ControlFlow::Continue(()) };
        if member > 0 || self.given.shape.plain_sets {
            return self.extend(assembly, OpenSet { member, port, sizes, size: 0, last: None }, agenda);
        }
        sizes.most = sizes.most.min(self.given.config.members_max.saturating_sub(assembly.seats().len()));
        if sizes.most < sizes.least || !self.may_complete(assembly, port)? {
            return ControlFlow::Continue(());
        }
        let after = self.rest.get(port + 1).copied().flatten();
        let mut groups = self.rows(assembly, port)?;
        // An ad that turns out not to fit is left out, and what is left is looked at again.
        while let Some(rows) = groups.pop() {
            let pool = SetRows { rows: &rows, sizes, port, before: so_far, after };
            self.passed += as_u64(rows.len());
            let mut chosen = Vec::new();
            if let Tried::Unfit(id) = self.choose(assembly, &pool, &mut chosen, 0, agenda)? {
                groups.push(rows.into_iter().filter(|row| row.id != id).collect());
            }
        }
        ControlFlow::Continue(())
    }

    /// Completes a set as it is, and with every ad that comes after its members as one more: sets of which nothing is known before.
    pub(super) fn extend(
        &mut self,
        assembly: &mut Assembly<'a>,
        set: OpenSet,
        agenda: &mut Vec<Task>,
    ) -> ControlFlow<()> {
        let OpenSet { member, port, sizes, size, last } = set;
        if size >= sizes.least {
            assembly.bind_set(member, port);
            let holds = assembly.check_set();
            let flow = if holds { self.advance(assembly, agenda, None) } else { ControlFlow::Continue(()) };
            assembly.unbind_set();
            flow?;
        }
        if size == sizes.most {
            return ControlFlow::Continue(());
        }
        let snapshot = self.given.snapshot;
        let listed = self.ports.get(port).filter(|_| member == 0);
        let of_root = listed.into_iter().flatten().map(|choice| (choice.id, Some(choice.via)));
        let of_others = snapshot.ads().filter(|_| member > 0).map(|(id, _)| (id, None));
        for (id, via) in of_root.chain(of_others) {
            let Some(ad) = snapshot.ad(id).filter(|_| last.is_none_or(|last| id > last)) else { continue };
            if !assembly.admits(id, ad, member) {
                self.passed += 1;
                continue;
            }
            let then = Task::Extend(OpenSet { size: size + 1, last: Some(id), ..set });
            for via in ad.ports.entries().filter(|own| via.is_none_or(|via| via == *own)) {
                self.try_one(assembly, (id, Edge::new(member, port, via)), Some(then), agenda, None)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether every later port of the root may find a partner, as far as that does not depend on the set: there are too many sets to
    /// find that out for each of them.
    fn may_complete(&mut self, assembly: &mut Assembly<'a>, port: usize) -> ControlFlow<(), bool> {
        let ports = self.ports;
        for (number, list) in ports.iter().enumerate().skip(port + 1) {
            let mut fits = false;
            for choice in list {
                self.step(assembly, 1)?;
                fits = self.look(assembly, Edge::new(0, number, choice.via), choice.id, |assembly, member| {
                    assembly.check_alone(member).0 == EdgeOutcome::Holds
                });
                if fits {
                    break;
                }
            }
            if !fits {
                return ControlFlow::Continue(false);
            }
        }
        ControlFlow::Continue(true)
    }

    /// Whether an ad may be bound to a port of the root at all.
    fn may_bind(&self, assembly: &Assembly<'a>, id: AdId) -> bool {
        let ad = self.given.snapshot.ad(id);
        ad.is_some_and(|ad| assembly.admits(id, ad, 0) && !self.given.exclusions.contains(&ad.key))
    }

    /// Whether something is true of an ad while it is bound; never of an ad that must not be bound.
    fn look(
        &self,
        assembly: &mut Assembly<'a>,
        edge: Edge,
        id: AdId,
        is_true: impl FnOnce(&mut Assembly<'a>, usize) -> bool,
    ) -> bool {
        let Some(ad) = self.given.snapshot.ad(id).filter(|_| self.may_bind(assembly, id)) else { return false };
        let member = assembly.seats().len();
        assembly.seat(id, ad, Some(edge));
        assembly.connect(member);
        let found = is_true(assembly, member);
        assembly.disconnect(member);
        assembly.unseat();
        found
    }

    /// The rows of a port by what they have for `Same`, those with the best row last; in each group the best ones first.
    fn rows(&mut self, assembly: &mut Assembly<'a>, port: usize) -> ControlFlow<(), Vec<Vec<SetRow>>> {
        let ports = self.ports;
        let terms = assembly.seats().first().and_then(|root| root.ad.ports.list.get(port)?.set.clone());
        let (Some(set), Some(list)) = (terms, ports.get(port)) else { return ControlFlow::Continue(Vec::new()) };
        let mut groups: BTreeMap<Vec<String>, Vec<SetRow>> = BTreeMap::new();
        let has_identities = !set.same.is_empty() || !set.distinct.is_empty();
        for choice in list {
            self.step(assembly, u64::from(has_identities || !choice.sure))?;
            self.passed += 1;
            let score = choice.score.map(|score| Score { members: 1, ..score });
            if let Some(score) = score.filter(|_| choice.sure && !has_identities) {
                if self.may_bind(assembly, choice.id) {
                    let row = SetRow { id: choice.id, via: choice.via, score, distinct: Vec::new() };
                    groups.entry(Vec::new()).or_default().push(row);
                }
                continue;
            }
            let mut row = None;
            self.look(assembly, Edge::new(0, port, choice.via), choice.id, |assembly, member| {
                if !(choice.sure && score.is_some()) && assembly.check(member) != EdgeOutcome::Holds {
                    return false;
                }
                let score = score.unwrap_or_else(|| assembly.score_of(member));
                let identities = |attributes: &[MemberAttribute]| -> Option<Vec<String>> {
                    attributes.iter().map(|attribute| assembly.identity_in(member, attribute)).collect()
                };
                if let Some((same, distinct)) = identities(&set.same).zip(identities(&set.distinct)) {
                    row = Some((same, SetRow { id: choice.id, via: choice.via, score, distinct }));
                }
                true
            });
            if let Some((same, row)) = row {
                groups.entry(same).or_default().push(row);
            }
        }
        let mut groups: Vec<Vec<SetRow>> = groups.into_values().collect();
        for rows in &mut groups {
            rows.sort_unstable_by(|one, other| other.score.cmp(&one.score).then(one.id.cmp(&other.id)));
        }
        groups.sort_by_key(|rows| rows.first().map(|row| row.score));
        ControlFlow::Continue(groups)
    }

    /// Tries every set with this beginning, and with others of the rows from a place on, that can lead to a better gang.
    fn choose(
        &mut self,
        assembly: &mut Assembly<'a>,
        pool: &SetRows<'_>,
        chosen: &mut Vec<usize>,
        from: usize,
        agenda: &mut Vec<Task>,
    ) -> ControlFlow<(), Tried> {
        if chosen.len() < pool.sizes.most {
            for place in from..pool.rows.len() {
                // Filling up a set looks at about so many rows.
                self.passed += as_u64(if pool.is_uniform() { pool.sizes.most } else { pool.rows.len() });
                self.step(assembly, 0)?;
                chosen.push(place);
                let best = pool.is_apart(chosen).then(|| pool.filled(chosen, place + 1)).flatten();
                let hopeless = best.as_ref().is_none_or(|best| {
                    pool.bound(&best.0).is_some_and(|bound| self.is_beaten(assembly, bound, pool.port, &best.1))
                });
                if hopeless {
                    chosen.pop();
                    // Where members need not differ, what comes later is worse.
                    if pool.is_uniform() {
                        break;
                    }
                    continue;
                }
                let tried = self.choose(assembly, pool, chosen, place + 1, agenda)?;
                chosen.pop();
                if let Tried::Unfit(_) = tried {
                    return ControlFlow::Continue(tried);
                }
            }
        }
        if chosen.len() < pool.sizes.least {
            return ControlFlow::Continue(Tried::Done);
        }
        self.try_set(assembly, pool, chosen, agenda)
    }

    /// Binds a set, and goes on with what is left to do.
    fn try_set(
        &mut self,
        assembly: &mut Assembly<'a>,
        pool: &SetRows<'_>,
        chosen: &[usize],
        agenda: &mut Vec<Task>,
    ) -> ControlFlow<(), Tried> {
        let mut members: Vec<&SetRow> = chosen.iter().filter_map(|place| pool.rows.get(*place)).collect();
        members.sort_unstable_by_key(|row| row.id);
        let ids: Vec<(AdId, usize)> = members.iter().map(|row| (row.id, row.via)).collect();
        let score = members.iter().fold(Score::default(), |sum, row| sum.plus(&row.score));
        if pool.bound(&score).is_some_and(|bound| self.is_beaten(assembly, bound, pool.port, &ids)) {
            return ControlFlow::Continue(Tried::Done);
        }
        let first = assembly.seats().len();
        let mut unfit = None;
        for row in members {
            self.step(assembly, 1)?;
            let Some(ad) = self.given.snapshot.ad(row.id) else { continue };
            let member = assembly.seats().len();
            assembly.seat(row.id, ad, Some(Edge::new(0, pool.port, row.via)));
            assembly.connect(member);
            let outcome = assembly.check(member);
            if outcome == EdgeOutcome::Busy {
                self.note_spent(assembly, member);
            }
            if outcome != EdgeOutcome::Holds {
                unfit = Some(row.id);
                break;
            }
        }
        let mut flow = ControlFlow::Continue(());
        if unfit.is_none() {
            assembly.bind_set(0, pool.port);
            if assembly.check_set() {
                let so_far = pool.before.map(|before| before.plus(&score));
                flow = self.advance(assembly, agenda, so_far);
            }
            assembly.unbind_set();
        }
        while assembly.seats().len() > first {
            assembly.disconnect(assembly.seats().len() - 1);
            assembly.unseat();
        }
        flow?;
        ControlFlow::Continue(unfit.map_or(Tried::Done, Tried::Unfit))
    }

    /// Whether no gang of at most this score can be preferred to the best one so far, if its next members after those bound are these,
    /// at a port of the root, or come after them.
    pub(super) fn is_beaten(&self, assembly: &Assembly<'a>, bound: Score, port: usize, next: &[(AdId, usize)]) -> bool {
        let Some(best) = &self.best else { return false };
        if bound != best.score {
            return bound < best.score;
        }
        let seated = assembly.seats().iter().map(|seat| place(seat.id, seat.edge));
        let places: Vec<Place> =
            seated.chain(next.iter().map(|(id, via)| place(*id, Some(Edge::new(0, port, *via))))).collect();
        best.places().take(places.len()).lt(places.iter().copied())
    }
}

impl SetRows<'_> {
    /// Whether any rows may be in one set together.
    fn is_uniform(&self) -> bool {
        self.rows.first().is_none_or(|row| row.distinct.is_empty())
    }

    /// Whether the last of some rows differs from the others where it should.
    fn is_apart(&self, chosen: &[usize]) -> bool {
        let mut rows = chosen.iter().rev().filter_map(|place| self.rows.get(*place));
        let Some(last) = rows.next() else { return true };
        rows.all(|row| row.distinct.iter().zip(&last.distinct).all(|(one, other)| one != other))
    }

    /// The best set that begins with some rows and goes on with others from a place on: its score, and its members in order. At most
    /// the first name in `Distinct` is looked at. None if there are not enough.
    fn filled(&self, chosen: &[usize], from: usize) -> Option<(Score, Vec<(AdId, usize)>)> {
        let begun = || chosen.iter().filter_map(|place| self.rows.get(*place));
        let mut taken: BTreeSet<&String> = begun().filter_map(|row| row.distinct.first()).collect();
        let mut score = begun().fold(Score::default(), |sum, row| sum.plus(&row.score));
        let mut ids: Vec<(AdId, usize)> = begun().map(|row| (row.id, row.via)).collect();
        for row in self.rows.iter().skip(from) {
            let is_enough = ids.len() >= self.sizes.least && row.score <= Score::default();
            if ids.len() == self.sizes.most || is_enough {
                break;
            }
            if row.distinct.first().is_none_or(|own| taken.insert(own)) {
                score = score.plus(&row.score);
                ids.push((row.id, row.via));
            }
        }
        let is_enough = ids.len() >= self.sizes.least;
        ids.sort_unstable();
        is_enough.then_some((score, ids))
    }

    /// The most that a gang with a set of this score can have, if that is known.
    fn bound(&self, score: &Score) -> Option<Score> {
        Some(self.before?.plus(score).plus(&self.after?))
    }
}

//! The ports of a root, one after the other, with everything free: which rows are left at each, and which side excludes the
//! others.

use matchmaker::JoinWhy;

use super::joined::{Hubs, agreed, agreed_rows};
use super::parts::Answered;
use super::pool::Pool;
use super::view::{ClassTerms, Dropped, View};
use crate::search::candidates::Known;
use crate::table::{Bits, as_u32};
use crate::term::CompiledExpr;

/// A root's ports, and the rows that refuse it at each.
pub(crate) struct Explainer<'a> {
    /// By port.
    pub(crate) views: &'a [View],
    /// By port: the rows that refuse the root whatever is bound at other ports.
    pub(crate) refusing: &'a [Bits],
    pub(crate) pool: &'a Pool,
}

/// What is left out of the question: conjuncts, and the rows' own constraints.
pub(crate) struct Scenario<'a> {
    /// By port.
    pub(crate) dropped: &'a [Dropped],
    /// Ports that are left out altogether.
    pub(crate) skipped: u64,
    /// Rows that may not be bound at all.
    pub(crate) excluded: Option<&'a Bits>,
}

/// What became of a port's rows, as far as it was reached.
pub(crate) struct Step {
    /// One row for each ad that was tried.
    pub(crate) candidates: Bits,
    /// Those of which the root's constraint is true.
    pub(crate) wanted: Bits,
    /// Those that accept the root.
    pub(crate) willing: Bits,
    /// Those that have what is asked.
    pub(crate) fitting: Bits,
    /// For the root's parts that read other partners, by place: the rows of which they are not true.
    pub(crate) own_fails: Vec<(usize, Bits)>,
    /// The same for the parts of each of [`View::terms`].
    pub(crate) their_fails: Vec<(usize, usize, Bits)>,
    /// The join that left nothing.
    pub(crate) join: Option<JoinWhy>,
}

/// How far it went.
pub(crate) struct Walk {
    /// Port by port, as far as something was left.
    pub(crate) steps: Vec<Step>,
    /// There is a gang.
    pub(crate) complete: bool,
}

/// What was left at a port.
struct Left {
    port: usize,
    joined: bool,
    rows: Bits,
}

impl Explainer<'_> {
    /// Whether there is a gang; none if only the evaluator knows.
    pub(crate) fn exists(&self, scenario: &Scenario<'_>, known: &mut Known<'_>) -> Option<bool> {
        self.walk(scenario, false, known).map(|walk| walk.complete)
    }

    /// Looks at one port after the other, until one has nothing left. None if only the evaluator knows what is there, or
    /// if the same ad could be wanted at two ports of which neither has more to choose from.
    pub(crate) fn walk(&self, scenario: &Scenario<'_>, count: bool, known: &mut Known<'_>) -> Option<Walk> {
        let mut walk = Walk { steps: Vec::new(), complete: true };
        let mut left: Vec<Left> = Vec::new();
        let mut hubs: Option<Bits> = None;
        for (port, (view, refusing)) in self.views.iter().zip(self.refusing).enumerate() {
            if scenario.skipped >> (port & 63) & 1 == 1 {
                continue;
            }
            let dropped = scenario.dropped.get(port).copied().unwrap_or_default();
            let accepted = view.accepted(refusing, dropped)?;
            let joined = hubs.is_some() && self.is_joined(view, dropped);
            self.check_apart(&left, view, &accepted, joined.then_some(dropped))?;
            let mut step = Step {
                candidates: Bits::default(),
                wanted: Bits::default(),
                willing: Bits::default(),
                fitting: accepted,
                own_fails: Vec::new(),
                their_fails: Vec::new(),
                join: None,
            };
            if count {
                step.candidates = self.candidates(view, &left, hubs.as_ref(), scenario, known)?;
            }
            let mut kept = hubs.clone();
            match hubs.as_ref().filter(|_| joined) {
                Some(before) if !count => {
                    let mut rows = step.fitting.clone();
                    if let Some(excluded) = scenario.excluded {
                        rows.and_not(excluded);
                    }
                    let (hubs, rows) = self.pairs(port, dropped, &Hubs::of(before, &self.pool.met), &rows, known)?;
                    (kept, step.fitting) = (Some(hubs), rows);
                }
                Some(before) => {
                    let alone = step.fitting.count();
                    let all = Hubs::of(before, &self.pool.met);
                    let hubs = self.join(port, &all, scenario, &mut step, known)?;
                    self.blame(port, &all, &mut step, known)?;
                    let after = (hubs.count(), step.fitting.count());
                    step.join = Some(join_why(view, port, (before.count(), alone), after));
                    kept = Some(hubs);
                }
                None if count => {
                    step.wanted = view.wanted(dropped);
                    step.willing = step.wanted.clone();
                    step.willing.and_not(refusing);
                }
                None => {}
            }
            let mut rows = step.fitting.clone();
            if let Some(excluded) = scenario.excluded {
                rows.and_not(excluded);
            }
            let ended = !rows.any() || kept.as_ref().is_some_and(|hubs| !hubs.any());
            hubs = if port == 0 { Some(rows.clone()) } else { kept };
            left.push(Left { port, joined, rows });
            walk.steps.push(step);
            if ended {
                walk.complete = false;
                break;
            }
        }
        Some(walk)
    }

    fn is_joined(&self, view: &View, dropped: Dropped) -> bool {
        let own = view.own.iter().enumerate().any(|(place, part)| !dropped.drops(place) && part.join().is_some());
        let theirs = view.terms.iter().flat_map(|terms| &terms.parts).any(|part| part.join().is_some());
        own || (theirs && !dropped.owners)
    }

    /// An ad cannot be bound twice. That goes without saying where ports have nothing in common, or where one of two has
    /// more to choose from than there are ports.
    fn check_apart(&self, left: &[Left], view: &View, accepted: &Bits, joined: Option<Dropped>) -> Option<()> {
        let plenty = |rows: &Bits| rows.count() > self.views.len();
        let apart = left.iter().all(|earlier| {
            let free = earlier.port > 0 && !earlier.joined && plenty(&earlier.rows);
            match joined {
                Some(dropped) => free || !earlier.rows.meets(&view.wanted(dropped)),
                None => free || !earlier.rows.meets(accepted) || plenty(accepted),
            }
        });
        apart.then_some(())
    }

    /// One row for each ad that is tried at a port: those that are not already bound in all gangs up to there.
    fn candidates(
        &self,
        view: &View,
        left: &[Left],
        hubs: Option<&Bits>,
        scenario: &Scenario<'_>,
        known: &mut Known<'_>,
    ) -> Option<Bits> {
        let mut candidates = view.admitted.clone();
        candidates.and(&self.pool.rows.firsts);
        if candidates.meets(&self.pool.rows.late) {
            return None;
        }
        for earlier in left {
            let mut rows = earlier.rows.clone();
            match hubs {
                Some(hubs) if earlier.port == 0 => rows = hubs.clone(),
                Some(hubs) if earlier.joined => {
                    let dropped = scenario.dropped.get(earlier.port).copied().unwrap_or_default();
                    rows = self.pairs(earlier.port, dropped, &Hubs::of(hubs, &self.pool.met), &rows, known)?.1;
                }
                _ => {}
            }
            if rows.count() == 1 {
                candidates.and_not(&rows);
            }
        }
        Some(candidates)
    }

    /// Keeps of a step's rows those that agree with a hub, and gives the hubs that agree with one of them.
    fn join(
        &self,
        port: usize,
        hubs: &Hubs<'_>,
        scenario: &Scenario<'_>,
        step: &mut Step,
        known: &mut Known<'_>,
    ) -> Option<Bits> {
        let (view, refusing) = (self.views.get(port)?, self.refusing.get(port)?);
        let dropped = scenario.dropped.get(port).copied().unwrap_or_default();
        let own = view.joins(dropped);
        step.wanted = view.wanted(dropped);
        if !own.is_empty() {
            step.wanted = agreed_rows(&own, hubs, &step.wanted, port, known)?;
        }
        let mut rows = step.wanted.clone();
        if !dropped.owners {
            rows.and_not(refusing);
        }
        let (willing_hubs, willing) = self.pairs(port, dropped, hubs, &rows, known)?;
        (step.fitting, step.willing) = (willing.clone(), willing);
        if !dropped.request {
            step.fitting.and(&view.fits);
        }
        let mut rows = step.fitting.clone();
        if let Some(excluded) = scenario.excluded {
            rows.and_not(excluded);
        }
        // A row that joins with none makes no difference.
        if rows.count() == step.willing.count() {
            return Some(willing_hubs);
        }
        Some(self.pairs(port, dropped, hubs, &rows, known)?.0)
    }

    /// Which hubs and rows agree on all that both sides ask.
    fn pairs(
        &self,
        port: usize,
        dropped: Dropped,
        hubs: &Hubs<'_>,
        rows: &Bits,
        known: &mut Known<'_>,
    ) -> Option<(Bits, Bits)> {
        let view = self.views.get(port)?;
        let own = view.joins(dropped);
        let (mut good_hubs, mut good_rows) = (Bits::none(hubs.rows.len()), Bits::none(rows.len()));
        for terms in &view.terms {
            let mut of_terms = terms.rows.clone();
            of_terms.and(rows);
            if !of_terms.any() {
                continue;
            }
            let joins: Vec<CompiledExpr> = own.iter().cloned().chain(terms.joins(dropped)).collect();
            if joins.is_empty() {
                good_hubs.or(hubs.rows);
                good_rows.or(&of_terms);
                continue;
            }
            let agreed = agreed(&joins, hubs, &of_terms, port, known)?;
            good_hubs.or(&agreed.hubs);
            good_rows.or(&agreed.rows);
        }
        Some((good_hubs, good_rows))
    }

    /// Which part that reads other partners is not true of which rows.
    fn blame(&self, port: usize, hubs: &Hubs<'_>, step: &mut Step, known: &mut Known<'_>) -> Option<()> {
        let view = self.views.get(port)?;
        for (place, part) in view.own.iter().enumerate() {
            let Answered::Join(term) = part else { continue };
            let mut fails = step.candidates.clone();
            fails.and_not(&agreed_rows(std::slice::from_ref(term), hubs, &step.candidates, port, known)?);
            step.own_fails.push((place, fails));
        }
        for (number, terms) in view.terms.iter().enumerate() {
            for (place, part) in terms.parts.iter().enumerate() {
                let Answered::Join(term) = part else { continue };
                let mut fails = terms.rows.clone();
                fails.and(&step.wanted);
                fails.and_not(&agreed_rows(std::slice::from_ref(term), hubs, &fails, port, known)?);
                step.their_fails.push((number, place, fails));
            }
        }
        Some(())
    }

    /// The ports of a set that cannot be bound together, though they can without any one of them.
    pub(crate) fn core(&self, last: usize, known: &mut Known<'_>) -> Vec<usize> {
        let all: Vec<usize> = (0..=last).collect();
        let mut core = all.clone();
        for port in &all {
            let without: Vec<usize> = core.iter().copied().filter(|own| own != port).collect();
            let mut skipped = u64::MAX;
            for own in &without {
                skipped &= !(1u64 << (own & 63));
            }
            let scenario = Scenario { dropped: &[], skipped, excluded: None };
            match self.exists(&scenario, known) {
                Some(false) => core = without,
                Some(true) => {}
                None => return Vec::new(),
            }
        }
        core
    }
}

impl ClassTerms {
    fn joins(&self, dropped: Dropped) -> impl Iterator<Item = CompiledExpr> {
        self.parts.iter().filter(move |_| !dropped.owners).filter_map(|part| part.join().cloned())
    }
}

fn join_why(view: &View, port: usize, before: (usize, usize), after: (usize, usize)) -> JoinWhy {
    let both = |(one, other): (usize, usize)| (u64::from(as_u32(one)), u64::from(as_u32(other)));
    let conjuncts = view.own.iter().enumerate().filter(|(_, part)| part.join().is_some());
    let owners = view.terms.iter().flat_map(|terms| &terms.parts).any(|part| part.join().is_some());
    JoinWhy {
        port,
        with: 0,
        conjuncts: conjuncts.map(|(place, _)| place).collect(),
        owners,
        before: both(before),
        after: both(after),
    }
}

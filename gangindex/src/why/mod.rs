//! Explains roots without a gang: for all offers at once where that is possible, else by trying them.

mod counts;
mod equal_texts;
mod explainer;
mod join_memo;
mod joined;
mod never;
mod parts;
mod pool;
mod relax;
mod sorted;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use classad::conjuncts;
use foldhash::fast::RandomState;

use matchmaker::{
    Answer, Asked, Config, PortCount, Ports, Root, Round, Snapshot, Verdict, WhyNot, bar, structural, tried,
};

use crate::search::candidates::Known;
use crate::table::Bits;
use explainer::{Explainer, Scenario};
use pool::Pool;
use view::View;

/// The reasons found so far, after a cycle.
#[derive(Default)]
pub(crate) struct Whys {
    pool: Option<Pool>,
    by_key: HashMap<u32, Arc<WhyNot>, RandomState>,
}

/// How many rows are looked at for a reason in about the time of a step, at one port; how many ports more take as long, and how many conjuncts.
const EXPLAINED_ROWS_OF_A_STEP: usize = 512;
const PORTS_MORE: usize = 2;
const CONJUNCTS: usize = 16;

/// The steps that the looks at so many rows take for a root, beside those that its conditions take.
fn steps_of_rows(rows: usize, ports: &Ports) -> u64 {
    let conjuncts = ports.list.iter().filter_map(|port| port.constraint.as_ref()).map(|all| conjuncts(all).len());
    let more = rows * ports.list.len().saturating_sub(1) / PORTS_MORE + rows * conjuncts.sum::<usize>() / CONJUNCTS;
    1 + ((rows + more) / EXPLAINED_ROWS_OF_A_STEP) as u64
}

impl Whys {
    /// Why a root has no gang. Roots with equal keys show the same of themselves, but to candidates that are reflective.
    pub(crate) fn why(
        &mut self,
        asked: &Asked<'_>,
        key: Option<u32>,
        reflective: bool,
        round: &mut Round<'_>,
        known: &mut Known<'_>,
    ) -> Answer {
        let (config, now) = (round.config, round.now);
        // Roots with equal keys may differ in the counts of their ports.
        let has_sets = round.snapshot.ad(asked.root.ad).is_some_and(|ad| ad.ports.has_sets());
        let shared = key.filter(|_| asked.root.exclusions.is_empty() && !has_sets);
        if let Some(why) = shared.and_then(|key| self.by_key.get(&key)) {
            return Answer { why: Some(Arc::clone(why)), steps: 0 };
        }
        if asked.steps_max == 0 {
            return Answer::for_nothing(asked);
        }
        let mut answer = Answer::default();
        if !asked.gave_up {
            let rows = known.table.rows.len();
            known.table.words.meter.begin(asked.steps_max);
            let found = self.indexed(asked.root, round.pool(), config, known);
            let (steps, dry) = known.table.words.meter.end();
            let ports = round.snapshot.ad(asked.root.ad).map(|ad| &*ad.ports);
            let of_rows = ports.map_or(1, |ports| steps_of_rows(rows, ports));
            answer = Answer { why: found.filter(|_| !dry).map(Arc::new), steps: steps.saturating_add(of_rows) };
        }
        let alike = answer.why.is_some() || !reflective;
        if answer.why.is_none() {
            let steps_max = asked.steps_max.saturating_sub(answer.steps);
            if steps_max == 0 && !asked.last {
                return answer;
            }
            let tried = tried(&Asked { steps_max, ..*asked }, round.pool(), config, now, &never);
            answer = Answer { why: tried.why, steps: answer.steps.saturating_add(tried.steps) };
        }
        if let (Some(key), Some(why)) = (shared.filter(|_| alike), &answer.why) {
            self.by_key.insert(key, Arc::clone(why));
        }
        answer
    }

    /// The reason as the index knows it; none if it takes the evaluator to know it.
    fn indexed(&mut self, root: &Root, snapshot: &Snapshot, config: &Config, known: &mut Known<'_>) -> Option<WhyNot> {
        let ad = snapshot.ad(root.ad).filter(|ad| bar(&ad.ports, config).is_none())?;
        let ports = &*ad.ports;
        if ports.has_sets() || ports.list.len() >= usize::from(u8::MAX) / 4 {
            return None;
        }
        if self.pool.is_none() {
            self.pool = Some(Pool::of(snapshot, known));
        }
        let pool = self.pool.as_mut()?;
        let mut views = Vec::with_capacity(ports.list.len());
        for port in 0..ports.list.len() {
            views.push(View::of(ports, port, &ad.key.namespace, pool, known)?);
        }
        let excluded = excluded(root, snapshot, known);
        let refusing: Vec<Bits> = views.iter().map(View::refusing).collect();
        let explainer = Explainer { views: &views, refusing: &refusing, pool };
        let mut walk = explainer.walk(&Scenario { dropped: &[], skipped: 0, excluded: None }, true, known)?;
        let last = walk.steps.len().saturating_sub(1);
        let alone = walk.steps.last().is_none_or(|step| step.join.is_none());
        let (mut core, mut relaxations, mut backs_off) = (Vec::new(), Vec::new(), false);
        if walk.complete {
            let scenario = Scenario { dropped: &[], skipped: 0, excluded: Some(&excluded) };
            backs_off = excluded.any() && !explainer.exists(&scenario, known)?;
        } else {
            core = if alone { vec![last] } else { explainer.core(last, known) };
            relaxations = relax::relaxations(&explainer, known);
        }
        let joins = walk.steps.iter_mut().filter_map(|step| step.join.take()).collect();
        let mut counts = Vec::with_capacity(views.len());
        for (place, port) in ports.list.iter().enumerate() {
            counts.push(match views.get(place).zip(walk.steps.get_mut(place)) {
                Some(reached) => counts::counted(port, reached, &excluded, &ad.key.namespace, pool, known),
                None => PortCount::of(port),
            });
        }
        let verdict = match (walk.complete, backs_off) {
            (true, false) => Verdict::WaitingForCapacity,
            (true, true) => Verdict::BackingOff,
            (false, _) => never(ports, config).unwrap_or_else(|| structural(&counts)),
        };
        Some(WhyNot { verdict, ports: counts, joins, core, relaxations, exhausted: 0, indexed: true })
    }
}

/// Why no ad can ever satisfy a constraint of these ports, as far as their own ad tells; none if one may.
#[must_use]
pub fn never_satisfied(ports: &Ports, config: &Config) -> Option<WhyNot> {
    let verdict = never(ports, config)?;
    Some(WhyNot { ports: ports.list.iter().map(PortCount::of).collect(), ..WhyNot::of(verdict) })
}

/// What no ad can ever satisfy.
fn never(ports: &Ports, config: &Config) -> Option<Verdict> {
    never::never(ports, config.limits).map(|(port, core)| Verdict::Never { port, core })
}

/// The rows of offers that refused a root a short while ago.
fn excluded(root: &Root, snapshot: &Snapshot, known: &Known<'_>) -> Bits {
    let mut rows = Bits::none(known.table.rows.len());
    for key in &root.exclusions {
        let Some(id) = snapshot.find(key) else { continue };
        known.table.rows_of(id.place()).for_each(|row| rows.set(row, true));
    }
    rows
}

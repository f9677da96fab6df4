//! Roots without a gang into the reasons: computed for all offers at once where that is possible, else by trying them.

mod counts;
mod data;
mod joined;
mod met;
mod never;
mod parts;
mod pool;
mod relax;
mod view;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

pub(crate) use data::{CONJUNCTS_MAX, EXCERPT_MAX};
pub use data::{
    ConjunctCount, JoinWhy, Limit, Misfits, Nearest, OwnerCount, PortCount, Relaxation, Relaxed, Unmatched, Verdict,
    WhyNot,
};

use crate::explain::{explained, structural};
use crate::model::{Config, Root, Snapshot};
use crate::ports::{Ports, Rules};
use crate::search::domain::Known;
use crate::table::Bits;
use pool::Pool;
use view::View;
use walk::{Terrain, Walker};

/// The reasons found so far, after a cycle.
pub(crate) struct Whys<'s> {
    snapshot: &'s Snapshot,
    config: &'s Config,
    now: i64,
    pool: Option<Pool<'s>>,
    by_key: HashMap<u32, Arc<WhyNot>, RandomState>,
}

/// How many rows are looked at for a reason in about the time of a step.
const ROWS_OF_A_STEP: usize = 256;

/// A root that asks why.
pub(crate) struct Asked<'a> {
    pub(crate) root: &'a Root,
    /// Roots with equal keys show the same of themselves.
    pub(crate) key: Option<u32>,
    /// Some candidate may tell roots with equal keys apart.
    pub(crate) reflective: bool,
    /// The search for a gang was cut short.
    pub(crate) gave_up: bool,
    /// How many steps the answer may take.
    pub(crate) steps_max: u64,
    /// Later there will be no more steps: what is known then is the answer.
    pub(crate) last: bool,
}

impl<'s> Whys<'s> {
    /// No reasons yet. The snapshot is that after the cycle.
    pub(crate) fn of(snapshot: &'s Snapshot, config: &'s Config, now: i64) -> Whys<'s> {
        Whys { snapshot, config, now, pool: None, by_key: HashMap::default() }
    }

    /// Why a root has no gang; none if it takes more steps to say so. Adds what it took to `cost`.
    pub(crate) fn why(&mut self, asked: &Asked<'_>, known: Option<Known<'_>>, cost: &mut u64) -> Option<Unmatched> {
        let root = asked.root.ad;
        let shared = asked.key.filter(|_| asked.root.exclusions.is_empty() && self.config.rules == Rules::Product);
        if let Some(why) = shared.and_then(|key| self.by_key.get(&key)) {
            return Some(Unmatched { root, why: Arc::clone(why) });
        }
        if asked.steps_max == 0 {
            return asked.gave_up.then(|| Unmatched { root, why: Arc::new(WhyNot::gave_up()) });
        }
        let indexable = !asked.gave_up && self.config.rules == Rules::Product;
        let found = known.filter(|_| indexable).and_then(|mut known| {
            let rows = known.table.rows.len();
            known.table.words.meter.begin(asked.steps_max);
            let found = self.indexed(asked.root, &mut known);
            let (steps, dry) = known.table.words.meter.end();
            *cost += steps.saturating_add(1 + u64::try_from(rows / ROWS_OF_A_STEP).unwrap_or(u64::MAX));
            found.filter(|_| !dry)
        });
        let steps_max = asked.steps_max.saturating_sub(*cost);
        if found.is_none() && steps_max == 0 && !asked.last {
            return None;
        }
        let alike = found.is_some() || !asked.reflective;
        let why = match found {
            Some(why) => Arc::new(why),
            None => {
                let steps = Some(steps_max.max(1));
                let (unmatched, ended) =
                    explained(self.snapshot, asked.root, asked.gave_up, steps, self.config, self.now);
                *cost += ended.steps;
                if ended.gave_up && ended.steps >= steps_max && !asked.last && !asked.gave_up {
                    return None;
                }
                unmatched.why
            }
        };
        if let Some(key) = shared.filter(|_| alike) {
            self.by_key.insert(key, Arc::clone(&why));
        }
        Some(Unmatched { root, why })
    }

    /// The reason as the index knows it; none if it takes the evaluator to know it.
    fn indexed(&mut self, root: &Root, known: &mut Known<'_>) -> Option<WhyNot> {
        let snapshot = self.snapshot;
        let ad = snapshot.ad(root.ad).filter(|ad| bar(&ad.ports, self.config).is_none())?;
        let ports = &*ad.ports;
        if ports.list.len() >= usize::from(u8::MAX) / 4 {
            return None;
        }
        if self.pool.is_none() {
            self.pool = Some(Pool::of(snapshot, known));
        }
        let pool = self.pool.as_mut()?;
        let mut views = Vec::with_capacity(ports.list.len());
        for port in 0..ports.list.len() {
            views.push(View::of(ports, port, &ad.key.namespace, pool, self.config, known)?);
        }
        let excluded = excluded(root, snapshot, known);
        let refusing: Vec<Bits> = views.iter().map(View::refusing).collect();
        let walker = Walker { views: &views, refusing: &refusing, pool };
        let mut walk = walker.walk(&Terrain { dropped: &[], skipped: 0, excluded: None }, true, known)?;
        let last = walk.steps.len().saturating_sub(1);
        let alone = walk.steps.last().is_none_or(|step| step.join.is_none());
        let (mut core, mut relaxations, mut backs_off) = (Vec::new(), Vec::new(), false);
        if walk.complete {
            let terrain = Terrain { dropped: &[], skipped: 0, excluded: Some(&excluded) };
            backs_off = excluded.any() && !walker.exists(&terrain, known)?;
        } else {
            core = if alone { vec![last] } else { walker.core(last, known) };
            relaxations = relax::relaxations(&walker, known);
        }
        let joins = walk.steps.iter_mut().filter_map(|step| step.join.take()).collect();
        let mut counts = Vec::with_capacity(views.len());
        for (place, port) in ports.list.iter().enumerate() {
            counts.push(match views.get(place).zip(walk.steps.get(place)) {
                Some((view, step)) => counts::counted(port, view, step, &excluded, &ad.key.namespace, pool, known),
                None => counts::unreached(port),
            });
        }
        let verdict = match (walk.complete, backs_off) {
            (true, false) => Verdict::WaitingForCapacity,
            (true, true) => Verdict::BackingOff,
            (false, _) => structural(ports, &counts, self.config),
        };
        Some(WhyNot { verdict, ports: counts, joins, core, relaxations, exhausted: 0, indexed: true })
    }
}

/// What keeps a root from ever having a gang, whoever is there.
pub(crate) fn bar(ports: &Ports, config: &Config) -> Option<Verdict> {
    if let Some(problem) = &ports.problem {
        return Some(Verdict::Unusable(problem.clone()));
    }
    match ports.list.len() {
        0 => None,
        _ if config.depth_max == 0 => Some(Verdict::Limit(Limit::Depth)),
        count if count >= config.members_max => Some(Verdict::Limit(Limit::Members)),
        _ => None,
    }
}

/// What no ad can ever satisfy.
pub(crate) fn never(ports: &Ports, config: &Config) -> Option<Verdict> {
    never::never(ports, config.rules, config.limits).map(|(port, core)| Verdict::Never { port, core })
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

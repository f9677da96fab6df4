//! Names the offers that a root without a gang lacks: with one of them it would have a gang if everything were free.
//!
//! It searches again, for a few offers at a time and within few steps. Where these do not suffice, it names nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use matchmaker::plain::{Ended, Visitor, search};
use matchmaker::{AdId, Assembly, Config, EdgeOutcome, PoolAd, Port, Snapshot};

/// Offers at one port of a root. With each of them, the root would have a gang if everything were free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The number of the port.
    pub port: usize,
    /// In the order of their keys.
    pub offers: Vec<AdId>,
    /// There may be others.
    pub has_more: bool,
}

/// How many offers are named at a port.
const NAMED_MAX: usize = 3;

/// The offers among `unavailable` with which a root would have a gang if they were available. `opened` is the pool as it would be then.
/// Offers of a later set are named only where none of an earlier one would do. `steps` is what the search may cost; what it has cost is
/// taken off.
pub fn withheld(
    opened: &Snapshot,
    root: AdId,
    unavailable: &[BTreeSet<AdId>],
    steps: &mut u64,
    (config, now): (&Config, i64),
) -> Vec<Lacking> {
    let Some(mut free) = FreeGangs::of(opened, root, config, now) else { return Vec::new() };
    let all = free.among.clone();
    let is_withheld = |id: &AdId| unavailable.iter().any(|set| set.contains(id));
    free.among.iter_mut().for_each(|ids| ids.retain(|id| !is_withheld(id)));
    let mut found = Vec::new();
    for (port, candidates) in all.iter().enumerate() {
        let available = free.among.get_mut(port).map(std::mem::take).unwrap_or_default();
        let named = unavailable.iter().find_map(|set| {
            let ids = candidates.iter().filter(|id| set.contains(id));
            free.named(port, ids, steps)
        });
        free.put(port, available);
        found.extend(named);
    }
    // Perhaps it takes several of them together.
    for sets in 1..=unavailable.len() {
        if !found.is_empty() {
            break;
        }
        let is_later = |id: &AdId| unavailable.iter().skip(sets).any(|set| set.contains(id));
        free.among = all.iter().map(|ids| ids.iter().copied().filter(|id| !is_later(id)).collect()).collect();
        let gang = free.first(steps).unwrap_or_default();
        let closed = gang.into_iter().filter(|(_, id)| is_withheld(id));
        found.extend(closed.map(|(port, id)| Lacking { port, offers: vec![id], has_more: false }));
    }
    found
}

/// By port of a root: the offers that are part of a gang if everything is free. None if they are too many to be tried within `steps`.
pub fn bound_together(
    pool: &Snapshot,
    root: AdId,
    steps: &mut u64,
    (config, now): (&Config, i64),
) -> Option<Vec<BTreeSet<AdId>>> {
    let free = FreeGangs::of(pool, root, config, now)?;
    let mut all = vec![BTreeSet::new(); free.among.len()];
    let ended = free.gangs(steps, &mut |gang| {
        for (port, id) in gang {
            all.get_mut(port).map(|ids| ids.insert(id));
        }
        ControlFlow::Continue(())
    });
    (!ended.gave_up).then_some(all)
}

/// Which gangs of a root are asked for: those with these candidates at its ports.
struct FreeGangs<'q> {
    pool: &'q Snapshot,
    root: AdId,
    config: &'q Config,
    now: i64,
    among: Vec<Vec<AdId>>,
}

impl<'q> FreeGangs<'q> {
    /// With all offers that are open to the root, as far as their kind is wanted; none if the root can have no gang, or if it has counted
    /// ports: trying sets takes too long.
    fn of(pool: &'q Snapshot, root: AdId, config: &'q Config, now: i64) -> Option<FreeGangs<'q>> {
        let ad = pool.ad(root).filter(|ad| ad.ports.problem.is_none() && !ad.ports.has_sets())?;
        let open = |found: &PoolAd| found.offer().is_some_and(|offer| offer.admits(&ad.key.namespace));
        let offers: Vec<(AdId, &PoolAd)> = pool.ads().filter(|(_, ad)| open(ad)).collect();
        let wanted = |port: &Port| {
            let kind = port.wanted_kind().map(|(_, kind)| kind);
            let is_wanted = |ad: &PoolAd| kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case(&ad.key.kind));
            offers.iter().filter(|(_, ad)| is_wanted(ad)).map(|(id, _)| *id).collect()
        };
        Some(FreeGangs { pool, root, config, now, among: ad.ports.list.iter().map(wanted).collect() })
    }

    /// The first of these offers with which the root has a gang if it has each of them alone at this port; none if there are none.
    fn named<'i>(&mut self, port: usize, offers: impl Iterator<Item = &'i AdId>, steps: &mut u64) -> Option<Lacking> {
        let mut lacking = Lacking { port, offers: Vec::new(), has_more: false };
        for id in offers {
            if lacking.offers.len() == NAMED_MAX {
                lacking.has_more = true;
                break;
            }
            self.put(port, vec![*id]);
            if self.first(steps).is_some() {
                lacking.offers.push(*id);
            }
        }
        Some(lacking).filter(|lacking| !lacking.offers.is_empty())
    }

    fn put(&mut self, port: usize, ids: Vec<AdId>) {
        if let Some(own) = self.among.get_mut(port) {
            *own = ids;
        }
    }

    /// The members of the first gang at the root's ports.
    fn first(&self, steps: &mut u64) -> Option<Vec<(usize, AdId)>> {
        let mut first = None;
        self.gangs(steps, &mut |gang| {
            first = Some(gang);
            ControlFlow::Break(())
        });
        first
    }

    /// Shows all gangs if everything is free, by the members at the root's ports.
    fn gangs(&self, steps: &mut u64, show: &mut dyn FnMut(Vec<(usize, AdId)>) -> ControlFlow<()>) -> Ended {
        if *steps == 0 {
            return Ended { gave_up: true, steps: 0 };
        }
        let show = RefCell::new(show);
        let mut gang = |assembly: &mut Assembly<'_>| {
            let members = assembly
                .seats()
                .iter()
                .filter_map(|seat| seat.edge.filter(|edge| edge.parent() == 0).map(|edge| (edge.port(), seat.id)));
            (show.borrow_mut())(members.collect())
        };
        let accepts = |_: &Assembly<'_>, _: usize, outcome: EdgeOutcome| outcome >= EdgeOutcome::Busy;
        let mut visitor = Visitor {
            outcome: &accepts,
            waits: &|_, _| {},
            gang: &mut gang,
            among: Some(&self.among),
            allowed: *steps,
        };
        let config = Config { steps_max: *steps, ..self.config.clone() };
        let ended = search(self.pool, self.root, &BTreeSet::new(), &config, self.now, &mut visitor);
        *steps = steps.saturating_sub(ended.steps);
        ended
    }
}

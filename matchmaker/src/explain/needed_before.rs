//! Finds the ads that fit a port to which nothing is left, but that are bound already at ports before it.

use std::collections::BTreeSet;

use super::Sights;
use crate::assembly::{Assembly, EdgeOutcome};
use crate::casts::as_u64;
use crate::gang::Edge;
use crate::model::{AdId, Config, Snapshot};
use crate::ports::Ports;
use crate::why_not::PortCount;

/// Counts them at the ports after the first that have candidates of which none fits, and that ask the same whatever is bound before them. An ad that was bound before such a port, and never
/// tried there, is in all gangs up to it: so there are no more of these than ports before it. Returns the steps that this took.
pub(super) fn note(
    counts: &mut [PortCount],
    seen: &Sights,
    (snapshot, root, ports): (&Snapshot, AdId, &Ports),
    config: &Config,
    now: i64,
) -> u64 {
    let Some(mut assembly) = Assembly::start(snapshot, root, config, now) else { return 0 };
    let mut steps = 0;
    for (port, count) in counts.iter_mut().enumerate().skip(1) {
        if !count.is_reached() || count.fits_when_free() > 0 || !ports.stands_alone(port) {
            continue;
        }
        let bound = seen.iter().filter(|((earlier, id), sight)| {
            *earlier < port && sight.outcome >= EdgeOutcome::Busy && !seen.contains_key(&(port, *id))
        });
        let bound: BTreeSet<AdId> = bound.map(|((_, id), _)| *id).collect();
        let fitting = bound.into_iter().filter(|id| fits(&mut assembly, snapshot, *id, port)).count();
        count.needed_before = as_u64(fitting);
        steps += 1;
    }
    steps + assembly.cost()
}

/// Whether an ad without partners of its own fits a port of the root, whatever is bound at others.
fn fits<'s>(assembly: &mut Assembly<'s>, snapshot: &'s Snapshot, id: AdId, port: usize) -> bool {
    let Some(ad) = snapshot.ad(id).filter(|ad| ad.ports.list.len() == 1 && assembly.admits(id, ad, 0)) else {
        return false;
    };
    let child = assembly.seats().len();
    assembly.seat(id, ad, Some(Edge::new(0, port, 0)));
    assembly.connect(child);
    let outcome = assembly.check(child);
    assembly.disconnect(child);
    assembly.unseat();
    outcome >= EdgeOutcome::Busy
}

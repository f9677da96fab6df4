//! A pool into one that differs a little.

use matchmaker::{PoolAd, Role, Snapshot, Usage};

/// The same pool with nothing taken.
pub(crate) fn emptied(snapshot: &Snapshot) -> Snapshot {
    rebuilt(snapshot, |ad| {
        if let Role::Offers(offer) = &mut ad.role {
            offer.usage = Usage::default();
        }
    })
}

/// The same pool with every ad changed by `change`; keys must stay.
pub(crate) fn rebuilt(snapshot: &Snapshot, change: impl Fn(&mut PoolAd)) -> Snapshot {
    let mut ads: Vec<PoolAd> = snapshot.ads().map(|(_, ad)| ad.clone()).collect();
    ads.iter_mut().for_each(change);
    let mut made = Snapshot::new(ads);
    made.roots = snapshot.roots.clone();
    made.held = snapshot.held.clone();
    made
}

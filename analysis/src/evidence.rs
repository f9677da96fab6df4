//! A few offers that suffice for the reason why a root has no gang: in a pool of these alone the reason is the same.

use std::collections::{BTreeMap, BTreeSet};

use matchmaker::{AdId, Config, Finder, Root, Snapshot, Verdict, negotiate};

use crate::inspect::{Inspected, Pair};

/// How many different pairs of a port stand for all others.
const OF_A_PORT_MAX: usize = 12;

/// One offer for each way in which offers fail at each port. None if the reason takes more offers than that.
///
/// `pool` is the pool as it is left for the root, and `verdict` the reason there.
pub fn evidence<F: Finder>(
    (pool, root): (&Snapshot, &Root),
    inspected: &[Inspected],
    verdict: &Verdict,
    (config, now): (&Config, i64),
    finder: &mut F,
) -> Option<Vec<AdId>> {
    let mut cited: BTreeSet<AdId> = inspected.iter().flat_map(examples).collect();
    if says((pool, root), &cited, (config, now), finder).as_ref() == Some(verdict) {
        return Some(cited.into_iter().collect());
    }
    // Which offers would be the gang, or agree with none at another port, pairs alone do not tell.
    let mut free = pool.emptied();
    free.roots = vec![root.clone()];
    let silent = Config { explains: false, ..config.clone() };
    let gangs = negotiate(&free, &silent, now, finder).gangs;
    cited.extend(gangs.iter().flat_map(|gang| gang.members.iter().skip(1)).map(|member| member.ad));
    let agree = |found: &Inspected| {
        let open = found.offers.iter().filter(|pair| pair.agrees() && pair.open);
        open.take(OF_A_PORT_MAX).map(|pair| pair.offer).collect::<Vec<_>>()
    };
    cited.extend(inspected.iter().flat_map(agree));
    let is_enough = says((pool, root), &cited, (config, now), finder).as_ref() == Some(verdict);
    is_enough.then(|| cited.into_iter().collect())
}

/// One offer for each different pair at a port.
fn examples(found: &Inspected) -> Vec<AdId> {
    let mut by_kind = BTreeMap::new();
    // An offer of another kind proves nothing that a reader would doubt.
    let kind = found.wanted_type().map(|(conjunct, _)| conjunct);
    let is_of_kind = |pair: &&Pair| kind.is_none_or(|kind| !pair.own.contains(&kind));
    for pair in found.offers.iter().filter(|pair| pair.admitted && pair.open).filter(is_of_kind) {
        let kind = (&pair.own, &pair.theirs, pair.misfit.is_some(), pair.busy, !pair.joint.is_empty(), pair.deep);
        by_kind.entry(kind).or_insert(pair.offer);
    }
    by_kind.into_values().take(OF_A_PORT_MAX).collect()
}

/// The reason in a pool of these offers alone.
fn says<F: Finder>(
    (pool, root): (&Snapshot, &Root),
    offers: &BTreeSet<AdId>,
    (config, now): (&Config, i64),
    finder: &mut F,
) -> Option<Verdict> {
    let ids = offers.iter().chain([&root.ad]);
    let mut some = Snapshot::of(ids.filter_map(|id| pool.shared(*id).cloned()).collect());
    let ad = some.find(&pool.ad(root.ad)?.key)?;
    some.roots = vec![Root { ad, ..root.clone() }];
    let cycle = negotiate(&some, config, now, finder);
    cycle.unmatched.first().map(|unmatched| unmatched.verdict.clone())
}

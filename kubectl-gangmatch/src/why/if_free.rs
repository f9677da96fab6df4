//! The gang that a waiting job would get if what it waits for were free, and whether a quota would let it have that gang.

use std::collections::BTreeSet;
use std::sync::Arc;

use analysis::{Inspected, Pair};
use matchmaker::{
    AdId, Config, Gang, PoolAd, QuotaExplanation, Role, Root, Snapshot, Unmatched, Usage, Verdict, WhyNot, negotiate,
    summary, why,
};

use super::answer::IfFree;
use super::case::Case;

/// The gang; none if the job would get none either.
pub(crate) fn if_free(case: &mut Case<'_>, root: &Root, inspected: &[Inspected]) -> Option<IfFree> {
    // Where something is free that would do, nothing else has to become free.
    let needed: BTreeSet<AdId> = inspected
        .iter()
        .filter(|found| !found.offers.iter().any(Pair::is_free))
        .flat_map(|found| found.offers.iter().filter(|pair| would_do(pair)).map(|pair| pair.offer))
        .collect();
    let least = freed(&case.left, &needed);
    let with_least = gang(case, least, root);
    let only_needed = with_least.is_some();
    let gang = with_least.or_else(|| {
        let free = case.left.emptied();
        gang(case, free, root)
    })?;
    let is_busy = |id| inspected.iter().flat_map(|found| &found.offers).any(|pair| pair.offer == id && would_do(pair));
    let taken = gang.members.iter().skip(1).filter(|member| is_busy(member.ad));
    Some(IfFree {
        members: summary(&case.snapshot, &gang),
        only_needed,
        quota: quota_against(case, root, &gang),
        taken: taken.map(|member| case.taken(member.ad)).collect(),
    })
}

/// Whether an offer is taken that would do otherwise.
fn would_do(pair: &Pair) -> bool {
    pair.busy && pair.agrees()
}

/// The pool when nothing of these offers is taken, without roots and accounts.
fn freed(pool: &Snapshot, offers: &BTreeSet<AdId>) -> Snapshot {
    let ads = pool.ads().filter_map(|(id, _)| {
        let ad = pool.shared(id)?;
        if !offers.contains(&id) {
            return Some(Arc::clone(ad));
        }
        let mut ad = PoolAd::clone(ad);
        if let Role::Offers(terms) = &mut ad.role {
            terms.usage = Usage::default();
        }
        Some(Arc::new(ad))
    });
    Snapshot::of(ads.collect())
}

fn gang(case: &mut Case<'_>, mut pool: Snapshot, root: &Root) -> Option<Gang> {
    pool.roots = vec![root.clone()];
    let config = Config { explains: false, ..case.config.clone() };
    negotiate(&pool, &config, case.now.as_second(), &mut case.finder).gangs.into_iter().next()
}

/// The quota that does not let a root have a gang, in words.
fn quota_against(case: &Case<'_>, root: &Root, gang: &Gang) -> Option<String> {
    let quotas = QuotaExplanation::of(&case.snapshot, &case.cycle.gangs, &case.config, case.now.as_second())?;
    let verdict = Verdict::QuotaExceeded(quotas.against(root, gang)?);
    Some(why(&Unmatched { root: root.ad, why: Arc::new(WhyNot::of(verdict)) }))
}

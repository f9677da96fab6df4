//! To look only at what has changed finds what a look at everything finds.

use std::collections::BTreeSet;

use jiff::Timestamp;
use pool::Objects;

use super::dirty::DirtyClaims;
use super::due::DueSteps;
use super::observation::Moment;
use crate::claims::View;
use crate::testing::churn::Churn;

/// 2026-11-21T14:00:00Z, when the matches of the world are committed.
const BEGIN: i64 = 1_795_269_600;

fn due(dirty: &mut DirtyClaims, objects: &Objects, now_ms: u64) -> DueSteps {
    let now = Timestamp::from_millisecond(BEGIN * 1000 + i64::try_from(now_ms).unwrap()).unwrap();
    let moment =
        Moment { now, now_ms, epoch: Some(2), deadline_ms: &|_| 3_000, under_way: &|_| false, ..Moment::bare() };
    dirty.due(objects, &moment)
}

fn uids(views: &[View]) -> BTreeSet<String> {
    views.iter().map(|view| view.uid.clone()).collect()
}

/// What is said once, and stays true, need not be said again.
fn said<T: Ord + Clone>(
    told: &mut BTreeSet<T>,
    now: impl IntoIterator<Item = T>,
    whole: impl IntoIterator<Item = T>,
) -> BTreeSet<T> {
    let whole: BTreeSet<T> = whole.into_iter().collect();
    told.extend(now);
    told.retain(|one| whole.contains(one));
    whole
}

#[test]
fn what_has_changed_is_enough() {
    let (mut asked, mut ended) = (0, 0);
    for seed in 0..20 {
        let (mut churn, mut dirty) = (Churn::new(seed), DirtyClaims::default());
        let (mut under_way, mut old, mut old_work) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for step in 0..120_u64 {
            churn.turn();
            let now_ms = step * 100;
            let changes = churn.objects.take_changes();
            dirty.note(&changes, &churn.objects);
            for view in under_way.drain(..) {
                let View { key, uid, .. } = view;
                dirty.landed(&key, &uid, &churn.objects);
            }
            let found = due(&mut dirty, &churn.objects, now_ms);
            let mut whole = DirtyClaims::default();
            whole.note(&churn.objects.everything(), &churn.objects);
            let all = due(&mut whole, &churn.objects, now_ms);
            let place = format!("seed {seed}, step {step}");
            assert_eq!(uids(&found.claims), uids(&all.claims), "{place}");
            assert_eq!(dirty.next_ms(), whole.next_ms(), "{place}");
            let everything = said(&mut old, found.outlived, all.outlived);
            assert_eq!(old, everything, "{place}");
            let name =
                |batches: Vec<std::sync::Arc<pool::WorkloadObject>>| batches.into_iter().map(|batch| batch.uid.clone());
            let everything = said(&mut old_work, name(found.outlived_work), name(all.outlived_work));
            assert_eq!(old_work, everything, "{place}");
            asked += found.claims.len();
            ended += old.len() + old_work.len();
            under_way = found.claims;
        }
    }
    assert!(asked > 400 && ended > 50, "much has happened: {asked} {ended}");
}

#[test]
fn a_claim_that_nothing_has_happened_to_is_not_looked_at() {
    let (mut churn, mut dirty) = (Churn::new(7), DirtyClaims::default());
    (0..200).for_each(|_| churn.turn());
    dirty.note(&churn.objects.everything(), &churn.objects);
    churn.objects.take_changes();
    due(&mut dirty, &churn.objects, 0);
    dirty.note(&churn.objects.take_changes(), &churn.objects);
    let quiet = due(&mut dirty, &churn.objects, 1);
    assert!(quiet.claims.is_empty() && quiet.outlived.is_empty(), "{quiet:?}");
}

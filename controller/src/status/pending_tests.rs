//! Whoever looks only at the statuses of what has changed writes what he would write if he looked at all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use matchmaker::Config;
use pool::{Freezer, Outlook, snapshot};

use crds::AdKind;

use super::{Finding, Findings, Pending, Update, updates};
use crate::churn::Churn;
use crate::lane::Room;

const BEGIN: i64 = 1_795_269_600;

fn keys(updates: &[Update]) -> BTreeSet<(AdKind, String)> {
    updates.iter().map(|update| (update.kind, update.key.to_string())).collect()
}

fn finding(churn: &mut Churn) -> Finding {
    let reason = ["NoCandidates", "WaitingForCapacity"][usize::try_from(churn.one_of(2)).unwrap()];
    Finding { reason, why: format!("{}", churn.one_of(3)), counts: crds::Unmatched::default() }
}

#[test]
fn what_has_changed_is_enough() {
    let (mut written, mut silent) = (0, 0);
    for seed in 0..16 {
        let (mut churn, mut pending) = (Churn::new(seed), Pending::default());
        let mut all: BTreeMap<String, Arc<Finding>> = BTreeMap::new();
        let mut refused = Vec::new();
        for step in 0..120_u64 {
            let now_ms = step * 100;
            let now = Timestamp::from_millisecond(BEGIN * 1000 + i64::try_from(now_ms).unwrap()).unwrap();
            churn.turn();
            let changes = churn.objects.take_changes();
            pending.note(&changes, &churn.objects);
            if churn.one_of(3) == 0 {
                let (uid, found) = (format!("u-j{}", churn.one_of(3)), finding(&mut churn));
                pending.found(&uid, &found, &churn.objects, (now, now_ms));
                all.insert(uid, Arc::new(found));
            }
            pending.again(std::mem::take(&mut refused));
            let findings = Findings { all: &all, searching: false };
            let under_way = BTreeSet::new();
            let some = pending.due(&churn.objects, &findings, &under_way, (now, now_ms), &mut Room::of(usize::MAX));
            let whole = updates(&churn.objects, &findings, &under_way, now);
            assert_eq!(keys(&some), keys(&whole), "seed {seed}, step {step}");
            silent += usize::from(some.is_empty());
            // The server takes none of them: each is due until it is.
            written += some.len();
            refused.extend(some.into_iter().map(|update| (update.kind, update.key)));
        }
    }
    assert!(written > 400, "much has happened: {written} {silent}");
}

#[test]
fn a_snapshot_is_the_same_whatever_was_frozen_before() {
    let mut kept = 0;
    for seed in 0..10 {
        let (mut churn, mut freezer) = (Churn::new(seed), Freezer::default());
        let mut before = snapshot(&churn.objects, &Outlook::default());
        let settings = Config::product();
        for step in 0..60 {
            churn.turn();
            let now = freezer.freeze(&churn.objects, &Outlook::default());
            let fresh = snapshot(&churn.objects, &Outlook::default());
            assert_eq!(format!("{now:?}"), format!("{fresh:?}"), "seed {seed}, step {step}");
            assert_eq!(
                format!("{:?}", matchmaker::negotiate(&now, &settings, BEGIN)),
                format!("{:?}", matchmaker::negotiate(&fresh, &settings, BEGIN))
            );
            for (place, ad) in now.ads() {
                let known = before.find(&ad.key).and_then(|place| before.shared(place));
                kept += usize::from(known.zip(now.shared(place)).is_some_and(|(one, other)| Arc::ptr_eq(one, other)));
            }
            before = now;
        }
    }
    assert!(kept > 1000, "ads that have not changed are the very same: {kept}");
}

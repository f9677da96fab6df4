//! The costs of a cycle into pauses of jobs and of namespaces; and the jobs that get no gang yet, since their former claims are ending.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::conditions::reasons;
use matchmaker::{AdId, Cycle, Snapshot};
use pool::Objects;

use super::{Negotiator, generation};
use crate::cycle::backoff::Backoff;
use crate::cycle::job_backoff::Cause;
use crate::status::Finding;

/// How long no cycle begins after one that found something for jobs whose former claims are at their ends.
const RETURNING_MS: u64 = 100;
/// How long a job waits whose search was cut short: the first pause, and the longest.
const PAUSES: Backoff = Backoff::new(5_000, 300_000);
/// What part of a cycle's steps a namespace may spend on jobs that find nothing before its share is reduced.
const FRUITLESS_PART: u64 = 16;

impl Negotiator {
    /// Leaves alone the jobs whose former claims are at their ends: what was found for them is theirs in the next cycle. Says
    /// whether something was.
    pub(super) fn leave_returning(
        &mut self,
        cycle: &mut Cycle,
        findings: &mut BTreeMap<String, Arc<Finding>>,
        pool: &Snapshot,
        returning: &BTreeSet<String>,
        now_ms: u64,
    ) -> bool {
        if returning.is_empty() {
            return false;
        }
        let found = cycle.gangs.len();
        let returns =
            |root: Option<AdId>| root.and_then(|root| pool.ad(root)).is_some_and(|ad| returning.contains(&ad.uid));
        cycle.gangs.retain(|gang| !returns(gang.root()));
        cycle.gave_up.retain(|root| !returns(Some(*root)));
        findings.retain(|uid, _| !returning.contains(uid));
        let again = cycle.gangs.len() < found;
        if again {
            self.search.rest_until_ms = self.search.rest_until_ms.max(now_ms.saturating_add(RETURNING_MS));
        }
        again
    }

    /// Makes jobs pause whose search cost too much, and reduces the shares of namespaces. Jobs that were not searched for keep their finding.
    pub(super) fn pause_costly(
        &mut self,
        pool: &Snapshot,
        cycle: &Cycle,
        findings: &mut BTreeMap<String, Arc<Finding>>,
        objects: &Objects,
        now_ms: u64,
    ) {
        for ad in cycle.unexplained.iter().chain(&cycle.skipped).filter_map(|root| pool.ad(*root)) {
            if let Some(known) = self.last.findings.get(&ad.uid) {
                findings.insert(ad.uid.clone(), known.clone());
            }
        }
        self.reduce_shares(pool, cycle, now_ms);
        for namespace in
            cycle.costs.barred.iter().filter(|namespace| self.search.costly_offers.remember(namespace, now_ms))
        {
            tracing::warn!(
                namespace,
                "the expressions of the namespace's offers were too expensive for jobs of other namespaces; these offers are excluded for some time"
            );
        }
        let now = self.claims.context.clock.now();
        let mut job_backoff = self.claims.job_backoff.lock();
        for root in cycle.gangs.iter().filter_map(|gang| pool.ad(gang.root()?)) {
            job_backoff.forget(&root.uid, Cause::Search);
            job_backoff.forget(&root.uid, Cause::Expression);
        }
        for ad in cycle.gave_up.iter().filter_map(|root| pool.ad(*root)) {
            let found = findings.remove(&ad.uid);
            let by_quota = found.as_ref().filter(|found| found.reason == reasons::QUOTA_EXCEEDED);
            let quota =
                by_quota.map_or_else(String::new, |found| format!("; its best gang exceeds a quota: {}", found.why));
            let expensive = found.filter(|found| found.reason == reasons::EXPRESSION_TOO_EXPENSIVE);
            let cause = if expensive.is_some() { Cause::Expression } else { Cause::Search };
            let generation = generation(&ad.uid, objects).unwrap_or(0);
            let pause = job_backoff.remember((&ad.uid, generation), cause, "", &PAUSES, now_ms);
            let pause = jiff::SignedDuration::from_millis(i64::try_from(pause).unwrap_or(i64::MAX));
            let then = now.checked_add(pause).unwrap_or(now).round(jiff::Unit::Second).unwrap_or(now);
            let (namespace, most) = (&ad.key.namespace, self.config.cycle.cycle_steps_max);
            let why = match &expensive {
                Some(found) => found.why.clone(),
                None => format!(
                    "the search for a gang was cut short: it exceeds the share of namespace `{namespace}` in the {most} steps of a cycle; tried again at {then}{quota}"
                ),
            };
            job_backoff.reword(&ad.uid, why);
        }
    }

    /// Gives namespaces a smaller share whose jobs cost too much for nothing in searches for what could be preempted or reserved for them.
    pub(super) fn pay_for_nominations<'f>(
        &mut self,
        fruitless: impl Iterator<Item = &'f (Arc<str>, u64)>,
        now_ms: u64,
    ) {
        let most = self.config.cycle.cycle_steps_max / FRUITLESS_PART;
        for (namespace, steps) in fruitless {
            if self.search.costly_jobs.spend(namespace, *steps, most, now_ms) {
                tracing::warn!(
                    namespace = &**namespace,
                    steps,
                    "searches for gangs to preempt or to reserve for jobs of the namespace took many steps and found nothing; its share of the steps is reduced for some time"
                );
            }
        }
    }

    /// Gives namespaces a smaller share whose jobs cost too much for nothing: all of their share in this cycle, or some of it in each of
    /// the last few. What a gang that is found costs is not for nothing.
    fn reduce_shares(&mut self, pool: &Snapshot, cycle: &Cycle, now_ms: u64) {
        let costly = &mut self.search.costly_jobs;
        let mut gangs: BTreeMap<&str, u64> = BTreeMap::new();
        for root in cycle.gangs.iter().filter_map(|gang| pool.ad(gang.root()?)) {
            *gangs.entry(root.key.namespace.as_str()).or_default() += 1;
        }
        let found = |namespace: &str| gangs.get(namespace).copied().unwrap_or(0);
        let in_vain = cycle.costs.over_budget.iter().filter(|namespace| found(namespace) == 0);
        for namespace in in_vain.filter(|namespace| costly.remember(namespace, now_ms)) {
            tracing::warn!(
                namespace = &**namespace,
                "the jobs of the namespace exceeded its share of the steps in a cycle; its share is reduced for some time"
            );
        }
        let most = self.config.cycle.cycle_steps_max / FRUITLESS_PART;
        let fruitless =
            cycle.costs.fruitless.iter().map(|(namespace, steps)| (namespace, steps / (1 + found(namespace))));
        for (namespace, steps) in fruitless.filter(|(namespace, steps)| costly.spend(namespace, *steps, most, now_ms)) {
            tracing::warn!(
                namespace = &**namespace,
                steps,
                "searches for jobs of the namespace took many steps and found nothing; its share of the steps is reduced for some time"
            );
        }
    }
}

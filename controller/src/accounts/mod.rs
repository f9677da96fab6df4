//! Accounts: what they hold and have used, folded in memory, and stored so that a new leader goes on from there. Idle and steady load
//! write nothing.

pub(crate) mod charge_meter;
mod ledger;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::ad::NotAccepted;
use crds::{Account, PoolPolicy};
use futures::StreamExt;
use matchmaker::{Accounts, Snapshot};
use pool::{
    AccountsBuilder, AssumedGang, Changes, Charged, ObjectKey, Objects, StoredUsage, Submitting, account_problems,
    charged_claim,
};

use crate::accounts::charge_meter::ChargeMeter;
use crate::accounts::ledger::Ledger;
use crate::accounts::plan::{AccountChange, Pace, change_of, is_negligible_at, is_off, policy_status};
use crate::context::Context;
use crate::cycle::backoff::Backoff;
use crate::metrics::level;
use crate::write::answer::Answer;
use crate::write::background::{Background, failure};
use crate::write::patch::Ops;
use crate::write::requests::ObjectPatch;

/// The usage of an account is stored at most so often.
const APART_MS: u64 = 60_000;
/// How long after its condition alone an account is written again: what it holds does not wait for a minute.
const AFTER_CONDITION_MS: u64 = 1_000;
/// The most writes under way at once.
const WRITES_MAX: usize = 4;
/// The most writes when a term ends.
const LAST_MAX: usize = 100;
/// How long nothing is written after a write has failed.
const PAUSES: Backoff = Backoff::new(1_000, 60_000);

/// Keeps the accounts of a term.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    ledger: Ledger,
    builder: AccountsBuilder,
    /// Accounts that are not stored as they are, and since when, on the monotonic clock.
    due: BTreeMap<String, u64>,
    /// From when on accounts that were written may be written again.
    again_ms: BTreeMap<String, u64>,
    /// Why accounts count otherwise than they say.
    problems: BTreeMap<String, NotAccepted>,
    /// Ended Matches that are kept until their accounts are stored later than at this time: by key, with uid and account.
    unpruned: BTreeMap<ObjectKey, (String, String, i64)>,
    pace: Pace,
    /// What is held, counted over time.
    meter: ChargeMeter,
    writes: Background,
}

impl Accounting {
    /// Takes in what has changed.
    pub(crate) fn note(&mut self, changes: &Changes, objects: &Objects, context: &Context) {
        let (now, now_ms) = (context.clock.now().as_second(), context.now_ms());
        let touched = self.ledger.note(changes, objects, now);
        let Some(known) = objects.accounts.policy() else {
            if !self.due.is_empty() || !self.unpruned.is_empty() {
                (self.due, self.problems) = (BTreeMap::new(), BTreeMap::new());
            }
            return;
        };
        if changes.policy {
            self.problems = account_problems(objects, &known.terms);
        }
        let asked = self.asked();
        for name in touched {
            let is_asked = asked.contains(&name);
            self.judge(name, objects, is_asked, (now, now_ms));
        }
    }

    /// The accounts that are to be stored so that Matches can be deleted.
    fn asked(&self) -> BTreeSet<String> {
        self.unpruned.values().map(|(_, account, _)| account.clone()).collect()
    }

    /// Whether an account is to be written. `asked`: a Match waits for that.
    fn judge(&mut self, name: String, objects: &Objects, asked: bool, (now, now_ms): (i64, u64)) {
        match change_of(&name, objects, &self.ledger, self.problems.get(&name), asked, now) {
            Some(_) => drop(self.due.entry(name).or_insert(now_ms)),
            None => drop(self.due.remove(&name)),
        }
    }

    /// The accounts of a cycle; none without a PoolPolicy.
    pub(crate) fn of_pool(
        &mut self,
        objects: &Objects,
        snapshot: &Snapshot,
        assumed: &[AssumedGang],
        now: i64,
    ) -> Option<Accounts> {
        objects.accounts.policy()?;
        self.builder.build(objects, snapshot, assumed, &self.ledger.usage(now))
    }

    /// Of ended Matches that are not kept any longer, those that can be deleted now: what they say of accounts is stored.
    pub(crate) fn prunable(
        &mut self,
        outlived: Vec<(ObjectKey, String)>,
        objects: &Objects,
        context: &Context,
    ) -> Vec<(ObjectKey, String)> {
        let Some(known) = objects.accounts.policy() else {
            let kept = std::mem::take(&mut self.unpruned).into_iter().map(|(key, (uid, ..))| (key, uid));
            return kept.chain(outlived).collect();
        };
        let (now, now_ms) = (self.ledger.time(context.clock.now().as_second()), context.now_ms());
        let mut free = Vec::new();
        let submitting = (!outlived.is_empty()).then(|| Submitting::of(objects, &known.terms));
        for (key, uid) in outlived {
            let found = objects.matches.get(&key);
            let charged = found.and_then(|found| charged_claim(found, objects, submitting.as_ref()?, &known.terms));
            match charged {
                Some(Charged { account, .. }) if !self.unpruned.contains_key(&key) => {
                    self.unpruned.insert(key, (uid, account.clone(), now));
                    self.judge(account, objects, true, (now, now_ms));
                }
                Some(_) => {}
                None => free.push((key, uid)),
            }
        }
        let ledger = &self.ledger;
        let is_stored = |account: &String, since: i64| match objects.accounts.get(account) {
            Some(object) => StoredUsage::of(object).is_some_and(|stored| stored.at > since),
            None => ledger.tallies().get(account).is_none_or(is_negligible_at(now)),
        };
        self.unpruned.retain(|key, (uid, account, since)| {
            let waits = !is_stored(account, *since);
            if !waits {
                free.push((key.clone(), uid.clone()));
            }
            waits
        });
        free
    }

    /// Begins to write what is due. When there is more to do, if nothing else happens.
    pub(crate) fn begin(&mut self, context: &Arc<Context>, objects: &Objects) -> Option<u64> {
        let known = objects.accounts.policy()?;
        let (now, now_ms) = (context.clock.now(), context.now_ms());
        self.count(objects, context, (now.as_second(), now_ms));
        if self.writes.is_running() {
            return None;
        }
        if let Some(until_ms) = self.writes.pause_until_ms(now_ms) {
            return Some(until_ms);
        }
        let said = policy_status(known, now);
        let (changes, next_ms) = self.changes(objects, now.as_second(), now_ms);
        if !changes.is_empty() || said.is_some() {
            self.writes.begin(write_all(context.clone(), changes, said));
        }
        next_ms
    }

    /// What is written now, those that are due for longest first; and when others may be.
    fn changes(&mut self, objects: &Objects, now: i64, now_ms: u64) -> (Vec<AccountChange>, Option<u64>) {
        self.again_ms.retain(|_, at_ms| *at_ms > now_ms);
        let mut names: Vec<(u64, String)> = self.due.iter().map(|(name, since)| (*since, name.clone())).collect();
        names.sort();
        let (mut changes, mut next_ms) = (Vec::new(), None);
        let all_asked = self.asked();
        for (_, name) in names {
            let may_ms = self.again_ms.get(&name).copied().unwrap_or(0).max(self.pace.next_ms());
            if may_ms > now_ms {
                next_ms = Some(next_ms.map_or(may_ms, |next: u64| next.min(may_ms)));
                continue;
            }
            let asked = all_asked.contains(&name);
            let change = change_of(&name, objects, &self.ledger, self.problems.get(&name), asked, now);
            let Some(change) = change else {
                self.due.remove(&name);
                continue;
            };
            if let AccountChange::Store { at, .. } = &change {
                at.iter().for_each(|at| self.ledger.is_written(&name, *at));
                let apart_ms = if at.is_some() { APART_MS } else { AFTER_CONDITION_MS };
                self.again_ms.insert(name, now_ms.saturating_add(apart_ms));
            }
            self.pace.take(now_ms);
            changes.push(change);
        }
        (changes, next_ms)
    }

    /// Stores all accounts that are not stored as they are, whenever they were written last: a leader that stops in an orderly way loses nothing.
    pub(crate) async fn store_all(&mut self, context: &Arc<Context>) {
        if self.writes.is_running() {
            self.written(context).await;
        }
        // One that is to be created is stored when it is there.
        for _ in 0..2 {
            let now = context.clock.now().as_second();
            let changes = self.last_changes(&context.cache.lock(), now);
            if changes.is_empty() {
                return;
            }
            let lost = write_all(context.clone(), changes, None).await;
            if let Some(first) = lost.first() {
                tracing::warn!(writes = lost.len(), first, "accounts could not be stored at the end of the term");
            }
        }
    }

    /// What is written when a term ends, those that are due for longest first.
    fn last_changes(&self, objects: &Objects, now: i64) -> Vec<AccountChange> {
        if objects.accounts.policy().is_none() {
            return Vec::new();
        }
        let due_since = |name: &String| self.due.get(name).copied().unwrap_or(u64::MAX);
        let mut names: Vec<&String> = self.ledger.tallies().keys().collect();
        names.sort_by_key(|name| due_since(name));
        let change = |name: &String| {
            let known = objects.accounts.get(name).zip(self.ledger.tallies().get(name));
            let asked = known.is_some_and(|(account, tally)| is_off(account, tally, self.ledger.time(now)));
            change_of(name, objects, &self.ledger, self.problems.get(name), asked, now)
        };
        let is_stored = |change: &AccountChange| match change {
            AccountChange::Create(_) => true,
            AccountChange::Store { at, .. } => at.is_some(),
            AccountChange::Delete(_) => false,
        };
        names.into_iter().filter_map(change).filter(is_stored).take(LAST_MAX).collect()
    }

    /// Sets the metrics of accounts.
    fn count(&mut self, objects: &Objects, context: &Context, (now, now_ms): (i64, u64)) {
        let metrics = &context.metrics.accounts;
        metrics.accounts.set(level(objects.accounts.len()));
        metrics.lag_seconds.set(self.ledger.lag(now));
        let micros: i128 = self.ledger.tallies().values().map(|tally| tally.usage.held()).sum();
        metrics.charge_held.set(i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX));
        self.meter.goes_on_at(micros, now_ms);
        metrics.charge_seconds.inc_by(self.meter.take_seconds());
    }

    /// Waits until what was begun is written; for ever, if nothing was.
    pub(crate) async fn written(&mut self, context: &Context) {
        self.writes.written("accounts", &PAUSES, context).await;
    }
}

/// Makes the writes. Returns why some were not made.
async fn write_all(context: Arc<Context>, changes: Vec<AccountChange>, said: Option<Ops>) -> Vec<String> {
    let writes = changes.into_iter().map(|change| write(&context, change));
    let mut lost_writes: Vec<String> =
        futures::stream::iter(writes).buffer_unordered(WRITES_MAX).filter_map(std::future::ready).collect().await;
    if let Some(ops) = said {
        let (key, patch) = (ObjectKey::new("", crds::POOL_POLICY), ObjectPatch::Json(ops.build()));
        let answer = context.cluster.patch_status::<PoolPolicy>(&key, &patch).await;
        lost_writes.extend(lost(
            &context,
            answer.map(|policy| {
                context.cache.update_if_new(|all| all.accounts.apply_policy(policy));
            }),
        ));
    }
    lost_writes
}

/// Makes one write. Returns why it failed, if it did; of an account that has changed, the change comes by watch.
async fn write(context: &Context, change: AccountChange) -> Option<String> {
    let keep = |account| context.cache.update_if_new(|all| all.accounts.apply(account));
    match change {
        AccountChange::Create(accounts) => {
            for account in accounts {
                let failed = lost(context, context.cluster.create(&account).await.map(keep));
                if failed.is_some() {
                    return failed;
                }
            }
            None
        }
        AccountChange::Delete(account) => {
            let deleted = context.cluster.delete_as_seen(&*account).await;
            lost(
                context,
                deleted.map(|()| {
                    context.cache.update_if_new(|all| {
                        all.accounts.delete(&account);
                        true
                    });
                }),
            )
        }
        AccountChange::Store { name, ops, .. } => {
            let (key, patch) = (ObjectKey::new("", &name), ObjectPatch::Json(ops.build()));
            lost(context, context.cluster.patch_status::<Account>(&key, &patch).await.map(keep))
        }
    }
}

fn lost(context: &Context, answer: Answer<()>) -> Option<String> {
    context.metrics.accounts.wrote(answer.label());
    failure(answer)
}

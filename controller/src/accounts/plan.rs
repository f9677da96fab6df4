//! What is to be written of an account, and how often. Pure.

use std::sync::Arc;

use crds::ad::{NotAccepted, accepted};
use crds::conditions;
use crds::{
    Account, AccountSpec, AccountStatus, LABEL_MADE_BY, LABEL_MADE_FOR, MADE_BY_CONTROLLER, PoolPolicyStatus,
    Submitter, charge_text,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use policy::LEAST_CHARGE;
use pool::{AccountUsage, KnownPolicy, Objects, Payer, StoredUsage, Submitting};

use crate::accounts::ledger::Ledger;
use crate::write::patch::Ops;

/// The largest charge that a status can have, in micros.
const MICROS_MAX: i128 = 9_999_999_999_999_999_999;

/// How far two ways to compute the same usage may differ, in micros.
const ROUNDED: i128 = 2;

/// For how long an account is unused before it is deleted.
const UNUSED_SECONDS: i64 = 86_400;

/// One write.
#[derive(Debug)]
pub(crate) enum AccountChange {
    /// It is not there; the account above it comes first, if that is not there either.
    Create(Vec<Account>),
    /// Its status is not what it should be; `at` is its new time, if that is another.
    Store { name: String, at: Option<i64>, ops: Ops },
    /// It is not needed any more; it is deleted if it is still as it was seen.
    Delete(Arc<Account>),
}

/// What is to be written of an account now; nothing if it is stored as it is. `asked`: its usage is to be stored in any case.
pub(crate) fn change_of(
    name: &str,
    objects: &Objects,
    ledger: &Ledger,
    problem: Option<&NotAccepted>,
    asked: bool,
    now: i64,
) -> Option<AccountChange> {
    let now = ledger.time(now);
    let tally = ledger.tallies().get(name);
    let Some(account) = objects.accounts.get(name) else {
        let tally = tally?;
        if is_negligible_at(now)(tally) {
            return None;
        }
        return made(name, tally.payer.as_ref()?, objects).map(AccountChange::Create);
    };
    if !asked && is_unused(account, tally, objects, now) {
        return Some(AccountChange::Delete(Arc::clone(account)));
    }
    let from = account.status.clone().unwrap_or_default();
    let mut to = AccountStatus { observed_generation: account.metadata.generation, ..from.clone() };
    let time = Timestamp::from_second(now).unwrap_or_default();
    conditions::set(&mut to.conditions, accepted(problem), account.metadata.generation, Time(time));
    let stored = StoredUsage::of(account);
    let differs =
        |stored: &StoredUsage, held: i128| stored.held != held.min(MICROS_MAX) || asked || !stored.is_credible(now);
    let mut at = None;
    if let Some(tally) = tally
        && stored.as_ref().map_or(tally.usage.held() > 0 || asked, |stored| differs(stored, tally.usage.held()))
    {
        to.usage = Some(charge_text(tally.usage.at(now).min(MICROS_MAX)));
        to.charge = Some(charge_text(tally.usage.held().min(MICROS_MAX)));
        to.usage_time = Some(Time(time));
        to.half_life_seconds = Some(ledger.half_life());
        at = Some(now);
    }
    let version = account.resource_version().unwrap_or_default();
    let ops = Ops::default().test(&["metadata", "resourceVersion"], version).status(&from, &to);
    ops.writes().then(|| AccountChange::Store { name: name.to_owned(), at, ops })
}

/// The account of this name as it is created for the submitter of some claim, with the one above it if that is missing.
fn made(name: &str, payer: &Payer, objects: &Objects) -> Option<Vec<Account>> {
    let terms = &objects.accounts.policy()?.terms;
    let submitting = Submitting::of(objects, terms);
    let Payer { submitter, namespace } = payer;
    let is_charged = submitting.submitter(namespace, submitter.owner.as_deref()) == *submitter;
    if !is_charged || submitting.account(submitter) != name {
        return None;
    }
    let of = |submitter: &Submitter| {
        let above = submitting.parent(submitter);
        let spec = AccountSpec {
            submitter: Some(submitter.clone()),
            parent: above.as_ref().map(|above| submitting.account(above)),
            ..AccountSpec::default()
        };
        let mut account = Account::new(&submitting.account(submitter), spec);
        let labels = [(LABEL_MADE_BY, MADE_BY_CONTROLLER), (LABEL_MADE_FOR, namespace.as_str())];
        account.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        (account, above)
    };
    let (account, above) = of(submitter);
    let above = above.map(|above| of(&above).0).filter(|above| !objects.accounts.contains_key(&above.name_any()));
    Some(above.into_iter().chain([account]).collect())
}

/// Whether an account is deleted: the controller has created it, nobody has changed it, no other is below it, and for a day it has held
/// nothing and its usage was less than any gang costs. Without it, jobs are served as with it, and it is created again when it is needed.
fn is_unused(account: &Account, tally: Option<&AccountUsage>, objects: &Objects, now: i64) -> bool {
    let Some(known) = objects.accounts.policy() else { return false };
    let submitting = Submitting::of(objects, &known.terms);
    let since = now.saturating_sub(UNUSED_SECONDS);
    let was_unused = match StoredUsage::of(account) {
        Some(stored) => stored.held == 0 && stored.at <= since && stored.at(since) < LEAST_CHARGE,
        None => account.metadata.creation_timestamp.as_ref().is_some_and(|created| created.0.as_second() <= since),
    };
    was_unused
        && tally.is_none_or(is_negligible_at(now))
        && account.metadata.deletion_timestamp.is_none()
        && submitting.is_as_made(account)
        && !submitting.has_below(&account.name_any())
}

/// Whether what an account stores leads to another usage now than it has: it held something else for a moment.
pub(crate) fn is_off(account: &Account, tally: &AccountUsage, now: i64) -> bool {
    let stored = StoredUsage::of(account).map(|stored| stored.at(now));
    stored.is_some_and(|usage| (usage - tally.usage.at(now)).abs() > ROUNDED)
}

/// Whether an account holds nothing, and its usage is less than any gang costs.
pub(crate) fn is_negligible_at(now: i64) -> impl Fn(&AccountUsage) -> bool {
    move |tally| tally.claims.is_empty() && tally.usage.held() == 0 && tally.usage.at(now) < LEAST_CHARGE
}

/// What is to be said of the PoolPolicy; nothing, if it is said already.
pub(crate) fn policy_status(known: &KnownPolicy, now: Timestamp) -> Option<Ops> {
    let policy = &known.object;
    let from = policy.status.clone().unwrap_or_default();
    let generation = policy.metadata.generation;
    let mut to = PoolPolicyStatus { observed_generation: generation, conditions: from.conditions.clone() };
    conditions::set(&mut to.conditions, accepted(known.problem.as_ref()), generation, Time(now));
    let version = policy.resource_version().unwrap_or_default();
    let ops = Ops::default().test(&["metadata", "resourceVersion"], version).status(&from, &to);
    ops.writes().then_some(ops)
}

/// How fast accounts are written, all together: 20 at once, then 2 a second (the generic cell rate algorithm).
#[derive(Debug, Default)]
pub(crate) struct Pace {
    used_until_ms: u64,
}

impl Pace {
    const APART_MS: u64 = 500;
    const BURST: u64 = 20;

    /// When the next one may be written.
    pub(crate) fn next_ms(&self) -> u64 {
        self.used_until_ms.saturating_sub((Pace::BURST - 1) * Pace::APART_MS)
    }

    /// One is written.
    pub(crate) fn take(&mut self, now_ms: u64) {
        self.used_until_ms = self.used_until_ms.max(now_ms).saturating_add(Pace::APART_MS);
    }
}

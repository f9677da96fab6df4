//! What the administrator says of preemption, for one pair of a job that waits and a gang that is claimed.

use std::collections::BTreeMap;
use std::sync::Arc;

use classad::{Bill, Context, Env, Expr, Name, Value, eval_billed};
use policy::{Amount, CHARGE, Permitted, Quotas};

use crate::charges::Accounts;
use crate::model::{AdId, Config, Snapshot};
use crate::score::FixedPoint;

use super::HeldGang;

/// The administrator's terms.
#[derive(Clone, Debug, PartialEq)]
pub struct PreemptionTerms {
    /// Modes, minimal run time and number of victims.
    pub permitted: Permitted,
    /// What has to be true of a pair, for every reason but rank.
    pub requirements: Expr,
    /// The larger the sooner a gang is chosen.
    pub rank: Expr,
}

/// A root that waits, its account, and what was found out about accounts for it.
pub(super) struct PreemptionPair<'p> {
    pub(super) pool: &'p Snapshot,
    pub(super) accounts: &'p Accounts,
    pub(super) quotas: &'p Quotas<'p>,
    pub(super) preemptor: (AdId, &'p Arc<str>),
    pub(super) config: &'p Config,
    pub(super) now: i64,
    /// By account.
    pub(super) known: BTreeMap<Arc<str>, AccountValues>,
}

/// What the expressions can read of an account.
#[derive(Clone, Debug)]
pub(super) struct AccountValues {
    prio: f64,
    in_use: f64,
    group: String,
    group_quota: f64,
    group_in_use: f64,
}

/// What the expressions say of a pair, and the fuel that they used, without that of the administrator's own expressions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairValues {
    /// Whether the requirements are true.
    pub(super) requirements: bool,
    /// The larger the sooner the gang is chosen.
    pub(super) rank: Amount,
    /// In the ad of the root.
    pub(super) own_fuel: u64,
    /// In the ad of the gang's job.
    pub(super) victim_fuel: u64,
}

/// The seeds of the frames of both jobs, by which their fuel is told apart.
const PREEMPTOR: u64 = 1;
const VICTIM: u64 = 2;

impl PreemptionTerms {
    /// The labels of both jobs: of the one that waits, and of the one whose gang may end.
    pub const JOBS: [&str; 2] = ["preemptor", "victim"];
    /// What the expressions can read beside both jobs, by HTCondor's names.
    pub const NAMES: [&str; 14] = [
        "SubmitterUserPrio",
        "RemoteUserPrio",
        "SubmitterUserResourcesInUse",
        "RemoteUserResourcesInUse",
        "SubmitterGroup",
        "RemoteGroup",
        "SubmitterGroupQuota",
        "RemoteGroupQuota",
        "SubmitterGroupResourcesInUse",
        "RemoteGroupResourcesInUse",
        "TotalJobRuntime",
        "NumPreemptions",
        "VictimCharge",
        "VictimMembers",
    ];

    /// What the requirements and the rank say of a root and a gang. `reads_victim`: they can read the ad of the gang's job.
    pub(super) fn evaluate(&self, pair: &mut PreemptionPair<'_>, victim: &HeldGang, reads_victim: bool) -> PairValues {
        let mut bill = Bill::default();
        let [requirements, rank] = match [&self.requirements, &self.rank].map(Expr::as_literal) {
            [Some(requirements), Some(rank)] => [Some(requirements.clone()), Some(rank.clone())],
            _ => pair.values([&self.requirements, &self.rank], (victim, reads_victim), &mut bill),
        };
        let mut values = PairValues {
            requirements: requirements.is_some_and(|value| value.is_true()),
            rank: rank.as_ref().map_or(0, |value| FixedPoint::of(value).bits()),
            ..PairValues::default()
        };
        for (seed, fuel) in bill.drain() {
            match seed {
                PREEMPTOR => values.own_fuel += fuel,
                VICTIM => values.victim_fuel += fuel,
                _ => {}
            }
        }
        values
    }
}

impl PreemptionPair<'_> {
    /// The values of both expressions; none of one that fails, or is too expensive.
    fn values(
        &mut self,
        exprs: [&Expr; 2],
        (victim, reads_victim): (&HeldGang, bool),
        bill: &mut Bill,
    ) -> [Option<Value>; 2] {
        let names = self.names(victim);
        debug_assert!(names.iter().map(|(name, _)| *name).eq(PreemptionTerms::NAMES), "lint knows other names");
        let mut env = Env::new();
        let frame = env.frame(&self.pool.blank, None);
        // Nothing is known of a job whose ad is not accepted any more: what is read of it is undefined.
        let ads = [Some(self.preemptor.0), victim.gang.root().filter(|_| reads_victim)];
        for ((label, seed), ad) in PreemptionTerms::JOBS.into_iter().zip([PREEMPTOR, VICTIM]).zip(ads) {
            let ad = ad.and_then(|ad| self.pool.ad(ad));
            let view = env.frame(ad.map_or(&self.pool.blank, |ad| &ad.ports.body), None);
            env.seed(view, seed);
            env.bind(frame, &Name::new(label), view);
        }
        for (name, value) in names {
            env.define(frame, Name::new(name), value);
        }
        let limits = self.config.with_small_limits().limits;
        let context = Context { now: self.now, seed: self.config.seed, limits, ..Context::default() };
        exprs.map(|expr| eval_billed(expr, &env, frame, &context, bill).ok())
    }

    fn account(&mut self, account: &Arc<str>) -> AccountValues {
        let (tree, accounts, quotas) = (&self.accounts.tree, self.accounts, self.quotas);
        let known = self.known.entry(Arc::clone(account)).or_insert_with(|| {
            let (node, own) = (tree.account(account), tree.leaf(account));
            let usage = node.map_or(0, |node| tree.usage(node));
            let held = |node: Option<policy::Node>| node.map_or(0, |node| quotas.held(node, CHARGE));
            let grant = node.map_or(0, |node| quotas.grant(node, CHARGE));
            AccountValues {
                prio: charges(usage) * 1000.0 / (tree.weight_of(account) as f64),
                in_use: charges(held(own)),
                group: path(accounts, account),
                group_quota: charges(grant),
                group_in_use: charges(held(node)),
            }
        });
        known.clone()
    }

    /// The values of [`PreemptionTerms::NAMES`], each with its name.
    fn names(&mut self, victim: &HeldGang) -> Vec<(&'static str, Value)> {
        let (ours, theirs) = (self.account(self.preemptor.1), self.account(&victim.account));
        let whole = |number: i64| Value::Integer(number);
        vec![
            ("SubmitterUserPrio", Value::Real(ours.prio)),
            ("RemoteUserPrio", Value::Real(theirs.prio)),
            ("SubmitterUserResourcesInUse", Value::Real(ours.in_use)),
            ("RemoteUserResourcesInUse", Value::Real(theirs.in_use)),
            ("SubmitterGroup", Value::String(ours.group.into())),
            ("RemoteGroup", Value::String(theirs.group.into())),
            ("SubmitterGroupQuota", Value::Real(ours.group_quota)),
            ("RemoteGroupQuota", Value::Real(theirs.group_quota)),
            ("SubmitterGroupResourcesInUse", Value::Real(ours.group_in_use)),
            ("RemoteGroupResourcesInUse", Value::Real(theirs.group_in_use)),
            ("TotalJobRuntime", whole(self.now.saturating_sub(victim.since).max(0))),
            ("NumPreemptions", whole(i64::from(victim.preemptions))),
            ("VictimCharge", Value::Real(charges(victim.takes.get(CHARGE).copied().unwrap_or(0)))),
            ("VictimMembers", whole(i64::try_from(victim.gang.members.len().saturating_sub(1)).unwrap_or(0))),
        ]
    }
}

fn charges(micros: Amount) -> f64 {
    micros as f64 / 1e6
}

/// The names of an account and of those above it, from the pool down, with dots between them.
fn path(accounts: &Accounts, account: &str) -> String {
    let mut names = vec![account];
    while let Some(above) = names.last().and_then(|name| accounts.tree.parent_of(name)) {
        names.push(above);
    }
    names.reverse();
    names.join(".")
}

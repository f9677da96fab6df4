//! What the administrator says of preemption, for one pair of a job that waits and a gang that is claimed.

use std::sync::Arc;

use classad::{Context, Env, Expr, Limits, Name, Value, eval};
use policy::{Amount, CHARGE, Permitted, Quotas};

use crate::charges::Policy;
use crate::model::{AdId, Config, Snapshot};
use crate::score::FixedPoint;

use super::HeldGang;

/// What an evaluation may cost: what is dearer has no value.
const FUEL: u64 = 20_000;
const MEMORY: usize = 256 * 1024;

/// The same settings for expressions that decide about preemption.
pub(super) fn affordable(config: &Config) -> Config {
    Config { limits: Limits { fuel: FUEL, memory: MEMORY, ..config.limits }, ..config.clone() }
}

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

/// A root that waits, and its account.
pub(super) struct PreemptionPair<'p> {
    pub(super) pool: &'p Snapshot,
    pub(super) policy: &'p Policy,
    pub(super) quotas: &'p Quotas<'p>,
    pub(super) preemptor: (AdId, &'p Arc<str>),
    pub(super) config: &'p Config,
    pub(super) now: i64,
}

impl PreemptionTerms {
    /// Whether the requirements are true of a root and a gang, and the rank of the gang.
    pub(super) fn evaluate(&self, pair: &PreemptionPair<'_>, victim: &HeldGang) -> (bool, Amount) {
        let requirements = pair.value(&self.requirements, victim).is_some_and(|value| value.is_true());
        let rank = pair.value(&self.rank, victim);
        (requirements, rank.as_ref().map_or(0, |value| FixedPoint::of(value).bits()))
    }
}

impl PreemptionPair<'_> {
    fn value(&self, expr: &Expr, victim: &HeldGang) -> Option<Value> {
        if let Some(literal) = expr.as_literal() {
            return Some(literal.clone());
        }
        let mut env = Env::new();
        let frame = env.frame(&self.pool.blank, None);
        // Nothing is known of a job whose ad is not accepted any more: what is read of it is undefined.
        for (label, ad) in [("preemptor", Some(self.preemptor.0)), ("victim", victim.gang.root())] {
            let ad = ad.and_then(|ad| self.pool.ad(ad));
            let view = env.frame(ad.map_or(&self.pool.blank, |ad| &ad.ports.body), None);
            env.bind(frame, &Name::new(label), view);
        }
        for (name, value) in self.names(victim) {
            env.define(frame, Name::new(name), value);
        }
        let limits = affordable(self.config).limits;
        let context = Context { now: self.now, seed: self.config.seed, limits, ..Context::default() };
        eval(expr, &env, frame, &context).ok()
    }

    /// What the expressions can read beside both jobs, by HTCondor's names.
    fn names(&self, victim: &HeldGang) -> Vec<(&'static str, Value)> {
        let of = |account: &str| {
            let (tree, node) = (&self.policy.tree, self.policy.tree.account(account));
            let own = tree.own_roots(account);
            let weight = tree.accounts().iter().find(|known| known.name == account).map_or(1, |known| known.weight);
            let usage = node.map_or(0, |node| tree.usage(node));
            let held = |node: Option<policy::Node>| node.map_or(0, |node| self.quotas.held(node, CHARGE));
            let grant = node.map_or(0, |node| self.quotas.grant(node, CHARGE));
            let prio = charges(usage) * 1000.0 / (weight.max(1) as f64);
            (prio, charges(held(own)), path(self.policy, account), charges(grant), charges(held(node)))
        };
        let (ours, theirs) = (of(self.preemptor.1), of(&victim.account));
        let whole = |number: i64| Value::Integer(number);
        vec![
            ("SubmitterUserPrio", Value::Real(ours.0)),
            ("RemoteUserPrio", Value::Real(theirs.0)),
            ("SubmitterUserResourcesInUse", Value::Real(ours.1)),
            ("RemoteUserResourcesInUse", Value::Real(theirs.1)),
            ("SubmitterGroup", Value::String(ours.2.into())),
            ("RemoteGroup", Value::String(theirs.2.into())),
            ("SubmitterGroupQuota", Value::Real(ours.3)),
            ("RemoteGroupQuota", Value::Real(theirs.3)),
            ("SubmitterGroupResourcesInUse", Value::Real(ours.4)),
            ("RemoteGroupResourcesInUse", Value::Real(theirs.4)),
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
fn path(policy: &Policy, account: &str) -> String {
    let mut names = vec![account];
    while let Some(above) = names.last().and_then(|name| policy.tree.parent_of(name)) {
        names.push(above);
    }
    names.reverse();
    names.join(".")
}

//! What a PoolPolicy says into what is computed with: parsed, or why it is not accepted.

use std::collections::{BTreeMap, BTreeSet};

use classad::Expr;

use super::{NotAccepted, message, text};
use crate::conditions::reasons;
use crate::{
    ExprText, PoolPolicySpec, PreemptionMode, PreemptionPolicy, PreemptionReason, ReservationPolicy, Submitters,
    charge_micros,
};

/// A PoolPolicy that was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyTerms {
    /// Which jobs are charged together.
    pub submitters: Submitters,
    /// In seconds.
    pub half_life: i64,
    /// The charge of one unit of each resource, in micros.
    pub weights: BTreeMap<String, i128>,
    /// What quotas count besides charge and gangs.
    pub counters: Vec<CounterTerms>,
    /// For which jobs offers are held; none if for none.
    pub reservation: Option<ReservationPolicy>,
    /// Which gangs may be preempted; none if nothing is, and nothing would be.
    pub preemption: Option<PreemptionRules>,
}

/// What a PoolPolicy says of preemption, where that is not off.
#[derive(Clone, Debug, PartialEq)]
pub struct PreemptionRules {
    /// It is only told what would be preempted.
    pub is_dry_run: bool,
    /// Why gangs may be preempted.
    pub reasons: BTreeSet<PreemptionReason>,
    /// What has to be true of the two jobs.
    pub requirements: Expr,
    /// The larger the sooner a gang is chosen.
    pub rank: Expr,
    /// How long a gang runs undisturbed.
    pub min_runtime_seconds: i64,
    /// How many gangs may be preempted for one job.
    pub max_victims: usize,
    /// How many may be preempted in an hour.
    pub evictions_per_hour: u32,
    /// How long offers are held for a job.
    pub nomination_seconds: i64,
}

/// A counter of a PoolPolicy.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterTerms {
    /// Its name.
    pub name: String,
    /// Of which offers it counts.
    pub constraint: Expr,
    /// What it counts; without, each claim counts as 1.
    pub resource: Option<String>,
}

/// The largest weight of a resource, in charges.
const WEIGHT_MAX: i128 = 1_000_000;

impl PolicyTerms {
    /// The terms of a spec.
    ///
    /// # Errors
    /// If a weight is no number from 0 to 1000000, a constraint no expression, or a counter is defined twice.
    pub fn of(spec: &PoolPolicySpec) -> Result<PolicyTerms, NotAccepted> {
        let weights = spec.weights.iter().map(|(name, weight)| Ok((name.clone(), weight_of(name, weight)?)));
        let mut names = BTreeSet::new();
        let mut counters = Vec::new();
        for (index, counter) in spec.counters.iter().enumerate() {
            if !names.insert(&counter.name) {
                let what = format!(
                    "spec.counters[{index}]: {} is defined twice; remove one of them",
                    message::quote(&counter.name)
                );
                return Err(NotAccepted::new(reasons::DUPLICATE_COUNTER, &what));
            }
            let place = format!("spec.counters[{index}].constraint");
            let constraint = text::expression(&place, &counter.constraint, &mut Vec::new())?;
            counters.push(CounterTerms { name: counter.name.clone(), constraint, resource: counter.resource.clone() });
        }
        Ok(PolicyTerms {
            submitters: spec.submitters,
            half_life: spec.half_life_seconds,
            weights: weights.collect::<Result<_, NotAccepted>>()?,
            counters,
            reservation: spec.reservation.clone(),
            preemption: spec.preemption.as_ref().map(PreemptionRules::of).transpose()?.flatten(),
        })
    }

    /// What counts of a spec that is not accepted, if no other one was accepted before: the default weights, and no counters.
    #[must_use]
    pub fn without_expressions(spec: &PoolPolicySpec) -> PolicyTerms {
        let plain = PoolPolicySpec { submitters: spec.submitters, ..PoolPolicySpec::default() };
        let weights = plain.weights.keys().map(|name| (name.clone(), 1_000_000)).collect();
        PolicyTerms {
            submitters: plain.submitters,
            half_life: plain.half_life_seconds,
            weights,
            counters: Vec::new(),
            reservation: None,
            preemption: None,
        }
    }
}

impl PreemptionRules {
    /// None if preemption is off; its expressions are read all the same.
    fn of(policy: &PreemptionPolicy) -> Result<Option<PreemptionRules>, NotAccepted> {
        let expression = |field: &str, found: &ExprText| {
            text::expression(&format!("spec.preemption.{field}"), found, &mut Vec::new())
        };
        let requirements = expression("requirements", &policy.requirements)?;
        let rank = expression("rank", &policy.rank)?;
        let rules = PreemptionRules {
            is_dry_run: policy.mode == PreemptionMode::DryRun,
            reasons: policy.reasons.iter().copied().collect(),
            requirements,
            rank,
            min_runtime_seconds: policy.min_runtime_seconds,
            max_victims: usize::try_from(policy.max_victims).unwrap_or(0),
            evictions_per_hour: u32::try_from(policy.evictions_per_hour).unwrap_or(0),
            nomination_seconds: policy.nomination_seconds,
        };
        Ok((policy.mode != PreemptionMode::Off).then_some(rules))
    }
}

fn weight_of(name: &str, weight: &ExprText) -> Result<i128, NotAccepted> {
    let found = weight.text();
    let micros = charge_micros(found.trim()).filter(|micros| *micros <= WEIGHT_MAX * 1_000_000);
    micros.ok_or_else(|| {
        let what = format!(
            "{}: found {}; write a number from 0 to {WEIGHT_MAX}, such as \"0.5\"",
            message::path("spec.weights", name),
            message::quote(&found)
        );
        NotAccepted::new(reasons::PARSE_ERROR, &what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn terms(spec: serde_json::Value) -> Result<PolicyTerms, NotAccepted> {
        PolicyTerms::of(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn a_policy_that_says_nothing_is_the_default() {
        let terms = terms(json!({})).unwrap();
        let weights = ["cpus", "seats", "slots"].map(|name| (name.to_owned(), 1_000_000));
        assert_eq!((terms.weights, terms.half_life), (weights.into(), 86_400));
    }

    #[test]
    fn preemption_is_off_unless_it_is_asked_for() {
        assert_eq!(terms(json!({})).unwrap().preemption, None);
        assert_eq!(terms(json!({"preemption": {}})).unwrap().preemption, None);
        let rules = terms(json!({"preemption": {"mode": "DryRun", "reasons": ["Share"]}})).unwrap().preemption.unwrap();
        assert!(rules.is_dry_run);
        assert_eq!((rules.reasons, rules.min_runtime_seconds), ([PreemptionReason::Share].into(), 300));
        assert_eq!((rules.requirements.to_string(), rules.rank.to_string()), ("true".into(), "0".into()));
    }

    #[test]
    fn mistakes_name_the_field() {
        for (spec, said) in [
            (
                json!({"weights": {"cpus": "a lot"}}),
                "spec.weights.cpus: found `a lot`; write a number from 0 to 1000000",
            ),
            (json!({"weights": {"cpus": 1_000_001}}), "spec.weights.cpus: found `1000001`; write a number from 0 to"),
            (json!({"counters": [{"name": "vcs", "constraint": "App =="}]}), "spec.counters[0].constraint: line 1, "),
            (json!({"preemption": {"requirements": "RemoteUserPrio >"}}), "spec.preemption.requirements: line 1, "),
            (json!({"preemption": {"mode": "On", "rank": "("}}), "spec.preemption.rank: line 1, "),
            (
                json!({"counters": [{"name": "vcs", "constraint": "true"}, {"name": "vcs", "constraint": "true"}]}),
                "spec.counters[1]: `vcs` is defined twice; remove one of them",
            ),
        ] {
            let refused = terms(spec.clone()).unwrap_err();
            assert!(refused.message.starts_with(said), "{spec}: {refused}");
            assert_eq!(refused.reason == "DuplicateCounter", said.contains("defined twice"), "{spec}: {refused}");
        }
        assert_eq!(terms(json!({"weights": {"memory": "0.001"}})).unwrap().weights["memory"], 1000);
    }
}

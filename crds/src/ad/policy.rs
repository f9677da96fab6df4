//! What a PoolPolicy says into what is computed with: parsed, or why it is not accepted.

use std::collections::{BTreeMap, BTreeSet};

use classad::Expr;

use super::{Rejected, message, text};
use crate::conditions::reasons;
use crate::{ExprText, PoolPolicySpec, Submitters, charge_micros};

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
    pub fn of(spec: &PoolPolicySpec) -> Result<PolicyTerms, Rejected> {
        let weights = spec.weights.iter().map(|(name, weight)| Ok((name.clone(), weight_of(name, weight)?)));
        let mut names = BTreeSet::new();
        let mut counters = Vec::new();
        for counter in &spec.counters {
            if !names.insert(&counter.name) {
                let what =
                    format!("spec.counters: {} is defined twice; remove one of them", message::quote(&counter.name));
                return Err(Rejected::new(reasons::DUPLICATE_COUNTER, &what));
            }
            let place = format!("spec.counters, counter {}, constraint", message::quote(&counter.name));
            let constraint = text::expression(&place, &counter.constraint, &mut Vec::new())?;
            counters.push(CounterTerms { name: counter.name.clone(), constraint, resource: counter.resource.clone() });
        }
        Ok(PolicyTerms {
            submitters: spec.submitters,
            half_life: spec.half_life_seconds,
            weights: weights.collect::<Result<_, Rejected>>()?,
            counters,
        })
    }

    /// What counts of a spec that is not accepted, if no other one was accepted before: the default weights, and no counters.
    #[must_use]
    pub fn without_expressions(spec: &PoolPolicySpec) -> PolicyTerms {
        let plain = PoolPolicySpec { submitters: spec.submitters, ..PoolPolicySpec::default() };
        let weights = plain.weights.keys().map(|name| (name.clone(), 1_000_000)).collect();
        PolicyTerms { submitters: plain.submitters, half_life: plain.half_life_seconds, weights, counters: Vec::new() }
    }
}

fn weight_of(name: &str, weight: &ExprText) -> Result<i128, Rejected> {
    let found = weight.text();
    let micros = charge_micros(found.trim()).filter(|micros| *micros <= WEIGHT_MAX * 1_000_000);
    micros.ok_or_else(|| {
        let what = format!(
            "{}: found {}; write a number from 0 to {WEIGHT_MAX}, such as \"0.5\"",
            message::path("spec.weights", name),
            message::quote(&found)
        );
        Rejected::new(reasons::PARSE_ERROR, &what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn terms(spec: serde_json::Value) -> Result<PolicyTerms, Rejected> {
        PolicyTerms::of(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn a_policy_that_says_nothing_is_the_default() {
        let terms = terms(json!({})).unwrap();
        let weights = ["cpus", "seats", "slots"].map(|name| (name.to_owned(), 1_000_000));
        assert_eq!((terms.weights, terms.half_life), (weights.into(), 86_400));
    }

    #[test]
    fn mistakes_name_the_field() {
        for (spec, said) in [
            (
                json!({"weights": {"cpus": "a lot"}}),
                "spec.weights.cpus: found `a lot`; write a number from 0 to 1000000",
            ),
            (json!({"weights": {"cpus": 1_000_001}}), "spec.weights.cpus: found `1000001`; write a number from 0 to"),
            (
                json!({"counters": [{"name": "vcs", "constraint": "App =="}]}),
                "spec.counters, counter `vcs`, constraint: line 1, ",
            ),
            (
                json!({"counters": [{"name": "vcs", "constraint": "true"}, {"name": "vcs", "constraint": "true"}]}),
                "spec.counters: `vcs` is defined twice; remove one of them",
            ),
        ] {
            let refused = terms(spec.clone()).unwrap_err();
            assert!(refused.message.starts_with(said), "{spec}: {refused}");
        }
        assert_eq!(terms(json!({"weights": {"memory": "0.001"}})).unwrap().weights["memory"], 1000);
    }
}

//! Refusals: an answer of the API server into the reason that the claim gives; and each remembered, for the next cycle and for people.

use std::sync::PoisonError;

use claiming::Reason;
use crds::Refusal;
use crds::rules::message;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use matchmaker::AdKey;

use crate::api::Refused;
use crate::backoff::{jitter, retry_of};
use crate::claims::step::Step;
use crate::claims::view::Leg;
use crate::metrics;

/// The refusal of an offer.
pub(super) struct No<'v> {
    pub(super) leg: &'v Leg,
    /// Why, for people.
    pub(super) message: String,
    /// The offer is not to be tried again as long as neither ad changes.
    pub(super) for_good: bool,
}

impl Step<'_> {
    /// Remembers that an offer has refused the claim: in the process, for the next cycle, and in the job's status, for people.
    pub(super) fn note_refusal(&mut self, no: &No<'_>, reason: Reason) {
        let No { leg, message, for_good } = no;
        let view = &self.view;
        tracing::info!(r#match = %view.key, offer = %leg.key, kind = leg.kind, %reason, message, "the offer refuses the claim");
        self.context.metrics.count(&metrics::REFUSALS, &[reason.as_str()]);
        self.learned.message = format!("{} {}: {message}", leg.kind, leg.key);
        self.learned.refusals.push(Refusal {
            kind: leg.kind.clone(),
            namespace: leg.key.namespace.clone(),
            name: leg.key.name.clone(),
            reason: reason.as_str().to_owned(),
            message: message.chars().take(256).collect(),
            time: Some(Time(self.context.clock.now())),
        });
        let Some(job) = self.job() else { return };
        let about = (view.root.generation, leg.generation);
        let refused = crate::refusals::Refused { offer: ad_key(leg), about, for_good: *for_good };
        let jitter = jitter(&view.root.uid, view.found.as_ref().map_or(0, |found| found.spec.attempt));
        let mut refusals = self.claims.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.remember(&view.root.uid, &refused, &retry_of(&job), self.context.now_ms(), jitter);
    }
}

/// The ad of an offer.
pub(super) fn ad_key(leg: &Leg) -> AdKey {
    AdKey { kind: leg.kind.clone(), namespace: leg.key.namespace.clone(), name: leg.key.name.clone() }
}

/// The first rule that refuses a write, for people.
pub(super) fn first(refused: &Refused) -> String {
    refused.rules.first().cloned().unwrap_or_else(|| "it is not the object that was matched any more".to_owned())
}

/// Why an offer could not be reserved. A rule says which; a failed `test` means that the object is not the one that was
/// matched any more.
pub(super) fn of_offer(refused: &Refused) -> Reason {
    let says = |text: &str| refused.says(text);
    let full = [message::OVER_CAPACITY, message::CLAIM_NOT_OFFERED, message::SEAT_NOT_OFFERED, message::NEEDS_ITS_SEAT];
    // A ledger of 256 entries is full too: the schema's own rule says so.
    if full.into_iter().any(says) || says("Too many") { Reason::CapacityTaken } else { Reason::StaleAd }
}

/// Why a job could not be reserved.
pub(super) fn of_job(refused: &Refused) -> Reason {
    let says = |text: &str| refused.says(text);
    if says(message::HELD) || says(message::FINISHED) { Reason::JobTaken } else { Reason::StaleAd }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Refused {
        Refused { rules: vec![format!("Invalid value: {text}")], message: String::new() }
    }

    #[test]
    fn rules_are_told_apart_by_their_text() {
        assert_eq!(of_offer(&rule(message::OVER_CAPACITY)), Reason::CapacityTaken);
        assert_eq!(of_offer(&rule(message::NEEDS_ITS_SEAT)), Reason::CapacityTaken);
        assert_eq!(of_job(&rule(message::HELD)), Reason::JobTaken);
    }

    #[test]
    fn a_failed_test_means_another_object() {
        assert_eq!(of_offer(&Refused::default()), Reason::StaleAd);
        assert_eq!(of_job(&Refused::default()), Reason::StaleAd);
    }
}

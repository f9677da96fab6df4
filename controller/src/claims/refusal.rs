//! Refusals: turns a refused write into the reason of the claim, and records each refusal, also of an agent or of a constraint, for the next
//! cycle and for people.

use claiming::Reason;
use crds::Refusal;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use matchmaker::AdKey;

use crate::claims::step::Step;
use crate::claims::view::Leg;
use crate::cycle::backoff::{jitter, retry_of};
use crate::write::answer::{Denial, Rule};

/// The refusal of an offer.
pub(super) struct OfferRefusal<'v> {
    pub(super) leg: &'v Leg,
    /// Why, for people.
    pub(super) message: String,
    /// The offer is not to be tried again as long as neither ad changes.
    pub(super) for_good: bool,
}

impl Step<'_> {
    /// Remembers that an offer has refused the claim: in the process, for the next cycle, and in the job's status, for people.
    pub(super) fn note_refusal(&mut self, refusal: &OfferRefusal<'_>, reason: Reason) {
        let OfferRefusal { leg, message, for_good } = refusal;
        let view = &self.view;
        tracing::info!(r#match = %view.key, offer = %leg.key, kind = leg.kind.as_str(), %reason, message, "the offer refuses the claim");
        self.context.metrics.claims.refused(reason.as_str());
        self.learned.message = format!("{} {}: {message}", leg.kind, leg.key);
        self.learned.refusals.push(Refusal {
            kind: leg.kind.to_string(),
            namespace: leg.key.namespace.clone(),
            name: leg.key.name.clone(),
            reason: reason.as_str().to_owned(),
            message: message.chars().take(256).collect(),
            time: Some(Time(self.context.clock.now())),
        });
        let Some(job) = self.job() else { return };
        let about = (view.root.generation, leg.generation);
        let refused = crate::cycle::offer_backoff::NewRefusal { offer: ad_key(leg), about, for_good: *for_good };
        let jitter = jitter(&view.root.uid, view.found.as_ref().map_or(0, |found| found.spec.attempt));
        let mut refusals = self.claims.offer_backoff.lock();
        refusals.remember(&view.root.uid, &refused, &retry_of(&job), self.context.now_ms(), jitter);
    }
}

/// The ad of an offer.
pub(super) fn ad_key(leg: &Leg) -> AdKey {
    AdKey { kind: leg.kind.to_string(), namespace: leg.key.namespace.clone(), name: leg.key.name.clone() }
}

/// The first rule that refuses a write, for people.
pub(super) fn first(refused: &Denial) -> String {
    refused
        .breaches
        .first()
        .map(|breach| breach.message.clone())
        .unwrap_or_else(|| "it is not the object that was matched any more".to_owned())
}

/// Why an offer could not be reserved. A rule says which; a failed `test` means that the object is not the one that was
/// matched any more.
pub(super) fn of_offer(denial: &Denial) -> Reason {
    if denial.breaks(Rule::Capacity) { Reason::CapacityTaken } else { Reason::StaleAd }
}

/// Why a job could not be reserved.
pub(super) fn of_job(denial: &Denial) -> Reason {
    if denial.breaks(Rule::Held) || denial.breaks(Rule::Finished) { Reason::JobTaken } else { Reason::StaleAd }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::answer::Breach;

    fn by(rule: Rule) -> Denial {
        Denial { breaches: vec![Breach { rule, message: String::new() }], message: String::new() }
    }

    #[test]
    fn rules_say_why() {
        assert_eq!(of_offer(&by(Rule::Capacity)), Reason::CapacityTaken);
        assert_eq!(of_offer(&by(Rule::Other)), Reason::StaleAd);
        assert_eq!(of_job(&by(Rule::Held)), Reason::JobTaken);
    }

    #[test]
    fn a_failed_test_means_another_object() {
        assert_eq!(of_offer(&Denial::default()), Reason::StaleAd);
        assert_eq!(of_job(&Denial::default()), Reason::StaleAd);
    }
}

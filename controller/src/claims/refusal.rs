//! A no of the API server into the reason that the claim gives.

use claiming::Reason;
use crds::rules::message;

use crate::api::Refused;

/// Why an offer could not be reserved. A rule says which; a failed `test` means that the object is not the one that was
/// matched any more.
pub(crate) fn of_offer(refused: &Refused) -> Reason {
    let says = |text: &str| refused.says(text);
    let full = [message::OVER_CAPACITY, message::CLAIM_NOT_OFFERED, message::SEAT_NOT_OFFERED, message::NEEDS_ITS_SEAT];
    // A ledger of 256 entries is full too: the schema's own rule says so.
    if full.into_iter().any(says) || says("Too many") { Reason::CapacityTaken } else { Reason::StaleAd }
}

/// Why a job could not be reserved.
pub(crate) fn of_job(refused: &Refused) -> Reason {
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

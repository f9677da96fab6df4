//! A no of the API server into the reason that the claim gives.

use claiming::Reason;

use crate::write::answer::{Denial, Rule};

/// Why an offer could not be reserved. A rule says which; a failed `test` means that the object is not the one that was
/// matched any more.
pub(crate) fn of_offer(denial: &Denial) -> Reason {
    if denial.breaks(Rule::Capacity) { Reason::CapacityTaken } else { Reason::StaleAd }
}

/// Why a job could not be reserved.
pub(crate) fn of_job(denial: &Denial) -> Reason {
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

//! The PoolPolicy, and what counts of it.

use std::sync::Arc;

use crds::PoolPolicy;
use crds::ad::{NotAccepted, PolicyTerms};

/// The PoolPolicy as it was seen, and what counts of it.
#[derive(Clone, Debug)]
pub struct KnownPolicy {
    /// The object.
    pub object: Arc<PoolPolicy>,
    /// Its terms; if it is not accepted, those that were accepted last.
    pub terms: Arc<PolicyTerms>,
    /// Why it is not accepted.
    pub problem: Option<NotAccepted>,
}

impl KnownPolicy {
    /// A new state of the PoolPolicy, and what counts after the one that was known before.
    pub(crate) fn of(object: PoolPolicy, before: Option<&KnownPolicy>) -> KnownPolicy {
        let (terms, problem) = match (PolicyTerms::of(&object.spec), before) {
            (Ok(terms), Some(before)) if *before.terms == terms => (Arc::clone(&before.terms), None),
            (Ok(terms), _) => (Arc::new(terms), None),
            (Err(problem), Some(before)) => (Arc::clone(&before.terms), Some(problem)),
            (Err(problem), None) => (Arc::new(PolicyTerms::without_expressions(&object.spec)), Some(problem)),
        };
        KnownPolicy { object: Arc::new(object), terms, problem }
    }
}

//! Only the controller enters claims, and it never votes. Who wrote is read off what the API server notes of each field's
//! owner; where it notes nothing, nothing is said.

use crate::checks::Step;
use crate::{Invariant, Object, Violation};

/// As whom the controller writes.
const CONTROLLER: &str = "gangmatch";

pub(super) fn check(step: &Step<'_>) -> Vec<Violation> {
    let Some(after) = step.after.filter(|after| after.offer().is_some()) else { return Vec::new() };
    let mut all = Vec::new();
    for (uid, was, is) in step.entries() {
        let broken = match was {
            None => owner(after, uid, "match")
                .filter(|owner| *owner != CONTROLLER)
                .map(|owner| format!("{owner} entered it")),
            Some(was) if was.vote != is.vote || was.ballot != is.ballot => {
                let voter = owner(after, uid, if was.vote == is.vote { "ballot" } else { "vote" });
                voter.filter(|voter| *voter == CONTROLLER).map(|_| "the controller voted".to_owned())
            }
            Some(_) => None,
        };
        all.extend(broken.map(|what| step.violation(Invariant::Authority, format!("the entry of {uid}: {what}"))));
    }
    all
}

/// Who wrote a field of an entry last.
fn owner<'o>(offer: &'o Object, uid: &str, field: &str) -> Option<&'o str> {
    let path = format!("/f:status/f:claims/f:{}/f:{field}", uid.replace('~', "~0").replace('/', "~1"));
    let owns = offer
        .metadata()
        .managed_fields
        .iter()
        .flatten()
        .filter(|entry| entry.fields_v1.as_ref().is_some_and(|fields| fields.0.pointer(&path).is_some()));
    // Several own what they have all applied; the last one wrote it.
    owns.max_by_key(|entry| entry.time.as_ref().map(|time| time.0)).and_then(|entry| entry.manager.as_deref())
}

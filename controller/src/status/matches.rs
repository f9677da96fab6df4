//! A decision into the conditions of its Match.

use claiming::Reason;
use crds::Decision;
use crds::conditions::{Finding, Holds, reasons, set, types};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Brings the conditions of a Match in line with its decision.
pub(crate) fn decision_conditions(
    conditions: &mut Vec<Condition>,
    decision: Decision,
    reason: Option<Reason>,
    message: &str,
    now: Timestamp,
) {
    let why = reason.map_or(reasons::COMMITTED, Reason::as_str);
    let (reserved, claimed, released) = match decision {
        Decision::Pending => ((Holds::False, reasons::RESERVING), (Holds::False, reasons::RESERVING), None),
        Decision::Committed => (
            (Holds::True, reasons::ALL_RESERVED),
            (Holds::True, reasons::COMMITTED),
            Some((Holds::False, reasons::ACTIVE)),
        ),
        Decision::Aborted => ((Holds::False, why), (Holds::False, why), None),
        Decision::Released => ((Holds::True, reasons::ALL_RESERVED), (Holds::False, why), Some((Holds::True, why))),
    };
    let found = [(types::RESERVED, Some(reserved)), (types::CLAIMED, Some(claimed)), (types::RELEASED, released)];
    for (type_, (holds, reason)) in found.into_iter().filter_map(|(type_, found)| Some((type_, found?))) {
        let finding = Finding { type_, holds, reason, message: message.to_owned() };
        set(conditions, finding, Some(1), Time(now));
    }
}

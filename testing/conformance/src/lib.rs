//! Requests of the conformance cases into answers: one JSON object each, as the protocol of the cases has them.
//!
//! Expressions, parsing and bilateral matches are answered by the crate `classad`, gangs by the plain search of `matchmaker` under
//! the rules of the paper. For tests only: no program that is shipped depends on this crate.

mod gangs;
mod gridcam;
mod language;
mod optimum;
mod policy;
mod rntree;
mod sets;
mod summary;

use serde_json::Value;

/// Answer to one request, with the request's `id` where the language answers. An unknown op is `{"unsupported": op}`.
///
/// ```
/// let request = serde_json::json!({ "op": "eval", "ad": "[ x = 2 ]", "expr": "x + 1" });
/// assert_eq!(conformance::answer(&request), serde_json::json!({ "value": { "int": 3 } }));
/// ```
#[must_use]
pub fn answer(request: &Value) -> Value {
    match request.get("op").and_then(Value::as_str) {
        Some("gang") => gangs::answer(request),
        Some("decay" | "quota" | "shares" | "order" | "victims") => policy::answer(request),
        Some("placing" | "gridcam" | "trace") => gridcam::answer(request),
        Some("sets") => sets::answer(request),
        Some("optimum") => optimum::answer(request),
        Some("rntree") => rntree::answer(request),
        Some("summary" | "merge") => summary::answer(request),
        _ => language::answer(request),
    }
}

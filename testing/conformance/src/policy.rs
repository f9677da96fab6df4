//! Requests of the cases for `policy` into answers.

use serde_json::{Value, json};

/// Answer to one request.
pub(crate) fn answer(request: &Value) -> Value {
    json!({ "unsupported": request.get("op") })
}

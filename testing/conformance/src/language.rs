//! Requests about the language into answers: ops `eval`, `parse`, `match`.

use classad::{Context, Dialect, Env, Exhausted, Value, bilateral, eval, parse_ad, parse_expr};
use serde_json::{Map, Value as Json, json};

/// Answer to one request of the language, with the request's `id`. Any other op is `{"unsupported": op}`.
///
/// Requests are in HTCondor's own dialect, unless they have `"dialect": "gangmatch"`.
pub(crate) fn answer(request: &Json) -> Json {
    let text = |field: &str| request.get(field).and_then(Json::as_str).unwrap_or_default();
    let dialect = if text("dialect") == "gangmatch" { Dialect::Gangmatch } else { Dialect::Htcondor };
    let mut answer = match text("op") {
        "eval" => answer_eval(text("ad"), text("expr"), dialect),
        "parse" => answer_parse(text("kind"), text("text"), dialect),
        "match" => answer_match(text("left"), text("right"), dialect),
        other => json!({ "unsupported": other }),
    };
    if let (Some(id), Some(fields)) = (request.get("id"), answer.as_object_mut()) {
        fields.insert("id".to_owned(), id.clone());
    }
    answer
}

fn answer_eval(ad: &str, expr: &str, dialect: Dialect) -> Json {
    let Ok(ad) = parse_ad(ad, dialect) else { return json!({ "parse_error": "ad" }) };
    let Ok(expr) = parse_expr(expr, dialect) else { return json!({ "parse_error": "expr" }) };
    let mut env = Env::new();
    let frame = env.frame(&ad, None);
    json!({ "value": outcome(&eval(&expr, &env, frame, &context(dialect))) })
}

fn answer_parse(kind: &str, text: &str, dialect: Dialect) -> Json {
    let canonical = match kind {
        "ad" => parse_ad(text, dialect).map(|ad| ad.canonical()),
        _ => parse_expr(text, dialect).map(|expr| expr.canonical()),
    };
    json!({ "ok": canonical.is_ok(), "canonical": canonical.ok() })
}

fn answer_match(left: &str, right: &str, dialect: Dialect) -> Json {
    let (Ok(left), Ok(right)) = (parse_ad(left, dialect), parse_ad(right, dialect)) else {
        return json!({ "parse_error": "ad" });
    };
    let both = bilateral(&left, &right, &context(dialect));
    json!({
        "left_ok": both.left_ok(),
        "right_ok": both.right_ok(),
        "match": both.is_match(),
        "left_rank": outcome(&both.left_rank),
        "right_rank": outcome(&both.right_rank),
    })
}

fn context(dialect: Dialect) -> Context {
    Context { dialect, ..Context::default() }
}

/// The protocol knows no exhaustion; to its partners it looks like ERROR.
fn outcome(value: &Result<Value, Exhausted>) -> Json {
    value.as_ref().map_or_else(|_| to_json(&Value::Error), to_json)
}

/// A value as the protocol writes it: `{"int": 3}`, `{"undefined": null}`.
fn to_json(value: &Value) -> Json {
    match value {
        Value::Undefined => json!({ "undefined": null }),
        Value::Error => json!({ "error": null }),
        Value::Boolean(truth) => json!({ "bool": truth }),
        Value::Integer(number) => json!({ "int": number }),
        Value::Real(number) => json!({ "real": real(*number) }),
        Value::String(text) => json!({ "string": &**text }),
        Value::AbsTime { seconds, offset } => json!({ "abstime": [seconds, offset] }),
        Value::RelTime(seconds) => json!({ "reltime": real(*seconds) }),
        Value::List(items) => json!({ "list": items.iter().map(to_json).collect::<Vec<_>>() }),
        Value::Ad(attributes) => {
            let fields: Map<String, Json> =
                attributes.iter().map(|(name, value)| (name.as_str().to_owned(), to_json(value))).collect();
            json!({ "ad": fields })
        }
    }
}

fn real(number: f64) -> Json {
    if number.is_nan() {
        json!("NaN")
    } else if number.is_infinite() {
        json!(if number > 0.0 { "INF" } else { "-INF" })
    } else {
        json!(number)
    }
}

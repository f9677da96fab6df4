//! Turns a JSON value of a manifest into a literal of the language.

use std::collections::BTreeSet;

use classad::{Ad, Expr, Name, Value};
use serde_json::{Number, Value as Json};

use super::{NotAccepted, message};
use crate::conditions::reasons;

/// How deep lists and maps may be nested.
const NESTING_MAX: usize = 64;

/// The literal at `place`.
///
/// # Errors
/// If it is null or too large, is nested too deeply, or a map in it has a name twice.
pub(crate) fn expr(place: &str, json: &Json) -> Result<Expr, NotAccepted> {
    nested(place, json, NESTING_MAX)
}

fn nested(place: &str, json: &Json, depth_left: usize) -> Result<Expr, NotAccepted> {
    let Some(deeper) = depth_left.checked_sub(1) else {
        return Err(refused(place, &format!("lists and maps are nested deeper than {NESTING_MAX}; flatten them")));
    };
    Ok(match json {
        Json::Null => {
            let what =
                "found null, which is not a literal; remove the attribute, or write `undefined` in spec.expressions";
            return Err(refused(place, what));
        }
        Json::Bool(flag) => Expr::literal(Value::Boolean(*flag)),
        Json::Number(number) => Expr::literal(self::number(place, number)?),
        Json::String(text) => Expr::literal(string(place, text)?),
        Json::Array(items) => {
            let item = |(index, item)| nested(&format!("{place}[{index}]"), item, deeper);
            Expr::list(items.iter().enumerate().map(item).collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let (mut names, mut attributes) = (BTreeSet::new(), Vec::with_capacity(object.len()));
            for (key, value) in object {
                let inner = message::path(place, key);
                let name = Name::new(key.as_str());
                if let Some(first) = names.get(&name) {
                    let first = message::path(place, Name::as_str(first));
                    let what = format!(
                        "{inner}: {} is already defined at {first}; case is ignored in names, so remove one of them",
                        message::quote(key)
                    );
                    return Err(NotAccepted::new(reasons::DUPLICATE_ATTRIBUTE, &what));
                }
                if key.is_empty() || key.contains('\0') {
                    return Err(refused(
                        &inner,
                        "a name must not be empty or contain the character NUL; write a name such as `Memory`",
                    ));
                }
                attributes.push((name.clone(), nested(&inner, value, deeper)?));
                names.insert(name);
            }
            Expr::ad(attributes.into_iter().collect::<Ad>())
        }
    })
}

/// A number: whole ones are Integers, as the API server keeps no `1.0`.
fn number(place: &str, number: &Number) -> Result<Value, NotAccepted> {
    if let Some(integer) = number.as_i64() {
        return Ok(Value::Integer(integer));
    }
    match number.as_f64() {
        Some(real) if number.is_f64() => Ok(Value::Real(real)),
        _ => {
            let what =
                format!("found {number}, integers go up to {}; write it in spec.expressions as `{number}.0`", i64::MAX);
            Err(refused(place, &what))
        }
    }
}

fn string(place: &str, text: &str) -> Result<Value, NotAccepted> {
    if text.contains('\0') {
        return Err(refused(place, "found the character NUL, which strings cannot contain; remove it"));
    }
    Ok(Value::String(text.into()))
}

fn refused(place: &str, what: &str) -> NotAccepted {
    NotAccepted::new(reasons::PARSE_ERROR, &format!("{place}: {what}"))
}

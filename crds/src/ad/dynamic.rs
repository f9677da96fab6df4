//! Turns what an agent publishes in `status.attributes` into attributes of the types that the owner declared.

use classad::{Expr, Name, Value};
use serde_json::Value as Json;

use super::draft::Draft;
use super::{NotAccepted, message, system, text};
use crate::{DynamicAttribute, DynamicType, OfferFields, OfferStatus};

/// Reads the steps, which only an agent uses, so that a mistake shows at once.
///
/// # Errors
/// If one is no expression.
pub(crate) fn check_steps(fields: &OfferFields, draft: &mut Draft) -> Result<(), NotAccepted> {
    for (index, declared) in fields.dynamic_attributes.iter().enumerate() {
        if let Some(step) = &declared.min_change {
            text::expression(&format!("spec.dynamicAttributes[{index}].minChange"), step, &mut draft.warnings)?;
        }
    }
    Ok(())
}

/// Adds what is declared, has the declared type, and is not in the ad yet; warns of the rest.
pub(crate) fn apply(draft: &mut Draft, fields: &OfferFields, status: Option<&OfferStatus>) {
    for (name, json) in status.iter().flat_map(|status| &status.attributes) {
        let place = message::path("status.attributes", name);
        let Some(declared) = declaration(fields, name) else {
            draft.warnings.push(format!("{place} is ignored: declare it in spec.dynamicAttributes"));
            continue;
        };
        if system::OFFER.iter().any(|taken| taken.eq_ignore_ascii_case(name)) {
            draft.warnings.push(format!("{place} is ignored: this name is reserved for the system; choose another"));
            continue;
        }
        match value(json, declared.type_) {
            // The spec wins: the owner may pin what the agent publishes.
            Some(value) if draft.ad().get(name).is_none() => {
                draft.ad().insert(Name::new(declared.name.as_str()), Expr::literal(value));
            }
            Some(_) => {}
            None => {
                let found = message::quote(&json.to_string());
                draft.warnings.push(format!(
                    "{place} is {found}, which is ignored: it is declared as {}",
                    wanted(declared.type_)
                ));
            }
        }
    }
}

fn declaration<'a>(fields: &'a OfferFields, name: &str) -> Option<&'a DynamicAttribute> {
    fields.dynamic_attributes.iter().find(|declared| declared.name.eq_ignore_ascii_case(name))
}

fn value(json: &Json, type_: DynamicType) -> Option<Value> {
    match type_ {
        DynamicType::Integer => json.as_i64().map(Value::Integer),
        DynamicType::Real => json.as_f64().map(Value::Real),
        DynamicType::Boolean => json.as_bool().map(Value::Boolean),
        DynamicType::String => json.as_str().filter(|text| !text.contains('\0')).map(|text| Value::String(text.into())),
        DynamicType::Time => {
            let written = json.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
            written.map(jiff::Timestamp::as_second).or_else(|| json.as_i64()).map(Value::Integer)
        }
    }
}

fn wanted(type_: DynamicType) -> &'static str {
    match type_ {
        DynamicType::Integer => "Integer: publish a whole number",
        DynamicType::Real => "Real: publish a number",
        DynamicType::Boolean => "Boolean: publish true or false",
        DynamicType::String => "String: publish text",
        DynamicType::Time => "Time: publish RFC 3339 text such as \"2026-11-21T14:00:00Z\", or seconds since 1970",
    }
}

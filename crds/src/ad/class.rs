//! What a MachineClass says of capacities, and a node's attributes, into amounts.

use std::collections::BTreeMap;

use classad::{Ad, Context, Env, Name, Value, eval};
use serde_json::Value as Json;

use super::{Rejected, literal, message, text};
use crate::{ExprText, QUANTITY_MAX, Res};

/// The capacity of one Machine: each expression evaluated over the node's attributes. What is no whole number of at least 0 is
/// left out.
///
/// # Errors
/// If one of them is no expression, or an attribute no literal.
pub fn capacity(wanted: &BTreeMap<String, ExprText>, attributes: &BTreeMap<String, Json>) -> Result<Res, Rejected> {
    let mut ad = Ad::new();
    for (name, value) in attributes {
        ad.insert(Name::new(name.as_str()), literal::expr(&message::path("spec.attributes", name), value)?);
    }
    let mut env = Env::new();
    let frame = env.frame(&ad, None);
    let mut amounts = Res::new();
    for (resource, source) in wanted {
        let expr = text::expression(&message::path("spec.capacity", resource), source, &mut Vec::new())?;
        let amount = match eval(&expr, &env, frame, &Context::default()) {
            Ok(Value::Integer(amount)) => Some(amount),
            _ => None,
        };
        if let Some(amount) = amount.filter(|amount| (0..=QUANTITY_MAX).contains(amount)) {
            amounts.insert(resource.clone(), amount);
        }
    }
    Ok(amounts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(wanted: Json) -> Result<Res, Rejected> {
        let attributes =
            serde_json::from_value(json!({"Cpus": 16, "Memory": 65536, "Resources": {"x.com/gpu": 4}})).unwrap();
        capacity(&serde_json::from_value(wanted).unwrap(), &attributes)
    }

    #[test]
    fn capacities_are_evaluated_over_the_node() {
        let wanted = json!({"cpus": "Cpus - 2", "memory": "Memory / 2", "slots": 4, "gpus": "Resources.'x.com/gpu'",
            "none": "NoSuch", "odd": "Cpus / 3.0", "less": "Cpus - 17"});
        let expected =
            [("cpus", 14), ("memory", 32768), ("slots", 4), ("gpus", 4)].map(|(name, n)| (name.to_owned(), n));
        assert_eq!(of(wanted).unwrap(), Res::from(expected));
        let refused = of(json!({"cpus": "Cpus -"})).unwrap_err();
        assert!(refused.message.starts_with("spec.capacity.cpus: line 1, "), "{}", refused.message);
    }
}

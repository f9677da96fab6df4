//! What a MachineClass says of capacities, and a node's attributes, into amounts.

use std::collections::BTreeMap;

use classad::{Ad, Context, Env, Expr, Name, Value, eval, references, similar};
use serde_json::Value as Json;

use super::{NotAccepted, literal, message, text};
use crate::conditions::reasons;
use crate::{ExprText, QUANTITY_MAX, Res, quantity};

/// The capacity of one Machine: each expression evaluated over the node's attributes. What is no whole number of at least 0 is
/// left out.
///
/// # Errors
/// If one of them is no expression, or an attribute no literal.
pub fn capacity(wanted: &BTreeMap<String, ExprText>, attributes: &BTreeMap<String, Json>) -> Result<Res, NotAccepted> {
    let attribute = |(name, value): (&String, &Json)| {
        Ok((Name::new(name.as_str()), literal::expr(&message::path("spec.attributes", name), value)?))
    };
    let ad = attributes.iter().map(attribute).collect::<Result<Ad, NotAccepted>>()?;
    let mut env = Env::new();
    let frame = env.frame(&ad, None);
    let mut amounts = Res::new();
    for (resource, source) in wanted {
        let place = message::path("spec.capacity", resource);
        let expr = match quantity::amount(resource, &source.text()) {
            Some(Ok(amount)) => Expr::literal(Value::Integer(amount)),
            Some(Err(wrong)) => return Err(NotAccepted::new(reasons::INVALID_CAPACITY, &format!("{place}: {wrong}"))),
            None => text::expression(&place, source, &mut Vec::new())?,
        };
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

/// Whether a class's capacities can be had of nodes that have these attributes, whatever their values.
///
/// # Errors
/// If one of them is no expression, or reads a name that no node has: the message says which one is probably meant.
pub fn check_capacity(
    wanted: &BTreeMap<String, ExprText>,
    attributes: &BTreeMap<String, Json>,
) -> Result<(), NotAccepted> {
    let amounts = capacity(wanted, attributes)?;
    let known: Vec<Name> = attributes.keys().map(|name| Name::new(name.as_str())).collect();
    for (resource, source) in wanted.iter().filter(|(resource, _)| !amounts.contains_key(*resource)) {
        let place = message::path("spec.capacity", resource);
        let expr = text::expression(&place, source, &mut Vec::new())?;
        let names: Vec<Name> = references(&expr).into_iter().filter_map(|path| path.into_iter().next()).collect();
        if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
            let advice = match similar(unknown.as_str(), &known) {
                Some(meant) => format!("did you mean {}?", message::quote(meant.as_str())),
                None => {
                    "write a number, or an expression over the node's attributes such as `Cpus` or `Memory`".to_owned()
                }
            };
            let found = message::quote(unknown.as_str());
            let message = format!("{place}: no node has an attribute {found}; {advice}");
            return Err(NotAccepted::new(reasons::INVALID_CAPACITY, &message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn m11_a_capacity_of_a_name_that_no_node_has_is_refused() {
        let attributes = serde_json::from_value(json!({"Cpus": 16, "Memory": 65536, "Resources": {}})).unwrap();
        let check = |wanted: Json| check_capacity(&serde_json::from_value(wanted).unwrap(), &attributes);
        for (wanted, meant) in [
            (json!({"cpus": "Cpu"}), "spec.capacity.cpus: no node has an attribute `Cpu`; did you mean `Cpus`?"),
            (json!({"m": "Memroy - 4"}), "spec.capacity.m: no node has an attribute `Memroy`; did you mean `Memory`?"),
            (json!({"m": "Gadgets"}), "spec.capacity.m: no node has an attribute `Gadgets`; write a number"),
        ] {
            let problem = check(wanted).unwrap_err();
            assert_eq!(problem.reason, "InvalidCapacity");
            assert!(problem.message.starts_with(meant), "{problem}");
        }
        for fine in [json!({"cpus": "cpus - 2", "slots": 4}), json!({"gpus": "Resources.'x.com/gpu'"})] {
            assert_eq!(check(fine), Ok(()), "another node may have some");
        }
        assert_eq!(check(json!({"c": "ifThenElse(isUndefined(Gadgets), 1, Gadgets)"})), Ok(()), "it has an amount");
    }

    fn of(wanted: Json) -> Result<Res, NotAccepted> {
        let attributes =
            serde_json::from_value(json!({"Cpus": 16, "Memory": 65536, "Resources": {"x.com/gpu": 4}})).unwrap();
        capacity(&serde_json::from_value(wanted).unwrap(), &attributes)
    }

    #[test]
    fn capacities_are_evaluated_over_the_node() {
        let wanted = json!({"cpus": "Cpus - 2", "memory": "Memory / 2", "slots": 4, "gpus": "Resources.'x.com/gpu'",
            "none": "NoSuch", "odd": "Cpus / 3.0", "less": "Cpus - 17", "hugepages-2Mi": "4Gi"});
        let expected = [("cpus", 14), ("memory", 32768), ("slots", 4), ("gpus", 4), ("hugepages-2Mi", 4096)]
            .map(|(name, n)| (name.to_owned(), n));
        assert_eq!(of(wanted).unwrap(), Res::from(expected));
        let refused = of(json!({"cpus": "Cpus -"})).unwrap_err();
        assert!(refused.message.starts_with("spec.capacity.cpus: line 1, "), "{}", refused.message);
    }
}

//! Turns the fields of a spec into one ad: attributes, expressions, and the ports or the one implicit port.

use std::collections::BTreeMap;

use classad::{Ad, Expr, Name, Value};
use serde_json::Value as Json;

use super::draft::Draft;
use super::{NotAccepted, literal, message, text, units};
use crate::conditions::reasons;
use crate::quantity::{self, Unit};
use crate::{AdFields, ExprText, Port};

/// The ad that the fields say.
///
/// # Errors
/// If a field has no meaning, a name is written twice, or a port is not well formed.
pub(crate) fn ad(fields: &AdFields) -> Result<Draft, NotAccepted> {
    let mut draft = Draft::default();
    literals(&mut draft, "spec.attributes", fields.attributes.as_ref())?;
    expressions(&mut draft, "spec.expressions", fields.expressions.as_ref())?;
    if let Some(place) = draft.place("Ports") {
        return Err(NotAccepted::new(reasons::INVALID_PORT, &format!("{place}: ports are written in spec.ports")));
    }
    match fields.ports.as_deref() {
        Some(list @ [_, ..]) => ports(&mut draft, fields, list)?,
        Some([]) | None => implicit_port(&mut draft, fields)?,
    }
    Ok(draft)
}

fn literals(draft: &mut Draft, field: &str, map: Option<&BTreeMap<String, Json>>) -> Result<(), NotAccepted> {
    for (name, value) in map.into_iter().flatten() {
        let place = message::path(field, name);
        let expr = literal::expr(&place, value)?;
        draft.set(name, place, expr)?;
    }
    Ok(())
}

fn expressions(draft: &mut Draft, field: &str, map: Option<&BTreeMap<String, ExprText>>) -> Result<(), NotAccepted> {
    for (name, value) in map.into_iter().flatten() {
        let place = message::path(field, name);
        let expr = text::expression(&place, value, &mut draft.warnings)?;
        draft.set(name, place, expr)?;
    }
    Ok(())
}

fn implicit_port(draft: &mut Draft, fields: &AdFields) -> Result<(), NotAccepted> {
    if let Some(place) = draft.place("Constraint") {
        let warning = format!("{place}: is an ordinary attribute here and not the constraint; write spec.constraint");
        draft.warnings.push(warning);
    }
    match &fields.constraint {
        Some(constraint) => field(draft, "Requirements", "spec.constraint", constraint)?,
        // In this form, as users of Kubernetes expect, an ad without a constraint accepts every partner.
        None if draft.place("Requirements").is_none() => {
            draft.ad().insert("Requirements".into(), Expr::literal(Value::Boolean(true)));
        }
        None => {}
    }
    if let Some(rank) = &fields.rank {
        field(draft, "Rank", "spec.rank", rank)?;
    }
    if let Some(request) = &fields.request {
        let expr = amounts("spec.request", request, &mut draft.warnings)?;
        draft.set("Request", "spec.request".to_owned(), expr)?;
    }
    Ok(())
}

fn field(draft: &mut Draft, name: &str, place: &str, source: &ExprText) -> Result<(), NotAccepted> {
    let expr = text::expression(place, source, &mut draft.warnings)?;
    draft.set(name, place.to_owned(), expr)
}

/// What is asked of a partner, as a nested ad of amounts.
fn amounts(place: &str, request: &BTreeMap<String, ExprText>, warnings: &mut Vec<String>) -> Result<Expr, NotAccepted> {
    let mut amounts = Draft::default();
    for (name, source) in request {
        let place = message::path(place, name);
        let expr = match quantity::amount(name, &source.text()) {
            Some(Ok(amount)) => Expr::literal(Value::Integer(amount)),
            Some(Err(wrong)) => return Err(NotAccepted::new(reasons::PARSE_ERROR, &format!("{place}: {wrong}"))),
            None => text::expression(&place, source, &mut amounts.warnings)?,
        };
        if let (Some(Value::Integer(number)), Unit::Mebibytes) = (expr.as_literal(), Unit::of(name)) {
            amounts.warnings.extend(units::warning(&place, "the request", *number));
        }
        amounts.set(name, place, expr)?;
    }
    warnings.append(&mut amounts.warnings);
    Ok(Expr::ad(amounts.finish().ad))
}

fn ports(draft: &mut Draft, fields: &AdFields, list: &[Port]) -> Result<(), NotAccepted> {
    let beside = [
        ("constraint", fields.constraint.is_some()),
        ("rank", fields.rank.is_some()),
        ("request", fields.request.is_some()),
    ];
    if let Some((field, _)) = beside.iter().find(|(_, given)| *given) {
        let what = format!("spec.{field}: not allowed together with spec.ports; write it as spec.ports[0].{field}");
        return Err(NotAccepted::new(reasons::INVALID_PORT, &what));
    }
    let mut exprs = Vec::new();
    for (index, port) in list.iter().enumerate() {
        let place = format!("spec.ports[{index}]");
        exprs.push(Expr::ad(self::port(&place, port, &mut draft.warnings)?));
    }
    draft.set("Ports", "spec.ports".to_owned(), Expr::list(exprs))
}

fn port(place: &str, port: &Port, warnings: &mut Vec<String>) -> Result<Ad, NotAccepted> {
    let mut own = Draft::default();
    literals(&mut own, &format!("{place}.attributes"), port.attributes.as_ref())?;
    expressions(&mut own, &format!("{place}.expressions"), port.expressions.as_ref())?;
    let fields = [
        ("label", "label"),
        ("constraint", "constraint"),
        ("requirements", "constraint"),
        ("rank", "rank"),
        ("request", "request"),
    ];
    let counts = [("count", "count"), ("mincount", "minCount"), ("maxcount", "maxCount")];
    let of_set = [
        ("same", "same"),
        ("distinct", "distinct"),
        ("groupconstraint", "groupConstraint"),
        ("grouprank", "groupRank"),
    ];
    let set = &port.set;
    // Without a count, these are attributes like any other.
    let of_set = of_set.into_iter().filter(|_| set.count.is_some() || set.min_count.is_some());
    for (name, field) in fields.into_iter().chain(counts).chain(of_set) {
        if let Some(found) = own.place(name) {
            let what = format!("{found}: not an attribute of a port; write it as {place}.{field}");
            return Err(NotAccepted::new(reasons::INVALID_PORT, &what));
        }
    }
    warnings.append(&mut own.warnings);
    let label = (Name::new("Label"), Expr::literal(Value::String(port.label.as_str().into())));
    let others = own.ad().iter().map(|(name, expr)| (name.clone(), expr.clone()));
    let mut ad: Ad = std::iter::once(label).chain(others).collect();
    for (name, field, source) in [
        ("Constraint", "constraint", &port.constraint),
        ("Rank", "rank", &port.rank),
        ("Count", "count", &set.count),
        ("MinCount", "minCount", &set.min_count),
        ("MaxCount", "maxCount", &set.max_count),
        ("GroupConstraint", "groupConstraint", &set.group_constraint),
        ("GroupRank", "groupRank", &set.group_rank),
    ] {
        if let Some(source) = source {
            ad.insert(Name::new(name), text::expression(&format!("{place}.{field}"), source, warnings)?);
        }
    }
    for (name, names) in [("Same", &set.same), ("Distinct", &set.distinct)] {
        if let Some(names) = names {
            let list = names.iter().map(|name| Expr::literal(Value::String(name.as_str().into())));
            ad.insert(Name::new(name), Expr::list(list.collect::<Vec<_>>()));
        }
    }
    if let Some(request) = &port.request {
        ad.insert("Request".into(), amounts(&format!("{place}.request"), request, warnings)?);
    }
    Ok(ad)
}

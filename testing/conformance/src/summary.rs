//! Requests of the cases for `summary` into answers: ops `summary` and `merge`.

use std::collections::BTreeMap;

use classad::{Ad, Dialect, Expr, Name, parse_expr};
use serde_json::{Value, json};
use summary::{Limits, Offer, OfferFacts, Pool, Summary, may};

/// Answer to one request.
pub(crate) fn answer(request: &Value) -> Value {
    let limits = limits(request);
    let answered = match request.get("op").and_then(Value::as_str) {
        Some("merge") => merged(request, &limits),
        _ => asked(request, &limits),
    };
    answered.unwrap_or_else(|problem| json!({ "unsupported": problem }))
}

fn limits(request: &Value) -> Limits {
    let number =
        |field: &str| request.get(field).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
    let product = Limits::default();
    Limits {
        values: number("values").unwrap_or(product.values),
        bloom_bits: number("bits").unwrap_or(product.bloom_bits),
        ..product
    }
}

/// The summary of each part, merged.
fn merged(request: &Value, limits: &Limits) -> Result<Value, String> {
    let mut merged = Summary::default();
    for part in list(request, "parts") {
        merged = merged.merge(&summary(part.as_array().map_or(&[], Vec::as_slice), limits)?, limits);
    }
    Ok(json!({ "summary": merged }))
}

/// The summary of some ads, and what it says of constraints.
fn asked(request: &Value, limits: &Limits) -> Result<Value, String> {
    let summary = summary(list(request, "ads"), limits)?;
    let own = ad(&request["own"])?;
    let label = |(label, kind): (&String, &Value)| (Name::new(label.as_str()), kind.as_str().unwrap_or("").to_owned());
    let labels: BTreeMap<Name, String> = fields(&request["labels"]).map(label).collect();
    let mut verdicts = Vec::new();
    for text in list(request, "constraints") {
        verdicts.push(may(&expr(text)?, &own, &labels, &summary));
    }
    let fits = |label: &str, resource: &String, amount: &Value| {
        let kind = labels.get(&Name::new(label)).and_then(|kind| summary.kinds.get(&kind.to_ascii_lowercase()));
        let free = kind.and_then(|kind| kind.free.get(&resource.to_ascii_lowercase()));
        free.is_some_and(|free| amount.as_i64().is_some_and(|amount| free.max >= amount))
    };
    let free =
        fields(&request["ask"]).all(|(label, asks)| fields(asks).all(|(name, amount)| fits(label, name, amount)));
    let now = verdicts.iter().all(|may| *may) && free;
    Ok(json!({ "summary": summary, "may": verdicts, "now": now }))
}

/// The summary of ads as the cases write them; `Type` is added from the kind.
fn summary(ads: &[Value], limits: &Limits) -> Result<Summary, String> {
    let mut pool = Pool::new();
    for (place, offer) in ads.iter().enumerate() {
        let kind = offer["kind"].as_str().unwrap_or("");
        let mut body = ad(&offer["attributes"])?;
        body.insert(Name::new("Type"), Expr::literal(classad::Value::string(kind)));
        let amount = |(name, amount): (&String, &Value)| Some((name.clone(), amount.as_i64()?));
        let free = fields(&offer["free"]).filter_map(amount).collect();
        let offer = Offer { kind, body: &body, ports: &[], opaque: &[], free, shared: false };
        pool.put(place, OfferFacts::of(&offer));
    }
    Ok(pool.summary(limits))
}

fn ad(attributes: &Value) -> Result<Ad, String> {
    fields(attributes).map(|(name, text)| Ok((Name::new(name.as_str()), expr(text)?))).collect()
}

fn expr(text: &Value) -> Result<Expr, String> {
    parse_expr(text.as_str().unwrap_or(""), Dialect::Htcondor).map_err(|problem| problem.to_string())
}

fn list<'r>(request: &'r Value, field: &str) -> &'r [Value] {
    request.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

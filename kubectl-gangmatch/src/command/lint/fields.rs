//! The expressions of a manifest: where each stands, and what it has to be.

use serde_json::{Map, Value};

/// What the text of a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A whole ad.
    Ad,
    /// An expression that has to be true.
    Condition,
    /// How much of this resource is asked for.
    Amount(String),
    /// Any other expression.
    Expression,
}

/// A field with an expression.
pub(super) struct Field {
    /// As in `spec.ports[0].constraint`.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) role: Role,
}

/// The expressions of a spec.
pub(super) fn of(spec: &Value) -> Vec<Field> {
    let mut found = of_ad("spec", spec);
    for (index, port) in items(spec, "ports") {
        found.extend(of_ad(&format!("spec.ports[{index}]"), port));
    }
    for (index, counter) in items(spec, "counters") {
        found.extend(text(&format!("spec.counters[{index}]"), counter, "constraint", Role::Condition));
    }
    if let Some(preemption) = spec.get("preemption") {
        found.extend(text("spec.preemption", preemption, "requirements", Role::Condition));
        found.extend(text("spec.preemption", preemption, "rank", Role::Expression));
    }
    found.extend(map("spec", spec, "capacity"));
    found.extend(spec.get("workload").into_iter().flat_map(|workload| map("spec.workload", workload, "env")));
    found
}

/// Those of an ad, or of a port.
fn of_ad(path: &str, part: &Value) -> Vec<Field> {
    let fields = [
        ("classad", Role::Ad),
        ("constraint", Role::Condition),
        ("rank", Role::Expression),
        ("gangRank", Role::Expression),
        ("groupConstraint", Role::Condition),
        ("groupRank", Role::Expression),
        ("sharedBy", Role::Expression),
        ("chargeWeight", Role::Expression),
    ];
    let mut found: Vec<Field> = fields.into_iter().filter_map(|(name, role)| text(path, part, name, role)).collect();
    for mut field in map(path, part, "expressions") {
        if field.path.to_ascii_lowercase().ends_with(".requirements") {
            field.role = Role::Condition;
        }
        found.push(field);
    }
    for (name, value) in keys(part, "request") {
        let text = value.as_str().map(str::to_owned).or_else(|| value.as_i64().map(|number| number.to_string()));
        let path = format!("{path}.request.{name}");
        found.extend(text.map(|text| Field { path, text, role: Role::Amount(name.clone()) }));
    }
    found
}

fn text(path: &str, part: &Value, name: &str, role: Role) -> Option<Field> {
    let text = part.get(name)?.as_str()?.to_owned();
    Some(Field { path: format!("{path}.{name}"), text, role })
}

/// The expressions of a map.
fn map<'v>(path: &'v str, part: &'v Value, field: &'v str) -> impl Iterator<Item = Field> + 'v {
    keys(part, field).filter_map(move |(name, value)| {
        let text = value.as_str()?.to_owned();
        Some(Field { path: format!("{path}.{field}.{name}"), text, role: Role::Expression })
    })
}

/// The items of a list, by number.
pub(super) fn items<'v>(spec: &'v Value, field: &str) -> impl Iterator<Item = (usize, &'v Value)> + use<'v> {
    spec.get(field).and_then(Value::as_array).into_iter().flatten().enumerate()
}

/// The entries of a map.
pub(super) fn keys<'v>(part: &'v Value, field: &str) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
    part.get(field).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

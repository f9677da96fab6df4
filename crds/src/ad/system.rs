//! Turns what the cluster knows of an object into attributes that its author cannot forge.

use classad::{Ad, Expr, Name, Value};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::draft::Draft;
use super::message;
use crate::{AdKind, Res};

/// Attributes of every ad that are the system's.
pub(crate) const JOB: [&str; 7] = ["Type", "MyType", "Namespace", "Owner", "Uid", "Labels", "Members"];
/// Attributes of an offer's ad that are the system's.
pub(crate) const OFFER: [&str; 10] =
    ["Type", "MyType", "Namespace", "Owner", "Uid", "Labels", "Members", "Capacity", "Free", "NodeName"];
/// Those of them that the engine defines, for each match.
const ENGINE: &str = "Members";
/// The one that is never defined: whether a request fits is not a matter of constraints.
const RESERVED: &str = "Free";

/// Puts the system's values in the place of the author's, in the ad and in its ports. `Name` is the author's; by default it is the
/// object's.
pub(crate) fn apply(
    draft: &mut Draft,
    kind: AdKind,
    metadata: &ObjectMeta,
    owner: Option<&str>,
    names: &[&'static str],
) {
    let mut values = vec![("Type", string(kind.as_str())), ("MyType", string(kind.as_str()))];
    let texts = [("Namespace", metadata.namespace.as_deref()), ("Owner", owner), ("Uid", metadata.uid.as_deref())];
    values.extend(texts.into_iter().filter_map(|(name, text)| Some((name, string(text?)))));
    let labels = metadata.labels.iter().flatten();
    values.push(("Labels", Expr::ad(labels.map(|(key, value)| (Name::new(key.as_str()), string(value))).collect())));

    strip_ports(draft, names);
    for name in names.iter().copied().filter(|name| !["Capacity", "NodeName"].contains(name)) {
        let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        put(draft, name, value);
    }
    if let (None, Some(name)) = (draft.ad().get("Name"), metadata.name.as_deref()) {
        draft.ad().insert("Name".into(), string(name));
    }
}

/// Puts in what the system knows of an offer besides.
pub(crate) fn apply_offer(draft: &mut Draft, capacity: &Res, node_name: Option<&str>) {
    let amounts =
        capacity.iter().map(|(name, amount)| (Name::new(name.as_str()), Expr::literal(Value::Integer(*amount))));
    put(draft, "Capacity", Some(Expr::ad(amounts.collect())));
    put(draft, "NodeName", node_name.map(string));
}

fn string(text: &str) -> Expr {
    Expr::literal(Value::String(text.into()))
}

/// Replaces the author's value, and says so unless it was the same.
fn put(draft: &mut Draft, name: &'static str, value: Option<Expr>) {
    if let Some(written) = draft.ad().remove(name)
        && value.as_ref() != Some(&written)
    {
        let place = draft.place(name).unwrap_or("spec").to_owned();
        draft.warnings.push(overruled(&place, name, &written, value.as_ref()));
    }
    if let Some(value) = value {
        draft.ad().insert(Name::new(name), value);
    }
}

/// A partner sees a port's attributes before the ad's, so the system's names are not the port's either.
fn strip_ports(draft: &mut Draft, names: &[&'static str]) {
    let Some(expr) = draft.ad().get("Ports").cloned() else { return };
    let Some(list) = expr.as_list() else { return };
    let place = draft.place("Ports").unwrap_or("spec.ports").to_owned();
    let mut ports = Vec::with_capacity(list.len());
    let mut warnings = Vec::new();
    for (index, port) in list.iter().enumerate() {
        let Some(forged) = port.as_ad().filter(|ad| names.iter().any(|name| ad.get(name).is_some())) else {
            ports.push(port.clone());
            continue;
        };
        let mut own: Ad = forged.clone();
        for name in names {
            if let Some(written) = own.remove(name) {
                let found = message::quote(&written.to_string());
                warnings.push(format!(
                    "{place}[{index}]: {name} is {found}, which is ignored: this name is reserved for the system; choose another"
                ));
            }
        }
        ports.push(Expr::ad(own));
    }
    if !warnings.is_empty() {
        draft.warnings.append(&mut warnings);
        draft.ad().insert("Ports".into(), Expr::list(ports));
    }
}

fn overruled(place: &str, name: &str, written: &Expr, value: Option<&Expr>) -> String {
    let found = message::quote(&written.to_string());
    match value {
        Some(value) => {
            format!("{place} is {found}, which is ignored: the system sets {}", message::quote(&value.to_string()))
        }
        None if name == ENGINE => {
            format!("{place} is {found}, which is ignored: the system sets it in each match")
        }
        None if name == RESERVED => {
            format!(
                "{place} is {found}, which is ignored: this name is reserved; whether a request fits is checked automatically"
            )
        }
        None => format!("{place} is {found}, which is ignored: the system sets `undefined`"),
    }
}

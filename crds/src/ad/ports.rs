//! Turns the `Ports` of an ad, in whichever form it was written, into certainty that they are well formed.

use std::collections::BTreeMap;

use classad::{Ad, Expr, Name, Value, equated, is_identifier, is_language_word, is_scope_word, references, similar};

use super::draft::Draft;
use super::system::OFFER;
use super::{NotAccepted, counts, message};

/// Most ports of an ad.
const PORTS_MAX: usize = 8;
/// Longest label, in bytes.
const LABEL_LENGTH_MAX: usize = 63;
/// The values of `Type`.
const KINDS: [&str; 3] = ["Job", "Machine", "License"];

/// Checks the ports, and warns of what is written beside them in vain.
///
/// # Errors
/// If `Ports` is no list of ads, or the label of one is missing, no name, reserved, or there twice, or if a count cannot be one.
pub(crate) fn check(draft: &mut Draft) -> Result<(), NotAccepted> {
    let Some(expr) = draft.ad().get("Ports").cloned() else {
        let found = draft.place("Requirements").map(str::to_owned).zip(draft.ad().get("Requirements").cloned());
        let odd = |(place, constraint): (String, Expr)| {
            ["other", "target"].iter().find_map(|label| odd_kind(&place, &constraint, &Name::from(*label)))
        };
        let warning = if found.is_none() { without_requirements(draft.ad()) } else { found.and_then(odd) };
        draft.warnings.extend(warning);
        return Ok(());
    };
    let place = draft.place("Ports").unwrap_or("spec.ports").to_owned();
    let Some(list) = expr.as_list() else {
        let what = format!(
            "found {}; write a list of ads: `{{ [ Label = cpu; Constraint = true ] }}`",
            message::quote(&expr.to_string())
        );
        return Err(NotAccepted::port(&place, &what));
    };
    if list.len() > PORTS_MAX {
        return Err(NotAccepted::port(&place, &format!("found {} ports; write at most {PORTS_MAX}", list.len())));
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, port) in list.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let label = label(&place, port)?;
        if let Some(first) = seen.insert(label.to_ascii_lowercase(), index) {
            let what = format!(
                "the label {} is already used by port {first}; case is ignored in labels, so choose another",
                message::quote(&label)
            );
            return Err(NotAccepted::port(&place, &what));
        }
        let given = |name: &str| port.as_ad().is_some_and(|ad| ad.get(name).is_some());
        if given("Constraint") && given("Requirements") {
            return Err(NotAccepted::port(
                &place,
                "found Constraint and Requirements, which mean the same; remove one of them",
            ));
        }
    }
    if list.is_empty() {
        return Ok(());
    }
    counts::check(&place, list)?;
    let body: Vec<Name> = draft.ad().iter().map(|(name, _)| name.clone()).collect();
    let odd = odd_names(&place, list, &body);
    draft.warnings.extend(odd);
    for name in ["Requirements", "Constraint"] {
        if let Some(place) = draft.place(name) {
            let what =
                format!("{place}: has no effect, because the ad has ports; write it as the constraint of a port");
            draft.warnings.push(what);
        }
    }
    Ok(())
}

/// An ad as text that has neither ports nor requirements: as in HTCondor, it matches nothing.
fn without_requirements(ad: &Ad) -> Option<String> {
    if ad.get("Requirements").is_some() {
        return None;
    }
    let names: Vec<Name> = ad.iter().map(|(name, _)| name.clone()).collect();
    let advice = match similar("Requirements", &names) {
        Some(written) => format!("is {} misspelled?", message::quote(written.as_str())),
        None => "to accept every partner, write `Requirements = true`".to_owned(),
    };
    Some(format!("spec.classad: the ad has no Requirements, which accepts no partner; {advice}"))
}

/// What the constraints of ports select from that is neither a label there nor an attribute, and kinds that do not exist.
fn odd_names(place: &str, list: &[Expr], body: &[Name]) -> Vec<String> {
    let ports: Vec<(Name, &Ad)> =
        list.iter().filter_map(|port| Some((Name::new(label("", port).ok()?), port.as_ad()?))).collect();
    let mut found = Vec::new();
    for (index, (label, port)) in ports.iter().enumerate() {
        let place = format!("{place}[{index}].constraint");
        let Some(constraint) = port.get("Constraint").or_else(|| port.get("Requirements")) else { continue };
        let is_system = |name: &Name| OFFER.iter().any(|own| name.as_str().eq_ignore_ascii_case(own));
        let is_own = |name: &Name| body.contains(name) || port.get(name.as_str()).is_some() || is_system(name);
        let mut seen: Vec<Name> = Vec::new();
        for path in references(constraint) {
            let [base, _, ..] = path.as_slice() else { continue };
            let is_word = is_scope_word(base.as_str());
            if is_word || is_own(base) || seen.contains(base) {
                continue;
            }
            seen.push(base.clone());
            let names: Vec<&str> = ports.iter().map(|(label, _)| label.as_str()).collect();
            let what = match ports.iter().position(|(label, _)| label == base) {
                Some(at) if at <= index => continue,
                Some(_) => format!(
                    "is the label of a later port, which is not bound yet; move port {} behind it",
                    message::quote(label.as_str())
                ),
                None => format!("is neither a label nor an attribute; the labels are {}", names.join(", ")),
            };
            found.push(format!("{place}: {} {what}", message::quote(base.as_str())));
        }
        found.extend(odd_kind(&place, constraint, label));
    }
    found
}

/// A kind that a constraint asks for, and that does not exist.
fn odd_kind(place: &str, constraint: &Expr, label: &Name) -> Option<String> {
    let (_, kind) = equated(constraint, label, "Type")?;
    if KINDS.iter().any(|known| known.eq_ignore_ascii_case(&kind)) {
        return None;
    }
    let known: Vec<Name> = KINDS.into_iter().map(Name::from).collect();
    let advice = match similar(&kind, &known) {
        Some(meant) => format!("did you mean {}?", meant.as_str()),
        None => format!("there are {}", KINDS.join(", ")),
    };
    Some(format!("{place}: no ad has the Type {}; {advice}", message::quote(&kind)))
}

/// The label of a port: a bare name or a string.
fn label(place: &str, port: &Expr) -> Result<String, NotAccepted> {
    let Some(ad) = port.as_ad() else {
        let what =
            format!("found {}; write an ad: `[ Label = cpu; Constraint = true ]`", message::quote(&port.to_string()));
        return Err(NotAccepted::port(place, &what));
    };
    let Some(expr) = ad.get("Label") else {
        return Err(NotAccepted::port(place, "found no Label; write one, such as `Label = cpu`"));
    };
    let label = match (expr.as_attribute(), expr.as_literal()) {
        (Some(name), _) => name.as_str().to_owned(),
        (None, Some(Value::String(text))) => text.to_string(),
        (None, _) => String::new(),
    };
    let quoted = message::quote(&if label.is_empty() { expr.to_string() } else { label.clone() });
    if !is_identifier(&label) || label.len() > LABEL_LENGTH_MAX {
        let what = format!(
            "found the label {quoted}; write a letter or underscore, then letters, digits, underscores, at most {LABEL_LENGTH_MAX}"
        );
        return Err(NotAccepted::port(place, &what));
    }
    if is_language_word(&label) {
        return Err(NotAccepted::port(
            place,
            &format!("the label {quoted} is a reserved word; choose another, such as `cpu`"),
        ));
    }
    Ok(label)
}

//! Whether an ad has constraints: a Job without any would take the first offer, whatever it is.

use classad::{Expr, Value, constant};

use super::draft::Draft;
use super::{NotAccepted, message, units};
use crate::conditions::reasons;
use crate::{AdFields, Job};

/// Checks that a Job says something, and warns if it takes just any partner.
///
/// # Errors
/// If it says nothing at all.
pub(super) fn check_job(job: &Job, draft: &mut Draft) -> Result<(), NotAccepted> {
    let AdFields { classad, constraint, request, ports, attributes, expressions, .. } = &job.spec.ad;
    let names = classad.is_some()
        || constraint.is_some()
        || ports.as_ref().is_some_and(|ports| !ports.is_empty())
        || request.as_ref().is_some_and(|request| !request.is_empty())
        || draft.place("Requirements").is_some();
    let says = attributes.as_ref().is_some_and(|all| !all.is_empty())
        || expressions.as_ref().is_some_and(|all| !all.is_empty());
    if !names && !says {
        let message = "spec: the job asks for no partner; write `constraint`, such as other.Type == \"Machine\", or `request`, or `ports` \
                       (`constraint: \"true\"` accepts any offer, even a license)";
        return Err(NotAccepted::new(reasons::INVALID_PORT, message));
    }
    let bytes: Vec<String> =
        conditions(draft).iter().flat_map(|(place, condition)| units::warnings(place, condition)).collect();
    draft.warnings.extend(bytes);
    let any = |(place, condition): (String, Expr)| {
        matches!(condition.as_literal(), Some(Value::Boolean(true))).then_some(place)
    };
    let of_any: Vec<String> = conditions(draft).into_iter().filter_map(any).collect();
    draft.warnings.extend(of_any.iter().map(|place| {
        format!("{place}: accepts any offer, even a license; restrict it, for example with other.Type == \"Machine\"")
    }));
    // What the pods of a template request restricts its offers, too.
    let requests = job.spec.workload.as_ref().is_some_and(|workload| workload.job_template.is_some());
    if !names && !requests {
        // A misspelled `constraint` is cut off by the API server, and what is left accepts everything.
        let warning = "spec: has no constraint, so the job accepts any offer, even a license; write `constraint`, for example \
                       other.Type == \"Machine\"";
        draft.warnings.push(warning.to_owned());
    }
    let ports = job.spec.ad.ports.iter().flatten().enumerate().filter(|_| !requests);
    let open = ports.filter(|(_, port)| port.constraint.is_none() && port.request.is_none());
    draft.warnings.extend(open.map(|(index, port)| {
        let label = &port.label;
        format!(
            "spec.ports[{index}]: has no constraint, so it accepts any offer, even a license; write `constraint`, for example \
             {label}.Type == \"Machine\""
        )
    }));
    Ok(())
}

/// Checks that no constraint is a constant that is no condition: a number other than 0 would count as true.
///
/// # Errors
/// If one is.
pub(super) fn check(draft: &mut Draft) -> Result<(), NotAccepted> {
    for (place, condition) in conditions(draft) {
        let what = match constant(&condition) {
            Some(Value::Integer(_) | Value::Real(_)) => "a number",
            Some(Value::String(_)) => "a text",
            _ => continue,
        };
        let found = message::quote(&condition.to_string());
        let advice = "write a comparison such as `other.Memory >= 64`, or `true` for any partner";
        let message = format!("{place}: found {found}, which is {what}, not a condition; {advice}");
        return Err(NotAccepted::new(reasons::INVALID_PORT, &message));
    }
    Ok(())
}

/// The constraints of an ad, each with its place.
fn conditions(draft: &mut Draft) -> Vec<(String, Expr)> {
    let ad = draft.ad().clone();
    if let Some(ports) = ad.get("Ports").and_then(Expr::as_list).filter(|ports| !ports.is_empty()) {
        let place = draft.place("Ports").unwrap_or("spec.ports");
        let of = |(index, port): (usize, &Expr)| {
            let ad = port.as_ad()?;
            let condition = ad.get("Constraint").or_else(|| ad.get("Requirements"))?;
            let field = if place == "spec.ports" { "constraint" } else { "Constraint" };
            Some((format!("{place}[{index}].{field}"), condition.clone()))
        };
        return ports.iter().enumerate().filter_map(of).collect();
    }
    let place = draft.place("Requirements");
    let condition = place.and_then(|place| Some((place.to_owned(), ad.get("Requirements")?.clone())));
    condition.into_iter().collect()
}

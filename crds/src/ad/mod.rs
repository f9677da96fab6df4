//! Turns a Kubernetes object into the ad that the engine matches, or says what to change in it.
//!
//! What counts for a name, in this order: the system, the spec, `status.attributes` of an offer.

mod class;
mod counts;
mod draft;
mod dynamic;
mod literal;
mod message;
mod partner;
mod policy;
mod ports;
mod private;
mod size;
mod structured;
mod system;
mod template_request;
mod text;
mod units;
mod workload;

use classad::{Ad, Expr};

use crate::conditions::{Finding, Holds, reasons, types};
use crate::{AdFields, AdKind, ExprText, Job, License, Machine, Offer};
pub use class::{capacity, check_capacity};
use draft::Draft;
pub use message::{line, shows_as_written};
pub use policy::{CounterTerms, PolicyTerms, PreemptionRules};
pub use size::{AD_BYTES_MAX, AD_ELEMENTS_MAX, Size};
pub use workload::{GRACE_SECONDS_MAX, environment};

/// Most warnings that are kept of one object.
pub const WARNINGS_MAX: usize = 16;
/// Longest message or warning, in bytes.
pub const MESSAGE_LENGTH_MAX: usize = 1024;

/// An object's ad, ready to be matched.
#[derive(Clone, Debug)]
pub struct Advertised {
    /// The ad, with the system's values in it and the attributes in `spec.private` hidden. `Members` is the engine's to define, for each match; `Free` is reserved.
    pub ad: Ad,
    /// What in the object does not count, or probably means something else than was meant; one line each.
    pub warnings: Vec<String>,
    /// The expression by whose value claims share a seat.
    pub shared_by: Option<Expr>,
    /// The expression that says what a claim on it costs.
    pub charge_weight: Option<Expr>,
}

/// Why an object is not accepted: the reason and the message of its condition `Accepted`, which is False.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct NotAccepted {
    /// One of the reasons of `Accepted` in [`crate::conditions::reasons`], such as `ParseError`.
    pub reason: &'static str,
    /// Where, what was found, and what to write instead; one line of at most [`MESSAGE_LENGTH_MAX`] bytes.
    pub message: String,
}

/// What the condition `Accepted` of an object says: false if there is a problem.
#[must_use]
pub fn accepted(problem: Option<&NotAccepted>) -> Finding {
    let (holds, reason, message) = match problem {
        None => (Holds::True, reasons::ACCEPTED, String::new()),
        Some(problem) => (Holds::False, problem.reason, problem.message.clone()),
    };
    Finding { type_: types::ACCEPTED, holds, reason, message }
}

impl NotAccepted {
    /// With this reason and this message, which is cut to one line.
    #[must_use]
    pub fn new(reason: &'static str, message: &str) -> Self {
        Self { reason, message: message::line(message) }
    }

    /// A port that is not well formed: the place, and what to write instead.
    fn port(place: &str, what: &str) -> Self {
        Self::new(reasons::INVALID_PORT, &format!("{place}: {what}"))
    }
}

/// The ad of a Job.
///
/// # Errors
/// If the spec has no meaning: the message names the field, line and column, and what to write instead.
pub fn job_ad(job: &Job) -> Result<Advertised, NotAccepted> {
    Size::of_job(job).check()?;
    let mut draft = draft(&job.spec.ad, job.spec.gang_rank.as_ref())?;
    let private = private::names(job.spec.ad.private.as_ref(), &mut draft)?;
    partner::check_job(job, &mut draft)?;
    workload::check(job, &mut draft)?;
    template_request::apply(job, &mut draft)?;
    system::apply(&mut draft, AdKind::Job, &job.metadata, job.spec.ad.owner.as_deref(), &system::JOB);
    private::apply(&mut draft, &private);
    Ok(draft.finish())
}

/// The ad of a Machine.
///
/// # Errors
/// As [`job_ad`].
pub fn machine_ad(machine: &Machine) -> Result<Advertised, NotAccepted> {
    offer_ad(machine)
}

/// The ad of a License.
///
/// # Errors
/// As [`job_ad`]; also if `sharedBy` is no expression.
pub fn license_ad(license: &License) -> Result<Advertised, NotAccepted> {
    let shared_by = expression("spec.sharedBy", license.spec.shared_by.as_ref())?;
    Ok(Advertised { shared_by, ..offer_ad(license)? })
}

fn expression(place: &str, text: Option<&ExprText>) -> Result<Option<Expr>, NotAccepted> {
    text.map(|text| text::expression(place, text, &mut Vec::new())).transpose()
}

fn offer_ad<O: Offer>(offer: &O) -> Result<Advertised, NotAccepted> {
    Size::of_offer(offer).check()?;
    let charge_weight = expression("spec.chargeWeight", offer.offer_fields().charge_weight.as_ref())?;
    let fields = offer.ad_fields();
    let mut draft = draft(fields, None)?;
    let private = private::names(fields.private.as_ref(), &mut draft)?;
    dynamic::check_steps(offer.offer_fields(), &mut draft)?;
    system::apply(&mut draft, O::KIND.into(), offer.meta(), fields.owner.as_deref(), &system::OFFER);
    system::apply_offer(&mut draft, offer.capacity(), offer.node_name());
    dynamic::apply(&mut draft, offer.offer_fields(), offer.status());
    private::apply(&mut draft, &private);
    Ok(Advertised { charge_weight, ..draft.finish() })
}

fn draft(fields: &AdFields, gang_rank: Option<&ExprText>) -> Result<Draft, NotAccepted> {
    let mut draft = match &fields.classad {
        Some(text) => {
            one_form(fields)?;
            text::ad(text)?
        }
        None => structured::ad(fields)?,
    };
    if let Some(text) = gang_rank {
        let expr = text::expression("spec.gangRank", text, &mut draft.warnings)?;
        draft.set("GangRank", "spec.gangRank".to_owned(), expr)?;
    }
    ports::check(&mut draft)?;
    partner::check(&mut draft)?;
    Ok(draft)
}

/// The API server sees to it; manifests that never met one are checked here.
fn one_form(fields: &AdFields) -> Result<(), NotAccepted> {
    let other = [
        ("attributes", fields.attributes.is_some()),
        ("expressions", fields.expressions.is_some()),
        ("ports", fields.ports.is_some()),
        ("constraint", fields.constraint.is_some()),
        ("rank", fields.rank.is_some()),
        ("request", fields.request.is_some()),
    ];
    match other.iter().find(|(_, given)| *given) {
        Some((field, _)) => {
            let message = format!("spec.{field}: not allowed together with spec.classad; write the ad in one of them");
            Err(NotAccepted::new(reasons::PARSE_ERROR, &message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

//! The attributes that an author keeps private: which names can be, and the ad without them for partners.

use classad::{Expr, Name, Value, is_scope_word};

use super::draft::Draft;
use super::{NotAccepted, message, system};
use crate::conditions::reasons;

/// Attributes that say what the ad asks for: the engine reads them by name.
const READ: [(&str, &str); 6] = [
    ("Ports", "make the attributes that the ports read private"),
    ("Constraint", "make the attributes that it reads private"),
    ("Requirements", "make the attributes that it reads private"),
    ("Rank", "make the attributes that it reads private"),
    ("GangRank", "make the attributes that it reads private"),
    ("Label", "make the attributes of the ad private, not those of a port"),
];
/// How the names of requested amounts begin, in small letters: `Request`, `RequestCpus`.
const REQUEST: &str = "request";
/// The label of the port at which an offer has its job.
const REQUESTER: &str = "requester";

/// The names in `spec.private`.
///
/// # Errors
/// If one of them cannot be private, because partners or the engine have to read it, or because it is a label: the message names the
/// place and what to write instead.
pub(super) fn names(private: Option<&Vec<String>>, draft: &mut Draft) -> Result<Vec<Name>, NotAccepted> {
    let mut names = Vec::new();
    let labels = if private.is_some() { labels(draft) } else { Vec::new() };
    for (index, name) in private.into_iter().flatten().enumerate() {
        if let Some(problem) = problem(name, &labels) {
            let what = format!("spec.private[{index}]: {problem}");
            return Err(NotAccepted::new(reasons::PARSE_ERROR, &what));
        }
        names.push(Name::new(name.as_str()));
    }
    Ok(names)
}

/// Hides these attributes of the finished ad.
pub(super) fn apply(draft: &mut Draft, names: &[Name]) {
    if !names.is_empty() {
        *draft.ad() = draft.ad().hide(names);
    }
}

/// Why a name cannot be private, and what to write instead.
fn problem(name: &str, labels: &[String]) -> Option<String> {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let quoted = message::quote(name);
    if name.is_empty() || name.contains('\0') {
        return Some("a name must not be empty or contain the character NUL; write a name such as `Cost`".to_owned());
    }
    if let Some((_, advice)) = READ.iter().find(|(read, _)| is(read)) {
        return Some(format!("{quoted} says which partners are wanted and cannot be private; {advice}"));
    }
    if is_scope_word(name) || is(REQUESTER) {
        return Some(format!(
            "{quoted} means an ad in expressions and is no attribute; write the name of an attribute"
        ));
    }
    if name.get(..REQUEST.len()).is_some_and(|start| start.eq_ignore_ascii_case(REQUEST)) {
        return Some(format!(
            "{quoted} says how much is requested and cannot be private; make the attributes that it reads private"
        ));
    }
    if system::OFFER.iter().any(|system| is(system)) {
        return Some(format!("{quoted} is set by the system and cannot be private; remove it"));
    }
    if labels.iter().any(|label| is(label)) {
        return Some(format!("{quoted} is the label of a port, too; choose another label or another name"));
    }
    None
}

/// The labels of the ad's ports.
fn labels(draft: &mut Draft) -> Vec<String> {
    let ports = draft.ad().get("Ports").and_then(Expr::as_list).unwrap_or_default();
    let label = |port: &Expr| {
        let label = port.as_ad()?.get("Label")?;
        match (label.as_attribute(), label.as_literal()) {
            (Some(name), _) => Some(name.as_str().to_owned()),
            (None, Some(Value::String(text))) => Some(text.to_string()),
            (None, _) => None,
        }
    };
    ports.iter().filter_map(label).collect()
}

//! The selectors of a list or a watch, and whether an object is selected.

use serde_json::Value;

use crate::call::Call;

/// The fields by which objects are selected: of all kinds, of jobs, of pods, and of events.
const FIELDS: [&str; 12] = [
    "metadata.name",
    "metadata.namespace",
    "spec.owner",
    "spec.nodeName",
    "status.phase",
    "type",
    "reason",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.uid",
    "involvedObject.apiVersion",
];

/// What is selected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
enum Term {
    Label { name: String, value: Option<String>, is: bool },
    Field { name: String, value: String, is: bool },
}

impl Selector {
    /// What a call selects; `None` if it is more than is understood here.
    pub(crate) fn of(call: &Call) -> Option<Selector> {
        let parts = |name: &str| -> Vec<String> {
            call.asks(name).split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        let mut terms = Vec::new();
        for part in parts("labelSelector") {
            if part.contains(' ') {
                return None;
            }
            terms.push(match (equation(&part), part.strip_prefix('!')) {
                (Some((name, value, is)), _) => Term::Label { name, value: Some(value), is },
                (None, Some(name)) => Term::Label { name: name.to_owned(), value: None, is: false },
                (None, None) => Term::Label { name: part, value: None, is: true },
            });
        }
        for part in parts("fieldSelector") {
            let (name, value, is) = equation(&part)?;
            FIELDS.contains(&name.as_str()).then_some(())?;
            terms.push(Term::Field { name, value, is });
        }
        Some(Selector { terms })
    }

    /// Whether it is selected.
    pub(crate) fn takes(&self, object: &Value) -> bool {
        let label =
            |name: &str| object.pointer("/metadata/labels").and_then(|labels| labels.get(name)).and_then(Value::as_str);
        self.terms.iter().all(|term| match term {
            Term::Label { name, value: None, is } => label(name).is_some() == *is,
            Term::Label { name, value: Some(value), is } => (label(name) == Some(value)) == *is,
            Term::Field { name, value, is } => {
                let path = format!("/{}", name.replace('.', "/"));
                let found = object.pointer(&path).and_then(Value::as_str).unwrap_or_default();
                (found == value) == *is
            }
        })
    }
}

fn equation(part: &str) -> Option<(String, String, bool)> {
    let (name, value, is) = match part.split_once("!=") {
        Some((name, value)) => (name, value, false),
        None => part.split_once("==").or_else(|| part.split_once('=')).map(|(name, value)| (name, value, true))?,
    };
    Some((name.to_owned(), value.to_owned(), is))
}

//! What was probably meant by names that an author has misspelled. Only names that everybody knows are suggested: the labels of the job itself,
//! kinds of offers, and usual resources.

use classad::{Dialect, Name, is_scope_word, parse_expr, references, similar};

use crate::why_not::{PortCount, Unmatched};

/// The kinds of offers.
const KINDS: [&str; 2] = ["Machine", "License"];
/// Resources that offers usually have.
const RESOURCES: [&str; 5] = ["cpus", "gpus", "memory", "seats", "slots"];

/// The first name in the conjuncts to blame that stands where a label would, and is none; and the path with the label of the port.
pub(super) fn label_meant(unmatched: &Unmatched, port: &PortCount, core: &[usize]) -> Option<(String, String)> {
    let is_label = |name: &Name| unmatched.ports.iter().any(|port| name.as_str().eq_ignore_ascii_case(&port.label));
    let is_word = |name: &Name| {
        is_scope_word(name.as_str()) || ["requester", "members"].iter().any(|w| name.as_str().eq_ignore_ascii_case(w))
    };
    let texts = core.iter().filter_map(|part| port.conjuncts.get(*part)).map(|part| part.text.as_str());
    // A text that was cut off is no expression.
    let paths = texts.filter_map(|text| parse_expr(text, Dialect::Gangmatch).ok()).flat_map(|part| references(&part));
    let mut wrong = paths.filter(|path| path.len() > 1).filter_map(|path| {
        let (first, rest) = path.split_first()?;
        let attribute = rest.first()?;
        let is_wrong = !is_label(first) && !is_word(first) && !path.iter().any(Name::is_hidden);
        is_wrong.then(|| (first.to_string(), format!("{}.{attribute}", port.label)))
    });
    wrong.next()
}

/// The labels of all ports, in words.
pub(super) fn labels(unmatched: &Unmatched) -> String {
    unmatched.ports.iter().map(|port| format!("`{}`", port.label)).collect::<Vec<_>>().join(", ")
}

/// The part of the constraint that asks for a kind, with the kind that was meant.
pub(super) fn kind_meant(port: &PortCount) -> Option<String> {
    let part = port.conjuncts.iter().find(|part| part.is_kind)?;
    let (before, rest) = part.text.split_once('"')?;
    let (kind, after) = rest.split_once('"')?;
    let meant = meant(kind, &KINDS)?;
    Some(format!("{before}\"{meant}\"{after}"))
}

/// The usual resource that was meant by a name that is none.
pub fn resource_meant(name: &str) -> Option<String> {
    meant(name, &RESOURCES)
}

fn meant(word: &str, known: &[&str]) -> Option<String> {
    if known.iter().any(|known| known.eq_ignore_ascii_case(word)) {
        return None;
    }
    let names: Vec<Name> = known.iter().map(|known| Name::new(*known)).collect();
    similar(word, &names).map(Name::to_string)
}

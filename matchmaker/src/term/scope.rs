//! Whether an expression of an ad depends on the ad alone.

use classad::{Expr, Kind, Name, is_pure};

use crate::ports::Ports;

/// Names that mean something else than an attribute, wherever they are not attributes.
const SPECIAL: [&str; 9] = ["self", "my", "parent", "toplevel", "root", "currenttime", "other", "target", "members"];

/// How deep references are followed from one expression into the next.
const NESTING_MAX: usize = 24;

/// Whether a name means something else than an attribute.
pub(crate) fn is_special(name: &Name) -> bool {
    SPECIAL.iter().any(|special| name == special)
}

/// Whether the value of an expression of an ad depends on the ad's own attributes alone: on no label, no partner, no time
/// and no chance. `port` is the port in whose attributes it stands; none for the ad's own.
pub(crate) fn closed(expr: &Expr, ports: &Ports, port: Option<usize>) -> bool {
    closed_within(expr, ports, port, 0)
}

fn closed_within(expr: &Expr, ports: &Ports, port: Option<usize>, nesting: usize) -> bool {
    if nesting > NESTING_MAX {
        return false;
    }
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match expr.kind() {
            Kind::Attribute { name, absolute } => {
                if *absolute || is_special(name) || !closed_name(name, ports, port, nesting) {
                    return false;
                }
            }
            // What is not found in a nested ad is looked for around it; a selection can lead anywhere.
            Kind::Select { .. } | Kind::Ad(_) => return false,
            Kind::Subscript { index, .. } if index.as_literal().is_none() => return false,
            Kind::Call(call) if !is_pure(call) => return false,
            _ => pending.extend(expr.children()),
        }
    }
    true
}

fn closed_name(name: &Name, ports: &Ports, port: Option<usize>, nesting: usize) -> bool {
    if let Some(port) = port.and_then(|port| ports.list.get(port)).filter(|_| !ports.implicit)
        && let Some(expr) = port.attributes.at(port.attributes.place(name).unwrap_or(usize::MAX))
    {
        return closed_within(expr, ports, ports.list.iter().position(|own| std::ptr::eq(own, port)), nesting + 1);
    }
    // Labels are seen from their ports on only; seen from anywhere they are no attribute of the ad's own.
    if !ports.implicit && port.is_some() && ports.list.iter().any(|port| port.label == *name) {
        return false;
    }
    match ports.body.place(name).and_then(|place| ports.body.at(place)) {
        Some(expr) => closed_within(expr, ports, None, nesting + 1),
        // In an ad with an implicit port the partner is asked for what is not there.
        None => !ports.implicit,
    }
}

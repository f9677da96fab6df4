//! Sentences on counted ports. They tell counts, and no value of another ad.

use crate::why_not::{PortCount, SetCount, Unmatched, Verdict};

/// The reason in one sentence, if a counted port is the reason.
pub(super) fn verdict(unmatched: &Unmatched) -> Option<String> {
    match &unmatched.verdict {
        Verdict::NoCandidates { port } | Verdict::RefusedByOffers { port } => few(unmatched.ports.get(*port)?),
        Verdict::NoConsistentGang => {
            unmatched.ports.iter().find_map(apart).or_else(|| no_set(unmatched.ports.as_slice()))
        }
        Verdict::WaitingForCapacity => unmatched.ports.iter().find_map(busy),
        _ => None,
    }
}

/// Too few ads fit, but some do.
fn few(port: &PortCount) -> Option<String> {
    let SetCount { need, .. } = port.set.as_ref()?;
    let accepted = port.fits_when_free();
    (accepted > 0 && port.candidates > 0).then(|| {
        format!("port `{}`: {need} wanted, {accepted} of {} {} accepted", port.label, port.candidates, are(accepted))
    })
}

/// `Same` or `Distinct` leaves too few of those that fit.
fn apart(port: &PortCount) -> Option<String> {
    let SetCount { need, largest, same, distinct, .. } = port.set.as_ref().filter(|set| set.largest < set.need)?;
    let (label, of) = (&port.label, port.fits_when_free());
    Some(match (same.as_slice(), distinct.as_slice()) {
        (same, []) => {
            format!(
                "port `{label}`: {need} wanted with the same {}; the largest group has {largest} of {of}",
                listing(same)
            )
        }
        ([], distinct) => {
            format!(
                "port `{label}`: {need} wanted with different {}; at most {largest} of {of} differ",
                listing(distinct)
            )
        }
        (same, distinct) => format!(
            "port `{label}`: {need} wanted with the same {} and different {}; there are at most {largest} of {of}",
            listing(same),
            listing(distinct)
        ),
    })
}

/// The only port has candidates enough, but every set of them is refused as a whole.
fn no_set(ports: &[PortCount]) -> Option<String> {
    let [port] = ports else { return None };
    let set = port.set.as_ref().filter(|set| !set.constraint.is_empty())?;
    let accepted = port.fits_when_free();
    Some(format!(
        "port `{}`: {} wanted, {accepted} are accepted, but `{}` is true of no set of them",
        port.label, set.need, set.constraint
    ))
}

/// Enough ads fit, but too few of them are free.
fn busy(port: &PortCount) -> Option<String> {
    let set = port.set.as_ref()?;
    let (accepted, free) = (port.fits_when_free(), port.free_now());
    (free < set.need).then(|| {
        format!(
            "port `{}`: {} wanted, {accepted} {} accepted, {free} of them {} free",
            port.label,
            set.need,
            are(accepted),
            are(free)
        )
    })
}

/// A count is none.
pub(super) fn odd_count(port: &PortCount) -> String {
    format!("port `{}`: the count is no whole number from 1 to 63, or the least is more than the most", port.label)
}

/// What could be asked for instead.
pub(super) fn hint(port: &PortCount) -> Option<String> {
    let set = port.set.as_ref().filter(|set| set.largest < set.need && set.largest > 0)?;
    Some(format!("ask for at most {} at the port `{}`", set.largest, port.label))
}

/// `8:grid/n1,grid/n2,+6`
pub(super) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 2;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let rest = names.len().saturating_sub(SHOWN);
    let more = if rest == 0 { String::new() } else { format!(",+{rest}") };
    format!("{}:{}{more}", names.len(), shown.join(","))
}

fn are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn listing(names: &[String]) -> String {
    names.join(" and ")
}

//! Writes a reason as one sentence for people. The only place where the engine's findings are worded.

use policy::{Amount, CHARGE};

pub use self::spelling::resource_meant;
use crate::gang::{Edge, Gang};
use crate::lack::Lack;
use crate::model::Snapshot;

mod sets;
mod spelling;

use crate::why_not::{
    ConjunctCount, JoinWhy, Limit, PortCount, QuotaExceeded, Relaxation, Relaxed, Unmatched, Verdict,
};

/// The members of a gang by label: `cpu=grid/foo license=eda/sim`, of a counted port the first two and the number of the others:
/// `node=8:grid/n1,grid/n2,+6`.
pub fn summary(snapshot: &Snapshot, gang: &Gang) -> String {
    let mut parts: Vec<(Edge, &str, Vec<String>)> = Vec::new();
    for member in &gang.members {
        let Some((edge, label)) = member.edge.zip(gang.label(snapshot, member)) else { continue };
        let Some(key) = snapshot.ad(member.ad).map(|ad| &ad.key) else { continue };
        let name = format!("{}/{}", key.namespace, key.name);
        let is_set = gang.is_of_a_set(snapshot, edge);
        let known = parts.iter_mut().find(|(own, ..)| is_set && own.is_at_port_of(edge));
        match known {
            Some((.., names)) => names.push(name),
            None => parts.push((edge, label, vec![name])),
        }
    }
    let part = |(edge, label, names): &(Edge, &str, Vec<String>)| match gang.is_of_a_set(snapshot, *edge) {
        true => format!("{label}={}", sets::listed(names)),
        false => format!("{label}={}", names.join(",")),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// Why a root waits: one sentence that names the port and the counts.
pub fn why(unmatched: &Unmatched) -> String {
    let why = verdict(unmatched);
    match unmatched.exhausted {
        0 => why,
        _ if matches!(unmatched.verdict, Verdict::TooExpensive { .. }) => why,
        _ => format!(
            "{why}; some evaluations exceeded their limits, which counts as a refusal: simplify the constraints"
        ),
    }
}

fn verdict(unmatched: &Unmatched) -> String {
    let port = |number: usize| unmatched.ports.get(number).cloned().unwrap_or_default();
    if let Some(sentence) = sets::verdict(unmatched) {
        return sentence;
    }
    match &unmatched.verdict {
        Verdict::Unusable(problem) => problem.clone(),
        Verdict::Limit(Limit::Members) => "a gang for this ad would have too many members".to_owned(),
        Verdict::Limit(Limit::Count(number)) => sets::odd_count(&port(*number)),
        Verdict::Limit(Limit::Depth) => "a gang for this ad would be nested too deeply".to_owned(),
        Verdict::Never { port: number, core } => never(unmatched, &port(*number), core),
        Verdict::TooExpensive { port: number, limit, most, text } => {
            let what = too_much(*limit, *most);
            format!("port `{}`: the constraint is too expensive to evaluate ({what}): `{text}`", port(*number).label)
        }
        Verdict::NoCandidates { port: number } | Verdict::RefusedByOffers { port: number } => {
            let refuses = matches!(unmatched.verdict, Verdict::RefusedByOffers { .. });
            match conflict(unmatched, *number) {
                Some(join) => disagreement(unmatched, join),
                None if refuses => refused(&port(*number)),
                None => no_candidates(&port(*number)),
            }
        }
        Verdict::NoConsistentGang => inconsistent(unmatched),
        Verdict::QuotaExceeded(quota) => exceeded(quota),
        Verdict::WaitingForCapacity => waiting(unmatched),
        Verdict::BackingOff => "the only matching ads refused this job recently; they are tried again later".to_owned(),
        Verdict::GaveUp => {
            "the search ran out of steps, either those of the job or those of its namespace in this cycle; \
                            narrow the constraints with an equality that does not use `eval`"
                .to_owned()
        }
    }
}

/// Which quota stands against a gang. Of accounts other than the root's own, only a limit is reported.
fn exceeded(quota: &QuotaExceeded) -> String {
    let amount = |counter: &str, amount: Amount| match counter {
        CHARGE if amount % MICROS == 0 => (amount / MICROS).to_string(),
        CHARGE => format!("{}.{:06}", amount / MICROS, amount % MICROS).trim_end_matches('0').to_owned(),
        _ => amount.to_string(),
    };
    match quota {
        QuotaExceeded::Max { counter, account, held, max, takes } => {
            let of = |value: Amount| amount(counter, value);
            match held {
                Some(held) if held >= max => {
                    format!("{counter}: {account} holds {} of at most {}", of(*held), of(*max))
                }
                Some(held) => {
                    format!(
                        "{counter}: {account} holds {} of at most {}, and the gang takes {}",
                        of(*held),
                        of(*max),
                        of(*takes)
                    )
                }
                None => format!("{counter}: {account}, above the job's account, may hold at most {}", of(*max)),
            }
        }
        QuotaExceeded::Aside { counter } => format!("{counter}: what is left is guaranteed to other accounts"),
    }
}

/// How many micros a charge has.
const MICROS: Amount = 1_000_000;

/// What could be written instead; empty if there is nothing to say.
pub fn hint(unmatched: &Unmatched) -> String {
    match &unmatched.verdict {
        Verdict::Never { port: number, core } => {
            let meant = unmatched.ports.get(*number).and_then(|port| spelling::label_meant(unmatched, port, core));
            let change = |(_, meant): (String, String)| {
                format!("write `{meant}`: the labels are {}", spelling::labels(unmatched))
            };
            return meant.map_or_else(|| "change the constraint: no ad can satisfy it".to_owned(), change);
        }
        Verdict::TooExpensive { .. } => {
            return "simplify the constraint, or shorten the lists and texts that it reads".to_owned();
        }
        Verdict::Limit(Limit::Count(_)) => return "write whole numbers from 1 to 63, the smaller one first".to_owned(),
        Verdict::NoConsistentGang => return unmatched.ports.iter().find_map(sets::hint).unwrap_or_default(),
        Verdict::Limit(_) => return "ask for fewer partners".to_owned(),
        _ => {}
    }
    let (Verdict::NoCandidates { port: number } | Verdict::RefusedByOffers { port: number }) = &unmatched.verdict
    else {
        return String::new();
    };
    let Some(port) = unmatched.ports.get(*number) else { return String::new() };
    if let Some(hint) = sets::hint(port) {
        return hint;
    }
    if let Some(meant) = spelling::kind_meant(port).filter(|_| port.candidates == 0) {
        return format!("write `{meant}`: the kinds of offers are Machine and License");
    }
    if port.candidates == 0 {
        return "create Machine and License ads, or ask their owners to allow this namespace in spec.allowedNamespaces"
            .to_owned();
    }
    if let Some(hint) = unmatched.relaxations.first().and_then(|way| relaxation(unmatched, way)) {
        return hint;
    }
    let never = port.conjuncts.iter().find(|part| part.rejects == port.candidates);
    match (&unmatched.verdict, never) {
        (Verdict::NoCandidates { .. }, Some(part)) => format!("no ad satisfies `{}`", part.text),
        (Verdict::NoCandidates { .. }, None) if port.conjuncts.is_empty() => {
            "the ad has no Requirements, which accepts no offer; write them, such as `Requirements = true`".to_owned()
        }
        (Verdict::NoCandidates { .. }, None) => {
            "each part of the constraint is true of some ad, but no ad meets all parts; relax one of them".to_owned()
        }
        _ if port.too_small.no_seat > 0 => {
            "sharedBy of the offer reads what is not there; if it reads a partner at another port, put that port first"
                .to_owned()
        }
        _ if port.too_small.no_amount > 0 => "write each amount as a whole number of at least 1".to_owned(),
        _ if port.too_small.not_offered > 0 => {
            let what = match absent(port) {
                names if names.is_empty() => "a requested resource".to_owned(),
                names => names,
            };
            format!("{} not have {what}", ads(port.too_small.not_offered, "does", "do"))
        }
        _ if port.too_small.ads > 0 => {
            format!("{} less capacity than is requested", ads(port.too_small.ads, "has", "have"))
        }
        _ => "compare your ad with the constraints of the owners".to_owned(),
    }
}

/// The smallest change that leads to a gang, if the root's author can make it.
fn relaxation(unmatched: &Unmatched, way: &Relaxation) -> Option<String> {
    let mut texts = Vec::new();
    for part in &way.parts {
        match part {
            Relaxed::Conjunct { port, conjunct } => {
                texts.push(unmatched.ports.get(*port)?.conjuncts.get(*conjunct)?);
            }
            Relaxed::Request { .. } | Relaxed::Owners { .. } => return None,
        }
    }
    let offers = way.offers.map_or_else(String::new, |offers| format!(" {}", ads(offers, "fits", "fit")));
    match texts.as_slice() {
        [ConjunctCount { text, nearest: Some(nearest), .. }] => Some(format!(
            "{} with {} as the number in `{text}`; without it,{offers}",
            ads(nearest.offers, "fits", "fit"),
            nearest.value
        )),
        [part] if offers.is_empty() => Some(format!("leave out `{}`", part.text)),
        [part] => Some(format!("without `{}`{offers}", part.text)),
        parts => {
            let parts: Vec<String> = parts.iter().map(|part| format!("`{}`", part.text)).collect();
            let told = if offers.is_empty() { String::new() } else { format!(":{offers}") };
            Some(format!("leave out {}{told}", parts.join(" and ")))
        }
    }
}

/// `1 ad has`, `2 ads have`.
fn ads(count: u64, one: &str, many: &str) -> String {
    let verb = if count == 1 { one } else { many };
    format!("{} {verb}", number_of_ads(count))
}

fn number_of_ads(count: u64) -> String {
    if count == 1 { "1 ad".to_owned() } else { format!("{count} ads") }
}

/// What ran out, and how much there was of it.
fn too_much(limit: classad::Limit, most: u64) -> String {
    let what = match limit {
        classad::Limit::Depth => "operators inside each other",
        classad::Limit::Fuel => "steps",
        classad::Limit::ResultBytes => "bytes in one text",
        classad::Limit::ResultDepth => "lists inside each other",
        classad::Limit::ResultElements => "elements in one value",
        classad::Limit::Memory => "bytes of texts and lists",
    };
    format!("more than {} {what}", grouped(most))
}

/// `1,000,000`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn never(unmatched: &Unmatched, port: &PortCount, core: &[usize]) -> String {
    let texts: Vec<String> =
        core.iter().filter_map(|part| port.conjuncts.get(*part)).map(|part| format!("`{}`", part.text)).collect();
    match texts.len() {
        0 => format!("port `{}`: the constraint can never be true", port.label),
        1 => {
            let meant = spelling::label_meant(unmatched, port, core).map_or_else(String::new, |(written, meant)| {
                format!("; `{written}` is not the label of a port, did you mean `{meant}`?")
            });
            format!("port `{}`: {} can never be true{meant}", port.label, texts.join(""))
        }
        _ => format!("port `{}`: {} cannot be true together", port.label, texts.join(" and ")),
    }
}

/// A join between ports that no pair of partners satisfies, though each port has candidates of its own.
fn conflict(unmatched: &Unmatched, port: usize) -> Option<&JoinWhy> {
    unmatched.joins.iter().find(|join| join.port == port && join.before.1 > 0 && join.after.0 == 0)
}

fn disagreement(unmatched: &Unmatched, join: &JoinWhy) -> String {
    let label = |port: usize| unmatched.ports.get(port).map_or("", |port| port.label.as_str());
    let parts = unmatched.ports.get(join.port).map(|port| port.conjuncts.as_slice()).unwrap_or_default();
    let mut texts: Vec<String> =
        join.conjuncts.iter().filter_map(|part| parts.get(*part)).map(|part| format!("`{}`", part.text)).collect();
    if join.owners {
        texts.push("the constraints of their owners".to_owned());
    }
    format!(
        "{} for `{}` and {} for `{}`, but no two of them agree on {}",
        ads(join.before.0, "fits", "fit"),
        label(join.with),
        ads(join.before.1, "fits", "fit"),
        label(join.port),
        texts.join(" and ")
    )
}

fn inconsistent(unmatched: &Unmatched) -> String {
    let lone = |port: &&PortCount| port.incomplete > 0 && port.fits_when_free() == 0;
    if let Some(port) = unmatched.ports.iter().find(lone) {
        let needs = ads(port.incomplete, "needs partners of its own that are", "need partners of their own that are");
        return format!("port `{}`: {needs} missing", port.label);
    }
    if let Some(port) = unmatched.ports.iter().find(|port| port.needed_before > 0) {
        let needed = match port.needed_before {
            1 => "the only ad that fits is needed at a port before it".to_owned(),
            count => format!("the {count} ads that fit are needed at the ports before it"),
        };
        return format!("port `{}`: {needed}", port.label);
    }
    if let Some((place, port)) = unmatched.ports.iter().enumerate().find(|(_, port)| port.candidates == 0) {
        // Something of this kind was bound before it, and that is all there is.
        let is_needed = |before: &PortCount| !before.is_of_another_kind(port);
        return match unmatched.ports.iter().take(place).any(is_needed) {
            true => {
                let ads = port.kind().map_or("ads", |_| "ads of its kind");
                format!(
                    "port `{}`: the ports before it need all {ads} that are open to this job's namespace",
                    port.label
                )
            }
            false => no_candidates(port),
        };
    }
    let labels: Vec<String> = unmatched.ports.iter().map(|port| format!("`{}`", port.label)).collect();
    format!("each of the ports {} has candidates, but no combination of them is a gang", labels.join(", "))
}

fn no_candidates(port: &PortCount) -> String {
    if let Some(kind) = port.conjuncts.iter().find(|part| port.candidates == 0 && part.is_kind) {
        let meant = spelling::kind_meant(port).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        return format!(
            "port `{}`: `{}` is true of no ad that is open to this job's namespace{meant}",
            port.label, kind.text
        );
    }
    if port.candidates == 0 {
        return format!("port `{}`: no ad is open to this job's namespace", port.label);
    }
    let mut worst: Vec<_> = port.conjuncts.iter().filter(|part| part.rejects > 0).collect();
    worst.sort_by_key(|part| std::cmp::Reverse(part.rejects));
    let rejected = |count: u64| if port.candidates == 1 { "it".to_owned() } else { count.to_string() };
    let part = |part: &&ConjunctCount| format!("`{}` rejects {}", part.text, rejected(part.rejects));
    let parts: Vec<String> = worst.iter().take(2).map(part).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let none = match port.candidates {
        1 => "the only ad does not satisfy".to_owned(),
        number => format!("none of {number} ads satisfies"),
    };
    format!("port `{}`: {none} the job's constraint{parts}", port.label)
}

fn refused(port: &PortCount) -> String {
    let PortCount { refused_by_offer, too_small: misfits, .. } = port;
    let without = match absent(port) {
        names if names.is_empty() => "without a requested resource".to_owned(),
        names => format!("without {names}"),
    };
    let too_small = match short(port) {
        amounts if amounts.is_empty() => "too small for the request".to_owned(),
        amounts => format!("too small for {amounts}"),
    };
    let by_offer = match port.candidates {
        1 => "refused by its owner's constraint",
        _ => "refused by their owner's constraint",
    };
    let mut parts = Vec::new();
    for (count, what) in [
        (port.refused_by_job, "refused by the job's constraint"),
        (refused_by_offer.ads.saturating_sub(refused_by_offer.too_expensive), by_offer),
        (refused_by_offer.too_expensive, "refused because their own constraint is too expensive to evaluate"),
        (misfits.no_amount, "with an invalid requested amount"),
        (misfits.not_offered, without.as_str()),
        (misfits.no_seat, "whose sharedBy is an error"),
        (misfits.too_little(), too_small.as_str()),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    format!("port `{}`: of {}, {}", port.label, number_of_ads(port.candidates), parts.join(", "))
}

/// The resources of the request that some offers do not have: `seat` (did you mean `seats`?).
fn absent(port: &PortCount) -> String {
    let name = |lack: &Lack| match lack {
        Lack::Absent(name) => Some(match spelling::resource_meant(name) {
            Some(meant) => format!("`{name}` (did you mean `{meant}`?)"),
            None => format!("`{name}`"),
        }),
        Lack::Short(..) => None,
    };
    port.too_small.lacks.iter().filter_map(name).collect::<Vec<_>>().join(" or ")
}

/// The amounts of the request of which some offers have too little: `seats: 5`.
fn short(port: &PortCount) -> String {
    let amount = |lack: &Lack| match lack {
        Lack::Short(name, amount) => Some(format!("`{name}: {amount}`")),
        Lack::Absent(_) => None,
    };
    port.too_small.lacks.iter().filter_map(amount).collect::<Vec<_>>().join(" or ")
}

fn waiting(unmatched: &Unmatched) -> String {
    let taken = |port: &&PortCount| port.busy > 0;
    // A port at which something is free is not what the job waits for, unless there is no other.
    let blocked = unmatched.ports.iter().filter(taken).any(|port| port.free_now() == 0);
    let busy: Vec<String> = unmatched
        .ports
        .iter()
        .filter(taken)
        .filter(|port| !blocked || port.free_now() == 0)
        .map(|port| {
            format!("port `{}`: {} taken", port.label, ads(port.busy, "that would match is", "that would match are"))
        })
        .collect();
    if busy.is_empty() {
        // What is taken is bound further inside: at a port of an offer.
        return "each offer that would match needs a partner of its own that is taken".to_owned();
    }
    busy.join("; ")
}
